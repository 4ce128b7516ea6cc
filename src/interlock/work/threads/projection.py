"""What the journal says of the threads, written into their files; only what differs is written.

A file that says what we never wrote was edited. Nothing is ever read back from these files: the edit is kept below
`rejected/`, told, and the file says again what is so. A thread moves by its verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from interlock.errors import InterlockError
from interlock.work.formats.hashing import sha256_of
from interlock.work.threads.conversation import ConversationHeader, Message, line
from interlock.work.threads.phases import ThreadFile, written
from interlock.work.threads.runs import RunFile, written_run
from interlock.work.threads.store import ACTIVE_NAME, ThreadFiles, UnreadableThread

__all__ = ["EditedFile", "ThreadProjection", "project", "project_active"]


def _never(_: str) -> bool:
    return False


class ThreadProjection(msgspec.Struct, frozen=True):
    """What is so of one thread, and with `ours` which other contents were once written by us, by their sha256.

    `ours` is asked only of a file that differs: the journal can tell, because what is written follows from its entries.
    """

    view: ThreadFile
    specs: Mapping[int, str] | None = None
    """Every revision there is; None leaves those files alone."""
    runs: Sequence[RunFile] = ()
    conversation: tuple[ConversationHeader, Sequence[Message]] | None = None
    ours: Callable[[str], bool] = _never


class EditedFile(msgspec.Struct, frozen=True):
    """A file that somebody edited, where the edit is kept now, and a sentence to tell."""

    file: str
    kept: str
    message: str


def project(
    files: ThreadFiles, projections: Iterable[ThreadProjection], tell: Callable[[EditedFile], None]
) -> list[UnreadableThread]:
    """Let the files say what is so; gives the threads for which that failed, while the others went on.

    The same again writes nothing; after a crash it goes on where it was. An edit is told before it is written over.
    """
    failed = []
    for one in projections:
        try:
            for edited in _project(files, one):
                tell(edited)
        except InterlockError as error:
            failed.append(UnreadableThread(one.view.id, error))
    return failed


def project_active(files: ThreadFiles, id_: str, tell: Callable[[str], None], *, is_chosen: bool) -> None:
    """Let the file name the active thread. Anything else in it is told, unless the thread was chosen just now."""
    wanted = f"{id_}\n".encode()
    if _content(files, ACTIVE_NAME)[0] == wanted:
        return
    where, named = f"{files.folder.path.name}/{ACTIVE_NAME}", files.active()
    files.folder.sweep("")
    edits = list(_rejected(files, ACTIVE_NAME, "`ralph thread use ID` chooses the active thread")) if not named else []
    files.folder.write(ACTIVE_NAME, wanted)
    for edited in edits:
        tell(edited.message)
    if not edits and not is_chosen:
        found = f"named {named}" if named else "was missing"
        tell(f"{where} {found}; it names the active thread {id_} again. `ralph thread use ID` chooses another.")


def _project(files: ThreadFiles, wanted: ThreadProjection) -> Iterator[EditedFile]:
    id_ = wanted.view.id
    name = files.thread_name(id_)
    files.folder.sweep(f"threads/{id_}")
    if wanted.specs is not None:
        yield from _project_specs(files, id_, wanted.specs)
    for run in wanted.runs:
        files.folder.sweep(f"runs/{run.id}")
        yield from _restore(files, files.run_name(run.id), written_run(run).encode(), wanted.ours, "Nothing reads it")
    if wanted.conversation is not None:
        yield from _continue(files, id_, *wanted.conversation)
    advice = "A thread moves by its verbs: see `ralph thread`"
    yield from _restore(files, name, written(wanted.view).encode(), wanted.ours, advice)


def _project_specs(files: ThreadFiles, id_: str, specs: Mapping[int, str]) -> Iterator[EditedFile]:
    advice = "A revision never changes; write a new one with `ralph thread spec`"
    files.folder.sweep(f"threads/{id_}/spec")
    for number, text in specs.items():
        yield from _restore(files, files.revision_name(id_, number), text.encode(), _never, advice)
    for number in files.revisions(id_):
        if number not in specs:
            yield from _rejected(files, files.revision_name(id_, number), advice)


def _restore(
    files: ThreadFiles, name: str, wanted: bytes, ours: Callable[[str], bool], advice: str
) -> Iterator[EditedFile]:
    content, is_file = _content(files, name)
    if content == wanted:
        return
    if not is_file or (content is not None and not ours(sha256_of(content))):
        yield from _rejected(files, name, advice)
    files.folder.write(name, wanted)


def _continue(
    files: ThreadFiles, id_: str, heading: ConversationHeader, messages: Sequence[Message]
) -> Iterator[EditedFile]:
    """Lines are only added: also to half a line that a crash left, as long as it is the beginning of the right one."""
    name = files.conversation_name(id_)
    files.folder.sweep("spec/threads")
    wanted = b"".join([line(heading), *map(line, messages)])
    content, is_file = _content(files, name)
    if is_file and wanted.startswith(content or b""):
        if content != wanted:
            files.folder.append(name, wanted[len(content or b"") :])
        return
    yield from _rejected(files, name, "What was said stays said")
    files.folder.write(name, wanted)


def _content(files: ThreadFiles, name: str) -> tuple[bytes | None, bool]:
    """What is in a file, and whether it is one: a link or the like in its place is an edit, too."""
    try:
        return files.folder.read(name), True
    except InterlockError as error:
        if error.code not in ("file_unsafe", "file_unreadable"):
            raise
        return None, False


def _rejected(files: ThreadFiles, name: str, advice: str) -> Iterator[EditedFile]:
    kept = files.folder.set_aside(name)
    if kept is not None:
        where = files.folder.path.name
        message = f"{where}/{name} was edited; it says again what is so, and the edit is kept as {where}/{kept}."
        yield EditedFile(name, kept, f"{message} {advice}.")
