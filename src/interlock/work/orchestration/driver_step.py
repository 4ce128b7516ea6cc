"""A run in one state, as its driver has it: what is known of it, and how a role is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from interlock.errors import InterlockError
from interlock.machine import Event, Evidence
from interlock.work.budget import has_room
from interlock.work.driver.agent_failures import clock, prose
from interlock.work.driver.agent_run import DRIVER, AgentRequest, AgentRun, run_agent
from interlock.work.driver.agent_turn import NoAgent, account, choose, resting
from interlock.work.driver.context import DriverContext
from interlock.work.driver.record import PAUSED
from interlock.work.driver.step import DriverStep, noted
from interlock.work.formats.quoting import sayable
from interlock.work.orchestration.answers import MAX_SAID, Complaint, read_answer
from interlock.work.orchestration.contracts import Answer, Input, Role, schema_of
from interlock.work.orchestration.planning import pieces
from interlock.work.orchestration.prompts import Knowledge, prompt
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.roles import RoleFile, role_file
from interlock.work.orchestration.rules import Context
from interlock.work.orchestration.run_cache import RunCache
from interlock.work.orchestration.store import DIRECTORY, Restored, SessionFiles
from interlock.work.orchestration.values import TaskReport
from interlock.world.agents.happenings import FailureKind
from interlock.world.agents.result import NO_ATTEMPTS, Ending, Result

__all__ = ["RELEASED", "RoleAnswer", "RunStep"]

RELEASED = noted("released")
"""The files are ours again, and what came of the last run is written."""
_KINDS = (("minutes", "seconds", 60.0), ("tokens", "tokens", 1.0), ("usd", "usd", 1.0))


class RoleAnswer(msgspec.Struct, frozen=True):
    """The answer of a role."""

    role: str
    answer: Answer | None
    """None where it was none that could be used."""
    complaint: str = ""
    is_network: bool = False


class RunStep(DriverStep[DriverContext, Run], frozen=True):
    """A run in one state."""

    cache: RunCache

    @property
    def run(self) -> Run:
        return self.fold.record

    def event(self, name: str, reason: str | None = None, facts: dict[str, str] | None = None, **data: Any) -> Event:
        """What came of it, as an event of the machine."""
        plain = msgspec.json.decode(msgspec.json.encode(data))
        evidence = Evidence(facts=facts or {}, data=plain)
        return Event(name, DRIVER, reason=sayable(reason) if reason is not None else None, evidence=evidence)

    def selects(self, name: str, task: str, **data: Any) -> Event:
        """The same, for a move that names the task that is next."""
        return Event(name, DRIVER, evidence=Evidence(task=task, data=data))

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

    def take_commits(self) -> None:
        """Let the work continue on what the person committed to their branch since."""
        target = self.cache.target
        if target is not None and target.take_commits(self.cache.repository):
            self.cache.git.shut()

    # The files

    def project(self, *, is_whole: bool = True) -> None:
        """Write the current state to the files. What is in one and is not ours is kept aside, and told."""
        files, run = self.cache.files, self.run
        wanted = files.wanted(run, self.cache.log)
        hashes = files.hashes(wanted)
        fresh = {name: sha256 for name, sha256 in hashes.items() if run.projected.get(name) != sha256}
        known = {*run.projected}
        if fresh:
            self.write(*(noted("projected", files=dict(portion)) for portion in pieces(fresh.items())))
        tell = self.context.report
        files.write(
            run, wanted, lambda one: tell(one.message if _name(one) in known else _anew(one)), is_whole=is_whole
        )

    def _show_files(self) -> None:
        """Copy the files for the agents, if they work elsewhere; what an agent writes into a copy is lost."""
        if self.cache.home != self.context.root:
            copies = SessionFiles(self.context.ports, self.context.root, self.context.state_directory)
            wanted = self.cache.files.wanted(self.run, self.cache.log)
            try:
                copies.project(self.run.session, wanted, lambda sha256: True, lambda one: None)
            except InterlockError as error:  # the prompts say what is needed
                self.context.report(f"the agent gets no copies of the session's files: {error.message}")

    # Asking

    def ask(self, role: Role, given: Input, known: Knowledge) -> RoleAnswer | None:
        """Ask a role once. None where nothing came of it: it was stopped, has to wait, or may not be asked."""
        run, file = self.run, self._role(role)
        if file is None or self._waits() or self._is_overdrawn():
            return None
        agents = (self.context.agent(run.roles[role.performer], is_judge=role.performer is Role.REVIEWER),)
        agent = choose(self.context, run, agents)
        if agent is None:
            return None
        if isinstance(agent, NoAgent):
            raise agent.error(role.called)
        mode = "" if known.task is not None else str(given.mode or "")
        asked = {"role": str(role), "mode": mode, "task": run.task, "attempt": self.attempt, "agent": agent.title}
        self._show_files()
        request = AgentRequest(
            agent=agent,
            role=str(role.performer),
            prompt=prompt(role, file, given, known, run.complaint),
            parent=run.id,
            log=self.log(str(role)),
            is_read_only=role is not Role.EXECUTOR,
            reports=role is Role.EXECUTOR,
            schema=schema_of(role),
            keeps=MAX_SAID + 1,  # one more, so that it shows where there was more
            lease=self.lease,
            started=(noted("asked", **asked, reserved=run.books.likely().data),),
            settled=lambda heard: [
                noted("invoked", **asked, **account(heard), prompt_file=file.sha256, guarded=True),
                *([] if _is_network(heard.result) else resting(self.context, agent, heard)),
            ],
            on_start=self._started,
            repository=lambda: self.cache.repository,
        )
        heard = run_agent(self.context, request)
        self.catch_up()
        self.project()  # what the agent wrote into them is not a person's
        if heard.result.ending in NO_ATTEMPTS and not _is_network(heard.result):
            self.write(RELEASED)
            return None  # a network that fails is a move of the machine, which bounds it
        questions = next((one.questions for one in known.cycles if one.number == given.cycle_number), ())
        read = read_answer(role, heard.said, Context(known.plan, known.task, mode, questions))
        if isinstance(read, Complaint):
            is_network = _is_network(heard.result)
            return RoleAnswer(role.called, None, self._complaint(read, heard, is_network), is_network)
        return RoleAnswer(role.called, read)

    def _started(self) -> None:
        self.context.report(self.catch_up().copied())
        self.cache.git.shut()

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
        folder, where = self.context.ports.folder(self.cache.home), self.context.settings.text("orchestrate.roles")
        file = role_file(role, folder, where)
        if file.sha256 == self.run.files.get(role.performer, file.sha256):
            return file
        self.pause(f"{file.where}, who the {role.performer} is, was changed while the run was under way", "changed")
        return None

    def _waits(self) -> bool:
        """True if the network failed and it was too early to try again; then it has waited."""
        context, wait = self.context, self.run.retry_at - self.context.journal.now()
        if wait <= 0:
            return False
        context.report(f"an agent could not be reached; waiting until {clock(self.run.retry_at)}")
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
                self.pause(why, "budget")
                return True
        return False

    def pause(self, why: str, cause: str) -> None:
        """Pause the run where it is, until a person resumes it."""
        self.note(PAUSED, reason=why, cause=cause)
        self.context.report(f"It rests: {why}.")


def _is_network(result: Result) -> bool:
    return result.ending is Ending.LIMITED and result.failure is not None and result.failure.kind is FailureKind.NETWORK


def _name(restored: Restored) -> str:
    return restored.file.partition("/")[2]


def _anew(restored: Restored) -> str:
    """What is told of a file that was there before it was ours to write."""
    return f"{DIRECTORY}/{restored.file} is written anew; what was there already is kept as {restored.kept}."
