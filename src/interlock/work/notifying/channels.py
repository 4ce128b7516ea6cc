"""The channels that the settings name. Secrets come from the environment, and no agent gets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from interlock.work.settings.values import Settings
from interlock.world.child_environment import child_environment
from interlock.world.notices.notice import NoticeChannel

__all__ = ["CHANNELS", "channels", "is_on"]

CHANNELS: Final = ("desktop", "terminal", "slack", "webhook", "command")
_OFF: Final = frozenset({"off", ""})


def is_on(settings: Settings, channel: str) -> bool:
    """Whether a channel is set."""
    return settings.text(f"notify.{channel}") not in _OFF


def channels(
    settings: Settings, environment: Mapping[str, str], root: Path, now: Callable[[], float]
) -> Iterator[NoticeChannel]:
    """The channels that are set."""
    if is_on(settings, "desktop"):
        from interlock.world.notices.desktop import Desktop

        yield Desktop(child_environment(environment))
    if is_on(settings, "terminal"):
        from interlock.world.notices.terminal import Terminal

        yield Terminal(settings.text("notify.terminal"))
    if is_on(settings, "slack"):
        from interlock.world.notices.slack import ADDRESS, Slack

        yield Slack(environment.get(ADDRESS, ""), now)
    if is_on(settings, "webhook"):
        from interlock.world.notices.webhook import SECRET, Webhook

        yield Webhook(settings.text("notify.webhook"), environment.get(SECRET, ""), now)
    if is_on(settings, "command"):
        from interlock.world.notices.command import CommandChannel

        yield CommandChannel(settings.text("notify.command"), root, environment)
