"""What a ticket is called: its number, given here from 1, and any text that another system knows it by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.errors import NotFound, UsageError
from interlock.machine import Actor, Event, Evidence

if TYPE_CHECKING:
    from interlock.journal import Instance, Journal, Transaction

__all__ = ["MACHINE", "find_ticket", "known_ticket", "new_name", "number_of", "ticket_or_stub"]

MACHINE = "ticket"
_MAX_TEXT = 150
_DIGITS = 12
_PREFIX = "number:"


def find_ticket(journal: Journal | Transaction, called: str) -> Instance | None:
    """The ticket with a number, or that some text names; None where there is none."""
    digits = called.removeprefix("#")
    number = _name(int(digits)) if digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS else None
    by_number = journal.named(MACHINE, number) if number else None
    return by_number or journal.named(MACHINE, f"alias:{called}")


def known_ticket(journal: Journal | Transaction, called: str | int) -> Instance:
    """The ticket that a number or some text names."""
    found = find_ticket(journal, str(called))
    if found is None:
        message = f"There is no ticket {str(called)[:80]!r}."
        raise NotFound("unknown_ticket", message, "`ralph ticket list` shows the numbers.")
    return found


def ticket_or_stub(transaction: Transaction, called: str, actor: Actor) -> Instance:
    """The ticket that some text names. One that is not known yet is made: its title is that text."""
    if not (0 < len(called) <= _MAX_TEXT and called.isprintable() and called.strip()):
        message = f"A ticket id is 1 to {_MAX_TEXT} printable characters."
        raise UsageError("invalid_argument", message, "Give the ticket's number, or the text it is known by.")
    known = find_ticket(transaction, called)
    if known is not None:
        return known
    data = {"title": called, "alias": called, "stub": True}
    names = (new_name(transaction), f"alias:{called}")
    made = transaction.create(MACHINE, Event("created", actor, evidence=Evidence(data=data, names=names)))
    return transaction.instance(made.entry.instance)


def new_name(transaction: Transaction) -> str:
    """The name of the next number that no ticket has, and that no ticket is known by elsewhere."""
    last = transaction.last_name(MACHINE, _PREFIX)
    number = int(last.removeprefix(_PREFIX)) + 1 if last else 1
    while transaction.named(MACHINE, f"alias:{number}") is not None:
        number += 1
    return _name(number)


def number_of(names: tuple[str, ...]) -> int:
    """The number among the names that a ticket took; 0 where it took none."""
    return next((int(name.removeprefix(_PREFIX)) for name in names if name.startswith(_PREFIX)), 0)


def _name(number: int) -> str:
    """Numbers as names that sort by their value."""
    return f"{_PREFIX}{number:0{_DIGITS}d}"
