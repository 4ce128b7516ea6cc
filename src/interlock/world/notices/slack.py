"""Slack, or whoever takes what Slack takes, by an incoming webhook. Its address is the secret."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from interlock.world.notices.notice import DeliveryFailure, Notice
from interlock.world.notices.posting import SECONDS, post

__all__ = ["ADDRESS", "Slack"]

ADDRESS: Final = "RALPH_SLACK_WEBHOOK"
"""Where the address of the webhook is, in the environment."""


def _escaped(text: str) -> str:
    """A text in which nothing is a link or a mention: those begin with `<`, and with others with `@`."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace("@", "@\u200b")


@dataclass(frozen=True, slots=True)
class Slack:
    """One channel of Slack."""

    address: str = field(repr=False)
    now: Callable[[], float] = time.time
    seconds: float = SECONDS
    name: str = "slack"

    @property
    def is_here(self) -> bool:
        return True

    def send(self, notice: Notice) -> DeliveryFailure | None:
        if not self.address:
            return DeliveryFailure(f"{ADDRESS} is not set in the environment")
        lines = [f"*{_escaped(notice.title)}*", _escaped(notice.body)]
        if notice.command:
            lines.append(f"`{_escaped(notice.command).replace('`', ' ')}`")
        if notice.link:
            lines.append(_escaped(notice.link))
        said = {
            "text": "\n".join(one for one in lines if one),
            "mrkdwn": True,
            "parse": "none",
            "link_names": False,
            "unfurl_links": False,
            "unfurl_media": False,
        }
        content = json.dumps(said).encode()
        return post(self.address, content, {"Ralph-Notice": notice.id}, self.now(), seconds=self.seconds)
