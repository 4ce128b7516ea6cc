"""A session as people see it: the seed's RalphProgress, for a terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interlock.faces.cli.command import CommandCall
from interlock.faces.cli.looks import shade
from interlock.faces.cli.output import Output, one_line
from interlock.faces.cli.place import DATABASE_URL, journal_path, opened
from interlock.faces.cli.styled import Text
from interlock.machine import load_shipped
from interlock.machine.form import State
from interlock.work.sessions.record import Note, SessionRecord, record_of
from interlock.work.views.session import HistoryItem, SessionView, view_of_session

if TYPE_CHECKING:
    from interlock.journal import Entry, Journal

__all__ = ["line_of", "looks", "show_session", "watch", "whose"]

_POLL_SECONDS = 0.2
_FRAMES_SECOND = 4
_UPKEEP_SECONDS = 1.0
_LINGER_SECONDS = 60.0
_ABOUT = 60


def looks() -> Mapping[str, State]:
    """How each state looks: icon, colour and label, from the machine's file."""
    return load_shipped("session").states


def _duration(seconds: float) -> str:
    """A time that people can read at a glance."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"


def _look(state: str, known: Mapping[str, State]) -> tuple[str, str, str]:
    """The icon, the label and the colour of a state."""
    look = known.get(state)
    if look is None:
        return "?", state, "white"
    return look.icon or "?", look.label or state, shade(look) or "white"


def whose(journal: Journal, ticket: str | None) -> str:
    """What a session is for, as people call it: a ticket, a thread, a run; or the words that it was begun with."""
    from interlock.faces.cli.looks import named
    from interlock.work.inspection.references import pointer_to

    found = pointer_to(journal, ticket) if ticket else None
    return named(found) if found is not None else one_line(ticket or "–")


def line_of(view: SessionView, known: Mapping[str, State], owner: str) -> Text:
    """A session in a line: icon, state, time in it, whose it is, who works as what, and what was heard last."""
    icon, label, color = _look(view.state, known)
    spent = sum(view.seconds_in_state.values()) if view.outcome else view.state_history[-1].seconds
    line = Text.assemble(
        (f"{icon} {label:<12}", color),
        (f" {_duration(spent):>7}", "dim" if view.outcome else ""),
        (f"  …{view.id[-6:]}", "magenta"),
        f"  {owner}",
        (f"  {one_line(view.agent)}" if view.agent else "", "yellow"),
        (f" {one_line(view.role)}" if view.role else "", "dim"),
    )
    if view.outcome and view.outcome != "success":
        line.append(f"  {view.outcome}", "red")
    if view.is_silent:
        line.append(f"  ⚠ silent for {_duration(view.silent_seconds)}", "bold red")
    if view.findings:
        line.append(f"  ⚠ {len(view.findings)} found", "bold red")
    _append_last(line, view)
    return line


def _append_last(line: Text, view: SessionView) -> None:
    if view.outcome:
        line.append(f"  {one_line(view.error_message)[:_ABOUT]}" if view.error_message else "", "dim")
    elif view.is_busy:
        line.append(f"  ▸ {_short(view.doing)}", "cyan")
    elif view.heard:
        line.append(f"  {view.heard}: {_short(view.doing)}", "dim")


def _short(text: str) -> str:
    said = one_line(text)
    return said if len(said) <= _ABOUT else f"{said[:_ABOUT]}…"


# A page


def show_session(output: Output, view: SessionView, owner: str) -> None:
    """A session on a page: its history with durations, its totals, what was seen and what does not agree."""
    known = looks()
    output.print(line_of(view, known, owner))
    about = [("id", view.id), ("for", owner), ("started", view.started_at)]
    about += [("completed", view.completed_at)] if view.completed_at else []
    about += [("error", view.error_message)] if view.error_message else []
    for name, value in about:
        output.print(Text.assemble((f"  {name:<10} ", "dim"), one_line(str(value))))
    output.print(Text("\nHistory", "bold"))
    for one in view.state_history:
        output.print(_history_row(one, known))
    _show_seen(output, view)


def _history_row(one: HistoryItem, known: Mapping[str, State]) -> Text:
    icon, _, color = _look(one.state, known)
    ended = one.state in known and known[one.state].terminal
    row = Text.assemble(
        (f"  {one.timestamp[11:19]}  ", "dim"),
        (f"{icon} {one.state:<13}", color),
        f"{'' if ended else _duration(one.seconds):>8}",
    )
    said = one.metadata.get("message") or one.metadata.get("error")
    row.append(f"  {one_line(str(said))}" if said else "", "dim")
    row.append(_tests(one.metadata.get("testResults")), "dim")
    row.append("  ⚠ off the path" if one.off_path else "", "bold red")
    row.rstrip()
    return row


def _tests(results: Any) -> str:
    if not isinstance(results, dict):
        return ""
    said = [f"{one_line(str(results[name]))} {name}" for name in ("passed", "failed", "skipped") if results.get(name)]
    return f"  {', '.join(said)}" if said else ""


def _show_seen(output: Output, view: SessionView) -> None:
    seen = [f"{count} × {one_line(tool)}" for tool, count in sorted(view.tools.items())]
    if seen:
        output.print(Text.assemble(("\nTools    ", "bold"), ", ".join(seen)))
    if view.files:
        output.print(Text.assemble(("Files    ", "bold"), ", ".join(map(one_line, view.files))))
    if view.events.get("denied"):
        output.print(Text.assemble(("Denied   ", "bold"), f"{view.events['denied']} by the hook"))
    for finding in view.findings:
        output.print(Text.assemble(("⚠ ", "bold red"), f"{one_line(finding.code)}: {one_line(finding.message)}"))


# Watching


def watch(call: CommandCall) -> None:
    """Show the open sessions as they go on: a live line each in a terminal, plain lines elsewhere."""
    _wait_for_journal(call)
    with opened(call) as journal:
        if journal is None:
            call.output.message("There are no sessions here yet.")
            return
        view = _View(call, journal)
        if call.output.json or not call.output.stdout.isatty() or call.arguments.once:
            view.print_lines()
        else:
            view.live()


def _wait_for_journal(call: CommandCall) -> None:
    path = journal_path(call)
    while not (path.exists() or call.environment.get(DATABASE_URL) or call.arguments.once):
        time.sleep(_POLL_SECONDS)


class _View:
    """The sessions that are shown, kept up to date entry by entry."""

    def __init__(self, call: CommandCall, journal: Journal) -> None:
        from interlock.work.sessions.verbs import find_session

        self._call = call
        self._journal = journal
        self._machine = load_shipped("session")
        self._known = looks()
        self._kept_up = 0.0
        self._owners: dict[str, str] = {}
        self._upkeep()
        self._after = journal.head()
        one = call.arguments.session
        self._only = find_session(journal, one).id if one else None
        shown = [journal.instance(self._only)] if self._only else journal.open_instances("session")
        self.records = {session.id: record_of(journal.history(session.id)) for session in shown}

    def _upkeep(self) -> None:
        from interlock.faces.cli.session import bring_up_to_date

        if time.monotonic() - self._kept_up > _UPKEEP_SECONDS or not self._kept_up:
            bring_up_to_date(self._call, self._journal)
            self._kept_up = time.monotonic()

    def take_news(self) -> list[tuple[SessionRecord, Note]]:
        """What happened since the last time."""
        self._upkeep()
        news = []
        for entry in self._journal.entries(self._after):
            self._after = entry.seq
            record = self._record_for(entry)
            if record is not None:
                news.append((record, record.take(entry)))
        return news

    def _record_for(self, entry: Entry) -> SessionRecord | None:
        if entry.instance in self.records:
            return self.records[entry.instance]
        # One that was open when the watch began is known; any other begins now, or has ended.
        if entry.event != "created" or self._only is not None:
            return None
        is_session = self._journal.instance(entry.instance).machine == "session"
        return self.records.setdefault(entry.instance, SessionRecord()) if is_session else None

    def live(self) -> None:
        from rich.console import Group
        from rich.live import Live

        def frame() -> Group:
            self.take_news()
            now = self._journal.now()
            shown = [(view_of_session(one, self._machine, now), self._whose(one)) for one in self._current(now)]
            rows = [line_of(view, self._known, owner) for view, owner in shown]
            for row in rows:
                row.truncate(console.width)
            return Group(*(rows or [Text("No open sessions. Waiting for one; Ctrl+C ends.", "dim")]))

        console = self._call.output.console()
        with Live(console=console, get_renderable=frame, refresh_per_second=_FRAMES_SECOND):
            while not self._over():
                time.sleep(_POLL_SECONDS)

    def _current(self, now: float) -> list[SessionRecord]:
        """The open ones, and those that ended a moment ago."""
        shown = self.records.values()
        return [one for one in shown if one.outcome is None or self._only or now - one.end(now) < _LINGER_SECONDS]

    def _over(self) -> bool:
        return self._only is not None and self.records[self._only].outcome is not None

    def print_lines(self) -> None:
        """Each session once, then a line for each thing that happens."""
        if not self.records:
            self._call.output.message("There are no open sessions now.")
        for record in self.records.values():
            self._print(record, record.last)
        while not self._call.arguments.once and not self._over():
            for record, note in self.take_news():
                self._print(record, note)
            self._call.output.stdout.flush()
            time.sleep(_POLL_SECONDS)

    def _print(self, record: SessionRecord, note: Note | None) -> None:
        if self._call.output.json:
            told = {"seq": note.seq, "type": note.type, "time": note.time, "data": note.data} if note else None
            self._call.output.line({"session": record.id, "state": record.state, "event": told})
            return
        when = note.time[11:19] if note else record.updated[11:19]
        said = f"  {note.type}: {_short(note.message)}" if note and note.type != "state_change" else ""
        icon, label, _ = _look(record.state, self._known)
        spent = _duration(record.durations(self._journal.now())[-1][1])
        owner = self._whose(record)
        self._call.output.text(f"{when}  {icon} {label:<12} {spent:>7}  …{record.id[-6:]}  {owner}{said}")

    def _whose(self, record: SessionRecord) -> str:
        if record.id not in self._owners:
            self._owners[record.id] = whose(self._journal, record.ticket_id)
        return self._owners[record.id]
