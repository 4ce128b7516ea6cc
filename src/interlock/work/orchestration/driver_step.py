"""A run in one state, as its driver has it: what is known of it, and how a role is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from interlock.errors import Refusal
from interlock.journal import Lease, Transaction
from interlock.machine import Event, Evidence, Machine, Snapshot
from interlock.work.budget import has_room
from interlock.work.driver.agent_failures import clock, prose, unavailable, unusable
from interlock.work.driver.agent_run import DRIVER, AgentRun
from interlock.work.driver.context import DriverContext
from interlock.work.driver.notes import noted
from interlock.work.formats.quoting import sayable
from interlock.work.orchestration.answers import MAX_SAID, Complaint, read_answer
from interlock.work.orchestration.contracts import Answer, Input, Role, schema_of
from interlock.work.orchestration.planning import pieces
from interlock.work.orchestration.prompts import Knowledge, prompt
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.roles import RoleFile, role_file
from interlock.work.orchestration.rules import Context
from interlock.work.orchestration.run_cache import RunCache
from interlock.work.orchestration.store import DIRECTORY, Restored
from interlock.work.orchestration.values import TaskReport
from interlock.world.agents.happenings import FailureKind
from interlock.world.agents.result import NO_ATTEMPTS, UNUSABLE, Ending, Result

__all__ = ["RoleAnswer", "RunStep"]

_KINDS = (("minutes", "seconds", 60.0), ("tokens", "tokens", 1.0), ("usd", "usd", 1.0))


class RoleAnswer(msgspec.Struct, frozen=True):
    """What a role answered, with what to write down of its run; written together with what is concluded of it."""

    role: str
    answer: Answer | None
    """None where it was none that could be used."""
    invoked: Event
    complaint: str = ""
    is_network: bool = False


class RunStep(msgspec.Struct, frozen=True):
    """A run in one state."""

    context: DriverContext
    cache: RunCache
    snapshot: Snapshot
    machine: Machine
    lease: Lease

    @property
    def record(self) -> Run:
        return self.cache.run

    @property
    def run(self) -> Run:
        return self.cache.run

    def event(self, name: str, reason: str | None = None, facts: dict[str, str] | None = None, **data: Any) -> Event:
        """What came of it, as an event of the machine."""
        plain = msgspec.json.decode(msgspec.json.encode(data))
        evidence = Evidence(facts=facts or {}, data=plain)
        return Event(name, DRIVER, reason=sayable(reason) if reason is not None else None, evidence=evidence)

    def selects(self, name: str, task: str, **data: Any) -> Event:
        """The same, for a move that names the task that is next."""
        return Event(name, DRIVER, evidence=Evidence(task=task, data=data))

    def note(self, type_: str, **data: Any) -> None:
        """Write something down at once."""
        self.write(noted(type_, **data))

    def write(self, *events: Event) -> None:
        for event in events:
            self.context.journal.append(self.run.id, event, lease=self.lease)

    def counted(self, name: str) -> int:
        return self.snapshot.counters.get(name, 0)

    def limit(self, name: str) -> int:
        return self.machine.form.counters[name].limit

    @property
    def session_path(self) -> str:
        return f"{DIRECTORY}/{self.run.session}"

    @property
    def attempt(self) -> int:
        """Which attempt at the task at hand this is."""
        return self.snapshot.counters.get(f"attempt:{self.run.task}", 1)

    def reports_for(self, *tasks: str) -> tuple[TaskReport, ...]:
        return tuple(report for id_ in tasks for report in self.run.reports.get(id_, ()))

    def log(self, what: str) -> Path:
        run = self.run
        return self.context.state_directory / "runs" / f"orchestrate-{run.id[-8:]}" / f"{run.version:05d}-{what}.log"

    # The files

    def project(self, *, is_whole: bool = True) -> None:
        """Let the files say what is so. What is in one and is not ours is kept aside, and told."""
        papers, run = self.cache.papers, self.run
        wanted = papers.wanted(run, self.cache.log)
        hashes = papers.hashes(wanted)
        fresh = {name: sha256 for name, sha256 in hashes.items() if run.projected.get(name) != sha256}
        known = {*run.projected}
        if fresh:
            self.write(*(noted("projected", files=dict(portion)) for portion in pieces(fresh.items())))
            self.cache.take_in()
        tell = self.context.tell
        papers.write(
            run, wanted, lambda one: tell(one.message if _name(one) in known else _anew(one)), is_whole=is_whole
        )

    # Asking

    def ask(self, role: Role, given: Input, known: Knowledge, rules: Context, mode: str = "") -> RoleAnswer | None:
        """Ask a role once; what it cost is written with what is concluded of it.

        None where nothing came of it: it was stopped, has to wait, or may not be asked.
        """
        run, name = self.run, self.run.roles[role.performer]
        file = self._role(role)
        if file is None or self._waits(name) or self._is_overdrawn():
            return None
        context, attempt = self.context, self.attempt
        asked = {"role": str(role), "mode": mode, "task": run.task, "attempt": attempt, "agent": name}
        try:
            heard = context.send(
                name,
                str(role.performer),
                prompt(role, file, given, known, run.complaint),
                parent=run.id,
                log=self.log(str(role)),
                reports=role is Role.EXECUTOR,
                judge=role.performer is Role.REVIEWER,
                repository=lambda: self.cache.repository,
                schema=schema_of(role),
                keeps=MAX_SAID + 1,  # one more, so that it shows where there was more
                begin=lambda work: self._begun(work, noted("asked", **asked, reserved=run.books.likely().data)),
            )
        except Refusal as error:
            if error.code != "budget_exhausted":
                raise
            self.rest(f"{error.message} {error.hint}".removesuffix("."), cause="budget")
            return None
        self.project()  # what the agent wrote into them is not a person's
        invoked = noted("invoked", **asked, **_account(heard.result), prompt_file=file.sha256)
        if not self._has_answered(role, name, heard, invoked):
            return None
        read = read_answer(role, heard.said, rules)
        if isinstance(read, Complaint):
            is_network = _is_network(heard.result)
            return RoleAnswer(role.called, None, invoked, self._complaint(read, heard, is_network), is_network)
        return RoleAnswer(role.called, read, invoked)

    def _begun(self, work: Callable[[Transaction], str], asked: Event) -> str:
        """The session of a role and that it was asked, as one; then it is told."""

        def both(transaction: Transaction) -> str:
            session = work(transaction)
            transaction.append(self.run.id, asked, lease=self.lease)
            return session

        session = self.context.journal.transact(both)
        self.context.tell(self.cache.take_in())
        self.cache.git.shut()
        return session

    def _complaint(self, read: Complaint, heard: AgentRun, is_network: bool) -> str:
        """What was wrong with the answer; where the agent itself has failed, how."""
        if heard.result.ending is Ending.FINISHED:
            return str(read)
        said = sayable(prose(heard.said)[-500:]).strip()
        if is_network:
            return f"{heard.ran.why}: {said}" if said else heard.ran.why
        return f"the agent ended as {heard.result.ending}: {said}\n{read}"

    def _role(self, role: Role) -> RoleFile | None:
        """Who it is; where somebody changed that meanwhile, the run rests until a person goes on with it."""
        file = role_file(role, self.context.root, self.context.settings.text("orchestrate.roles"))
        if file.sha256 == self.run.files.get(role.performer, file.sha256):
            return file
        self.rest(f"{file.where}, who the {role.performer} is, was changed while the run was under way")
        return None

    def _waits(self, name: str) -> bool:
        """Whether it is too early, because of a limit or a network that failed; then it was waited for."""
        context, run = self.context, self.run
        limited = run.limited.get(name.partition(":")[0], 0.0)
        wait = max(limited, run.retry_at) - context.journal.now()
        if wait <= 0:
            return False
        why = f"{name} has reached a limit" if limited > run.retry_at else f"{name} could not be reached"
        context.tell(f"{why}; waiting until {clock(context.journal.now() + wait)}")
        context.wait(wait)
        return True

    def _is_overdrawn(self) -> bool:
        """Whether nothing more may be spent; then the run rests."""
        books, settings = self.run.books, self.context.settings
        for name, kind, unit in _KINDS:
            limit = settings.number(f"orchestrate.budget_{name}") * unit
            used, likely = getattr(books.total(), kind), getattr(books.likely(), kind)
            if not has_room(used, likely, limit):
                has = f"{used / unit:.2f} of {limit / unit:.0f} {name} are used"
                why = f"the budget of the run is used up: {has}; orchestrate.budget_{name} in ralph.toml sets it"
                self.rest(why, cause="budget")
                return True
        return False

    def rest(self, why: str, **more: str) -> None:
        """Let the run rest where it is, until a person goes on with it."""
        self.note("stopped", reason=why, **more)
        self.context.tell(f"It rests: {why}.")

    def _has_answered(self, role: Role, name: str, heard: AgentRun, invoked: Event) -> bool:
        """Whether the agent has come to an end of its own; what kept it from that is written down."""
        result = heard.result
        if result.ending not in NO_ATTEMPTS or _is_network(result):
            return True  # a network that fails is a move of the machine, which bounds it
        if result.ending is Ending.LIMITED and heard.wait is not None:
            self.write(invoked, noted("limited", agent=name.partition(":")[0], until=heard.wait.until))
            return False
        self.write(invoked)
        if result.ending is Ending.LIMITED:
            raise unavailable(name, heard.ran)
        if result.ending in UNUSABLE:
            raise unusable(name, heard.ran, role.called)
        return False


def _is_network(result: Result) -> bool:
    return result.ending is Ending.LIMITED and result.failure is not None and result.failure.kind is FailureKind.NETWORK


def _name(restored: Restored) -> str:
    return restored.file.partition("/")[2]


def _anew(restored: Restored) -> str:
    """What is told of a file that was there before it was ours to write."""
    return f"{DIRECTORY}/{restored.file} is written anew; what was there already is kept as {restored.kept}."


def _account(result: Result) -> dict[str, Any]:
    """What a run of an agent cost, and how it ended."""
    return {
        "ending": str(result.ending),
        "seconds": round(result.seconds, 3),
        "cost_usd": result.cost_usd,
        "tokens": result.usage.input + result.usage.output,
        "log_sha256": result.log_sha256,
    }
