"""The tables of `docs/gates.md`, made from runs: each way in each mode, and each attempt with the sandbox and without.

`make forging` writes them; it takes some minutes. Tests compare them with samples of the same runs.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from scratch import in_memory

from . import attacker  # noqa: F401 - it adds the ways
from .arena import FAR, MODES, Arena, fought
from .escapes import WAYS
from .filling import FLOODS
from .machine import ATTEMPTS, Outcome
from .trees import ONLY_CONFINED, TRICKS
from .tricks import REACHED, flooded, tricked

__all__ = ["DOCS", "NOT_TRIED", "SANDBOXES", "attempts", "machine_outcome", "row_of", "ways"]

DOCS = Path(__file__).parents[2] / "docs" / "gates.md"
SANDBOXES = ("bubblewrap", "none")
NOT_TRIED = "not tried"
_VERB = re.compile(r"`ralph thread [a-z]+`")
_EVERY_VERB = "every verb of `ralph thread` that is a person's"
_WAYS = ("way", "in the sandbox, no key", "no key", "a key that signs by itself", "a key with a passphrase")
_ATTEMPTS = ("attempt", "in the sandbox", "without")


def row_of(way: str) -> str:
    return _EVERY_VERB if _VERB.fullmatch(way) else way


def machine_outcome(one: Outcome) -> str:
    return REACHED if one.is_reached else FAR


def ways() -> dict[str, dict[str, str]]:
    """The outcomes of each way by its mode, as the docs say."""
    return _read("ways", MODES)


def attempts() -> dict[str, dict[str, str]]:
    """The outcomes of each attempt by its sandbox, as the docs say."""
    return _read("attempts", SANDBOXES)


def _read(name: str, columns: Sequence[str]) -> dict[str, dict[str, str]]:
    text = DOCS.read_text(encoding="utf-8").partition(f"<!-- {name} -->")[2].partition(f"<!-- end of {name} -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.strip().splitlines()[2:]]
    return {first: dict(zip(columns, rest, strict=True)) for first, *rest in rows}


def _write(name: str, head: Sequence[str], rows: Mapping[str, Sequence[str]]) -> None:
    lines = [head, ["---"] * len(head), *([first, *rest] for first, rest in rows.items())]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    before, mark, rest = DOCS.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- end of {name} -->")
    DOCS.write_text(f"{before}{mark}{table}\n{end}{after}", encoding="utf-8")


def _made(place: Path) -> Path:
    place.mkdir()
    return place


def main(place: Path) -> None:
    arenas: dict[str, Arena] = {}
    for mode in MODES:
        sys.stderr.write(f"{mode}\n")
        arenas[mode] = fought(place / str(len(arenas)), mode)  # its name must not be what is asked for
    seen = {mode: {row_of(way): one.outcome for way, one in arena.seen().items()} for mode, arena in arenas.items()}
    names = dict.fromkeys(row_of(way.name) for way in WAYS)
    _write("ways", _WAYS, {name: [seen[mode].get(name, NOT_TRIED) for mode in MODES] for name in names})
    machine = {mode: arenas[mode].machine() for mode in ("sandbox", "none")}
    rows = {
        one.name: [
            machine_outcome(machine[mode][one.name]) if one.name in machine[mode] else NOT_TRIED
            for mode in ("sandbox", "none")
        ]
        for one in ATTEMPTS
    }
    for number, name in enumerate(TRICKS):
        sys.stderr.write(f"{name}\n")
        confined = tricked(_made(place / f"trick-{number}"), name, "bubblewrap")[0]
        plain = NOT_TRIED if name in ONLY_CONFINED else tricked(_made(place / f"plain-{number}"), name, "none")[0]
        rows[name] = [confined, plain]
    for number, name in enumerate(FLOODS):
        sys.stderr.write(f"{name}\n")
        rows[name] = [flooded(_made(place / f"flood-{number}"), name)[0], NOT_TRIED]
    _write("attempts", _ATTEMPTS, rows)


if __name__ == "__main__":
    tempfile.tempdir = in_memory()
    with tempfile.TemporaryDirectory(prefix="ralph-forging-") as directory:
        os.environ["XDG_STATE_HOME"] = f"{directory}/state"
        main(Path(directory))
    sys.exit(0)
