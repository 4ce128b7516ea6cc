"""A thread in a repository that names a program wherever git looks for one: none of them runs, nothing lies outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from faces.programs import HOOK, clean_environment, run, run_here
from interlock.errors import InterlockError
from interlock.work.threads.effects import undo_reset
from interlock.work.threads.showing import whole_diff
from interlock.world import git as verbs
from work.threads.benches import Bench, Steps, shell
from world.git.traps import arm, trap

ODD = ("-x", ":(glob)*", "a\nb", "spacé", "--upload-pack=x", "$(touch canary)", "`touch canary`")
WORK: Steps = [
    shell("echo hello > greeting.txt; echo more >> odd/-x; mkdir -p deep; echo 1 > deep/new.bin"),
    {"promise": "COMPLETE"},
    {"finish": True},
]


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that is there if any program of the repository ran."""
    return tmp_path / "canary"


@pytest.fixture
def bench(tmp_path: Path, canary: Path) -> Bench:
    """A repository with odd names, attributes, a submodule and every trap; what the agent writes falls under them."""
    bench = Bench.made(tmp_path / "repository")
    library = tmp_path / "library"
    subprocess.run(["git", "clone", "-q", str(bench.root), str(library)], check=True, timeout=60)
    bench.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    (bench.root / "odd").mkdir()
    for name in ODD:
        (bench.root / "odd" / name).write_text("1\n")
    (bench.root / "link").symlink_to("/etc/passwd")
    (bench.root / ".gitattributes").write_text("*.txt diff=evil merge=evil\n*.bin diff=evil\nodd/* diff=evil\n")
    bench.git("add", "-A")
    bench.git("commit", "-qm", "odd")
    program = trap(tmp_path / "program", canary)
    for directory in (bench.root / ".git", bench.root / ".git" / "modules" / "lib"):
        arm(directory, program, tmp_path)
    bench.play(WORK)
    return bench


def outside(bench: Bench) -> set[Path]:
    """Everything beside the repository."""
    there = bench.root.parent
    return {one for one in there.rglob("*") if not one.is_relative_to(bench.root)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("isolation", ["checkout", "own"])
def test_no_program_of_the_repository_runs_on_the_whole_way(bench: Bench, canary: Path, isolation: str) -> None:
    bench.settings["thread.isolation"] = isolation
    before = outside(bench)
    first = bench.new(mode="quick")
    assert bench.act(first, "finalize").state == "PendingReview"
    back = bench.act(first, "revise")
    assert back.state == "Drafting"
    journal = bench.open()
    undo_reset(bench.context(journal), back, None)
    journal.close()
    assert not canary.exists(), canary.read_text()
    if isolation == "checkout":  # what came back is in the way of the next one
        assert verbs.state(bench.root).branch == f"ralf/{first}"
        verbs.go_back(bench.root, _base(bench), f"ralf/{first}", "again")
    bench.play(WORK)
    second = bench.new(mode="quick")
    assert bench.act(second, "finalize").state == "PendingReview"
    done = bench.act(second, "approve", "commit")
    assert done.state == "Done"
    assert done.commit is not None
    assert verbs.contents(bench.root, done.commit, ["greeting.txt"]) == {"greeting.txt": b"hello\n"}
    assert not canary.exists(), canary.read_text()
    assert outside(bench) == before


FORGE = """
import hashlib, os, subprocess, sys
said = lambda *words: subprocess.run(["git", *words], input=b"evil\\n", capture_output=True, check=True).stdout.strip()
open("greeting.txt", "w").write("hello\\n")
said("add", "greeting.txt")
names = said("rev-parse", ":greeting.txt"), said("hash-object", "-w", "--stdin")
good, bad = (bytes.fromhex(one.decode()) for one in names)
content = open(".git/index", "rb").read()[:-20].partition(b"TREE")[0].replace(good, bad)
open(".git/index", "wb").write(content + hashlib.sha1(content).digest())
os.utime(".git/index", (2e9, 2e9))
"""


def test_an_index_that_an_agent_forged_decides_nothing(tmp_path: Path) -> None:
    """The index says `evil` with the stat data of the file, which says `hello`; what is shown is what is committed."""
    bench = Bench.made(tmp_path / "repository")
    script = tmp_path / "forge.py"
    script.write_text(FORGE)
    bench.play([shell(f"{sys.executable} {script}"), {"promise": "COMPLETE"}, {"finish": True}])
    thread = bench.new(mode="quick")
    assert bench.act(thread, "finalize").state == "PendingReview"
    assert "+hello" in whole_diff(bench.thread(thread), bench.root)
    done = bench.act(thread, "approve", "commit")
    assert done.commit is not None
    assert verbs.contents(bench.root, done.commit, ["greeting.txt"]) == {"greeting.txt": b"hello\n"}


def _base(bench: Bench) -> verbs.StartingPoint:
    commit = (bench.root / ".git" / "refs" / "heads" / "main").read_text().strip()
    return verbs.StartingPoint("main", commit)


ALTERED = {
    "hook": "mkdir -p hooks; printf '#!/bin/sh\\n' > hooks/post-commit; chmod +x hooks/post-commit",
    "setting": "printf '[core]\\n\\tfsmonitor = %s\\n' {program} >> config",
    "attribute": "mkdir -p info; echo '* filter=evil' >> info/attributes",
    "include": "printf '[include]\\n\\tpath = more\\n' >> config",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ALTERED)
def test_what_an_agent_arms_in_its_own_repository_counts_for_nothing(tmp_path: Path, canary: Path, how: str) -> None:
    bench = Bench.made(tmp_path / "repository")
    program = trap(tmp_path / "program", canary)
    bench.play([shell(f"cd .git; {ALTERED[how].format(program=program)}"), *WORK])
    thread = bench.act(bench.new(mode="quick"), "finalize", "approve", "commit")
    assert thread.state == "Done"
    assert thread.commit is not None
    assert verbs.contents(bench.root, thread.commit, ["greeting.txt"]) == {"greeting.txt": b"hello\n"}
    assert not canary.exists(), canary.read_text()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ALTERED)
def test_an_agent_that_arms_the_repository_is_found_and_nothing_runs(tmp_path: Path, canary: Path, how: str) -> None:
    bench = Bench.made(tmp_path / "repository")
    program = trap(tmp_path / "program", canary)
    bench.play([shell(f"(cd {bench.root}/.git; {ALTERED[how].format(program=program)})"), *WORK])
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert thread.state in ("Stuck", "Paused"), thread.state
    assert "git" in thread.reason.lower(), thread.reason
    assert not canary.exists(), canary.read_text()


def test_a_file_that_only_a_filter_could_read_stops_the_thread(bench: Bench, canary: Path) -> None:
    bench.play([shell("printf '*.evil filter=evil\\n' >> .gitattributes; echo 1 > a.evil"), *WORK])
    reason = ""
    try:
        thread = bench.act(bench.new(mode="quick"), "finalize")
        assert thread.state in ("Stuck", "Paused"), thread.state
        reason = thread.reason
    except InterlockError as error:
        reason = error.message
    assert "filter.evil" in reason
    assert not canary.exists(), canary.read_text()


@pytest.mark.parametrize("name", [".ralf", ".ralf/journal.db"])
def test_a_link_in_the_place_of_our_own_files_is_not_followed(tmp_path: Path, name: str) -> None:
    """A clone can bring it; what we would write lies where it leads."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    root = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=60)
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).symlink_to(elsewhere if name == ".ralf" else elsewhere / "journal.db")
    environment = clean_environment(tmp_path)
    for words in (("thread", "new", "Greet"), ("thread", "list"), ("ticket", "create", "Greet"), ("gate", "list")):
        refused = run_here(*words, "--json", cwd=root, env=environment)
        assert refused.error["code"] == "file_unsafe", words
    told = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(root)}
    run(cwd=root, env=environment, program=HOOK, stdin=json.dumps(told).encode())
    assert list(elsewhere.iterdir()) == []
