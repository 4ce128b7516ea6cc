"""Values for the tests of the orchestrator's files: any that can be, and some that are hard to write down."""

from __future__ import annotations

from hypothesis import strategies as st

from interlock.work.orchestration.values import (
    Category,
    Confidence,
    CriterionResult,
    Cycle,
    DiscoveredTask,
    Mark,
    Part1,
    Part2,
    Plan,
    Priority,
    Question,
    QuestionStatus,
    Task,
    TaskReport,
    Verdict,
)

__all__ = ["HARD", "cycles", "ids", "plans", "reports", "tasks", "texts"]

HARD = (
    "```",
    "~~~~ x",
    "- ```",
    "\\```",
    "\\\\- ~~~",
    "<!--",
    "-->",
    "<\\!--",
    "<!-- whole -->",
    "# One",
    "## Request",
    "### Cycle 9",
    "#",
    "\\# x",
    "---",
    "- [x] task-1 (Completed)",
    "- task-1: x",
    "    - **Type**: Sequential (depends on task-9)",
    "- **Answer**: x",
    "1. **[High Priority]** x",
    "None",
    "[To be filled]",
    "(Completed)",
    ": x",
    "✅",
    "a, `b`",
    "",
    " ",
    "\t",
    "\r\n",
    "\ufeff",
    "\u2028",
    "\x00",
    "\x85",
    "\u202e",
    "e\u0301",
    "🏴\u200d☠️",
)
_BREAKS = ("", " ", "\n", "\n\n", "\n    ")
texts = st.lists(st.sampled_from((*HARD, *_BREAKS, *_BREAKS, *_BREAKS)), max_size=9).map("".join) | st.text(max_size=5)
ids = st.sampled_from(("task-1", "task-2", "a", "A.b_c-3", "x-report", "title", "plan", "0"))
_some = st.lists(texts, max_size=2).map(tuple)

tasks = st.builds(
    Task,
    ids,
    texts,
    texts,
    _some,
    _some,
    st.lists(ids, max_size=3).map(tuple),
    st.lists(ids, max_size=3).map(tuple),
    st.sampled_from(Mark),
    st.integers(1, 99),
    texts,
)
plans = st.builds(Plan, texts, texts, st.lists(tasks, max_size=2, unique_by=lambda one: one.id).map(tuple))
_questions = st.builds(
    Question,
    st.integers(1, 99),
    texts.filter(lambda text: any(one.isalnum() for one in text)),  # an answer with an empty question is refused
    st.sampled_from(Category),
    st.sampled_from(Priority),
    st.sampled_from(QuestionStatus),
    texts,
    texts,
    texts,
    st.sampled_from(Confidence),
)
cycles = st.lists(
    st.builds(
        Cycle,
        st.integers(1, 9),
        st.lists(_questions, max_size=2, unique_by=lambda one: one.number).map(tuple),
        texts,
        *[_some] * 5,
    ),
    max_size=2,
    unique_by=lambda one: one.number,
)
_criteria = st.lists(st.builds(CriterionResult, texts, st.booleans(), texts, texts), max_size=3).map(tuple)
_found = st.lists(st.builds(DiscoveredTask, texts, texts, texts), max_size=2).map(tuple)
_part1 = st.builds(Part1, texts, _criteria, texts, texts, _found, texts)
_part2 = st.builds(Part2, st.sampled_from(Verdict), texts, _criteria, texts, _some, _some, texts, texts, _found)
reports = st.builds(TaskReport, ids, st.integers(1, 9), _part1, st.none() | _part2)
