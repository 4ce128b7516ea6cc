"""What people see in a real terminal, and that nobody else sees its colours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from faces.journals import opened, reports, write_session
from faces.programs import run, run_in_terminal

pytestmark = pytest.mark.usefixtures("real_starts")

COLOUR = re.compile(r"\x1b\[([0-9]+;)*(3[0-8]|9[0-7])[0-9;]*m")
STYLE = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = [["machine", "show", "thread"], ["machine", "check", "session"], ["status"], ["log"]]


@pytest.fixture
def place(repository: Path) -> Path:
    """A repository in which something has happened."""
    with opened(repository) as journal:
        journal.append(write_session(journal), reports("reviewing", "all tests pass"))
    return repository


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_colours_are_used_in_a_terminal(words: list[str], place: Path, environment: dict[str, str]) -> None:
    code, screen = run_in_terminal(*words, cwd=place, env=environment)
    assert code == 0
    assert COLOUR.search(screen)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_colours_are_used_where_they_are_not_wanted(
    words: list[str], place: Path, environment: dict[str, str]
) -> None:
    _, screen = run_in_terminal(*words, cwd=place, env={**environment, "NO_COLOR": "1"})
    assert screen
    assert not COLOUR.search(screen)
    assert "\x1b" not in run(*words, cwd=place, env=environment).out


@pytest.mark.sampled(2)
@pytest.mark.parametrize("width", [40, 80, 140])
def test_nothing_is_wider_than_the_terminal_but_what_may_be_copied(
    width: int, outside: Path, environment: dict[str, str]
) -> None:
    """Tables are laid out for the terminal; sentences are left to it, so that they can be copied whole."""
    _, screen = run_in_terminal("machine", "show", "thread", cwd=outside, env=environment, columns=width)
    plain = STYLE.sub("", screen).replace("\r", "")
    tables = [line for line in plain.splitlines() if re.match(r"^  (  |◈ )\w+ +(→|↻)", line)]
    assert tables
    assert all(len(line) <= width for line in tables)


def test_the_same_words_reach_a_pipe_and_a_terminal_of_its_width(outside: Path, environment: dict[str, str]) -> None:
    piped = run("machine", "show", "session", cwd=outside, env=environment).out
    _, screen = run_in_terminal("machine", "show", "session", cwd=outside, env=environment, columns=120)
    seen = STYLE.sub("", screen).replace("\r", "")
    assert [line.rstrip() for line in seen.splitlines()] == [line.rstrip() for line in piped.splitlines()]


def test_json_in_a_terminal_is_json_alone(outside: Path, environment: dict[str, str]) -> None:
    code, screen = run_in_terminal("machine", "list", "--json", cwd=outside, env=environment)
    assert code == 0
    assert screen.startswith('{"ok":true,"data":[')
    assert "\x1b" not in screen


def test_a_refusal_breaks_between_words_and_never_within_a_command(outside: Path, environment: dict[str, str]) -> None:
    code, screen = run_in_terminal("wrk", cwd=outside, env=environment, columns=60)
    lines = screen.replace("\r", "").rstrip("\n").split("\n")
    assert code == 64
    assert lines[1].startswith("  → Did you mean `ralph work`?")
    assert lines[2].startswith("    ")
    assert max(map(len, lines)) <= 60
    piped = run("wrk", cwd=outside, env=environment).err
    assert " ".join(screen.split()) == " ".join(piped.split())


def test_no_line_of_what_somebody_wrote_can_be_taken_for_an_entry(
    repository: Path, environment: dict[str, str]
) -> None:
    said = f"{'all is well ' * 8}\n{'x' * 90}"
    with opened(repository) as journal:
        journal.append(write_session(journal), reports("reviewing", said))
    _, screen = run_in_terminal("log", cwd=repository, env={**environment, "NO_COLOR": "1"}, columns=60)
    lines = STYLE.sub("", screen).replace("\r", "").split("\n")
    told = [line for line in lines if "well" in line or "xxx" in line]
    assert len(told) >= 4
    assert all(line.startswith("        │ ") and len(line) <= 60 for line in told)


def test_an_entry_breaks_between_words_and_is_whole(repository: Path, environment: dict[str, str]) -> None:
    with opened(repository) as journal:
        write_session(journal)
    _, screen = run_in_terminal("log", cwd=repository, env={**environment, "NO_COLOR": "1"}, columns=60)
    lines = STYLE.sub("", screen).replace("\r", "").rstrip("\n").split("\n")
    assert max(map(len, lines)) <= 60
    assert any(line.startswith(" " * 10) for line in lines)
    assert " ".join(" ".join(lines).split()) == " ".join(run("log", cwd=repository, env=environment).out.split())
