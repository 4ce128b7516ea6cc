"""What a ticket is called: its number, given here from 1, and any text that another system knows it by."""

from __future__ import annotations

from interlock.errors import UsageError
from interlock.journal import Instance, Journal, Transaction
from interlock.machine import Actor, Event, Evidence

__all__ = ["find_ticket", "ticket_or_stub"]

_MAX_TEXT = 150
_DIGITS = 12


def find_ticket(journal: Journal | Transaction, called: str) -> Instance | None:
    """The ticket with a number, or that some text names; None where there is none."""
    number = _number_name(int(called)) if called.isascii() and called.isdigit() and len(called) <= _DIGITS else None
    by_number = journal.named("ticket", number) if number else None
    return by_number or journal.named("ticket", f"alias:{called}")


def ticket_or_stub(transaction: Transaction, called: str, actor: Actor) -> Instance:
    """The ticket that some text names. One that is not known yet is made: its title is that text."""
    if not (0 < len(called) <= _MAX_TEXT and called.isprintable() and called.strip()):
        message = f"A ticket id is 1 to {_MAX_TEXT} printable characters."
        raise UsageError("invalid_argument", message, "Give the ticket's number, or the text it is known by.")
    known = find_ticket(transaction, called)
    if known is not None:
        return known
    number = _next_number(transaction)
    data = {"title": called, "alias": called, "number": number, "stub": True}
    names = (_number_name(number), f"alias:{called}")
    made = transaction.create("ticket", Event("created", actor, evidence=Evidence(data=data, names=names)))
    return transaction.instance(made.entry.instance)


def _number_name(number: int) -> str:
    """Numbers as names that sort by their value."""
    return f"number:{number:0{_DIGITS}d}"


def _next_number(transaction: Transaction) -> int:
    """The next number that no ticket has, and that no ticket is known by elsewhere."""
    last = transaction.last_name("ticket", "number:")
    number = int(last.partition(":")[2]) + 1 if last else 1
    while transaction.named("ticket", f"alias:{number}") is not None:
        number += 1
    return number
