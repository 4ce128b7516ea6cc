"""The help of every command is whole: what it does, every argument, examples that parse, what belongs to it."""

from __future__ import annotations

import re
import shlex
from argparse import SUPPRESS
from importlib import import_module
from pathlib import Path

import pytest

from faces.programs import run, run_here, run_in_terminal
from interlock.errors import Exit, UsageError
from interlock.faces.cli.command import CommandCall, Parser, Verb
from interlock.faces.cli.helping import noun_help, ralph_help, verb_help
from interlock.faces.cli.main import GROUPS, NOUNS, verbs_of
from interlock.faces.cli.manual import EXITS, pages
from interlock.faces.cli.output import Output

MAIN = import_module("interlock.faces.cli.main")  # the package has a function of that name
ROOT = Path(__file__).parents[2]
TREE = {(noun, name): verb for noun in NOUNS for name, verb in verbs_of(noun).items()}
COMMANDS = {" ".join(filter(None, key)) for key in TREE} | set(NOUNS)
each = pytest.mark.parametrize(("noun", "verb"), TREE, ids=map(" ".join, TREE))


def _parser(verb: Verb) -> Parser:
    parser = Parser("ralph")
    verb.arguments(parser)
    return parser


@pytest.mark.parametrize("noun", NOUNS)
def test_the_manual_has_a_page_for_each_verb_and_for_nothing_else(noun: str) -> None:
    assert set(pages(noun)) == {"", *verbs_of(noun)}
    assert all(pages(noun)[""].about)
    assert set(pages(noun)[""].see) <= COMMANDS
    assert not pages(noun)[""].document or (ROOT / "docs" / pages(noun)[""].document).is_file()


def test_the_manual_has_no_file_for_a_noun_that_is_gone() -> None:
    files = (ROOT / "src" / "interlock" / "faces" / "cli" / "manual").iterdir()
    assert {file.name for file in files} == {f"{noun}.toml" for noun in NOUNS}


@each
def test_a_command_says_in_a_line_and_in_a_paragraph_what_it_does(noun: str, verb: str) -> None:
    line, page = TREE[noun, verb].help, pages(noun)[verb]
    assert len(f"ralph {noun} {verb}".strip() + f" · {line}") <= 80
    assert not line.endswith(".")
    assert all(paragraph.endswith(".") and len(paragraph) > 40 for paragraph in page.about)
    assert set(page.see) <= COMMANDS - {f"{noun} {verb}".strip()}
    assert page.see


@each
def test_every_argument_is_explained_and_its_default_is_told(noun: str, verb: str) -> None:
    shown = verb_help(noun, TREE[noun, verb], 400)
    for action in _parser(TREE[noun, verb])._actions:
        if action.help == SUPPRESS:
            continue
        assert action.help, action
        assert all(option in shown for option in action.option_strings)
        if action.option_strings and action.nargs != 0 and action.default not in (None, [], ""):
            assert f"(default: {action.default})" in shown


@each
def test_examples_begin_with_the_command_and_parse(noun: str, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[CommandCall] = []
    monkeypatch.setattr(
        MAIN, "verbs_of", lambda one: {name: it._replace(run=seen.append) for name, it in verbs_of(one).items()}
    )
    examples = [line for line, _ in pages(noun)[verb].examples]
    assert examples
    assert f"ralph {noun} {verb}".strip() in examples[0]
    for line in examples:
        words = shlex.split(re.split(r"\s[<>|]\s", line)[0])
        if words[0] == "ralph":
            MAIN.run(words[1:], Output())
    assert len(seen) == sum(line.startswith("ralph ") for line in examples)


def test_an_example_that_does_not_parse_is_found() -> None:
    with pytest.raises(UsageError):
        MAIN.run(["ticket", "list", "--stat", "Backlog"], Output())


def test_names_of_the_environment_are_read_somewhere() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    names = {name for noun in NOUNS for page in pages(noun).values() for name in page.environment}
    assert {name for name in names if f'"{name}"' not in code} == set()


def test_every_exit_status_has_words() -> None:
    assert EXITS.keys() == set(Exit)


@pytest.mark.parametrize("width", [80, 100])
def test_help_is_as_wide_as_it_may_be(width: int) -> None:
    texts = [verb_help(noun, verb, width) for (noun, _), verb in TREE.items()]
    texts += [noun_help(noun, NOUNS[noun], verbs_of(noun), width) for noun in NOUNS]
    examples = {line for noun in NOUNS for page in pages(noun).values() for line, _ in page.examples}
    for text in [*texts, ralph_help(GROUPS, width)]:
        wide = [line for line in text.splitlines() if len(line) > width and line.strip() not in examples]
        assert wide == []
        assert "\n\n\n" not in text


def test_help_in_a_pipe_has_80_columns_and_in_a_terminal_what_reads_well(
    outside: Path, environment: dict[str, str]
) -> None:
    words = ("help", "ticket", "edit")
    verb = TREE["ticket", "edit"]
    assert run(*words, cwd=outside, env=environment).out == verb_help("ticket", verb, 80)
    for columns, width in ((60, 60), (200, 100)):
        _, screen = run_in_terminal(*words, cwd=outside, env=environment, columns=columns)
        assert screen.replace("\r\n", "\n") == verb_help("ticket", verb, width)


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["help", "log"], ["log", "--help"]),
        (["help", "thread"], ["thread", "--help"]),
        (["help", "thread", "run"], ["thread", "run", "-h"]),
        (["help"], ["--help"]),
    ],
    ids=str,
)
def test_help_before_and_behind_a_command_is_the_same(
    words: list[str], same: list[str], outside: Path, environment: dict[str, str]
) -> None:
    first, second = (run_here(*some, cwd=outside, env=environment) for some in (words, same))
    assert first == second
    assert (first.code, first.err) == (0, "")


@pytest.mark.parametrize("words", [["thraed"], ["thread", "rnu"], ["log", "show"], ["thread", "run", "more"]], ids=str)
def test_help_of_what_there_is_not_is_a_usage_error(
    words: list[str], outside: Path, environment: dict[str, str]
) -> None:
    result = run_here("help", *words, cwd=outside, env=environment)
    assert (result.code, result.out) == (Exit.USAGE, "")
