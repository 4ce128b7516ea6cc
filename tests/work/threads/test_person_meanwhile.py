"""A person works in the same repository while an agent of a thread does: neither loses anything to the other."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from interlock.work.threads.record import Thread
from interlock.world.agents.happenings import Said
from interlock.world.git import contents
from work.threads.benches import DONE, Bench, Steps, shell
from world.git.repositories import index_of, picture

NOW = "The person acts now."
AGENT: Steps = [shell("echo hello > greeting.txt"), {"say": NOW}, {"finish": True}]
WORK = {"README": "a project\n", "greeting.txt": "hello\n"}
BEFORE = """
echo one > shared.txt; git add -A; git commit -qm shared
git switch -qc side HEAD~1; echo side > side.txt; git add -A; git commit -qm side
git switch -qc feature main; echo two > shared.txt; git commit -qam two; git switch -q main
"""
MEANWHILE = {
    "edits": "echo mine > README; echo new > new.txt; git add new.txt; chmod +x shared.txt",
    "stashes": "echo mine > README; git stash -q",
    "commits": "echo mine > README; git commit -qam mine",
    "amends": "git commit -q --amend -m other --date=2001-01-01T00:00:00Z",
    "switches": "git switch -q feature",
    "switches with edits": "echo mine > README; git switch -q feature",
    "detaches HEAD": "git switch -q --detach HEAD~1",
    "rebases": "git rebase -q side",
    "stops in a rebase": "git switch -q side; echo x > shared.txt; git add -A; git commit -qm x; ! git rebase -q main",
    "stops in a merge": "echo x > shared.txt; git commit -qam x; ! git merge -q feature",
    "stops in a cherry-pick": "echo x > shared.txt; git commit -qam x; ! git cherry-pick feature",
    "bisects": "git bisect start -q HEAD HEAD~1",
    "resets": "git reset -q --hard HEAD~1",
    "moves main away": "git switch -q feature; git branch -qD main",
    "cleans": "git clean -qffdx -e .ralf",
    "collects": "git reflog expire --expire=now --all; git gc -q --prune=now; git prune --expire=now",
    "packs refs": "git pack-refs --all --prune",
    "deletes the branch of the thread": "git branch -qD ralf/ID; git gc -q --prune=now",
    "moves the branch of the thread": "git branch -qf ralf/ID feature",
    "commits on the branch of the thread": "git switch -q ralf/ID; echo mine > m.txt; git add -A; git commit -qm mine",
    "renames the branch of the thread": "git branch -qm ralf/ID mine",
    "opens a work tree of the branch": "git worktree add -q ../beside ralf/ID; echo mine > ../beside/mine.txt",
    "makes checkouts sparse": "git sparse-checkout set --no-cone /README",
    "configures line endings": "git config core.autocrlf true; git config core.eol crlf",
    "removes every ref of ours": "git for-each-ref --format='delete %(refname)' refs/ralf | git update-ref --stdin",
}
UNDER_WAY = ("MERGE_HEAD", "rebase-merge", "CHERRY_PICK_HEAD", "BISECT_LOG")
CONFIGURED = ("makes checkouts sparse", "configures line endings")


def _bench(directory: Path, isolation: str) -> Bench:
    bench = Bench.made(directory / "repository")
    bench.settings |= {"thread.isolation": isolation, "thread.iterations": 9}
    subprocess.run(["sh", "-ec", BEFORE], cwd=bench.root, env=bench.environment, check=True)
    return bench


def _acts(bench: Bench, script: str, seen: list[object]) -> None:
    """Let the person act once, as soon as the agent has said that they do."""

    def hear(told: object) -> None:
        if not seen and isinstance(told, Said) and NOW in told.text:
            seen.append(None)
            subprocess.run(["sh", "-ec", script], cwd=bench.root, env=bench.environment, check=True)
            seen.append(_persons(bench))

    bench.hear = hear


def _persons(bench: Bench) -> tuple[object, ...]:
    """All that is the person's: files, index, HEAD, branches, stashes, and what is under way."""
    refs = bench.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    files = {name: one for name, one in picture(bench.root).items() if not name.startswith(".ralf/")}
    return (
        files,
        index_of(bench.root),
        (bench.root / ".git" / "HEAD").read_text(),
        [one for one in refs if not one.startswith(("refs/ralf/", "refs/heads/ralf/"))],
        [(bench.root / ".git" / name).exists() for name in UNDER_WAY],
        bench.git("stash", "list"),
    )


def _committed(bench: Bench, thread: Thread) -> dict[str, str]:
    assert thread.commit is not None
    names = bench.git("ls-tree", "-r", "--name-only", thread.commit).splitlines()
    return {name: content.decode() for name, content in contents(bench.root, thread.commit, names).items()}


@pytest.mark.parametrize("name", MEANWHILE)
def test_what_a_person_does_while_an_agent_works_stays_and_changes_nothing(tmp_path: Path, name: str) -> None:
    bench = _bench(tmp_path, "own")
    id_ = bench.new(mode="quick")
    seen: list[object] = []
    base = bench.git("rev-parse", "HEAD")
    bench.play(AGENT, [shell("cat greeting.txt > again.txt; git log -1 --format=%s > log.txt"), *DONE[1:]])
    _acts(bench, MEANWHILE[name].replace("ID", id_), seen)
    reviewed = bench.act(id_, "finalize")
    if name in CONFIGURED:  # the person is asked, because it could have been an agent
        assert reviewed.state == "Stuck"
        reviewed = bench.act(id_, "assist", reason="that was me")
    assert reviewed.state == "PendingReview", reviewed.reason
    assert _persons(bench) == seen[1]
    done = bench.act(id_, "approve", "commit")
    assert done.state == "Done", done.reason
    assert _persons(bench) == seen[1]
    expected = WORK | {"shared.txt": "one\n", "again.txt": "hello\n", "log.txt": "shared\n"}
    assert _committed(bench, done) == expected
    assert bench.git("rev-parse", f"{done.commit}^", f"ralf/{id_}").split() == [base, done.commit]
    bench.git("fsck", "--strict", "--no-dangling")
    if "beside" in MEANWHILE[name]:
        assert (tmp_path / "beside" / "mine.txt").read_text() == "mine\n"
    if "commits on" in name:
        kept = f"refs/ralf/threads/{id_}/before-commit"
        assert bench.git("log", "-1", "--format=%s", kept) == "mine"


def test_who_goes_on_accepts_the_settings_that_stopped_the_loop_and_no_later_ones(tmp_path: Path) -> None:
    bench = _bench(tmp_path, "own")
    bench.play(AGENT, DONE[1:])
    _acts(bench, MEANWHILE["configures line endings"], [])
    id_ = bench.new(mode="quick")
    assert bench.act(id_, "finalize").state == "Stuck"
    bench.git("config", "core.hooksPath", "elsewhere")
    again = bench.act(id_, "assist", reason="that was me")
    assert (again.state, "in .git were changed" in (again.reason or "")) == ("Stuck", True)
    assert bench.act(id_, "assist", reason="so was that").state == "PendingReview"


# The person's checkout is brought along, and they act in it

LATER: Steps = [shell("echo later > later.txt; echo agents >> README"), {"say": NOW}, {"finish": True}]
CLAIM: Steps = [{"promise": "COMPLETE"}, {"finish": True}]
ALONG = WORK | {"shared.txt": "one\n", "later.txt": "later\n", "README": "a project\nagents\n"}
SWITCHED = {
    "switches": ("git switch -q feature", ALONG),
    "detaches HEAD": ("git switch -q --detach HEAD~1", ALONG),
    "renames the branch": ("git branch -qm mine", ALONG),
    "stops in a rebase": ("echo x > shared.txt; git commit -qam x; git stash -qu; ! git rebase -q feature", ALONG),
}
EDITED = {
    "commits": ("git add -A; git commit -qm mine", ALONG),
    "edits": ("echo mine > mine.txt; echo two > shared.txt", ALONG | {"mine.txt": "mine\n", "shared.txt": "two\n"}),
    "amends": ("git commit -q --amend -m other", ALONG),
    "rebases": ("git stash -qu; git rebase -q side; git stash pop -q", ALONG | {"side.txt": "side\n"}),
    "collects": ("git gc -q --prune=now", ALONG),
}
UNFINISHED = {
    "merge": "echo x > shared.txt; git commit -qam x; ! git merge -q feature",
    "cherry-pick": "echo x > shared.txt; git commit -qam x; ! git cherry-pick feature",
    "stash": "echo x > shared.txt; git stash -q; echo y > shared.txt; git commit -qam y; ! git stash pop -q",
}


def _along(directory: Path, script: str) -> tuple[Bench, str, list[object]]:
    """A thread that brings the checkout along; the person acts in its second iteration, with the first in the files."""
    bench, seen = _bench(directory, "checkout"), list[object]()
    bench.play([shell("echo hello > greeting.txt"), {"finish": True}], LATER, CLAIM)
    _acts(bench, script, seen)
    return bench, bench.new(mode="quick"), seen


@pytest.mark.parametrize("name", SWITCHED)
def test_a_checkout_that_left_the_branch_is_let_alone(tmp_path: Path, name: str) -> None:
    script, expected = SWITCHED[name]
    bench, id_, seen = _along(tmp_path, script)
    done = bench.act(id_, "finalize", "approve", "commit")
    assert _persons(bench) == seen[1]
    assert _committed(bench, done) == expected


@pytest.mark.parametrize("name", EDITED)
def test_what_a_person_does_on_the_branch_goes_into_the_work(tmp_path: Path, name: str) -> None:
    script, expected = EDITED[name]
    bench, id_, _ = _along(tmp_path, script)
    done = bench.act(id_, "finalize", "approve", "commit")
    assert _committed(bench, done) == expected
    assert bench.git("status", "--porcelain") == ""


@pytest.mark.parametrize("name", UNFINISHED)
def test_a_conflict_in_the_checkout_stays_out_of_the_work_until_the_person_has_solved_it(
    tmp_path: Path, name: str
) -> None:
    bench, id_, seen = _along(tmp_path, UNFINISHED[name])
    reviewed = bench.act(id_, "finalize")
    assert (reviewed.state, reviewed.receipt is not None) == ("PendingReview", True)
    assert _persons(bench) == seen[1]
    assert any("are not brought together" in one for one in map(str, bench.told))
    refused = bench.act(id_, "approve", "commit")
    assert (refused.state, refused.commit) == ("ReadyToCommit", None)
    assert _persons(bench) == seen[1], "no branch is moved under a merge"
    (bench.root / "shared.txt").write_text("solved\n")
    bench.git("add", "shared.txt")
    bench.git("commit", "-qm", "solved")
    assert bench.drive(id_).state == "PendingReview", "the files are others than those that were approved"
    done = bench.act(id_, "reverify", "approve", "commit")
    assert _committed(bench, done) == ALONG | {"shared.txt": "solved\n"}
    assert bench.git("status", "--porcelain") == ""


def test_what_an_agent_wrote_and_a_person_wrote_otherwise_is_kept(tmp_path: Path) -> None:
    bench, id_, _ = _along(tmp_path, "echo mine > README")
    bench.play([shell("echo hello > greeting.txt"), {"finish": True}], LATER, CLAIM)
    done = bench.act(id_, "finalize", "approve", "commit")
    assert _committed(bench, done)["README"] == "mine\n"
    kept = bench.git("log", "--format=%H", f"refs/ralf/agents/{id_}").splitlines()
    assert "a project\nagents" in [bench.git("show", f"{one}:README") for one in kept]
