"""A person's terminal that another program draws on."""

from __future__ import annotations

import os
import termios
from collections.abc import Iterator

import pytest

from interlock.world.terminals.screen import open_terminal, opened_again, raw


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    """The window's end and the program's end of a terminal."""
    ours, theirs = os.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def test_it_is_restored_when_what_runs_on_it_fails(ends: tuple[int, int]) -> None:
    window, terminal = ends
    before = termios.tcgetattr(terminal)

    def failing() -> None:
        with raw(terminal, lambda: b"restored"):
            assert not termios.tcgetattr(terminal)[3] & (termios.ICANON | termios.ISIG | termios.ECHO)
            os.write(window, b"typed for the program")
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert termios.tcgetattr(terminal) == before
    assert os.read(window, 100) == b"restored"
    os.write(window, b"typed later\n")
    assert os.read(terminal, 100) == b"typed later\n"


def test_one_that_is_gone_or_that_nobody_reads_holds_nothing_up(ends: tuple[int, int]) -> None:
    _, terminal = ends
    with opened_again(terminal) as screen:
        with pytest.raises(BlockingIOError):
            _fill(screen)
        with raw(terminal, lambda: b"restored"):
            pass
    assert os.get_blocking(terminal), "the person's shell has the same one"
    gone, end = os.openpty()
    with raw(end, lambda: b"restored"):
        os.close(gone)
    os.close(end)


def test_a_program_has_one_of_the_same_size_and_settings(ends: tuple[int, int]) -> None:
    _, terminal = ends
    termios.tcsetwinsize(terminal, (12, 34))
    ours, theirs = open_terminal(terminal)
    assert termios.tcgetwinsize(theirs) == (12, 34)
    assert termios.tcgetattr(theirs) == termios.tcgetattr(terminal)
    os.close(ours)
    os.close(theirs)


def _fill(screen: int) -> None:
    while True:
        os.write(screen, b"x" * 4096)
