"""A thread whose agent plays a trick with its tree, or floods the machine; and what came of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from interlock.errors import InterlockError
from interlock.work.threads.record import Thread
from interlock.world.git import contents
from interlock.world.repository import own_tree
from patience import SECONDS
from work.threads.benches import Bench

from .arena import KEPT, NOTHING
from .filling import FLOODS, LIMITS
from .trees import CONVERTED, TRICKS

__all__ = ["ENDED", "REACHED", "flooded", "tricked"]

ENDED, REACHED = "ended", "reached"
_AGENT = """\
export ROOT="$PWD" OUTSIDE='{outside}' PYTHON='{python}'
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b
mkdir -p .git/info
printf '#!/bin/sh\\ntouch %s/ran\\nexec cat\\n' "$OUTSIDE" > .git/trap
chmod +x .git/trap
TRAP="$PWD/.git/trap"
evil=$(echo evil | git hash-object -w --stdin)
good=$(git rev-parse HEAD:README)
(
{script}
) 2>&1
cd "$ROOT"
test -e greeting.txt || echo hello > greeting.txt
echo '<promise>COMPLETE</promise>'
"""


def tricked(place: Path, name: str, sandbox: str) -> tuple[str, str]:
    """Have an agent play a trick; gives the outcome, and what was said."""
    bench = _bench(place, TRICKS[name], sandbox)
    (place / "secret").write_text("a secret of the person\n")
    bench.git("config", "filter.persons.clean", f"touch {place}/ran; cat")
    before = _persons(bench)
    id_ = bench.new(mode="quick")
    try:
        thread = bench.act(id_, "finalize")
    except InterlockError as error:
        outcome, said = KEPT, f"{error.message} [{error.code}]"
    else:
        outcome, said = _judged(bench, thread, is_raw=name not in CONVERTED)
    if (place / "ran").exists():
        return REACHED, "a program ran outside"
    if _persons(bench) != before:
        return REACHED, "the person's repository is another one"
    _verify(bench)
    return outcome, said


def _judged(bench: Bench, thread: Thread, *, is_raw: bool) -> tuple[str, str]:
    if thread.state != "PendingReview":
        return KEPT, thread.reason
    files = _files(own_tree(bench.state_directory, thread.id))
    approved = bench.open().instance(thread.id).snapshot.subjects["tree"]
    done = bench.act(thread.id, "approve", "commit")
    if done.state != "Done":
        return KEPT, done.reason
    if bench.git("rev-parse", f"{done.commit}^{{tree}}") not in approved:
        return REACHED, "another tree was committed than was approved"
    if is_raw and _committed(bench, str(done.commit)) != files:
        return REACHED, "the tree is not that of the files"
    return NOTHING, "the tree is that of the files"


def _files(tree: Path) -> dict[bytes, bytes]:
    """The files of a tree, without those of repositories and without our state."""
    found = {}
    for where, directories, names in os.walk(os.fsencode(tree)):
        directories[:] = [one for one in directories if one not in (b".git", b".ralf")]
        links = [one for one in directories if os.path.islink(os.path.join(where, one))]  # noqa: PTH114, PTH118 bytes
        for name in [*names, *links]:
            path = os.path.join(where, name)  # noqa: PTH118 bytes
            if name == b".git":
                continue
            is_link = os.path.islink(path)  # noqa: PTH114 bytes
            with open(os.devnull if is_link else path, "rb") as file:  # noqa: PTH123 bytes
                content = os.readlink(path) if is_link else file.read()  # noqa: PTH115 bytes
            found[os.path.relpath(path, os.fsencode(tree))] = content
    return found


def _committed(bench: Bench, commit: str) -> dict[bytes, bytes]:
    words = ["git", "ls-tree", "-r", "-z", "--name-only", commit]
    listed = subprocess.run(words, cwd=bench.root, capture_output=True, check=True, timeout=SECONDS).stdout
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    return {os.fsencode(name): content for name, content in contents(bench.root, commit, names).items()}


def flooded(place: Path, name: str) -> tuple[str, str]:
    """Have an agent fill something; its driver must live, and say which limit the run was ended by."""
    script, setting = FLOODS[name]
    bench = _bench(place, script, "bubblewrap")
    bench.settings |= LIMITS
    thread = bench.act(bench.new(mode="quick"), "finalize")
    _verify(bench)
    if setting and thread.state == "Stuck" and setting in thread.reason:
        return ENDED, thread.reason
    is_done = not setting and thread.state == "PendingReview"
    return (NOTHING if is_done else REACHED), f"{thread.state}: {thread.reason}"


def _bench(place: Path, script: str, sandbox: str) -> Bench:
    bench = Bench.made(place / "repository")
    agent = place / "agent.sh"
    agent.write_text(_AGENT.format(outside=place, python=sys.executable, script=script))
    bench.settings |= {
        "agent.name": "command",
        "agent.command": f"sh {agent}",
        "agent.judge": "scripted",
        "agent.sandbox": sandbox,
        "verify.sandbox": sandbox,
        "thread.isolation": "own",
        "thread.iterations": 1,
    }
    return bench


def _persons(bench: Bench) -> dict[str, bytes]:
    """What is the person's: their files, their branch and tags, and what git reads of the repository."""
    git = bench.root / ".git"
    found = {str(path): path.read_bytes() for path in (bench.root / "README", git / "config", git / "HEAD")}
    for place in (git / "hooks", git / "info"):
        found |= {str(path): path.read_bytes() for path in place.glob("*")}
    branches = bench.git("for-each-ref", "refs/heads/main", "refs/tags", "refs/heads/--all", "refs/ralf/evil")
    return found | {"refs": branches.encode()}


def _verify(bench: Bench) -> None:
    journal = bench.open()
    try:
        assert journal.verify() == []
    finally:
        journal.close()
