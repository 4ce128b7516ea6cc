"""The directories of sessions: only what differs is written, edits are kept, crashes at every call, old ones read."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.work.formats.hashing import sha256_of
from interlock.work.orchestration.edits import read_back
from interlock.work.orchestration.session import OnDisk, read_session
from interlock.work.orchestration.store import Restored, SessionFiles
from interlock.work.orchestration.values import Mark, Task
from world.failing import failing

from .mortal import AFTER, BEFORE, ID, MOST, files_at, is_ours, project, start

NOW = datetime(2026, 1, 31, 14, 44, 0, tzinfo=UTC)


@pytest.fixture
def files(tmp_path: Path) -> SessionFiles:
    return files_at(tmp_path)


def _projected(files: SessionFiles, texts: dict[str, str], ours: Callable[[str], bool] = is_ours) -> list[Restored]:
    told: list[Restored] = []
    files.project(ID, texts, ours, told.append)
    return told


def _on_disk(files: SessionFiles, id_: str) -> OnDisk:
    return read_session(files.texts(id_))


def _seen(files: SessionFiles) -> dict[str, tuple[bytes, int]]:
    """Every file, with its inode: a file that was written again has another."""
    return {one.name: (one.read_bytes(), one.stat().st_ino) for one in files.path(ID).iterdir()}


# Ids


def test_a_session_is_named_by_its_second_and_a_second_one_in_it_by_two(files: SessionFiles) -> None:
    assert (files.sessions(), files.new_id(NOW)) == ((), ID)
    assert not files.folder.path.exists()
    files.folder.write(f"{ID}/progress.md", b"")
    assert files.new_id(NOW) == f"{ID}-2"
    assert files.new_id(NOW, (f"{ID}-2",)) == f"{ID}-3"
    assert files.new_id(NOW.astimezone(timezone(timedelta(hours=5)))) == f"{ID}-2"


def test_the_newest_session_comes_first_and_what_is_none_is_not_listed(files: SessionFiles) -> None:
    for name in (ID, f"{ID}-2", f"{ID}-10", "260130-235959", "notes", f"{ID}-1", f"{ID}-x", "٢٦٠١٣١-١٤٤٤٠٠"):
        files.folder.write(f"{name}/progress.md", b"")
    assert files.sessions() == (f"{ID}-10", f"{ID}-2", ID, "260130-235959")


@pytest.mark.parametrize("id_", ["..", "a/b", "", "260131-144400/..", f"{ID}-1", f"{ID}\n", "2601311-44400"])
def test_no_id_leads_to_another_place(files: SessionFiles, id_: str) -> None:
    calls: list[Callable[[], object]] = [
        *(lambda: files.path(id_), lambda: files.read(id_, "plan.md"), lambda: _on_disk(files, id_)),
        *(lambda: files.edited(id_, BEFORE, is_ours), lambda: files.project(id_, BEFORE, is_ours, print)),
    ]
    for call in calls:
        with pytest.raises(InterlockError) as refused:
            call()
        assert refused.value.code == "invalid_argument"
    assert not files.folder.path.exists()


# Projecting


def test_the_files_say_what_is_so_and_only_what_differs_is_written(files: SessionFiles) -> None:
    assert _projected(files, BEFORE) == []
    before = _seen(files)
    assert {name: content.decode() for name, (content, _) in before.items()} == BEFORE
    assert _projected(files, BEFORE) == []
    assert _seen(files) == before
    assert _projected(files, AFTER) == []
    after = _seen(files)
    assert {name: content.decode() for name, (content, _) in after.items()} == AFTER
    assert after["plan.questions.md"] == before["plan.questions.md"]
    assert after["transitions.jsonl"][1] == before["transitions.jsonl"][1]  # it only grows
    assert list(AFTER)[-1] == "progress.md"


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", ["plan.md", "tasks.md", "progress.md", "tasks.task-1-report.md", "transitions.jsonl"])
@pytest.mark.parametrize("kind", ["text", "link", "directory", "pipe", "huge", "binary"])
def test_an_agents_edit_is_kept_told_and_undone(files: SessionFiles, tmp_path: Path, name: str, kind: str) -> None:
    _projected(files, BEFORE)
    path, secret = files.path(ID) / name, tmp_path / "secret"
    secret.write_text("secret")
    path.unlink()
    made: dict[str, Callable[[], object]] = {
        "text": lambda: path.write_text("- [x] task-1"),
        "link": lambda: path.symlink_to(secret),
        "directory": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "huge": lambda: path.write_bytes(b"x" * (17 * 1024 * 1024)),
        "binary": lambda: path.write_bytes(b"\xff\x00"),
    }
    made[kind]()
    [told] = _projected(files, BEFORE)
    assert (told.file, told.kept) == (f"{ID}/{name}", f".ralf/rejected/{ID}-{name}-1")
    assert told.kept in told.message
    assert os.path.lexists(tmp_path / told.kept)
    assert (files.read(ID, name), secret.read_text()) == (BEFORE[name], "secret")
    assert _projected(files, BEFORE) == []


def test_a_persons_edit_is_found_and_once_it_is_read_back_it_is_ours(files: SessionFiles) -> None:
    _projected(files, AFTER)
    assert files.edited(ID, AFTER, is_ours) == {}
    text = AFTER["progress.md"].replace("[x] task-1", "[ ] task-1")
    files.folder.write(f"{ID}/progress.md", text.encode())
    files.folder.write(f"{ID}/plan.md", BEFORE["plan.md"].encode())  # a crash left it
    files.folder.write(f"{ID}/tasks.md", b"\xff")
    files.folder.remove(f"{ID}/plan.questions.md")
    edited = files.edited(ID, AFTER, is_ours)
    assert edited == {"progress.md": text, "tasks.md": "\udcff"}
    tasks = _on_disk(files, ID).plan.tasks
    _, [refused] = read_back(tasks, AFTER, {"tasks.md": edited["tasks.md"]})
    assert (refused.file, refused.line) == ("tasks.md", 1)
    [told] = _projected(files, AFTER, lambda sha256: is_ours(sha256) or sha256 == sha256_of(text))
    assert told.file == f"{ID}/tasks.md"
    assert files.edited(ID, AFTER, is_ours) == {}


def test_a_directory_that_is_a_link_is_not_followed(files: SessionFiles, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "plan.md").write_text("theirs")
    files.folder.path.mkdir()
    files.path(ID).symlink_to(outside)
    for call in (lambda: _projected(files, BEFORE), lambda: _on_disk(files, ID)):
        with pytest.raises(InterlockError) as refused:
            call()
        assert refused.value.code == "file_unsafe"
    assert files.edited(ID, BEFORE, is_ours) == {}
    assert [one.name for one in outside.iterdir()] == ["plan.md"]
    assert (outside / "plan.md").read_text() == "theirs"


# Crashes


def _check_then_mend(files: SessionFiles) -> None:
    """Each file is as before or as after, never between; once more, and all is so; nobody's edit is lost."""
    for name in AFTER:
        text = files.read(ID, name)
        whole = {BEFORE.get(name), AFTER[name], None, "# Edited\n"}
        assert text in whole or (name == "transitions.jsonl" and AFTER[name].startswith(text or ""))
    assert project(files, AFTER) is None
    assert {one.name: one.read_text() for one in files.path(ID).iterdir()} == AFTER
    kept = [one.read_text() for one in (files.folder.path.parent / ".ralf" / "rejected").iterdir()]
    assert "# Edited\n" in kept


def test_whatever_call_fails_on_a_full_disk_the_next_time_mends_it(tmp_path: Path) -> None:
    for at in range(1, MOST):
        files = start(tmp_path / str(at))
        with pytest.MonkeyPatch.context() as patch:
            system = failing(patch, at, OSError(errno.ENOSPC, "No space left on device"))
            code = project(files, AFTER)
        assert code in (None, "file_unwritable", "file_unreadable")
        _check_then_mend(files)
        if system.calls < at:
            break
    assert 30 < at < MOST - 1


def test_a_process_that_dies_at_any_call_leaves_whole_files(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "work.orchestration.mortal", str(tmp_path)]
    subprocess.run(command, env=environment, check=True, timeout=300)
    died = [files_at(one) for one in tmp_path.iterdir()]
    assert 30 < len(died) < MOST - 1
    for files in died:
        _check_then_mend(files)


# Directories that others made

PROGRESS = """# Progress Tracking

## Planning Progress
- [x] plan-brainstorm (Completed)
- [x] plan-research (Completed)

## Implementation Progress
- [x] task-1 (Completed)
- [P] task-2 (Review Pending)
- [/] task-3 (In Progress)
- [ ] task-4 (Not Started)
"""
TASKS = """# Task List

## Implementation Tasks
- task-1: Read the format
    - **Type**: Sequential
    - **Files**: [src/format.py, docs/format.md]
    - **Objective**: Know it
    - **Success Criteria**: Every field is described
- task-2: Write it
    - **Type**: Parallelizable (depends on task-1)
    - **Files**: src/write.py
    - **Objective**: Be able to
    - **Success Criteria**:
        - It is written
        - It is read again
    - **Inherits From**: task-1
"""


def test_a_directory_of_the_source_system_goes_on_from_two_files(files: SessionFiles) -> None:
    files.folder.write(f"{ID}/progress.md", PROGRESS.encode())
    files.folder.write(f"{ID}/tasks.md", TASKS.replace("\n", "\r\n").encode())
    found = _on_disk(files, ID)
    assert (found.state, found.problems, found.plan.goal) == ("reviewing", (), "")
    assert found.planning == {"plan-brainstorm": Mark.DONE, "plan-research": Mark.DONE}
    assert found.plan.tasks == (
        Task(
            "task-1",
            "Read the format",
            "Know it",
            ("Every field is described",),
            ("src/format.py", "docs/format.md"),
            mark=Mark.DONE,
        ),
        Task(
            "task-2",
            "Write it",
            "Be able to",
            ("It is written", "It is read again"),
            ("src/write.py",),
            ("task-1",),
            ("task-1",),
            Mark.PENDING,
        ),
        Task("task-3", "", mark=Mark.WORKING),
        Task("task-4", "", mark=Mark.OPEN),
    )


@pytest.mark.parametrize(
    ("old", "new", "state"),
    [
        ("[P]", "[x]", "executing"),
        ("[x] plan-research", "[/] plan-research", "reviewing"),
        ("- [P] task-2 (Review Pending)\n- [/] task-3 (In Progress)\n- [ ] task-4 (Not Started)\n", "", "complete"),
        (PROGRESS[PROGRESS.index("- [x] task-1") :], "", "planning"),
    ],
)
def test_marks_on_disk_say_where_to_go_on(files: SessionFiles, old: str, new: str, state: str) -> None:
    files.folder.write(f"{ID}/progress.md", PROGRESS.replace(old, new).encode())
    assert _on_disk(files, ID).state == state


def test_reports_on_disk_say_which_attempt_it_is(files: SessionFiles) -> None:
    part2 = "\n---\n## PART 2: REVIEW REPORT\n\n### Recommendation\n**Status**: Failed\n**Reasoning**: It leaks\n"
    files.folder.write(f"{ID}/progress.md", PROGRESS.encode())
    for name in ("tasks.task-4-report.md", "tasks.task-4-report-r2.md", "tasks.task-2-report.md"):
        text = f"# Task Report: somebody-else\n\n---\n## PART 1: IMPLEMENTATION REPORT\n{part2}"
        files.folder.write(f"{ID}/{name}", text.encode())
    files.folder.write(f"{ID}/tasks.task-3-report-r1.md", b"# Task Report: task-3\n")
    found = _on_disk(files, ID)
    assert {one.id: one.attempt for one in found.plan.tasks} == {"task-1": 1, "task-2": 1, "task-3": 1, "task-4": 3}
    assert [(one.task, one.attempt) for one in found.reports] == [("task-2", 1), ("task-4", 2), ("task-4", 1)]
    assert found.reports[0].part2 is not None
    assert found.reports[0].part2.reasoning == "It leaks"


def test_nothing_on_disk_is_a_new_session_and_nonsense_is_told(files: SessionFiles) -> None:
    assert _on_disk(files, ID).state == "new"
    files.folder.write(f"{ID}/progress.md", PROGRESS.replace("[P]", "[?]").encode())
    files.folder.write(f"{ID}/tasks.md", TASKS.replace("task-1)", "task-2)").encode() + b"\xff\x00")
    (files.path(ID) / "plan.md").symlink_to(files.path(ID) / "progress.md")
    found = _on_disk(files, ID)
    assert found.problems == (
        "progress.md, line 9: [?] is no mark",
        "tasks.md: tasks wait for each other: task-2 → task-2",
    )
    assert found.plan.goal == ""
