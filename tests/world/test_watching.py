"""Changes of files are heard of without looking at them, where the system tells."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from interlock.world.inbox import drop, place
from interlock.world.watching import FileWatch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not run: only Linux tells")


@pytest.fixture
def watch() -> Iterator[FileWatch]:
    with closing(FileWatch()) as found:
        yield found


def _is_heard(watch: FileWatch) -> bool:
    assert watch.descriptor is not None
    return bool(select.select([watch.descriptor], [], [], 0)[0])


def test_what_is_written_into_a_file_is_heard_once(tmp_path: Path, watch: FileWatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"a")
    assert watch.covers(file)
    assert not _is_heard(watch)
    with file.open("ab") as opened:
        opened.write(b"b")
    assert _is_heard(watch)
    watch.forget()
    assert not _is_heard(watch)


def test_what_a_hook_leaves_is_heard(tmp_path: Path, watch: FileWatch) -> None:
    drop(str(tmp_path), "session", {"type": "progress"})
    assert watch.covers(Path(place(str(tmp_path))))
    drop(str(tmp_path), "session", {"type": "progress"})
    assert _is_heard(watch)


def test_the_first_that_a_hook_leaves_is_heard_where_its_directory_will_be(tmp_path: Path, watch: FileWatch) -> None:
    assert watch.covers(tmp_path)
    drop(str(tmp_path), "session", {"type": "progress"})
    assert _is_heard(watch)


def test_what_is_not_there_is_not_heard_until_it_is(tmp_path: Path, watch: FileWatch) -> None:
    file = tmp_path / "file"
    assert not watch.covers(file)
    file.write_bytes(b"")
    assert watch.covers(file)


def test_what_was_replaced_is_heard_when_asked_again(tmp_path: Path, watch: FileWatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    watch.covers(file)
    file.unlink()
    file.write_bytes(b"")
    assert watch.covers(file)
    watch.forget()
    file.write_bytes(b"a")
    assert _is_heard(watch)


def test_a_closed_one_hears_nothing(tmp_path: Path) -> None:
    watch = FileWatch()
    watch.close()
    assert watch.descriptor is None
    assert not watch.covers(tmp_path)
