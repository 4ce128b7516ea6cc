"""A run in one state, as its driver has it: what is known of it, and how a role is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from interlock.errors import InterlockError
from interlock.journal import Lease
from interlock.machine import Event, Evidence, Machine, Snapshot
from interlock.machine.model import NOTED
from interlock.work.errands import DRIVER
from interlock.work.orchestration.answers import Complaint, read_answer
from interlock.work.orchestration.contracts import Answer, Input, Role
from interlock.work.orchestration.prompts import Knowledge, prompt
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.roles import role_file
from interlock.work.orchestration.rules import Context
from interlock.work.orchestration.values import Report
from interlock.work.troubles import may_pass
from interlock.work.workshop import Workshop
from interlock.world.agents.result import Ending

__all__ = ["Answered", "Visit"]

_BLIND_WAIT = 300.0
"""How long a limit is waited for that does not say when it ends."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a role answered, with what to write down of its run; written together with what is concluded of it."""

    role: str
    answer: Answer | None
    """None where it was none that could be used."""
    invoked: Event
    complaint: str = ""
    is_network: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """A run in one state."""

    workshop: Workshop
    run: Run
    snapshot: Snapshot
    machine: Machine
    lease: Lease

    def event(self, name: str, reason: str | None = None, facts: dict[str, str] | None = None, **data: Any) -> Event:
        """What came of it, as an event of the machine."""
        plain = msgspec.json.decode(msgspec.json.encode(data))
        return Event(name, DRIVER, reason=reason, evidence=Evidence(facts=facts or {}, data=plain))

    def selects(self, name: str, task: str, **data: Any) -> Event:
        """The same, for a move that names the task that is next."""
        return Event(name, DRIVER, evidence=Evidence(task=task, data=data))

    def noted(self, type_: str, **data: Any) -> Event:
        """Something to write down; it moves nothing."""
        plain = msgspec.json.decode(msgspec.json.encode({"type": type_, **data}))
        return Event(NOTED, DRIVER, evidence=Evidence(data=plain))

    def note(self, type_: str, **data: Any) -> None:
        """Write something down at once."""
        self.write(self.noted(type_, **data))

    def write(self, event: Event) -> None:
        self.workshop.journal.append(self.run.id, event, lease=self.lease)

    @property
    def session_path(self) -> str:
        return f".ralph-sessions/{self.run.session}"

    @property
    def attempt(self) -> int:
        """Which attempt at the task at hand this is."""
        return self.snapshot.counters.get(f"attempt:{self.run.task}", 1)

    def reports_for(self, *tasks: str) -> tuple[Report, ...]:
        return tuple(report for id_ in tasks for report in self.run.reports.get(id_, ()))

    def log(self, what: str) -> Path:
        run = self.run
        return self.workshop.state_directory / "runs" / f"orchestrate-{run.id[-8:]}" / f"{run.version:05d}-{what}.log"

    # Asking

    def ask(self, role: Role, given: Input, known: Knowledge, context: Context, mode: str = "") -> Answered | None:
        """Ask a role once; what it cost is written with what is concluded of it. None where it was stopped."""
        workshop, run = self.workshop, self.run
        name = run.roles[role.performer]
        wait = run.limited.get(name.partition(":")[0], 0.0) - workshop.journal.now()
        if wait > 0:
            workshop.tell(f"{name} has reached a limit; waiting {wait:.0f} s")
            workshop.wait(wait)
            return None
        file = role_file(role, workshop.root, workshop.settings.text("orchestrate.roles"))
        workshop.tell(f"{role}{f' {mode}' if mode else ''}{f' {run.task}' if run.task else ''}: {name}")
        heard = workshop.send(
            name,
            str(role.performer),
            prompt(role, file, given, known, run.complaint),
            parent=run.id,
            log=self.log(str(role)),
            reports=role is Role.EXECUTOR,
            judge=role.performer is Role.REVIEWER,
        )
        result = heard.result
        invoked = self.noted(
            "invoked",
            role=str(role),
            mode=mode,
            task=run.task,
            attempt=self.attempt,
            agent=name,
            ending=str(result.ending),
            seconds=round(result.seconds, 3),
            cost_usd=result.cost_usd,
            tokens=result.usage.input + result.usage.output,
            prompt_file=file.sha256,
            log_sha256=result.log_sha256,
        )
        match result.ending:
            case Ending.STOPPED:
                self.write(invoked)
                return None
            case Ending.LIMITED:
                self.write(invoked)
                until = result.limit.until if result.limit and result.limit.until else None
                self.note("limited", agent=name.partition(":")[0], until=until or workshop.journal.now() + _BLIND_WAIT)
                return None
            case Ending.NOT_INSTALLED:
                self.write(invoked)
                message = f"The agent {name} of the {role} cannot be started."
                raise InterlockError("agent_missing", message, f"Install it, or choose another with --{role}.")
        read = read_answer(role, heard.said, context)
        if isinstance(read, Complaint):
            is_network = result.ending is not Ending.FINISHED and may_pass(heard.said)
            return Answered(str(role), None, invoked, str(read), is_network)
        return Answered(str(role), read, invoked)
