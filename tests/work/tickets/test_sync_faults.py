"""GitHub fails in every way at every request, and the process that syncs is killed at every request: in the end the
board and the journal agree, and everything is there once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from exhaustive import EXHAUSTIVE
from interlock.errors import InterlockError, TrackerError
from interlock.journal import open_journal
from interlock.work.tickets.sync import synchronise
from interlock.work.tickets.tracker import ESTIMATE, PRIORITY, STATE
from interlock.world.github import GitHub
from interlock.world.github.transport import Transport
from journal.children import Pipe, child
from world.github_server import FAULTS, TOKEN, Check, Fault

from .boards import MACHINE, PLACE, Office, opened_office


def _first(office: Office) -> None:
    office.set_up()
    number = office.create("Parse dates", body="All.", priority="P1", estimate="S")
    office.move(number, "Research Needed")


def _handed(office: Office) -> None:
    office.set_up()
    number = office.create("Parse dates", body="All.", priority="P1")
    office.sync()
    office.move(number, "Research Needed")
    office.comment(number, "Hello")
    office.edit(number, title="Parse all dates", priority="P0", estimate="M")
    office.move(number, "Canceled")


def _taken(office: Office) -> None:
    office.set_up()
    office.create("Ours")
    office.sync()
    office.there.move(1, STATE, "Ready for Plan")
    office.there.move(1, PRIORITY, "P2")
    office.there.issue(1).title = "Theirs"
    issue = office.there.add_issue("New", "Text")
    office.there.move(issue.number, ESTIMATE, "L")
    office.there.add_issue("Closed")
    office.there.close(3)


def _restored(office: Office) -> None:
    office.set_up()
    number = office.created("In Progress")
    office.sync()
    office.there.close(office.issue(number))
    office.moved_there(number, "Backlog")
    office.sync()
    office.restore(number)


def _sync(office: Office) -> None:
    office.sync()


def _set_up(office: Office) -> None:
    office.set_up()


PHASES: Mapping[str, tuple[Callable[[Office], None], Callable[[Office], None]]] = {
    "the first show of a ticket": (_first, _sync),
    "the show of a handoff": (_handed, _sync),
    "taking in": (_taken, _sync),
    "putting the board right": (_restored, _sync),
    "setting up": (lambda office: None, _set_up),
}
"""What comes before, and what is done while something fails."""


@contextmanager
def _prepared(phase: str, address: Path, check: Check | None) -> Iterator[Office]:
    with opened_office(address, check) as office:
        PHASES[phase][0](office)
        yield office


def _outcome(office: Office) -> object:
    """All that can be seen in the end, but for what each machine calls its own."""
    return [
        (number, office.state(number), office.outside(number), office.card(number).title) for number in office.numbers()
    ]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("phase", PHASES)
def test_whatever_fails_the_board_and_the_journal_agree_in_the_end(
    phase: str, fault: str, tmp_path: Path, check: Check | None
) -> None:
    act = PHASES[phase][1]
    with _prepared(phase, tmp_path / "sound.db", check) as office:
        before = len(office.server.requests)
        act(office)
        turns, expected = len(office.server.requests) - before, _outcome(office)
        board = office.there.snapshot()["fields"]
        office.assert_in_step()
    assert turns > 3
    for turn in range(turns):
        with _prepared(phase, tmp_path / f"{turn}.db", check) as office:
            office.server.fail_in_turn(turn, fault)
            with suppress(TrackerError):
                act(office)
            office.recover()
            act(office)
            assert _outcome(office) == expected, turn
            assert office.there.snapshot()["fields"] == board, turn
            office.assert_in_step()
            office.quiet_sync()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("operation", ["CreateIssue", "AddComment", "SetField", "CloseIssue"])
def test_github_is_away_for_long_and_nothing_is_lost(operation: str, tmp_path: Path, check: Check | None) -> None:
    with _prepared("the show of a handoff", tmp_path / "journal.db", check) as office:
        office.create("Another")
        office.server.fail(operation, *["cut-done", "502", "cut", "503"] * 5)
        for _ in range(3):
            with suppress(TrackerError):
                office.sync()
            office.comment(1, "Still here")
        office.recover()
        office.assert_in_step()


# Crashes


def syncing(pipe: Pipe, address: Path, url: str) -> None:
    """Bring a journal and a board in step; say what came of it."""
    journal = open_journal(address)
    try:
        with Transport(TOKEN, url=url) as transport:
            report = synchronise(journal, GitHub(transport, PLACE), MACHINE)
        pipe.send(("done", report.shown))
    except InterlockError as error:
        pipe.send((error.code, []))
    finally:
        journal.close()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("done", ["yes", "no"])
@pytest.mark.parametrize("phase", ["the first show of a ticket", "the show of a handoff", "taking in"])
def test_a_sync_that_is_killed_at_any_request_is_ended_by_the_next(
    phase: str, done: str, tmp_path: Path, check: Check | None
) -> None:
    with _prepared(phase, tmp_path / "sound.db", check) as office:
        before = len(office.server.requests)
        office.sync()
        turns, expected = len(office.server.requests) - before, _outcome(office)
    assert turns > 3
    silence = Fault("yes" if done == "yes" else "no", "silence")
    chosen = range(turns) if EXHAUSTIVE else sorted(random.Random(f"{phase} {done}").sample(range(turns), 1))
    for turn in chosen:
        address = tmp_path / f"{turn}.db"
        with _prepared(phase, address, check) as office:
            office.server.fail_in_turn(turn, silence)
            before = len(office.server.requests)
            with child(syncing, address, office.server.url) as killed:
                office.server.wait_for(before + turn + 1)
                killed.kill()
            office.sync()  # the lease of the dead is taken over at once
            assert _outcome(office) == expected, turn
            office.assert_in_step()
            office.quiet_sync()


def test_of_two_syncs_at_once_one_is_refused_and_nothing_is_doubled(tmp_path: Path, check: Check | None) -> None:
    address = tmp_path / "journal.db"
    with _prepared("the first show of a ticket", address, check) as office:
        office.server.fail("CreateIssue", Fault("yes", "silence"))
        before = len(office.server.requests)
        with child(syncing, address, office.server.url) as first:
            office.server.wait_for(before + 4)
            with child(syncing, address, office.server.url) as second:
                assert second.receive() == ("lease_held", [])
            with pytest.raises(InterlockError) as caught:
                office.sync(only_show=True)
            assert caught.value.code == "lease_held"
            first.kill()
        office.sync()
        office.assert_in_step()
