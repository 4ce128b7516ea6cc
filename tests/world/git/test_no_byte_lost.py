"""No byte is lost: whatever a repository is, going back and undoing it gives all of it back, or nothing happens."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, example, given, settings

from exhaustive import EXHAUSTIVE
from interlock.errors import InterlockError
from interlock.world.git import StartingPoint, baseline, begin_branch, go_back, state, undo
from world.git.plans import PLANS, Change, File, Plan, be_dirty, commit, go_on, whole
from world.git.repositories import git, made, picture

EXAMPLES = 300 if EXHAUSTIVE else 3
THREAD = "ralf/01jb"


def _repository(place: Path, plan: Plan) -> tuple[Path, StartingPoint]:
    root = made(place / "r", {".gitattributes": plan.attributes, ".gitignore": plan.ignored})
    if plan.submodule != "none":
        library = made(place / "library")
        git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "-f", str(library), "lib", cwd=root)
    commit(root, plan.first, "second")
    if plan.is_linked:
        git("worktree", "add", "-q", "-b", "side", place / "side", cwd=root)
        root = place / "side"
    base = baseline(root)
    begin_branch(root, THREAD, base.commit)
    for number, change in enumerate(plan.agents):
        commit(root, change, f"agent {number}")
    go_on(root, place, base, plan)
    be_dirty(root, plan, base)
    if plan.is_packed:
        git("pack-refs", "--all", cwd=root)
    return root, base


MIXED = Plan(
    attributes="* text=auto\n",
    ignored="",
    first=Change([File("b", b"1\r\n2\n", 0o644, is_link=False)], [], None, [], is_all_staged=False),
    agents=[],
    dirty=[Change([], ["b"], None, [], is_all_staged=False)],
    base_goes_on=None,
    submodule="none",
    is_merging=False,
    hidden=None,
    is_packed=False,
)
"""A file whose line endings git changes was removed: what comes back is shorter, and is no change."""
_NOTHING = Change([], [], None, [], is_all_staged=False)
_WRITTEN = [File("a", b"x", 0o644, is_link=False)]
UNSEEN = Plan(
    attributes="",
    ignored="",
    first=_NOTHING,
    agents=[Change(_WRITTEN, [], None, [], is_all_staged=False)],
    dirty=[Change(_WRITTEN, [], None, [], is_all_staged=True)],
    base_goes_on=_NOTHING,
    submodule="moved",
    is_merging=True,
    hidden="a",
    is_packed=False,
)
"""An agent committed a file, and had git not look at it any more (`--assume-unchanged`)."""


@pytest.mark.exhaustive
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@example(plan=MIXED)
@example(plan=UNSEEN)
@given(plan=PLANS)
def test_going_back_and_undoing_it_gives_everything_back_or_nothing_happens(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as name:
        root, base = _repository(Path(name), plan)
        before, tip = whole(root), git("rev-parse", THREAD, cwd=root)
        users = _users_commits(root)
        ignored = {path: was for path, was in picture(root).items() if path in _ignored(root)}
        kept = refused = None
        try:
            kept = go_back(root, base, THREAD, "k")
        except InterlockError as error:
            refused = error
        if refused is not None:
            event(f"refused: {refused.code}")
            assert refused.code == "git_conflict", refused.message
            assert whole(root) == before
            assert git("for-each-ref", "refs/ralf", cwd=root) == ""
            return
        event("went back")
        assert kept is not None
        assert kept.head == tip
        now = state(root)
        assert (now.branch, now.head) == (base.branch, git("rev-parse", base.branch, cwd=root))
        assert set(now.staged) | set(now.unstaged) <= {"lib"}, "only a submodule may still be where it was"
        assert ignored.items() <= picture(root).items()
        assert _users_commits(root) == users
        git("gc", "-q", "--prune=now", cwd=root)
        undo(root, kept.name)
        assert whole(root) == before
        assert _users_commits(root) == users


def _users_commits(root: Path) -> str:
    return git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/main", "refs/heads/side", cwd=root)


def _ignored(root: Path) -> set[str]:
    listed = git("ls-files", "-z", "--others", "--ignored", "--exclude-standard", cwd=root)
    return {name for name in listed.split("\0") if name}
