"""A thread works in a tree of its own: one tree object is verified, shown, approved and committed."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import closing
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.work.threads.record import Thread
from interlock.work.threads.showing import shown_at, whole_diff
from interlock.work.threads.verbs import open_checkout
from interlock.world.git import add_work_tree, contents
from interlock.world.repository import exclude_state, own_tree
from work.threads.benches import DONE, IDLE, Bench, Steps, shell
from world.git.repositories import picture
from world.git.test_taking import KINDS

ELSEWHERE = ("linked work tree", "submodule as the repository")
"""Kinds of repositories that are a part of another one."""
CLAIM: Steps = [{"promise": "COMPLETE"}, {"finish": True}]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench.made(tmp_path / "repository")
    bench.settings["thread.isolation"] = "own"
    return bench


def _files(bench: Bench, id_: str) -> Path:
    return own_tree(bench.state_directory, id_)


def _committed(bench: Bench, thread: Thread) -> dict[str, str]:
    assert thread.commit is not None
    names = bench.git("ls-tree", "-r", "--name-only", thread.commit).splitlines()
    return {name: content.decode() for name, content in contents(bench.root, thread.commit, names).items()}


def _edit(bench: Bench, id_: str) -> Path:
    with closing(bench.open()) as journal:
        return open_checkout(bench.context(journal), id_, bench.person)


# The person's checkout


def test_no_checkout_of_the_person_is_touched_on_the_whole_way(bench: Bench) -> None:
    (bench.root / "mine.txt").write_text("not committed\n")
    (bench.root / "README").write_text("edited\n")
    bench.git("add", "README")
    before = picture(bench.root), bench.git("status", "--porcelain"), bench.git("rev-parse", "HEAD")
    done = bench.act(bench.new(mode="quick"), "finalize", "approve", "commit")
    assert done.state == "Done"
    after = picture(bench.root), bench.git("status", "--porcelain"), bench.git("rev-parse", "HEAD")
    ours = {name: one for name, one in after[0].items() if not name.startswith(".ralf/")}
    assert ours == {name: one for name, one in before[0].items() if not name.startswith(".ralf/")}
    assert after[1:] == before[1:]
    assert _committed(bench, done) == {"README": "a project\n", "greeting.txt": "hello\n"}


def test_uncommitted_work_of_the_person_is_named_and_not_included(bench: Bench) -> None:
    (bench.root / "mine.txt").write_text("not committed\n")
    thread = bench.act(bench.new(), "finalize", "run")
    [check] = [one for one in thread.checks if one["name"] == "git_state"]
    assert check["passed"]
    assert "'mine.txt'" in check["message"]
    assert not (_files(bench, thread.id) / "mine.txt").exists()


def test_the_person_works_on_in_the_same_repository(bench: Bench) -> None:
    """Commits, branches, a rebase, a deleted branch and a collection of objects change nothing of the thread's."""
    id_ = bench.new(mode="quick")
    person = [
        "git switch -qc feature && echo 1 > own.txt && git add -A && git commit -qm own",
        "git switch -q main && echo 2 > other.txt && git add -A && git commit -qm other",
        "git rebase -q main feature",
        f"git branch -D ralf/{id_}",
        "git reflog expire --expire=now --all && git gc -q --prune=now",
    ]
    bench.play(IDLE, *[[shell(f"cd {bench.root} && {one}"), *IDLE] for one in person], DONE)
    bench.settings["thread.iterations"] = 9
    done = bench.act(id_, "finalize", "approve", "commit")
    assert (done.state, done.baseline and done.baseline.branch) == ("Done", "main")
    assert _committed(bench, done) == {"README": "a project\n", "greeting.txt": "hello\n"}
    assert bench.git("branch", "--show-current") == "feature"
    assert {"own.txt", "other.txt"} <= {one.name for one in bench.root.iterdir()}
    assert bench.git("status", "--porcelain") == ""
    bench.git("fsck", "--no-dangling")


# The agent's repository; what poisons it has a file of its own, `test_poisons.py`


TRICKS = {
    "gone": "rm -rf .git",
    "main": 'rm -rf .git; echo "gitdir: $RALPH_ROOT/.git" > .git',
    "link": "rm -rf .git; ln -s $RALPH_ROOT/.git .git",
    "commits": "git add -A; git -c user.name=x -c user.email=x commit -qm mine",
}


@pytest.mark.parametrize("trick", TRICKS)
def test_nothing_that_an_agent_does_to_its_repository_changes_what_is_committed(bench: Bench, trick: str) -> None:
    bench.play([shell("echo hello > greeting.txt"), shell(TRICKS[trick]), *CLAIM])
    id_ = bench.new(mode="quick")
    refs = bench.git("for-each-ref", "refs/heads")
    reviewed = bench.act(id_, "finalize")
    assert reviewed.state == "PendingReview", reviewed.reason
    assert "+hello" in whole_diff(reviewed, _files(bench, id_))
    done = bench.act(id_, "approve", "commit")
    assert done.receipt is not None
    assert bench.git("rev-parse", f"{done.commit}^{{tree}}") == done.receipt["tree"]
    assert _committed(bench, done) == {"README": "a project\n", "greeting.txt": "hello\n"}
    assert refs in bench.git("for-each-ref", "refs/heads")


def test_an_agents_commits_are_kept_and_never_reviewed(bench: Bench) -> None:
    commit = "git add -A; git -c user.name=x -c user.email=x commit -qm mine"
    bench.play([shell("echo hello > greeting.txt; echo x > secret.txt"), shell(commit), shell("rm secret.txt"), *CLAIM])
    id_ = bench.new(mode="quick")
    done = bench.act(id_, "finalize", "approve", "commit")
    assert bench.git("log", "--format=%s", f"refs/ralf/threads/{id_}/commits-1-1").splitlines() == ["mine", "start"]
    assert bench.git("rev-list", "--count", f"main..{done.commit}") == "1"
    assert "secret.txt" not in _committed(bench, done)


def test_a_change_after_the_proof_is_not_approved(bench: Bench) -> None:
    id_ = bench.new(mode="quick")
    bench.act(id_, "finalize")
    (_files(bench, id_) / "greeting.txt").write_text("evil\n")
    with pytest.raises(InterlockError) as caught:
        bench.act(id_, "approve")
    assert caught.value.code == "proof_required"


def test_a_file_that_no_tree_can_hold_keeps_the_work_from_being_proven(bench: Bench) -> None:
    bench.play([shell("echo hello > greeting.txt; mkdir -p d/.GIT; echo x > d/.GIT/config"), *CLAIM])
    bench.settings["thread.iterations"] = 1
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert thread.state == "Stuck"
    assert "d/.GIT/config" in str(thread.receipt)


def test_a_repository_inside_is_taken_as_files(bench: Bench) -> None:
    commits = "git -C sub add -A; git -C sub -c user.name=x -c user.email=x commit -qm x"
    bench.play([shell(f"echo hello > greeting.txt; git init -q sub; echo inner > sub/file; {commits}"), *CLAIM])
    done = bench.act(bench.new(mode="quick"), "finalize", "approve", "commit")
    assert _committed(bench, done)["sub/file"] == "inner\n"


# What git ignores


def test_what_an_agent_lets_git_ignore_is_not_taken_and_is_shown_at_the_gate(bench: Bench) -> None:
    (bench.root / ".gitignore").write_text("*.log\n")
    bench.git("add", "-A")
    bench.git("commit", "-qm", "ignore")
    ignores = (
        "echo '/hidden.txt' >> .gitignore; echo 'build/' >> .gitignore; mkdir build; touch build/x hidden.txt a.log"
    )
    bench.play([shell(f"echo hello > greeting.txt; {ignores}"), *CLAIM])
    reviewed = bench.act(bench.new(mode="quick"), "finalize")
    assert reviewed.receipt is not None
    assert reviewed.receipt["ignored"] == ["build/", "hidden.txt"]
    assert "hidden.txt" in shown_at(reviewed, "approve", _files(bench, reviewed.id))
    assert "hidden.txt" not in _committed(bench, bench.act(reviewed.id, "approve", "commit"))


def test_what_git_ignores_is_carried_and_prepared_once_for_the_agent(bench: Bench) -> None:
    (bench.root / ".gitignore").write_text("deps/\nprepared\n")
    bench.git("add", "-A")
    bench.git("commit", "-qm", "ignore")
    (bench.root / "deps").mkdir()
    (bench.root / "deps" / "tool").write_text("#!/bin/sh\ntest -f prepared\n")
    (bench.root / "deps" / "tool").chmod(0o755)
    bench.settings |= {
        "verify.carry": ("deps",),
        "verify.prepare": "echo once >> prepared",
        "verify.commands": ("deps/tool",),
    }
    bench.play([shell("deps/tool && cat prepared > greeting.txt && echo hello >> greeting.txt"), *CLAIM])
    done = bench.act(bench.new(mode="quick"), "finalize", "approve", "commit")
    assert done.state == "Done", done.reason
    assert _committed(bench, done)["greeting.txt"] == "once\nhello\n"


# A person edits, too


def test_what_a_person_edits_in_the_opened_checkout_goes_into_the_work(bench: Bench) -> None:
    bench.play([shell("echo hello > greeting.txt"), *IDLE], [shell("cat by-hand.txt >> greeting.txt"), *CLAIM])
    bench.settings["thread.iterations"] = 1
    id_ = bench.new(mode="quick")
    assert bench.act(id_, "finalize").state == "Stuck"
    checkout = _edit(bench, id_)
    assert checkout != _files(bench, id_)
    assert (checkout / "greeting.txt").read_text() == "hello\n"
    (checkout / "by-hand.txt").write_text("mine\n")
    thread = bench.act(id_, "assist", reason="I added a file")
    assert thread.state == "PendingReview", thread.reason
    assert (checkout / "greeting.txt").read_text() == "hello\nmine\n", "the checkout is brought along"
    done = bench.act(id_, "approve", "commit")
    assert _committed(bench, done) == {
        "README": "a project\n",
        "greeting.txt": "hello\nmine\n",
        "by-hand.txt": "mine\n",
    }
    assert bench.git("-C", str(checkout), "status", "--porcelain") == ""


def test_a_checkout_whose_making_was_killed_takes_no_file_out_of_the_work(bench: Bench) -> None:
    bench.play([shell("echo hello > greeting.txt"), *IDLE], CLAIM)
    bench.settings["thread.iterations"] = 1
    id_ = bench.new(mode="quick")
    bench.act(id_, "finalize")
    checkout = _edit(bench, id_)
    (checkout / "README").unlink()  # as if the process had died before it was there
    (bench.root / ".git" / "worktrees" / f"ralf-{id_}" / "locked").write_text("ralph is making it\n")
    done = bench.act(id_, "assist", "approve", "commit", reason="go on")
    assert _committed(bench, done) == {"README": "a project\n", "greeting.txt": "hello\n"}


def test_an_edit_after_the_proof_is_seen_and_proven_again(bench: Bench) -> None:
    id_ = bench.new(mode="quick")
    bench.act(id_, "finalize")
    checkout = _edit(bench, id_)
    (checkout / "greeting.txt").write_text("hello, please\n")
    with pytest.raises(InterlockError) as caught:
        bench.act(id_, "approve")
    assert caught.value.code == "proof_required"
    done = bench.act(id_, "reverify", "approve", "commit")
    assert _committed(bench, done)["greeting.txt"] == "hello, please\n"


def test_edits_of_both_in_one_file_are_merged_and_the_persons_count_where_they_differ(bench: Bench) -> None:
    lines = "\\n".join(f"line {number}" for number in range(9))
    bench.play(
        [shell(f"printf '{lines}\\n' > text; echo hello > greeting.txt"), *IDLE],
        [shell("sed -i -e 's/line 8/agent 8/' text"), *CLAIM],
    )
    bench.settings["thread.iterations"] = 1
    id_ = bench.new(mode="quick")
    bench.act(id_, "finalize")
    checkout = _edit(bench, id_)
    text = (checkout / "text").read_text()
    (checkout / "text").write_text(text.replace("line 0", "person 0"))
    done = bench.act(id_, "assist", "approve", "commit", reason="one line")
    assert _committed(bench, done)["text"] == text.replace("line 0", "person 0").replace("line 8", "agent 8")


def test_a_thread_that_has_not_begun_has_nothing_to_edit(bench: Bench) -> None:
    id_ = bench.new()
    with pytest.raises(InterlockError) as caught:
        _edit(bench, id_)
    assert caught.value.code == "not_allowed"


def test_a_checkout_of_the_branch_is_brought_along_only_if_it_is_to_be(tmp_path: Path) -> None:
    for isolation in ("own", "checkout"):
        bench = Bench.made(tmp_path / isolation)
        bench.settings["thread.isolation"] = isolation
        thread = bench.act(bench.new(mode="quick"), "finalize")
        assert thread.state == "PendingReview"
        assert (bench.root / "greeting.txt").exists() == (isolation == "checkout")
        assert bench.git("branch", "--show-current") == ("main" if isolation == "own" else f"ralf/{thread.id}")


# Older state, and the end of a tree


@pytest.mark.parametrize("isolation", ["none", "worktree"])
def test_a_thread_of_an_earlier_version_continues_with_its_work(bench: Bench, isolation: str) -> None:
    """It had worked in the person's checkout, or in a linked work tree, and has no tree of its own."""
    bench.play(IDLE)
    bench.settings |= {"thread.isolation": isolation, "thread.iterations": 1}
    id_ = bench.new(mode="quick")
    assert bench.act(id_, "finalize").state == "Stuck"
    place = bench.root
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        from interlock.work.threads.attending import step_of

        tree = step_of(context, id_, None).tree
        tree.remove(None)
        if isolation == "worktree":
            place = tree.edited
            add_work_tree(bench.root, place, tree.branch, tree.base)
    (place / "half.txt").write_text("done by the older version\n")
    bench.play(DONE)
    done = bench.act(id_, "assist", "approve", "commit", reason="go on")
    assert done.state == "Done", done.reason
    assert _committed(bench, done)["half.txt"] == "done by the older version\n"


def test_a_tree_goes_when_its_branch_is_merged(bench: Bench) -> None:
    first, second = bench.new(mode="quick"), bench.new(mode="quick")
    bench.act(first, "finalize", "approve", "commit")
    assert _files(bench, first).is_dir()
    bench.git("merge", "-q", f"ralf/{first}")
    bench.act(second, "finalize")
    assert not _files(bench, first).parent.exists()
    assert _files(bench, second).is_dir()
    assert f"trees/{first}" not in bench.git("for-each-ref")


def test_a_tree_that_is_gone_is_made_again_with_the_work_that_was_kept(bench: Bench) -> None:
    id_ = bench.new(mode="quick")
    thread = bench.act(id_, "finalize")
    assert thread.receipt is not None
    kept = bench.git("rev-parse", f"refs/ralf/threads/{id_}/iteration-1-1^{{tree}}")
    assert kept == thread.receipt["tree"]


def test_modes_and_links_come_out_as_they_went_in(bench: Bench) -> None:
    (bench.root / "run.sh").write_text("#!/bin/sh\n")
    (bench.root / "run.sh").chmod(0o755)
    (bench.root / "to").symlink_to("README")
    bench.git("add", "-A")
    bench.git("commit", "-qm", "more")
    thread = bench.act(bench.new(mode="quick"), "finalize")
    files = _files(bench, thread.id)
    assert stat.S_IMODE((files / "run.sh").stat().st_mode) & stat.S_IXUSR
    assert os.readlink(files / "to") == "README"  # noqa: PTH115
    assert thread.receipt is not None
    assert bench.git("diff", "--name-only", "HEAD", thread.receipt["tree"]) == "greeting.txt"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [name for name in KINDS if name not in ELSEWHERE])
def test_a_repository_of_every_kind_comes_out_as_it_went_in(bench: Bench, tmp_path: Path, name: str) -> None:
    for one in [one for one in bench.root.iterdir() if one.name != ".ralf"]:
        shutil.rmtree(one) if one.is_dir() else one.unlink()
    for one in list(KINDS[name](tmp_path / "made").iterdir()):
        one.rename(bench.root / one.name)
    for key, value in {"user.name": "Ann", "user.email": "ann@example.org"}.items():
        bench.git("config", key, value)
    exclude_state(bench.root)
    base, before = bench.git("rev-parse", "HEAD"), _files_and_index(bench)
    done = bench.act(bench.new(mode="quick"), "finalize", "approve", "commit")
    assert done.commit is not None, done.reason
    assert bench.git("diff", "--no-renames", "--name-status", base, done.commit) == "A\tgreeting.txt"
    assert _files_and_index(bench) == before


def _files_and_index(bench: Bench) -> tuple[object, ...]:
    files = {path: one for path, one in picture(bench.root).items() if not path.startswith(".ralf/")}
    return files, bench.git("ls-files", "--stage", "-v")
