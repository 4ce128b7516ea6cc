"""The recording of the demo: what a terminal showed is what the film shows, and nothing of the machine is in it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from docs.generate import ROOT
from docs.generators.film import film
from docs.generators.pace import paced
from docs.generators.recording import record
from docs.generators.screens import Event, Recording, filmed

FILM = ROOT / "docs" / "assets" / "demo.svg"
MOST_BYTES = 300_000
ROW = 19
SVG = "{http://www.w3.org/2000/svg}"
MADE_UP = (
    (0.0, "\x1b[1mone\x1b[0m  \x1b[2mfaint\x1b[0m\r\n"),
    (1.0, "two <&>\r\n"),
    (2.0, "half"),
    (3.0, "\r\x1b[Kwhole\r\n"),
    (4.0, "\x1b[32mfour\x1b[0m"),
)


def recording(*events: tuple[float, str], seconds: float = 10, lines: int = 3) -> Recording:
    return Recording(40, lines, tuple(Event(at, "o", text) for at, text in events), seconds)


class Picture:
    """A film, read from its file as a browser would at any moment."""

    def __init__(self, text: str, seconds: float, lines: int) -> None:
        self.root = ElementTree.fromstring(text)
        self.seconds, self.lines = seconds, lines
        [style] = [one.text or "" for one in self.root.iter(f"{SVG}style")]
        self.still: dict[str, str] = dict(re.findall(r"\.(\w+)\{([^;}]+);animation-name", style))
        self.steps: dict[str, list[tuple[float, str]]] = {
            name: [(float(at), look) for at, look in re.findall(r"([\d.]+)%\{([^}]*)\}", frames)]
            for name, frames in re.findall(r"@keyframes (\w+)\{((?:[^{}]+\{[^}]*\})+)\}", style)
        }

    def look(self, name: str, at: float | None) -> str:
        """What a class looks like at a time, or without animation."""
        if at is None:
            return self.still[name]
        return [look for when, look in self.steps[name] if when <= 100 * at / self.seconds + 0.01][-1]

    def text(self, at: float | None) -> list[str]:
        """The lines that are to be seen."""
        [scrolled] = re.findall(r"translateY\(-?(\d+)px\)", self.look("scroll", at))
        rows = [""] * self.lines
        for line in self.root.findall(f"{SVG}svg/{SVG}g/{SVG}g"):
            for run in line.findall(f"{SVG}text"):
                row = (int(run.attrib["y"]) - int(scrolled)) // ROW
                if self.look(line.attrib["class"], at) == "visibility:visible" and 0 <= row < self.lines:
                    rows[row] += f"{' ' if rows[row] else ''}{run.text}"
        return rows


def test_the_film_shows_at_each_time_what_the_terminal_showed() -> None:
    shown = filmed(recording(*MADE_UP))
    picture = Picture(film(shown, "a title", "what it is"), 10, 3)
    assert picture.text(0.5) == ["one faint", "", ""]
    assert picture.text(1.5) == ["one faint", "two <&>", ""]
    assert picture.text(2.5) == ["one faint", "two <&>", "half"], "the screen is full"
    assert picture.text(3.5) == ["two <&>", "whole", ""], "one is overwritten, and all scroll"
    assert picture.text(9.9) == ["two <&>", "whole", "four"]
    assert picture.text(None) == picture.text(9.9), "who wants nothing to move sees the end"
    texts = [one.text for one in picture.root.iter(f"{SVG}text")]
    assert texts.count("two <&>") == 1, "a line that scrolls is in the file once"
    looks = {one.text: (one.get("fill"), one.get("class")) for one in picture.root.iter(f"{SVG}text")}
    assert looks["one"] == (None, "b")
    assert looks["faint"][0] != looks["two <&>"][0] != looks["four"][0]


def test_a_long_recording_is_shortened_and_a_path_that_came_in_two_pieces_is_not_shown() -> None:
    said = [(float(number), f"line {number} in /some/where/demo-") for number in range(200)]
    events = [one for at, text in said for one in ((at, text), (at + 0.01, f"x{at:.0f}y\r\n"))]
    shown = paced(recording(*events, seconds=200), "go", lambda text: re.sub(r"/\S+-x\d+y", "/neutral", text))
    text = "".join(event.text for event in shown.events)
    assert (text.count("/neutral"), "where" in text) == (200, False)
    assert text.startswith("\x1b[1;32m$\x1b[0m go\r\n")
    assert 20 <= shown.seconds <= 30
    assert [event.at for event in shown.events] == sorted(event.at for event in shown.events)


def test_a_gate_is_answered_a_key_at_a_time_and_read_before(tmp_path: Path) -> None:
    script = 'printf "Type open and press Enter; anything else is no: "; read word; echo "you said $word"'
    found = record(["/bin/sh", "-c", script], tmp_path, {})
    assert [event.text for event in found.events if event.kind == "i"] == ["o", "p", "e", "n", "\n"]
    shown = paced(found, "go", str)
    texts = [event.text for event in shown.events]
    assert texts[-2].strip() == "you said open"
    asked = next(place for place, text in enumerate(texts) if "press Enter" in text)
    pauses = [after.at - before.at for before, after in zip(shown.events, shown.events[1:], strict=False)]
    assert texts[asked + 1 : asked + 5] == [*"open"]
    assert pauses[asked] > 1 > max(pauses[asked + 1 : asked + 4])


def test_a_program_that_fails_is_not_recorded(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="ended with 3"):
        record(["/bin/sh", "-c", "echo no; exit 3"], tmp_path, {})


def test_the_film_of_the_demo_is_small_and_whole_and_names_no_machine() -> None:
    text = FILM.read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES
    root = ElementTree.fromstring(text)
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= {*"svg title desc style rect circle text g".split()}
    assert "url(" not in text
    said = "\n".join(one.text or "" for one in root.iter(f"{SVG}text"))
    assert {*re.findall(r"(?<![\w.<])/\w[^\s)]*", said)} <= {"/tmp/interlock-demo"}
    assert {*re.findall(r"\w@([\w.-]+)", said)} <= {"example.org"}
    assert "ralph demo" in said
    assert len(re.findall(r"Type \w+ and press Enter", said)) >= 2, "a person passes the gates"
