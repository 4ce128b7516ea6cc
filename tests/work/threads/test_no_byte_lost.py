"""No byte is lost by a thread: whatever the repository is by then, going back can be undone, or nothing happened."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from exhaustive import EXHAUSTIVE
from interlock.work.threads.effects import undo_reset
from interlock.work.threads.record import Thread
from interlock.world.git import StartingPoint
from work.threads.benches import Bench, Steps
from world.git.plans import PLANS, Plan, be_dirty, commit, go_on, whole
from world.git.repositories import git, made, write

SPEC = """\
# Anything

## Completion Criteria

- [ ] it is as it is
  - verify: `{command}`

<promise>COMPLETE</promise>
"""
CLAIM: Steps = [{"promise": "COMPLETE"}, {"finish": True}]
FROM = {"Stuck": "false", "PendingReview": "true"}


def _repository(place: Path, plan: Plan) -> Bench:
    bench = Bench.made(place / "repository")
    bench.play(CLAIM)
    bench.settings["thread.iterations"] = 1
    write(bench.root, {".gitattributes": plan.attributes, ".gitignore": plan.ignored})
    if plan.submodule != "none":
        library = made(place / "library")
        git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "-f", str(library), "lib", cwd=bench.root)
    commit(bench.root, plan.first, "second")
    return bench


def _whole(bench: Bench) -> tuple[object, ...]:
    """All that the repository is, without what threads write below `.ralf`."""
    files, *rest = whole(bench.root)
    assert isinstance(files, dict)
    return {name: one for name, one in files.items() if not name.startswith(".ralf/")}, *rest


def _undo(bench: Bench, thread: Thread) -> None:
    journal = bench.open()
    try:
        undo_reset(bench.context(journal), thread)
    finally:
        journal.close()


@pytest.mark.exhaustive
@settings(
    max_examples=120 if EXHAUSTIVE else 3,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(plan=PLANS, state=st.sampled_from(sorted(FROM)), verb=st.sampled_from(["revise", "revise", "abandon"]))
def test_a_thread_that_goes_back_gives_everything_back_or_touches_nothing(plan: Plan, state: str, verb: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        bench = _repository(place, plan)
        id_ = bench.new(SPEC.format(command=FROM[state]), mode="quick")
        thread = bench.act(id_, "finalize")
        if thread.state == "PreflightFailed":  # such as with line endings that git wants otherwise
            event("not clean to begin with")
            return
        assert thread.state == state, thread.reason
        assert thread.baseline is not None
        base = StartingPoint(thread.baseline.branch, thread.baseline.commit)
        for number, change in enumerate(plan.agents):
            commit(bench.root, change, f"agent {number}")
        go_on(bench.root, place, base, plan)
        be_dirty(bench.root, plan, base)
        if plan.is_packed:
            git("pack-refs", "--all", cwd=bench.root)
        before, users = _whole(bench), git("rev-parse", "main", cwd=bench.root)
        thread = bench.act(id_, verb, reason="the spec was wrong")
        assert git("rev-parse", "main", cwd=bench.root) == users
        git("gc", "-q", "--prune=now", cwd=bench.root)
        if verb == "abandon":
            event("abandoned")
            assert (thread.state, _whole(bench)) == ("Abandoned", before)
        elif not thread.kept:
            event(f"from {state}, refused")
            assert _whole(bench) == before
            assert any("reset_workspace" in one for one in bench.told if isinstance(one, str))
        else:
            event(f"from {state}, went back")
            assert thread.state == "Drafting"
            assert git("symbolic-ref", "--short", "HEAD", cwd=bench.root) == base.branch
            _undo(bench, thread)
            assert _whole(bench) == before
            assert git("rev-parse", "main", cwd=bench.root) == users
