"""An agent in the loop of a thread tries every way to pass a gate; the docs have a table of what came of it.

With `make test` the gates are guarded by a key that needs a passphrase, and of ways that are much alike one is tried;
`make test-exhaustive` tries each, and also fights where there is no key, and where the key signs by itself.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from exhaustive import EXHAUSTIVE

from . import attacker  # noqa: F401 - it adds the ways
from .arena import KEPT, MODES, NAMED, NOTHING, UNSEEN, Arena, Seen, fought
from .escapes import WAYS

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="not run: OpenSSH's client is missing"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="not run: processes are found in /proc"),
]

DOCS = Path(__file__).parents[2] / "docs" / "gates.md"
COLUMNS = {"none": 1, "open": 2, "passphrase": 3}
CUT = "the newest entries cut off, or an older copy put back: a decision is gone"
_VERB = re.compile(r"`ralph thread [a-z]+`")
_UNTRIED = {"in `script -qc`", "in a `tmux` that it starts", "in a pid namespace of its own, by `unshare`"}
"""The ways that need a program, or a right, which not every machine has."""
_EVERY_VERB = "every verb of `ralph thread` that is a person's"


def row_of(way: str) -> str:
    return _EVERY_VERB if _VERB.fullmatch(way) else way


def table() -> dict[str, list[str]]:
    """What the docs say: the outcomes of each way, by its name."""
    text = DOCS.read_text(encoding="utf-8").partition("<!-- ways -->")[2].partition("<!-- end of ways -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.strip().splitlines()[2:]]
    return {cells[0]: cells for cells in rows}


def test_the_docs_have_a_row_for_every_way_and_no_other() -> None:
    assert table().keys() == {row_of(way.name) for way in WAYS}


@pytest.mark.parametrize("mode", MODES if EXHAUSTIVE else ["passphrase"])
def test_the_docs_say_what_became_of_every_way_of_a_forging_agent(mode: str, tmp_path: Path) -> None:
    arena = fought(tmp_path, mode)
    seen = arena.seen()
    documented = table()
    found = {row_of(way): one.outcome for way, one in seen.items()}
    assert found == {row: documented[row][COLUMNS[mode]] for row in found}
    expected = {row_of(way.name) for way in WAYS if EXHAUSTIVE or way.is_always_tried}
    assert len(expected) > 35
    assert expected - found.keys() <= _UNTRIED, "it was not tried"
    _check_that_refusals_are_kept(arena, seen)
    if mode == "passphrase":
        _check_that_none_passed_unseen(seen)


def _check_that_refusals_are_kept(arena: Arena, seen: dict[str, Seen]) -> None:
    """Whoever was told no for not being a person is in the journal, and `ralph gate list` shows it."""
    told = {way: one for way, one in seen.items() if one.told.get("code") == 5 and "ticket" not in way}
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
