"""Driving from the command line: the driver's context, a reporter, and Ctrl+C that lets it end well."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from interlock.errors import UsageError
from interlock.faces.cli.command import CommandCall
from interlock.faces.cli.place import Workspace, readable, writable
from interlock.faces.cli.tracker import show_outside
from interlock.world.repository import own_tree_around

if TYPE_CHECKING:
    from interlock.faces.cli.console import Reporter
    from interlock.journal import Entry
    from interlock.work.driver.context import DriverContext
    from interlock.work.driver.interrupts import Interrupts

__all__ = ["DriverSession", "open_driver_session"]

Result = TypeVar("Result")


class DriverSession(msgspec.Struct, frozen=True):
    """The driver's context of this repository, and whoever watches."""

    place: Workspace
    context: DriverContext
    interrupts: Interrupts
    reporter: Reporter
    telling: Callable[[], AbstractContextManager[None]]
    """Tells people what happens, on the channels that they chose."""

    def drive(self, work: Callable[[], Result], is_told: Callable[[Entry], bool]) -> Result:
        """Let something go on by itself as far as it can: Ctrl+C lets it rest after what runs, a second one at once.

        `is_told` says whether an entry that somebody else writes meanwhile lets it rest, too.
        """
        from interlock.world.agents.adopting import adopting

        self.interrupts.is_told = is_told
        # Whoever is told is told before what agents left behind is ended: a command of theirs would be, too.
        with _interruptible(self.interrupts.press, self._say, patience=3), self.reporter, adopting(), self.telling():
            return work()

    def _say(self, presses: int) -> None:
        if presses == 1:
            self.reporter.report("resting after this; Ctrl+C again stops the agent now. Nothing is lost either way")


@contextmanager
def open_driver_session(
    call: CommandCall,
    *,
    writes: bool = True,
    starts_agents: bool = False,
    streams: bool = True,
    is_verbose: bool = False,
) -> Iterator[DriverSession]:
    """Open the driver's context of the repository that the command is called in.

    `streams` and `is_verbose` say how much of what agents do is shown.

    With `starts_agents`, waiting settings are accepted or refused before anything else. Without it, the run of an
    agent itself is refused.
    """
    from interlock.faces.cli.console import Reporter
    from interlock.faces.cli.notify import senders_of, telling
    from interlock.work.driver.context import DriverContext
    from interlock.work.driver.interrupts import Interrupts, PauseRequested
    from interlock.work.notifying.sending import begin

    with writable(call, starts_agents=starts_agents) if writes else readable(call) as place:
        if place.work_tree is None:
            raise UsageError("usage", "This needs a work tree, and this repository is bare.", "Clone it first.")
        own = own_tree_around(str(place.work_tree))
        interrupts = Interrupts(place.journal, lambda entry: False, patience=2)
        reporter = Reporter(call.output, streams=streams, is_verbose=is_verbose)
        context = DriverContext(
            journal=place.journal,
            root=Path(own[0]) if own is not None else place.work_tree,
            state_directory=place.state_directory,
            settings=place.settings,
            environment=dict(call.environment),
            report=reporter.report,
            stop=interrupts,
            pausing=PauseRequested(interrupts),
            wait=interrupts.wait,
            refresh=interrupts.listen_again,
        )
        begin(senders_of(call, place) if writes else ())
        try:
            yield DriverSession(place, context, interrupts, reporter, lambda: telling(call, place))
        finally:
            if writes:
                show_outside(call, place)  # a ticket follows its thread
                with telling(call, place):
                    pass  # what was written without driving anything


@contextmanager
def _interruptible(press: Callable[[], None], tell: Callable[[int], None], *, patience: int) -> Iterator[None]:
    """Count Ctrl+C and tell of it, so that what runs can end well; pressed `patience` times, it interrupts as usual."""
    presses = 0

    def pressed(*_: object) -> None:
        nonlocal presses
        presses += 1
        if presses >= patience:
            raise KeyboardInterrupt
        press()
        tell(presses)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
