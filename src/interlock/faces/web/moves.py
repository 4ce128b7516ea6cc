"""The moves of the dashboard. They call the verbs that the command line calls, with what a form says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

from interlock.errors import Conflict, InterlockError, NotFound, UsageError
from interlock.faces.web.acting import ActionResult, Hands
from interlock.faces.web.presence import about
from interlock.journal import Journal
from interlock.machine.values import ActorKind
from interlock.work.gates.approval import refused_attempt
from interlock.work.orchestration import verbs as runs
from interlock.work.orchestration.reading import known_run
from interlock.work.sessions.verbs import Caller
from interlock.work.stories import verbs as stories
from interlock.work.stories.reading import known_loop
from interlock.work.threads.decisions import choose_configuration, looks_first, wants_driver
from interlock.work.threads.effects import undo_reset
from interlock.work.threads.reading import find_thread, read_thread
from interlock.work.threads.verbs import act, add_context, gate_at, new_thread, pause, revise_spec
from interlock.work.tickets.merged import handoff_here
from interlock.work.tickets.numbers import find_ticket, known_ticket

__all__ = [
    "Form",
    "begin_thread",
    "gate_page",
    "instance_of",
    "move_run",
    "move_story",
    "move_thread",
    "move_ticket",
    "work_ticket",
]

Form = Mapping[str, str]
_PRINTED: Final = (
    "A code is printed where `ralph serve` runs, next to what it is for. Compare the two, then type it here."
)


# Threads


def begin_thread(hands: Hands, called: str, form: Form) -> ActionResult:
    """A new thread, and the page on which its spec is written; it is the active one from then on."""
    mode = form.get("mode") or hands.settings.text("thread.mode")
    thread = new_thread(hands.context(), hands.actor, form.get("title", ""), mode)
    return ActionResult(f"/thread/{thread.id}", "It begins with its spec: write it here, then finalize it.")


def gate_page(id_: str, form: Form) -> str:
    """Where a person types the code of a move, with what they have said already."""
    id_, event = (quote(one, safe="") for one in (id_, form.get("event", "")))
    said = f"?{urlencode({'reason': form['reason']})}" if form.get("reason", "").strip() else ""
    return f"/thread/{id_}/gate/{event}{said}"


def move_thread(hands: Hands, id_: str, form: Form) -> ActionResult:
    """Move a thread, or write something on it; a gate asks for a code first, and is passed with it."""
    id_, event = find_thread(hands.journal, id_).id, form.get("event", "")
    page = f"/thread/{id_}"
    if event in _WRITTEN:
        return ActionResult(page, _WRITTEN[event](hands, id_, form))
    machine = hands.journal.machine_of(hands.journal.instance(id_))
    if not any(key[1] == event and key[2] == ActorKind.HUMAN for key in machine.rules):
        raise UsageError(
            "invalid_argument", f"{event[:80]!r} is nothing that a person does.", "Use the page's buttons."
        )
    context = hands.context()
    gate = gate_at(context, id_, event, looks=looks_first(event))
    if gate is not None and not form.get("code", "").strip():
        hands.ask(id_, gate)
        return ActionResult(gate_page(id_, form), _PRINTED)
    person = hands.person(id_, event, form.get("code", ""))
    if gate is not None and form.get("about") != about(gate.word, gate.question, gate.shown):
        message = "The page showed something else than what this is about now."
        refused_attempt(hands.journal, id_, person.actor, event, message)
        raise InterlockError("code_refused", message, "Look at it again, and ask for a new code.")
    if not hands.acting.gate.acquire(blocking=False):  # waiting for it would hold up the pages
        raise Conflict(
            "busy", "Another move is being made, or waits for a signature.", "Look at the terminal, then again."
        )
    try:
        thread = act(context, id_, person, event, reason=_reason(form))
    finally:
        hands.acting.gate.release()
    return ActionResult(page, f"{event}: done, it is {machine.label(thread.state)}.{_driven(hands, id_, event)}")


def _driven(hands: Hands, id_: str, event: str) -> str:
    if not wants_driver(event, read_thread(hands.journal, id_)):
        return ""
    return " It goes on by itself as far as it can." if hands.drivers.start("thread", id_) else " It is being driven."


def _reason(form: Form) -> str | None:
    return form.get("reason", "").strip() or None


def _spec(hands: Hands, id_: str, form: Form) -> str:
    text = form.get("text", "").replace("\r\n", "\n")
    thread = revise_spec(hands.context(), id_, hands.actor, text)
    return f"Revision {thread.revision.number if thread.revision else 0} of the spec is kept."


def _context(hands: Hands, id_: str, form: Form) -> str:
    person = hands.person(id_, "context", "")
    add_context(hands.context(), id_, person, form.get("text", "").replace("\r\n", "\n"))
    return "The next agent is told it."


def _pause(hands: Hands, id_: str, form: Form) -> str:
    pause(hands.context(), id_, hands.person(id_, "pause", ""))
    return "It rests; what ran was ended."


def _drive(hands: Hands, id_: str, form: Form) -> str:
    hands.actor  # noqa: B018 - whether the person is still there
    return "It goes on." if hands.drivers.start("thread", id_) else "It is being driven already."


def _configure(hands: Hands, id_: str, form: Form) -> str:
    person = hands.person(id_, "configure", "")
    moved = choose_configuration(hands.context(), id_, person, form, form.get("mode") or None)
    return f"Chosen.{_driven(hands, id_, 'reconfigure')}" if moved else "Chosen."


def _undo(hands: Hands, id_: str, form: Form) -> str:
    hands.actor  # noqa: B018 - whether the person is still there
    name = undo_reset(hands.context(), read_thread(hands.journal, id_), form.get("kept") or None)
    return f"What was kept as refs/ralf/{name} is back."


_WRITTEN: Final = {
    "spec": _spec,
    "context": _context,
    "pause": _pause,
    "drive": _drive,
    "configure": _configure,
    "undo": _undo,
}
"""What a person does with a thread beside the events of its machine."""


# Tickets


def move_ticket(hands: Hands, number: str, form: Form) -> ActionResult:
    """Hand a ticket on: to a state, or by an intent of a command."""
    work = handoff_here(
        hands.journal,
        hands.settings,
        hands.work_tree,
        Caller(hands.actor),
        number,
        reason=form.get("reason", ""),
        command=form.get("command") or None,
        intent=form.get("intent") or None,
        to=form.get("to") or None,
    )
    handed = hands.journal.transact(work)
    return ActionResult(f"/ticket/{handed.number}", f"It is in {handed.new_state} now.")


def work_ticket(hands: Hands, number: str, form: Form) -> ActionResult:
    """Have a ticket worked on, as far as it goes without a person."""
    ticket = known_ticket(hands.journal, number)
    if not hands.drivers.start("ticket", ticket.id):
        return ActionResult(f"/ticket/{number}", "Somebody works on it already.")
    return ActionResult(
        f"/ticket/{number}", "It is worked on, as far as it goes without you; this page says where it waits."
    )


# Loops and runs


def move_run(hands: Hands, id_: str, form: Form) -> ActionResult:
    """Add to a run, let it rest, or go on with it."""
    run, event = known_run(hands.journal, id_), form.get("event", "")
    said = form.get("text", "").strip()
    if event == "add":
        runs.add(hands.journal, hands.actor, run, said)
        return ActionResult(f"/run/{run.id}", "The planner hears of it first.")
    if event == "stop":
        runs.stop(hands.journal, hands.actor, run, form.get("reason", "").strip())
        return ActionResult(f"/run/{run.id}", "It rests.")
    if event == "resume":
        made = runs.resume(hands.context(), hands.person(run.id, "resume", ""), run, said)
        hands.drivers.start("orchestrator", made)
        return ActionResult(f"/run/{made}", "It goes on.")
    raise UsageError("invalid_argument", f"{event[:80]!r} is nothing that is done with a run.", "Use its buttons.")


def move_story(hands: Hands, id_: str, form: Form) -> ActionResult:
    """Steer the loop over stories."""
    loop, event = known_loop(hands.journal), form.get("event", "")
    if loop.id != hands.journal.instance(id_).id:
        message = f"The loop {id_[:40]} is not the one that is under way."
        raise NotFound("unknown_loop", message, f"/story/{loop.id} shows that one.")
    story, text = form.get("story", ""), form.get("text", "").replace("\r\n", "\n")
    journal, actor = hands.journal, hands.actor
    if event == "pause":
        stories.pause(journal, actor, form.get("reason", "").strip())
    elif event == "resume":
        stories.resume(journal, actor)
        hands.drivers.start("story", loop.id)
    elif event == "unblock":
        stories.unblock(journal, actor, story)
    elif event == "skip":
        stories.skip(journal, actor, story)
    elif event == "context":
        stories.add_context(journal, actor, text)
    else:
        raise UsageError("invalid_argument", f"{event[:80]!r} is nothing that is done with a loop.", "Use its buttons.")
    return ActionResult(f"/story/{loop.id}", f"{event}: done.")


def instance_of(journal: Journal, machine: str, called: str) -> str | None:
    """The instance that an address names, where there is one: for what is kept of attempts."""
    try:
        found = find_ticket(journal, called) if machine == "ticket" else journal.instance(called)
    except InterlockError:
        return None
    return found.id if found is not None and found.machine == machine else None
