"""PURE. What a thread's entries add up to: a table of what each move says, and one of what was noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from interlock.decoding import convert
from interlock.journal import Entry
from interlock.journal.entry import CREATED
from interlock.machine import ActorKind
from interlock.machine.model import EFFECT_SETTLED, NOTED, OBSERVED
from interlock.machine.states import shipped_state
from interlock.work.driver.fold import fold
from interlock.work.driver.record import OpenRun, Pause, begin_run, end_run, take_note
from interlock.work.gates.statement import digest_of
from interlock.work.threads.record import (
    Baseline,
    Config,
    Diagnosis,
    Iteration,
    LeftPlace,
    Revision,
    SpecMessage,
    Thread,
)
from interlock.world.agents.result import NO_ATTEMPTS, FailedAgent
from interlock.world.place import Place

__all__ = ["take", "take_receipt", "thread_of"]

Data = dict[str, Any]
Tell = Callable[[Thread, Entry, Data], None]

_FRESH_RUNS = frozenset({"start", "assist", "reject"})
"""The moves into Running by which a new run begins; the others go on with the one that is there."""
_RESTS = frozenset({"pause", "resume"})
"""The moves by which nothing is lost of what an agent came to: it is concluded or verified when the loop goes on."""
_CONCLUSIONS = {"claims_done": True, "driver_failed": True, "budget_exhausted": True, "verification_stopped": False}
"""The moves by which something was concluded of a child; one whose verification was stopped may claim it again."""
_DECISIONS = frozenset({"start", "assist", "reject", "resume", "reconfigure"})


def thread_of(entries: Iterable[Entry]) -> Thread:
    """What these entries, all of one thread from its first on, add up to."""
    return fold(Thread(), take, entries)


def take(thread: Thread, entry: Entry) -> None:
    """Let a thread be as it is after its next entry."""
    data = entry.decoded_evidence().data
    thread.version, thread.updated = entry.version, entry.time
    if entry.version == 1:
        thread.id, thread.created, thread.title = entry.instance, entry.time, str(data.get("title", ""))
        thread.ticket = data.get(CREATED, {}).get("parent")
        thread.mode = str(entry.decoded_evidence().settings.get("mode", thread.mode))
        thread.state, thread.entered, thread.entered_at = entry.to_state, 1, entry.time
    elif entry.event == NOTED:
        take_note(thread, entry, data)
        _NOTES.get(data.get("type", ""), _nothing)(thread, entry, data)
    elif entry.event == OBSERVED:
        _observed(thread, entry, data)
    else:
        _move(thread, entry, data)


def _move(thread: Thread, entry: Entry, data: Data) -> None:
    if entry.to_state != entry.from_state or entry.event == "iteration_finished":
        _enter(thread, entry)
    if entry.event in _FRESH_RUNS:
        thread.runs += 1
        thread.run = f"run-{thread.id[-6:]}-{thread.runs:03d}"
        thread.run_started, thread.iteration = entry.time, 1
        thread.run_revision = thread.revision.number if thread.revision else 1
        thread.best, thread.said, thread.children_before = (-1, ""), "", thread.spent_by_children
    elif entry.to_state == "Running" and entry.event in ("iteration_finished", "criteria_failed"):
        thread.iteration += 1
    if _is_in_run(entry.to_state):
        thread.run_ended = None
    elif _is_in_run(entry.from_state or ""):
        thread.run_ended = (entry.to_state, entry.time)
    thread.paused = _pause(entry) if entry.to_state == "Paused" else None
    if entry.event in _DECISIONS:
        thread.failing = {}
    _MOVES.get(entry.event, _nothing)(thread, entry, data)
    thread.is_settled = _CONCLUSIONS.get(entry.event, thread.is_settled)
    if "spent" in data:
        _child_spent(thread, entry, data)
    if entry.to_state == "Stuck" and "diagnosis" in data:
        thread.diagnosis = convert(data["diagnosis"], Diagnosis)
    if entry.to_state == "Drafting" and entry.from_state != "Drafting":
        thread.before_reset = _left(thread) or thread.before_reset
        thread.baseline = thread.branch = thread.place = thread.child = None
        thread.receipt, thread.diagnosis, thread.best, thread.feedback = None, None, (-1, ""), ""
    thread.outcome = shipped_state("thread", entry.to_state).outcome


def _enter(thread: Thread, entry: Entry) -> None:
    """Begin the state that a move leads to, or its next iteration."""
    thread.state, thread.entered, thread.entered_at = entry.to_state, entry.version, entry.time
    thread.is_assessed, thread.reason = False, entry.reason or ""
    if entry.event not in _RESTS:
        thread.ran, thread.is_claimed = None, entry.event == "verification_stopped"


def _is_in_run(state: str) -> bool:
    """True where a run is under way: its states carry the iteration."""
    return "iteration" in shipped_state("thread", state).carries


def _pause(entry: Entry) -> Pause:
    """The pause that an entry into Paused records; a driver that was interrupted gives no reason."""
    cause = "person" if entry.actor_kind == ActorKind.HUMAN else "changed" if entry.reason else "interrupt"
    return Pause(entry.reason or "", entry.actor_id, cause)


def _left(thread: Thread) -> LeftPlace | None:
    """Where a thread was that goes back to its spec; None where it had not begun."""
    if thread.baseline is None or thread.branch is None or thread.place is None:
        return None
    isolated = thread.config is not None and thread.config.isolation == "worktree"
    return LeftPlace(thread.baseline.branch, thread.baseline.commit, thread.branch, thread.place.path, isolated)


def take_receipt(thread: Thread, receipt: Data) -> None:
    """Let a thread be as it is after a verification; the closest iteration is the last of those that met most."""
    thread.receipt, thread.verified_run = receipt, thread.run
    met = sum(bool(one["met"]) for one in receipt["criteria"])
    if met >= thread.best[0]:
        thread.best = (met, thread.said)


def _nothing(thread: Thread, entry: Entry, data: Data) -> None:
    """It says nothing more than the state."""


# What the moves say


def _checked(thread: Thread, entry: Entry, data: Data) -> None:
    thread.checks = list(data["checks"])
    thread.branch = data.get("branch", thread.branch)
    thread.place = Place.of(data) or thread.place
    thread.guarded = data.get("guarded", thread.guarded)
    if "config" in data:
        thread.config = convert(data["config"], Config)


def _proven(thread: Thread, entry: Entry, data: Data) -> None:
    receipt = data.get("receipt")
    if receipt is not None:
        take_receipt(thread, receipt)
        _verified(thread, receipt, passed=entry.event == "criteria_passed")
    _feed_back(thread, "" if entry.event == "criteria_passed" else entry.reason or "")


def _verified(thread: Thread, receipt: Data, *, passed: bool) -> None:
    """Note the result with the iteration that claimed to be done; a person's `reverify` later is none of its own."""
    own = [place for place, one in enumerate(thread.iterations) if one.role == "implementer" and one.run == thread.run]
    if own and thread.iterations[own[-1]].verified is None:
        met = sum(bool(one["met"]) for one in receipt["criteria"])
        thread.iterations[own[-1]] = replace(thread.iterations[own[-1]], verified=passed, criteria_passed=met)


def _feed_back(thread: Thread, text: str) -> None:
    """Let this be what the next iteration must know, and no child knows yet."""
    thread.feedback, thread.is_heard = text, False


def _spent(thread: Thread, entry: Entry, data: Data) -> None:
    if "receipt" in data:
        _proven(thread, entry, data)


def _finished(thread: Thread, entry: Entry, data: Data) -> None:
    _feed_back(thread, str(data.get("feedback", thread.feedback)))


def _sent_back(thread: Thread, entry: Entry, data: Data) -> None:
    _feed_back(thread, f"A person has reviewed the work and sent it back: {entry.reason}")


def _assisted(thread: Thread, entry: Entry, data: Data) -> None:
    thread.guarded = thread.changed_settings or thread.guarded
    _feed_back(thread, f"A person has edited the files, to help: {entry.reason or 'look at what changed'}")


def _failed(thread: Thread, entry: Entry, data: Data) -> None:
    thread.changed_settings = str(data.get("guarded", ""))


def _prepared(thread: Thread, entry: Entry, data: Data) -> None:
    thread.message = str(data.get("message", ""))


def _settled(thread: Thread, entry: Entry, data: Data) -> None:
    if data.get("result") == "done":
        thread.commit = data.get("commit", thread.commit)
        if data.get("kept"):
            thread.kept.append(str(data["kept"]))


_MOVES: Mapping[str, Tell] = {
    "checks_passed": _checked,
    "checks_failed": _checked,
    "criteria_passed": _proven,
    "criteria_failed": _proven,
    "budget_exhausted": _spent,
    "iteration_finished": _finished,
    "reject": _sent_back,
    "assist": _assisted,
    "driver_failed": _failed,
    "prepare": _prepared,
    EFFECT_SETTLED: _settled,
}


def _observed(thread: Thread, entry: Entry, data: Data) -> None:
    if "config" in data:
        thread.config = convert(data["config"], Config)
    mode = entry.decoded_evidence().settings.get("mode")
    thread.mode = str(mode) if mode is not None else thread.mode


# What was noted


def _revised(thread: Thread, entry: Entry, data: Data) -> None:
    """A revision, by the hash of its own text. Once a spec is finalized, no note makes it another one."""
    if thread.state == "Drafting":
        number, text = int(data["revision"]), str(data["text"])
        thread.revisions.append(Revision(number, digest_of(text), text, entry.actor_id, entry.time))


def _said(thread: Thread, entry: Entry, data: Data) -> None:
    thread.messages.append(SpecMessage(data["role"], data["content"], data.get("agent"), entry.time))


def _assessed(thread: Thread, entry: Entry, data: Data) -> None:
    thread.assessment, thread.is_assessed = str(data["said"]), True


def _based(thread: Thread, entry: Entry, data: Data) -> None:
    thread.baseline = Baseline(data["branch"], data["commit"], entry.time)


def _iterated(thread: Thread, entry: Entry, data: Data) -> None:
    paid, promised = end_run(thread, data["run"], entry, data), data["promise"] is not None
    thread.iterations.append(Iteration(**paid, number=data["number"], run=data["run"], promised=promised))
    if data["role"] == "implementer":
        if data["ending"] not in NO_ATTEMPTS:
            thread.said = data["said"]
            thread.context = thread.context[data["told"] :]
            thread.ran = OpenRun(data["ending"], data["exit"], data["promise"], data["said"], data["agent"])
        if data["ending"] == "not_installed":
            thread.failing[data["agent"]] = FailedAgent(data["ending"])


def _begun(thread: Thread, entry: Entry, data: Data) -> None:
    begin_run(thread, data["run"], entry, data)


def _child(thread: Thread, entry: Entry, data: Data) -> None:
    thread.child, thread.is_settled, thread.is_heard = data["id"], False, True
    thread.child_run, thread.context = thread.run, thread.context[data.get("told", 0) :]


def _child_spent(thread: Thread, entry: Entry, data: Data) -> None:
    thread.children[data["child"]] = tuple(data["spent"])


def _added(thread: Thread, entry: Entry, data: Data) -> None:
    thread.context.append(data["text"])


def _refused(thread: Thread, entry: Entry, data: Data) -> None:
    thread.refused.append({**data, "who": entry.actor_id, "kind": entry.actor_kind, "at": entry.time})


def _kept(thread: Thread, entry: Entry, data: Data) -> None:
    thread.kept.append(str(data["name"]))


_NOTES: Mapping[str, Tell] = {
    "revised": _revised,
    "said": _said,
    "assessed": _assessed,
    "baseline": _based,
    "begun": _begun,
    "iteration": _iterated,
    "child": _child,
    "child_spent": _child_spent,
    "context_added": _added,
    "gate_refused": _refused,
    "kept": _kept,
}
