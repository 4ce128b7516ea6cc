"""PURE. The help that a run that failed needs from a person: why it ended, what is known of it, and what would help."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from interlock.journal import Entry
from interlock.machine import Evidence
from interlock.work.orchestration.record import Run
from interlock.work.verification.receipt import Receipt, from_data

__all__ = ["Cause", "RunNeed", "need_of"]

_MOST_LINES = 12
_TAIL = 5


class Cause(StrEnum):
    """Why a run failed."""

    TASK = "task"
    """A task failed as often as it may."""
    BLOCKED = "blocked"
    """The planner cannot plan it as things are."""
    QUESTIONS = "questions"
    """The planner still asks, and nobody could answer."""
    ANSWER = "answer"
    """A role's answer could not be used, as often as it was asked."""
    REPLANS = "replans"
    """It was planned again as often as it may."""
    NETWORK = "network"
    OTHER = "other"


class RunNeed(msgspec.Struct, frozen=True):
    """The help that a run needs from a person."""

    cause: Cause
    says: str
    """One sentence on what happened."""
    help: str
    """The step that a person can take."""
    details: tuple[str, ...] = ()
    """Lines with feedback, blockers, and what our verifiers refuse."""
    questions: tuple[str, ...] = ()
    """The questions that a person can answer right here."""
    task: str | None = None

    @property
    def may_pass(self) -> bool:
        """True if trying again can help without a change."""
        return self.cause in (Cause.NETWORK, Cause.ANSWER)


def need_of(run: Run, entry: Entry) -> RunNeed:
    """The help that a run needs, by the entry with which it failed."""
    evidence = entry.decoded_evidence()
    facts, reason = evidence.facts, (entry.reason or "").strip()
    planner, executor, verdict = facts.get("planner"), facts.get("executor"), facts.get("verdict")
    if planner in ("needs_qa_cycle", "needs_clarification"):
        return _questions(evidence)
    if planner == "blocked":
        says = "The planner is blocked: it cannot plan the goal as things are."
        return RunNeed(Cause.BLOCKED, says, "Say what it may assume, or what to leave out.", _blockers(reason))
    if planner == "invalid":
        says = "The planner's answers could not be used."
        help_ = "Try it again, with another agent or model perhaps; or say what to pay attention to."
        return RunNeed(Cause.ANSWER, says, help_, _lines(reason))
    if executor == "blocked" or entry.event in ("requirements_discovered", "holistic_check_failed"):
        says = "It was planned again as often as it may, and something is still missing."
        return RunNeed(Cause.REPLANS, says, "Say what to do about it, or what to leave out.", _lines(reason))
    if executor is not None or verdict is not None:
        return _task(run, evidence, reason)
    if entry.event == "network_failed":
        says = "An agent could not be reached, however long it was waited for."
        return RunNeed(Cause.NETWORK, says, "Check the network or the service, then resume the run.", _lines(reason))
    return RunNeed(Cause.OTHER, "The run failed.", "Fix what it names, then resume the run.", _lines(reason))


def _questions(evidence: Evidence) -> RunNeed:
    asked = tuple(str(one) for one in evidence.data.get("questions", ()))
    says = "The planner still asks, and there are no more answers."
    return RunNeed(Cause.QUESTIONS, says, "Answer what it asks: the planner hears it first.", questions=asked)


def _task(run: Run, evidence: Evidence, reason: str) -> RunNeed:
    """The last attempt at a task: who refused it, and what they said."""
    task, attempt = str(evidence.data.get("task", run.task or "")), evidence.data.get("attempt", "")
    known = run.find(task)
    about = f" ({known.description})" if known is not None and known.description else ""
    reports = run.reports.get(task, [])
    part2 = reports[-1].part2 if reports and evidence.facts.get("verdict") else None
    if part2 is not None and evidence.facts.get("verdict") == "Failed":
        is_ours = run.receipt is not None and not from_data(run.receipt).passed
        who = "our verifiers refuse it" if is_ours else "the reviewer refuses it"
        said = _lines(part2.feedback or part2.reasoning or reason)
        unmet = tuple(f"not met: {one.criterion}" for one in part2.criteria_results if not one.met)
        details = (*said, *unmet, *(_seen(from_data(run.receipt)) if is_ours else ()))
    else:
        who, details = "its executor gave up", _lines(reason)
        if "invalid" in evidence.facts.values():
            who = "an answer could not be used"
    says = f"{task}{about} failed in attempt {attempt}, its last: {who}."
    return RunNeed(
        Cause.TASK, says, "Say what should change, or fix it yourself and resume the run.", details, task=task
    )


def _seen(receipt: Receipt) -> Iterator[str]:
    """Our verifiers that do not pass, each with the end of its output."""
    for one in receipt.verifiers:
        if not one.passed:
            yield f"$ {one.command}"
            yield from (f"  {line}" for line in one.output.strip().splitlines()[-_TAIL:])


def _blockers(reason: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in reason.partition(":")[2].split(";") if one.strip())[:_MOST_LINES]


def _lines(text: str) -> tuple[str, ...]:
    found = [line.rstrip() for line in text.splitlines() if line.strip()]
    more = len(found) - _MOST_LINES
    return (*found[:_MOST_LINES], *([f"… {more} more lines"] if more > 0 else []))
