"""The whole way of a ticket with each driver and on each board, by walkers that are killed: the next one comes to the
same end, with one commit at the gate, one comment for each move, and no agent asked twice for what it said.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from exhaustive import EXHAUSTIVE
from work.ticket_driver.journeys import BOARDS, BUILT, DRIVERS, PARTS, PLANNED, Journey, Leg, journey

DEATHS = 8 if EXHAUSTIVE else 1
"""How many tests kill, for each leg: all of them together at every moment that there is, or each one at one of them."""
MOVES = ["Research Needed", "Ready for Plan", "Plan in Review"]
PREPARED = [("plan", "ticket"), ("research", "ticket"), ("triage", "ticket")]
SESSIONS = {
    "plain": [("implementer", "thread"), ("judge", "thread")],
    "story": [("implementer", "story"), ("judge", "story"), ("judge", "thread")],
    "orchestrator": [
        ("executor", "orchestrator"),
        ("judge", "thread"),
        ("planner", "orchestrator"),
        ("reviewer", "orchestrator"),
    ],
}
"""Who was sent with each driver, and for what."""
FILES = {"story": ["greeting.txt", "progress.txt"]}


@pytest.fixture(scope="module", params=BOARDS if EXHAUSTIVE else ["github"])  # which has all that the local one has
def new(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journey]:
    with journey(tmp_path_factory.mktemp(request.param), request.param) as made:
        yield made


@pytest.fixture(scope="module")
def moments(new: Journey) -> list[str]:
    """Those of the way to a plan. Where it ends is kept."""
    moments = new.walk_all(PLANNED, DRIVERS[0])
    new.keep(PLANNED.name)
    return moments


def planned(new: Journey) -> dict[str, Any]:
    """What is so of a ticket that has a plan."""
    commits = 3 if new.server is not None else 2
    return {
        "ticket": ("Plan in Review", None, None),
        "moves": MOVES,
        "sessions": PREPARED,
        "open": [],
        "held": [],
        "main": str(commits),
        "status": "",
        "threads": [],
    }


def built(new: Journey, driver: str) -> dict[str, Any]:
    """What is so of a ticket that was built, committed and merged."""
    thread = {
        "state": ("Done", "success", "ticket"),
        "gates": ["finalize", "approve", "commit"],
        "commits": "1",
        "files": FILES.get(driver, ["greeting.txt"]),
        "is merged": True,
    }
    before = planned(new)
    return before | {
        "ticket": ("Done", "success", None),
        "moves": [*MOVES, "In Progress", "In Review", "Done"],
        "sessions": sorted([*PREPARED, *SESSIONS[driver]]),
        "main": str(int(before["main"]) + 1),
        "threads": [thread],
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(DEATHS))
def test_the_way_to_a_plan_is_the_same_whenever_the_walker_is_killed(
    new: Journey, moments: list[str], part: int
) -> None:
    new.go_back(PLANNED.name)
    assert (new.found(), new.asked) == (planned(new), PARTS["plain"][:3])
    assert _killed(new, "new", PLANNED, "plain", moments, part, planned(new)) == {}


@pytest.mark.sampled(1)
@pytest.mark.exhaustive
@pytest.mark.usefixtures("moments")
@pytest.mark.parametrize("part", range(DEATHS))
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_plan_is_built_committed_and_merged_whenever_the_walker_is_killed(
    new: Journey, driver: str, part: int
) -> None:
    new.go_back(PLANNED.name)
    moments = new.walk_all(BUILT, driver)
    assert (new.found(), new.asked) == (built(new, driver), PARTS[driver])
    assert _killed(new, PLANNED.name, BUILT, driver, moments, part, built(new, driver)) == {}


def _killed(
    new: Journey, start: str, leg: Leg, driver: str, moments: list[str], part: int, expected: dict[str, Any]
) -> dict[tuple[int, str], object]:
    """What is other than it would be had nobody been killed, for each of the chosen moments."""
    every = range(len(moments))
    chosen = every[part::DEATHS] if EXHAUSTIVE else [random.Random(f"{driver} {leg.name}").choice(every)]
    wrong: dict[tuple[int, str], object] = {}
    for moment in chosen:
        new.go_back(start)
        code, _, _ = new.walk(leg, driver, moment)
        assert code == -signal.SIGKILL or moment > len(moments) - 10, "some processes say more, some less"
        accepted = new.accepted()
        code, told, failed = new.walk(leg, driver)
        if code or not told.startswith(leg.why):
            wrong[moment, moments[moment]] = (told[:300], failed[-2000:])
            continue
        found, parts = new.found(), PARTS[driver][: len(PARTS[driver]) if leg is BUILT else 3]
        different = {key: (found[key], one) for key, one in expected.items() if found[key] != one}
        once_more = [(*parts[: at + 1], *parts[at:]) for at in range(accepted, len(parts))]
        if new.asked not in (parts, *once_more):
            different["asked"] = (new.asked, accepted)
        if different:
            wrong[moment, moments[moment]] = different
    return wrong
