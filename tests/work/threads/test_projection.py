"""What the journal says, written into the files of the threads: edits set aside, crashes at every call."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.work.threads.conversation import line
from interlock.work.threads.phases import written
from interlock.work.threads.projection import EditedFile, ThreadProjection, project
from interlock.work.threads.store import ThreadFiles
from interlock.world.folder import Folder
from world.failing import failing

from .mortal import AFTER, BEFORE, MOST, start, whole
from .views import ANSWERED, ASKED, HEADING, RUN, view

THREAD = "threads/abc123/thread.json"
SPEC = "threads/abc123/spec/v1.md"
TALK = "spec/threads/abc123.jsonl"
RUNS = "runs/run-001/run.json"


@pytest.fixture
def files(tmp_path: Path) -> ThreadFiles:
    return ThreadFiles(Folder(tmp_path / ".ralf"))


def _projected(files: ThreadFiles, *projections: ThreadProjection) -> list[EditedFile]:
    told: list[EditedFile] = []
    assert project(files, projections, told.append) == []
    return told


def _seen(files: ThreadFiles) -> dict[str, tuple[bytes, int]]:
    """Every file, with its inode: a file that was written again has another."""
    paths = [one for one in files.folder.path.rglob("*") if one.is_file()]
    return {str(one.relative_to(files.folder.path)): (one.read_bytes(), one.stat().st_ino) for one in paths}


@pytest.mark.requirement("thread:files:layout")
def test_the_files_say_what_is_so(files: ThreadFiles) -> None:
    assert _projected(files, whole()) == []
    assert _seen(files).keys() == {THREAD, SPEC, "threads/abc123/spec/v2.md", RUNS, TALK}
    assert (files.load("abc123"), files.run("run-001"), files.revisions("abc123")) == (AFTER, RUN, (1, 2))
    said = files.conversation("abc123")
    assert said is not None
    assert (said.heading, said.messages) == (HEADING, (ASKED, ANSWERED))


def test_only_what_differs_is_written(files: ThreadFiles) -> None:
    _projected(files, whole(BEFORE))
    before = _seen(files)
    assert _projected(files, whole(BEFORE)) == []
    assert _seen(files) == before
    assert _projected(files, whole(AFTER)) == []
    assert {name for name, one in _seen(files).items() if one != before[name]} == {THREAD}


@pytest.mark.sampled(6)
@pytest.mark.requirement("thread:files:revisions")
@pytest.mark.parametrize("name", [THREAD, SPEC, RUNS, TALK])
@pytest.mark.parametrize("kind", ["text", "link", "directory", "pipe"])
def test_an_edit_is_kept_told_and_undone(files: ThreadFiles, tmp_path: Path, name: str, kind: str) -> None:
    _projected(files, whole())
    path, secret = files.folder.path / name, tmp_path / "secret"
    secret.write_text("secret")
    path.unlink()
    made: dict[str, Callable[[], object]] = {
        "text": lambda: path.write_text('{"phase": {"type": "Done"}}'),
        "link": lambda: path.symlink_to(secret),
        "directory": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
    }
    made[kind]()
    [told] = _projected(files, whole())
    assert (told.file, told.kept) == (name, f"rejected/{name.replace('/', '-')}-1")
    assert f".ralf/{told.kept}" in told.message
    assert os.path.lexists(files.folder.path / told.kept)
    assert (files.load("abc123"), secret.read_text()) == (AFTER, "secret")
    assert _projected(files, whole()) == []
    if kind == "text":
        assert (files.folder.path / told.kept).read_text() == '{"phase": {"type": "Done"}}'


def test_what_we_wrote_earlier_is_no_edit_and_what_is_gone_comes_back(files: ThreadFiles) -> None:
    _projected(files, whole(AFTER))
    files.folder.write(THREAD, written(BEFORE).encode())
    files.folder.remove(SPEC)
    assert _projected(files, whole(AFTER)) == []
    assert (files.load("abc123"), files.revision("abc123", 1)) == (AFTER, "# One\n")


@pytest.mark.requirement("thread:files:revisions")
def test_a_revision_that_nobody_saved_is_set_aside(files: ThreadFiles) -> None:
    _projected(files, whole())
    files.folder.write(files.revision_name("abc123", 3), b"# Forged\n")
    [told] = _projected(files, whole())
    assert (told.file, files.revisions("abc123")) == ("threads/abc123/spec/v3.md", (1, 2))
    files.folder.write(files.revision_name("abc123", 3), b"# Not asked about\n")
    assert _projected(files, ThreadProjection(AFTER)) == []
    assert files.revisions("abc123") == (1, 2, 3)


@pytest.mark.requirement("thread:files:append-only")
def test_a_conversation_goes_on_where_a_crash_cut_it(files: ThreadFiles) -> None:
    said = line(HEADING) + line(ASKED) + line(ANSWERED)
    for cut in range(0, len(said), 7):
        files.folder.write(TALK, said[:cut])
        assert _projected(files, ThreadProjection(AFTER, conversation=(HEADING, (ASKED, ANSWERED)))) == []
        assert files.folder.read(TALK) == said


def test_a_thread_that_cannot_be_written_stops_nobody(files: ThreadFiles, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (files.folder.path / "threads").mkdir(parents=True)
    (files.folder.path / "threads" / "abc123").symlink_to(outside)
    told: list[EditedFile] = []
    [failed] = project(files, [whole(), ThreadProjection(view("other"))], told.append)
    assert (failed.id, failed.error.code, told) == ("abc123", "file_unsafe", [])
    assert files.load("other") == view("other")
    assert list(outside.iterdir()) == []


# Crashes


def _check_then_mend(files: ThreadFiles) -> None:
    """The thread is as before or as after, never between; once more, and all is so; nobody's edit is lost."""
    assert files.load("abc123") in (BEFORE, AFTER)
    assert project(files, [whole(AFTER)], lambda _: None) == []
    assert files.load("abc123") == AFTER
    assert (files.run("run-001"), files.revision("abc123", 1)) == (RUN, "# One\n")
    kept = [files.folder.read(f"rejected/{name}") for name in files.folder.names("rejected")]
    assert b"# Edited\n" in kept
    assert list(files.folder.path.rglob("*.tmp")) == []


def test_whatever_call_fails_on_a_full_disk_the_next_time_mends_it(tmp_path: Path) -> None:
    for at in range(1, MOST):
        files = start(tmp_path / str(at))
        with pytest.MonkeyPatch.context() as patch:
            system = failing(patch, at, OSError(errno.ENOSPC, "No space left on device"))
            failed = project(files, [whole(AFTER)], lambda _: None)
        assert {one.error.code for one in failed} <= {"file_unwritable", "file_unreadable"}
        _check_then_mend(files)
        if system.calls < at:
            break
    assert 30 < at < MOST - 1


@pytest.mark.requirement("thread:files:crashes")
def test_a_process_that_dies_at_any_call_leaves_whole_files(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "work.threads.mortal", str(tmp_path)]
    subprocess.run(command, env=environment, check=True, timeout=300)
    died = [ThreadFiles(Folder(one)) for one in tmp_path.iterdir()]
    assert 30 < len(died) < MOST - 1
    for files in died:
        _check_then_mend(files)
