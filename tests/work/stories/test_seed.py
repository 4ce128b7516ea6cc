"""The seed's document, line by line: two loops are driven, and each line is held against what they did."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import yaml

from interlock.work.stories.context import Limits
from interlock.work.stories.progress import Progress, StoryProgress, StoryStatus
from interlock.work.stories.progress_file import parse
from interlock.work.stories.record import Loop
from interlock.world.agents.command import CommandAgent
from interlock.world.memory import EventType, MemoryEvent
from interlock.world.memory.memory import Value
from interlock.world.repository import own_tree
from work.stories.yards import IDLE, MET, UNMET, WORK, Ground, Recorded, Steps, UnsteadyMemory

DOWN: Steps = [{"say": "Connection refused by the database"}, {"finish": True}]
BAD: Steps = [{"write": {"path": "bad", "text": ""}}, *WORK]
BUSY: Steps = [{"context": 75}, *WORK]
FULL: Steps = [{"context": 81}, {"say": "half of it is there"}, *WORK]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


class Watched(msgspec.Struct):
    """A loop that was driven, and what was seen before each of its steps."""

    ground: Ground
    agent: Recorded
    judge: Recorded
    memory: UnsteadyMemory
    views: list[tuple[str, int, Progress]] = msgspec.field(default_factory=list)
    """The state, the iteration, and what `progress.txt` said."""
    texts: dict[int, str] = msgspec.field(default_factory=dict)
    """What was in it when the tests of an iteration were to be run."""

    def seen(self, state: str, iteration: int) -> Progress:
        return next(progress for name, number, progress in self.views if (name, number) == (state, iteration))

    def story(self, number: str, state: str, iteration: int) -> StoryProgress:
        found = self.seen(state, iteration).story(f"story-{number}")
        assert found is not None
        return found

    def remembered(self, type_: EventType) -> list[MemoryEvent]:
        return [one for one in self.memory.inner.events if one.type is type_]


def _watched(ground: Ground, scripts: tuple[Steps, ...], judge: tuple[Steps, ...], tests: tuple[str, ...]) -> Watched:
    memory = UnsteadyMemory()
    memory.inner.remember(_known(EventType.TASK_BLOCKER, "the vault is locked"))
    memory.inner.remember(_known(EventType.CODE_PATTERN_REUSE, "Brooks knows the vault"))
    watched = Watched(ground, ground.agent(*scripts), ground.agent(*judge, name="judge"), memory)

    def look(loop: Loop) -> None:
        text = ground.progress_file.read_text()
        watched.views.append((loop.state, loop.iteration, parse(text)))
        if loop.state == "TEST":
            watched.texts[loop.iteration] = text

    ground.meddle = look
    ground.drive(agents=[watched.agent], judge=watched.judge, tests=tests, memory=memory)
    return watched


def _known(type_: EventType, what: str) -> MemoryEvent:
    data: dict[EventType, dict[str, Value]] = {
        EventType.TASK_BLOCKER: {"reason": what, "attempted_fixes": (), "fix_sources_tried": ()},
        EventType.CODE_PATTERN_REUSE: {"pattern_name": what, "reuse_context": ""},
    }
    return MemoryEvent(what, type_, "2025-01-01T00:00:00Z", "Brooks", None, data[type_])


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """Four stories: done at the second attempt; blocked by what may pass, and again; by its tests; judged twice."""
    stories = {"1-1": ("greet", "be polite"), "1-2": ("leave",), "1-3": ("wave",), "1-4": ("sing",)}
    ground = Ground(tmp_path_factory.mktemp("troubled"), stories).made()
    scripts = (IDLE, WORK, BUSY, DOWN, DOWN, DOWN, BAD, BAD, BAD, DOWN, DOWN, DOWN, WORK, WORK)
    return _watched(
        ground, scripts, (MET, MET, UNMET, MET), ("echo all is linted", "test ! -f bad || ! echo it is bad")
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """Two stories that are done, the first with two agents; the second one was begun by somebody else."""
    ground = Ground(tmp_path_factory.mktemp("finished"), {"1-1": ("greet",), "1-2": ("leave", "lock up")}).made()
    story = ground.story_file("1-2")
    story.write_text(story.read_text().replace("- [ ] Task 1", "- [x] Task 1"))
    (ground.root / ".claude").mkdir()
    (ground.root / ".claude" / "CLAUDE.md").write_text("Use tabs.\n")
    ground.git("add", "-A")
    ground.git("commit", "-qm", "the first is done")
    return _watched(ground, (FULL, WORK), (MET,), ("true",))


def test_the_loops_of_this_module_go_their_way(troubled: Watched, finished: Watched) -> None:
    assert [troubled.ground.story(one).status for one in troubled.ground.stories] == [
        *("complete", "blocked", "blocked", "complete")
    ]
    assert troubled.agent.prompts[13:], "fourteen iterations"
    assert finished.ground.moves()[-1] == "all_complete"


# progress.txt, field by field

Look = Callable[[Watched], object]
FIELDS: dict[str, tuple[Look, object]] = {
    "workflow": (lambda one: one.ground.progress.workflow, "ralph-bmad-integration"),
    "project": (lambda one: one.ground.progress.project, "demo"),
    "iteration": (lambda one: [one.seen("TEST", number).iteration for number in (2, 3, 7)], [2, 3, 7]),
    "last_updated": (lambda one: bool(TIME.fullmatch(one.ground.progress.last_updated or "")), True),
    "id": (lambda one: [story.id for story in one.ground.progress.stories], [f"story-1-{n}" for n in range(1, 5)]),
    "status": (
        lambda one: [str(story.status) for story in one.seen("TEST", 7).stories],
        ["complete", "blocked", "in_progress", "not_started"],
    ),
    "tasks_completed": (lambda one: one.ground.story("1-1").tasks_completed, 2),
    "tasks_total": (lambda one: one.ground.story("1-1").tasks_total, 2),
    "last_commit": (
        lambda one: one.ground.git("log", "-1", "--format=%s", str(one.ground.story("1-1").last_commit)),
        "story-1-1 task 2: be polite\n",
    ),
    "current_task": (lambda one: [one.story("1-1", "TEST", number).current_task for number in (2, 3)], ["1", "2"]),
    "retry_count": (lambda one: [one.story("1-3", "TEST", number).retry_count for number in (7, 8, 9)], [0, 1, 2]),
    "last_action": (
        lambda one: [one.story("1-1", state, 3).last_action for state in ("TEST", "VALIDATE", "COMMIT")],
        ["implement", "test", "validate"],
    ),
    "blocker_reason": (
        lambda one: (one.ground.story("1-3").blocker_reason or "").partition(";")[0],
        "test ! -f bad || ! echo it is bad: exit 1",
    ),
    "blocker_type": (
        lambda one: [
            one.story("1-2", "TEST", 7).blocker_type,
            *(one.ground.story(n).blocker_type for n in ("1-2", "1-3")),
        ],
        ["transient", "permanent", "permanent"],
    ),
    "blocker_logged_to_neo4j": (lambda one: one.ground.story("1-3").blocker_logged_to_neo4j, True),
    "neo4j_event_id": (lambda one: one.ground.story("1-3").neo4j_event_id in one.memory.received, True),
    "requires_human": (lambda one: one.ground.story("1-3").requires_human, True),
    "ralph_instance_id": (lambda one: one.seen("TEST", 7).current_iteration.ralph_instance_id, "ralph-7"),
    "start_time": (lambda one: bool(TIME.fullmatch(one.seen("TEST", 7).current_iteration.start_time or "")), True),
    "brooks_context_window_used": (
        lambda one: [one.seen("TEST", number).current_iteration.brooks_context_window_used for number in (2, 3)],
        [None, "75%"],
    ),
    "neo4j_connected": (lambda one: one.ground.progress.current_iteration.neo4j_connected, True),
    "pending_neo4j_logs": (lambda one: one.ground.progress.current_iteration.pending_neo4j_logs, 0),
    "tasks_completed_this_session": (lambda one: one.ground.progress.metrics.tasks_completed_this_session, 3),
    "blockers_encountered": (lambda one: one.ground.progress.metrics.blockers_encountered, 3),
    "avg_iteration_time_ms": (lambda one: one.ground.progress.metrics.avg_iteration_time_ms > 0, True),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.requirement(f"story:progress:field:{name}"), id=name) for name in FIELDS],
)
def test_a_field_says_what_the_loop_did(troubled: Watched, name: str) -> None:
    look, expected = FIELDS[name]
    assert look(troubled) == expected


@pytest.mark.requirement("story:progress:fields")
def test_no_field_of_the_file_is_without_a_row(troubled: Watched) -> None:
    text = troubled.ground.progress_file.read_text()
    written = {line.strip(" -").partition(":")[0] for line in text.splitlines() if not line.startswith("#") and line}
    groups = {"stories", "current_iteration", "metrics"}
    ours = {"current_task", "last_action", "retry_count", "file"}
    assert written - groups <= {*FIELDS} | ours


QUERY = '.stories[] | select(.status == "in_progress")'


@pytest.mark.requirement("story:progress:query")
def test_the_seeds_query_shows_where_a_loop_stands(troubled: Watched, tmp_path: Path) -> None:
    text = troubled.texts[7]
    loaded = yaml.safe_load(text)
    assert [one["id"] for one in loaded["stories"] if one["status"] == "in_progress"] == ["story-1-3"]
    yq = shutil.which("yq")
    if yq is not None:
        (tmp_path / "progress.txt").write_text(text)
        done = subprocess.run([yq, QUERY, "progress.txt"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert re.findall(r"story-\d-\d", done.stdout) == ["story-1-3"], done


# MEMORY_LOAD and STORY_SELECT


@pytest.mark.requirement("story:memory:query-a")
@pytest.mark.requirement("story:memory:query-b")
def test_what_both_queries_answer_is_told_to_the_agent(troubled: Watched) -> None:
    assert "- Code pattern reuse: Brooks" in troubled.agent.prompts[0]
    assert "- Brooks task blocker: Brooks: the vault is locked" in troubled.agent.prompts[0]
    later = troubled.agent.prompts[-1]
    assert "Brooks task blocker: story-1-3 1: test ! -f bad" in later, "its own blockers are known issues, too"


@pytest.mark.requirement("story:memory:claude-md")
@pytest.mark.requirement("story:start:prerequisites")
def test_the_guide_of_the_project_is_told_and_a_missing_one_is_a_warning(troubled: Watched, finished: Watched) -> None:
    assert "WARNING: CLAUDE.md not found" in troubled.ground.told
    assert not any("CLAUDE.md" in one for one in finished.ground.told)
    assert "## What this project tells every agent\n\nUse tabs.\n" in finished.agent.prompts[0]


@pytest.mark.requirement("story:memory:connected")
def test_the_memory_is_asked_before_every_selection(troubled: Watched) -> None:
    moves = troubled.ground.moves()
    assert moves.count("memory_loaded") == 1 + moves.count("committed") + moves.count("blocker_logged")
    assert all(data["server"] for data in troubled.ground.brought("memory_loaded"))


@pytest.mark.requirement("story:select:order")
def test_what_is_in_progress_comes_first_then_the_first_that_is_not_started(troubled: Watched) -> None:
    chosen = [(data["story"], data["task_id"]) for data in troubled.ground.brought("task_selected")]
    assert chosen == [
        *(("story-1-1", "1"), ("story-1-1", "2"), ("story-1-2", "1"), ("story-1-3", "1")),
        *(("story-1-2", "1"), ("story-1-4", "1")),
    ]


@pytest.mark.requirement("story:select:file")
@pytest.mark.requirement("story:implement:story-file")
def test_the_story_file_is_found_and_read(troubled: Watched) -> None:
    assert "# Story story-1-4" in troubled.agent.prompts[-1]
    assert "- [ ] Task 1: sing (AC: 1)" in troubled.agent.prompts[-1]


@pytest.mark.requirement("story:select:subtask")
@pytest.mark.requirement("story:select:complete")
def test_a_box_that_is_ticked_is_not_worked_on_and_without_an_open_one_a_story_is_complete(finished: Watched) -> None:
    chosen = [(data["story"], data["task_id"]) for data in finished.ground.brought("task_selected")]
    assert chosen == [("story-1-1", "1"), ("story-1-1", "1"), ("story-1-2", "2")]
    assert [data["story"] for data in finished.ground.brought("story_completed")] == ["story-1-1", "story-1-2"]
    assert finished.ground.story("1-2").tasks_completed == 2


@pytest.mark.requirement("story:select:blocked-skipped")
def test_what_is_blocked_or_complete_is_passed_over(troubled: Watched) -> None:
    for state, iteration, progress in troubled.views:
        if state == "IMPLEMENT" and iteration:
            assert [one.status for one in progress.stories].count(StoryStatus.IN_PROGRESS) == 1
    assert troubled.seen("IMPLEMENT", 12).stories[2].status is StoryStatus.BLOCKED


@pytest.mark.requirement("story:select:transient")
@pytest.mark.requirement("story:blocker:transient-again")
def test_what_may_pass_is_tried_once_more_after_three_iterations_and_is_permanent_then(troubled: Watched) -> None:
    [retried] = troubled.ground.brought("blocker_retried")
    assert (retried["story"], retried["why"]) == ("story-1-2", "3 iterations have passed")
    types = [data["type"] for data in troubled.ground.brought("blocker_logged") if data["story"] == "story-1-2"]
    assert types == ["transient", "permanent"]


# IMPLEMENT

TOLD = {
    "criteria": ("## Acceptance criteria\n\n1. It can greet",),
    "principles": ("## Brooks' principles", "Conceptual integrity", "Plan to throw one away", "no silver bullet"),
    "red": ("RED: write one failing test", "see that it fails", "no more than the smallest test"),
    "green": ("GREEN: write the least code that makes it pass", "No optimisation, no clean-up"),
    "refactor": ("REFACTOR: clean up while the tests stay green", "Rename, extract", "do not change what it does"),
}


@pytest.mark.parametrize(
    "part",
    [pytest.param(part, marks=pytest.mark.requirement(f"story:implement:{part}"), id=part) for part in TOLD],
)
def test_the_agent_is_told_how_to_work(troubled: Watched, part: str) -> None:
    assert all(words in troubled.agent.prompts[0] for words in TOLD[part])


@pytest.mark.requirement("story:decision:attempts")
def test_the_attempts_carry_0_1_and_2_and_a_failure_at_2_blocks(troubled: Watched) -> None:
    attempts = [troubled.story("1-3", "TEST", number).retry_count for number in (7, 8, 9)]
    assert (attempts, troubled.story("1-3", "BLOCKER", 9).status) == ([0, 1, 2], "in_progress")
    assert troubled.story("1-3", "MEMORY_LOAD", 9).status == "blocked"


@pytest.mark.requirement("story:implement:retry")
def test_a_failed_attempt_is_counted_and_the_next_one_is_told_why(troubled: Watched) -> None:
    [first, *_] = troubled.ground.brought("attempt_failed")
    assert first["retry_count"] == 1
    assert "attempt 2 of 3" in troubled.agent.prompts[1]
    assert "the agent ended without changing anything" in troubled.agent.prompts[1]


# TEST and VALIDATE


@pytest.mark.requirement("story:test:commands")
def test_the_loop_runs_every_command_itself_in_their_order(troubled: Watched) -> None:
    [first, *_] = troubled.ground.brought("tests_passed")
    ran = [(one["command"], one["exit"]) for one in first["commands"]]
    assert ran == [("echo all is linted", 0), ("test ! -f bad || ! echo it is bad", 0)]


@pytest.mark.requirement("story:test:failure-logged")
@pytest.mark.requirement("story:test:failure-captured")
def test_a_failure_is_told_and_its_output_is_kept_for_the_next_attempt(troubled: Watched) -> None:
    [first, *_] = troubled.ground.brought("tests_failed")
    assert first["output"] == "it is bad"
    assert "test: test ! -f bad || ! echo it is bad" in troubled.ground.told
    assert "it is bad" in troubled.agent.prompts[7]
    logs = sorted((troubled.ground.root / ".ralf" / "runs").glob("*/*-test-2.log"))
    assert any("it is bad" in log.read_text() for log in logs)


@pytest.mark.requirement("story:validate:each")
@pytest.mark.requirement("story:validate:matches")
@pytest.mark.requirement("story:validate:explicit")
@pytest.mark.requirement("story:validate:template")
def test_each_criterion_is_judged_on_the_change_and_on_nothing_beyond_it(troubled: Watched) -> None:
    prompt = troubled.judge.prompts[0]
    assert "AC-1: It can greet - ✓ [implementation evidence]" in prompt
    assert "AC-2" not in prompt, "that is another subtask's"
    assert "infer nothing beyond" in prompt
    assert "+done" in prompt, "the change"
    assert "## What the tests said" in prompt
    met, unmet = troubled.ground.brought("criteria_met"), troubled.ground.brought("criteria_failed")
    greets = "AC-1: It can greet - ✓ part-1:1"
    last = [greets, "AC-2: It can be polite - ✓ part-2:1"]
    assert [one["judged"] for one in met][:2] == [[greets], last], "with the last subtask, all of the story"
    assert unmet[0]["judged"] == ["AC-1: It can sing - ✗ it does not"]
    assert "AC-1: It can sing - ✗ it does not" in troubled.ground.told
    assert "AC-1: It can sing - ✗ it does not" in troubled.agent.prompts[13]


# COMMIT


@pytest.mark.requirement("story:commit:atomic")
@pytest.mark.requirement("story:commit:message")
def test_a_subtask_is_one_commit_that_names_it(troubled: Watched) -> None:
    ground = troubled.ground
    assert ground.commits() == [
        "story-1-1 task 1: greet",
        "story-1-1 task 2: be polite",
        "story-1-4 task 1: sing",
        "progress: the loop ends after 14 iterations",
    ]
    for place, number in ((3, 1), (2, 2)):
        held = set(ground.git("show", "--format=", "--name-only", f"HEAD~{place}").split())
        assert held == {f"part-{number}", "progress.txt", "stories/1-1-it.md"}


@pytest.mark.requirement("story:commit:subtask")
@pytest.mark.requirement("story:commit:progress")
@pytest.mark.requirement("story:commit:current-task")
@pytest.mark.requirement("story:commit:retry-reset")
def test_the_commit_holds_the_box_and_the_file_as_they_are_after_it(troubled: Watched) -> None:
    ground = troubled.ground
    text = ground.git("show", "HEAD~3:progress.txt")
    story, before = parse(text).story("story-1-1"), troubled.story("1-1", "COMMIT", 2)
    assert story is not None
    assert (story.status, story.current_task, story.retry_count, story.tasks_completed) == ("in_progress", "2", 0, 1)
    assert story.last_action == "commit"
    assert before.retry_count == 1
    assert (parse(text).last_updated or "") >= (troubled.seen("COMMIT", 2).last_updated or "")
    assert "- [x] Task 1: greet" in ground.git("show", "HEAD~3:stories/1-1-it.md")
    assert "- [ ] Task 2: be polite" in ground.git("show", "HEAD~3:stories/1-1-it.md")


@pytest.mark.requirement("story:commit:event-id")
@pytest.mark.requirement("story:commit:event")
def test_a_commit_and_its_event_name_each_other(troubled: Watched) -> None:
    events = troubled.remembered(EventType.TASK_COMPLETE)
    made = troubled.ground.git("log", "--reverse", "--format=%H %(trailers:key=Ralph-Event,valueonly,separator=)")
    linked = [tuple(line.split()) for line in made.splitlines() if " " in line.strip()]
    assert [(one.data["commit"], one.id) for one in events] == linked[:3]
    assert [(one.story, one.task) for one in events] == [("story-1-1", "1"), ("story-1-1", "2"), ("story-1-4", "1")]
    assert events[0].data["files_modified"] == ("part-1", "progress.txt", "stories/1-1-it.md")


@pytest.mark.requirement("story:event:attempt")
def test_every_attempt_is_told_to_the_memory_once(troubled: Watched) -> None:
    events = troubled.remembered(EventType.TASK_ATTEMPT)
    assert [one.data["retry_count"] for one in events] == [0, 1, 0, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]
    assert len(troubled.memory.received) == len(set(troubled.memory.received))


# BLOCKER


@pytest.mark.requirement("story:blocker:increment")
def test_the_last_failure_is_counted_too(troubled: Watched) -> None:
    assert troubled.ground.story("1-3").retry_count == 3


@pytest.mark.requirement("story:blocker:progress")
def test_a_blocked_story_says_all_that_a_person_needs(troubled: Watched) -> None:
    story = troubled.ground.story("1-3")
    assert story.blocker_reason
    assert (story.status, story.blocker_type, story.requires_human) == ("blocked", "permanent", True)


@pytest.mark.requirement("story:blocker:event")
def test_a_blocker_is_told_to_the_memory_with_what_was_tried(troubled: Watched) -> None:
    events = {one.story: one for one in troubled.remembered(EventType.TASK_BLOCKER) if one.story != "Brooks"}
    data = events["story-1-3"].data
    assert str(data["reason"]).startswith("test ! -f bad || ! echo it is bad: exit 1\nit is bad")
    fixes = data["attempted_fixes"]
    assert isinstance(fixes, tuple)
    assert [one.partition(":")[0] for one in fixes] == ["attempt 1", "attempt 2", "attempt 3"]
    assert data["fix_sources_tried"] == ("story file", "test output", "known issues")


@pytest.mark.requirement("story:blocker:others")
def test_the_others_go_on_without_its_work(troubled: Watched) -> None:
    assert troubled.ground.story("1-4").status == "complete"
    assert not (troubled.ground.root / "bad").exists()
    assert "bad" not in troubled.ground.git("log", "--format=", "--name-only").split()


# EXIT


@pytest.mark.requirement("story:exit:output")
def test_the_end_is_told_as_the_seed_has_it(finished: Watched) -> None:
    last = finished.ground.git("rev-parse", "HEAD").strip()
    expected = (
        r"<promise>COMPLETED</promise>\n\nSummary:\n- Stories completed: 2\n- Total iterations: 3\n"
        rf"- Final commit: {last}\n- Time elapsed: \d+:\d\d:\d\d"
    )
    assert re.fullmatch(expected, finished.ground.told[-1])


@pytest.mark.requirement("story:exit:metrics")
@pytest.mark.requirement("story:exit:commit")
def test_the_last_commit_holds_the_numbers_of_the_loop(finished: Watched) -> None:
    ground = finished.ground
    assert ground.is_clean()
    committed = parse(ground.git("show", "HEAD:progress.txt"))
    assert committed == ground.progress
    assert committed.metrics.tasks_completed_this_session == 2
    assert committed.metrics.blockers_encountered == 0


@pytest.mark.requirement("story:exit:blocked")
def test_a_loop_with_blocked_stories_names_what_each_needs(troubled: Watched) -> None:
    last = troubled.ground.told[-1]
    assert last.startswith("<promise>BLOCKED</promise>\n")
    assert "- story-1-3: test ! -f bad" in last
    assert "- story-1-2: " in last


# The context


@pytest.mark.requirement("story:context:normal")
@pytest.mark.requirement("story:context:soft")
def test_from_70_percent_on_what_is_only_nice_is_to_be_skipped(troubled: Watched) -> None:
    told = [one for one in troubled.ground.told if one.startswith("context ")]
    assert told == ["context 75 %: skip what is only nice to have"]
    assert "context_exhausted" not in troubled.ground.moves()


@pytest.mark.requirement("story:context:hard")
@pytest.mark.requirement("story:context:summary")
@pytest.mark.requirement("story:context:commit")
@pytest.mark.requirement("story:context:promise")
@pytest.mark.requirement("story:context:respawn")
def test_at_80_percent_the_work_is_committed_and_a_fresh_agent_is_told_where_it_stands(finished: Watched) -> None:
    ground = finished.ground
    [summary] = (ground.root / ".ralf" / "runs").glob("*/*-summary.md")
    assert "half of it is there" in summary.read_text()
    assert ground.commits()[1] == "wip: story-1-1 task 1 (81 % of the context used)"
    assert "<promise>CONTEXT_EXHAUSTED</promise>" in ground.promises()
    moves = ground.moves()
    place = moves.index("context_exhausted")
    assert moves[place : place + 4] == ["context_exhausted", "progress_found", "memory_loaded", "task_selected"]
    assert "half of it is there" in finished.agent.prompts[1]
    assert "half of it is there" not in finished.agent.prompts[2]


# What may pass by itself

KINDS = {
    "network": ("urlopen error: timed out", "transient"),
    "database": ("psycopg.OperationalError: connection refused", "transient"),
    "service": ("HTTP 503 Service Unavailable", "transient"),
    "framework": (None, "permanent"),
    "dependency": ("ERESOLVE unable to resolve dependency tree", "permanent"),
    "domain": ("The story does not say what a refund is", "permanent"),
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """A loop with a story for each kind of blocker, in which everything is blocked."""
    stories = {f"1-{place}": (kind,) for place, kind in enumerate(KINDS, 1)}
    ground = Ground(tmp_path_factory.mktemp("kinds"), stories).made()
    answers = "".join(
        f"*'1 {kind}**'*) {f'echo {said}' if said else 'touch part'};;" for kind, (said, _) in KINDS.items()
    )
    agent = CommandAgent(("/bin/sh", "-c", f'case "$(cat)" in {answers} esac'), "speaker")

    def look(loop: Loop) -> None:
        if len(loop.blocked_at) == len(KINDS):
            ground.stop.set()

    ground.meddle = look
    ground.drive(agents=[agent], tests=("surely-no-such-runner-here",), limits=Limits(stuck_after=0))
    return ground


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.requirement(f"story:blocker:kind:{kind}"), id=kind) for kind in KINDS]
)
def test_what_may_pass_is_told_from_what_needs_a_person(kinds: Ground, kind: str) -> None:
    number = [*KINDS].index(kind) + 1
    types = [data["type"] for data in kinds.brought("blocker_logged") if data["story"] == f"story-1-{number}"]
    assert types[0] == KINDS[kind][1]


@pytest.mark.requirement("story:runner:blocked")
@pytest.mark.requirement("story:runner:human")
@pytest.mark.requirement("story:runner:incomplete")
def test_without_a_runner_nothing_is_complete_and_a_person_is_needed(kinds: Ground) -> None:
    story = kinds.story("1-4")
    assert story.blocker_reason == "the test runner is missing: surely-no-such-runner-here"
    assert (story.status, story.requires_human, kinds.boxes("1-4")) == ("blocked", True, " ")
    assert kinds.commits() == []


# Git


@pytest.fixture(scope="module")
def conflicted(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """A loop in whose tree somebody has begun a merge with a conflict."""
    ground = Ground(tmp_path_factory.mktemp("conflicted")).made()
    merge = (
        "git checkout -qb one; echo a > x; git add x; git commit -qm a; git checkout -qb other HEAD~1; "
        "echo b > x; git add x; git commit -qm b; git checkout -q main"
    )
    subprocess.run(["/bin/sh", "-c", merge], cwd=ground.root, env=ground.environment, check=True)

    def meddle(loop: Loop) -> None:
        if loop.state == "COMMIT":
            files = own_tree(ground.root / ".ralf", loop.id)
            ours = ("git", "--git-dir", files.parent / "git", "--work-tree", files)
            for words in (("read-tree", "-m", "-u", "HEAD", "one"), ("update-ref", "MERGE_HEAD", "other")):
                subprocess.run([*ours, *words], cwd=files, env=ground.environment, check=True)

    ground.meddle = meddle
    ground.drive()
    return ground


@pytest.mark.requirement("story:git:logged")
@pytest.mark.requirement("story:git:conflict")
def test_a_merge_with_a_conflict_is_a_blocker_that_says_so(conflicted: Ground) -> None:
    [failed] = conflicted.brought("git_failed")
    assert "merge" in failed["failure"]
    assert conflicted.story().status == "blocked"
    assert "merge" in (conflicted.story().blocker_reason or "")
