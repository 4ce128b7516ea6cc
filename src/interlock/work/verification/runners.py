"""PURE. Where test runners and their like keep their settings, so that an agent cannot turn a verifier off.

whole files      what is nothing but settings of a runner: `pytest.ini`, `jest.config.js` …
parts of files   what is settings of a runner in a file that has others too: `[tool.pytest]` in `pyproject.toml` …
by the command   what a verifier's command runs: the Makefile of `make`, a script that it names
"""

from __future__ import annotations

import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

__all__ = ["SETTINGS", "has_parts", "named_in", "part_that_differs", "used_by"]

SETTINGS: Final = (
    "ralph.toml",
    *("**/pytest.ini", "**/.pytest.ini", "**/pytest.toml", "**/.pytest.toml", "**/tox.toml", "**/.coveragerc"),
    *("**/mypy.ini", "**/.mypy.ini", "**/ruff.toml", "**/.ruff.toml", "**/.flake8", "**/pyrightconfig.json"),
    *("**/jest.config.*", "**/vitest.config.*", "**/playwright.config.*", "**/karma.conf.*", "**/cypress.config.*"),
    *("**/.mocharc.*", "**/.eslintrc*", "**/eslint.config.*", "**/.eslintignore", "**/.nycrc*", "**/.c8rc*"),
    *("**/.rspec", "**/phpunit.xml*", "**/.golangci.*", "**/nextest.toml", "**/clippy.toml", "**/.clippy.toml"),
)
"""Globs of files that hold nothing but settings of what verifies, and our own."""

_SECTIONS: Final = re.compile(
    r"(?:tool:)?(?:pytest|mypy|ruff|flake8|pylint|coverage|tox|nox|pyright|testenv)(?:[:.-].*)?", re.IGNORECASE
)
_TOML: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "pyproject.toml": tuple(
        ("tool", one) for one in "pytest mypy ruff flake8 pylint coverage tox nox pyright poe taskipy pdm".split()
    ),
    "Cargo.toml": (("test",), ("lib", "test"), ("lib", "harness"), ("package", "autotests"), ("lints",)),
}
_JSON: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "package.json": tuple((one,) for one in "scripts jest mocha vitest ava nyc c8 tap eslintConfig".split()),
    "composer.json": (("scripts",),),
    "deno.json": (("tasks",), ("test",), ("lint",)),
}
_INI: Final = frozenset({"setup.cfg", "tox.ini"})
_PROGRAMS: Final[Mapping[str, tuple[str, ...]]] = {
    "make": ("**/Makefile", "**/makefile", "**/GNUmakefile", "**/*.mk"),
    "gmake": ("**/Makefile", "**/makefile", "**/GNUmakefile", "**/*.mk"),
    "just": ("**/justfile", "**/Justfile", "**/.justfile"),
    "task": ("**/Taskfile.y*ml",),
    "rake": ("**/Rakefile",),
    "nox": ("**/noxfile.py",),
    "invoke": ("**/tasks.py",),
    "pre-commit": ("**/.pre-commit-config.yaml",),
    "bazel": ("**/BUILD", "**/BUILD.bazel"),
}


_BEFORE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*|-.*|[0-9.]+[smhd]?", re.DOTALL)
"""What may stand before a program: a value for its environment, and the flags and times of what starts it."""
_INTERPRETERS: Final = re.compile(r"(?:ba|da|z|k)?sh|python[0-9.]*|node|bun|deno|ruby|perl|php|tsx|source|\.")
_CARRIERS: Final = frozenset("env exec nice nohup npx pipx poetry run time timeout uv uvx xvfb-run !".split())


def used_by(command: str) -> Iterator[str]:
    """Globs of the files that a command runs: those of the program, and scripts that are the program."""
    for words in _commands(command):
        program, *rest = words
        yield from _PROGRAMS.get(PurePosixPath(program).name, ())
        if "/" in program:
            yield program.removeprefix("./")
        name = PurePosixPath(program).name
        if _INTERPRETERS.fullmatch(name):
            yield from _script(rest, ("-c", "-m") if name.endswith("sh") or name.startswith("python") else ("-e",))


def _script(words: list[str], ends: tuple[str, ...]) -> Iterator[str]:
    """What an interpreter is given to run; behind some flags it is no file."""
    for place, word in enumerate(words):
        if word == "-m" and words[place + 1 :]:
            module = words[place + 1].replace(".", "/")
            yield from (f"{module}.py", f"{module}/__main__.py", *_PROGRAMS.get(module, ()))
        if word in ends:
            return
        if not word.startswith("-"):
            yield word.removeprefix("./")
            return


def named_in(command: str) -> Iterator[str]:
    """Everything in a command that may be a path."""
    for word in _words(command):
        yield word.partition("::")[0].removeprefix("./")


def _commands(command: str) -> Iterator[list[str]]:
    """The commands of a command line, each as its words, without what only starts another."""
    found: list[str] = []
    for word in [*_words(command), ";"]:
        if word and set(word) <= set("();<>|&"):
            if found:
                yield found
            found = []
        elif found or not (_BEFORE.fullmatch(word) or word in _CARRIERS):
            found.append(word)


def _words(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # a quote that does not end
        return command.split()


def has_parts(path: str) -> bool:
    """Whether a file has settings of runners among others."""
    name = PurePosixPath(path).name
    return name in _TOML or name in _JSON or name in _INI


def part_that_differs(path: str, before: bytes | None, after: bytes | None) -> str | None:
    """The first part of a file that is a runner's, and is not as it was; None where all are.

    A file that cannot be read has no settings: what a runner does with it is not what it did before, so it differs.
    """
    try:
        old, new = _parts(path, before), _parts(path, after)
    except (ValueError, RecursionError, configparser.Error):
        return "the whole file, which cannot be read"
    return next((name for name in sorted({*old, *new}) if old.get(name) != new.get(name)), None)


def _parts(path: str, content: bytes | None) -> dict[str, Any]:
    """The parts of a file that are a runner's, by name."""
    if content is None:
        return {}
    name, text = PurePosixPath(path).name, content.decode("utf-8")
    if name in _INI:
        reader = configparser.RawConfigParser(strict=False)
        reader.read_string(text)
        return {f"[{one}]": dict(reader[one]) for one in reader.sections() if _SECTIONS.fullmatch(one)}
    data = tomllib.loads(text) if name in _TOML else json.loads(text)
    keys = _TOML.get(name) or _JSON[name]
    return {".".join(key): found for key in keys if (found := _at(data, key)) is not None}


def _at(data: Any, key: tuple[str, ...]) -> Any:
    for part in key:
        data = data.get(part) if isinstance(data, dict) else None
    return data
