"""Write what is made from the code: `python -m docs.generate`; with `--check` only say what is out of date.

It makes the pages and pictures of the machines, the marked blocks of the other pages, and the four files beside
the definitions that are read instead of loading or checking a machine, and the plugin for Claude Code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from docs.generators.columns import columns, migrations
from docs.generators.commands import commands, overview
from docs.generators.errors import catalogue, exits
from docs.generators.findings import findings
from docs.generators.keys import keys
from docs.generators.machine_pages import page
from docs.generators.markdown import fill
from docs.generators.tools import resources, settings, tools
from interlock.faces.drawing.svg import sheet, svg
from interlock.machine import INTERNAL, SHIPPED, load_shipped
from interlock.machine.check import EDITION, check
from interlock.machine.describe import summarise
from interlock.machine.form import schema
from interlock.machine.load import FORMS, shipped_forms
from interlock.work.setup.claude_plugin import marketplace
from interlock.world.machines import REPORTS

__all__ = ["ROOT", "main", "outdated", "texts"]

ROOT = Path(__file__).parent.parent
_BLOCKS = {
    "machines.md": {"keys": keys},
    "checking.md": {"findings": findings},
    "journal.md": {"columns": columns, "migrations": migrations},
    "commands.md": {"exits": exits, "overview": overview, "commands": commands},
    "errors.md": {"errors": catalogue},
    "mcp.md": {"tools": tools, "resources": resources},
    "settings.md": {"settings": settings},
}
"""For each page its marked blocks, and what makes them."""


def texts(root: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Every generated file of the tree at `root`, with the text it must have."""
    docs, definitions = root / "docs", root / "src" / "interlock" / "machine" / "definitions"
    machines = [load_shipped(name) for name in SHIPPED]
    yield definitions / "index.json", _json([summarise(machine) for machine in machines])
    yield definitions / "machine.schema.json", _json(schema())
    yield definitions / FORMS.name, msgspec.json.format(msgspec.json.encode(shipped_forms()), indent=1).decode() + "\n"
    yield definitions / REPORTS.name, _reports()
    for machine in machines:
        yield docs / "machines" / f"{machine.name}.md", page(machine)
        yield docs / "machines" / f"{machine.name}.svg", svg(machine)
    yield root / "src" / "interlock" / "faces" / "web" / "static" / "diagram.css", sheet().lstrip()
    yield from ((root / name, text) for name, text in marketplace().items())
    for name, blocks in _BLOCKS.items():
        text = (docs / name).read_text(encoding="utf-8")
        for block, make in blocks.items():
            text = fill(text, block, make())
        yield docs / name, text


@cache
def _reports() -> str:
    """The checker's findings for every shipped machine. Checking them all takes seconds."""
    machines = map(load_shipped, (*SHIPPED, *INTERNAL))
    reports = {EDITION: {machine.digest: check(machine) for machine in machines}}
    return msgspec.json.format(msgspec.json.encode(reports), indent=1).decode() + "\n"


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def outdated(root: Path = ROOT) -> list[tuple[Path, str]]:
    """The generated files that are missing or differ, with the text they must have."""
    return [(path, text) for path, text in texts(root) if not path.exists() or path.read_text(encoding="utf-8") != text]


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write what is out of date, or with `--check` name it and give 1."""
    check = arguments == ["--check"]
    if arguments and not check:
        sys.stderr.write("usage: python -m docs.generate [--check]\n")
        return 64
    found = outdated(root)
    for path, text in found:
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{'out of date' if check else 'written'}: {path.relative_to(root)}\n")
    if check and found:
        sys.stderr.write("Run `make generate`.\n")
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
