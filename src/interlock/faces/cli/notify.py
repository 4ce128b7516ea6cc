"""`ralph notify`: try the channels on which people are told, see how they stand, and send what waits."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from interlock.errors import InterlockError, UsageError
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.output import clean, columns
from interlock.faces.cli.place import Workspace, readable, writable

if TYPE_CHECKING:
    from interlock.work.notifying.delivery import Sender
    from interlock.work.notifying.outbox import Post

__all__ = ["VERBS", "senders_of", "telling"]

_HINT = "Set one in ralph.toml, such as notify.desktop, then `ralph config accept`."


def _posts_of(call: CommandCall, place: Workspace) -> list[Post]:
    """What this process sends, a post for each channel that is set."""
    from interlock.work.notifying.channels import CHANNELS, channels, is_on

    if not any(is_on(place.settings, one) for one in CHANNELS):
        return []  # and nothing more is imported
    from interlock.work.notifying.outbox import Post

    kinds, link = frozenset(place.settings.texts("notify.on")), place.settings.text("notify.link")
    root = place.work_tree or call.directory
    found = channels(place.settings, call.environment, root, place.journal.now)
    return [Post(place.journal, one, kinds, link) for one in found]


def senders_of(call: CommandCall, place: Workspace) -> list[Sender]:
    """All that this process sends of what happens: to people, and to a collector of traces."""
    posts: list[Sender] = list(_posts_of(call, place))
    if place.settings.text("telemetry.traces") == "off":
        return posts
    from interlock.work.telemetry.exporting import export_of

    export = export_of(place.journal, place.settings, call.environment)
    return posts if export is None else [*posts, export]


@contextmanager
def telling(call: CommandCall, place: Workspace) -> Iterator[None]:
    """People are told what happens, and collectors, as long as this lasts."""
    senders = senders_of(call, place)
    if not senders:
        yield
        return
    from interlock.work.notifying.sending import sending

    with sending(senders):
        yield


def _test(call: CommandCall) -> None:
    from interlock.journal.ids import time_text
    from interlock.work.notifying.wording import trial

    with readable(call) as place:
        named = call.arguments.channel
        found = [one for one in _posts_of(call, place) if named in (None, one.channel.name)]
        at = time_text(int(place.journal.now() * 1e9))
    if not found:
        what = f"The channel {named} is off." if named else "No channel is set on which people could be told."
        raise UsageError("notify_off", what, _HINT)
    rows = []
    for post in found:
        trouble = post.channel.send(trial(os.urandom(16).hex(), at))
        rows.append({"channel": post.channel.name, "trouble": trouble.why if trouble else None})
    data = {"channels": rows}
    if any(row["trouble"] for row in rows):
        said = "; ".join(f"{row['channel']}: {row['trouble'] or 'told'}" for row in rows)
        raise InterlockError("notify_failed", f"{clean(said)}.", "Mend what it names, then try it again.", data)
    call.output.result(data, lambda: call.output.text(columns([(str(row["channel"]), "told") for row in rows])))


def _status(call: CommandCall) -> None:
    with readable(call) as place:
        known = {one.channel: one for one in place.journal.outboxes()}
        rows = [_row(one, known) for one in _posts_of(call, place)]
    data = {"channels": rows}

    def show() -> None:
        lines = [(str(row["channel"]), f"{row['waiting']} wait", f"{row['sent']} told", _said(row)) for row in rows]
        call.output.text(clean(columns(lines)) if lines else f"No channel is set. {_HINT}")

    call.output.result(data, show)


def _row(post: Post, known: dict[str, Any]) -> dict[str, Any]:
    from interlock.journal.ids import time_text

    box = known.get(post.channel.name)
    waiting = len(post.waiting()) if box is not None else 0
    row = {"channel": post.channel.name, "waiting": waiting, "sent": 0, "dropped": 0, "told": None}
    if box is None:
        return {**row, "tries": 0, "trouble": None, "due": None}
    due = time_text(box.due * 1_000_000) if box.due else None
    return {
        **row,
        "sent": box.sent,
        "dropped": box.dropped,
        "told": box.told or None,
        "tries": box.tries,
        "trouble": box.trouble or None,
        "due": due,
    }


def _said(row: dict[str, Any]) -> str:
    said = [f"the last one {row['told']}"] if row["told"] else []
    said += [f"{row['dropped']} dropped, older than a day"] if row["dropped"] else []
    said += [f"failed {row['tries']}×: {row['trouble']}; again after {row['due']}"] if row["trouble"] else []
    return "; ".join(said)


def _send(call: CommandCall) -> None:
    with writable(call) as place:
        posts = _posts_of(call, place)
        if not posts:
            raise UsageError("notify_off", "No channel is set on which people could be told.", _HINT)
        sent = {one.channel.name: one.turn() for one in posts}
        known = {one.channel: one for one in place.journal.outboxes()}
    troubles = {name: known[name].trouble for name in sent if name in known and known[name].trouble}
    data = {"sent": sent, "troubles": troubles}
    if troubles:
        said = "; ".join(f"{name}: {why}" for name, why in troubles.items())
        hint = "`ralph notify status` says when it is tried again."
        raise InterlockError("notify_failed", f"{clean(said)}.", hint, data)
    call.output.result(data, lambda: call.output.text(columns([(name, f"{n} told") for name, n in sent.items()])))


def _channel(parser: ArgumentParser) -> None:
    parser.add_argument("channel", nargs="?", help="desktop, terminal, slack, webhook or command; all if left out")


VERBS = (
    Verb("test", "tell something on each channel, to see that it arrives", _test, _channel),
    Verb("status", "what waits on each channel, what was told, and what failed", _status),
    Verb("send", "send what waits now; for cron", _send),
)
