"""Every way through the machine, driven with real git, real processes and a real journal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from _pytest.mark.structures import ParameterSet

from interlock.machine import Accepted, Event, Evidence, load_shipped, start, step
from interlock.work.stories.context import DRIVER
from interlock.work.stories.progress_file import template
from interlock.work.stories.record import Loop
from interlock.world.agents.command import CommandAgent
from seeds.manifest import ENTRIES, TRANSITIONS
from work.stories.yards import DETACH, FINE, IDLE, MET, UNMET, WORK, Ground, Steps, UnsteadyMemory, shell, wrote

LOAD = ("progress_found", "memory_loaded")
DONE = ("task_selected", "code_written", "tests_passed", "criteria_met", "committed", "memory_loaded")
CLOSED = ("story_completed", "all_complete")
BLOCKED = ("blocker_logged", "memory_loaded")
BAD: Steps = [{"write": {"path": "bad", "text": ""}}, *WORK]
MENDED: Steps = [{"delete": "bad"}, *WORK]
FULL: Steps = [{"context": 81}, {"say": "half of it is there"}, *WORK]
DOWN: Steps = [{"say": "Connection refused by the database"}, {"finish": True}]
NO_RUNNER = ("surely-no-such-runner-here",)


class Scenario(msgspec.Struct, frozen=True):
    """What agents, tests and the memory do, and the events that must come of it."""

    events: Sequence[str]
    scripts: Sequence[Steps] = (WORK,)
    judge: Sequence[Steps] = (MET,)
    tests: tuple[str, ...] = FINE
    stories: Mapping[str, Sequence[str]] = msgspec.field(default_factory=lambda: {"1-1": ("greet",)})
    memory_fails: int = 0
    before: Callable[[Ground], None] = lambda ground: None
    meddle: Callable[[Ground, Loop], None] = lambda ground, loop: None
    last: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What the first story must say in the end."""
    ids: Sequence[str] = ()
    """What else of the seed it holds."""
    leaves: bool = False
    """Whether git is left in a state in which the loop's files cannot be committed."""


def _without_progress(ground: Ground) -> None:
    ground.progress_file.unlink()


def _with_a_wrong_one(ground: Ground) -> None:
    ground.progress_file.write_text("workflow: x\nstories: 7\n")


def _torn(ground: Ground, loop: Loop) -> None:
    if loop.state == "MEMORY_LOAD":
        ground.progress_file.write_text("stories: [\n")


def _gone(ground: Ground, loop: Loop) -> None:
    if loop.state == "MEMORY_LOAD":
        ground.story_file("1-1").unlink()


def _move_branch(ground: Ground, loop: Loop) -> None:
    if loop.state == "COMMIT":
        empty = ground.git("hash-object", "-w", "-t", "tree", "/dev/null").strip()
        theirs = ground.git("commit-tree", "-p", "HEAD", "-m", "theirs", empty).strip()
        ground.git("update-ref", f"refs/heads/ralf/{loop.id}", theirs)


def _stuck(*events: str, count: int, kind: str = "permanent", end: tuple[str, ...] = ("only_blocked_left",)) -> Any:
    """The events up to a blocked story, and what it says then."""
    told = {"status": "blocked", "retry_count": count, "blocker_type": kind, "requires_human": True}
    return {"events": (*LOAD, *events, *BLOCKED, *end), "last": {**told, "last_action": "blocker"}}


COMPLETE = {"status": "complete", "tasks_completed": 1, "tasks_total": 1}
TRIED = ("task_selected", "attempt_failed", "attempt_failed", "attempt_failed")
SCENARIOS: dict[str, Scenario] = {
    "progress_missing": Scenario(("progress_missing",), before=_without_progress, ids=("story:init:progress",)),
    "progress_wrong": Scenario(("progress_missing",), before=_with_a_wrong_one),
    "progress_torn": Scenario((*LOAD, "progress_invalid"), meddle=_torn),
    "story_file_gone": Scenario((*LOAD, "progress_invalid"), meddle=_gone),
    "all_done": Scenario((*LOAD, *DONE, *CLOSED), last=COMPLETE),
    "two_stories": Scenario(
        (*LOAD, *DONE, *DONE, "story_completed", *DONE, *CLOSED),
        stories={"1-1": ("greet", "be polite"), "1-2": ("leave",)},
        last={"status": "complete", "tasks_completed": 2, "tasks_total": 2},
    ),
    "memory_down": Scenario(
        ("progress_found", "memory_unavailable", "files_loaded", *DONE, *CLOSED), memory_fails=3, last=COMPLETE
    ),
    "idle_once": Scenario(
        (*LOAD, "task_selected", "attempt_failed", *DONE[1:], *CLOSED), scripts=(IDLE, WORK), last=COMPLETE
    ),
    "idle": Scenario(scripts=(IDLE,), **_stuck(*TRIED, count=3)),
    "agent_fails": Scenario(scripts=([*WORK[:1], {"exit": 3}],), **_stuck(*TRIED, count=3)),
    "tests_mended": Scenario(
        (*LOAD, "task_selected", "code_written", "tests_failed", *DONE[1:], *CLOSED),
        scripts=(BAD, MENDED),
        tests=("test ! -f bad",),
        last=COMPLETE,
    ),
    "tests_fail": Scenario(
        scripts=(BAD,),
        tests=(*FINE, "exit 3"),
        ids=("story:decision:test",),
        **_stuck("task_selected", *("code_written", "tests_failed") * 3, count=3),
    ),
    "criteria_met_later": Scenario(
        (*LOAD, *DONE[:3], "criteria_failed", *DONE[1:], *CLOSED), judge=(UNMET, MET), last=COMPLETE
    ),
    "criteria_unmet": Scenario(
        judge=(UNMET,),
        ids=("story:decision:validate",),
        **_stuck("task_selected", *("code_written", "tests_passed", "criteria_failed") * 3, count=3),
    ),
    "mixed_failures_share_the_count": Scenario(
        scripts=(IDLE, BAD, MENDED),
        tests=("test ! -f bad",),
        judge=(UNMET,),
        **_stuck(
            *("task_selected", "attempt_failed", "code_written", "tests_failed"),
            *("code_written", "tests_passed", "criteria_failed"),
            count=3,
        ),
    ),
    "no_runner": Scenario(
        tests=NO_RUNNER,
        ids=("story:runner:blocked",),
        **_stuck("task_selected", "code_written", "test_runner_missing", count=1),
    ),
    "no_tests": Scenario(tests=(), **_stuck("task_selected", "code_written", "test_runner_missing", count=1)),
    "context_used_up": Scenario(
        (*LOAD, "task_selected", "context_exhausted", *LOAD, *DONE, *CLOSED), scripts=(FULL, WORK), last=COMPLETE
    ),
    "context_never_enough": Scenario(
        scripts=(FULL,),
        **_stuck(*("task_selected", "context_exhausted", *LOAD) * 3, "task_selected", "context_exhausted", count=1),
    ),
    "judge_never_has_enough": Scenario(
        judge=([{"context": 90}, {"finish": False}],),
        **_stuck(*(*DONE[:3], "context_exhausted", *LOAD) * 3, *DONE[:3], "context_exhausted", count=1),
    ),
    "detached": Scenario((*LOAD, *DONE, *CLOSED), scripts=(DETACH,), last=COMPLETE),
    "another_branch": Scenario(
        (*LOAD, *DONE, *CLOSED), scripts=([shell("git checkout -qb mine"), *WORK],), last=COMPLETE
    ),
    "merging": Scenario(
        (*LOAD, *DONE, *CLOSED),
        scripts=([shell("git rev-parse HEAD > .git/MERGE_HEAD"), *WORK],),
        last=COMPLETE,
    ),
    "branch_moved": Scenario(
        meddle=_move_branch,
        leaves=True,
        ids=("story:git:unresolvable",),
        **_stuck(*DONE[:4], "git_failed", count=1),
    ),
    "transient_at_the_end": Scenario(
        (*LOAD, *TRIED, *BLOCKED, "blocker_retried", *DONE, *CLOSED), scripts=(DOWN, DOWN, DOWN, WORK), last=COMPLETE
    ),
    "transient_again": Scenario(scripts=(DOWN,), **_stuck(*TRIED, *BLOCKED, "blocker_retried", *TRIED, count=3)),
    "transient_after_three": Scenario(
        (
            *LOAD,
            *TRIED,
            *BLOCKED,
            *DONE * 3,
            "blocker_retried",
            *DONE,
            "story_completed",
            *DONE,
            *("story_completed",),
            "all_complete",
        ),
        scripts=(DOWN, DOWN, DOWN, WORK),
        stories={"1-1": ("greet",), "1-2": ("a", "b", "c", "d")},
        last=COMPLETE,
    ),
    "the_others_go_on": Scenario(
        (*LOAD, *TRIED, *BLOCKED, *DONE, "story_completed", "only_blocked_left"),
        scripts=(IDLE, IDLE, IDLE, WORK),
        stories={"1-1": ("greet",), "1-2": ("leave",)},
        last={"status": "blocked", "retry_count": 3},
    ),
}


def _edges(events: Sequence[str]) -> list[tuple[str, str, str]]:
    """The moves of these events, by the machine's own table."""
    rows = {one.id: one for one in load_shipped("story").transitions}
    return [(rows[name].source, rows[name].to, rows[name].on) for name in _ways(events)]


def _carried() -> list[ParameterSet]:
    """Each scenario, with those of the seed's rows that it holds for all: moves and states that it goes through."""
    moves = [one for one in TRANSITIONS if one["machine"] == "story"]
    states = [one for one in ENTRIES if one["id"].startswith("story:state:")]
    ids: dict[str, set[str]] = {}
    for name, scenario in SCENARIOS.items():
        gone = _edges(scenario.events)
        ids[name] = {one["id"] for one in moves if (one["from"], one["to"], one["on"]) in gone} | {*scenario.ids}
        ids[name] |= {one["id"] for one in states if one["path"][1] in {state for edge in gone for state in edge[:2]}}
    return [
        pytest.param(name, id=name, marks=[pytest.mark.requirement(id_) for id_ in sorted(marked)])
        for name, marked in _shared_out(ids).items()
    ]


def _shared_out(ids: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Each requirement once, in few scenarios: a case that carries one is never left out of a sample."""
    left, found = set().union(*ids.values()), {name: set[str]() for name in ids}
    while left:
        name = max(ids, key=lambda one: (len(ids[one] & left), -len(SCENARIOS[one].events)))
        found[name] = ids[name] & left
        left -= ids[name]
    return found


def _ways(events: Sequence[str]) -> list[str]:
    """The transitions that these events make, by the machine's own step."""
    machine = load_shipped("story")
    made = start(machine, Event("created", DRIVER))
    assert isinstance(made, Accepted)
    snapshot, ways = made.snapshot, []
    for name in events:
        named = name in ("task_selected", "blocker_retried")
        made = step(machine, snapshot, Event(name, DRIVER, evidence=Evidence(task="a" if named else None)))
        assert isinstance(made, Accepted), (name, made)
        assert made.transition is not None
        snapshot = made.snapshot
        ways.append(made.transition.id)
    return ways


@pytest.fixture(params=_carried())
def played(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Scenario, Ground, UnsteadyMemory]:
    """A scenario, and what came of it."""
    scenario = SCENARIOS[request.param]
    ground = Ground(tmp_path, scenario.stories).made()
    ground.meddle = lambda loop: scenario.meddle(ground, loop)
    scenario.before(ground)
    memory = UnsteadyMemory(fails=scenario.memory_fails)
    judge = ground.agent(*scenario.judge, name="judge")
    ground.drive(agents=[ground.agent(*scenario.scripts)], judge=judge, tests=scenario.tests, memory=memory)
    return scenario, ground, memory


@pytest.mark.sampled(4)
def test_a_scenario_goes_its_way(played: tuple[Scenario, Ground, UnsteadyMemory]) -> None:
    scenario, ground, memory = played
    counted = Counter(scenario.events)
    assert ground.moves() == list(scenario.events)
    entries = [one for one in ground.entries() if one.event not in ("created", "noted")]
    assert [(one.from_state, one.to_state, one.event) for one in entries] == _edges(scenario.events)
    loop = ground.loop()
    _says_what_the_machine_says(ground, scenario)
    made = [one for one in ground.commits() if one.startswith("story-")]
    assert len(made) == counted["committed"], "one commit a subtask"
    assert sum(ground.boxes(one).count("x") for one in ground.stories if ground.story_file(one).exists()) == len(made)
    assert len([one for one in ground.commits() if one.startswith("wip: ")]) == counted["context_exhausted"]
    assert loop.iteration == ground.runs_of() == sum(one.role == "implementer" for one in loop.attempts)
    if scenario.events[-1] in ("all_complete", "only_blocked_left") and not scenario.leaves:
        assert ground.is_clean(), "the last commit has all that the loop wrote"
    assert _promises(counted, scenario.events[-1]) == Counter(ground.promises())
    assert ground.promises()[-1] == ENDS[scenario.events[-1]]
    assert len(memory.received) == len(set(memory.received))
    assert loop.unsent == {}


ENDS = {
    "all_complete": "<promise>COMPLETED</promise>",
    "only_blocked_left": "<promise>BLOCKED</promise>",
    "progress_missing": "<promise>SETUP_REQUIRED</promise>",
    "progress_invalid": "<promise>SETUP_REQUIRED</promise>",
}


def _promises(counted: Counter[str], last: str) -> Counter[str]:
    told = {
        "<promise>READY_FOR_NEXT_TASK</promise>": counted["committed"],
        "<promise>CONTEXT_EXHAUSTED</promise>": counted["context_exhausted"],
        ENDS[last]: 1,
    }
    return Counter({promise: count for promise, count in told.items() if count})


def _says_what_the_machine_says(ground: Ground, scenario: Scenario) -> None:
    if not scenario.last:
        return
    story = ground.story()
    assert {name: getattr(story, name) for name in scenario.last} == dict(scenario.last)
    progress, counted = ground.progress, Counter(scenario.events)
    assert progress.iteration == ground.runs_of()
    assert progress.current_iteration.ralph_instance_id == f"ralph-{ground.runs_of()}"
    assert progress.current_iteration.neo4j_connected is True
    assert progress.current_iteration.pending_neo4j_logs == 0
    assert progress.metrics.tasks_completed_this_session == counted["committed"]
    assert progress.metrics.blockers_encountered == counted["blocker_logged"]
    if story.status == "blocked":
        assert story.blocker_reason
        assert story.blocker_logged_to_neo4j is True
        assert story.neo4j_event_id
    else:
        assert story.last_commit in ground.git("log", "--format=%H", "--grep=story-1-1").split()


def test_the_scenarios_go_every_way_of_the_machine() -> None:
    machine = load_shipped("story")
    gone = {name for scenario in SCENARIOS.values() for name in _ways(scenario.events)}
    every = {one.id for one in machine.transitions}
    by_a_person = {one.id for one in machine.transitions if one.on == "story_unblocked"}
    nobody_runs_in_test = {one.id for one in machine.transitions if one.on == "context_exhausted" and "TEST" in one.id}
    assert every - gone == by_a_person | nobody_runs_in_test


@pytest.mark.requirement("story:git:dirty")
def test_blocked_work_is_put_away_and_can_be_had_again(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"1-1": ("greet",), "1-2": ("leave",)}).made()
    ground.drive(agents=[ground.agent(BAD, BAD, BAD, WORK)], tests=("test ! -f bad",))
    (kept,) = ground.git("for-each-ref", "--format=%(refname)", "refs/ralf").split()  # and no tree is left
    blocked = next(one for one in ground.entries() if one.event == "blocker_logged")
    assert blocked.decoded_evidence().data["kept"] == kept
    assert "work/bad" in ground.git("ls-tree", "-r", "--name-only", kept).split()
    assert not (ground.root / "bad").exists()
    assert ground.story("1-2").status == "complete"


@pytest.mark.requirement("story:memory:retry")
@pytest.mark.requirement("story:fallback:queue")
def test_a_memory_out_of_reach_is_asked_once_more_and_gets_everything_later(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"1-1": ("greet", "be polite")}).made()
    memory = UnsteadyMemory(fails=4)  # asked twice; then the attempt and the commit are told in vain
    pending: dict[int, int] = {}
    ground.meddle = lambda loop: pending.update({loop.entered: loop.progress.current_iteration.pending_neo4j_logs})
    ground.drive(memory=memory)
    assert ground.waited == [3.0]
    assert max(pending.values()) == 2
    assert ground.moves().count("memory_unavailable") == 1
    assert memory.received == list(dict.fromkeys(memory.received))
    assert [one.type for one in memory.inner.events] == ["BROOKS_TASK_ATTEMPT", "BROOKS_TASK_COMPLETE"] * 2


def test_what_went_wrong_and_what_is_known_is_told_to_the_next_agent(tmp_path: Path) -> None:
    ground = Ground(tmp_path).made()
    agent = CommandAgent(("/bin/sh", "-c", "cat > prompt-$(ls prompt-* 2>/dev/null | wc -l)"), "reader")
    ground.drive(agents=[agent], tests=("echo the sky fell; test -f prompt-1",))
    first, second = ((ground.root / f"prompt-{n}").read_text() for n in range(2))
    assert "attempt 1 of 3" in first
    assert "the sky fell" not in first
    assert "attempt 2 of 3" in second
    assert "the sky fell" in second


@pytest.mark.requirement("story:init:output")
@pytest.mark.requirement("story:error:code-untouched")
def test_setup_is_explained_and_nothing_is_touched(tmp_path: Path) -> None:
    ground = Ground(tmp_path).made()
    ground.progress_file.unlink()
    before = ground.git("status", "--porcelain")
    driven = ground.drive()
    assert driven.ended
    assert (
        ground.told[-1]
        == "<promise>SETUP_REQUIRED</promise>\nExplanation: progress.txt not found. Create with template."
    )
    assert ground.git("status", "--porcelain") == before
    assert ground.commits() == []


@pytest.mark.requirement("story:prd:loaded")
@pytest.mark.requirement("story:memory:prd")
def test_the_stories_of_a_prd_are_worked_on_and_pass(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {}).made()
    rows = [{"id": f"US-{n}", "title": f"Story {n}", "acceptanceCriteria": ["It is so"]} for n in (1, 2)]
    (ground.root / "prd.json").write_text(json.dumps({"userStories": rows}, indent=2))
    ground.progress_file.write_text(template("demo", [("US-1", None), ("US-2", None)], "2026-01-01"))
    ground.git("add", "-A")
    ground.git("commit", "-qm", "the stories")
    meddling: Steps = [shell('sed -i \'s/"id"/"passes": true, "id"/\' prd.json'), *WORK]
    ground.drive(agents=[ground.agent(meddling, WORK)])
    found = json.loads((ground.root / "prd.json").read_text())["userStories"]
    assert [one["passes"] for one in found] == [True, True]
    assert ground.moves() == [*LOAD, *DONE, "story_completed", *DONE, *CLOSED]
    assert [one.partition(":")[0] for one in ground.commits()[1:]] == ["US-1 task 1", "US-2 task 1", "progress"]
    assert ground.is_clean()


def test_from_70_percent_of_the_context_on_it_is_warned(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"1-1": ("greet", "be polite")}).made()
    ground.drive(agents=[ground.agent([{"context": 69}, *WORK], [{"context": 79.9}, *WORK])])
    assert len([one for one in ground.told if one.startswith("context ")]) == 1
    assert ground.progress.current_iteration.brooks_context_window_used == "80%"
    assert "context_exhausted" not in ground.moves()


@pytest.mark.requirement("story:memory:fallback")
@pytest.mark.requirement("story:fallback:warning")
@pytest.mark.requirement("story:fallback:flag")
def test_without_the_memory_it_is_told_and_shown(tmp_path: Path) -> None:
    ground = Ground(tmp_path).made()
    ground.drive(memory=UnsteadyMemory(fails=10_000))
    assert "Neo4j unavailable, using file-only context" in ground.told
    assert ground.progress.current_iteration.neo4j_connected is False
    assert ground.progress.current_iteration.pending_neo4j_logs == 2
    assert ground.moves()[-1] == "all_complete"


def test_where_nothing_is_to_be_committed_all_else_is_done(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"1-1": ("greet", "be polite")}).made()
    ground.drive(agents=[ground.agent(wrote("a"), [shell("echo b > b"), *WORK])], commits=False)
    assert ground.moves()[-1] == "all_complete"
    assert ground.commits() == []
    assert ground.boxes() == "xx"


def test_without_a_server_no_blocker_is_said_to_be_logged_to_it(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"1-1": ("greet",)}).made()
    ground.drive(tests=("false",))
    story = ground.story()
    assert (str(story.status), story.blocker_logged_to_neo4j) == ("blocked", False)
    assert ground.loop().unsent == {}, "the journal's own memory has it"


def test_a_blocker_that_the_server_gets_later_is_logged_then(tmp_path: Path) -> None:
    ground = Ground(tmp_path, {"1-1": ("greet",), "1-2": ("wave",)}).made()
    memory = UnsteadyMemory()
    logged: list[bool | None] = []

    def meddle(loop: Loop) -> None:
        if loop.state == "BLOCKER" and not logged:
            memory.fails = 1
            logged.append(None)
        known = loop.progress.story("story-1-1")
        if known is not None and known.blocker_logged_to_neo4j is not None:
            logged.append(known.blocker_logged_to_neo4j)

    ground.meddle = meddle
    ground.drive(tests=("false",), memory=memory)
    assert logged[:2] == [None, False]
    assert ground.story("1-1").blocker_logged_to_neo4j is True
    assert ground.story("1-1").neo4j_event_id in memory.received
