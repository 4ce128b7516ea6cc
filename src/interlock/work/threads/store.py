"""The files of the threads, where the seed has them, below `.ralf/`.

    threads/<id>/thread.json     where a thread stands
    threads/<id>/spec/v1.md      the revisions of its spec, each written once
    active_thread                the id of the active thread
    runs/<run-id>/run.json       the runs of its loop
    runs/<run-id>/output.log     what the agents said in it
    spec/threads/<id>.jsonl      the conversation about its spec

They are for people and their tools: the journal is the truth, and `projection` writes what it says into them. A thread
whose file cannot be read stops nobody from working on the others.
"""

from __future__ import annotations

import re
from collections.abc import Container
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from interlock.errors import InterlockError, NotFound
from interlock.work.threads.conversation import Conversation, parse_conversation
from interlock.work.threads.phases import ThreadFile, check_id, corrupt, load
from interlock.work.threads.runs import RunFile, load_run

if TYPE_CHECKING:
    from interlock.world.folder import Folder

__all__ = ["ACTIVE_NAME", "Listing", "ThreadFiles", "UnreadableThread"]

ACTIVE_NAME: Final = "active_thread"
_REVISION: Final = re.compile(r"v([1-9][0-9]{0,8})\.md")
_MAX_SPEC: Final = 1024 * 1024
_MAX_ACTIVE: Final = 1024


class UnreadableThread(msgspec.Struct, frozen=True):
    """A thread whose file cannot be read, and why."""

    id: str
    error: InterlockError


class Listing(msgspec.Struct, frozen=True):
    """Every thread that has files: the one that changed last comes first."""

    threads: tuple[ThreadFile, ...]
    unreadable: tuple[UnreadableThread, ...]


class ThreadFiles:
    """The files below a state directory. Ids that are no names of files are refused with `invalid_argument`."""

    def __init__(self, folder: Folder) -> None:
        self.folder: Final = folder

    # Where each file lies

    @staticmethod
    def thread_name(id_: str) -> str:
        return f"threads/{check_id(id_)}/thread.json"

    @staticmethod
    def revision_name(id_: str, number: int) -> str:
        return f"threads/{check_id(id_)}/spec/v{number}.md"

    @staticmethod
    def run_name(run: str) -> str:
        return f"runs/{check_id(run)}/run.json"

    @staticmethod
    def output_name(run: str) -> str:
        return f"runs/{check_id(run)}/output.log"

    @staticmethod
    def conversation_name(id_: str) -> str:
        return f"spec/threads/{check_id(id_)}.jsonl"

    # Threads

    def load(self, id_: str) -> ThreadFile:
        """What a thread's file says: `thread_corrupt`, `thread_newer` or `file_unsafe` where it says nothing."""
        name = self.thread_name(id_)
        content = self.folder.read(name)
        if content is None:
            message = f"There is no thread {id_}: {self.folder.path / name} does not exist."
            raise NotFound("unknown_instance", message, "`ralph thread list` shows the threads.")
        view = load(content, name)
        if view.id != id_:
            raise corrupt(name, f"it is about another thread, {view.id}")
        return view

    def list_threads(self, beside: Container[str] = ()) -> Listing:
        """All of them but for those that are known already; what cannot be read is beside the others."""
        found: list[ThreadFile] = []
        unreadable: list[UnreadableThread] = []
        for name in self.folder.names("threads"):
            if name in beside:
                continue
            try:
                found.append(self.load(name))
            except NotFound:
                continue  # a directory of somebody's, or one in which the first file is still to be written
            except InterlockError as error:
                unreadable.append(UnreadableThread(name, error))
        found.sort(key=lambda one: (datetime.fromisoformat(one.updated_at), one.id), reverse=True)
        return Listing(tuple(found), tuple(unreadable))

    # The revisions of a spec

    def revisions(self, id_: str) -> tuple[int, ...]:
        """The numbers of the revisions that are there, in order; a new one gets the last one's number and one more."""
        names = self.folder.names(f"threads/{check_id(id_)}/spec")
        return tuple(sorted(int(found[1]) for name in names if (found := _REVISION.fullmatch(name))))

    def revision(self, id_: str, number: int) -> str | None:
        """The text of a revision; None where there is none."""
        content = self.folder.read(self.revision_name(id_, number), _MAX_SPEC)
        try:
            return None if content is None else content.decode()
        except UnicodeDecodeError as error:
            raise corrupt(self.revision_name(id_, number), f"it is no text ({error.reason})") from None

    # The active thread

    def active(self) -> str | None:
        """The id that the file names; None where it names none. The journal decides: see `active`."""
        try:
            content = self.folder.read(ACTIVE_NAME, _MAX_ACTIVE)
            return None if content is None else check_id(content.decode().strip())
        except (InterlockError, UnicodeDecodeError):
            return None

    # Runs

    def run(self, run: str) -> RunFile | None:
        """What the file of a run says; None where there is none."""
        content = self.folder.read(self.run_name(run))
        return None if content is None else load_run(content, self.run_name(run))

    # The conversation about a spec

    def conversation(self, id_: str) -> Conversation | None:
        """What was said about a spec; None where nothing was."""
        content = self.folder.read(self.conversation_name(id_))
        return None if content is None else parse_conversation(content)
