"""Somebody acts while a person looks at what they are asked about, in a real terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faces.forking import real_starts
from faces.journals import opened
from faces.programs import run, run_in_terminal
from interlock.journal import Entry
from interlock.work.threads.reading import read_thread

from .arena import Arena

EVIL = "# Evil\n\n## Completion Criteria\n\n- [ ] it is evil\n\n<promise>COMPLETE</promise>\n"


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    """Without a key: the terminal alone has to hold."""
    made = Arena(tmp_path, "none")
    made.begin()
    return made


def looking(arena: Arena, verb: str, thread: str, meanwhile: Callable[[], object], word: str) -> tuple[int, str]:
    """A person is asked, something happens, and then they type."""

    def answer() -> str:
        meanwhile()
        return f"{word}\n"

    answers = [(f"Type {verb} and press Enter", answer)]
    with real_starts():
        return run_in_terminal("thread", verb, thread, cwd=arena.root, env=arena.environment, answers=answers)


def history(arena: Arena, thread: str, event: str) -> list[Entry]:
    with opened(arena.root) as journal:
        return [one for one in journal.history(thread) if one.event == event]


def state(arena: Arena, thread: str) -> str:
    with opened(arena.root) as journal:
        return journal.instance(thread).snapshot.state


def test_a_spec_that_changed_while_the_person_read_it_is_not_finalized(arena: Arena) -> None:
    thread = arena.new("greet")
    (arena.place / "evil.md").write_text(EVIL)
    words = ("thread", "spec", thread, "--file", str(arena.place / "evil.md"))
    swap = lambda: run(*words, cwd=arena.root, env=arena.environment | {"CLAUDECODE": "1"})  # noqa: E731
    code, screen = looking(arena, "finalize", thread, swap, "finalize")
    assert (code, "[conflict]" in screen) == (75, True), screen
    assert state(arena, thread) == "Drafting"
    assert history(arena, thread, "finalize") == []
    code, screen = looking(arena, "finalize", thread, lambda: None, "finalize")
    assert (code, "it is evil" in screen) == (0, True), "asked again, the person sees what is there now"


def test_a_refused_attempt_of_an_agent_does_not_disturb_the_person(arena: Arena) -> None:
    thread = arena.new("greet")
    inside = arena.environment | {"CLAUDECODE": "1"}
    attempt = lambda: run("thread", "finalize", thread, cwd=arena.root, env=inside)  # noqa: E731
    code, screen = looking(arena, "finalize", thread, attempt, "finalize")
    assert (code, state(arena, thread)) == (0, "Finalized"), screen
    with opened(arena.root) as journal:
        assert [one["kind"] for one in read_thread(journal, thread).refused] == ["agent"]


def test_a_second_terminal_that_was_faster_decides_and_the_first_is_told(arena: Arena) -> None:
    thread = arena.new("greet")
    faster = lambda: arena.person("thread", "finalize", thread)  # noqa: E731
    code, screen = looking(arena, "finalize", thread, faster, "finalize")
    assert (code, "[conflict]" in screen) == (75, True), screen
    assert len(history(arena, thread, "finalize")) == 1


def test_what_is_written_onto_the_persons_terminal_is_no_answer(arena: Arena) -> None:
    """Whoever may open the device can show something there. Nothing of it is read as typed."""
    thread = arena.new("greet")
    written: list[str] = []

    def write() -> None:
        device = _terminal_of(thread)
        descriptor = os.open(device, os.O_WRONLY | os.O_NOCTTY)
        os.write(descriptor, b"finalize\n")
        os.close(descriptor)
        written.append(device)

    code, screen = looking(arena, "finalize", thread, write, "no")
    assert written
    assert (code, "[gate_declined]" in screen) == (5, True), screen
    assert state(arena, thread) == "Drafting"


@pytest.mark.parametrize("mode", ["none", "passphrase"])
def test_keys_that_are_put_into_the_persons_terminal_are_as_good_as_typed_but_no_passphrase(
    tmp_path: Path, mode: str
) -> None:
    """The kernel lets only root do it, or whoever shares the terminal where it is old; `tmux send-keys` is the same."""
    arena = Arena(tmp_path / "arena", mode)
    arena.begin()
    thread = arena.new("greet")
    is_let = _stuff(pty.openpty()[1], b" ")

    def stuff() -> str:
        _stuff(os.open(_terminal_of(thread), os.O_RDWR | os.O_NOCTTY), b"finalize\n")
        return "" if is_let else "no\n"

    guess = [("Enter passphrase", "guess\n")] if is_let and mode == "passphrase" else []
    answers: list[tuple[str, str | Callable[[], str]]] = [("Type finalize and press Enter", stuff), *guess]
    words = ("thread", "finalize", thread)
    with real_starts():
        code, screen = run_in_terminal(*words, cwd=arena.root, env=arena.environment, answers=answers)
    passes = is_let and mode == "none"
    assert (code, state(arena, thread)) == ((0, "Finalized") if passes else (5, "Drafting")), screen


def _stuff(terminal: int, keys: bytes) -> bool:
    """Put keys into a terminal; whether the system lets us."""
    try:
        for key in keys:
            fcntl.ioctl(terminal, termios.TIOCSTI, bytes([key]))
    except OSError:
        return False
    finally:
        os.close(terminal)
    return True


def _terminal_of(thread: str) -> str:
    """The device on which the person is asked about a thread."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words, device = (process / "cmdline").read_bytes(), (process / "fd" / "0").readlink()
        except OSError:
            continue
        if thread.encode() in words and str(device).startswith("/dev/pts/"):
            return str(device)
    raise AssertionError("nobody is asked")


def test_a_tree_that_changed_while_the_person_read_the_diff_is_not_what_is_approved(arena: Arena) -> None:
    thread = arena.new("greet", "--quick")
    arena.person("thread", "finalize", thread)
    assert state(arena, thread) == "PendingReview"
    with opened(arena.root) as journal:
        tree = read_thread(journal, thread).directory(arena.root, arena.root)
        shown = journal.instance(thread).snapshot.subjects["tree"]
    change = lambda: (tree / "greeting.txt").write_text("hello, and something else\n")  # noqa: E731
    looking(arena, "approve", thread, change, "approve")
    assert state(arena, thread) == "PendingReview", "what is there now waits for a review"
    given: list[Any] = [one.decoded_evidence().data["approval"] for one in history(arena, thread, "approve")]
    assert [one["statement"]["hash"] for one in given] == [shown]
    refused = run("thread", "commit", thread, "--json", cwd=arena.root, env=arena.environment)
    assert refused.code == 5
    assert history(arena, thread, "commit") == []
