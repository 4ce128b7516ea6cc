"""The wall that follows a session: in a state in which its agent may only read, its tree is read-only.

Where a state also allows to run, the tree stays writable, because tests and builds write into it: on a read-only one
`cargo test`, `make check`, CMake and every measurement of coverage fail. What is written there is found instead.
"""

from __future__ import annotations

import errno
import threading
from contextlib import suppress

from interlock.errors import InterlockError
from interlock.journal import Instance, Journal
from interlock.machine import Machine
from interlock.work.sessions.findings import still_writable
from interlock.work.sessions.verbs import keep_findings
from interlock.world.sandbox.policy import SandboxPolicy
from interlock.world.sandbox.remount import remount

__all__ = ["SessionWall", "only_reads"]


class SessionWall:
    """The tree of one run, which is as the state of its session allows before a report is answered."""

    def __init__(self, journal: Journal, session: str, policy: SandboxPolicy) -> None:
        self._journal = journal
        self._session = session
        self._policy = policy
        self._lock = threading.Lock()
        self._root: int | None = None
        self._is_read_only = False
        """True if the tree is read-only, or was to be and could not."""

    def start(self, root: int) -> None:
        """Take the first process of a sandbox, whose tree is writable. A role that only reads has no such wall."""
        with self._lock:
            self._root, self._is_read_only = (None if self._policy.is_read_only else root), False

    def follow(self) -> None:
        """Make the tree what the state allows now; if the journal cannot be read, it stays as it is."""
        with self._lock, suppress(InterlockError):
            if self._root is None:
                return
            session = self._journal.instance(self._session)
            is_read_only = only_reads(self._journal.machine_of(session), session)
            if is_read_only != self._is_read_only:
                self._change(self._root, session, is_read_only)

    def _change(self, root: int, session: Instance, is_read_only: bool) -> None:
        policy = self._policy
        number = remount(root, str(policy.shown_at), str(policy.tree), is_read_only=is_read_only)
        if number == 0 or is_read_only:
            self._is_read_only = is_read_only
        if is_read_only and number not in (0, errno.ESRCH):
            found = [still_writable(session.state, is_busy=number == errno.EBUSY)]
            self._journal.transact(lambda transaction: keep_findings(transaction, session.id, found))


def only_reads(machine: Machine, session: Instance) -> bool:
    """True if a session is in a state in which its agent may neither write nor run.

    An agent that has reported nothing is not held to the first state. One whose session was ended as anything but a
    success is not held at all: others do that, too, and it may still be at work.
    """
    tools = machine.states[session.state].tools
    is_held = session.state != machine.form.initial and session.outcome in (None, "success")
    return is_held and tools is not None and not {"run", "write"} & set(tools)
