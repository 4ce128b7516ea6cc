"""What holds for every command: one envelope, the exit statuses of the catalogue, help, and answers to mistakes."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from exhaustive import examples
from faces.programs import Result, clean_environment, run, run_here
from interlock import __version__
from interlock.errors import Exit
from interlock.faces.cli.main import NOUNS, verbs_of
from interlock.faces.cli.output import clean
from interlock.faces.cli.styled import NARROW
from interlock.machine import SHIPPED, load_shipped

COMMANDS = {
    ("machine", "list"): (),
    ("machine", "show"): ("session",),
    ("machine", "check"): ("session",),
    ("machine", "diagram"): ("session",),
    ("machine", "schema"): (),
    ("journal", "verify"): (),
    ("journal", "rebuild"): (),
    ("log", ""): (),
    ("status", ""): (),
    ("ticket", "create"): ("Parse dates",),
    ("ticket", "list"): (),
    ("ticket", "next"): (),
    ("ticket", "board"): (),
    ("session", "list"): (),
    ("session", "create"): (),
    ("thread", "list"): (),
    ("stats", ""): (),
    ("gate", "list"): (),
    ("config", "show"): (),
    ("init", ""): ("--dry-run",),
    ("notify", "status"): (),
    ("telemetry", "status"): (),
    ("doctor", ""): (),
    ("completion", ""): ("bash",),
}
"""Every command that gives one result, with the arguments of a right call."""
STREAMS = {("journal", "export")}
"""Commands whose result is a line for each entry."""
ELSEWHERE = {("mcp", ""), ("serve", ""), *(("session", verb) for verb in ("show", "watch", "update", "complete"))}
ELSEWHERE |= {
    ("story", verb) for verb in ("init", "run", "drive", "status", "unblock", "skip", "limit", "context", "pause")
}
ELSEWHERE |= {("story", "resume"), ("story", "tasks")}
ELSEWHERE |= {("ticket", verb) for verb in ("show", "edit", "comment", "handoff", "group", "deps", "sync")}
ELSEWHERE |= {("thread", verb) for verb in verbs_of("thread") if verb != "list"}
ELSEWHERE |= {("orchestrate", verb) for verb in verbs_of("orchestrate")}
ELSEWHERE |= {("notify", "test"), ("notify", "send"), ("work", ""), ("why", ""), ("import", "")}
ELSEWHERE |= {("telemetry", "test"), ("telemetry", "send"), ("demo", ""), ("run", "")}
ELSEWHERE |= {("gate", "enroll"), ("gate", "revoke"), ("config", "accept")}
"""Commands that go on, or that need a session, a ticket, a thread or a person: they have tests of their own."""
ALL = [(noun, verb) for noun in NOUNS for verb in verbs_of(noun)]

GIT = Path(shutil.which("git") or "git")

Ralph = Callable[..., Result]


@pytest.fixture
def ralph(outside: Path, environment: dict[str, str]) -> Ralph:
    """`ralph` in this process, in a directory that is in no repository."""
    return lambda *words: run_here(*words, cwd=outside, env=environment)


def test_every_command_is_among_those_that_are_tried_here() -> None:
    assert COMMANDS.keys() | STREAMS | ELSEWHERE == set(ALL)


@pytest.mark.parametrize(("noun", "verb"), COMMANDS, ids=map(" ".join, COMMANDS))
def test_every_command_speaks_to_people_and_succeeds(
    noun: str, verb: str, repository: Path, environment: dict[str, str]
) -> None:
    result = run(noun, *filter(None, [verb]), *COMMANDS[noun, verb], cwd=repository, env=environment)
    assert result.code == 0, result
    assert result.out or result.err.startswith(
        ("Nothing has happened", "There are no s", "There are no t", "There is nothing to do")
    )
    assert '"ok"' not in result.out
    assert "\x1b" not in result.out


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize(("noun", "verb"), COMMANDS, ids=map(" ".join, COMMANDS))
def test_json_anywhere_gives_one_envelope_on_stdout_and_nothing_else(
    noun: str, verb: str, position: int, repository: Path, environment: dict[str, str]
) -> None:
    words = [noun, *filter(None, [verb]), *COMMANDS[noun, verb]]
    words.insert(position, "--json")
    result = run_here(*words, cwd=repository, env=environment)
    assert result.data is not None
    assert result.err == ""


@pytest.mark.parametrize(
    "words", [["--json", "doctor"], ["machine", "--json", "list"], ["log", "--json"]], ids=" ".join
)
def test_the_program_itself_prints_nothing_but_the_envelope(
    words: list[str], repository: Path, environment: dict[str, str]
) -> None:
    result = run(*words, cwd=repository, env=environment)
    assert result.data is not None
    assert result.err == ""


def test_the_version_is_the_packages(outside: Path, environment: dict[str, str]) -> None:
    assert run("--version", cwd=outside, env=environment).out == f"ralph {__version__}\n"
    assert run("-V", "--json", cwd=outside, env=environment).data == {"version": __version__}


def test_python_m_interlock_is_ralph(outside: Path, environment: dict[str, str]) -> None:
    python = Path(environment["PATH"].partition(":")[0]) / "python"
    result = run("-m", "interlock", "--version", cwd=outside, env=environment, program=python)
    assert result.out == f"ralph {__version__}\n"


# Help


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]], ids=str)
def test_help_names_every_noun(words: list[str], outside: Path, environment: dict[str, str]) -> None:
    result = run(*words, cwd=outside, env=environment)
    assert result.code == 0
    assert result.err == ""
    assert all(re.search(rf"^  {noun} +\w", result.out, re.MULTILINE) for noun in NOUNS)


@pytest.mark.parametrize("noun", NOUNS)
def test_help_of_a_noun_names_every_verb_of_it(noun: str, outside: Path, environment: dict[str, str]) -> None:
    result = run(noun, "--help", cwd=outside, env=environment)
    assert result.code == 0
    assert all(f"ralph {noun} {verb}".rstrip() in result.out for verb in verbs_of(noun))


@pytest.mark.parametrize(("noun", "verb"), ALL, ids=map(" ".join, ALL))
def test_help_of_a_verb_shows_how_it_is_called(noun: str, verb: str, ralph: Ralph) -> None:
    result = ralph(noun, *filter(None, [verb]), "--help")
    assert (result.code, result.err) == (0, "")
    expected = "usage: " if verb or len(verbs_of(noun)) == 1 else ""
    assert f"{expected}ralph {noun} {verb}".rstrip() in result.out


@pytest.mark.parametrize(
    "words", [["--help"], ["help"], [], ["machine", "--help"], ["machine", "show", "--help"], ["log", "-h"]], ids=str
)
def test_help_is_one_envelope_too_where_json_is_asked_for(words: list[str], ralph: Ralph) -> None:
    assert ralph(*words, "--json").data


# Mistakes

WRONG = [
    ["mashine"],
    ["--no-such-option"],
    ["--"],
    ["-"],
    [""],
    ["machine", "sho", "thread"],
    ["machine", "--", "list"],
    ["machine", "show"],
    ["machine", "show", "thread", "ticket"],
    ["machine", "list", "thread"],
    ["machine", "list", "--jsn"],
    ["machine", "diagram", "thread", "--format"],
    ["machine", "diagram", "thread", "--format", "png"],
    ["machine", "diagram", "thread", "--form", "svg"],
    ["journal", "verfy"],
    ["journal", "export", "--output"],
    ["log", "-n"],
    ["log", "-n", "0"],
    ["log", "-n", "-1"],
    ["log", "-n", "many"],
    ["log", "-n", "1.5"],
    ["log", "-n", "٣"],
    ["log", "aaaa", "bbbb"],
    ["demo", "thread"],
    ["doctor", "--fix"],
    ["completion"],
    ["completion", "tcsh"],
]


@pytest.mark.parametrize("words", WRONG, ids=str)
def test_a_wrong_call_is_a_usage_error_that_says_what_is_right(words: list[str], ralph: Ralph) -> None:
    result = ralph(*words)
    assert (result.code, result.out) == (Exit.USAGE, "")
    message, hint, end = result.err.split("\n")
    assert message.startswith("ralph: ")
    assert message.endswith(" [usage]")
    assert hint.startswith("  → ")
    assert end == ""
    enveloped = ralph(*words, "--json")
    assert enveloped.error["code"] == "usage"
    assert enveloped.error["hint"]
    assert enveloped.err == ""


@pytest.mark.parametrize("noun", ["machine", "journal"])
def test_a_noun_without_a_verb_is_a_usage_error_that_names_the_verbs(noun: str, ralph: Ralph) -> None:
    result = ralph(noun)
    assert result.code == Exit.USAGE
    assert all(verb in result.err for verb in verbs_of(noun))
    assert ralph(noun, "--json").error["code"] == "usage"


@pytest.mark.parametrize("words", [["mashine"], ["machine", "show"], ["log", "-n", "0"]], ids=str)
def test_the_program_exits_64_on_a_wrong_call(words: list[str], repository: Path, environment: dict[str, str]) -> None:
    result = run(*words, cwd=repository, env=environment)
    assert (result.code, result.out) == (64, "")
    assert run(*words, "--json", cwd=repository, env=environment).error["code"] == "usage"


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["mashine"], "ralph machine"),
        (["machines"], "ralph machine"),
        (["jurnal"], "ralph journal"),
        (["logs"], "ralph log"),
        (["docter"], "ralph doctor"),
        (["completions"], "ralph completion"),
        (["machine", "sow"], "ralph machine show"),
        (["machine", "diagramm"], "ralph machine diagram"),
        (["journal", "verfy"], "ralph journal verify"),
    ],
    ids=str,
)
def test_a_typo_is_answered_with_the_nearest_word(words: list[str], nearest: str, ralph: Ralph) -> None:
    result = ralph(*words)
    assert result.code == Exit.USAGE
    assert f"Did you mean `{nearest}`?" in result.err


@pytest.mark.parametrize("word", ["xyzzy", "\x1b[31mred", "x" * 5000], ids=lambda word: ascii(word)[:20])
def test_a_first_word_that_is_no_noun_starts_nothing_and_is_answered_with_all_nouns(word: str, ralph: Ralph) -> None:
    result = ralph(word)
    assert (result.code, result.out) == (Exit.USAGE, "")
    assert all(noun in result.err for noun in NOUNS)
    assert "\x1b" not in result.err
    assert len(result.err) < 500


KNOWN = [*NOUNS, *(verb for noun in NOUNS for verb in verbs_of(noun))]
WORDS = st.one_of(
    st.sampled_from([*KNOWN, "--json", "--help", "-h", "-n", "--", "--format", "svg", "--output"]),
    st.sampled_from(["thread", "session", "bash", "./none.toml", "none.json"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12),  # an argument has no NUL
)
SLOW = {"demo", "doctor", "check"}


@given(st.lists(WORDS, max_size=5).filter(lambda some: not SLOW & set(some)))
@settings(max_examples=examples(240))
def test_no_call_exits_2_or_leaves_the_catalogue(tmp_path_factory: pytest.TempPathFactory, some: list[str]) -> None:
    place = tmp_path_factory.getbasetemp()
    result = run_here(*some, cwd=place, env=clean_environment(place))
    assert result.code in set(Exit)
    assert result.code != 2
    if "--json" in some and result.code:
        assert result.error
    elif result.code:
        assert result.err.startswith("ralph: ")


# Where it is called


@pytest.mark.parametrize(
    "words",
    [
        ["machine", "list"],
        ["machine", "show", "thread"],
        ["machine", "check", "session"],
        ["machine", "diagram", "ticket"],
        ["machine", "schema"],
        ["completion", "bash"],
        ["--version"],
        ["--help"],
        ["doctor"],
    ],
    ids=" ".join,
)
def test_what_needs_no_repository_works_outside_one(
    words: list[str], outside: Path, environment: dict[str, str]
) -> None:
    result = run(*words, cwd=outside, env=environment)
    assert (result.code, result.err) == (0, "")
    assert result.out
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [["journal", "verify"], ["journal", "export"], ["journal", "rebuild"], ["log"], ["log", "-f"], ["log", "abcd"]],
    ids=" ".join,
)
def test_what_needs_a_repository_says_so_outside_one(
    words: list[str], outside: Path, environment: dict[str, str]
) -> None:
    result = run(*words, cwd=outside, env=environment)
    assert (result.code, result.out) == (1, "")
    assert "[no_repository]" in result.err
    assert str(outside) in result.err
    assert "git init" in result.err
    error = run_here(*words, "--json", cwd=outside, env=environment).error
    assert error["code"] == "no_repository"
    assert "git init" in error["hint"]
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "pointer", [b"gitdir: a\x00b\n", b"gitdir: " + b"x" * 3000, b"hello"], ids=lambda text: ascii(text[:12])
)
def test_a_broken_pointer_to_a_repository_is_named(pointer: bytes, outside: Path, environment: dict[str, str]) -> None:
    (outside / ".git").write_bytes(pointer)
    error = run("log", "--json", cwd=outside, env=environment).error
    assert error["code"] == "no_repository"
    assert str(outside / ".git") in error["message"]


@pytest.mark.parametrize("words", [["log"], ["journal", "verify"], ["doctor"]], ids=" ".join)
def test_no_command_runs_what_a_hostile_repository_names(
    words: list[str], repository: Path, environment: dict[str, str]
) -> None:
    canary, script = repository / "canary", repository / "script"
    script.write_text(f"#!/bin/sh\necho ran >> {canary}\n", encoding="utf-8")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.hooksPath", "init.templateDir"):
        run("config", key, script, cwd=repository, env=environment, program=GIT)
    assert run(*words, cwd=repository, env=environment).code == 0
    assert not canary.exists()
    run("status", cwd=repository, env=environment, program=GIT)
    assert canary.exists(), "the trap does not even catch git"


def test_a_directory_that_was_removed_is_no_fault_of_interlock(outside: Path, environment: dict[str, str]) -> None:
    script = 'rmdir "$PWD"; ralph log --json'
    result = run("-c", script, cwd=outside, env=environment, program=Path("/bin/bash"))
    assert result.error["code"] == "no_repository"


@pytest.mark.parametrize("words", [["doctor"], ["machine", "show", "session"], ["--help"]], ids=" ".join)
def test_a_terminal_that_cannot_show_every_character_is_still_written_to(
    words: list[str], outside: Path, environment: dict[str, str]
) -> None:
    result = run(*words, cwd=outside, env={**environment, "PYTHONIOENCODING": "ascii"})
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("name", ["./\udcff.toml", "\udcff"], ids=ascii)
def test_a_name_that_is_no_text_is_named_in_an_envelope_all_the_same(
    name: str, outside: Path, environment: dict[str, str]
) -> None:
    strict = {**environment, "PYTHONIOENCODING": "utf-8:strict"}
    assert run("machine", "show", name, "--json", cwd=outside, env=strict).error["message"]


# Text that somebody else wrote


@given(st.text())
def test_cleaned_text_has_no_control_characters_and_no_overrides_of_direction(text: str) -> None:
    cleaned = clean(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]", cleaned)
    assert clean(cleaned) == cleaned


def test_cleaning_leaves_what_people_write_alone() -> None:
    text = "Größe → ✓ 日本語 emoji 🙂\n\tindented"
    assert clean(text) == text


LOOKS = ("thread list", "story status", "orchestrate list", "ticket board", "status", "log", "stats")


@pytest.mark.parametrize("words", LOOKS)
def test_who_only_looks_does_not_load_what_drives(words: str, repository: Path, environment: dict[str, str]) -> None:
    """A driver is half of the program: loading it costs every look a quarter of a second."""
    said = run(
        "-X",
        "importtime",
        "-m",
        "interlock",
        *words.split(),
        cwd=repository,
        env=environment,
        program=Path(sys.executable),
    )
    loaded = {line.rpartition("|")[2].strip() for line in said.err.splitlines() if line.startswith("import time:")}
    assert "interlock.faces.cli.main" in loaded
    assert not {"interlock.work.driver.agent_run", "interlock.work.driver.loop", "yaml"} & loaded


QUICK = ("status", "ticket board", "thread list", "why 1", "log")
SLOW = {
    "ast",
    "asyncio",
    "dataclasses",
    "inspect",
    "interlock.journal.audit",
    "interlock.journal.transaction",
    "interlock.machine.check",
    "interlock.machine.condition_parser",
    "interlock.machine.validate",
    "interlock.work.gates.presence",
    "interlock.work.orchestration.replay",
    "interlock.work.sessions.upkeep",
    "interlock.work.stories.replay",
    "interlock.work.threads.spec",
    "interlock.world.git.private",
    "json",
    "locale",
    "rich",
    "shutil",
    "subprocess",
    "tempfile",
    "tomllib",
}
"""What the commands that people wait for did import and do not need: each costs a tenth of a bare start or more."""


@pytest.mark.parametrize("words", QUICK)
def test_what_people_wait_for_imports_nothing_slow(words: str, repository: Path, environment: dict[str, str]) -> None:
    script = "import atexit, sys; from interlock.faces.cli import main; sys.argv[:] = ['ralph', *sys.argv[1:]]\n"
    script += "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\nmain()"
    said = run("-c", script, *words.split(), cwd=repository, env=environment, program=Path(sys.executable))
    loaded = set(said.err.splitlines()[-1].split())
    assert "interlock.faces.cli.main" in loaded
    assert loaded & SLOW == set()
    assert "typing_extensions" not in loaded


def test_what_counts_as_narrow_takes_one_column() -> None:
    assert {one for one in NARROW if cell_len(one) != 1} == set()
    icons = {state.icon for name in SHIPPED for state in load_shipped(name).states.values() if state.icon}
    assert set("".join(icons)) <= NARROW
