"""Where the threads of a repository are, who is at the keyboard, and how one is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.errors import Refusal
from interlock.faces.cli.command import CommandCall
from interlock.faces.cli.driver_session import DriverSession
from interlock.faces.cli.place import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.journal import Entry

__all__ = ["drive_thread", "listen", "tell_thread", "which_thread"]


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
    from interlock.work.threads.reading import active_thread, decided_thread, find_thread

    given = getattr(call.arguments, "thread", None)
    if given:
        return find_thread(place.journal, given).id
    if looks:
        known = active_thread(place.journal, place.state_directory)
        for one in [known] if known is not None else place.journal.recent("thread", 1):
            return one.id
    return decided_thread(place.journal, place.state_directory, place.work_tree)


def tell_thread(call: CommandCall, place: Workspace, id_: str, *, is_asked: bool = False) -> None:
    """Where a thread stands now; after a move, an exit status of 5 where something failed and a person is needed."""
    from interlock.faces.cli.thread_pages import show_thread
    from interlock.work.views.failure import failure_of
    from interlock.work.views.thread import thread_view

    view = thread_view(place.journal, id_, place.state_directory.parent)
    machine = place.journal.machine_of(place.journal.instance(id_))
    failure = None if is_asked else failure_of(view)
    if failure is None:
        call.output.result(view, lambda: show_thread(call.output, view, machine))
        return
    if not call.output.json:
        show_thread(call.output, view, machine)
        failure = Refusal(failure.code, failure.message.splitlines()[0], failure.hint)
    raise failure
