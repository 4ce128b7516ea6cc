"""An agent in the loop of a thread tries every way to pass a gate; the docs have a table of what came of it.

With `make test` the agent is in a sandbox, or the gates are guarded by a key that needs a passphrase, and of ways that
are much alike one is tried; `make test-exhaustive` tries each, and also fights where there is no key, and where the key
signs by itself. `make forging` makes the tables.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from exhaustive import EXHAUSTIVE
from interlock.world.sandbox.choosing import choose
from interlock.world.sandbox.unconfined import Unavailable

from . import attacker  # noqa: F401 - it adds the ways
from .arena import FAR, KEPT, MODES, NAMED, NOTHING, UNSEEN, Arena, Seen, fought
from .escapes import WAYS
from .filling import FLOODS
from .machine import ATTEMPTS
from .table import NOT_TRIED, SANDBOXES, attempts, machine_outcome, row_of, ways
from .trees import ONLY_CONFINED, TRICKS
from .tricks import ENDED, REACHED, flooded, tricked

pytestmark = [
    pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="not run: OpenSSH's client is missing"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="not run: processes are found in /proc"),
]
_needs_sandbox = pytest.mark.skipif(
    isinstance(choose("bubblewrap"), Unavailable), reason="not run: bubblewrap does not work here"
)

CUT = "the newest entries cut off, or an older copy put back: a decision is gone"
_UNTRIED = {"in `script -qc`", "in a `tmux` that it starts", "in a pid namespace of its own, by `unshare`"}
"""The ways that need a program, or a right, which not every machine has."""
_SOMEWHERE = {"`TIOCSTI` and text on every terminal", "`tmux send-keys` to the person's tmux"}
"""The attempts that need, without a sandbox, what not every machine has."""
_SAMPLED = ("sandbox", "passphrase")


def test_the_docs_have_a_row_for_every_way_and_no_other() -> None:
    assert ways().keys() == {row_of(way.name) for way in WAYS}
    assert attempts().keys() == {*(one.name for one in ATTEMPTS), *TRICKS, *FLOODS}


def test_in_the_sandbox_no_way_passes_and_no_attempt_reaches_anything() -> None:
    """The tables say so; the tests below hold that they are true."""
    assert {one["sandbox"] for one in ways().values()} <= {KEPT, NOTHING, FAR, NOT_TRIED}
    assert {one["bubblewrap"] for one in attempts().values()} <= {KEPT, NOTHING, FAR, ENDED}
    assert len(attempts()) > 60
    assert {name for name, one in attempts().items() if one["none"] == REACHED} >= {
        one.name for one in ATTEMPTS if not one.is_for_sandbox
    }, "what is out of reach in the sandbox is not without it"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(one, marks=_needs_sandbox if one == "sandbox" else ())
        for one in MODES
        if EXHAUSTIVE or one in _SAMPLED
    ],
)
def test_the_docs_say_what_became_of_every_way_of_a_forging_agent(mode: str, tmp_path: Path) -> None:
    arena = fought(tmp_path, mode)
    seen = arena.seen()
    documented = ways()
    found = {row_of(way): one.outcome for way, one in seen.items()}
    assert found == {row: documented[row][mode] for row in found}
    expected = {row_of(way.name) for way in WAYS if EXHAUSTIVE or way.is_always_tried}
    assert len(expected) > 35
    assert expected - found.keys() <= _UNTRIED, "it was not tried"
    if mode == "sandbox":
        _check_that_it_ran_and_was_stopped(seen)
    else:
        _check_that_refusals_are_kept(arena, seen)
    if mode == "passphrase":
        _check_that_none_passed_unseen(seen)
    if mode in ("sandbox", "none"):
        _check_the_machine(arena)


def _check_that_it_ran_and_was_stopped(seen: dict[str, Seen]) -> None:
    """Each way says what it met: the answer of a command, or the errors of what it looked for."""
    for way, one in seen.items():
        assert one.told.get("lacks") or one.told["said"], way
        assert "/attack/" not in one.told["said"], f"{way} did not find its own program"


def _check_the_machine(arena: Arena) -> None:
    documented, found = attempts(), arena.machine()
    column = "bubblewrap" if arena.mode == "sandbox" else "none"
    for name, one in found.items():
        assert "broken" not in one.said, (name, one.said)
        if arena.mode == "sandbox" or name not in _SOMEWHERE:
            assert machine_outcome(one) == documented[name][column], (name, one.said)
    assert found.keys() == {one.name for one in ATTEMPTS if arena.mode == "sandbox" or not one.is_for_sandbox}
    if arena.mode == "sandbox":
        assert arena.reached == [], "a program of the person was spoken to"
        assert arena.after == arena.before, "something of the person's was changed"
        arena.finish()


def _check_that_refusals_are_kept(arena: Arena, seen: dict[str, Seen]) -> None:
    """Whoever was told no for not being a person is in the journal, and `ralph gate list` shows it."""
    refused = {way: one for way, one in seen.items() if one.told.get("code") == 5 and "ticket" not in way}
    told = {way: one for way, one in refused.items() if "setup_required" not in one.told["said"]}
    assert {way for way, one in told.items() if not one.attempts} == set()
    listed = [one["why"] for one in arena.refused()]
    here = [one for one in told.values() if one.told["place"] == str(arena.root)]
    assert {why for one in here for why in one.attempts} <= set(listed)
    assert len(listed) >= len(here)


def _check_that_none_passed_unseen(seen: dict[str, Seen]) -> None:
    """The promise: with a key that needs a passphrase, each is refused, does nothing, or is named by the journal."""
    assert {way for way, one in seen.items() if one.outcome not in (KEPT, NOTHING, NAMED)} == {CUT}
    assert seen[CUT].outcome == UNSEEN
    terminal = seen["on the person's terminal device, from a process that was there before"].told["said"]
    assert "TIOCSTI: " in terminal


_PLAYED = [
    (name, sandbox) for name in TRICKS for sandbox in SANDBOXES if sandbox != "none" or name not in ONLY_CONFINED
]


@_needs_sandbox
@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "sandbox"), _PLAYED)
def test_the_tree_is_one_and_nothing_runs_outside_whatever_an_agent_does_to_it(
    name: str, sandbox: str, tmp_path: Path
) -> None:
    outcome, said = tricked(tmp_path, name, sandbox)
    assert outcome == attempts()[name][sandbox], said


@_needs_sandbox
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FLOODS)
def test_a_run_that_fills_something_is_ended_and_the_driver_lives(name: str, tmp_path: Path) -> None:
    outcome, said = flooded(tmp_path, name)
    assert outcome == attempts()[name]["bubblewrap"], said
