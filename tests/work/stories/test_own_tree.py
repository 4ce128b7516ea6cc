"""A loop works in a tree of its own; the person's checkout follows its commits, and is otherwise theirs."""

from __future__ import annotations

import shutil
from contextlib import closing, suppress
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.work.stories.loop import begin, drive
from interlock.work.stories.record import Loop
from interlock.world.repository import own_tree
from work.stories.yards import WORK, Ground, Steps, shell

TWO = {"1-1": ("greet",), "1-2": ("leave",)}


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path, TWO).made()


def _once(ground: Ground, state: str, number: int = 1) -> object:
    """A meddler that does something once, when the loop is in a state for the n-th time."""
    seen: list[str] = []

    def decorate(do: object) -> None:
        def meddle(loop: Loop) -> None:
            if loop.state == state:
                seen.append(loop.state)
                if len(seen) == number:
                    assert callable(do)
                    do(loop)

        ground.meddle = meddle

    return decorate


def _nothing_is_left(ground: Ground) -> None:
    trees = ground.root / ".ralf" / "trees"
    assert list(trees.iterdir()) == []
    assert ground.git("for-each-ref", "refs/ralf/trees") == ""


def _at(ground: Ground, state: str, do: object, number: int = 1) -> None:
    decorate = _once(ground, state, number)
    assert callable(decorate)
    decorate(do)


def test_the_agents_never_work_in_the_persons_checkout(ground: Ground, tmp_path: Path) -> None:
    places = tmp_path / "places"
    where: Steps = [shell(f"pwd >> '{places}'; git rev-parse --show-toplevel >> '{places}'"), *WORK]
    ground.drive(agents=[ground.agent(where)], tests=(f"pwd >> '{places}'",))
    assert set(places.read_text().split()) == {str(own_tree(ground.root / ".ralf", ground.loop().id))}
    assert ground.moves()[-1] == "all_complete"
    assert ground.is_clean()
    assert ground.git("branch", "--format=%(refname:short)").split() == ["main"]
    _nothing_is_left(ground)


def test_each_commit_is_on_the_persons_branch_and_in_their_checkout_at_once(ground: Ground) -> None:
    seen: list[tuple[str, bool, str]] = []

    def look(loop: Loop) -> None:
        changed = ground.git("status", "--porcelain").strip()
        seen.append((ground.commits()[-1].split()[0], (ground.root / "part-1").exists(), changed))

    _at(ground, "STORY_SELECT", look, 2)
    ground.drive()
    assert seen == [("story-1-1", True, "M progress.txt")], "only what the loop writes to say where it is"


def test_uncommitted_work_stays_untouched_and_is_in_no_commit(ground: Ground) -> None:
    """The branch stays behind, which is said once with what to do, and the work is on the loop's own."""
    (ground.root / "mine").write_text("not to be committed")
    ground.git("add", "mine")
    (ground.root / "stories" / "notes").write_text("neither this")
    ground.drive(agents=[ground.agent([shell("touch mine"), *WORK])])
    loop = ground.loop()
    assert loop.outcome == "all_complete"
    assert (ground.root / "mine").read_text() == "not to be committed"
    assert ground.git("diff", "--cached", "--name-only").split() == ["mine"]
    assert any(one.startswith("Your uncommitted changes") and "'mine'" in one for one in ground.told[:1]), ground.told
    [said] = [one for one in ground.told if "stays behind" in one]
    assert f"git merge ralf/{loop.id}" in said
    assert "mine" in said
    made = ground.git("log", "--format=%s", f"ralf/{loop.id}", "--not", "main").split("\n")
    assert [one.partition(" ")[0] for one in made if one] == ["progress:", "story-1-2", "story-1-1"]
    assert ground.git("rev-list", "--count", "main").strip() == "1"
    ground.git("rm", "-q", "--cached", "mine")
    (ground.root / "mine").unlink()
    ground.git("checkout", "-q", "progress.txt")
    ground.git("merge", "-q", f"ralf/{loop.id}")
    assert (ground.root / "part-1").exists()


def test_a_person_who_edits_and_commits_meanwhile_finds_both(ground: Ground) -> None:
    def commit(loop: Loop) -> None:
        (ground.root / "theirs").write_text("1")
        ground.git("add", "theirs")
        ground.git("commit", "-qm", "theirs")

    _at(ground, "STORY_SELECT", commit, 2)
    ground.drive(tests=("true",))
    assert ground.moves()[-1] == "all_complete"
    assert [one.partition(" ")[0] for one in ground.commits()] == ["story-1-1", "theirs", "story-1-2", "progress:"]
    assert ground.is_clean()
    _nothing_is_left(ground)


def test_a_commit_while_an_agent_works_leaves_both_and_says_how_to_merge(ground: Ground) -> None:
    def commit(loop: Loop) -> None:
        ground.git("commit", "-q", "--allow-empty", "-m", "theirs")

    _at(ground, "COMMIT", commit)
    ground.drive()
    loop = ground.loop()
    assert loop.outcome == "all_complete"
    assert ground.commits() == ["theirs"]
    assert any("main has other commits" in one and f"git merge ralf/{loop.id}" in one for one in ground.told)
    ground.git("checkout", "-q", "progress.txt")
    ground.git("merge", "-q", "--no-edit", f"ralf/{loop.id}")
    assert {"part-1", "part-2"} <= {one.name for one in ground.root.iterdir()}


def test_a_person_on_another_branch_is_left_alone(ground: Ground) -> None:
    def switch(loop: Loop) -> None:
        ground.git("checkout", "-qb", "mine")
        (ground.root / "stories" / "1-2-it.md").write_text("changed on another branch")

    _at(ground, "IMPLEMENT", switch)
    ground.drive()
    assert ground.moves()[-1] == "all_complete"
    assert ground.git("log", "--format=%s", "main", "-1").startswith("progress:")
    assert ground.git("rev-list", "--count", "mine").strip() == "1"
    assert "stories/1-2-it.md" in ground.git("status", "--porcelain")
    assert not (ground.root / "part-1").exists()
    assert any(f"{ground.root} is on mine" in one for one in ground.told)


def test_a_rebase_a_collection_and_deleted_branches_lose_nothing(ground: Ground) -> None:
    def tidy(loop: Loop) -> None:
        ground.git("commit", "-q", "--amend", "-m", "amended", "--allow-empty")
        ground.git("reflog", "expire", "--expire=now", "--all")
        ground.git("gc", "-q", "--prune=now")

    _at(ground, "TEST", tidy, 2)
    ground.drive()
    loop = ground.loop()
    assert loop.outcome == "all_complete"
    ground.git("fsck", "--strict")
    assert "part-2" in ground.git("ls-tree", "--name-only", f"ralf/{loop.id}").split()


def test_edits_of_stories_and_progress_count_and_come_out_again(ground: Ground) -> None:
    def edit(loop: Loop) -> None:
        file = ground.story_file("1-2")
        file.write_text(file.read_text().replace("leave", "leave politely"))

    _at(ground, "IMPLEMENT", edit)
    agent = ground.agent(WORK)
    ground.drive(agents=[agent])
    assert "leave politely" in agent.prompts[1]
    assert "leave politely" in ground.story_file("1-2").read_text()
    assert ground.boxes("1-2") == "x"
    assert ground.is_clean()


def test_stories_that_git_does_not_know_yet_keep_nothing_behind(tmp_path: Path) -> None:
    """As right after `ralph story init`, with other files of the person's beside them."""
    ground = Ground(tmp_path, {"1-1": ("greet", "wave")}).made()
    ground.git("rm", "-q", "--cached", "-r", "stories", "progress.txt")
    ground.git("commit", "-qm", "without stories")
    (ground.root / "mine").write_text("1")
    ground.drive()
    assert ground.moves()[-1] == "all_complete"
    assert [one.partition(" ")[0] for one in ground.commits()][1:] == ["story-1-1", "story-1-1", "progress:"]
    assert ground.git("status", "--porcelain") == "?? mine\n"
    assert ground.boxes() == "xx"


def test_what_was_not_committed_at_the_end_is_kept(ground: Ground) -> None:
    bad: Steps = [shell("echo 1 > unfinished"), {"finish": True}]
    ground.drive(agents=[ground.agent(bad)], tests=("false",))
    loop = ground.loop()
    assert loop.outcome is not None
    kept = ground.git("for-each-ref", "--format=%(refname)", "refs/ralf/story").split()
    found = [one for one in kept if "unfinished" in ground.git("ls-tree", "-r", "--name-only", one)]
    assert found
    assert not (ground.root / "unfinished").exists()
    _nothing_is_left(ground)


def test_without_commits_the_checkout_is_brought_along(ground: Ground) -> None:
    (ground.root / "mine").write_text("1")
    ground.drive(agents=[ground.agent([shell("echo $$ >> part-1"), {"finish": True}])], commits=False)
    assert ground.moves()[-1] == "all_complete"
    assert ground.commits() == []
    assert (ground.root / "part-1").exists()
    assert (ground.root / "mine").read_text() == "1"
    assert ground.boxes("1-1") == "x"
    _nothing_is_left(ground)


def test_a_tree_that_somebody_deleted_is_made_again(ground: Ground) -> None:
    _at(
        ground,
        "STORY_SELECT",
        lambda loop: shutil.rmtree(own_tree(ground.root / ".ralf", loop.id).parent),
        2,
    )
    with closing(ground.journal()) as journal:
        context = ground.context(journal)
        id_ = begin(context)
        with suppress(InterlockError):
            drive(context, id_)
    ground.again().drive()
    assert ground.moves()[-1] == "all_complete"
    assert [one.partition(" ")[0] for one in ground.commits()] == ["story-1-1", "story-1-2", "progress:"]


def test_a_repository_without_a_commit_is_said_before_an_agent_starts(tmp_path: Path) -> None:
    ground = Ground(tmp_path, TWO).made()
    ground.git("update-ref", "-d", "HEAD")
    driven = ground.drive()
    assert driven.loop.outcome == "progress_missing"
    assert "no commits yet" in (driven.loop.explanation or "")
    assert ground.runs_of() == 0


def test_a_test_runner_that_git_does_not_have_is_said_before_an_agent_starts(ground: Ground) -> None:
    runner = ground.root / "tools" / "check"
    runner.parent.mkdir()
    runner.write_text("#!/bin/sh\n")
    runner.chmod(0o755)
    (ground.root / ".git" / "info" / "exclude").write_text(".ralf/\ntools/\n")
    with pytest.raises(InterlockError) as caught:
        ground.drive(tests=("tools/check",))
    assert caught.value.code == "verifiers_missing"
    assert "verify.carry" in caught.value.hint
    assert ground.runs_of() == 0
