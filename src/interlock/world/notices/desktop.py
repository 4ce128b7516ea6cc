"""The desktop's own notifications: `notify-send` where there is one, else macOS's `osascript`."""

from __future__ import annotations

import html
import shutil
import subprocess
from collections.abc import Mapping
from typing import Final

import msgspec

from interlock.world.notices.notice import DeliveryFailure, Kind, Notice, text_of

__all__ = ["Desktop"]

_SECONDS: Final = 10.0
_SHOWN: Final = 500
_SCRIPT: Final = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")
"""The texts are arguments of it, so that nothing in them can be read as a script."""


class Desktop(msgspec.Struct, frozen=True):
    """The desktop of whoever runs this process."""

    environment: Mapping[str, str]
    name: str = "desktop"

    @property
    def is_here(self) -> bool:
        return True

    def send(self, notice: Notice) -> DeliveryFailure | None:
        path = self.environment.get("PATH")
        if found := shutil.which("notify-send", path=path):
            urgency = "critical" if notice.kind in (Kind.NEEDED, Kind.STUCK) else "normal"
            body = html.escape(text_of(notice)[:_SHOWN], quote=False)  # a part of HTML is read in there
            return self._run((found, "--app-name=ralph", f"--urgency={urgency}", "--", notice.title, body))
        if found := shutil.which("osascript", path=path):
            lines = [word for line in _SCRIPT for word in ("-e", line)]
            return self._run((found, *lines, "--", notice.title, text_of(notice)[:_SHOWN]))
        return DeliveryFailure("there is neither notify-send nor osascript on PATH")

    def _run(self, command: tuple[str, ...]) -> DeliveryFailure | None:
        try:
            done = subprocess.run(
                command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return DeliveryFailure(f"{_called(command)} took longer than {_SECONDS:g} s")
        except OSError as error:
            return DeliveryFailure(f"{_called(command)} cannot be started: {error.strerror}")
        return None if done.returncode == 0 else DeliveryFailure(f"{_called(command)}: exit {done.returncode}")


def _called(command: tuple[str, ...]) -> str:
    return command[0].rpartition("/")[2]
