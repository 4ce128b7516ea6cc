"""Files replaced as a whole, and a folder in which no link is followed."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from interlock.errors import InterlockError
from interlock.world import files
from interlock.world.files import write_bytes
from interlock.world.folder import Folder
from patience import SECONDS

from .failing import failing


def _every_failure(
    tmp_path: Path, work: Callable[[Folder], object], check: Callable[[Folder], None], error: BaseException
) -> int:
    """Do the work with each of its calls failing once, each time in a new place; and at last with none."""
    for at in range(1, 100):
        place = Folder(tmp_path / f"{at}")
        place.write("a/old", b"old\n")
        place.append("a/log", b"one\n")
        with pytest.MonkeyPatch.context() as patch:
            system = failing(patch, at, error)
            try:
                work(place)
            except (InterlockError, KeyboardInterrupt) as raised:
                assert not isinstance(raised, InterlockError) or raised.code.startswith("file_")  # noqa: PT017
        check(place)
        if system.calls < at:
            return at - 1
    raise AssertionError("the work never ended")


FULL = OSError(errno.ENOSPC, "No space left on device")
ERRORS = [FULL, OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()]


@pytest.mark.requirement("thread:files:atomic")
@pytest.mark.parametrize("error", ERRORS, ids=["full", "broken", "interrupted"])
def test_a_file_is_the_old_one_or_the_new_one_whatever_call_fails(tmp_path: Path, error: BaseException) -> None:
    def check(place: Folder) -> None:
        assert place.read("a/old") in (b"old\n", b"new and longer\n")
        assert _others(place) == []

    assert _every_failure(tmp_path, lambda one: one.write("a/old", b"new and longer\n"), check, error) > 5


@pytest.mark.parametrize("error", ERRORS, ids=["full", "broken", "interrupted"])
def test_a_new_file_is_whole_or_not_there_whatever_call_fails(tmp_path: Path, error: BaseException) -> None:
    def check(place: Folder) -> None:
        assert place.read("b/c/new") in (None, b"new\n")
        assert _others(place) == []

    assert _every_failure(tmp_path, lambda one: one.create("b/c/new", b"new\n"), check, error) > 5


@pytest.mark.parametrize("error", ERRORS, ids=["full", "broken", "interrupted"])
def test_a_line_is_there_as_a_whole_or_not_at_all_whatever_call_fails(tmp_path: Path, error: BaseException) -> None:
    def check(place: Folder) -> None:
        assert place.read("a/log") in (b"one\n", b"one\nanother\n")

    assert _every_failure(tmp_path, lambda one: one.append("a/log", b"another\n", is_line=True), check, error) > 3


@pytest.mark.parametrize("error", ERRORS, ids=["full", "broken", "interrupted"])
def test_what_is_set_aside_is_here_or_there_whatever_call_fails(tmp_path: Path, error: BaseException) -> None:
    def check(place: Folder) -> None:
        kept = [place.read(f"rejected/{name}") for name in place.names("rejected")]
        assert [one for one in (place.read("a/old"), *kept) if one] == [b"old\n"]

    assert _every_failure(tmp_path, lambda one: one.set_aside("a/old"), check, error) > 3


def _others(place: Folder) -> list[str]:
    """Scratch files that are left, apart from those that could not be removed because that very call failed."""
    left = [str(one) for one in place.path.rglob("*.tmp")]
    if left:
        assert all(place.sweep(str(Path(one).parent.relative_to(place.path))) == 1 for one in left)
    return [str(one) for one in place.path.rglob("*.tmp")]


def test_the_old_mode_stays(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tool"
    write_bytes(path, b"one")
    path.chmod(0o750)
    write_bytes(path, b"two")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"two", 0o750)


def test_a_directory_that_may_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(InterlockError, match="cannot be written") as refused:
        write_bytes(tmp_path / "taken" / "x", b"")
    assert refused.value.code == "file_unwritable"


# Several at once


def _write_often(path: Path, content: bytes) -> None:
    place = Folder(path)
    for _ in range(150):
        place.write("a/file", content)
        place.append("a/log", content + b"\n", is_line=True)
        place.sweep("a")


def test_two_writers_and_their_sweeps_leave_whole_files(tmp_path: Path) -> None:
    contents = [b"a" * 5000, b"b" * 7000]
    processes = [get_context("spawn").Process(target=_write_often, args=(tmp_path, one)) for one in contents]
    for process in processes:
        process.start()
    place, seen = Folder(tmp_path), set()
    while any(process.is_alive() for process in processes):
        seen.add(place.read("a/file"))
    for process in processes:
        process.join(SECONDS)
        assert process.exitcode == 0
    assert seen - {None, *contents} == set()
    assert place.names("a") == ["file", "log"]
    assert sorted((place.read("a/log") or b"").splitlines()) == sorted(contents * 150)


class WatchedSystem:
    """The operating system, with something else happening right behind one kind of call."""

    def __init__(self, call: str, then: Callable[[], None]) -> None:
        self._call = call
        self._then = then

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        return self._watched(found) if name == self._call else found

    def _watched(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            result = call(*arguments, **options)
            self._then()
            return result

        return watched


def test_a_scratch_file_that_is_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[int] = []

    def sweep() -> None:
        for one in [] if swept else list(tmp_path.glob("*.tmp")):
            one.unlink()
            swept.append(1)

    monkeypatch.setattr(files, "os", WatchedSystem("open", sweep))
    write_bytes(tmp_path / "file", b"whole")
    assert ((tmp_path / "file").read_bytes(), swept, list(tmp_path.glob("*.tmp"))) == (b"whole", [1], [])


def test_a_line_is_added_by_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the half line of one that fails would be cut off together with the line of another."""
    held: list[bool] = []

    def try_to_lock() -> None:
        with (tmp_path / "log").open("rb") as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(True)

    monkeypatch.setattr(files, "os", WatchedSystem("write", try_to_lock))
    Folder(tmp_path).append("log", b"one\n", is_line=True)
    assert held == [True]


def test_a_new_file_is_made_by_one_of_two(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    assert place.create("a/v1.md", b"first")
    assert not place.create("a/v1.md", b"second")
    assert (place.read("a/v1.md"), place.names("a")) == (b"first", ["v1.md"])


def test_what_a_crash_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    place.write("a/thread.json", b"{}")
    for name in ("thread.json.0123456789abcdef.tmp", "notes.tmp", "thread.json.0123456789abcdeX.tmp"):
        (tmp_path / "a" / name).write_text("half")
    (tmp_path / "a" / "x.0123456789abcdef.tmp").symlink_to(tmp_path / "a" / "thread.json")
    (tmp_path / "a" / "y.0123456789abcdef.tmp").mkdir()
    assert place.sweep("a") == 1
    assert place.sweep("missing") == 0
    assert "thread.json.0123456789abcdef.tmp" not in place.names("a")
    assert len(place.names("a")) == 5


# Lines


def test_half_a_line_that_a_crash_left_spoils_only_itself(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    place.append("log", b"one\n", is_line=True)
    place.append("log", b'{"half')
    place.append("log", b"two\n", is_line=True)
    assert place.read("log") == b'one\n{"half\ntwo\n'
    assert (place.tail("log", 4), place.tail("log", 99)) == (b"two\n", b'one\n{"half\ntwo\n')


# Links, and what is no file


def _hostile(tmp_path: Path) -> tuple[Folder, Path]:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    place = Folder(tmp_path / ".ralf")
    place.write("a/file", b"ours")
    return place, outside


OPERATIONS: dict[str, Callable[[Folder, str], object]] = {
    "read": lambda one, name: one.read(name),
    "tail": lambda one, name: one.tail(name, 10),
    "write": lambda one, name: one.write(name, b"hacked"),
    "create": lambda one, name: one.create(name, b"hacked"),
    "append": lambda one, name: one.append(name, b"hacked"),
    "remove": lambda one, name: one.remove(name),
    "set_aside": lambda one, name: one.set_aside(name),
    "names": lambda one, name: one.names(str(Path(name).parent)),
    "sweep": lambda one, name: one.sweep(str(Path(name).parent)),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("where", ["root", "directory"])
def test_no_directory_is_reached_through_a_link(tmp_path: Path, operation: str, where: str) -> None:
    place, outside = _hostile(tmp_path)
    if where == "root":
        (outside / "a").mkdir()
        (outside / "a" / "secret").write_text("secret")
        place = Folder(tmp_path / "linked")
        place.path.symlink_to(outside)
    else:
        (place.path / "b").symlink_to(outside)
    before = sorted((str(one), one.is_file() and one.read_text()) for one in outside.rglob("*"))
    with pytest.raises(InterlockError) as refused:
        OPERATIONS[operation](place, "a/secret" if where == "root" else "b/secret")
    assert refused.value.code == "file_unsafe"
    assert sorted((str(one), one.is_file() and one.read_text()) for one in outside.rglob("*")) == before


@pytest.mark.parametrize("operation", ["read", "tail", "append"])
def test_no_file_is_reached_through_a_link(tmp_path: Path, operation: str) -> None:
    place, outside = _hostile(tmp_path)
    (place.path / "a" / "link").symlink_to(outside / "secret")
    with pytest.raises(InterlockError) as refused:
        OPERATIONS[operation](place, "a/link")
    assert refused.value.code == "file_unsafe"
    assert (outside / "secret").read_text() == "secret"


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    place, outside = _hostile(tmp_path)
    (place.path / "a" / "link").symlink_to(outside / "secret")
    assert not place.create("a/link", b"new")
    place.write("a/link", b"new")
    assert (place.read("a/link"), (outside / "secret").read_text()) == (b"new", "secret")


def test_nothing_is_added_to_a_file_that_has_a_second_name(tmp_path: Path) -> None:
    place, outside = _hostile(tmp_path)
    (place.path / "a" / "log").hardlink_to(outside / "secret")
    with pytest.raises(InterlockError) as refused:
        place.append("a/log", b"more")
    assert (refused.value.code, (outside / "secret").read_text()) == ("file_unsafe", "secret")


@pytest.mark.parametrize("operation", ["read", "tail", "append"])
@pytest.mark.parametrize("kind", ["pipe", "directory"])
def test_what_is_no_file_is_neither_read_nor_waited_for(tmp_path: Path, operation: str, kind: str) -> None:
    place, _ = _hostile(tmp_path)
    target = place.path / "a" / "odd"
    os.mkfifo(target) if kind == "pipe" else target.mkdir()
    with pytest.raises(InterlockError) as refused:
        OPERATIONS[operation](place, "a/odd")
    assert refused.value.code == "file_unsafe"


@pytest.mark.parametrize("name", ["", "..", "../x", "a/../../x", "/etc/x", "a//b", "./a", "a/\0"])
@pytest.mark.parametrize("operation", [one for one in OPERATIONS if one not in ("names", "sweep")])
def test_no_name_leads_out(tmp_path: Path, operation: str, name: str) -> None:
    place, _ = _hostile(tmp_path)
    with pytest.raises(InterlockError) as refused:
        OPERATIONS[operation](place, name)
    assert refused.value.code == "invalid_argument"


def test_reading_makes_nothing(tmp_path: Path) -> None:
    place = Folder(tmp_path / ".ralf")
    assert (place.read("a/b"), place.tail("a/b", 1), place.names("a"), place.set_aside("a/b")) == (None, None, [], None)
    place.remove("a/b")
    assert not place.path.exists()


def test_a_file_that_is_much_too_long_is_not_read(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    place.write("a", b"12345")
    assert place.read("a", 5) == b"12345"
    with pytest.raises(InterlockError, match="more than 4 bytes"):
        place.read("a", 4)


# What is set aside


def test_what_is_set_aside_gets_the_next_number(tmp_path: Path) -> None:
    place, outside = _hostile(tmp_path)
    assert place.set_aside("a/file") == "rejected/a-file-1"
    place.write("a/file", b"again")
    assert place.set_aside("a/file") == "rejected/a-file-2"
    (place.path / "a" / "file").symlink_to(outside / "secret")
    assert place.set_aside("a/file") == "rejected/a-file-3"
    (place.path / "a" / "file").mkdir()
    (place.path / "a" / "file" / "x").write_text("deep")
    assert place.set_aside("a/file") == "rejected/a-file-4"
    (tmp_path / "progress.txt").write_text("theirs")
    assert place.take_in(tmp_path / "progress.txt", "progress.txt") == "rejected/progress.txt-1"
    assert place.take_in(tmp_path / "progress.txt", "progress.txt") is None
    assert place.take_in(tmp_path / "missing" / "x", "missing/x") is None
    rejected = place.path / "rejected"
    assert (rejected / "a-file-1").read_bytes() + (rejected / "a-file-2").read_bytes() == b"oursagain"
    assert (rejected / "a-file-3").is_symlink()
    assert (rejected / "a-file-4" / "x").read_text() == "deep"
    assert (outside / "secret").read_text() == "secret"


# The clock of a file system


def test_the_clock_of_a_file_system_parts_what_was_written_before_from_what_is_written_after(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    for number in range(100):
        before, after, far = f"before{number}", f"after{number}", f"far/{number}"
        for name in (before, far):
            (tmp_path / name).write_text("")
        moment = files.file_clock(tmp_path)
        assert not files.has_changed_since(tmp_path, [before, far, "missing/too"], moment)
        (tmp_path / after).write_text("")
        assert files.has_changed_since(tmp_path, [before, after], moment)
        assert not files.has_changed_since(tmp_path, [before, far], moment)
        (tmp_path / far).unlink()
        assert files.has_changed_since(tmp_path, [before, far], moment)
    assert {one.name for one in tmp_path.iterdir()} == {"far"} | {
        f"{a}{b}" for a in ("before", "after") for b in range(100)
    }


def test_a_directory_without_a_clock_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InterlockError) as caught:
        files.file_clock(tmp_path / "missing")
    assert caught.value.code == "file_unwritable"
