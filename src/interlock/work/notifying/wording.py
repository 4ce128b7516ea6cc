"""A piece of news as a notice: what it is called, why, what to type and where to look."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from interlock.journal import Entry, Instance
from interlock.machine import Machine
from interlock.work.attention.next_step import command_in
from interlock.work.formats.quoting import sayable
from interlock.work.inspection.references import Reference
from interlock.work.notifying.news import NewsItem
from interlock.world.notices.notice import Kind, Notice
from interlock.world.redaction import redacted

__all__ = ["folded", "notice_of", "trial"]

_TITLE: Final = 150
_BODY: Final = 1000
_LISTED: Final = 10
_WORDS: Final = {
    Kind.NEEDED: "Needs you",
    Kind.STUCK: "Stuck",
    Kind.BUDGET: "Over budget",
    Kind.DONE: "Done",
}
_PAGES: Final = {"ticket": "ticket", "thread": "thread", "story": "story", "orchestrator": "run"}
"""What the dashboard calls the page of an instance."""
_ID: Final = 32


def notice_of(
    news: NewsItem, entry: Entry, machine: Machine, instance: Instance, of: Reference, link: str = ""
) -> Notice:
    """What is told of an entry; `instance` is as it stood right after it, `link` the dashboard's address."""
    number = f"#{of.number} " if of.number is not None else ""
    called = f"{number}{of.title}".strip() or f"{of.machine} {of.id[-6:]}"
    label = machine.label(entry.to_state)
    return Notice(
        id=hashlib.sha256(f"notice:{entry.hash}".encode()).hexdigest()[:_ID],
        kind=news.kind,
        title=_line(f"{_WORDS[news.kind]}: {called}", _TITLE),
        body=_text(f"{label}: {news.why}" if news.why else label, _BODY),
        machine=of.machine,
        instance=of.id,
        state=entry.to_state,
        command=_command(news.kind, entry, machine, instance, of),
        link=_page(of, link),
        at=entry.time,
        seq=entry.seq,
    )


def folded(notices: Sequence[Notice], link: str = "") -> Notice:
    """Many things to know, told as one."""
    kinds = [one.kind for one in notices]
    counts = [f"{kinds.count(kind)} {word.lower()}" for kind, word in _WORDS.items() if kind in kinds]
    lines = [one.title for one in notices[:_LISTED]]
    more = len(notices) - len(lines)
    last = notices[-1]
    return Notice(
        id=hashlib.sha256("".join(one.id for one in notices).encode()).hexdigest()[:_ID],
        kind=next(kind for kind in _WORDS if kind in kinds),
        title=_line(f"{len(notices)} things to know: {', '.join(counts)}", _TITLE),
        body="\n".join((*lines, *([f"… and {more} more"] if more else []))),
        link=link,
        at=last.at,
        seq=last.seq,
        count=len(notices),
    )


def trial(id_: str, at: str) -> Notice:
    """What is told to see whether a channel works."""
    return Notice(id=id_, kind=Kind.TEST, title="Test: ralph can tell you", body="This channel works.", at=at)


def _command(kind: Kind, entry: Entry, machine: Machine, instance: Instance, of: Reference) -> str:
    """What to run: for what is done, to look at it. It follows from the entry, so that it is told the same again."""
    end = of.id[-6:]
    if kind is not Kind.DONE:
        return command_in(machine, instance, of.number, entry.from_state)
    shown = {"ticket": f"ticket show {of.number}", "thread": f"thread show {end}", "story": "story status"}
    return f"ralph {shown.get(of.machine, f'orchestrate status {end}')}"


def _page(of: Reference, link: str) -> str:
    if not link or of.machine not in _PAGES:
        return link
    return f"{link.rstrip('/')}/{_PAGES[of.machine]}/{of.number if of.machine == 'ticket' else of.id}"


def _line(text: str, most: int) -> str:
    return " ".join(_text(text, 2 * most).split())[:most]


def _text(text: str, most: int) -> str:
    """What agents wrote, without secrets, without what a terminal would obey, and with an end."""
    plain = redacted(sayable(text)).replace("\t", " ").strip()
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
