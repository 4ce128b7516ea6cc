"""`ralph work`: one ticket all the way, from Backlog to a commit, as far as it goes without a person."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from interlock.errors import Refusal
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.driver_session import open_driver_session
from interlock.faces.cli.output import one_line
from interlock.faces.cli.place import person_of

if TYPE_CHECKING:
    from interlock.faces.cli.console import Reporter
    from interlock.journal import Journal
    from interlock.machine import Actor
    from interlock.work.gates.presence import Person, Presence
    from interlock.work.gates.trust import Key
    from interlock.work.ticket_driver.loop import TicketResult
    from interlock.world.ssh import Signature

__all__ = ["VERBS"]


def _work(call: CommandCall) -> None:
    from interlock.work.ticket_driver.loop import divide, drive_ticket, is_told
    from interlock.work.ticket_driver.thread_stage import Choices

    given = call.arguments
    with open_driver_session(call, starts_agents=True) as here:
        person = _asked_aside(person_of(call, here.place), here.reporter)
        asks = not given.no_questions and not call.output.json and person.is_at_terminal()
        choices = Choices(given.agent, given.driver, given.isolation, asks)
        go = divide if given.split else drive_ticket
        told = partial(is_told, here.place.journal, given.ticket)
        walked = here.drive(lambda: go(here.context, given.ticket, person, choices), told)
    data = _data(walked)
    if walked.stop.failed:
        raise Refusal("person_needed", f"#{walked.ticket.number}: {_said(walked)}.", walked.stop.hint, data)
    call.output.result(data, lambda: _show(call, walked))


def _asked_aside(person: Person, reporter: Reporter) -> Person:
    """The same person; what is drawn on their screen makes way for the questions."""

    def vouch(id_: str, name: str) -> None:
        with reporter.aside():
            person.vouch(id_, name)

    return replace(person, presence=lambda: _Aside(person.presence(), reporter), vouch=vouch)


class _Aside(msgspec.Struct, frozen=True):
    """Somebody who is asked while a loop is at work on the same screen."""

    presence: Presence
    reporter: Reporter

    @property
    def actor(self) -> Actor:
        return self.presence.actor

    def enter(self, journal: Journal) -> None:
        self.presence.enter(journal)

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        with self.reporter.aside():
            return self.presence.confirm(shown, question, word)

    def sign(self, statement: bytes, keys: Sequence[Key]) -> Signature | None:
        with self.reporter.aside():
            return self.presence.sign(statement, keys)


def _said(walked: TicketResult) -> str:
    return one_line(walked.stop.why).rstrip(".")


def _data(walked: TicketResult) -> dict[str, Any]:
    ticket, stop = walked.ticket, walked.stop
    return {
        "number": ticket.number,
        "title": ticket.title,
        "state": ticket.state,
        "outcome": ticket.outcome,
        "thread": stop.thread,
        "waits": stop.why,
        "next": stop.hint or None,
    }


def _show(call: CommandCall, walked: TicketResult) -> None:
    ticket, stop = walked.ticket, walked.stop
    call.output.text(f"#{ticket.number} {one_line(ticket.title)}: {ticket.state}; {_said(walked)}.")
    if stop.hint:
        call.output.text(f"→ {stop.hint}")


def _arguments(parser: ArgumentParser) -> None:
    from interlock.work.settings.values import isolation_of

    parser.add_argument("ticket", help="the number of the ticket")
    parser.add_argument("--agent", metavar="NAME", help="who works, `name` or `name:model`; agent.name if left out")
    parser.add_argument("--driver", choices=("plain", "story", "orchestrator"), help="what runs the thread's loop")
    parser.add_argument(
        "--isolation",
        type=isolation_of,
        choices=("own", "checkout"),
        help="checkout also brings yours along",
    )
    parser.add_argument("--split", action="store_true", help="let an agent divide a ticket that is too large")
    parser.add_argument("--no-questions", action="store_true", help="do not ask at gates; stop there")


VERBS = (
    Verb(
        "",
        "lead a ticket from where it is to a commit; it stops at each gate",
        _work,
        _arguments,
    ),
)
