"""`ralph-hook EVENT`: what a coding agent's hook runner calls before and after its tools.

It imports next to nothing, because it runs before every tool call. The calling agent's session is the one that
RALPH_SESSION_ID names, or else the one that the agent's process made; an agent that has none is none of our
business, and all but the tickets' own rules passes. It looks at the session's state, decides, and leaves what it
saw in the inbox.

Called as `ralph-hook EVENT plugin` it is the plugin's, which may stand beside the repository's own: both judge a call,
and only the other one tells of it.

Called as `ralph-hook --confined EVENT` by a driver, it judges a call of an agent in a sandbox, and blocks only what it
knows: the walls hold for the rest. That is said by an argument, because the environment of an agent's own hook is what
the agent was started with; who can choose the arguments of its hook can leave out the hook.

Agents give a hook ten seconds, and let the call pass if it takes longer. So the work for one call is bounded by a count
of steps, a database is waited for shortly, and when all of that fails, a deadline answers: with a denial, where
there is a session or a journal to guard.

Exit 2 blocks, and nothing but a block exits 2. An event that only tells something always passes.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from interlock.journal.peek import SessionPeek
    from interlock.work.sessions.policy import ToolNeed

__all__ = ["main"]

_BLOCK = 2
_USAGE = 64
_INTERRUPTED = 130
_MAX_INPUT = 8 * 1024 * 1024
_MAX_TEXT = 300
_MOST_FILES = 20
_SESSION = "RALPH_SESSION_ID"
_SOCKET = "RALPH_SOCKET"
_COMMAND = "RALPH_COMMAND"
_REPORTING = "RALPH_REPORTING"
_RUN = "RALPH_RUN"
_PLUGIN = "plugin"
_CONFINED = "--confined"
_SETTINGS = ("settings.json", "settings.local.json")
_POLICY = "pre-tool-use"
_AFTERWARDS = "post-tool-use"
_EVENTS = (
    _POLICY,
    _AFTERWARDS,
    "post-tool-use-failure",
    "session-start",
    "session-end",
    "stop",
    "user-prompt-submit",
)
_PROCESSOR_SECONDS = 2.0
_WALL_SECONDS = 8.0
"""Deadlines, for what computes and for what waits; far beyond what any call takes, and before agents give up."""
_LATE = "Interlock: this call could not be judged in time, so it is not made. Make it again, smaller if it was large."
_NOT_JUDGED = "Interlock: this call could not be judged, so it is not made. Tell the person you work for."


def main() -> None:
    """Decide about one hook event of the calling agent, and exit with the decision."""
    _stand_in()
    is_confined = sys.argv[1:2] == [_CONFINED]
    if is_confined:
        del sys.argv[1]
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help") or sys.argv[2:] not in ([], [_PLUGIN]):
        _say(2, f"usage: ralph-hook EVENT [{_PLUGIN}] < the hook's JSON\nevents: {', '.join(_EVENTS)}\n")
        raise SystemExit(_USAGE)
    event = sys.argv[1]
    if not is_confined and (outside := os.environ.get(_SOCKET)):
        raise SystemExit(_passed_on(outside, event))
    late = _Late(event)
    try:
        blocked = _decide(event, _input(), late, is_confined)
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    except Exception as error:
        blocked = _failed(event, error, is_session=bool(os.environ.get(_SESSION)))
    late.disarm()
    if blocked:
        _say(2, f"{blocked}\n")
        raise SystemExit(_BLOCK)


def _passed_on(outside: str, event: str) -> int:
    """Have the driver outside of the sandbox judge the event; a tool call that it cannot be asked about is blocked."""
    from interlock.world.relay import ask

    try:
        status, printed, said = ask(outside, sys.argv[1:], _input())
    except OSError as error:
        _say(2, f"ralph-hook: the driver of this session does not answer: {_text(error)}\n{_NOT_JUDGED}\n")
        return _BLOCK if event == _POLICY else 0
    _say(1, printed)
    _say(2, said)
    return status


class _Late:
    """Answers when the deadline has come, and ends the process, whatever it is doing.

    A signal interrupts what computes, a regular expression included; a thread answers while a call of the system waits.
    """

    __slots__ = ("_event", "guards")

    def __init__(self, event: str) -> None:
        import _thread
        import signal

        self._event = event
        self.guards = bool(os.environ.get(_SESSION))
        """True if there is something that an unjudged call could harm."""
        signal.signal(signal.SIGPROF, lambda *_: self._answer())
        signal.setitimer(signal.ITIMER_PROF, _PROCESSOR_SECONDS)
        _thread.start_new_thread(self._watch, ())

    def disarm(self) -> None:
        """Stop counting: once the interpreter shuts down, the signal would kill the process instead of answering."""
        import signal

        signal.setitimer(signal.ITIMER_PROF, 0)

    def _watch(self) -> None:
        import time

        time.sleep(_WALL_SECONDS)
        self._answer()

    def _answer(self) -> None:
        blocks = self._event == _POLICY and self.guards
        if blocks:
            _say(2, f"{_LATE}\n")
        os._exit(_BLOCK if blocks else 0)


def _stand_in() -> None:
    """Open what was closed: a file of ours must never take the place of a stream and be written to as one."""
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _input() -> bytes:
    """All of stdin, so that the runner never meets a closed pipe; nothing of it where it is too much."""
    parts: list[bytes] = []
    size = 0
    try:
        while part := os.read(0, 1 << 20):
            size += len(part)
            if size <= _MAX_INPUT:
                parts.append(part)
    except OSError:
        return b""
    return b"".join(parts) if size <= _MAX_INPUT else b""


def _say(stream: int, text: str) -> bool:
    """Write to a stream as it is; whether somebody can have heard it."""
    rest = text.encode("utf-8", "replace")
    try:
        while rest:
            rest = rest[os.write(stream, rest) :]
    except OSError:
        return False
    return True


def _decide(event: str, raw: bytes, late: _Late, is_confined: bool) -> str | None:
    """Why the event is blocked; None where it passes."""
    if event not in _EVENTS:
        _say(2, f"ralph-hook: {_text(event)!r} is no event that it knows; it passes.\n")
        return None
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError):
        given = None
    said = given if isinstance(given, dict) else {}
    place = _place(said)
    if place is None and not os.environ.get(_SESSION):
        return None
    late.guards = late.guards or _has_journal(place)
    seen = _look(place)
    late.guards = seen is not None
    try:
        return _of_ticket(event, raw, said, seen, place) or _judge(event, given, said, seen, place, is_confined)
    except Exception as error:
        return _failed(event, error, is_session=seen is not None)


def _judge(
    event: str,
    given: object,
    said: dict[str, Any],
    seen: SessionPeek | str | None,
    place: tuple[str, str | None] | None,
    is_confined: bool,
) -> str | None:
    if event == _AFTERWARDS and not isinstance(seen, str) and not os.environ.get(_SESSION):
        _adopt(seen, said, place)
    if seen is None:
        return None
    if isinstance(seen, str):
        return _before_unreadable(said, place, seen, is_confined) if event == _POLICY else None
    return _before(seen, given, place, is_confined) if event == _POLICY else _after(event, seen, said, place)


def _failed(event: str, error: Exception, is_session: bool) -> str | None:
    """What an event comes to that could not be judged: a tool call of a session is blocked, the rest passes."""
    _say(2, f"ralph-hook: {type(error).__name__}: {_text(error)}\n")
    return _NOT_JUDGED if event == _POLICY and is_session else None


# Finding the session


def _place(said: dict[str, Any]) -> tuple[str, str | None] | None:
    """The state directory and the work tree of the repository that the agent works in; a link is none."""
    from interlock.world.repository import STATE_DIRECTORY, locate

    for start in (os.environ.get("RALPH_ROOT"), os.environ.get("CLAUDE_PROJECT_DIR"), said.get("cwd"), os.curdir):
        if isinstance(start, str) and start and "\0" not in start:
            try:
                found = locate(start)
            except (OSError, ValueError):
                continue
            if found is not None:
                root, common = found
                place = os.path.join(root or common, STATE_DIRECTORY)
                return None if os.path.islink(place) else (place, root)
    return None


def _directory(said: dict[str, Any]) -> str:
    """Where the agent is."""
    found = said.get("cwd")
    return os.path.abspath(found) if isinstance(found, str) and found and "\0" not in found else os.getcwd()


def _journal(place: tuple[str, str | None] | None) -> str | None:
    """The journal's file or address; None where it is on a server and its driver keeps no address any more."""
    from interlock.world.journal_address import DATABASE_URL, is_withheld, kept_address

    address = os.environ.get(DATABASE_URL) or kept_address(os.environ)
    if address or is_withheld(os.environ):
        return address or None
    return os.path.join(place[0], "journal.db") if place else ""


def _has_journal(place: tuple[str, str | None] | None) -> bool:
    """True if a journal is to be asked; one on a server counts whether or not it answers."""
    journal = _journal(place)
    return journal is None or "://" in journal or os.path.lexists(journal)


def _look(place: tuple[str, str | None] | None) -> SessionPeek | str | None:
    """The calling agent's session; why it cannot be looked at; or None where it has none."""
    from interlock.journal.peek import JournalUnreadable, peek
    from interlock.world.ancestry import names_above

    session = os.environ.get(_SESSION) or None
    journal = _journal(place)
    if journal is None:
        return "the driver of this session has ended"
    if "://" not in journal and not os.path.lexists(journal):
        return "there is no journal here" if session else None
    try:
        seen = peek(journal, session, [] if session else names_above())
    except JournalUnreadable as error:
        return f"the journal cannot be read ({error})"
    if seen is not None and not _is_trusted(journal, place):
        return "you have not trusted the journal here"
    return f"there is no session {_text(session)}" if seen is None and session else seen


def _is_trusted(journal: str, place: tuple[str, str | None] | None) -> bool:
    """True if this user trusts the journal: a clone can bring one with sessions, tickets and rules of its own."""
    from interlock.journal.peek import peek_id
    from interlock.world.trusted import is_trusted

    id_ = peek_id(journal)
    try:
        return id_ is not None and place is not None and is_trusted(os.environ, place[0], id_)
    except ValueError:
        return False


def _is_nearest(name: str | None) -> bool:
    """Whether a process is the agent that called this hook, and not one further up that started another agent."""
    from interlock.world.ancestry import LAUNCHERS, ancestors, name_of

    for pid, began, command in ancestors(os.getpid()):
        if name_of(pid, began) == name:
            return True
        if command not in LAUNCHERS:
            return False
    return False


# Deciding


def _before(seen: SessionPeek, given: object, place: tuple[str, str | None] | None, is_confined: bool) -> str | None:
    from interlock.work.sessions.policy import denial, need_of, tools_of

    definition = json.loads(seen.definition)
    allowed = ["read", "run", "write"] if _is_unheld(seen) else tools_of(definition, seen.state)
    if not isinstance(given, dict) or not isinstance(given.get("tool_name"), str):
        return "Interlock: the call could not be read, so it is not made. Make it again, smaller if it was large."
    tool, call = given["tool_name"], given.get("tool_input")
    call = call if isinstance(call, dict) else {}
    need = need_of(tool, call, _directory(given), place and place[1], is_confined=is_confined)
    note = {"tool": _text(tool[:100]), "call": _text(given.get("tool_use_id")), "about": _text(need.about)}
    passes = need.kind in allowed and not need.protected and not need.is_unjudged
    if need.kind == "other":
        passes = "write" in allowed and not need.protected
        if not passes and seen.outcome is None and _ask(given, seen, need, note["tool"]):
            _tell(place, seen, {"type": "progress", "message": "a person was asked", **note})
            return None
    if passes:
        unsure = {"unsure": _text(need.why)} if need.is_guess and need.why else {}
        _tell(place, seen, {"type": "tool_start", **note, **unsure})
        return None
    _tell(place, seen, {"type": "denied", **note, "need": need.kind, "state": seen.state})
    return denial(seen.session, seen.state, seen.outcome, definition, need, driven=bool(os.environ.get(_SESSION)))


def _is_unheld(seen: SessionPeek) -> bool:
    """Whether an agent whose driver can do without reports has made none: only a report of its own holds it."""
    if os.environ.get(_REPORTING) != "optional" or seen.outcome is not None:
        return False
    return bool(seen.state == json.loads(seen.definition).get("initial"))


def _before_unreadable(
    said: dict[str, Any], place: tuple[str, str | None] | None, why: str, is_confined: bool
) -> str | None:
    """A session whose state cannot be known: reading passes, writing does not."""
    from interlock.work.sessions.policy import need_of

    call = said.get("tool_input")
    tool, call = str(said.get("tool_name") or "write"), call if isinstance(call, dict) else {}
    need = need_of(tool, call, _directory(said), place and place[1], is_confined=is_confined)
    if need.kind in ("read", "run"):
        return None
    return (
        f"Interlock: {why}, so this session's state is not known and writing is not allowed; reading is. "
        f"Tell the person you work for; `ralph doctor` shows what is wrong."
    )


def _ask(given: dict[str, Any], seen: SessionPeek, need: ToolNeed, tool: str) -> bool:
    """Have a person asked, where the agent can do that: Claude Code asks or denies, the others would let it pass."""
    nobody_hears = os.fstat(1).st_rdev == os.stat(os.devnull).st_rdev
    if "transcript_path" not in given or "turn_id" in given or nobody_hears:
        return False
    why = (
        f"Interlock: {tool} names {_text(need.protected)}, which is protected, and what it does with it is not known."
        if need.protected
        else f"Interlock: session {seen.session} is in `{seen.state}`, and what {tool} changes is not known."
    )
    answer = {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": why}
    return _say(1, json.dumps({"hookSpecificOutput": answer}) + "\n")


# Tickets


def _of_ticket(
    event: str, raw: bytes, said: dict[str, Any], seen: SessionPeek | str | None, place: tuple[str, str | None] | None
) -> str | None:
    """Why a handoff, or a document that a ticket has already, is blocked; nearly every call is neither of them."""
    tool, call, journal = said.get("tool_name"), said.get("tool_input"), _journal(place)
    marks = {_POLICY: (b"handoff_ticket", b"GH-"), _AFTERWARDS: (b"handoff_ticket",)}.get(event, ())
    if not any(mark in raw for mark in marks) or not isinstance(tool, str) or not isinstance(call, dict):
        return None
    if journal is None or ("://" not in journal and not os.path.isfile(journal)):
        return None
    if not _is_trusted(journal, place):
        return None
    from interlock.work.tickets.policy import comes_next, denied

    if event == _AFTERWARDS:
        # Claude Code and Codex hand this on to the model; the plugin of OpenCode does not listen.
        told = comes_next(journal, tool, call, said.get("tool_response")) if "transcript_path" in said else None
        if told and not _is_second(place):
            answer = {"hookEventName": "PostToolUse", "additionalContext": told}
            _say(1, json.dumps({"hookSpecificOutput": answer}) + "\n")
        return None
    blocked = denied(journal, tool, call, _directory(said), os.environ.get(_COMMAND) or "")
    if blocked and seen is not None and not isinstance(seen, str):
        note: dict[str, object] = {"type": "denied", "tool": _text(tool[:100]), "call": _text(said.get("tool_use_id"))}
        _tell(place, seen, {**note, "about": _text(blocked), "need": "ticket", "state": seen.state})
    return blocked


# Telling


def _after(event: str, seen: SessionPeek, said: dict[str, Any], place: tuple[str, str | None] | None) -> str | None:
    """Leave what was seen; an agent that stops without completing the session it was given is reminded, once.

    A driver of ours, which sets RALPH_REPORTING, completes the session itself and reads the agent's last message:
    a stop that is blocked would put another message in its place.
    """
    for note in _notes(event, seen, said):
        _tell(place, seen, note)
    if event == "session-start" and seen.outcome is None and not _is_second(place):
        _say(1, f"This is Interlock session {seen.session}, in the state `{seen.state}`.\n")
    driven = os.environ.get(_SESSION)
    if event != "stop" or seen.outcome is not None or not driven or os.environ.get(_REPORTING):
        return None
    if said.get("stop_hook_active") is not False:
        return None
    example = json.dumps({"sessionId": seen.session, "outcome": "success"})
    return (
        f"Interlock: session {seen.session} is still in `{seen.state}`. If the work is done, or cannot be, say so: "
        f'complete_ralph_session({example}), with "failure" and an errorMessage where it was not, '
        f"and then give your last message again, word for word: the last one is your result. Otherwise go on."
    )


def _notes(event: str, seen: SessionPeek, said: dict[str, Any]) -> list[dict[str, object]]:
    if event in (_AFTERWARDS, "post-tool-use-failure"):
        return _of_tool(said, failed=event == "post-tool-use-failure")
    if event == "user-prompt-submit":
        return [{"type": "progress", "message": "prompt", "characters": len(str(said.get("prompt") or ""))}]
    if event == "session-start":
        words = {key: _text(said.get(key)) for key in ("source", "model", "session_id") if said.get(key)}
        return [{"type": "progress", "message": "the agent began", **words}]
    if event == "session-end":
        reason = _text(said.get("reason"))
        ended = bool(reason) and reason not in ("clear", "resume") and _is_nearest(seen.name)
        return [{"type": "progress", "message": "the agent ended", "reason": reason, "ended": ended}]
    return [{"type": "progress", "message": "the agent stopped its turn"}]


def _of_tool(said: dict[str, Any], failed: bool) -> list[dict[str, object]]:
    from interlock.work.sessions.policy import need_of, runs_tests

    tool, call = str(said.get("tool_name") or "")[:100], said.get("tool_input")
    need = need_of(tool, call if isinstance(call, dict) else {}, _directory(said), None)
    note: dict[str, object] = {"type": "tool_end", "tool": _text(tool), "success": not failed}
    note |= {"about": _text(need.about), "call": _text(said.get("tool_use_id"))}
    if type(said.get("duration_ms")) is int:
        note["milliseconds"] = min(max(said["duration_ms"], 0), 1 << 40)
    if failed:
        note["error"] = _text(said.get("error"))
    tests = runs_tests(need.about) if need.kind in ("run", "write") and not need.files else None
    if tests is not None:
        note |= {"tests": True, "known": tests and _has_ended(said, failed)}
    files = need.files[:_MOST_FILES] if not failed else ()
    changed: list[dict[str, object]] = [
        {"type": "file_change", "file": _text(file), "tool": _text(tool)} for file in files
    ]
    return [note, *changed]


def _has_ended(said: dict[str, Any], failed: bool) -> bool:
    """Whether it was said how a command ended: Codex never does, and one in the background has not."""
    if failed:
        return not said.get("is_interrupt")
    response = said.get("tool_response")
    if not isinstance(response, dict) or "stderr" not in response:
        return False
    return not response.get("interrupted") and not response.get("backgroundTaskId")


def _text(value: object) -> str:
    """A text that can be kept: short, and cut between words, because half a secret is none that could be found."""
    text = str(value or "")
    cut = text
    if len(text) > _MAX_TEXT:
        words = text[: _MAX_TEXT + 1].rsplit(None, 1)
        cut = f"{words[0] if len(words) > 1 else ''}… [{len(text)} characters]"
    return "".join(one if one.isprintable() or one in "\n\t" else "\N{REPLACEMENT CHARACTER}" for one in cut)


def _tell(place: tuple[str, str | None] | None, seen: SessionPeek, note: dict[str, object]) -> None:
    """Leave an observation; what cannot be left is no reason to stop an agent."""
    from interlock.world.inbox import drop

    if place is not None and not _is_second(place):
        try:
            drop(place[0], seen.session, note)
        except OSError as error:
            _say(2, f"ralph-hook: the observation could not be left: {error.strerror}\n")


def _is_second(place: tuple[str, str | None] | None) -> bool:
    """Whether this is the plugin's hook, beside one that a driver gave to its run or that the repository has."""
    if sys.argv[2:] != [_PLUGIN]:
        return False
    root = place[1] if place else None
    return bool(os.environ.get(_RUN)) or (root is not None and any(_has_hook(root, name) for name in _SETTINGS))


def _has_hook(root: str, name: str) -> bool:
    try:
        with open(os.path.join(root, ".claude", name), "rb") as file:
            return b"ralph-hook" in file.read(_MAX_INPUT)
    except OSError:
        return False


def _adopt(seen: SessionPeek | None, said: dict[str, Any], place: tuple[str, str | None] | None) -> None:
    """A session made over HTTP: the server cannot see the agent's process, and the hook can."""
    from interlock.work.sessions.policy import made_session

    session = made_session(str(said.get("tool_name") or ""), said.get("tool_response"))
    journal = _journal(place)
    if session is None or journal is None or (seen is not None and seen.session == session):
        return
    if _is_trusted(journal, place):
        from interlock.work.sessions.upkeep import adopt

        adopt(journal, session)
