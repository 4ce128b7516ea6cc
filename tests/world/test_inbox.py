"""What hooks leave: whole or not at all, oldest first, and nothing that lies there can do harm."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.world.inbox import drop, pending, take, waiting
from patience import SECONDS

SESSION = "01h0000000000000000000000a"
NOTE: dict[str, object] = {"type": "progress", "message": "x"}


def _inbox(directory: Path) -> Path:
    inbox = directory / "inbox"
    inbox.mkdir(exist_ok=True)
    return inbox


def _put(directory: Path, content: object, name: str = "1-1.json") -> str:
    path = _inbox(directory) / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return str(path)


def test_what_is_left_is_found(tmp_path: Path) -> None:
    drop(str(tmp_path / ".ralf"), SESSION, NOTE)
    [path] = waiting(str(tmp_path / ".ralf"))
    found = pending(path)
    assert found is not None
    session, at, note = found
    assert (session, note) == (SESSION, NOTE)
    assert at > 1_700_000_000_000_000_000
    assert Path(path).name.startswith(f"{at:020d}-{os.getpid()}")


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    drop(str(tmp_path / ".ralf"), SESSION, NOTE)
    [path] = waiting(str(tmp_path / ".ralf"))
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o700


def test_what_was_left_first_comes_first(tmp_path: Path) -> None:
    for number in range(20):
        drop(str(tmp_path), SESSION, {"number": number})
    found = [pending(path) for path in waiting(str(tmp_path))]
    assert [one[2]["number"] for one in found if one is not None] == list(range(20))


def test_nothing_waits_where_nothing_was_left(tmp_path: Path) -> None:
    assert waiting(str(tmp_path)) == []
    assert waiting(str(tmp_path / "nowhere")) == []
    (tmp_path / "inbox").write_text("no directory", encoding="utf-8")
    assert waiting(str(tmp_path)) == []


def test_some_hundreds_come_at_a_time(tmp_path: Path) -> None:
    for number in range(600):
        _put(tmp_path, {}, f"{number:05d}.json")
    assert len(waiting(str(tmp_path))) == 500
    for path in waiting(str(tmp_path)):
        take(path)
    assert len(waiting(str(tmp_path))) == 100


def test_what_was_taken_is_gone_and_may_be_taken_twice(tmp_path: Path) -> None:
    path = _put(tmp_path, {})
    take(path)
    take(path)
    assert waiting(str(tmp_path)) == []


def test_many_processes_leave_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom interlock.world.inbox import drop\n"
        "for number in range(25): drop(sys.argv[1], sys.argv[2], {'number': number})"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), f"session-{number}"]) for number in range(4)
    ]
    assert [child.wait(SECONDS) for child in children] == [0] * 4
    found = [pending(path) for path in waiting(str(tmp_path))]
    assert len(found) == 100
    for number in range(4):
        mine = [one[2]["number"] for one in found if one is not None and one[0] == f"session-{number}"]
        assert mine == list(range(25))
    assert [path.name for path in (tmp_path / "inbox").iterdir() if path.name.endswith(".part")] == []


# What is not whole


def test_what_is_still_being_written_does_not_wait(tmp_path: Path) -> None:
    path = Path(_put(tmp_path, b'{"session": ', "1-1.part"))
    assert waiting(str(tmp_path)) == []
    os.utime(path, (0, 0))
    assert waiting(str(tmp_path)) == [str(path)], "the hook that began it was killed long ago"


@pytest.mark.parametrize("size", [0, 20])
def test_where_there_is_no_room_no_half_of_it_is_left(size: int, tmp_path: Path) -> None:
    program = (
        "import resource, signal, sys\nfrom interlock.world.inbox import drop\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "try: drop(sys.argv[1], 'x', {'a': 'b' * 1000})\nexcept OSError: sys.exit(7)"
    )
    done = subprocess.run([sys.executable, "-B", "-c", program, str(tmp_path)], timeout=SECONDS, check=False)
    assert done.returncode == 7
    assert list((tmp_path / "inbox").iterdir()) == []


def test_what_is_in_the_way_stays(tmp_path: Path) -> None:
    (tmp_path / "inbox").write_text("in the way", encoding="utf-8")
    with pytest.raises(FileExistsError):
        drop(str(tmp_path), SESSION, NOTE)
    assert [path.name for path in tmp_path.iterdir()] == ["inbox"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"\0" * 100,
        b"[" * 60_000,
        b'{"session": "' + b"x" * 70_000 + b'"}',
        {"session": SESSION},
        {"session": SESSION, "at": 1},
        {"session": 5, "at": 1, "note": {}},
        {"session": SESSION, "at": "1", "note": {}},
        {"session": SESSION, "at": True, "note": {}},
        {"session": SESSION, "at": 1.5, "note": {}},
        {"session": SESSION, "at": -1, "note": {}},
        {"session": SESSION, "at": 10**30, "note": {}},
        {"session": SESSION, "at": 1, "note": []},
        {"session": SESSION, "at": 1, "note": {"a": []}},
        {"session": SESSION, "at": 1, "note": {"a": {"b": 1}}},
    ],
    ids=lambda content: str(content)[:40],
)
def test_what_is_no_observation_of_ours_is_none(content: object, tmp_path: Path) -> None:
    path = _put(tmp_path, content)
    assert pending(path) is None
    assert waiting(str(tmp_path)) == [path], "it waits, to be cleared away"


def test_a_file_that_is_gone_is_none(tmp_path: Path) -> None:
    assert pending(str(tmp_path / "gone.json")) is None


def test_a_pipe_is_not_waited_for_and_a_link_not_followed(tmp_path: Path) -> None:
    inbox = _inbox(tmp_path)
    real = tmp_path / "real.json"
    real.write_text(json.dumps({"session": SESSION, "at": 1, "note": {}}), encoding="utf-8")
    (inbox / "a.json").symlink_to(real)
    os.mkfifo(inbox / "b.json")
    (inbox / "c.json").symlink_to(tmp_path)
    (inbox / "d.json").mkdir()
    assert [Path(path).name for path in waiting(str(tmp_path))] == ["a.json", "b.json", "c.json"]
    assert [pending(path) for path in waiting(str(tmp_path))] == [None, None, None]
    for path in waiting(str(tmp_path)):
        take(path)
    assert real.exists()
    assert [path.name for path in inbox.iterdir()] == ["d.json"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_what_cannot_be_taken_away_does_not_wait(tmp_path: Path) -> None:
    _put(tmp_path, {})
    (tmp_path / "inbox").chmod(0o500)
    try:
        assert waiting(str(tmp_path)) == []
    finally:
        (tmp_path / "inbox").chmod(0o700)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(), st.text() | st.integers() | st.booleans() | st.none(), max_size=5))
def test_whatever_is_left_comes_back(tmp_path: Path, note: dict[str, object]) -> None:
    drop(str(tmp_path), SESSION, note)
    [path] = waiting(str(tmp_path))
    found = pending(path)
    take(path)
    assert found is not None
    assert found[2] == note


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_no_content_makes_it_fail(tmp_path: Path, content: bytes) -> None:
    pending(_put(tmp_path, content))
