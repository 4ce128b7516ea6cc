"""An agent poisons its own repository in every known way: what is verified, shown, approved and committed stays.

Each poison shows first that it works, on the agent's own git; a thread in which it came to nothing proves nothing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from interlock.work.threads.showing import whole_diff
from interlock.world.git import diff
from interlock.world.repository import own_tree
from work.threads.benches import IDLE, Bench, Steps, shell
from world.git.repositories import picture

CLAIM: Steps = [{"promise": "COMPLETE"}, {"finish": True}]
WORK = """
echo hello > greeting.txt
echo changed > README
rm gone
chmod +x tool
ln -s README link
printf '1\\r\\n' > crlf.win
"""
FORGE = """
import hashlib, os, subprocess
said = lambda *words: subprocess.run(["git", *words], input=b"evil\\n", capture_output=True, check=True).stdout.strip()
said("add", "-A")
names = said("rev-parse", ":greeting.txt"), said("hash-object", "-w", "--stdin")
good, bad = (bytes.fromhex(one.decode()) for one in names)
content = open(".git/index", "rb").read()[:-20].partition(b"TREE")[0].replace(good, bad)
open(".git/index", "wb").write(content + hashlib.sha1(content).digest())
os.utime(".git/index", (2e9, 2e9))
"""
BAD = "bad=$(echo evil | git hash-object -w --stdin)"
EVIL_COMMIT = "evil=$(git commit-tree -m evil $(git mktree < /dev/null))"
BEGIN = """
set -e
fails() { if sh -c "$1"; then exit 1; fi; }
git config user.name x
git config user.email x
"""
POISONS = {
    "an index with other content and the times of the files": """
        PYTHON FORGE
        test "$(git show :greeting.txt)" = evil
        git diff-files --quiet greeting.txt
    """,
    "assume-unchanged": """
        git update-index --assume-unchanged README tool
        fails "git status --porcelain | grep README"
    """,
    "skip-worktree": """
        git update-index --skip-worktree README tool
        fails "git status --porcelain | grep README"
    """,
    "hooks": """
        mkdir -p .git/hooks
        for hook in pre-commit post-commit post-checkout post-index-change reference-transaction; do
            printf '#!/bin/sh\\ntouch PLACE/ran\\necho evil > README\\n' > .git/hooks/$hook
            chmod +x .git/hooks/$hook
        done
        cp README good
        git commit -q --allow-empty -m x
        test -e PLACE/ran
        mv good README
    """,
    "a monitor of files": """
        printf '#!/bin/sh\\ntouch PLACE/ran\\nprintf "now\\\\0"\\n' > .git/monitor
        chmod +x .git/monitor
        git config core.fsmonitor "$PWD/.git/monitor"
        git status > .git/said
        test -e PLACE/ran
    """,
    "a filter": """
        git config filter.evil.clean "touch PLACE/ran; echo evil"
        git config filter.evil.smudge "touch PLACE/ran; echo evil"
        echo '* filter=evil' >> .git/info/attributes
        git add greeting.txt
        test "$(git show :greeting.txt)" = evil
        test -e PLACE/ran
    """,
    "attributes": """
        echo '* text eol=lf ident working-tree-encoding=UTF-16' > .git/info/attributes
        git check-attr eol greeting.txt | grep -q ': lf'
    """,
    "attributes named by the configuration": """
        echo '* text eol=lf ident' > .git/evil
        git config core.attributesFile .git/evil
        git config core.autocrlf true
        git check-attr ident greeting.txt | grep -q ': set'
    """,
    "a replaced commit and a replaced file": f"""
        {EVIL_COMMIT}
        git replace -f HEAD $evil
        {BAD}
        git add greeting.txt
        git replace -f $(git rev-parse :greeting.txt) $bad
        test "$(git show :greeting.txt)" = evil
        test "$(git log --format=%s HEAD)" = evil
    """,
    "grafts": f"""
        {EVIL_COMMIT}
        echo "$(git rev-parse HEAD) $evil" > .git/info/grafts
        git log --format=%s | grep -q evil
    """,
    "alternates": """
        git init -q --bare PLACE/other
        good=$(git hash-object greeting.txt | sed 's,..,&/,')
        bad=$(echo evil | git -C PLACE/other hash-object -w --stdin | sed 's,..,&/,')
        mkdir -p PLACE/other/objects/$(dirname $good)
        mv PLACE/other/objects/$bad PLACE/other/objects/$good
        echo PLACE/other/objects >> .git/objects/info/alternates
        test "$(git cat-file blob $(git hash-object greeting.txt))" = evil
    """,
    "info/exclude": """
        printf '*\\n' >> .git/info/exclude
        test "$(git ls-files --others --exclude-standard)" = ""
    """,
    "excludes named by the configuration": """
        echo '*' > .git/evil
        git config core.excludesFile .git/evil
        test "$(git ls-files --others --exclude-standard)" = ""
    """,
    "core.worktree": """
        mkdir PLACE/elsewhere
        echo evil > PLACE/elsewhere/greeting.txt
        git config core.worktree PLACE/elsewhere
        test "$(git rev-parse --show-toplevel)" = PLACE/elsewhere
    """,
    "modes and links that do not count": """
        git config core.fileMode false
        git config core.symlinks false
        fails "git diff --name-only | grep tool"
    """,
    "sparse rules": """
        git config core.sparseCheckout true
        echo /nothing > .git/info/sparse-checkout
        git update-index --skip-worktree README tool
        fails "git add README"
    """,
    "refs that moved": f"""
        {EVIL_COMMIT}
        for name in $(git for-each-ref --format='%(refname)'); do git update-ref $name $evil; done
        git update-ref refs/ralf/trees/evil/base $evil
        test "$(git log --format=%s)" = evil
    """,
    "a HEAD that moved": """
        git branch evil
        git symbolic-ref HEAD refs/heads/evil
        for name in $(git branch --list 'ralf/*' --format='%(refname:short)'); do git branch -q -D $name; done
        test "$(git branch --show-current)" = evil
    """,
    "a packed ref in the place of the base": f"""
        {EVIL_COMMIT}
        git pack-refs --all
        sed -i "s/^[0-9a-f]* refs/$evil refs/" .git/packed-refs
        test "$(git log --format=%s main)" = evil
    """,
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench.made(tmp_path / "repository")
    bench.settings |= {
        "thread.isolation": "own",
        "verify.commands": (f"rm -rf '{tmp_path}/verified' && cp -a . '{tmp_path}/verified'",),
    }
    for name, content in {"gone": "1\n", "tool": "1\n", ".gitattributes": "*.win text eol=crlf\n"}.items():
        (bench.root / name).write_text(content)
    bench.git("add", "-A")
    bench.git("commit", "-qm", "more")
    return bench


def _honest(bench: Bench, place: Path) -> tuple[str, str, dict[str, tuple[str, bytes, int]]]:
    """The tree, the difference and the files that the work makes where nobody poisons anything."""
    bench.git("clone", "-q", str(bench.root), str(place))
    subprocess.run(["sh", "-ec", WORK], cwd=place, check=True)
    bench.git("-C", str(place), "add", "-A")
    tree = bench.git("-C", str(place), "write-tree")
    return tree, diff(place, "HEAD", tree).text, picture(place)


@pytest.mark.parametrize("name", POISONS)
def test_a_poisoned_repository_changes_nothing_that_counts(bench: Bench, tmp_path: Path, name: str) -> None:
    tree, shown, files = _honest(bench, tmp_path / "honest")
    (tmp_path / "forge").write_text(FORGE)
    poison = POISONS[name].replace("PYTHON FORGE", f"{sys.executable} {tmp_path}/forge").replace("PLACE", str(tmp_path))
    bench.play([shell(WORK), shell(f"{BEGIN}\n{poison}\ntouch {tmp_path}/poisoned"), *IDLE], CLAIM)
    id_ = bench.new(mode="quick")
    refs = bench.git("for-each-ref", "refs/heads", "refs/tags")
    configuration = (bench.root / ".git" / "config").read_bytes()
    before = picture(bench.root / ".git" / "hooks"), configuration

    (tmp_path / "ran").unlink(missing_ok=True)
    reviewed = bench.act(id_, "finalize")
    assert (tmp_path / "poisoned").exists(), "the poison works on the agent's own git"
    assert reviewed.state == "PendingReview", reviewed.reason
    (tmp_path / "ran").unlink(missing_ok=True)  # by the agent itself
    assert reviewed.receipt is not None
    assert picture(tmp_path / "verified") == files
    assert whole_diff(reviewed, own_tree(bench.state_directory, id_)) == shown
    assert reviewed.receipt["tree"] == tree
    done = bench.act(id_, "approve", "commit")
    assert done.state == "Done"
    assert bench.git("rev-parse", f"{done.commit}^{{tree}}") == tree
    assert bench.git("log", "--format=%s", f"{done.commit}^") == "more\nstart"
    assert refs in bench.git("for-each-ref", "refs/heads", "refs/tags")
    assert (picture(bench.root / ".git" / "hooks"), (bench.root / ".git" / "config").read_bytes()) == before
    assert not (tmp_path / "ran").exists(), "no program of the agent ran"
    bench.git("fsck", "--strict", "--no-dangling")
