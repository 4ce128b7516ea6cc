"""PURE. What the agents are told: the work of one subtask, and the judgement of its criteria."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from interlock.work.formats.quoting import fenced
from interlock.work.stories.stories import Story, StoryCriterion, Subtask

__all__ = ["VARIABLES", "Judgement", "filled", "implement", "judge", "judgements"]

VARIABLES: Final = (
    *("iteration", "max_iterations", "min_iterations", "prompt", "completion_promise", "abort_promise"),
    *("task_promise", "context", "tasks"),
)
"""What a person's template may name, as `{{iteration}}`."""

_PRINCIPLES: Final = """\
- Conceptual integrity comes first: make it look as if one mind had designed it.
- Plan to throw one away: the first idea is a draft, and the simplest one that passes is the one to keep.
- There is no silver bullet: do what the criteria ask, and nothing besides.
- Adding more does not make it faster: touch as few files as you can.
"""
_CYCLE: Final = """\
1. RED: write one failing test for the next part of the criteria. Run it, and see that it fails for the right reason. \
Write no more than the smallest test that fails.
2. GREEN: write the least code that makes it pass. No optimisation, no clean-up.
3. REFACTOR: clean up while the tests stay green. Rename, extract; do not change what it does.
"""
_WEAKENED: Final = """\
## Tests that were there before, and were changed or taken away

See in the change whether they still prove what they proved. A criterion that only a weakened test speaks for is not \
met, unless the story asks for that very change.
"""
_JUDGED: Final = re.compile(r"\s*(?:[-*]\s+)?AC-(?P<number>[0-9]{1,6})\s*:(?P<rest>.*)")
_MARK: Final = re.compile(r" - (?P<mark>[✓✗])\ufe0f?")
_PLACEHOLDERS: Final = frozenset({"evidence", "implementation evidence", "reason", "reason for failure"})


def implement(
    story: Story,
    task: Subtask,
    *,
    attempt: int,
    of: int,
    failure: str = "",
    unchanged: Sequence[str] = (),
    context: str = "",
    memory: Sequence[str] = (),
    guide: str = "",
) -> str:
    """The prompt for one attempt at a subtask."""
    parts = [
        f"# Story {story.id}: {story.title}",
        f"Work on one subtask of it, and only on that: **{task.id} {task.text}**. This is attempt {attempt} of {of}.",
        "## Acceptance criteria\n\n" + _numbered(story.wanted(task) or story.criteria),
        "## How\n\n" + _CYCLE,
        "## Brooks' principles\n\n" + _PRINCIPLES,
        "## Rules\n\n"
        "- The tests are run afterwards, and somebody else judges the criteria. Your word does not count.\n"
        "- Do not commit, and do not edit progress.txt, prd.json or the boxes of the story: the loop does that.\n"
        "- If you cannot go on, say why in your last lines.",
    ]
    if failure:
        parts.append("## What went wrong in the last attempt\n\n" + fenced("text", failure))
    if unchanged:
        same = "\n".join(f"- {one}" for one in unchanged)
        parts.append(f"## What has not changed\n\n{same}\n\nGo another way than the attempts before.")
    if memory:
        parts.append("## What is known\n\n" + "\n".join(f"- {one}" for one in memory))
    if guide.strip():
        parts.append(f"## What this project tells every agent\n\n{guide.strip()}")
    if context:
        parts.append(f"## Added by the person you work for\n\n{context}")
    parts.append(f"## The story\n\n{story.body.strip() or story.title}")
    return "\n\n".join(parts) + "\n"


def _numbered(criteria: Sequence[StoryCriterion]) -> str:
    return "\n".join(f"{one.number}. {one.text}" for one in criteria) or "(none of its own)"


def judge(
    story: Story,
    task: Subtask,
    criteria: Sequence[StoryCriterion],
    diff: str,
    tests: str,
    weakened: Sequence[str] = (),
) -> str:
    """The prompt for whoever judges the criteria; it must not be who wrote the code."""
    lines = "\n".join(f"AC-{one.number}: {one.text} - ✓ [implementation evidence]" for one in criteria)
    return "\n\n".join(
        [
            f"# Judge the acceptance criteria of {story.id}, subtask {task.id} {task.text}",
            "Read the code as it is in this directory. Judge each criterion by what it says, and infer nothing beyond "
            "it. Change no file.",
            "Answer with one line for each, in this very form, and with nothing after them. After ✓ stands the "
            "evidence: a file and a line, or a test. What is not met has `- ✗ [reason for failure]` instead.",
            fenced("text", lines),
            "## The change",
            fenced("diff", diff),
            *([_WEAKENED, fenced("text", "\n".join(weakened))] if weakened else []),
            "## What the tests said",
            fenced("text", tests) + "\n",
        ]
    )


class Judgement(msgspec.Struct, frozen=True):
    """What was judged of one criterion."""

    criterion: StoryCriterion
    met: bool
    said: str

    def __str__(self) -> str:
        return f"AC-{self.criterion.number}: {self.criterion.text} - {'✓' if self.met else '✗'} {self.said}"


def judgements(criteria: Sequence[StoryCriterion], said: str) -> list[Judgement]:
    """What an answer says of each criterion; a missing line, and one without evidence, is a failure.

    Of several lines for one criterion the worst counts: a later ✓ must not wash out a ✗, whoever had it written. The
    form itself, said again with its placeholders, is no judgement.
    """
    found: dict[int, Judgement] = {}
    by_number = {one.number: one for one in criteria}
    for line in said.splitlines():
        match = _JUDGED.fullmatch(line)
        criterion = by_number.get(int(match["number"])) if match else None
        one = _judged(criterion, match["rest"]) if match and criterion else None
        if one and (one.criterion.number not in found or not one.met):
            found[one.criterion.number] = one
    return [found.get(one.number, Judgement(one, False, "it was not judged")) for one in criteria]


def _judged(criterion: StoryCriterion, rest: str) -> Judgement | None:
    """What one line says of a criterion, if it says anything."""
    said = " ".join(rest.split())
    mark = _mark(" ".join(criterion.text.split()), said)
    if mark is None:
        return None
    met, words = mark["mark"] == "✓", said[mark.end() :].strip()
    words = words[1:-1].strip() if words.startswith("[") and words.endswith("]") else words
    if words.lower() in _PLACEHOLDERS:
        return None
    if not any(one.isalnum() for one in words):
        return Judgement(criterion, False, "no evidence was given" if met else "no reason was given")
    return Judgement(criterion, met, words)


def _mark(own: str, said: str) -> re.Match[str] | None:
    """The mark of a line: the one right behind the criterion's own words.

    Who judges may use other words, unless the criterion itself holds what looks like a mark. Then the first mark
    counts, or the first ✗ if there is one, because nobody can tell which of them was meant.
    """
    exact = _MARK.match(said, len(own)) if said.startswith(own) else None
    if exact or _MARK.search(own):
        return exact
    marks = list(_MARK.finditer(said))
    return next((one for one in marks if one["mark"] == "✗"), marks[0] if marks else None)


def filled(template: str, values: Mapping[str, str]) -> str:
    """A person's template with its variables filled; what is no variable of ours stays as it is."""
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: values.get(found[1], found[0]), template)
