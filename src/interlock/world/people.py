"""Who is at the keyboard: a person, or an agent that runs the command for itself."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from pathlib import Path

from interlock.machine import Actor, ActorKind, Channel
from interlock.world.ancestry import host
from interlock.world.git import user_email
from interlock.world.processes import calling_agent

__all__ = ["is_at_terminal", "who_calls"]


def who_calls(environment: Mapping[str, str], directory: Path) -> Actor:
    """The actor behind a command: the agent it runs under, or else a person, called what git calls them."""
    agent = calling_agent(environment)
    if agent is not None:
        return Actor(ActorKind.AGENT, agent.name, Channel.CLI)
    return Actor(ActorKind.HUMAN, _person(directory), Channel.CLI)


def is_at_terminal() -> bool:
    """Whether stdin is the terminal that controls this process, and it is in the foreground there.

    It says that a terminal is there, not who sits at it.
    """
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _person(directory: Path) -> str:
    email = user_email(directory)
    if email is not None and email.isprintable() and len(email) <= 200:
        return email
    try:
        return f"{getpass.getuser()}@{host()}"
    except (OSError, KeyError):
        return f"somebody@{host()}"
