"""A journal that this user has not trusted runs nothing, whoever accepted its settings."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from faces.hooks import begun, called, hooked
from faces.journals import opened, settle, tampered
from faces.programs import SECONDS, run, run_in_terminal


def git(root: Path, environment: dict[str, str], *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, env=environment, check=True, timeout=SECONDS, capture_output=True)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """Where the attacker's commands leave a file when they run."""
    directory = tmp_path / "traces"
    directory.mkdir()
    return directory


@pytest.fixture
def hostile(repository: Path, environment: dict[str, str], traces: Path) -> Path:
    """A repository whose owner accepted settings that run commands, with a ticket to work on."""
    text = f"""[agent]
name = "command"
sandbox = "none"
command = "touch {traces}/agent"

[notify]
command = "touch {traces}/notify"
"""
    settle(repository, text)
    run("ticket", "create", "Greet people", "--estimate", "S", cwd=repository, env=environment)
    git(repository, environment, "config", "user.name", "Mallory")
    git(repository, environment, "config", "user.email", "mallory@example.org")
    (repository / "README").write_text("a project\n")
    git(repository, environment, "add", "README", "ralph.toml")
    git(repository, environment, "commit", "-qm", "start")
    return repository


def test_a_clone_that_tracks_its_journal_runs_nothing(
    hostile: Path, tmp_path: Path, environment: dict[str, str], traces: Path
) -> None:
    git(hostile, environment, "add", "-f", ".ralf/journal.db")
    git(hostile, environment, "commit", "-qm", "a journal")
    clone = tmp_path / "clone"
    git(tmp_path, environment, "clone", "-q", str(hostile), str(clone))
    refused = run("work", "1", "--json", cwd=clone, env=environment)
    assert list(traces.iterdir()) == []
    assert refused.error["code"] == "state_tracked"
    assert "git rm -r --cached .ralf" in refused.error["hint"]
    looked = run("log", "--json", cwd=clone, env=environment)
    assert looked.error["code"] == "state_tracked"


@pytest.mark.parametrize("words", [("config", "index.version=4"), ("update-index", "--split-index")])
def test_no_form_of_an_index_hides_that_it_tracks_the_journal(
    repository: Path, environment: dict[str, str], words: tuple[str, ...]
) -> None:
    run("ticket", "create", "Greet people", cwd=repository, env=environment)
    git(repository, environment, *(words[0], *words[1].split("=")))
    (repository / ".r").write_text("the path before it shares a prefix\n")
    git(repository, environment, "add", "-f", ".r", ".ralf/journal.db")
    assert run("ticket", "list", "--json", cwd=repository, env=environment).error["code"] == "state_tracked"
    git(repository, environment, "rm", "-qr", "--cached", ".ralf")
    assert len(run("ticket", "list", "--json", cwd=repository, env=environment).data) == 1


def copied(hostile: Path, tmp_path: Path) -> Path:
    """The same repository elsewhere, as an archive brings it: nothing of it is tracked."""
    return shutil.copytree(hostile, tmp_path / "copy", symlinks=True)


@pytest.mark.parametrize(
    "words",
    [
        ("work", "1"),
        ("ticket", "create", "Another"),
        ("thread", "new", "A thread"),
        ("story", "run"),
        ("orchestrate", "A goal"),
        ("notify", "test"),
        ("telemetry", "send"),
        ("serve", "--port", "0"),
        ("gate", "enroll", "key.pub"),
    ],
)
def test_a_copy_runs_nothing_until_it_is_trusted(
    hostile: Path, tmp_path: Path, environment: dict[str, str], traces: Path, words: tuple[str, ...]
) -> None:
    for env in (environment, environment | {"CLAUDECODE": "1"}):
        refused = run(*words, "--json", cwd=copied(hostile, tmp_path), env=env)
        expected = "notify_off" if words[0] == "notify" else "journal_untrusted"
        assert refused.error["code"] == expected
        shutil.rmtree(tmp_path / "copy")
    assert list(traces.iterdir()) == []


def test_the_server_for_agents_refuses_an_untrusted_journal(
    hostile: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    refused = run("mcp", cwd=copied(hostile, tmp_path), env=environment)
    assert (refused.code, "journal_untrusted" in refused.err) == (5, True)


def test_an_untrusted_journal_can_be_read_and_says_what_it_is(
    hostile: Path, tmp_path: Path, environment: dict[str, str], traces: Path
) -> None:
    copy = copied(hostile, tmp_path)
    for words in (("status",), ("log",), ("journal", "verify"), ("ticket", "list"), ("config", "show")):
        shown = run(*words, cwd=copy, env=environment)
        assert shown.code == 0
        assert "ralph config accept" in shown.err
    settings = run("config", "show", "--json", cwd=copy, env=environment).data["settings"]
    assert {row["origin"] for row in settings} == {"default"}
    checks = run("doctor", "--json", cwd=copy, env=environment)
    assert "not trusted" in checks.out
    told = run("doctor", cwd=copy, env=environment)
    assert (told.out.count("not trusted"), told.err.count("not trusted")) == (1, 1), "not at every look at the journal"
    assert list(traces.iterdir()) == []


def test_a_person_trusts_a_journal_once_and_sees_what_it_would_run(
    hostile: Path, tmp_path: Path, environment: dict[str, str], traces: Path
) -> None:
    copy = copied(hostile, tmp_path)
    asked = [("Type trust", "trust\n")]
    code, screen = run_in_terminal(
        "config", "accept", cwd=copy, env=environment, answers=asked, columns=400
    )  # no path is folded
    assert code == 0, screen
    unfolded = screen.replace("\r\n┆ ", "")
    assert f"agent.command = 'touch {traces}/agent'" in unfolded
    assert f"notify.command = 'touch {traces}/notify'" in unfolded
    run("work", "1", "--json", cwd=copy, env=environment)
    assert (traces / "agent").exists()
    moved = copy.rename(tmp_path / "moved")
    assert run("work", "1", "--json", cwd=moved, env=environment).error["code"] == "journal_untrusted"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("answer", ["yes", "", "TRUST"])
def test_another_answer_trusts_nothing(
    hostile: Path, tmp_path: Path, environment: dict[str, str], traces: Path, answer: str
) -> None:
    copy = copied(hostile, tmp_path)
    asked = [("Type trust", f"{answer}\n")]
    code, screen = run_in_terminal("ticket", "create", "Another", cwd=copy, env=environment, answers=asked)
    assert (code, "journal_untrusted" in screen) == (5, True)
    assert run("ticket", "create", "Another", "--json", cwd=copy, env=environment).code == 5
    assert list(traces.iterdir()) == []


def test_an_agent_in_a_terminal_is_not_asked(hostile: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    copy = copied(hostile, tmp_path)
    code, screen = run_in_terminal("config", "accept", cwd=copy, env=environment | {"CLAUDECODE": "1"})
    assert (code, "journal_untrusted" in screen) == (5, True)


def test_another_journal_at_a_trusted_path_is_asked_for(
    hostile: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    own = tmp_path / "own"
    git(tmp_path, environment, "init", "-q", str(own))
    run("ticket", "create", "Mine", cwd=own, env=environment)
    assert run("ticket", "create", "Mine too", cwd=own, env=environment).code == 0
    shutil.rmtree(own / ".ralf")
    shutil.copytree(hostile / ".ralf", own / ".ralf")
    assert run("ticket", "create", "Theirs", "--json", cwd=own, env=environment).error["code"] == "journal_untrusted"


def test_a_work_tree_and_a_bare_repository_share_the_trust_of_their_repository(
    hostile: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    git(hostile, environment, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert run("ticket", "create", "More", cwd=tmp_path / "linked", env=environment).code == 0
    bare = tmp_path / "bare.git"
    git(tmp_path, environment, "init", "-q", "--bare", str(bare))
    assert run("ticket", "create", "Here", cwd=bare, env=environment).code == 0
    moved = bare.rename(tmp_path / "moved.git")
    assert run("ticket", "create", "There", "--json", cwd=moved, env=environment).error["code"] == "journal_untrusted"


def test_a_shared_database_is_trusted_by_each_repository_and_user(
    repository: Path, tmp_path: Path, environment: dict[str, str], postgres_address: str
) -> None:
    env = environment | {"RALPH_DATABASE_URL": postgres_address}
    assert run("ticket", "create", "Mine", cwd=repository, env=env).code == 0
    assert run("ticket", "create", "Mine too", cwd=repository, env=env).code == 0
    other = env | {"XDG_STATE_HOME": str(tmp_path / "other user")}
    assert run("ticket", "create", "Theirs", "--json", cwd=repository, env=other).error["code"] == "journal_untrusted"
    asked = [("Type trust", "trust\n")]
    assert run_in_terminal("config", "accept", cwd=repository, env=other, answers=asked)[0] == 0
    assert run("ticket", "create", "Theirs", cwd=repository, env=other).code == 0


def test_a_journal_of_before_trust_is_asked_for_once(repository: Path, environment: dict[str, str]) -> None:
    run("ticket", "create", "Old", cwd=repository, env=environment)
    tampered(repository, "DROP TABLE identity")
    tampered(repository, "DELETE FROM migrations WHERE number = 7")
    assert (
        run("ticket", "create", "New", "--json", cwd=repository, env=environment).error["code"] == "journal_untrusted"
    )
    asked = [("Type trust", "trust\n")]
    assert run_in_terminal("ticket", "create", "New", cwd=repository, env=environment, answers=asked)[0] == 0
    assert run("ticket", "create", "Newer", cwd=repository, env=environment).code == 0


def test_a_file_that_was_prepared_to_become_a_journal_is_not_trusted(
    hostile: Path, repository: Path, environment: dict[str, str]
) -> None:
    """Its trigger writes entries while the tables are made, so the journal is not empty when it is new."""
    path = repository / ".ralf" / "journal.db"
    found = sqlite3.connect(path)
    [application] = found.execute("PRAGMA application_id").fetchone()
    found.close()
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    prepared = sqlite3.connect(path)
    prepared.executescript(
        f"""PRAGMA application_id = {application};
        CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied TEXT NOT NULL);
        CREATE TRIGGER prepared AFTER INSERT ON migrations WHEN new.number = 1 BEGIN
          INSERT INTO leases SELECT * FROM leases;
        END"""
    )
    prepared.close()
    refused = run("ticket", "create", "Mine", "--json", cwd=repository, env=environment)
    assert refused.error["code"] == "journal_untrusted"


def test_nothing_is_made_where_the_trust_cannot_be_kept(
    repository: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "file").write_text("")
    env = environment | {"XDG_STATE_HOME": str(tmp_path / "file")}
    refused = run("ticket", "create", "One", "--json", cwd=repository, env=env)
    assert refused.error["code"] == "user_state_unwritable"
    assert run("ticket", "create", "One", cwd=repository, env=environment).code == 0


def test_the_hook_holds_a_session_of_an_untrusted_journal(
    repository: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    with opened(repository) as journal:
        session = begun(journal, "implementing")
    write = called("Write", {"file_path": "a"})
    assert hooked("pre-tool-use", write, repository, environment, session).code == 0
    copy = copied(repository, tmp_path)
    blocked = hooked("pre-tool-use", write, copy, environment, session)
    assert (blocked.code, "not trusted" in blocked.err) == (2, True)
    assert hooked("pre-tool-use", called("Read", {"file_path": "a"}), copy, environment, session).code == 0
    assert hooked("pre-tool-use", write, copy, environment).code == 0
