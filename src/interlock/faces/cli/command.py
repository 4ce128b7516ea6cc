"""What a verb of the command line is, and the parser that reads it.

Both are named tuples: making a dataclass imports `inspect`, which takes as long as starting Python. Their annotations
are evaluated, for a named tuple compiles those that are text, and the first `compile` makes all types of `ast`.
"""

import argparse
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from interlock.errors import InterlockError, UsageError
from interlock.faces.cli.output import Output

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CommandCall", "Parser", "Verb", "positive"]

# Or argparse looks for translations of its words, with the module `locale` and in the file system, at every start.
argparse._ = str  # type: ignore[attr-defined]


class CommandCall(NamedTuple):
    """One call of a verb: its arguments, and the world it is called in."""

    arguments: argparse.Namespace
    output: Output
    environment: Mapping[str, str] = os.environ

    @property
    def directory(self) -> "Path":
        """Where it is called."""
        from pathlib import Path

        try:
            return Path.cwd()
        except OSError:
            message = "The directory that this was called in is gone."
            raise InterlockError("no_repository", message, "Go to a directory that exists.") from None


class Verb(NamedTuple):
    """Something `ralph` can do: its words, its arguments, and the function that does it."""

    name: str
    help: str
    run: Callable[[CommandCall], None]
    arguments: Callable[[argparse.ArgumentParser], None] = lambda parser: None
    passes: bool = False
    """Whether the words behind `--` are another program's; then they are its arguments' `passed`."""


def positive(text: str) -> int:
    """A number of things to show."""
    if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is no number from 1 on")
    return int(text)


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=120)


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are errors of the catalogue, and that never exits 2."""

    COMMON = ("json", "help")
    """What every command has."""

    def __init__(self, prog: str) -> None:
        # With a width of its own: each argument is tried with a formatter, which imports `shutil` to find one.
        super().__init__(prog=prog, allow_abbrev=False, add_help=False, formatter_class=_formatter)
        self._positionals.title = "arguments"
        everywhere = self.add_argument_group("common options")
        everywhere.add_argument("--json", action="store_true", help='one envelope on stdout: {"ok": true, "data": …}')
        everywhere.add_argument("-h", "--help", action="store_true", help="show this and do nothing")

    def error(self, message: str) -> NoReturn:
        raise UsageError(
            "usage", f"{message[:1].upper()}{message[1:]}.", f"`{self.prog} --help` shows how it is called."
        )
