"""The files of the threads: where the seed has them, and whole whatever happens to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InterlockError
from interlock.work.threads.conversation import line, parse_conversation, title_of
from interlock.work.threads.phases import written
from interlock.work.threads.runs import load_run, written_run
from interlock.work.threads.store import ThreadFiles
from interlock.world.folder import Folder

from .views import ANSWERED, ASKED, HEADING, RUN, view


@pytest.fixture
def files(tmp_path: Path) -> ThreadFiles:
    return ThreadFiles(Folder(tmp_path / ".ralf"))


def _write(files: ThreadFiles, id_: str, text: str | None = None, **fields: Any) -> None:
    files.folder.write(f"threads/{id_}/thread.json", (written(view(id_, **fields)) if text is None else text).encode())


def _code(error: pytest.ExceptionInfo[InterlockError]) -> str:
    return error.value.code


# Threads


def test_a_thread_is_read_from_where_the_seed_has_it(files: ThreadFiles) -> None:
    _write(files, "abc123")
    assert (files.folder.path / "threads" / "abc123" / "thread.json").is_file()
    assert files.load("abc123") == view()
    with pytest.raises(InterlockError) as refused:
        files.load("missing")
    assert _code(refused) == "unknown_instance"


def test_the_thread_that_changed_last_comes_first_and_a_corrupt_one_stops_nobody(files: ThreadFiles) -> None:
    _write(files, "early", updated_at="2026-01-02T03:00:00Z")
    _write(files, "late", updated_at="2026-01-02T03:00:00-05:00")
    _write(files, "middle", updated_at="2026-01-02T03:00:00.5Z")
    _write(files, "torn", written(view("torn"))[:100])
    _write(files, "newer", json.dumps({"schema_version": 2}))
    _write(files, "other", written(view("early")))
    _write(files, "dots..dots", written(view("early")))
    (files.folder.path / "threads" / "linked").symlink_to(files.folder.path / "threads" / "early")
    (files.folder.path / "threads" / "empty").mkdir()
    listing = files.list_threads()
    assert [one.id for one in listing.threads] == ["late", "middle", "early"]
    assert {one.id: one.error.code for one in listing.unreadable} == {
        "torn": "thread_corrupt",
        "newer": "thread_newer",
        "other": "thread_corrupt",
        "dots..dots": "invalid_argument",
        "linked": "file_unsafe",
    }


def test_without_files_there_are_no_threads_and_nothing_is_made(files: ThreadFiles) -> None:
    assert (files.list_threads().threads, files.active(), files.revisions("a"), files.run("a")) == ((), None, (), None)
    assert (files.conversation("a"), files.revision("a", 1)) == (None, None)
    assert not files.folder.path.exists()


@pytest.mark.parametrize("id_", ["..", "a/b", "", "a\0", "a.b"])
def test_no_id_leads_to_another_place(files: ThreadFiles, id_: str) -> None:
    calls: list[Callable[[], object]] = [
        *(lambda: files.load(id_), lambda: files.revisions(id_), lambda: files.revision(id_, 1)),
        *(lambda: files.run(id_), lambda: files.conversation(id_)),
    ]
    for call in calls:
        with pytest.raises(InterlockError) as refused:
            call()
        assert _code(refused) == "invalid_argument"
    assert not files.folder.path.exists()


# Revisions


def test_revisions_are_told_by_their_numbers(files: ThreadFiles) -> None:
    for number in (1, 10, 2):
        files.folder.write(files.revision_name("abc123", number), f"# {number} ä\n".encode())
    (files.folder.path / "threads/abc123/spec/v03.md").write_text("no revision")
    (files.folder.path / "threads/abc123/spec/notes.md").write_text("no revision")
    assert files.revisions("abc123") == (1, 2, 10)
    assert files.revision("abc123", 1) == "# 1 ä\n"


def test_a_revision_that_is_no_text_or_a_link_is_said(files: ThreadFiles, tmp_path: Path) -> None:
    files.folder.write(files.revision_name("abc123", 1), b"x")
    (tmp_path / "secret").write_text("secret")
    (files.folder.path / "threads/abc123/spec/v2.md").write_bytes(b"\xff")
    (files.folder.path / "threads/abc123/spec/v3.md").symlink_to(tmp_path / "secret")
    for number, code in ((2, "thread_corrupt"), (3, "file_unsafe")):
        with pytest.raises(InterlockError) as refused:
            files.revision("abc123", number)
        assert _code(refused) == code


# The active thread


@pytest.mark.parametrize("content", [b"", b"../x", b"\xff", b"a" * 2000, b"one\ntwo\n", b"\0"])
def test_what_is_no_id_is_not_active(files: ThreadFiles, content: bytes) -> None:
    files.folder.write("active_thread", content)
    assert files.active() is None
    files.folder.write("active_thread", b"  one  ")
    assert files.active() == "one"


def test_an_active_thread_that_is_a_link_is_none(files: ThreadFiles, tmp_path: Path) -> None:
    files.folder.write("threads/one/thread.json", b"{}")
    (tmp_path / "elsewhere").write_text("one\n")
    (files.folder.path / "active_thread").symlink_to(tmp_path / "elsewhere")
    assert files.active() is None


# Runs


def test_a_run_is_written_and_read_again(files: ThreadFiles) -> None:
    files.folder.write("runs/run-001/run.json", written_run(RUN).encode())
    assert files.run("run-001") == RUN
    assert list(json.loads(written_run(RUN)))[:3] == ["schema_version", "id", "thread_id"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "thread_corrupt"),
        ("[]", "thread_corrupt"),
        (written_run(RUN).replace('"schema_version": 1', '"schema_version": 2'), "thread_newer"),
        (written_run(RUN).replace('"schema_version": 1', '"schema_version": true'), "thread_corrupt"),
        (written_run(RUN).replace('"status": "Running"', '"status": 7'), "thread_corrupt"),
        (written_run(RUN).replace("run-001", "../run"), "invalid_argument"),
    ],
)
def test_what_is_no_run_is_said(text: str, code: str) -> None:
    with pytest.raises(InterlockError) as refused:
        load_run(text)
    assert _code(refused) == code


# Conversations


def test_a_conversation_begins_with_what_it_is_about(files: ThreadFiles) -> None:
    files.folder.write("spec/threads/abc123.jsonl", line(HEADING) + line(ASKED) + line(ANSWERED))
    raw = [json.loads(one) for one in (files.folder.read("spec/threads/abc123.jsonl") or b"").splitlines()]
    assert raw[0].keys() == {"id", "title", "draft", "created_at", "updated_at"}
    assert [one.keys() for one in raw[1:]] == [
        {"role", "content", "timestamp"},
        {"role", "content", "timestamp", "model"},
    ]
    said = files.conversation("abc123")
    assert said is not None
    assert (said.heading, said.messages, said.unread) == (HEADING, (ASKED, ANSWERED), ())
    assert said.updated_at == ANSWERED.timestamp
    assert title_of(said.messages) == "Please greet by name, with accents and everything"


def test_half_a_line_that_a_crash_left_spoils_only_itself(files: ThreadFiles) -> None:
    talk = "spec/threads/abc123.jsonl"
    files.folder.write(talk, line(HEADING) + line(ASKED) + line(ANSWERED)[:20])
    torn = files.conversation("abc123")
    files.folder.append(talk, line(ANSWERED), is_line=True)
    said = files.conversation("abc123")
    assert torn is not None
    assert said is not None
    assert (torn.messages, torn.unread) == ((ASKED,), (3,))
    assert (said.heading, said.messages, said.unread) == (HEADING, (ASKED, ANSWERED), (3,))


@given(st.binary(max_size=200), st.integers(0, 3))
def test_no_content_of_a_conversation_is_an_error(noise: bytes, at: int) -> None:
    lines = [line(HEADING), line(ASKED), line(ANSWERED)]
    noisy = b"".join([*lines[:at], noise.replace(b"\n", b"") + b"\n", *lines[at:]])
    said = parse_conversation(noisy)
    assert len(said.messages) + (said.heading is not None) + len(said.unread) <= 4
    assert at == 0 or said.heading == HEADING
    assert {ASKED, ANSWERED} <= set(said.messages)
