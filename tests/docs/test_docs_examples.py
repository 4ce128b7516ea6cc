"""What the documents show is run: machines are checked, commands and Python executed, queries asked."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from documents import DOCS, PAGES, README, ROOT, Block, blocks, name_of, text_of

from faces.programs import run_in_terminal
from interlock.errors import CODES
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.check import check
from interlock.machine.load import compile_machine, parse

_SHOWN = [README, *PAGES]
_MACHINES = [block for page in _SHOWN for block in blocks(page, "toml")]
_SESSIONS = [page for page in _SHOWN if blocks(page, "console")]
_GATES = {
    "ralph config accept": "accept",
    **{f"ralph thread {gate}": gate for gate in ("finalize", "approve", "commit")},
}
"""What a page has its reader do in a terminal, and the word that is typed there."""
_STYLING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What makes a screen bold, hides its cursor or clears a line: no reader sees it as text."""
_ERROR = re.compile(r"^ralph: .* \[(\w+)\]$|^\{\"ok\":false,\"error\":\{\"code\":\"(\w+)\"", re.MULTILINE)


def _where(one: Block | Path) -> str:
    return name_of(one) if isinstance(one, Path) else f"{name_of(one.page)}:{one.line}"


# Machines


@pytest.mark.parametrize("block", _MACHINES, ids=_where)
def test_a_machine_is_sound_or_has_the_one_fault_that_it_is_an_example_of(block: Block) -> None:
    report = check(compile_machine(parse(block.body)))
    assert [finding.code for finding in report.findings] == ([block.broken] if block.broken else [])


def test_there_are_a_sound_machine_and_three_broken_ones() -> None:
    assert sum(1 for block in _MACHINES if not block.broken) >= 1
    assert len({block.broken for block in _MACHINES if block.broken}) >= 3


# Commands


@pytest.mark.parametrize("page", _SESSIONS, ids=_where)
def test_the_commands_of_a_page_give_what_it_shows(page: Path, tmp_path: Path) -> None:
    session = _Session(page, tmp_path)
    for block in blocks(page, "console"):
        for command, shown in _commands(block):
            session.run(command, shown)


def _commands(block: Block) -> list[tuple[str, str]]:
    """Each command with the output shown below it."""
    found: list[tuple[str, str]] = []
    for line in block.body.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].strip(), ""))
        else:
            assert found, f"{_where(block)} begins without a command"
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


class _Session:
    """A shell in a new repository that holds the files which the page tells its reader to save."""

    def __init__(self, page: Path, directory: Path) -> None:
        self._page = page
        self._directory = directory / "repository"
        self._pwd = directory / "pwd"
        self._status = 0
        self._environment = _environment(directory)
        subprocess.run(["git", "init", "-q", str(self._directory)], check=True, timeout=30)
        for block in blocks(page, "toml"):
            if block.file:
                (self._directory / block.file).write_text(block.body, encoding="utf-8")

    def run(self, command: str, shown: str) -> None:
        """Run a command; what it prints and its exit status must be what is shown."""
        if command.split()[0] == "make":
            _must_be_targets(command)
            return
        if command in _GATES:
            self._pass(command, shown)
            return
        script = f"(exit {self._status})\n{command}\nstatus=$?; pwd > {shlex.quote(str(self._pwd))}; exit $status"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        self._directory, self._status = Path(self._pwd.read_text(encoding="utf-8").strip()), done.returncode
        where = f"{name_of(self._page)}: $ {command}\n{done.stdout}"
        assert not shown or _pattern(shown).fullmatch(_stripped(done.stdout)), where
        codes = [one or other for one, other in _ERROR.findall(done.stdout)]
        assert done.returncode == (CODES[codes[-1]][0] if codes else 0), where

    def _pass(self, command: str, shown: str) -> None:
        """Pass a gate as its reader does: in a terminal, with the word typed."""
        word = _GATES[command]
        answers = [(f"Type {word}", f"{word}\n")]
        self._status, screen = run_in_terminal(
            *command.split()[1:], cwd=self._directory, env=self._environment, answers=answers
        )
        screen = _STYLING.sub("", screen)
        where = f"{name_of(self._page)}: $ {command}\n{screen}"
        assert not shown or _pattern(shown).fullmatch(_stripped(screen)), where
        assert self._status == 0, where


def _environment(directory: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("RALPH_", "GIT_"))}
    for name in ("home", "cache", "tmp"):
        (directory / name).mkdir()
    return {
        **ours,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(directory / "home"),
        "XDG_CACHE_HOME": str(directory / "cache"),
        "TMPDIR": str(directory / "tmp"),
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",  # so that messages and results come in the order that a person sees
    }


def _must_be_targets(command: str) -> None:
    targets = re.findall(r"^\.PHONY: (.*)$", text_of(ROOT / "Makefile"), re.MULTILINE)[0].split()
    for target in re.findall(r"\bmake ([\w-]+)", command):
        assert target in targets


def _stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _pattern(shown: str) -> re.Pattern[str]:
    """What the output must match: `…` stands for any text in a line, alone in a line for any lines."""
    lines = _stripped(shown).splitlines(keepends=True)
    parts = ["(?:.*\n)*?" if line == "…\n" else re.escape(line).replace("…", ".*?") for line in lines]
    return re.compile("".join(parts))


@pytest.mark.parametrize(
    ("shown", "printed", "matches"),
    [
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\n", "a\n", True),
        ("a …\n", "a 1.5 s\n", True),
        ("a …\n", "b 1.5 s\n", False),
        ("a\n", "a\nb\n", False),
        ("a … c\n", "a\nc\n", False),
    ],
)
def test_an_ellipsis_stands_for_any_text_or_any_lines(shown: str, printed: str, matches: bool) -> None:
    assert bool(_pattern(shown).fullmatch(printed)) is matches


# Python


@pytest.mark.parametrize("block", [block for page in _SHOWN for block in blocks(page, "python")], ids=_where)
def test_python_that_is_shown_runs(block: Block, tmp_path: Path) -> None:
    command = [sys.executable, "-c", block.body]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        assert f"# {line}" in block.body


# SQL


def test_the_query_for_failed_sessions_runs_in_pythons_own_sqlite(
    sqlite_journal: Journal, sqlite_address: Path
) -> None:
    session = _failed_session(sqlite_journal)
    database = sqlite3.connect(sqlite_address)
    try:
        assert database.execute(_query()).fetchall() == [(session, "failed", "failed", "the spec is missing")]
    finally:
        database.close()


def test_the_query_for_failed_sessions_runs_in_postgresql(
    postgres_address: str, opened: Callable[[Path | str], Journal]
) -> None:
    session = _failed_session(opened(postgres_address))
    with psycopg.connect(postgres_address) as connection:
        connection.execute("SET search_path TO interlock")
        found = connection.execute(_query().encode()).fetchall()
    assert found == [(session, "failed", "failed", "the spec is missing")]


def _query() -> str:
    [query] = [block.body for block in blocks(DOCS / "journal.md", "sql")]
    return query


def _failed_session(journal: Journal) -> str:
    agent = Actor(ActorKind.AGENT, "claude", Channel.TEST)
    session = journal.create("session", Event("created", agent)).entry.instance
    journal.append(session, Event("update_session_state", agent, "analyzing"))
    outcome = Evidence(facts={"outcome": "failure"}, data={"error": "the spec is missing"})
    journal.append(session, Event("complete_ralph_session", agent, evidence=outcome))
    return session


def test_the_query_is_the_seeds_own() -> None:
    assert " ".join(_query().split()) == _SEEDS_QUERY


_SEEDS_QUERY = (
    "SELECT id, current_state, json_extract(state_history, '$[#-1].state') as last_state, "
    "json_extract(state_history, '$[#-1].metadata.error') as error FROM ralph_sessions "
    "WHERE outcome = 'failure' ORDER BY completed_at DESC LIMIT 10;"
)
