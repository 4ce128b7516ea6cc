"""The threads, and one of them: where it stands, what was tried and proven, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

from interlock.errors import InterlockError, NotFound
from interlock.faces.web.lists import folded, machine_of, newest, rows_of, topic
from interlock.faces.web.looks import look_of
from interlock.faces.web.page import PageKind, PageRequest, Sight
from interlock.faces.web.patches import Patch, read_patch
from interlock.machine import Machine
from interlock.work.driver.transcripts import Spoken, spoken, tail_of
from interlock.work.gates.display import visible
from interlock.work.inspection.comparison import side_by_side
from interlock.work.threads.children import CHILDREN
from interlock.work.threads.driver_step import default_config
from interlock.work.threads.reading import find_thread
from interlock.work.threads.record import Thread
from interlock.work.threads.replay import thread_of
from interlock.work.threads.showing import whole_diff
from interlock.work.threads.spec import faults, parse_spec, template
from interlock.work.threads.store import ThreadFiles
from interlock.work.verification.receipt import from_data
from interlock.work.views.thread import ThreadView, is_live, view_of_thread
from interlock.world.git import diff

__all__ = ["PAGES"]

_MOST_DRAFT: Final = 40_000
_SHOWN_PARTS: Final = 40
_SHOWN_SESSIONS: Final = 10
_MOST_REVISIONS: Final = 50


def _list(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    modes = sight.machines("thread").form.settings["mode"].values
    return {
        "listed": newest(sight, asked, "/threads", "thread"),
        "modes": modes,
        "mode": sight.settings.text("thread.mode"),
    }


def _thread(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    instance = find_thread(sight.journal, asked.names["id"])
    machine = machine_of(sight, instance)
    entries = sight.journal.history(instance.id)
    at = _number(asked, "at")
    if at is not None:
        entries = entries[: max(1, at)]
    thread = folded(thread_of, entries)
    trouble = sight.trouble(instance) if at is None else ""
    view = view_of_thread(sight.journal, instance, entries, thread, sight.state_directory.parent, at, trouble)
    receipt = from_data(thread.receipt) if thread.receipt is not None else None
    return {
        "thread": view,
        "machine": machine,
        "look": look_of(machine, view.state),
        "phases": _phases(machine, view.state, [one.to for one in view.moves]),
        "at": None if at is None else len(entries),
        "versions": instance.version,
        **_spec(thread, asked, is_drafting=view.is_drafting),
        "receipt": receipt,
        "patch": _patch(thread, sight) if receipt is not None else None,
        "shown_parts": _SHOWN_PARTS,
        "sessions": rows_of(sight, sight.journal.recent("session", _SHOWN_SESSIONS, parent=thread.id)),
        "ticket_title": _ticket_title(sight, instance.parent),
        **_output(sight, view),
        **_writing(sight, thread, view),
    }


def _writing(sight: Sight, thread: Thread, view: ThreadView) -> dict[str, Any]:
    """The forms of what a person can write on a thread, beside the moves of its machine."""
    known = thread.revision.text if thread.revision is not None else template(thread.title)
    config = thread.config or default_config(sight.settings)
    return {
        # What is shown is cut and cleaned; a text that would come back changed is not offered to be sent back.
        "draft": known if view.may_draft and len(known) <= _MOST_DRAFT and visible(known) == known else None,
        "drivers": ("plain", *CHILDREN),
        "config_fields": (
            ("agents", "Agents, with commas between them", ", ".join(config.agents)),
            ("iterations", "Iterations", str(config.iterations)),
            ("budget_minutes", "Budget in minutes", str(config.budget_minutes)),
            ("budget_usd", "Budget in dollars", str(config.budget_usd)),
            ("budget_tokens", "Budget in tokens", str(config.budget_tokens)),
        ),
    }


def _number(asked: PageRequest, name: str) -> int | None:
    said = asked.query.get(name, "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else None


# Where it stands


class _Place(msgspec.Struct, frozen=True):
    """A phase on the way of a thread."""

    state: str
    label: str
    icon: str
    color: str
    position: str
    """`here`, `behind` or `ahead`."""


def _phases(machine: Machine, state: str, way: list[str]) -> list[tuple[str, list[_Place]]]:
    """All phases in their groups: the one that it is in, those that it went through, and those that it did not."""
    groups: dict[str, list[_Place]] = {}
    for name, known in machine.states.items():
        position = "here" if name == state else "behind" if name in way else "ahead"
        place = _Place(name, machine.label(name), known.icon or "○", known.color or "gray", position)
        groups.setdefault(known.phase or "", []).append(place)
    return list(groups.items())


def _ticket_title(sight: Sight, parent: str | None) -> str:
    """The title of the ticket that the thread is of; empty where it is of none."""
    first = sight.journal.first_entries([parent]) if parent is not None else {}
    return next((str(one.decoded_evidence().data.get("title", "")) for one in first.values()), "")


# What it is about


def _spec(thread: Thread, asked: PageRequest, *, is_drafting: bool) -> dict[str, Any]:
    """The spec, and two of its revisions side by side: the two that the address names, or the last two."""
    revisions = {one.number: one for one in thread.revisions}
    numbers = list(revisions)[-_MOST_REVISIONS:]
    right = _number(asked, "right")
    left = _number(asked, "left")
    chosen = left in revisions and right in revisions
    if not chosen:
        left, right = (numbers[-2], numbers[-1]) if len(numbers) > 1 else (None, None)
    both = (revisions[left].text, revisions[right].text) if left is not None and right is not None else None
    return {
        "revision": thread.revision,
        "numbers": numbers,
        "left": left,
        "right": right,
        "is_compared": chosen,
        "pairs": side_by_side(*both) if both else [],
        "faults": faults(parse_spec(thread.revision.text)) if thread.revision and is_drafting else [],
        "messages": thread.messages,
        "assessment": thread.assessment,
    }


# What was made


def _directory(thread: Thread, sight: Sight) -> Path:
    return thread.directory(sight.state_directory.parent, sight.work_tree or Path())


def _patch(thread: Thread, sight: Sight) -> Patch | str:
    """What differs from the baseline; a sentence where git cannot say."""
    root = _directory(thread, sight)
    if thread.baseline is None or thread.receipt is None:
        return Patch()
    try:
        return read_patch(_between(root, thread.baseline.commit, str(thread.receipt["tree"])))
    except (InterlockError, OSError) as error:
        return str(error)


@lru_cache(maxsize=16)
def _between(root: Path, before: str, after: str) -> str:
    """The patch between a commit and a tree, which both never change."""
    return diff(root, before, after).text


def _changes(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    """What differs from the baseline right now, uncommitted changes included."""
    instance = find_thread(sight.journal, asked.names["id"])
    thread = thread_of(sight.journal.history(instance.id))
    if thread.baseline is None:
        message = f"{thread.title} has no baseline yet, so nothing can differ from it."
        raise NotFound("unknown_instance", message, "The baseline is recorded when the implementation starts.")
    text = whole_diff(thread, _directory(thread, sight)) if thread.outcome is None else ""
    patch = read_patch(text) if thread.outcome is None else _patch(thread, sight)
    return {"thread": thread, "patch": patch}


# What is said


def _output(sight: Sight, thread: ThreadView) -> dict[str, Any]:
    """The end of what the agents say in the run that is under way, or was last."""
    latest = sight.journal.recent("session", 1, parent=thread.id)
    usual = next(iter(thread.config.agents), None) if thread.config is not None else None
    agent = _agent(sight, latest[0].id) if latest else usual
    return {
        "agent": agent,
        "spoken": _spoken(sight, thread.run, agent) if thread.run else [],
    }


def _spoken(sight: Sight, run: str, agent: str | None) -> list[Spoken]:
    return spoken(tail_of(sight.state_directory, ThreadFiles.output_name(run)), agent)


def _agent(sight: Sight, session: str) -> str | None:
    said = sight.journal.first_entries([session])[session].decoded_evidence().data.get("agent")
    return str(said) if said else None


def _talk(sight: Sight, asked: PageRequest) -> Mapping[str, Any]:
    """The output alone, for a page that asks for it again and again while an agent works: nothing is folded."""
    instance = find_thread(sight.journal, asked.names["id"])
    run = asked.names["run"]
    if not run.startswith(f"run-{instance.id[-6:]}-") or not run.replace("-", "").isalnum():
        raise NotFound("unknown_instance", "The thread has no such run.", "Its page names the runs that it has.")
    latest = sight.journal.recent("session", 1, parent=instance.id)
    agent = _agent(sight, latest[0].id) if latest else None
    live = is_live(sight.journal, instance)
    return {"id": instance.id, "run": run, "is_live": live, "spoken": _spoken(sight, run, agent)}


def _topics(asked: PageRequest) -> frozenset[str]:
    return frozenset({topic(asked, "thread"), "session", "story", "orchestrator"})


def _own(asked: PageRequest) -> frozenset[str]:
    return frozenset({topic(asked, "thread")})


PAGES = (
    PageKind("/threads", "threads.html", _list, lambda asked: frozenset({"thread"}), heading="Threads", key="t"),
    PageKind("/thread/{id}", "thread.html", _thread, _topics),
    PageKind("/thread/{id}/changes", "thread_changes.html", _changes, _own),
    PageKind("/thread/{id}/output/{run}", "output.html", _talk, _own),
)
