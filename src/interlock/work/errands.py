"""One run of one agent for somebody who drives it: heard, watched, and a session of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from interlock.errors import InterlockError
from interlock.journal import Journal, Transaction
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.sessions.findings import Written
from interlock.work.sessions.prompt import progress_reporting
from interlock.work.sessions.runs import DIED, RUN, UNKNOWN, Ran, Tools, data_of, ran_of, result_of
from interlock.work.sessions.upkeep import take_in, written_since
from interlock.work.sessions.verbs import Caller, complete, create, note
from interlock.work.setup.outfits import outfit_for
from interlock.world.agents.agent import Agent
from interlock.world.agents.assignment import Assignment, Outfit, TimeOuts
from interlock.world.agents.happenings import Happening, Said, UsedTool, Warned
from interlock.world.agents.lines import LONGEST
from interlock.world.agents.refusing import refuses_schema
from interlock.world.agents.result import Ending, Result
from interlock.world.agents.running import Stop, run
from interlock.world.agents.tree import end_marked
from interlock.world.git import Repository

__all__ = ["DRIVER", "KEEPS", "Errand", "Heard", "end_left_errands", "run_errand"]

DRIVER = Actor(ActorKind.SYSTEM, "ralph", Channel.DRIVER)
KEEPS = 32_000
"""How many characters of what an agent said last are kept where nobody needs more."""
_LINE = 4
"""A line holds what is said perhaps twice, and each character in up to two bytes."""
_LEFT = 8
"""So many sessions of a parent are looked at for what a driver left: it has a few at a time."""
_OUTCOMES = {Ending.FINISHED: "success", Ending.STOPPED: "cancelled", Ending.LIMITED: "cancelled"}


@dataclass(frozen=True, slots=True)
class Errand:
    """What an agent is sent for, by whom, and where."""

    agent: Agent
    role: str
    prompt: str
    parent: str
    """The instance that it works for; every process of it carries this as its mark."""
    root: Path
    """The repository that its journal is of."""
    directory: Path
    log: Path
    environment: Mapping[str, str]
    time_outs: TimeOuts
    state_directory: Path
    model: str | None = None
    arguments: tuple[str, ...] = ()
    reports: bool = False
    """Whether it is told how to report what it does; who only reads has nothing to report."""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema of its answer, for an agent with an option for that; the prompt asks for it as well."""
    keeps: int = KEEPS
    """How many characters of what it says are kept, from the end."""
    keeps_words: bool = False
    """Whether its session says what it was asked and said, and what its tools were called on."""


@dataclass(frozen=True, slots=True)
class Heard:
    """How it ended, and the end of what was said."""

    result: Result
    said: str


def run_errand(
    journal: Journal,
    errand: Errand,
    tell: Callable[[object], None],
    stop: Stop,
    repository: Callable[[], Repository] | None = None,
) -> Heard:
    """Send an agent once. It is a session from its first moment to its last, whatever becomes of it.

    `repository` gives an open one for the look at what it wrote, where somebody has one.
    """
    caller = Caller(DRIVER, errand.agent.name, None, str(errand.directory))
    session = journal.transact(create(caller, parent=errand.parent, role=errand.role)).session_id
    ear = _Ear(tell, errand.keeps, Tools(journal.now, keeps_words=errand.keeps_words))
    outfit = outfit_for(errand.agent.name, errand.directory, errand.environment) if errand.reports else None
    given = {
        "RALPH_SESSION_ID": session,
        "RALPH_ROOT": str(errand.root),
        "RALPH_REPORTING": "optional" if errand.reports else "expected",
    }
    assignment = Assignment(
        prompt=_with_reporting(journal, errand, session, outfit) if errand.reports else errand.prompt,
        directory=errand.directory,
        log=errand.log,
        environment={**errand.environment, **given},
        time_outs=errand.time_outs,
        model=errand.model,
        arguments=errand.arguments,
        marker=errand.parent,
        line_limit=max(LONGEST, _LINE * errand.keeps),
        schema=errand.schema,
        outfit=outfit,
    )
    result = run(errand.agent, assignment, ear.hear, stop)
    if errand.schema is not None and not ear.has_begun and refuses_schema(result):
        tell(Warned(f"{errand.agent.name} takes no schema for its answer; it is asked by the prompt alone."))
        result = run(errand.agent, replace(assignment, schema=None), ear.hear, stop)
    take_in(journal, errand.state_directory)  # everything that its hooks saw, before the session ends
    written = written_since(journal, session, repository() if repository is not None else None)
    said = ear.text or ("" if result.ending is Ending.FINISHED else "\n".join(result.last_lines)[-errand.keeps :])
    words = (errand.prompt, said) if errand.keeps_words else None
    ran = result_of(result, errand.agent.name, errand.model, ear.tools, words)
    _end(journal, session, _OUTCOMES.get(result.ending, "failure"), written, ran)
    return Heard(result, said)


def end_left_errands(journal: Journal, parent: str, state_directory: Path) -> None:
    """End what a driver that died left of its errands: their processes, and their sessions."""
    end_marked(parent)
    take_in(journal, state_directory)
    for session in journal.open_children(parent, "session"):
        written = written_since(journal, session.id)
        _end(journal, session.id, "cancelled", written, _left(journal, session.id, DIED), "the driver of the run died")
    for session in journal.recent("session", _LEFT, parent=parent):  # those that the agents themselves have ended
        if (ran := _left(journal, session.id, UNKNOWN)) is not None:
            journal.transact(note(session.id, RUN, DRIVER, data_of(ran)))


def _left(journal: Journal, session: str, ending: str) -> Ran | None:
    """What is known of a run that nobody wrote down; None where somebody did, or no driver began it."""
    history = journal.history(session)
    if history[0].channel != DRIVER.channel or ran_of(history) is not None:
        return None
    return Ran(str(history[0].decoded_evidence().data.get("agent") or "agent"), ending)


def _with_reporting(journal: Journal, errand: Errand, session: str, outfit: Outfit | None) -> str:
    """The prompt with how to report, where the agent has our server: from this run, or from `ralph init`."""
    if outfit is None and not (errand.state_directory / "init.json").is_file():
        return errand.prompt
    machine = journal.machine_of(journal.instance(session))
    return f"{errand.prompt}\n{progress_reporting(machine, session)}"


def _end(
    journal: Journal, session: str, outcome: str, written: Sequence[Written], ran: Ran | None, why: str | None = None
) -> None:
    """Write down what came of a run, and end its session where it did not end itself."""

    def tell(transaction: Transaction) -> None:
        if ran is not None:
            note(session, RUN, DRIVER, data_of(ran))(transaction)

    def work(transaction: Transaction) -> None:
        tell(transaction)
        complete(session, outcome, DRIVER, why, written=written)(transaction)

    try:
        journal.transact(work)
    except InterlockError as error:
        if error.code != "session_completed":
            raise
        journal.transact(tell)


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
        self.has_begun = self.has_begun or isinstance(happening, Said | UsedTool)
        self._tell(happening)

    def _keep(self, text: str) -> None:
        self._pieces.append(text)
        self._size += len(text) + 1
        while (rest := self._size - len(self._pieces[0]) - 1) > self._keeps:  # what is left is enough
            self._pieces.popleft()
            self._size = rest
