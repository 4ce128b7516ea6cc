"""Finding runs and reading them, for callers that only look."""

from __future__ import annotations

import msgspec

from interlock.errors import NotFound
from interlock.journal import Instance, Journal
from interlock.work.orchestration.record import Run
from interlock.work.orchestration.replay import run_of
from interlock.work.orchestration.run_files.names import is_session_id

__all__ = ["MACHINE", "RunRow", "known_run", "open_run", "recent_runs", "successor"]

MACHINE = "orchestrator"
_MOST_RUNS = 1000
"""So many runs back a session is looked for."""


def open_run(journal: Journal) -> Instance | None:
    """The run that has not ended; there is one at a time, besides those that threads drive."""
    found = [one for one in journal.open_instances(MACHINE) if one.parent is None]
    return found[-1] if found else None


def known_run(journal: Journal, reference: str | None = None) -> Run:
    """The run that is named, by its id or by its session, the one that is under way, or the last one.

    Those that threads drive come after others, but for one that is driven right now.
    """
    if reference and is_session_id(reference):
        return _of_session(journal, reference)
    if reference:
        found = journal.instance(reference)
        if found.machine != MACHINE:
            hint = "`ralph orchestrate status` shows the run."
            raise NotFound("unknown_instance", f"{found.id} is a {found.machine}, not a run.", hint)
        return run_of(journal.history(found.id))
    known = open_run(journal) or next(iter(_known(journal)), None)
    if known is None:
        raise NotFound("unknown_run", "There is no run here.", '`ralph orchestrate "GOAL"` begins one.')
    return run_of(journal.history(known.id))


def _known(journal: Journal) -> list[Instance]:
    """The newest runs: what a thread drives right now, what nobody drives, what a thread drove."""
    recent = journal.recent(MACHINE, 50)
    return sorted(recent, key=lambda one: 0 if one.parent and one.outcome is None else 1 if one.parent is None else 2)


def _of_session(journal: Journal, session: str) -> Run:
    """The last run on a directory."""
    for one in journal.recent(MACHINE, _MOST_RUNS):
        if run_of(journal.entries(instance=one.id, most=1)).session == session:
            return run_of(journal.history(one.id))
    hint = "`ralph orchestrate status` shows the last run."
    raise NotFound("unknown_run", f"No run is known of the session {session}.", hint)


class RunRow(msgspec.Struct, frozen=True):
    """A run in a list of them."""

    id: str
    session: str
    goal: str
    state: str
    outcome: str | None
    started: str
    updated: str
    tasks: int
    closed: int


def recent_runs(journal: Journal, most: int) -> list[RunRow]:
    """The runs, the newest first."""
    return [_row(run_of(journal.history(one.id))) for one in journal.recent(MACHINE, most)]


def _row(run: Run) -> RunRow:
    tasks = len(run.plan.tasks)
    return RunRow(run.id, run.session, run.goal, run.state, run.outcome, run.started, run.updated, tasks, run.closed)


def successor(journal: Journal, run: Run) -> str | None:
    """The newest run that went on where this one ended: it has the same directory."""
    later = [one.id for one in journal.recent(MACHINE, _MOST_RUNS) if one.id > run.id]
    found = (id_ for id_ in later if run_of(journal.entries(instance=id_, most=1)).session == run.session)
    return next(found, None)
