"""A run whose driver can be killed at any moment: gone on with, it comes to what it would have come to.

No role is asked again for an answer that was accepted; only who was at work when the driver died is.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from exhaustive import EXHAUSTIVE
from work.orchestration.journeys import JOURNEYS, SMALL, Answers, Leg, Server, Stage, set_up, travelled
from work.orchestration.mortal_runs import AT_WORK
from world.agents.runs import are_gone

LEGS = (Leg("begin", "Exit", "All parts"),)
DEATHS = 16 if EXHAUSTIVE else 2
"""How many tests kill: all of them together at every moment that there is, or each one at one of them."""
TRAVELLED = list(JOURNEYS) if EXHAUSTIVE else ["again", "people"]
EVENTS = {
    "whole": {
        *("planner_completed", "task_selected", "executor_completed", "reviewer_completed", "tasks_discovered"),
        *("review_pending", "no_tasks_remaining", "holistic_check_failed", "holistic_check_passed"),
    },
    "people": {"requirements_added", "task_reopened", "tasks_edited"},
}
"""What must come about on the way, for a test of its crashes to be one."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The process that all drivers of this module are children of, but one."""
    with Server(tmp_path_factory.mktemp("home")) as made:
        yield made


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Iterator[Callable[[str], Stage]]:
    """The journeys, each travelled when the first test asks for it."""
    made: dict[str, Stage] = {}

    def stage(name: str) -> Stage:
        if name not in made:
            directory = tmp_path_factory.mktemp(name.replace(" ", "-"))
            made[name] = travelled(directory, server, name)
        return made[name]

    yield stage
    for one in made.values():
        shutil.rmtree(one.directory)


@pytest.fixture(params=TRAVELLED)
def stage(request: pytest.FixtureRequest, stages: Callable[[str], Stage]) -> Stage:
    return stages(request.param)


@pytest.fixture
def again(stages: Callable[[str], Stage]) -> Stage:
    return stages("again")


def test_the_journeys_go_through_everything(stage: Stage) -> None:
    kinds = {one.partition(" ")[0] for moments in stage.moments for one in moments}
    assert {"journal", "append", "open", "os.rename", "start", "started"} <= kinds
    assert all(often == 1 for asked in stage.asked for often in asked.values()), "what was accepted is asked for once"
    events = {move[0] for moves in stage.results[-1]["moves"] for move in moves}
    assert events >= EVENTS.get(stage.directory.name.rstrip("0123456789"), frozenset())
    assert stage.results[0]["rejected"] == [] or "meddling" in stage.directory.name


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(DEATHS))
def test_a_driver_that_is_killed_is_followed_by_one_that_comes_to_the_same(stage: Stage, part: int) -> None:
    every = stage.every
    chosen = every[part::DEATHS] if EXHAUSTIVE else [every[random.Random(part).randrange(len(every))]]
    wrong = {}
    for leg, moment in chosen:
        found = _killed(stage, leg, [moment])
        if found:
            wrong[leg, str(stage.legs[leg]), moment, stage.moments[leg][moment]] = found
    assert wrong == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(20 if EXHAUSTIVE else 1))
def test_drivers_that_are_killed_again_and_again_come_to_the_same(stage: Stage, seed: int) -> None:
    chance = random.Random(seed)
    leg = chance.randrange(len(stage.legs))
    moments = [chance.randrange(max(1, len(stage.moments[leg]) // 2)) for _ in range(4)]
    assert _killed(stage, leg, moments) == {}


@pytest.mark.exhaustive
def test_a_run_whose_driver_was_killed_when_it_had_failed_is_gone_on_with_at_once(again: Stage) -> None:
    moments = again.moments[0]
    first = max(number for number, one in enumerate(moments) if one.startswith("os.rename") and "-r3.md" in one)
    wrong = {}
    for moment in range(first, len(moments) if EXHAUSTIVE else first + 1):
        again.restore(0)
        again.run(0, moment)
        assert again.state() == "Failed", "and its files do not say so yet"
        if found := _differing(again, 1):
            wrong[moment, moments[moment]] = found
    assert wrong == {}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("leg", "moment"), [(0, "os.link .ralph-sessions/.gitignore"), (1, "append transitions.jsonl")], ids=str
)
def test_what_a_driver_did_not_come_to_is_done_by_the_next(again: Stage, leg: int, moment: str) -> None:
    last = max(number for number, one in enumerate(again.moments[leg]) if one == moment)
    assert _killed(again, leg, [last]) == {}


@pytest.mark.sampled(0)
@pytest.mark.parametrize("stage", ["failed"], indirect=True)
def test_the_files_of_a_directory_that_was_found_are_nobodys_edits_for_the_next_driver(stage: Stage) -> None:
    leg = next(number for number, one in enumerate(stage.legs) if one.forgets)
    moments = stage.moments[leg]
    first = next(number for number, one in enumerate(moments) if one.startswith("os.rename") and "progress.md" in one)
    assert _killed(stage, leg, [first]) == {}


def test_a_comment_in_the_files_of_a_run_that_has_met_its_goal_stays(again: Stage) -> None:
    again.restore(1)
    assert again.run(1)["code"] == 0
    file = again.bench.root / ".ralph-sessions" / again.session_name / "progress.md"
    mine = f"{file.read_text()}\n## Mine\n\nIt took a while.\n"
    file.write_text(mine)
    assert again.run(1)["code"] == 0, "there is nothing to go on with"
    assert file.read_text() == mine
    assert again.result()["rejected"] == []


# Killed while somebody works for it


def _waiting(stage: Stage) -> int:
    """The number of a driver that was started and waits for somebody."""
    stage.prepare(0)
    stage.start(0)
    return int(stage.server.hear()[AT_WORK])


def _kill(stage: Stage, driver: int) -> None:
    os.kill(driver, signal.SIGKILL)
    assert stage.server.hear()["code"] == -signal.SIGKILL


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, server: Server) -> dict[str, object]:
    """What comes of a small run that nobody disturbs."""
    stage = set_up(tmp_path_factory.mktemp("small"), server, LEGS, SMALL)
    stage.travel()
    return stage.results[0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", list(SMALL))
def test_an_agent_whose_driver_was_killed_is_ended_and_asked_again(
    small: dict[str, object], tmp_path: Path, server: Server, name: str
) -> None:
    orphans = tmp_path / "orphans"
    answers: Answers = {**SMALL, name: {**SMALL[name], "wait": str(orphans)}}
    stage = set_up(tmp_path, server, LEGS, answers)
    _kill(stage, _waiting(stage))
    assert not are_gone(orphans)
    assert stage.run(0)["code"] == 0
    assert are_gone(orphans)
    assert stage.result() == small
    assert Counter(stage.log.read_text().splitlines()) == Counter({**dict.fromkeys(SMALL, 1), name: 2})


def test_verifiers_whose_driver_was_killed_are_ended_and_run_again(
    small: dict[str, object], tmp_path: Path, server: Server
) -> None:
    pids, pipe = tmp_path / "pids", tmp_path / "pipe"
    verifier = f"test -f {pids} || {{ echo $$ > {pids}; mkfifo {pipe}; echo {AT_WORK}; cat {pipe}; }}"
    stage = set_up(tmp_path, server, LEGS, SMALL, verifier)
    _kill(stage, _waiting(stage))
    assert not are_gone(pids)
    assert stage.run(0)["code"] == 0
    assert are_gone(pids)
    assert stage.result() == small
    assert Counter(stage.log.read_text().splitlines()) == Counter(dict.fromkeys(SMALL, 1))


def test_while_a_driver_lives_nobody_else_drives(small: dict[str, object], tmp_path: Path, server: Server) -> None:
    name, there = "executor task-1 1 @0", tmp_path / "there"
    stage = set_up(tmp_path, server, LEGS, {**SMALL, name: {**SMALL[name], "wait": str(there)}})
    with Server(tmp_path) as other:
        _waiting(stage)
        stage.start(0, server=other)
        refused = other.hear()
        there.with_suffix(".go").touch()
        assert stage.server.hear()["code"] == 0
    assert (refused["code"], refused["error"].partition(":")[0]) == (1, "lease_held")
    assert stage.result() == small


# What is compared


def _killed(stage: Stage, leg: int, moments: list[int]) -> dict[str, object]:
    """What is other than it would be had nobody been killed."""
    stage.restore(leg)
    interrupted: Counter[str] = Counter()
    for moment in moments:
        told = stage.run(leg, moment)
        is_short = moment > len(stage.moments[leg]) - 5 or len(moments) > 1
        assert told["code"] == -signal.SIGKILL or is_short, told["error"]
        interrupted.update(stage.at_death(leg))
    found = _differing(stage, leg)
    asked = Counter(stage.log.read_text().splitlines())
    again = asked - stage.asked[leg]
    if stage.asked[leg] - asked or not _were_at_work(again, interrupted):
        found["asked"] = (again, stage.asked[leg] - asked, interrupted)
    return found


def _differing(stage: Stage, leg: int) -> dict[str, object]:
    """What is other than it would be when a leg is gone to its end."""
    told = stage.run(leg)
    if told["code"]:
        return {"failed": told["error"][-3000:]}
    result, expected = _once(stage.result()), _once(stage.results[leg])
    return {key: (result[key], one) for key, one in expected.items() if result[key] != one}


def _once(result: dict[str, Any]) -> dict[str, Any]:
    """Who was asked twice for one answer, because the first was lost with its driver, counts once here.

    Both were paid, and both are in the journal; `asked` holds that it was only who was at work.
    """
    return {**result, "invocations": [[key for key, _ in groupby(one)] for one in result["invocations"]]}


def _were_at_work(again: Counter[str], interrupted: Counter[str]) -> bool:
    """Whether only those were asked again who had been at work when a driver died."""
    known = {one: sum(often for name, often in again.items() if name.startswith(one)) for one in interrupted}
    return sum(known.values()) == again.total() and all(often <= interrupted[one] for one, often in known.items())
