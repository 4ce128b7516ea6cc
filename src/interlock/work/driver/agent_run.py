"""One run of one agent for somebody who drives it: heard, watched, and a session of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.errors import InterlockError, JournalError
from interlock.journal import Entry, Journal, Lease, Transaction
from interlock.machine import Event
from interlock.work.budget import limits_of, reserve
from interlock.work.driver.agent_failures import Wait, end_text, last_run, unavailable, unusable, wait_for, waiting_text
from interlock.work.driver.agent_sandbox import confined_run, run_limits
from interlock.work.driver.context import DriverContext
from interlock.work.formats.times import day_of
from interlock.work.sessions.findings import WrittenFile, after_end, of_others
from interlock.work.sessions.prompt import progress_reporting
from interlock.work.sessions.record import record_of
from interlock.work.sessions.runs import DIED, RUN, UNKNOWN, RunSummary, Tools, data_of, ran_of, result_of
from interlock.work.sessions.verbs import DRIVER, Caller, complete, create, keep_findings, note
from interlock.world.agents.agent import ChosenAgent
from interlock.world.agents.assignment import AgentTools, Assignment
from interlock.world.agents.failures import refuses_schema
from interlock.world.agents.happenings import (
    ContextUsed,
    Failure,
    FailureKind,
    Finished,
    Happening,
    Said,
    UsedTool,
    Warned,
)
from interlock.world.agents.lines import LONGEST
from interlock.world.agents.resources import EXCESSES
from interlock.world.agents.result import NO_ATTEMPTS, UNUSABLE, Ending, Result
from interlock.world.ancestry import host
from interlock.world.child_environment import complete_address
from interlock.world.git import Repository
from interlock.world.journal_address import BY_SESSION, MARK
from interlock.world.place import Place
from interlock.world.repository import OWN_TREES

__all__ = [
    "DRIVER",
    "KEEPS",
    "AgentRequest",
    "AgentRun",
    "end_orphaned_runs",
    "not_answered",
    "orphaned_runs",
    "run_agent",
]

KEEPS = 32_000
"""How many characters of what an agent said last are kept where nobody needs more."""
_LINE = 4
"""A line holds what is said perhaps twice, and each character in up to two bytes."""
_LEFT = 8
"""So many sessions of a parent are looked at for what a driver left: it has a few at a time."""
_OUTCOMES = {Ending.FINISHED: "success", **dict.fromkeys(NO_ATTEMPTS, "cancelled")}


class AgentRequest(msgspec.Struct, frozen=True):
    """What an agent is asked to do, for which instance, and what is written down of it there."""

    agent: ChosenAgent
    role: str
    prompt: str
    parent: str
    """The instance that it works for; every process of it carries this as its mark."""
    log: Path
    directory: Path | None = None
    """Where it works, unless in the repository's root."""
    is_read_only: bool = False
    """True if it may not change a file, where a sandbox can keep it from that."""
    reports: bool = False
    """Whether it is told how to report what it does; who only reads has nothing to report."""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema of its answer, for an agent with an option for that; the prompt asks for it as well."""
    keeps: int = KEEPS
    """How many characters of what it says are kept, from the end."""
    lease: Lease | None = None
    """The right to drive the instance, for the notes on it."""
    started: tuple[Event, ...] = ()
    """Notes on the instance, in the transaction that begins the run."""
    settled: Callable[[AgentRun], Sequence[Event]] = lambda heard: ()
    """Notes on the instance, in the transaction that ends the run: what it cost and how it ended."""
    on_start: Callable[[], None] = lambda: None
    """Called once the run has begun, before the agent is started."""
    repository: Callable[[], Repository] | None = None
    """Gives an open one for the look at what it wrote, where somebody has one."""
    changed: Callable[[], Sequence[str]] | None = None
    """Gives the paths that are not as they were committed, if the caller looks at them after the run anyway."""


class AgentRun(msgspec.Struct, frozen=True):
    """How it ended, and the end of what was said."""

    result: Result
    said: str
    ran: RunSummary
    """The same as its session tells it."""
    wait: Wait | None = None
    """How long to wait after a temporary failure; None once the maximum is reached."""


def run_agent(context: DriverContext, request: AgentRequest) -> AgentRun:
    """Run an agent once. It is a session from its first moment to its last, whatever becomes of it.

    Where the budget of the day is used up, nothing is written and no agent is started: `budget_exhausted` is raised.
    So it is where the settings wait to be accepted. Every run that nobody speaks with passes here.
    """
    journal, settings, agent = context.journal, context.settings, request.agent
    settings.must_allow_agents()
    directory = request.directory or context.root
    session = journal.transact(_opening(context, request, directory))
    request.on_start()
    keeps_words = settings.text("telemetry.content") == "on"
    ear = _Ear(context.report, request.keeps, Tools(journal.now, keeps_words=keeps_words))
    tools = (agent.name, directory, context.environment, context.base)
    outfit = context.ports.tools_for(*tools) if request.reports else None
    given = {
        "RALPH_SESSION_ID": session,
        "RALPH_ROOT": str(context.root),
        "RALPH_REPORTING": "optional" if request.reports else "expected",
        **({MARK: BY_SESSION} if journal.url else {}),
    }
    assignment = Assignment(
        prompt=_with_reporting(context, request.prompt, session, outfit) if request.reports else request.prompt,
        directory=directory,
        log=request.log,
        environment={**context.environment, **given},
        time_outs=context.time_outs,
        marker=request.parent,
        line_limit=max(LONGEST, _LINE * request.keeps),
        schema=request.schema,
        outfit=outfit,
        limits=run_limits(settings),
    )
    before = last_run(journal, request.parent, agent.name)
    began = context.ports.files.file_clock(context.state_directory)
    with (
        _address_kept(context, session),
        confined_run(context, agent.name, session, directory, given, is_read_only=request.is_read_only) as (
            confinement,
            own,
        ),
    ):
        environment = {**context.environment, **own}
        result = _run(context, agent, replace(assignment, environment=environment, confinement=confinement), ear)
    sessions = context.ports.sessions
    sessions.take_in(journal, context.state_directory)  # everything that its hooks saw, before the session ends
    repository, changed = _looked_at(request)
    written = sessions.written_since(journal, session, context.state_directory, repository, changed)
    seen = [one.path for one in written]
    if not ear.has_begun and _is_idle(result) and not _has_changed(context, directory, repository, began, seen):
        failure = result.failure or Failure(FailureKind.IDLE, None, "\n".join(result.last_lines))
        result = replace(result, ending=Ending.NEEDS_PERSON, failure=failure)
    said = ear.text or ("" if result.ending is Ending.FINISHED else "\n".join(result.last_lines)[-request.keeps :])
    words = (request.prompt, said) if keeps_words else None
    is_limited, most = result.ending is Ending.LIMITED, settings.number("agent.wait_minutes") * 60.0
    wait = wait_for(result.failure, before, journal.now(), most) if is_limited else None
    is_excess = result.failure is not None and result.failure.kind in EXCESSES
    if result.failure is not None and is_excess and result.failure.said not in said:
        said = f"{said}\n{result.failure.said}"
    is_told = is_excess or result.ending in NO_ATTEMPTS - {Ending.STOPPED}
    why = end_text(agent.name, result) if is_told else ""
    span = (wait.until, wait.since) if wait is not None else None
    ran = result_of(result, agent.name, agent.model, ear.tools, words, span, why)
    heard = AgentRun(result, said, ran, wait)
    _end(journal, session, _OUTCOMES.get(result.ending, "failure"), written, ran, request=request, heard=heard)
    if confinement is None:
        _look_beside(context, session, directory)
    return heard


def _run(context: DriverContext, agent: ChosenAgent, assignment: Assignment, ear: _Ear) -> Result:
    """Run an agent, once more without a schema for its answer if it refuses one."""
    result = context.ports.run_agent(agent, assignment, ear.hear, context.stop)
    if assignment.schema is None or ear.has_begun or not refuses_schema(result):
        return result
    context.report(Warned(f"{agent.name} takes no schema for its answer; it is asked by the prompt alone."))
    return context.ports.run_agent(agent, replace(assignment, schema=None), ear.hear, context.stop)


def _looked_at(request: AgentRequest) -> tuple[Repository | None, Sequence[str] | None]:
    """Open the repository for the look at what was written, and give the changed paths if the caller knows them.

    Both are None if the agent broke the repository, because its run is paid anyway.
    """
    try:
        repository = request.repository() if request.repository is not None else None
        return repository, request.changed() if request.changed is not None else None
    except InterlockError:
        return None, None


def _is_idle(result: Result) -> bool:
    """True if a run exited without using any tokens: if it also did nothing, a retry would not help."""
    ended = result.ending in (Ending.FINISHED, Ending.FAILED) and (result.exit_code or 0) >= 0
    return ended and not (result.usage.input or result.usage.output or result.cost_usd)


def _has_changed(
    context: DriverContext, directory: Path, repository: Repository | None, began: int, likely: Sequence[str]
) -> bool:
    """True if a file of the work tree was changed since the run began, by the clock of the file system.

    Checks the likely files first: git lists all of them only if none of those was changed.
    """
    if context.ports.files.has_changed_since(directory, likely, began):
        return True
    try:
        names = context.git.files(repository or directory)
    except InterlockError:
        return False
    return context.ports.files.has_changed_since(directory, names, began)


def not_answered(agent: str, heard: AgentRun, hint: str) -> InterlockError:
    """Return the error of an agent that was asked and did not finish; `hint` helps where another try may."""
    result = heard.result
    if result.ending in UNUSABLE:
        return unusable(agent, heard.ran)
    if heard.wait is not None:
        details = {"until": heard.wait.until, "agent": agent}
        message = f"{heard.ran.why}. It {waiting_text(heard.ran)}."
        return InterlockError("agent_unavailable", message, "Run the same command again then.", details)
    if result.ending is Ending.LIMITED:
        return unavailable(agent, heard.ran)
    return InterlockError("agent_failed", f"The agent did not answer: {end_text(agent, result)}.", hint)


@contextmanager
def _address_kept(context: DriverContext, session: str) -> Iterator[None]:
    """Let the programs of a session find a journal that is on a server: the agent's environment does not say where."""
    url, environment, addresses = context.journal.url, context.environment, context.ports.addresses
    if url is None:
        yield
        return
    try:
        addresses.keep_address(environment, session, complete_address(url, environment))
    except OSError as error:
        message = f"The journal's address cannot be kept for the agent: {error.strerror} ({error.filename})."
        hint = "Make your state directory writable: ~/.local/state/interlock, or below $XDG_STATE_HOME."
        raise JournalError("journal_unreachable", message, hint) from None
    try:
        yield
    finally:
        addresses.remove_address(environment, session)


def end_orphaned_runs(context: DriverContext, parent: str) -> None:
    """End the runs of a driver that died: their processes and their sessions.

    Nobody knows what each of them used, so it has cost what was reserved for it.
    """
    journal, state_directory = context.journal, context.state_directory
    context.ports.end_processes(parent)
    context.ports.sessions.take_in(journal, state_directory)
    for session in orphaned_runs(journal, parent):
        context.ports.addresses.remove_address(context.environment, session)
        written = context.ports.sessions.written_since(journal, session, state_directory)
        _end(journal, session, "cancelled", written, _left(journal, session, DIED), "the driver of the run died")
    for one in journal.recent("session", _LEFT, parent=parent):  # those that the agents themselves have ended
        if one.outcome is not None and (ran := _left(journal, one.id, UNKNOWN)) is not None:
            journal.transact(note(one.id, RUN, DRIVER, data_of(ran)))


def orphaned_runs(journal: Journal, parent: str) -> list[str]:
    """Return the open sessions that a driver began for an instance; those that agents began themselves are left out."""
    return [one.id for one in journal.open_children(parent, "session") if _is_of_driver(journal.history(one.id)[0])]


def _is_of_driver(created: Entry) -> bool:
    return (created.actor_kind, created.actor_id, created.channel) == (DRIVER.kind, DRIVER.id, DRIVER.channel)


def _left(journal: Journal, session: str, ending: str) -> RunSummary | None:
    """What is known of a run that nobody wrote down; None where somebody did, or no driver began it."""
    history = journal.history(session)
    if not _is_of_driver(history[0]) or ran_of(history) is not None:
        return None
    return RunSummary(str(history[0].decoded_evidence().data.get("agent") or "agent"), ending)


def _with_reporting(context: DriverContext, prompt: str, session: str, outfit: AgentTools | None) -> str:
    """The prompt with how to report, where the agent has our server: from this run, or from `ralph init`."""
    if outfit is None and not context.ports.files.mark(context.state_directory / "init.json"):
        return prompt
    machine = context.journal.machine_of(context.journal.instance(session))
    return f"{prompt}\n{progress_reporting(machine, session)}"


def _place(context: DriverContext, directory: Path) -> Place:
    return Place.at(context.base, directory, host())


def _opening(context: DriverContext, request: AgentRequest, directory: Path) -> Callable[[Transaction], str]:
    """The run's session, what the run may use of the day's budget, and what its instance notes, as one."""
    caller = Caller(DRIVER, request.agent.name, None, _place(context, directory))
    log = request.log.relative_to(context.state_directory).as_posix()

    def work(transaction: Transaction) -> str:
        kept = reserve(transaction, day_of(context.journal.now()), limits_of(context.settings))
        told = {**kept, "log": log}
        session = create(caller, parent=request.parent, role=request.role, kept=told)(transaction).session_id
        for event in request.started:
            transaction.append(request.parent, event, lease=request.lease)
        return session

    return work


def _end(
    journal: Journal,
    session: str,
    outcome: str,
    written: Sequence[WrittenFile],
    ran: RunSummary | None,
    why: str | None = None,
    *,
    request: AgentRequest | None = None,
    heard: AgentRun | None = None,
) -> None:
    """Write down what came of a run, in its session and for its instance, and end the session if it did not itself.

    Where the right to drive the instance was lost, what the run cost is still written in its session.
    """

    def work(transaction: Transaction) -> None:
        if ran is not None:
            note(session, RUN, DRIVER, data_of(ran))(transaction)
        ended = transaction.instance(session)
        if ended.outcome is None:
            complete(session, outcome, DRIVER, why, written=written)(transaction)
        elif written:
            record = record_of(transaction.history(session))
            keep_findings(transaction, session, after_end(record, transaction.machine_of(ended), written))

    def both(transaction: Transaction) -> None:
        work(transaction)
        if request is not None and heard is not None:
            for event in request.settled(heard):
                transaction.append(request.parent, event, lease=request.lease)

    try:
        journal.transact(both)
    except InterlockError:
        journal.transact(work)
        raise


def _look_beside(context: DriverContext, session: str, directory: Path) -> None:
    """Whether somebody wrote in the repository's own work tree while the agent had one for itself; that is told."""
    journal, state_directory = context.journal, context.state_directory
    if not directory.is_relative_to(state_directory / OWN_TREES):
        return
    beside = context.ports.sessions.written_beside(journal, session, state_directory.parent)
    found = of_others(journal.instance(session).state, beside)
    if found:
        journal.transact(lambda transaction: keep_findings(transaction, session, found))
    for one in found:
        context.report(Warned(one.message))


class _Ear:
    """Hears what an agent says: all of it is told on, its end is kept. It takes a time that grows with what is said."""

    def __init__(self, tell: Callable[[object], None], keeps: int, tools: Tools) -> None:
        self.tools = tools
        self._tell = tell
        self._keeps = keeps
        self._pieces: deque[str] = deque()
        self._size = 0
        """Of all pieces, each with the end of its line."""
        self.has_begun = False
        """Whether it has said or done anything."""

    @property
    def text(self) -> str:
        """The end of what was said."""
        return "\n".join(self._pieces)[-self._keeps :].lstrip("\n")

    def hear(self, happening: Happening) -> None:
        if isinstance(happening, Said):
            self._keep(happening.text[-self._keeps :])
        self.tools.take(happening)
        has_ended_well = isinstance(happening, Finished) and happening.ok
        self.has_begun = self.has_begun or has_ended_well or isinstance(happening, Said | UsedTool | ContextUsed)
        self._tell(happening)

    def _keep(self, text: str) -> None:
        self._pieces.append(text)
        self._size += len(text) + 1
        while (rest := self._size - len(self._pieces[0]) - 1) > self._keeps:  # what is left is enough
            self._pieces.popleft()
            self._size = rest
