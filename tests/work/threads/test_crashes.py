"""A thread whose every verb can be killed at any moment: said again, it comes to what it would have come to."""

from __future__ import annotations

import random
import signal
from collections import Counter

import pytest

from exhaustive import EXHAUSTIVE
from work.threads.journeys import JOURNEYS, Stage, travelled

DEATHS = 24 if EXHAUSTIVE else 2
"""How many tests kill: all of them together at every moment that there is, or each one at one of them."""


@pytest.fixture(scope="module", params=list(JOURNEYS))
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return travelled(tmp_path_factory.mktemp(request.param), request.param)


def test_the_journeys_go_through_every_kind_of_moment(stage: Stage) -> None:
    kinds = Counter(one.partition(" ")[0] for moments in stage.moments for one in moments)
    assert {"journal", "open", "os.rename", "start", "started"} <= kinds.keys()
    named = {one for moments in stage.moments for one in moments}
    assert {"start git update-ref", "started git update-ref", "start python -I", "start sh sh"} <= named
    assert all(result["main"] == stage.results[-1]["main"] for result in stage.results[4:])


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(DEATHS))
def test_a_verb_that_is_killed_comes_to_the_same_when_it_is_said_again(stage: Stage, part: int) -> None:
    every = stage.every
    chosen = every[part::DEATHS] if EXHAUSTIVE else [every[random.Random(part).randrange(len(every))]]
    wrong = {}
    for leg, moment in chosen:
        found = _killed(stage, leg, moment)
        if found:
            wrong[leg, str(stage.legs[leg]), moment, stage.moments[leg][moment]] = found
    assert wrong == {}


def test_a_reset_that_is_killed_as_head_moves_is_ended_by_the_next_call(stage: Stage) -> None:
    name = "started git symbolic-ref"
    legs = [number for number, one in enumerate(stage.legs) if one.verb in ("revise", "abandon")]
    found = [(leg, stage.moments[leg].index(name)) for leg in legs if name in stage.moments[leg]]
    assert bool(found) == bool(legs)
    assert [wrong for one in found if (wrong := _killed(stage, *one))] == []


def _killed(stage: Stage, leg: int, moment: int) -> dict[str, object]:
    """What is other than it would be had nobody been killed."""
    stage.restore(leg)
    there = stage.contents()
    code, _, _ = stage.run(leg, moment)
    assert code == -signal.SIGKILL or moment > len(stage.moments[leg]) - 5, "some processes say more, some less"
    found: dict[str, object] = {}
    if leg:
        stage.at_death(leg)
        if lost := there - stage.contents() - stage.kept():
            found["lost at death"] = lost
    code, _, said = stage.run(leg)
    if code:
        return found | {"failed": said[-2000:]}
    result, expected = stage.result(), stage.results[leg]
    found |= {
        key: (result[key], one)
        for key, one in expected.items()
        if key not in ("version", "refs", "charged") and result[key] != one
    }
    if missing := set(expected["refs"]) - set(result["refs"]):
        found["refs"] = missing
    if lost := there - stage.contents() - stage.kept():
        found["lost"] = lost
    return found | _overcharged(stage, leg)


def _overcharged(stage: Stage, leg: int) -> dict[str, object]:
    """A run is charged for once; one that was killed before it could say what it cost is begun again."""
    charged, ran = stage.charges()
    before = stage.results[leg - 1]["charged"] if leg else Counter()
    new = charged - before
    is_right = new["agent"] <= ran["agent"] and new["judge"] <= ran["judge"]
    return {} if is_right else {"charged": (new, ran)}
