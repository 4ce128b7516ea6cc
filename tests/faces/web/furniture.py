"""What stands in the furnished repository: a small library for dates, specs of its threads, and what agents play."""

from __future__ import annotations

from typing import Any

from work.orchestration.playing import blocked, done, plan, qualified, rejected, says, task, updated
from work.threads.benches import Steps, shell

__all__ = [
    "BUILT",
    "DRAFTS",
    "FILES",
    "GOAL",
    "HALF",
    "LIVE",
    "MET",
    "NAMELESS",
    "PLANNED",
    "PLAYED",
    "PRINTED",
    "PRINTING",
    "REASONS",
    "SPECS",
    "STORIES",
    "TICKETS",
    "TRIED",
    "UNMET",
    "VERDICTS",
]

FILES = {
    "dates.py": '''"""Dates as people write them."""

from datetime import date


def parse(text: str) -> date:
    """A date of ISO 8601."""
    return date.fromisoformat(text)
''',
    "test_dates.py": """import unittest
from datetime import date

from dates import parse


class Dates(unittest.TestCase):
    def test_iso(self) -> None:
        self.assertEqual(parse("2026-03-01"), date(2026, 3, 1))
""",
}
BUILT = '''"""Dates as people write them."""

from datetime import date, timedelta

_WORDS = {"yesterday": -1, "today": 0, "tomorrow": 1}  # days from now


def parse(text: str, today: date | None = None) -> date:
    """A date of ISO 8601, or a day beside today."""
    days = _WORDS.get(text.strip().lower())
    if days is None:
        return date.fromisoformat(text)
    return (today or date.today()) + timedelta(days=days)
'''
_TESTED = """

class Words(unittest.TestCase):
    def test_words(self) -> None:
        self.assertEqual(parse("Tomorrow", date(2026, 3, 1)), date(2026, 3, 2))
"""


def _spec(title: str, goal: str, *criteria: str) -> str:
    listed = "\n".join(f"- [ ] {one}" for one in criteria)
    return f"# {title}\n\n## Goal\n\n{goal}\n\n## Completion Criteria\n\n{listed}\n\n<promise>COMPLETE</promise>\n"


_CHECKED = "\n  - verify: `python3 -m unittest -q`"
DRAFTS = (
    _spec("Parse durations", "`2 h 30 min` becomes a timedelta.", "hours and minutes are read"),
    _spec(
        "Parse durations",
        "`2 h 30 min` and `PT2H30M` become a timedelta.",
        f"hours and minutes are read{_CHECKED}",
        "what is not a duration is refused with its place in the text",
    ),
)
SPECS = {
    "Day names in German": _spec(
        "Day names in German",
        "`Montag` is a day.",
        f"the tests pass{_CHECKED}",
        "umlauts and capitals are read as people write them",
    ),
    "Yesterday, today, tomorrow": _spec(
        "Yesterday, today, tomorrow",
        "People say days by words.",
        f"the three words are read{_CHECKED}",
        "ISO dates are read as before",
    ),
    "Zones by name": _spec(
        "Zones by name", "`Europe/Berlin` is a zone.", f"the tests pass{_CHECKED}", "it says which zone it took"
    ),
    "Months in words": _spec(
        "Months in words", "`1 March 2026` is a date.", f"the tests pass{_CHECKED}", "short names are read, too"
    ),
    "Weeks of the year": _spec(
        "Weeks of the year", "`2026-W09` is a week.", f"the tests pass{_CHECKED}", "week 53 is known"
    ),
}


def _paid(cost: float, tokens: int) -> Steps:
    return [{"usage": {"input": tokens, "output": tokens // 8, "cached": tokens // 2}}, {"cost": cost}]


def _wrote(path: str, text: str) -> dict[str, Any]:
    return {"write": {"path": path, "text": text}}


_END: Steps = [{"promise": "COMPLETE"}, {"finish": True}]
PLAYED: Steps = [
    {"say": "I read the spec and the tests first."},
    {"tool": {"name": "Read", "about": "dates.py"}},
    _wrote("dates.py", BUILT),
    {"append": {"path": "test_dates.py", "text": _TESTED}},
    {"tool": {"name": "Bash", "about": "python3 -m unittest -q"}},
    *_paid(0.42, 61_000),
    {"say": "The three words are read, and there is a test for each."},
    *_END,
]
NAMELESS: Steps = [_wrote("weeks.py", "WEEKS = 53\n"), *_paid(0.31, 40_000), {"say": "Week 53 is known."}, *_END]
TRIED: Steps = [
    shell("echo '# Montag' >> dates.py"),
    *_paid(0.27, 38_000),
    {"say": "Monday to Sunday are read in German. All of it is there."},
    *_END,
]
HALF: Steps = [
    shell("echo '# zones' >> dates.py"),
    *_paid(0.18, 22_000),
    {"say": "Half of the zones are read; the rest comes next."},
    {"finish": True},
]
LIVE: Steps = [
    {"say": "I look at how dates are read now, and write a test for the months first."},
    {"tool": {"name": "Read", "about": "dates.py"}},
    {"tool": {"name": "Edit", "about": "test_dates.py: twelve months, long and short"}},
    {"tool": {"name": "Bash", "about": "python3 -m unittest -q"}},
    {"say": "11 of 12 pass. “Sept” is a short name that people use, too; I read it as September."},
]
MET: Steps = [{"say": "CRITERION 1: PASS\nCRITERION 2: PASS"}, {"finish": True}]
UNMET: Steps = [{"say": "CRITERION 2: FAIL - “märz” with a small letter is refused"}, {"finish": True}]

TICKETS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "Dates with a time and no zone are read as local",
        "Human Needed",
        {"priority": "P0", "estimate": "M", "labels": ["bug"]},
    ),
    ("Parse durations", "Backlog", {"priority": "P2", "estimate": "S", "labels": ["parsing"]}),
    ("A calendar for fiscal years", "Backlog", {"priority": "P3", "estimate": "L"}),
    ("Ranges: “from Monday to Friday”", "Research Needed", {"priority": "P1", "estimate": "M", "labels": ["parsing"]}),
    ("Holidays of a country", "Ready for Plan", {"priority": "P2", "estimate": "L"}),
    (
        "Repeating dates, as in a calendar",
        "Plan in Review",
        {"priority": "P1", "estimate": "M", "labels": ["parsing", "api"]},
    ),
    ("Months in words", "In Progress", {"priority": "P1", "estimate": "S"}),
    ("Yesterday, today, tomorrow", "In Review", {"priority": "P1", "estimate": "S", "labels": ["parsing"]}),
    ("Weeks of the year", "Done", {"priority": "P2", "estimate": "S"}),
    ("Roman numerals", "Canceled", {"priority": "P3", "estimate": "XS"}),
)
REASONS = {
    "Human Needed": "Local time or UTC? The two customers who wrote want different things.",
    "Plan in Review": "The plan is in docs/plans/repeating.md; it adds one dependency.",
    "In Review": "Built and verified; the pull request is open.",
    "Canceled": "Nobody asked for it.",
    "Done": "Merged.",
}
"""Why a ticket was handed to a state."""
STORIES = {
    "1-1": ("read a clock time", "read am and pm"),
    "1-2": ("ask the service for holidays",),
    "1-3": ("print a date in words", "print it in German"),
}


def _part(number: int, what: str, *needs: str) -> dict[str, Any]:
    return {**task(number, *needs), "description": what}


_PARTS = (
    _part(1, "keep the words of a language in one file"),
    _part(2, "take the words from the operating system"),
    _part(3, "read months and days in German", "task-1"),
    _part(4, "read them in French, to see that it holds", "task-1"),
    _part(5, "say in the README how to add a language"),
)
_ASKED = {
    "number": 1,
    "text": "Which languages are wanted first?",
    "category": "Requirements",
    "priority": "High",
    "impact": "It decides what is tested.",
}
_KNOWN = {"answer": "German and French: two open tickets name them.", "source": "README:1", "confidence": "High"}
_WRONG = "“März” is read as “Mar” and then refused: compare whole words, not three letters"
GOAL = "Dates are read in the languages of our users"
PLANNED: tuple[Steps, ...] = (
    says(status="needs_qa_cycle", goal=GOAL, questions=[_ASKED["text"]]),
    says(status="completed", questions=[{**_ASKED, **_KNOWN, "status": "Answered"}], summary="The tickets say so."),
    plan(*_PARTS),
    [*_paid(0.24, 31_000), *done(1)],
    blocked(2, "the operating system of the tests has no words but English ones"),
    updated(closes=("task-2",)),
    *([*_paid(0.35, 52_000), *done(3, summary_of_changes=f"German words, attempt {n}")] for n in (1, 2, 3)),
)
"""A run whose third task is rejected until it has failed, whose second one is closed, and whose others are open."""
VERDICTS: tuple[Steps, ...] = (
    [*_paid(0.06, 9_000), *qualified(1)],
    *(rejected(3, reasoning="The file is there, and one month is not read.", feedback=_WRONG) for _ in (1, 2, 3)),
)
PRINTED = "Dates are printed in words"
PRINTING: tuple[Steps, ...] = (
    plan(_part(1, "print days and months in English"), _part(2, "print ordinals: 1st, 2nd, 3rd", "task-1")),
    [*_paid(0.21, 28_000), *done(1)],
    done(2),
)
