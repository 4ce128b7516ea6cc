"""Tickets of what was planned: all in one transaction, by the verbs that everybody makes tickets with.

Whatever was imported meanwhile, by another or by this very call before it was killed, is found by its alias and left
as it is. Two imports at once write one after the other, so the second one finds what the first one made.
"""

from __future__ import annotations

from interlock.journal import Transaction
from interlock.machine import ActorKind
from interlock.work.importing.forms import Form
from interlock.work.importing.imported import Imported
from interlock.work.importing.planning import ImportPlan, alias_of, fields_of, find
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.numbers import MACHINE
from interlock.work.tickets.verbs import Work, create, link

__all__ = ["write"]


def write(caller: Caller, planned: ImportPlan) -> Work[dict[str, int]]:
    """Make the tickets that are not there yet; the numbers of those that were made, by their ids."""

    def work(transaction: Transaction) -> dict[str, int]:
        new = [item for item in planned.make if find(transaction, planned.form, item.id) is None]
        made = {item.id: _make(transaction, caller, planned.form, item) for item in new}
        for item in new:
            _join(transaction, caller, planned.form, item)
        for item in new:
            if item.is_done:
                _close(transaction, caller, planned.form, item)
        return made

    return work


def _make(transaction: Transaction, caller: Caller, form: Form, item: Imported) -> int:
    alias = alias_of(form, item.id)
    waits = [alias_of(form, one) for one in item.blocked_by if find(transaction, form, one)]
    fields = fields_of(transaction.current(MACHINE), form, item)
    made = create(caller.actor, blocked_by=waits, alias=alias, key=f"import:{alias}", **fields)
    return made(transaction).number


def _join(transaction: Transaction, caller: Caller, form: Form, item: Imported) -> None:
    """Make it a part of what it is a part of, if that is a ticket: a part may come before its whole."""
    if item.parent is not None and find(transaction, form, item.parent) is not None:
        link(caller.actor, alias_of(form, item.id), "parent", alias_of(form, item.parent))(transaction)


def _close(transaction: Transaction, caller: Caller, form: Form, item: Imported) -> None:
    command = "triage" if caller.actor.kind == ActorKind.AGENT else None
    reason = f"It was done already when it was imported from {form.title}."
    handoff(caller, alias_of(form, item.id), command=command, to="Done", reason=reason)(transaction)
