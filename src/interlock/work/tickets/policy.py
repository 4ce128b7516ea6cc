"""What the hook says of tickets: which handoffs are wrong, which documents are there already, and what comes next.

The machine that a ticket was made with decides, as the journal keeps it. What is not wrong for certain passes, and
so does everything where the journal does not say: the tool itself answers, and knows more. Like `sessions.policy` it
imports next to nothing.
"""

from __future__ import annotations

import json
import os
import re

from interlock.journal.peek import JournalUnreadable, peek_ticket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["comes_next", "denied"]

_HANDOFF = "handoff_ticket"
_DIGITS = 12
_MOST_TEXT = 80
_MOST_DOCUMENTS = 20
_NUMBERED = re.compile(rf"GH-0*([1-9]\d{{0,{_DIGITS - 1}}})(?!\d)")
_DATE = r"\d{4}-\d{2}-\d{2}"


def denied(journal: str, tool: str, given: dict[str, Any], directory: str, ours: str) -> str | None:
    """Why a call is not made; None where it passes. `ours` is the command that the agent was started for, if any."""
    from interlock.work.sessions.policy import need_of

    if _is_handoff(tool):
        found = _look(journal, given.get("number"))
        return _handoff_denial(*found, given, ours) if found else None
    named = [_document(path, directory) for path in need_of(tool, given, directory, None).files]
    for document in [one for one in named if one][:_MOST_DOCUMENTS]:
        # A number that is no ticket's here may be another tracker's; the rule is the same.
        found = _look(journal, document.number, or_newest=True)
        if found and (why := _duplicate(found[0], document)):
            return why
    return None


def comes_next(journal: str, tool: str, given: dict[str, Any], response: object) -> str | None:
    """What is to be known after a handoff that was made; None after everything else."""
    refused = isinstance(response, dict) and response.get("isError")
    found = _look(journal, given.get("number")) if _is_handoff(tool) and not refused else None
    return _guidance(*found, given) if found else None


def _is_handoff(tool: str) -> bool:
    from interlock.world.agents.own import is_ours

    name = tool.lower()
    return name.endswith(_HANDOFF) and is_ours(name)


def _look(journal: str, number: object, *, or_newest: bool = False) -> tuple[dict[str, Any], str] | None:
    """The machine and the state of the ticket with a number."""
    text = str(number) if type(number) in (int, str) else ""
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        return None
    try:
        found = peek_ticket(journal, f"number:{int(text):0{_DIGITS}d}", or_newest=or_newest)
    except JournalUnreadable:
        return None
    return (json.loads(found[1]), found[0]) if found else None


# Before a handoff


def _handoff_denial(definition: dict[str, Any], state: str, given: dict[str, Any], ours: str) -> str | None:
    escalated = _escalated(definition)
    if state == escalated:
        return (
            f"Interlock: ticket {given.get('number')} is in {escalated}, and only a person moves it on: "
            f"`ralph ticket handoff {given.get('number')} …` in their terminal. Say what they have to decide, and stop."
        )
    command, to, intent = (_text(given.get(key)) for key in ("command", "to_state", "intent"))
    offered = _offered(definition)
    name = command.removeprefix("ralph_")
    if command and name not in offered:
        return f"Interlock: there is no command {command!r}. The commands are {_words(offered)}."
    if command and ours and not _may(definition, ours, name):
        return (
            f"Interlock: this agent was started for the command {_command(ours)}, so that is the one it hands off by: "
            f'{_HANDOFF}({{"number": {given.get("number")}, "command": "{_command(ours)}", …}}). '
            f"What {name} has to do is left to an agent that was started for it."
        )
    return _wrong_state(definition, name, to) or _wrong_intent(definition, intent)


def _wrong_state(definition: dict[str, Any], command: str, to: str) -> str | None:
    states, offered = definition.get("states", {}), _offered(definition)
    if not to:
        return None
    if to not in states:
        return f"Interlock: there is no state {to!r}. The states are {_words(states)}."
    if not command or to in _reached(offered[command]):
        return None
    makers = [one for one in offered if to in _reached(offered[one])]
    who = f"the commands that lead there are {_words(makers)}" if makers else "only a person or Interlock leads there"
    return (
        f"Interlock: {command} is the wrong command for {to}: {who}. "
        f"{command} leads to {_words(_reached(offered[command]))}."
    )


def _wrong_intent(definition: dict[str, Any], intent: str) -> str | None:
    known = definition.get("intents", {})
    plain = intent.removeprefix("__").removesuffix("__").lower()
    if not intent or plain in known:
        return None
    glossed = ", ".join(f"{name} ({one.get('description', '')})" for name, one in known.items())
    return f"Interlock: there is no intent {intent!r}. The intents are {glossed}."


def _may(definition: dict[str, Any], ours: str, command: str) -> bool:
    """Whether an agent that was started for one command may hand off by another: one that it delegates to."""
    mine = _command(ours)
    return command == mine or command in _offered(definition).get(mine, {}).get("delegates_to", ())


def _command(name: str) -> str:
    return _text(name).replace("-", "_").removeprefix("ralph_")


def _offered(definition: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: one for name, one in definition.get("commands", {}).items() if not one.get("internal")}


def _reached(command: dict[str, Any]) -> list[str]:
    lock = command.get("lock")
    return [*command["outputs"], *([lock] if lock and lock not in command["outputs"] else [])]


def _escalated(definition: dict[str, Any]) -> str | None:
    found = definition.get("intents", {}).get("escalate", {}).get("commands", {}).get("*")
    return found if isinstance(found, str) else None


def _words(names: Iterable[str]) -> str:
    return ", ".join(names)


def _text(value: object) -> str:
    return value[:_MOST_TEXT] if isinstance(value, str) else ""


# After a handoff


def _guidance(definition: dict[str, Any], state: str, given: dict[str, Any]) -> str:
    """Facts and no orders, because agents distrust an order that comes from a hook."""
    known = definition.get("states", {}).get(state, {})
    ticket = f"Interlock: ticket {given.get('number')} is in {state}"
    following = [name for name, one in _offered(definition).items() if state in one["inputs"]]
    after = f" Commands that begin there: {_words(following)}." if following else ""
    if known.get("terminal"):
        return f"{ticket}, which is its end. There is nothing more to do for it."
    if state == _escalated(definition):
        return f"{ticket}. A person has to decide, and only a person moves it on; the work on it stops here."
    if known.get("human"):
        return f"{ticket}, which waits for a person. The work on it stops here until they have looked.{after}"
    if known.get("lock") and _claims(definition, state, given):
        return f"{ticket}, and the lock is held: the work begins, and complete, escalate or release end it."
    if known.get("lock"):
        return f"{ticket}, and has to be claimed with the intent lock before anybody works on it.{after}"
    return f"{ticket}.{after or ' No command begins there.'}"


def _claims(definition: dict[str, Any], state: str, given: dict[str, Any]) -> bool:
    intent = _text(given.get("intent")).removeprefix("__").removesuffix("__").lower()
    command = _text(given.get("command")).removeprefix("ralph_")
    lock = _offered(definition).get(command, {}).get("lock")
    return intent == "lock" or (given.get("to_state") == state and lock == state)


# Documents


class _Document:
    """A path that names a ticket's document: which ticket's, and where."""

    __slots__ = ("directory", "file", "number")

    def __init__(self, directory: str, file: str, number: str) -> None:
        self.directory = directory
        self.file = file
        self.number = number


def _document(path: str, directory: str) -> _Document | None:
    """The document that a path may be, by the ticket's number in its name; seen from a directory."""
    if "\0" in path or not path.endswith(".md"):
        return None
    full = os.path.normpath(os.path.join(directory, os.path.expanduser(path)))
    place, file = os.path.split(full)
    found = _NUMBERED.search(file)
    return _Document(place, file, found.group(1)) if found else None


def _duplicate(definition: dict[str, Any], document: _Document) -> str | None:
    """Why a document is not written: its ticket has one of its kind already. The same file again may be written."""
    for name, artifact in definition.get("artifacts", {}).items():
        where, _, form = str(artifact.get("pattern", "")).rpartition("/")
        if not name.endswith("_document") or not f"{document.directory}/".endswith(f"/{where}/"):
            continue
        shape = _shape(form, document.number)
        others = _others(document, shape) if shape.fullmatch(document.file) else []
        if others:
            kind = name.removesuffix("_document")
            return (
                f"Interlock: ticket {document.number} has a {kind} document already, {where}/{others[0]}. "
                f"There is one for each ticket: update that file instead of writing {document.file}."
            )
    return None


def _shape(form: str, number: str) -> re.Pattern[str]:
    """The names that a pattern stands for, of one ticket: with leading zeros, and in the form for a group as well."""
    shape = re.escape(form).replace("YYYY\\-MM\\-DD", _DATE).replace("\\*", ".*").replace("GH\\-", "(?:group-)?GH-")
    return re.compile(shape.replace("\\{number\\}", f"0*{number}"))


def _others(document: _Document, shape: re.Pattern[str]) -> list[str]:
    try:
        present = os.listdir(document.directory)
    except OSError:
        return []
    return sorted(file for file in present if file != document.file and shape.fullmatch(file))
