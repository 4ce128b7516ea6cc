"""What the documents show is run: machines are checked, commands and Python executed, queries asked."""

from __future__ import annotations

import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from consoles import commands, expected_status, pattern, stripped, surroundings, where
from documents import DOCS, PAGES, README, ROOT, Block, anchors, blocks, name_of, text_of
from readers import follow, is_typed
from shells import shell

from faces.forking import started
from faces.programs import run_in_terminal
from interlock.faces.cli.main import verbs_of
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel, Event, Evidence
from interlock.machine.check import check
from interlock.machine.load import compile_machine, parse
from interlock.work.settings.values import read
from patience import SECONDS

_SHOWN = [README, *PAGES]
_FILES = [block for page in _SHOWN for block in blocks(page, "toml")]
_MACHINES = [block for block in _FILES if not block.settings]
_SESSIONS = [page for page in _SHOWN if blocks(page, "console") and not is_typed(page)]
_TERMINALS = [page for page in _SHOWN if is_typed(page) and page != DOCS / "tutorial.md"]
"""Pages whose reader answers at a terminal; the tutorial has a test of its own."""
_GATES = {
    "ralph config accept": "accept",
    **{f"ralph thread {gate}": gate for gate in ("finalize", "approve", "commit")},
}
"""What a page has its reader do in a terminal, and the word that is typed there."""
_PLAIN = re.compile(r"ralph [^|&;<>$`*\\(){}]*")
"""A command in which a shell has nothing to do."""
_OF_THE_START = ("PYTHON", "LC_", "LANG")


# Machines


@pytest.mark.parametrize("block", _MACHINES, ids=where)
def test_a_machine_is_sound_or_has_the_one_fault_that_it_is_an_example_of(block: Block) -> None:
    report = check(compile_machine(parse(block.body)))
    assert [finding.code for finding in report.findings] == ([block.broken] if block.broken else [])


def test_there_are_a_sound_machine_and_three_broken_ones() -> None:
    assert sum(1 for block in _MACHINES if not block.broken) >= 1
    assert len({block.broken for block in _MACHINES if block.broken}) >= 3


@pytest.mark.parametrize("block", [block for block in _FILES if block.settings], ids=where)
def test_settings_that_are_shown_are_settings(block: Block) -> None:
    assert read(block.body)


# Commands


@pytest.mark.parametrize("page", _SESSIONS, ids=where)
def test_the_commands_of_a_page_give_what_it_shows(page: Path, tmp_path: Path) -> None:
    session = _Session(page, tmp_path)
    for block in blocks(page):
        if block.file is not None:
            session.save(block.file, block.body)
        if block.language == "console":
            for command, shown in commands(block):
                session.run(command, shown)


@pytest.mark.parametrize("page", _TERMINALS, ids=where)
def test_a_page_is_followed_at_a_terminal(page: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "here")], check=True, timeout=30)
    with shell(tmp_path / "here", surroundings(tmp_path)) as reader:
        follow(page, reader)


class _Session:
    """A shell where the reader of a page is: in a new repository; of the README, in a clone of this one."""

    def __init__(self, page: Path, directory: Path) -> None:
        self._page = page
        self._directory = directory / "here"
        self._pwd = directory / "pwd"
        self._status = 0
        self._environment = surroundings(directory)
        if page == README:
            self._clone()
        else:
            subprocess.run(["git", "init", "-q", str(self._directory)], check=True, timeout=30)

    def _clone(self) -> None:
        """What a clone has, with all that `make` installs into it."""
        self._directory.mkdir()
        for path in ROOT.iterdir():
            if path.name not in (".git", ".venv"):
                (self._directory / path.name).symlink_to(path)
        (self._directory / ".venv").symlink_to(sys.prefix)

    def save(self, file: str, text: str) -> None:
        """Save a file that the page shows."""
        (self._directory / file).write_text(text, encoding="utf-8")

    def run(self, command: str, shown: str) -> None:
        """Run a command; what it prints and its exit status must be what is shown."""
        if command in _GATES:
            self._pass(command, shown)
            return
        if self._page != README and _PLAIN.fullmatch(command) and self._run_forked(command, shown):
            return
        command = re.sub(r"^make ", "make -o .venv/ready-base ", command)  # what it installs is there
        script = f"(exit {self._status})\n{command}\nstatus=$?; pwd > {shlex.quote(str(self._pwd))}; exit $status"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        self._directory, self._status = Path(self._pwd.read_text(encoding="utf-8").strip()), done.returncode
        told = f"{name_of(self._page)}: $ {command}\n{done.stdout}"
        assert not shown or pattern(shown).fullmatch(stripped(done.stdout)), told
        assert done.returncode == expected_status(done.stdout), told

    def _run_forked(self, command: str, shown: str) -> bool:
        """Run a command that needs no shell without starting it; False where it must be started."""
        environment = {name: value for name, value in self._environment.items() if not name.startswith(_OF_THE_START)}
        forked = started(shlex.split(command)[1:], cwd=self._directory, env={**environment, "LANG": "C.UTF-8"})
        if forked is None:
            return False
        out, err = (one.decode() for one in forked.communicate(SECONDS))
        self._status = forked.wait(SECONDS)
        told = f"{name_of(self._page)}: $ {command}\n{out}{err}"
        assert not shown or any(pattern(shown).fullmatch(stripped(text)) for text in (out + err, err + out)), told
        assert self._status == expected_status(out + err), told
        return True

    def _pass(self, command: str, shown: str) -> None:
        """Pass a gate as its reader does: in a terminal, with the word typed."""
        word = _GATES[command]
        answers = [(f"Type {word}", f"{word}\n")]
        self._status, screen = run_in_terminal(
            *command.split()[1:], cwd=self._directory, env=self._environment, answers=answers
        )
        told = f"{name_of(self._page)}: $ {command}\n{screen}"
        assert not shown or pattern(shown).fullmatch(stripped(screen)), told
        assert self._status == 0, told


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
    assert bool(pattern(shown).fullmatch(printed)) is matches


# Python


_PYTHON = [block for page in _SHOWN for block in blocks(page, "python") if block.file is None]


@pytest.mark.parametrize("block", _PYTHON, ids=where)
def test_python_that_is_shown_runs(block: Block, tmp_path: Path) -> None:
    command = [sys.executable, "-c", block.body]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)
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


# The README


def test_every_command_of_the_readme_is_in_a_block_that_is_run() -> None:
    assert {block.language for block in blocks(README)} == {"console", "python"}


_NAMED = re.compile(r"ralph ((?:[a-z]+ ?)+)")
_INLINE = re.compile(rf"`{_NAMED.pattern}")


def test_every_command_that_is_named_and_not_run_is_one() -> None:
    prose = re.sub(r"(?s)```.*?```", "", text_of(README))
    unrun = [line for page in PAGES for block in blocks(page, "sh") for line in block.body.splitlines()]
    named = [*_INLINE.findall(prose), *(words for line in unrun for words in _NAMED.findall(line.partition("#")[0]))]
    assert len(named) > len(_INLINE.findall(prose)) > 0
    known = anchors(DOCS / "commands.md")
    for words in named:
        noun, *rest = words.split()
        assert f"ralph-{noun}" in known, words
        assert not rest or f"ralph-{noun}-{rest[0]}" in known or list(verbs_of(noun)) == [""], words
