"""Where the threads of a repository are, who is at the keyboard, and how one is told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.errors import Refusal
from interlock.faces.cli.command import CommandCall
from interlock.faces.cli.driving import DriverSession
from interlock.faces.cli.place import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.journal import Entry
    from interlock.machine import Snapshot
    from interlock.work.threads.child import ChildView
    from interlock.work.threads.record import Thread
    from interlock.work.threads.ticket_link import Above

__all__ = ["data_of", "drive_thread", "listen", "plain", "tell_thread", "which_thread"]

_NEEDS_PERSON = frozenset({"PreflightFailed", "Stuck"})


def drive_thread(here: DriverSession, id_: str) -> None:
    """Let a thread go on by itself as far as it can; a person who lets it rest or ends it elsewhere is heard."""
    from interlock.work.threads.loop import drive

    here.drive(lambda: drive(here.context, id_), _told_of(id_))


def listen(here: DriverSession, id_: str) -> None:
    """End an agent that is asked for a thread when a person ends the thread elsewhere."""
    here.interrupts.is_told = _told_of(id_)


def _told_of(id_: str) -> Callable[[Entry], bool]:
    from interlock.work.threads.attending import is_told

    return lambda entry: entry.instance == id_ and is_told(entry)


def which_thread(call: CommandCall, place: Workspace, *, looks: bool = False) -> str:
    """The thread that is named, or the active one. A verb that only `looks` takes the newest where none is active."""
    from interlock.work.threads.active import active_thread, decided_thread
    from interlock.work.threads.reading import find_thread

    given = getattr(call.arguments, "thread", None)
    if given:
        return find_thread(place.journal, given).id
    if looks:
        known = active_thread(place.journal, place.state_directory)
        for one in [known] if known is not None else place.journal.recent("thread", 1):
            return one.id
    return decided_thread(place.journal, place.state_directory, place.work_tree)


def data_of(
    thread: Thread, snapshot: Snapshot, child: ChildView | None, above: Above | None, base: Path
) -> dict[str, Any]:
    """A thread as programs read it."""
    seconds, dollars, tokens = thread.spent
    return {
        "id": thread.id,
        "title": thread.title,
        "state": thread.state,
        "mode": thread.mode,
        "ticket": None if above is None else plain(above),
        "outcome": thread.outcome,
        "reason": thread.reason or None,
        "iteration": snapshot.counters.get("iteration", 1),
        "spec_revision": thread.revision.number if thread.revision else 0,
        "spec_sha256": thread.revision.sha256 if thread.revision else None,
        "baseline": None
        if thread.baseline is None
        else {"branch": thread.baseline.branch, "commit": thread.baseline.commit},
        "branch": thread.branch,
        "work_tree": str(thread.place.directory(base)) if thread.place is not None else None,
        "run": thread.run,
        "child": None if child is None else plain(child),
        "checks": thread.checks,
        "receipt": thread.receipt,
        "proofs": dict(snapshot.proofs),
        "subjects": dict(snapshot.subjects),
        "diagnosis": None if thread.diagnosis is None else plain(thread.diagnosis),
        "message": thread.message or None,
        "commit": thread.commit,
        "spent": {"seconds": round(seconds, 3), "usd": round(dollars, 4), "tokens": tokens},
        "kept": thread.kept,
        "refused": thread.refused,
    }


def plain(value: object) -> Any:
    import msgspec

    return msgspec.json.decode(msgspec.json.encode(value))


def tell_thread(call: CommandCall, place: Workspace, id_: str, *, is_asked: bool = False) -> None:
    """Where a thread stands now; after a move, an exit status of 5 where something failed and a person is needed."""
    from interlock.faces.cli.thread_pages import show_thread
    from interlock.work.driver.lease_holders import is_present
    from interlock.work.threads.children import shown_child
    from interlock.work.threads.reading import read_thread
    from interlock.work.threads.ticket_link import ticket_of

    thread, instance = read_thread(place.journal, id_), place.journal.instance(id_)
    machine, snapshot = place.journal.machine_of(instance), instance.snapshot
    child, above = shown_child(place.journal, thread), ticket_of(place.journal, thread)
    data = data_of(thread, snapshot, child, above, place.state_directory.parent)
    is_driven = bool(place.journal.is_held(f"thread:{id_}", is_present))
    if thread.state in _NEEDS_PERSON and not is_asked:
        if not call.output.json:
            show_thread(call.output, thread, machine, snapshot, child, above, is_driven=True)
        why = thread.reason.strip() or f"The thread is {thread.state}."
        why, hint = why if call.output.json else why.splitlines()[0], "`ralph thread` shows the ways out."
        if thread.state == "Stuck":
            raise Refusal("thread_stuck", why, hint, data)
        raise Refusal("preflight_failed", why, hint, data)
    call.output.result(
        data, lambda: show_thread(call.output, thread, machine, snapshot, child, above, is_driven=is_driven)
    )
