"""A verification: what is run and where, what passes, and what becomes of it when it is stopped or killed."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.work.verification.places import sweep
from interlock.work.verification.receipt import from_data
from interlock.work.verification.request import VerificationPlan, Verifier
from interlock.work.verification.verifying import verify
from interlock.world.agents.happenings import Said
from interlock.world.agents.tree import members
from interlock.world.git import tree_hash
from work.verification.grounds import START, Ground, Wanted
from world.git.repositories import git

MINE = 'verify.prepare = "true"'


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path).work()


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where checkouts are made."""
    path = tmp_path / "tmp"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


def test_work_that_passes_gets_a_receipt_for_its_tree_and_spec(ground: Ground) -> None:
    before = tree_hash(ground.root)
    receipt = ground.verify()
    assert (receipt.passed, receipt.reason) == (True, "")
    assert (receipt.tree, receipt.tree_after, receipt.spec) == (before, before, "5" * 64)
    assert receipt.place == "work tree"
    assert [(one.name, one.how, one.exit) for one in receipt.verifiers] == [("pytest", "passed", 0)]
    assert "2 passed" in receipt.verifiers[0].output
    assert receipt.tests.added == ("tests/test_more.py",)
    assert from_data(receipt.data) == receipt
    assert from_data(receipt.data).sha256 == receipt.sha256


def test_work_that_fails_its_own_tests_does_not_pass(ground: Ground) -> None:
    receipt = ground.work({"sums.py": "def add(a, b):\n    return 1\n"}).verify()
    assert receipt.reason.splitlines() == ["verifier pytest: exit 1"]
    assert "assert 1 == 5" in receipt.verifiers[0].output


def test_all_verifiers_are_run_and_each_failure_is_named_for_what_it_is(ground: Ground) -> None:
    commands = (
        "bad: exit 3",
        "absent: there-is-no-such-command-here",
        "dying: kill -SEGV $$",
        "good: true",
        "forbidden: ./tests/test_sums.py",
        "unbalanced: echo 'oh",
    )
    receipt = ground.verify(*commands)
    assert [(one.name, one.how) for one in receipt.verifiers] == [
        ("bad", "failed"),
        ("absent", "missing"),
        ("dying", "killed"),
        ("good", "passed"),
        ("forbidden", "failed"),
        ("unbalanced", "failed"),
    ]
    assert receipt.reason.splitlines()[:4] == [
        "verifier bad: exit 3",
        "verifier absent: not found (exit 127)",
        "verifier dying: was killed by SIGSEGV",
        "verifier forbidden: may not be executed (exit 126)",
    ]


def test_a_verifier_that_hangs_is_ended_and_leaves_nothing(ground: Ground, tmp_path: Path) -> None:
    command = f"trap '' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 1000; done"
    pid = tmp_path / "pid"
    for seconds in (0.5, 4, 32):  # a busy machine may not have begun it by then
        receipt = ground.verify(plan=VerificationPlan(verifiers=(Verifier("hang", command, seconds),)))
        assert receipt.reason.splitlines()[0] == f"verifier hang: took longer than {seconds} s"
        if pid.exists() and pid.read_text().endswith("\n"):
            break
    assert not _is_alive(int(pid.read_text()))


def test_what_a_verifier_leaves_running_is_ended(ground: Ground, tmp_path: Path) -> None:
    receipt = ground.verify(f"(setsid sleep 1000 & echo $! > {tmp_path}/pid) > /dev/null 2>&1")
    assert receipt.verifiers[0].how == "passed"
    assert members(None, ground.marker) == []
    assert not _is_alive(int((tmp_path / "pid").read_text()))


def test_a_verifier_that_prints_without_end_is_bounded(ground: Ground) -> None:
    flood = "yes 'CRITERION 1: PASS' | head -n 1000; head -c 18000000 /dev/zero | tr '\\0' x"
    receipt = ground.verify(f"{flood}; exit 1", criteria=[Wanted(1)])
    assert receipt.verifiers[0].how == "failed"
    assert (ground.logs / receipt.verifiers[0].log).stat().st_size < 17_000_000
    assert len(receipt.json) < 10_000
    assert not receipt.criteria[0].met


def test_without_a_verifier_nothing_passes(ground: Ground) -> None:
    receipt = ground.verify(plan=VerificationPlan(), criteria=[Wanted(1)])
    assert "no verifier is configured" in receipt.reason
    assert not receipt.passed


def test_a_criterion_with_a_command_is_a_verifier(ground: Ground) -> None:
    assert ground.verify(plan=VerificationPlan(), criteria=[Wanted(1, command="true")]).passed
    assert not ground.verify(plan=VerificationPlan(), criteria=[Wanted(1, command="false")]).passed


def test_without_criteria_nothing_passes(ground: Ground) -> None:
    assert ground.verify("true", criteria=[]).reason == "the spec has no criteria"


def test_a_criterion_with_a_command_is_decided_by_it(ground: Ground) -> None:
    receipt = ground.verify("true", criteria=[Wanted(1, command="true"), Wanted(2, command="echo because; exit 1")])
    assert [(one.number, one.met, one.by) for one in receipt.criteria] == [(1, True, "command"), (2, False, "command")]
    assert receipt.reason == "criterion 2 (it adds): `echo because; exit 1`: exit 1: because"


def test_logs_are_kept_and_known_by_their_hash(ground: Ground) -> None:
    ran = ground.verify("echo hello").verifiers[0]
    content = (ground.logs / ran.log).read_bytes()
    assert content == b"hello\n"
    assert hashlib.sha256(content).hexdigest() == ran.log_sha256
    assert Said("hello") in ground.told


def test_the_environment_is_what_was_given_and_nothing_else(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKED", "yes")
    request = ground.request('test -z "$LEAKED$RALPH_SESSION_ID$GIT_DIR" && test -n "$RALPH_RUN"')
    given = {**request.environment, "RALPH_SESSION_ID": "ses-1", "GIT_DIR": "/nowhere"}
    receipt = verify(replace(request, environment=given), ground.tell, ground.stop)
    assert receipt is not None
    assert receipt.verifiers[0].passed


# The tree


def test_a_verifier_that_changes_the_work_tree_voids_everything(ground: Ground) -> None:
    receipt = ground.verify("echo more >> sums.py; touch new")
    assert receipt.reason == "the tree changed while the verifiers ran, so nothing of it counts: new, sums.py"
    assert receipt.tree_after != receipt.tree


@pytest.mark.parametrize("settings", ["", MINE])
def test_somebody_who_changes_the_work_tree_meanwhile_voids_everything(ground: Ground, settings: str) -> None:
    receipt = ground.verify(f"echo more >> {ground.root}/sums.py", settings=settings)
    assert "the tree changed while the verifiers ran, so nothing of it counts: sums.py" in receipt.reason
    assert not receipt.passed


def test_what_is_ignored_is_not_of_the_tree(ground: Ground) -> None:
    assert ground.verify("mkdir -p .venv && echo x > .venv/x").passed


# A checkout


def test_a_checkout_has_the_exact_files_and_is_gone_afterwards(tmp_path: Path, scratch: Path) -> None:
    odd = "d/ä 'odd\"\n name"
    ground = Ground(tmp_path, {**START, odd: "x", "run.sh": "#!/bin/sh\n", "crlf": b"a\r\nb\r\n"})
    (ground.root / "run.sh").chmod(0o755)
    (ground.root / "link").symlink_to("../outside")
    (ground.root / "loop").symlink_to(".")
    ground.work()
    (ground.root / ".venv").mkdir()
    (ground.root / ".venv" / "ignored").write_text("")
    check = (
        'test -x run.sh && test "$(readlink link)" = ../outside && test "$(readlink loop)" = . && test ! -e .venv'
        ' && test ! -e .git && ! git rev-parse 2>/dev/null && test "$(ls d | wc -l)" -ge 1 && pwd'
    )
    receipt = ground.verify(check, settings=MINE)
    assert (receipt.passed, receipt.reason) == (True, "")
    assert receipt.place == "checkout"
    assert receipt.prepare is not None
    assert receipt.verifiers[0].output.startswith(str(scratch))
    assert list(scratch.iterdir()) == []


def test_verifiers_run_on_what_prepare_made_and_not_on_what_lies_around(ground: Ground, scratch: Path) -> None:
    (ground.root / ".venv").mkdir()
    (ground.root / ".venv" / "cheat").write_text("")
    receipt = ground.verify("test -e built && test ! -e .venv", settings='verify.prepare = "touch built"')
    assert receipt.passed
    assert not (ground.root / "built").exists()


def test_where_prepare_fails_nothing_else_is_run(ground: Ground, tmp_path: Path, scratch: Path) -> None:
    receipt = ground.verify(f"touch {tmp_path}/ran", settings='verify.prepare = "echo no network; exit 4"')
    assert receipt.reason.splitlines()[0] == "prepare: exit 4"
    assert not (tmp_path / "ran").exists()
    assert not any(one.met for one in receipt.criteria)


def test_a_verifier_that_changes_the_checkout_makes_it_another_tree(ground: Ground, scratch: Path) -> None:
    receipt = ground.verify("echo 'assert True' > tests/test_sums.py", "true", settings=MINE)
    named = "the verifiers changed files of the checkout, so it is not the tree any more: tests/test_sums.py"
    assert named in receipt.reason


def test_what_verifiers_make_in_the_checkout_is_no_change(ground: Ground, scratch: Path) -> None:
    assert ground.verify("mkdir -p build/x && touch build/x/y && chmod 0 build/x", settings=MINE).passed
    assert list(scratch.iterdir()) == []


# What is carried along


CARRY = 'verify.carry = [".venv"]'


def _venv(ground: Ground, content: str = "#!/bin/sh\nexit 0\n") -> None:
    directory = ground.root / ".venv" / "bin"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tool").write_text(content)
    (directory / "tool").chmod(0o755)
    if not (directory / "alias").is_symlink():
        (directory / "alias").symlink_to("tool")


def test_an_ignored_path_is_carried_into_the_checkout(ground: Ground, scratch: Path) -> None:
    _venv(ground)
    receipt = ground.verify("test -L .venv/bin/alias && .venv/bin/tool", settings=CARRY)
    assert (receipt.reason, receipt.place) == ("", "checkout")
    assert [(one.path, one.files) for one in receipt.carried] == [(".venv", 2)]


def test_what_is_carried_is_known_by_its_hash(ground: Ground, scratch: Path) -> None:
    _venv(ground)
    tool, alias = ground.root / ".venv" / "bin" / "tool", ground.root / ".venv" / "bin" / "alias"

    def carried() -> str:
        return ground.verify("true", settings=CARRY).carried[0].sha256

    hashes = [carried()]
    assert carried() == hashes[0]
    tool.write_text("#!/bin/sh\nexit 1\n")
    hashes.append(carried())
    tool.chmod(0o644)
    hashes.append(carried())
    alias.unlink()
    alias.symlink_to("/bin/true")
    hashes.append(carried())
    (ground.root / ".venv" / "empty").mkdir()
    hashes.append(carried())
    tool.rename(tool.with_name("other"))
    hashes.append(carried())
    assert len(set(hashes)) == 6, "content, mode, link, an empty directory and a name all count"


@pytest.mark.parametrize(("path", "why"), [("missing", "it is not there"), ("tests", "the tree itself has it")])
def test_what_cannot_be_carried_is_named(ground: Ground, scratch: Path, path: str, why: str) -> None:
    receipt = ground.verify("true", settings=f'verify.carry = ["{path}"]')
    assert f"{path} cannot be carried: {why}" in receipt.reason
    assert receipt.verifiers == ()


def test_what_lies_behind_a_link_out_of_the_repository_is_not_carried(ground: Ground, scratch: Path) -> None:
    (ground.directory / "secret").mkdir()
    (ground.directory / "secret" / "key").write_text("k")
    (ground.root / ".venv").symlink_to(ground.directory / "secret")
    git("config", "core.excludesFile", str(ground.directory / "ignore"), cwd=ground.root)
    (ground.directory / "ignore").write_text(".venv\n")
    receipt = ground.verify("true", settings='verify.carry = [".venv/key"]')
    assert ".venv/key cannot be carried: it lies outside of the repository" in receipt.reason


def test_what_is_no_file_is_not_carried_whatever_it_is_called(ground: Ground, scratch: Path) -> None:
    _venv(ground)
    os.mkfifo(os.fsencode(ground.root / ".venv") + b"/odd\xff")
    receipt = ground.verify("true", settings=CARRY)
    assert ".venv cannot be carried: it is no file, directory or link" in receipt.reason
    assert from_data(receipt.data) == receipt


# Stopped, killed


@pytest.mark.parametrize("settings", ["", MINE])
def test_stopped_it_ends_the_verifier_and_gives_nothing(ground: Ground, scratch: Path, settings: str) -> None:
    def tell(said: object) -> None:
        if said == Said("here"):
            ground.stop.set()

    assert verify(ground.request("echo here; sleep 1000", settings=settings), tell, ground.stop) is None
    assert members(None, ground.marker) == []
    assert list(scratch.iterdir()) == []


def test_stopped_beforehand_it_gives_nothing(ground: Ground) -> None:
    stop = threading.Event()
    stop.set()
    assert verify(ground.request("true", criteria=[Wanted(1)]), ground.tell, stop) is None


DRIVER = """
import sys, threading, tempfile
from pathlib import Path
from work.verification.grounds import Ground
from interlock.work.verification.verifying import verify
class Again(Ground):
    def __post_init__(self):
        self.baseline = "HEAD"
tempfile.tempdir = sys.argv[2]
ground = Again(Path(sys.argv[1]))
request = ground.request("echo left $$; exec sleep 1000", settings='verify.prepare = "true"')
verify(request, lambda said: print(getattr(said, "text", said), flush=True), threading.Event())
"""


def test_what_a_killed_driver_left_is_ended_and_removed_by_the_next(ground: Ground, scratch: Path) -> None:
    here = Path(__file__).parents[2]
    words = (sys.executable, "-c", DRIVER, str(ground.directory), str(scratch))
    with subprocess.Popen(words, cwd=here, env={**os.environ, "PYTHONPATH": str(here)}, stdout=subprocess.PIPE) as died:
        assert died.stdout is not None
        left = next(int(line.split()[1]) for line in died.stdout if line.startswith(b"left "))
        died.send_signal(signal.SIGKILL)
    assert _is_alive(left)
    assert len(list(scratch.iterdir())) == 1
    assert ground.verify("true", settings=MINE).passed
    assert not _is_alive(left)
    assert list(scratch.iterdir()) == []


def test_a_sweep_spares_what_is_not_a_dead_checkout(scratch: Path, ground: Ground, tmp_path: Path) -> None:
    seen: list[set[str]] = []
    swept = tmp_path / "swept"

    def tell(said: object) -> None:
        if said == Said("here"):
            sweep()
            seen.append({path.name for path in scratch.iterdir()})
            swept.touch()

    mine = scratch / "ralph-verify-mine"
    mine.mkdir()
    (scratch / "ralph-verify-00000000-00000000-1-1-ab").mkdir()
    receipt = verify(
        ground.request(f"echo here; until [ -e {swept} ]; do sleep 0.01; done; ls", settings=MINE), tell, ground.stop
    )
    assert receipt is not None
    assert receipt.passed
    assert len(seen[0]) == 3, "ours, a person's, and another host's"
    assert {path.name for path in scratch.iterdir()} == {"ralph-verify-mine", "ralph-verify-00000000-00000000-1-1-ab"}


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
