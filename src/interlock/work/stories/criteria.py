"""PURE. The acceptance criteria of a story file: a list, labels, or blocks of Given, When and Then."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from interlock.work.formats.markdown import MarkdownLine, MarkdownText
from interlock.work.stories.stories import StoryCriterion

__all__ = ["criteria_of"]

_ITEM: Final = re.compile(r"(?:(?P<number>\d{1,4})[.)]|[-*+])[ \t]+(?:\[[ xX]\][ \t]+)?(?P<text>\S.*)")
_LABEL: Final = re.compile(
    r"(?:\*\*|__)?AC[ -]?#?(?P<number>\d{1,4})(?:\*\*|__)?[ \t]*[:.)–—-]?(?:\*\*|__)?(?:[ \t]+|$)"
)
_GIVEN: Final = re.compile(r"[*_]*Given\b", re.IGNORECASE)
_RULE: Final = re.compile(r"([-*_])(?:[ \t]*\1){2,}")
_HEADING: Final = re.compile(r"#{1,6}[ \t]+")
_STEP: Final = re.compile(r"[*_]*(?:When|Then|And|But)\b", re.IGNORECASE)


def criteria_of(page: MarkdownText) -> tuple[StoryCriterion, ...]:
    """The criteria of a story file, in its order; prose that is none of them is none.

    The numbers are those of the file. One that has none, or the same as another, gets the first that is free, because
    a judgement names a criterion by its number.
    """
    reader = _CriteriaReader()
    for line in page.body(page.section("acceptance criteria")):
        reader.take(line)
    drafts = [(one.number, " ".join(" ".join(one.parts).split())) for one in reader.found]
    return tuple(_numbered([(number, text) for number, text in drafts if text]))


def _numbered(drafts: list[tuple[int | None, str]]) -> Iterable[StoryCriterion]:
    given = {number for number, _ in drafts if number}
    free = (number for number in range(1, 2 * len(drafts) + 2) if number not in given)
    used: set[int] = set()
    for wanted, text in drafts:
        number = wanted if wanted and wanted not in used else next(free)
        used.add(number)
        yield StoryCriterion(number, text)


class _CriterionDraft(msgspec.Struct):
    number: int | None
    parts: list[str]


class _CriteriaReader(msgspec.Struct):
    """Reads the lines of the section; the first criterion shows how the others begin."""

    found: list[_CriterionDraft] = msgspec.field(default_factory=list)
    opens: str = ""
    """How criteria begin here: `number`, `bullet`, `label` or `given`; a heading that is no label starts over."""
    indent: int = 0

    def take(self, line: MarkdownLine) -> None:
        said = (line.raw if line.code else line.live).strip()
        if not said or _RULE.fullmatch(said):
            return
        heading = None if line.code else _HEADING.match(said)
        words = said[heading.end() :] if heading else said
        if heading and not _LABEL.match(words):
            self.opens = ""
        elif begins := self._begins(line, words, is_heading=bool(heading)):
            self.opens = self.opens or begins
            self._open(words)
        elif self.opens:
            self.found[-1].parts.append(said)

    def _begins(self, line: MarkdownLine, said: str, *, is_heading: bool) -> str:
        """How a criterion begins with this line; empty if none does."""
        item = None if line.code else _ITEM.fullmatch(said)
        if item and not is_heading and self.opens in ("", "number", "bullet"):
            return self._begins_item(line, item)
        if not line.code and _LABEL.match(said):
            return "label" if self.opens in ("", "label") or is_heading else ""
        return "given" if _GIVEN.match(said) and self.opens in ("", "given") else ""

    def _begins_item(self, line: MarkdownLine, item: re.Match[str]) -> str:
        kind = "number" if item["number"] else "bullet"
        indent = len(line.live[: len(line.live) - len(line.live.lstrip())].expandtabs(4))
        if not self.opens:
            self.indent = indent
        is_step = kind == "bullet" and self.opens == "bullet" and _STEP.match(item["text"]) is not None
        return kind if self.opens in ("", kind) and indent <= self.indent + 1 and not is_step else ""

    def _open(self, said: str) -> None:
        item = _ITEM.fullmatch(said)
        text = item["text"] if item else said
        label = _LABEL.match(text)
        number = label["number"] if label else item["number"] if item else None
        self.found.append(_CriterionDraft(int(number) if number else None, [text[label.end() :] if label else text]))
