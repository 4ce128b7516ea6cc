"""What Interlock keeps is its user's alone: other users of the machine read nothing of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from faces.hooks import begun, called, hooked
from faces.journals import journal_file, opened
from faces.programs import SECONDS, run
from interlock.journal import open_journal
from interlock.world.folder import Folder

NOBODY = 65534
_LOOK = """
import os, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
for top in sys.argv[1:]:
    try:
        names = os.listdir(top)
    except PermissionError:
        names = []
    for path in [os.path.join(top, name) for name in (*names, "journal.db", "journal.db-wal", "inbox")]:
        try:
            os.listdir(path) if os.path.isdir(path) else open(path, "rb").close()
        except (PermissionError, FileNotFoundError):
            continue
        print(path)
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that every user may enter, and a user whose files are readable unless they say otherwise."""
    place = Path(tempfile.mkdtemp(prefix="interlock-shared-"))
    place.chmod(0o755)
    before = os.umask(0o022)
    yield place
    os.umask(before)
    shutil.rmtree(place)


@pytest.fixture
def project(shared: Path, environment: dict[str, str]) -> Path:
    subprocess.run(["git", "init", "-q", shared / "project"], env=environment, check=True, timeout=SECONDS)
    run("ticket", "create", "A secret", cwd=shared / "project", env=environment)
    return shared / "project"


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_journal_and_its_directory_are_the_users_alone(project: Path) -> None:
    with opened(project) as journal:
        begun(journal)
        beside = [journal_file(project).with_name(f"journal.db{more}") for more in ("", "-wal", "-shm")]
        assert [_mode(one) for one in beside] == [0o600] * 3
    assert _mode(project / ".ralf") == 0o700


def test_what_an_older_version_made_is_closed_when_it_is_opened(project: Path, environment: dict[str, str]) -> None:
    (project / ".ralf").chmod(0o755)
    journal_file(project).chmod(0o644)
    assert run("ticket", "list", cwd=project, env=environment).code == 0
    assert (_mode(project / ".ralf"), _mode(journal_file(project))) == (0o700, 0o600)


def test_a_journal_in_a_directory_of_others_leaves_that_as_it_is(shared: Path) -> None:
    open_journal(shared / "journal.db").close()
    assert (_mode(shared / "journal.db"), _mode(shared)) == (0o600, 0o755)


def test_a_journal_that_its_owner_may_only_read_stays_so(shared: Path) -> None:
    file = shared / "journal.db"
    open_journal(file).close()
    file.chmod(0o444)
    with closing(open_journal(file)) if os.geteuid() == 0 else pytest.raises(Exception, match="may not be written"):
        pass
    assert _mode(file) in (0o400, 0o444)


def test_an_export_is_the_users_alone(project: Path, shared: Path, environment: dict[str, str]) -> None:
    target = shared / "export.jsonl"
    assert run("journal", "export", "--output", target, cwd=project, env=environment).code == 0
    assert _mode(target) == 0o600


def test_the_files_of_a_run_are_the_users_alone(shared: Path) -> None:
    Folder(shared / ".ralph-sessions").write("one/progress.md", b"what an agent said\n")
    assert _mode(shared / ".ralph-sessions") == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_reads_nothing(project: Path, environment: dict[str, str]) -> None:
    with opened(project) as journal:
        session = begun(journal, "implementing")
    hooked("pre-tool-use", called("Write", {"file_path": "a"}), project, environment, session)
    Folder(project / ".ralph-sessions").write("one/progress.md", b"what an agent said\n")
    places = [str(project / ".ralf"), str(project / ".ralph-sessions"), environment["XDG_STATE_HOME"]]
    done = subprocess.run(
        [sys.executable, "-c", _LOOK, *places], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
