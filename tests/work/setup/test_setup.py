"""Setting up in real repositories: what is found, what is refused, and that a failure leaves no trace."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.work.setup import SetupTarget, carry_out, propose, propose_undo
from interlock.work.setup.surroundings import find_agents, supplies, work_tree
from patience import SECONDS

NOWHERE = {"PATH": ""}
NOBODY = 65534


def _git(*words: str | Path) -> None:
    subprocess.run(["git", *words], check=True, timeout=SECONDS, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    directory = tmp_path / "repository"
    _git("init", "-q", directory)
    return directory


def _files(root: Path) -> dict[str, bytes | None]:
    """Everything in a work tree but what is git's: the bytes of files, and None for directories."""
    return {
        str(path.relative_to(root)): None if path.is_dir() else path.read_bytes()
        for path in root.rglob("*")
        if ".git" not in path.relative_to(root).parts[:1]
    }


def _set_up(root: Path, *agents: SetupTarget) -> None:
    carry_out(propose(root, agents or tuple(SetupTarget), NOWHERE))


def _undo(root: Path) -> None:
    carry_out(propose_undo(root, NOWHERE))


# What is around


def test_an_agent_is_found_by_its_command_or_by_its_files(repository: Path, tmp_path: Path) -> None:
    assert find_agents(repository, NOWHERE) == {}
    (repository / ".codex").mkdir()
    (repository / "opencode.jsonc").touch()
    assert find_agents(repository, NOWHERE) == {
        SetupTarget.CODEX: ".codex is here",
        SetupTarget.OPENCODE: "opencode.jsonc is here",
    }
    command = tmp_path / "claude"
    command.touch(0o755)
    found = find_agents(repository, {"PATH": str(tmp_path)})
    assert list(found) == list(SetupTarget)
    assert found[SetupTarget.CLAUDE] == f"its command is {command}"


@pytest.mark.parametrize("name", ["CLAUDE.md", ".mcp.json", ".claude"])
def test_claude_code_is_found_by_any_of_its_files(repository: Path, name: str) -> None:
    (repository / name).touch()
    assert list(find_agents(repository, NOWHERE)) == [SetupTarget.CLAUDE]


def test_our_programs_are_called_by_name_only_if_the_name_finds_them(tmp_path: Path) -> None:
    own = Path(sys.executable).parent
    assert supplies({"PATH": str(own)}).ralph == "ralph"
    (tmp_path / "ralph").symlink_to(own / "ralph")
    assert supplies({"PATH": str(tmp_path)}).ralph == "ralph"
    assert supplies({"PATH": str(tmp_path)}).hook == str(own / "ralph-hook")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "ralph").touch(0o755)
    assert supplies({"PATH": str(tmp_path / "other")}).ralph == str(own / "ralph")


def test_the_main_work_tree_is_set_up_whichever_it_is_called_in(repository: Path, tmp_path: Path) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    _git("-C", repository, *identity, "commit", "-q", "--allow-empty", "-m", "first")
    _git("-C", repository, "worktree", "add", "-q", tmp_path / "linked")
    deep = tmp_path / "linked" / "deep"
    deep.mkdir()
    assert work_tree(deep) == repository
    carry_out(propose(deep, [SetupTarget.CLAUDE], NOWHERE))
    assert (repository / ".mcp.json").exists()
    assert (repository / ".ralf" / "init.json").exists()
    assert {*(tmp_path / "linked").iterdir()} == {tmp_path / "linked" / ".git", deep}


def test_a_submodule_is_set_up_in_its_own_work_tree(repository: Path, tmp_path: Path) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")
    inner = tmp_path / "inner"
    _git("init", "-q", inner)
    _git("-C", inner, *identity, "commit", "-q", "--allow-empty", "-m", "first")
    _git("-C", repository, *identity, "submodule", "add", "-q", inner, "part")
    before = _files(repository)
    _set_up(repository / "part", SetupTarget.CLAUDE)
    assert (repository / "part" / "AGENTS.md").exists()
    assert not (repository / "AGENTS.md").exists()
    _undo(repository / "part")
    assert _files(repository) == before


def test_a_repository_without_a_work_tree_cannot_be_set_up(tmp_path: Path) -> None:
    _git("init", "-q", "--bare", tmp_path / "bare")
    with pytest.raises(InterlockError) as error:
        propose(tmp_path / "bare", [SetupTarget.CLAUDE], NOWHERE)
    assert error.value.code == "no_repository"


# Writing


def test_everything_is_written_once_and_taken_out_again(repository: Path) -> None:
    _set_up(repository)
    after = _files(repository)
    assert not propose(repository, list(SetupTarget), NOWHERE).is_needed
    _undo(repository)
    assert _files(repository) == {}
    assert not propose_undo(repository, NOWHERE).is_needed
    _set_up(repository)
    assert _files(repository) == after


def test_git_sees_what_is_to_be_committed_and_not_our_record(repository: Path) -> None:
    _set_up(repository, SetupTarget.CLAUDE)
    done = subprocess.run(
        ["git", "-C", repository, "status", "--porcelain", "-uall"], check=True, capture_output=True, timeout=SECONDS
    )
    seen = {line[3:] for line in done.stdout.decode().splitlines()}
    ours = {"ralph.toml", "AGENTS.md", "CLAUDE.md", ".mcp.json", ".claude/settings.json"}
    assert seen == {*ours, *supplies(NOWHERE).claude}


def test_directories_and_files_that_were_there_stay(repository: Path) -> None:
    (repository / ".claude").mkdir()
    (repository / ".codex").mkdir()
    (repository / ".codex" / "mine").touch()
    (repository / "AGENTS.md").touch()
    (repository / ".mcp.json").write_bytes(b"{ }")
    before = _files(repository)
    _set_up(repository)
    _undo(repository)
    assert _files(repository) == before


def test_of_our_directories_those_go_that_nobody_else_put_something_in(repository: Path) -> None:
    _set_up(repository, SetupTarget.CLAUDE)
    (repository / ".claude" / "skills" / "ralph-plan" / "notes.md").touch()
    (repository / ".claude" / "agents" / "ralph-planner.md").write_text("Mine.\n", encoding="utf-8")
    _undo(repository)
    assert _files(repository) == {
        ".claude": None,
        ".claude/agents": None,
        ".claude/agents/ralph-planner.md": b"Mine.\n",
        ".claude/skills": None,
        ".claude/skills/ralph-plan": None,
        ".claude/skills/ralph-plan/notes.md": b"",
    }


def test_undo_without_the_record_leaves_nothing_empty(repository: Path) -> None:
    _set_up(repository)
    (repository / ".ralf" / "init.json").unlink()
    (repository / ".opencode" / ".gitignore").touch()
    _undo(repository)
    assert _files(repository) == {".opencode": None, ".opencode/.gitignore": b""}


def test_a_file_keeps_its_mode_and_a_new_one_has_the_usual(repository: Path) -> None:
    guide = repository / "AGENTS.md"
    guide.touch()
    guide.chmod(0o640)
    _set_up(repository, SetupTarget.CLAUDE)
    assert stat.S_IMODE(guide.stat().st_mode) == 0o640
    usual = repository / "usual"
    usual.touch()
    assert (repository / ".mcp.json").stat().st_mode == usual.stat().st_mode


def test_a_link_within_the_work_tree_stays_a_link(repository: Path) -> None:
    (repository / "docs").mkdir()
    (repository / "docs" / "guide.md").write_text("# Guide\n", encoding="utf-8")
    (repository / "AGENTS.md").symlink_to("docs/guide.md")
    _set_up(repository, SetupTarget.CLAUDE)
    assert (repository / "AGENTS.md").is_symlink()
    assert "ralph:begin" in (repository / "docs" / "guide.md").read_text(encoding="utf-8")
    _undo(repository)
    assert (repository / "docs" / "guide.md").read_text(encoding="utf-8") == "# Guide\n"


@pytest.mark.parametrize("link", ["AGENTS.md", "CLAUDE.md"])
def test_a_guide_and_a_memory_that_are_one_file_get_one_block(repository: Path, link: str) -> None:
    file = ({"AGENTS.md", "CLAUDE.md"} - {link}).pop()
    (repository / file).write_text("# Guide\n", encoding="utf-8")
    (repository / link).symlink_to(file)
    before = _files(repository)
    _set_up(repository, SetupTarget.CLAUDE)
    assert (repository / file).read_text(encoding="utf-8").count("ralph:begin") == 1
    assert not propose(repository, [SetupTarget.CLAUDE], NOWHERE).is_needed
    _undo(repository)
    assert _files(repository) == before


# What is refused


def _directory(path: Path) -> None:
    path.mkdir()


def _latin(path: Path) -> None:
    path.write_bytes("# Anf\xfchrung\n".encode("latin-1"))


def _outside(path: Path) -> None:
    outside = path.parents[1] / "outside.md"
    outside.write_text("# Mine\n", encoding="utf-8")
    path.symlink_to(outside)


def _inside_git(path: Path) -> None:
    path.symlink_to(".git/config")


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10_000_000)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("make", [_directory, _latin, _outside, _inside_git, _circle, _pipe, _large])
@pytest.mark.parametrize("act", [_set_up, _undo])
def test_what_is_no_text_of_the_work_tree_is_refused_and_nothing_is_written(
    repository: Path, make: Callable[[Path], None], act: Callable[[Path], None]
) -> None:
    make(repository / "AGENTS.md")
    with pytest.raises(InterlockError) as error:
        act(repository)
    assert error.value.code == "setup_conflict"
    assert error.value.details == {"file": "AGENTS.md"}
    assert [path.name for path in repository.iterdir() if path.name != ".git"] == ["AGENTS.md"]


@pytest.mark.parametrize("name", [".claude", ".codex", ".opencode"])
def test_a_file_where_a_directory_should_be_is_refused(repository: Path, name: str) -> None:
    (repository / name).touch()
    with pytest.raises(InterlockError) as error:
        _set_up(repository)
    assert error.value.code == "setup_conflict"
    assert _files(repository) == {name: b""}


def test_a_directory_that_is_a_link_out_of_the_work_tree_is_refused(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (repository / ".claude").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InterlockError) as error:
        _set_up(repository)
    assert error.value.code == "setup_conflict"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_one_bad_file_keeps_all_others_from_being_written(repository: Path) -> None:
    (repository / "opencode.json").write_bytes(b"{")
    with pytest.raises(InterlockError) as error:
        _set_up(repository)
    assert error.value.code == "setup_conflict"
    assert "line 1, column 2" in error.value.message
    assert _files(repository) == {"opencode.json": b"{"}


# Failures


def test_a_file_that_was_changed_since_it_was_shown_is_not_overwritten(repository: Path) -> None:
    proposal = propose(repository, list(SetupTarget), NOWHERE)
    (repository / "opencode.json").write_bytes(b"{}")
    with pytest.raises(InterlockError) as error:
        carry_out(proposal)
    assert error.value.code == "setup_conflict"
    assert _files(repository) == {"opencode.json": b"{}"}


def test_a_failure_while_files_are_staged_leaves_no_trace(repository: Path) -> None:
    proposal = propose(repository, list(SetupTarget), NOWHERE)
    (repository / ".codex").touch()
    with pytest.raises(InterlockError) as error:
        carry_out(proposal)
    assert error.value.code == "setup_conflict"
    assert _files(repository) == {".codex": b""}


@pytest.fixture
def public() -> Iterator[Path]:
    """A repository that an ordinary user may go to."""
    directory = Path(tempfile.mkdtemp(prefix="interlock-public-"))
    directory.chmod(0o755)
    _git("init", "-q", directory / "repository")
    yield directory / "repository"
    subprocess.run(["chmod", "-R", "u+rwX", directory], check=True, timeout=SECONDS)
    shutil.rmtree(directory)


def _ordinary(act: Callable[[Path], None], root: Path) -> str:
    """What an ordinary user gets who does this: a code, or nothing."""
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=_as_nobody, args=(theirs, act, root))
    process.start()
    try:
        assert ours.poll(SECONDS)
        found: str = ours.recv()
        if found == "unreadable":
            pytest.skip("an ordinary user cannot read where Interlock is installed")
        return found
    finally:
        process.join(SECONDS)


def _as_nobody(pipe: Connection, act: Callable[[Path], None], root: Path) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        supplies(NOWHERE)
    except PermissionError:
        pipe.send("unreadable")
        return
    try:
        act(root)
    except InterlockError as error:
        pipe.send(error.code)
    except Exception as error:
        pipe.send(repr(error))
    else:
        pipe.send("")


def test_a_directory_that_may_not_be_written_is_refused_and_left_alone(public: Path) -> None:
    if os.geteuid() == 0:
        for path in (public, *public.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    (public / ".claude").mkdir(mode=0o555)
    if os.geteuid() == 0:
        os.chown(public / ".claude", NOBODY, NOBODY)
    assert _ordinary(_set_up, public) == "setup_conflict"
    assert _files(public) == {".claude": None}
    (public / ".claude").chmod(0o755)
    assert _ordinary(_set_up, public) == ""
    after = _files(public)
    (public / ".mcp.json").chmod(0o444)
    assert _ordinary(_undo, public) == "setup_conflict"
    assert _files(public) == after


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files that others may write and not replace")
def test_a_failure_halfway_restores_what_was_written(public: Path) -> None:
    """In a sticky directory, a file of another may be written, and renaming over it fails at the last moment."""
    for path in (public / ".git").rglob("*"):
        path.chmod(0o777)
    (public / ".git").chmod(0o777)
    public.chmod(0o1777)
    (public / "opencode.json").write_bytes(b"{}")
    (public / "opencode.json").chmod(0o666)
    before = _files(public)
    assert _ordinary(_set_up, public) == "setup_conflict"
    assert _files(public) == before
