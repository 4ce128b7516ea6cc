"""The channels, each with a real other side."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
import time
from pathlib import Path

import pytest

from interlock.world.notices.command import CommandChannel
from interlock.world.notices.desktop import Desktop
from interlock.world.notices.notice import Kind, Notice
from interlock.world.notices.slack import Slack
from interlock.world.notices.terminal import Terminal
from interlock.world.notices.webhook import Webhook
from world.agents.runs import are_gone

from .receivers import receiver

SECRET = "a long secret of the test"
NOTICE = Notice(id="1f" * 16, kind=Kind.STUCK, title="Stuck: <!channel> & co", body="@here look", command="ralph log")


def test_a_webhook_is_signed_over_its_time_and_its_body() -> None:
    with receiver() as there:
        assert Webhook(there.url, SECRET, lambda: 1_700_000_000.5).send(NOTICE) is None
    [got] = there.got
    assert got.headers["Ralph-Notice"] == NOTICE.id == got.data["id"]
    assert got.headers["Ralph-Timestamp"] == "1700000000"
    wanted = hmac.new(SECRET.encode(), b"1700000000." + got.body, hashlib.sha256).hexdigest()
    assert got.headers["Ralph-Signature"] == f"v1={wanted}"


def test_nothing_is_sent_unsigned_or_in_the_clear() -> None:
    with receiver() as there:
        trouble = Webhook(there.url, "").send(NOTICE)
    assert trouble is not None
    assert there.got == []
    assert Webhook("http://example.org/hook", SECRET).send(NOTICE) is not None
    assert Slack("http://example.org/services/T0/B0/x").send(NOTICE) is not None


def test_what_another_side_answers_is_told_without_its_address() -> None:
    answers: tuple[tuple[int, dict[str, str]], ...] = (
        (500, {}),
        (429, {"Retry-After": "77"}),
        (302, {"Location": "http://127.0.0.1:1/"}),
    )
    with receiver(*answers) as there:
        found = [Slack(f"{there.url}/hidden-word").send(NOTICE) for _ in answers]
    assert [one.retry_after for one in found if one is not None] == [None, 77.0, None]
    assert "hidden-word" not in str(found)
    assert len(there.got) == 3


def test_a_side_that_hangs_is_given_up() -> None:
    with receiver((0, {})) as there:
        trouble = Webhook(there.url, SECRET, seconds=0.2).send(NOTICE)
    assert trouble is not None
    assert "0.2 s" in trouble.why


def test_nobody_can_ping_through_slack() -> None:
    with receiver() as there:
        assert Slack(there.url).send(NOTICE) is None
    text = there.got[0].data["text"]
    assert "<" not in text
    assert "@here" not in text
    assert "&lt;!channel&gt; &amp; co" in text
    assert there.got[0].data["link_names"] is False


def test_a_command_reads_the_notice_and_leaves_nobody_behind(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"]}
    assert CommandChannel("cat > told.json", tmp_path, environment).send(NOTICE) is None
    assert json.loads((tmp_path / "told.json").read_text())["id"] == NOTICE.id
    trouble = CommandChannel("exit 3", tmp_path, environment).send(NOTICE)
    assert trouble is not None
    assert "exit 3" in trouble.why
    slow = "(trap '' TERM; sh -c 'echo $PPID' > new; mv new pid; exec sleep 600) & wait"

    def clock() -> float:
        """A minute has passed as soon as it has begun."""
        return time.monotonic() + 60 * (tmp_path / "pid").exists()

    trouble = CommandChannel(slow, tmp_path, environment, clock=clock).send(NOTICE)
    assert trouble is not None
    assert "took longer than 30 s" in trouble.why
    assert are_gone(tmp_path / "pid")


def test_the_desktop_is_told_by_notify_send(tmp_path: Path) -> None:
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/told\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    desktop = Desktop({"PATH": f"{tmp_path}:/bin:/usr/bin"})
    assert desktop.send(NOTICE) is None
    told = (tmp_path / "told").read_text()
    assert NOTICE.title in told
    assert "--urgency=critical" in told
    assert "→ ralph log" in told
    assert Desktop({"PATH": str(tmp_path / "nowhere")}).send(NOTICE) is not None


@pytest.mark.parametrize(
    ("sequence", "said"),
    [
        ("bell", b"\a"),
        ("osc9", b"\x1b]9;a  b: c d\x1b\\"),
        ("osc777", b"\x1b]777;notify;a  b;c d\x1b\\"),
    ],
)
def test_a_terminal_gets_one_sequence_that_nothing_in_it_ends(sequence: str, said: bytes) -> None:
    ours, theirs = os.openpty()
    try:
        terminal = Terminal(sequence, os.ttyname(theirs))
        assert terminal.is_here
        assert terminal.send(Notice(id="1", kind=Kind.DONE, title="a;\x07b", body="c\x1bd")) is None
        assert os.read(ours, 1000) == said
    finally:
        os.close(ours)
        os.close(theirs)
    assert not Terminal(sequence, "/nowhere/tty").is_here
