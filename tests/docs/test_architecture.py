"""The page that follows one iteration of `ralph work`: what it names is called, in that order."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from types import FrameType

from documents import DOCS, ROOT

from work.threads.benches import DONE
from work.ticket_driver.ways import made, planned

ROW = re.compile(r"^\| (\d+) \| `([\w/]+\.py)`: `(\w+)` \|", re.MULTILINE)


def _hops() -> list[tuple[str, str]]:
    text = (DOCS / "architecture.md").read_text().partition("## One iteration of `ralph work`")[2].partition("\n## ")[0]
    rows = ROW.findall(text)
    assert [int(number) for number, _, _ in rows] == list(range(1, len(rows) + 1))
    return [(path, name) for _, path, name in rows]


def test_every_hop_of_an_iteration_is_where_the_page_says() -> None:
    missing = [
        (path, name)
        for path, name in _hops()
        if not re.search(rf"^ *def {name}\(", (ROOT / "src" / "interlock" / path).read_text(), re.MULTILINE)
    ]
    assert missing == []


def test_an_iteration_goes_along_the_hops_of_the_page(tmp_path: Path) -> None:
    hops = [one for one in _hops() if not one[0].startswith("faces/")]
    source = f"{ROOT}/src/interlock/"
    called: list[tuple[str, str]] = []

    def seen(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(source):
            called.append((code.co_filename.removeprefix(source), code.co_name))

    way = planned(made(tmp_path / "repository"))
    way.play(DONE)
    threading.setprofile(seen)  # the journal writes in a thread of its own
    sys.setprofile(seen)
    try:
        way.walk(asks=True)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    rest = iter(called)
    missing = [hop for hop in hops if hop not in rest]
    assert missing == [], "each one is called after the one before it"
