"""PURE. What the agents of a thread are told: to talk about a spec, to assess it, to build it, to polish it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from interlock.work.threads.record import SpecMessage, Thread
from interlock.work.threads.spec import Spec

__all__ = ["assess", "draft_in", "implement", "polish", "talk", "verdict_in"]

_TALKED: Final = 40
_FEEDBACK: Final = 20_000
_FENCED: Final = re.compile(r"^(`{3,}|~{3,})(?:markdown|md)[ \t]*\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_VERDICT: Final = re.compile(r"^[\s*#>-]*VERDICT[*\s]*:[*\s]*(READY|REVISE)\b", re.IGNORECASE | re.MULTILINE)


def talk(title: str, draft: str, messages: Sequence[SpecMessage]) -> str:
    """One turn of the talk in which a spec is made."""
    said = "\n\n".join(f"**{one.role}**: {one.content}" for one in messages[-_TALKED:])
    return "\n\n".join(
        [
            f"# A spec for: {title}",
            "You and a person work out the spec of one piece of work in this repository. Read what you need of the "
            "code; change no file. Ask about what is not clear, a few questions at a time. Whenever you can, give the "
            "whole spec as it stands now in one fenced block that begins with ```markdown. It has a title, `## Goal`, "
            "`## Requirements`, `## Completion Criteria` (each a line `- [ ] …` that can be checked, where possible "
            "with a nested `- verify: `a command``), `## Notes`, and one line `<promise>COMPLETE</promise>`.",
            f"## The spec as it is\n\n{draft.strip() or '(nothing yet)'}",
            f"## The talk so far\n\n{said}",
        ]
    )


def draft_in(said: str) -> str | None:
    """The spec in an agent's answer: the last block of Markdown that begins with a title."""
    found = [one[2].strip() for one in _FENCED.finditer(said)]
    return next((f"{text}\n" for text in reversed(found) if text.startswith("# ")), None)


def assess(spec: str) -> str:
    """The question whether a spec can be built from."""
    return "\n\n".join(
        [
            "# Assess a spec",
            "Read the spec below and what you need of this repository; change no file. Judge three things: clarity "
            "(would two people build the same?), testability (can each criterion be checked, by a command or by "
            "looking?), completeness (is anything missing that whoever builds it would have to guess?). Name each "
            "issue in one line that begins with `ISSUE:` and says what to write instead.",
            "The last line of your answer is `VERDICT: READY` or `VERDICT: REVISE`.",
            f"## The spec\n\n{spec.strip()}",
        ]
    )


def verdict_in(said: str) -> str | None:
    """READY or REVISE: the last verdict of an assessment, None where there is none."""
    found = _VERDICT.findall(said)
    return found[-1].upper() if found else None


def implement(thread: Thread, spec: Spec, number: int, verifiers: Sequence[str]) -> str:
    """The prompt of one iteration."""
    revision = thread.revision
    assert revision is not None
    commands = "\n".join(f"- `{one}`" for one in verifiers) or "- (those that the criteria name)"
    protected = "\n".join(f"- `{one}`" for one in spec.protected)
    parts = [
        f"# {thread.title}",
        f"Build what the spec below says, in this repository. This is iteration {number}; what earlier ones left is in "
        "the files. Work until every criterion holds.",
        "## How it is judged\n\nYour word does not count. When you say that you are done, these commands are run on "
        f"exactly the files as they are then, and somebody else judges each criterion:\n\n{commands}",
        "## Rules\n\n- Do not switch branches, and do not touch `.git`, `.ralf` or `ralph.toml`.\n"
        "- Do not delete, skip or weaken tests, and do not change how they are run.\n"
        "- If you cannot go on, say why in your last lines, and make no promise.",
    ]
    if protected:
        parts.append(f"## Not to be changed\n\n{protected}")
    if thread.feedback:
        parts.append(f"## What was wrong last time\n\n{thread.feedback[-_FEEDBACK:]}")
    if thread.context:
        parts.append("## Added by the person you work for\n\n" + "\n".join(thread.context))
    parts.append(f"## The spec (revision {revision.number})\n\n{revision.text.strip()}")
    parts.append(
        f"When all of it is done, and only then, the last line of your answer is the promise of the spec, alone: "
        f"`<promise>{spec.promise}</promise>`. Without it, the next iteration goes on."
    )
    return "\n\n".join(parts) + "\n"


def polish(thread: Thread, wanted: str) -> str:
    """What a polish is to do."""
    revision = thread.revision
    assert revision is not None
    return "\n\n".join(
        [
            f"# Polish: {thread.title}",
            "The work below is built and proven. Change nothing of what it does; do only this: "
            f"{wanted or 'add what is missing of documentation and tests, and clean up'}.",
            "Do not switch branches, and do not touch `.git`, `.ralf` or `ralph.toml`. It is proven again afterwards.",
            f"## The spec\n\n{revision.text.strip()}",
        ]
    )
