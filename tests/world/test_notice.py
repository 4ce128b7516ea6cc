"""Changes of files are heard of without looking at them, where the system tells."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from interlock.world.inbox import drop, place
from interlock.world.notice import Notice

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not run: only Linux tells")


@pytest.fixture
def notice() -> Iterator[Notice]:
    with closing(Notice()) as found:
        yield found


def _is_heard(notice: Notice) -> bool:
    assert notice.descriptor is not None
    return bool(select.select([notice.descriptor], [], [], 0)[0])


def test_what_is_written_into_a_file_is_heard_once(tmp_path: Path, notice: Notice) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"a")
    assert notice.covers(file)
    assert not _is_heard(notice)
    with file.open("ab") as opened:
        opened.write(b"b")
    assert _is_heard(notice)
    notice.forget()
    assert not _is_heard(notice)


def test_what_a_hook_leaves_is_heard(tmp_path: Path, notice: Notice) -> None:
    drop(str(tmp_path), "session", {"type": "progress"})
    assert notice.covers(Path(place(str(tmp_path))))
    drop(str(tmp_path), "session", {"type": "progress"})
    assert _is_heard(notice)


def test_the_first_that_a_hook_leaves_is_heard_where_its_directory_will_be(tmp_path: Path, notice: Notice) -> None:
    assert notice.covers(tmp_path)
    drop(str(tmp_path), "session", {"type": "progress"})
    assert _is_heard(notice)


def test_what_is_not_there_is_not_heard_until_it_is(tmp_path: Path, notice: Notice) -> None:
    file = tmp_path / "file"
    assert not notice.covers(file)
    file.write_bytes(b"")
    assert notice.covers(file)


def test_what_was_replaced_is_heard_when_asked_again(tmp_path: Path, notice: Notice) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    notice.covers(file)
    file.unlink()
    file.write_bytes(b"")
    assert notice.covers(file)
    notice.forget()
    file.write_bytes(b"a")
    assert _is_heard(notice)


def test_a_closed_one_hears_nothing(tmp_path: Path) -> None:
    notice = Notice()
    notice.close()
    assert notice.descriptor is None
    assert not notice.covers(tmp_path)
