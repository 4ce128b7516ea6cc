"""Agents as processes of their own, which lock and hand on what they are told to, until they are ended."""

from __future__ import annotations

import os
import signal
from typing import Any

from interlock.errors import InterlockError
from interlock.journal import open_journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.handoff import handoff
from interlock.world.processes import Process, this_process
from journal.children import Child, Pipe
from journal.databases import Address

__all__ = ["asked", "asking", "caller_of", "resume", "stop"]


def asking(pipe: Pipe, address: Address, name: str) -> None:
    """Hand tickets on as told, and say the new state of each, or the code, the message and the hint of its refusal."""
    caller = Caller(Actor(ActorKind.AGENT, name, Channel.MCP), name, this_process())
    journal = open_journal(address)
    pipe.send((caller.process, os.getpid()))
    while True:
        number, asked = pipe.recv()
        try:
            told = journal.transact(handoff(caller, number, reason="asked", **asked))
        except InterlockError as error:
            pipe.send((error.code, error.message, error.hint))
        else:
            pipe.send((told.new_state, "", ""))


def caller_of(process: Process, name: str) -> Caller:
    """What a process calls itself, as somebody else can say it too."""
    return Caller(Actor(ActorKind.AGENT, name, Channel.MCP), name, process)


def asked(child: Child, number: int, **what: Any) -> tuple[str, str, str]:
    child.send((number, what))
    answer: tuple[str, str, str] = child.receive()
    return answer


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


def resume(pid: int) -> None:
    os.kill(pid, signal.SIGCONT)
