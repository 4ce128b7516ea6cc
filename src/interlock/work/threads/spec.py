"""PURE. The spec of a thread: a Markdown text that people write, read for what has to be true at the end.

    # Greet by name                              the title

    ## Requirements                              every section whose heading speaks of a requirement, criteria,
                                                 acceptance, completion or verification holds criteria
    - [ ] `greet Ann` prints "Hello, Ann"        each item of a list there is one, numbered from 1 on
      - verify: `pytest tests/test_greet.py`     the command that judges it, if there is one; it is all of the line
      - also for names with accents              what else is nested in it belongs to it

    ## Protected                                 what nobody may change on the way
    - `tests/test_greet.py`

    <promise>COMPLETE</promise>                  the word by which an agent says that it is done

Blocks of code and comments mean nothing, a promise in them included. Headings deeper than the second level divide a
section without ending it. Test files that a criterion or its command names are protected as if they were listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from typing import Final

import msgspec

from interlock.work.formats.markdown import MarkdownLine, MarkdownText
from interlock.work.gates.statement import digest_of
from interlock.world.agents.promise import promise as said_by_an_agent

__all__ = ["Spec", "SpecCriterion", "faults", "parse_spec", "template"]

_CRITERIA: Final = ("requirement", "criteria", "acceptance", "completion", "verification")
_PROTECTED: Final = "protected"
_PROMISE: Final = re.compile(r"<promise>([^<]*)</promise>", re.IGNORECASE)
_ITEM: Final = re.compile(r"([ \t]*)(?:[-*+•]|[0-9]{1,9}[.)])(?:[ \t]+(.*))?")
_BOX: Final = re.compile(r"\[[ xX]\](?:[ \t]+(.*))?")
_RULE: Final = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*")
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]")
_VERIFY: Final = re.compile(r"verify[ \t]*:[ \t]*(.*)", re.IGNORECASE)
_WORD: Final = r"[^\s`'\"()\[\]{}<>|;&,=*?]+"
_TEST_NAME: Final = r"(?:test_.+|.+_test|.+_spec|.+[.-]test|.+[.-]spec|conftest|.+Tests?)\.[A-Za-z][A-Za-z0-9]{0,7}"
_TEST_PLACES: Final = frozenset({"test", "tests", "spec", "specs", "__tests__", "e2e"})
_FILE_NAME: Final = r"[^.].*\.[A-Za-z][A-Za-z0-9]{0,7}"
_MAX_PATH: Final = 500
_SHOWN: Final = 80


class SpecCriterion(msgspec.Struct, frozen=True):
    """One thing that has to be true, and the command that says so, if the spec gives one."""

    number: int
    text: str
    command: str | None = None


class Spec(msgspec.Struct, frozen=True, dict=True):
    """What a spec says."""

    title: str
    """Empty where there is none."""
    goal: str
    """The first paragraph below a heading that speaks of the goal; empty where there is none."""
    promise: str | None
    """As it is written: what an agent is told to say."""
    criteria: tuple[SpecCriterion, ...]
    listed: tuple[str, ...]
    """Protected paths relative to the root, `/` at the end for a directory."""
    oddities: tuple[str, ...]
    """What was written as if it meant something and could not be understood, a sentence each."""
    sha256: str
    """Of the whole text: the revision, as it is approved."""

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The test files that criteria name and nobody listed: one that is not there may be an agent's to write."""
        found = dict.fromkeys(path for one in self.criteria for path in _tests_in(one))
        return tuple(path for path in found if path not in self.listed)

    @property
    def protected(self) -> tuple[str, ...]:
        """All protected paths: those listed, then those named."""
        return (*self.listed, *self.named)

    @property
    def claim(self) -> str | None:
        """The promise as an agent's run reports it; None where none could be reported."""
        return _claim(self.promise)


def parse_spec(text: str) -> Spec:
    """What a text says. No text is an error; what it lacks, `faults` tells."""
    page = MarkdownText(text)
    reader = _SpecReader()
    for section in page.sections:
        name = section.name.lower()
        if section.level == 2 and name.startswith(_PROTECTED):
            reader.read_protected(page.body(section))
        elif section.level == 2 and any(word in name for word in _CRITERIA):
            reader.read_criteria(page.body(section))
    criteria = tuple(_numbered(reader.drafts))
    promises = list(_promises(page))
    return Spec(
        title=next((one.name for one in page.sections if one.level == 1 and one.name), ""),
        goal=_first_paragraph(page.body(page.section("goal"))),
        promise=promises[0] if promises else None,
        criteria=criteria,
        listed=tuple(dict.fromkeys(reader.protected)),
        oddities=(*_disagreement(promises), *reader.oddities),
        sha256=digest_of(text),
    )


def _first_paragraph(lines: Iterable[MarkdownLine]) -> str:
    """The words up to the first gap."""
    found: list[str] = []
    for line in lines:
        said = line.live.strip()
        if not said and found:
            break
        found += [said] if said else []
    return " ".join(found)


def template(title: str) -> str:
    """A spec to be filled in: a goal, and at least one criterion."""
    return f"""\
# {" ".join(title.split())}

## Goal

<!-- What is to be achieved, and for whom. -->

## Requirements

-

## Completion Criteria

<!-- What can be checked, one a line. A line below it may name the command that checks it:
- [ ] `greet Ann` prints "Hello, Ann"
  - verify: `pytest tests/test_greet.py`
-->

- [ ]

## Protected

<!-- Files and directories that must stay as they are, one a line. -->

## Notes

<promise>COMPLETE</promise>
"""


def faults(spec: Spec) -> list[str]:
    """Why this cannot be implemented yet: each with what to write."""
    found = []
    if spec.promise is None:
        found.append("The spec has no promise. Write `<promise>COMPLETE</promise>` outside of code and comments.")
    elif spec.claim is None:
        found.append(
            f"No agent could say the promise {spec.promise[:_SHOWN]!r}. Write one to nine words of letters, digits, "
            "`-` and `_` that begin with a letter, as in `<promise>COMPLETE</promise>`."
        )
    if not spec.criteria:
        found.append(
            "The spec has no completion criteria. Write a list below `## Completion Criteria`, each item one thing "
            "that can be checked: `- [ ] ...`."
        )
    return [*found, *spec.oddities]


# Lists


class _CriterionLines(msgspec.Struct):
    indent: int
    parts: list[str] = msgspec.field(default_factory=list)
    command: str | None = None


class _SpecReader(msgspec.Struct):
    """Reads the sections of a spec line by line."""

    drafts: list[_CriterionLines] = msgspec.field(default_factory=list)
    protected: list[str] = msgspec.field(default_factory=list)
    oddities: list[str] = msgspec.field(default_factory=list)

    def read_criteria(self, lines: Iterable[MarkdownLine]) -> None:
        current: _CriterionLines | None = None
        after_gap = False
        for line in lines:
            said = line.live
            if not said.strip() or _RULE.fullmatch(said):
                after_gap = True
                continue
            item = _item(said)
            if _HEADING.match(said):
                current = None
            elif item is None:
                if current and (not after_gap or _indent(said) > current.indent):
                    self._detail(current, line, said.strip())
                elif current:
                    current = None
            elif current and (item[0] > current.indent + 1 or (current.parts and _VERIFY.fullmatch(item[1]))):
                self._detail(current, line, item[1], is_item=True)
            else:
                current = _CriterionLines(item[0])
                self.drafts.append(current)
                self._detail(current, line, item[1])
            after_gap = False

    def _detail(self, draft: _CriterionLines, line: MarkdownLine, said: str, *, is_item: bool = False) -> None:
        """A line that belongs to a criterion: its command, or more of its text."""
        verify = _VERIFY.fullmatch(said)
        command = _code(verify[1]) if verify else None
        if not verify:
            if is_item and said and draft.parts and draft.parts[-1][-1] not in ":;,.":
                draft.parts[-1] += ";"
            draft.parts += [said] if said else []
        elif not command or line.live != line.raw.rstrip("\r\n"):
            self._odd(line, "a command is written in code, without comments: verify: `pytest tests/test_x.py`")
        elif draft.command is not None:
            self._odd(line, "the criterion has a command already. Join the two with `&&`")
        else:
            draft.command = command

    def read_protected(self, lines: Iterable[MarkdownLine]) -> None:
        for line in lines:
            item = None if _RULE.fullmatch(line.live) else _item(line.live)
            for said in _paths(item[1]) if item else ():
                path = _path(said)
                if path is None:
                    shown = said[:_SHOWN]
                    self._odd(line, f"{shown!r} is no path in the repository. Write one that is relative to its root")
                else:
                    self.protected.append(path)

    def _odd(self, line: MarkdownLine, why: str) -> None:
        self.oddities.append(f"Line {line.number + 1}: {why}.")


def _item(line: str) -> tuple[int, str] | None:
    """How far an item of a list is indented, and what it says, its box aside."""
    item = _ITEM.fullmatch(line.rstrip())
    if item is None:
        return None
    said = item[2] or ""
    box = _BOX.fullmatch(said)
    return _indent(line), (box[1] or "" if box else said).strip()


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip())].expandtabs(4))


def _numbered(drafts: Iterable[_CriterionLines]) -> Iterator[SpecCriterion]:
    """Items without a word, as in the template, are none; a command that stands alone is a criterion by itself."""
    written = ((" ".join(" ".join(one.parts).split()), one.command) for one in drafts)
    filled = ((text or f"`{command}` passes", command) for text, command in written if text or command)
    for number, (text, command) in enumerate(filled, 1):
        yield SpecCriterion(number, text, command)


def _code(said: str) -> str | None:
    """What a span of code holds, where the span is all that is said."""
    ticks = len(said) - len(said.lstrip("`"))
    fence = "`" * ticks
    body = said.strip()[ticks:-ticks] if ticks else ""
    is_span = bool(body.strip()) and said.strip().endswith(fence) and fence not in body and body[-1] != "`"
    return body.strip() if is_span else None


# Promises


def _promises(page: MarkdownText) -> Iterator[str]:
    for found in _PROMISE.finditer("\n".join(line.live for line in page.lines)):
        yield " ".join(found[1].split())


@cache
def _claim(promise: str | None) -> str | None:
    return said_by_an_agent(f"<promise>{promise}</promise>") if promise else None


def _disagreement(promises: list[str]) -> Iterator[str]:
    others = [one for one in promises[1:] if one != promises[0]]
    if others:
        first, other = promises[0][:_SHOWN], others[0][:_SHOWN]
        yield f"The spec promises {first!r} and {other!r}. Keep one `<promise>` and write the other without the tag."


# Paths


def _paths(said: str) -> list[str]:
    """The paths of an item: what is written as code, or else its first word."""
    return re.findall(r"`([^`]+)`", said) or said.split()[:1]


def _path(said: str) -> str | None:
    """A path relative to the root, without detours; None for one that leads elsewhere."""
    said = said.strip()
    parts = [part for part in said.split("/") if part not in ("", ".")]
    is_ours = bool(parts) and len(said) <= _MAX_PATH and said.isprintable() and "\\" not in said
    if not is_ours or said.startswith(("/", "~")) or ".." in parts or parts[0].lower() == ".git":
        return None
    return "/".join(parts) + ("/" if said.endswith("/") else "")


def _tests_in(criterion: SpecCriterion) -> Iterator[str]:
    """The test files that a criterion or its command names."""
    for word in re.findall(_WORD, f"{criterion.text} {criterion.command or ''}"):
        path = _path(word.partition(":")[0].rstrip(".!"))
        if path and _is_test(path):
            yield path


def _is_test(path: str) -> bool:
    *places, name = path.split("/")
    if re.fullmatch(_TEST_NAME, name):
        return True
    return not _TEST_PLACES.isdisjoint(places) and re.fullmatch(_FILE_NAME, name) is not None
