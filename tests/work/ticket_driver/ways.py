"""A repository with one ticket in Backlog, agents that play the commands of the pipeline, and a walk through all."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.sessions.verbs import Caller
from interlock.work.ticket_driver.loop import TicketResult, drive_ticket
from interlock.work.ticket_driver.thread_stage import Choices
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.verbs import create, edit
from work.threads.benches import DONE, SPEC, Bench, Steps, shell
from work.tickets.boards import way_to

__all__ = ["NUMBER", "PERSON", "PLAN", "RALPH", "Way", "commands", "handed", "made", "planned"]

RALPH = str(Path(sys.executable).with_name("ralph"))
PERSON = Actor(ActorKind.HUMAN, "ann@example.org", Channel.CLI)
NUMBER = 1
PLAN = "thoughts/shared/plans/2026-01-31-GH-1-greet.md"


def handed(command: str, *asked: str) -> dict[str, Any]:
    """A step in which the agent hands the ticket on."""
    return {"run": [RALPH, "ticket", "handoff", str(NUMBER), "--command", command, *asked, "--reason", f"{command}!"]}


def commands(spec: str = SPEC) -> list[Steps]:
    """What the agents of triage, research and plan do, one run each; the plan is a spec."""
    writes = shell(
        f"mkdir -p {Path(PLAN).parent} && cat > {PLAN} <<'END'\n{spec}END\ngit add {PLAN} && git commit -qm plan"
    )
    attaches = {"run": [RALPH, "ticket", "edit", str(NUMBER), "--artifact", f"plan={PLAN}"]}
    end: Steps = [{"finish": True}]
    return [
        [handed("triage", "--to-state", "Research Needed"), *end],
        [handed("research", "--intent", "lock"), handed("research", "--intent", "complete"), *end],
        [handed("plan", "--intent", "lock"), writes, attaches, handed("plan", "--intent", "complete"), *end],
    ]


class Way(Bench):
    """A bench with a ticket on it, and somebody who has it worked on."""

    outside: dict[str, str] = msgspec.field(default_factory=dict)
    """What the environment has besides: where the board is."""

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, **self.outside}

    def walk(self, **choices: Any) -> TicketResult:
        with closing(self.open()) as journal:
            return self.walk_in(journal, **choices)

    def walk_in(self, journal: Journal, **choices: Any) -> TicketResult:
        return drive_ticket(self.context(journal), NUMBER, self.person, Choices(**choices))

    @property
    def moves(self) -> list[tuple[str, str, str | None]]:
        """Every move of the ticket: where to, by whom, by which command."""
        with closing(self.open()) as journal:
            entries = journal.history(journal.instances("ticket")[0].id)
        return [(one.to_state, one.actor_kind, one.command) for one in entries if one.from_state != one.to_state]


def made(directory: Path, **settings: Any) -> Way:
    """A repository with one small ticket in Backlog."""
    way = Way.made(directory, **settings)
    way.play(*commands(), DONE)
    with closing(way.open()) as journal:
        journal.transact(create(PERSON, "Greet people", estimate="S"))
    return way


def planned(way: Way, spec: str = SPEC, *, state: str = "Plan in Review") -> Way:
    """Have a person write the plan and bring the ticket to a state: no agent is run for it."""
    (way.root / PLAN).parent.mkdir(parents=True)
    (way.root / PLAN).write_text(spec)
    way.git("add", PLAN)
    way.git("commit", "-qm", "plan")
    with closing(way.open()) as journal:
        journal.transact(edit(PERSON, NUMBER, artifacts={"plan_document": PLAN}))
        for one in way_to(state):
            journal.transact(handoff(Caller(PERSON), NUMBER, reason="go", to=one))
    return way
