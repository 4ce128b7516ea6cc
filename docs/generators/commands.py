"""Every noun and verb of `ralph` with its help, from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from docs.generators.markdown import fence
from interlock.faces.cli.command import Parser, Verb
from interlock.faces.cli.main import NOUNS, verbs_of

__all__ = ["commands", "help_text", "titles"]

_WIDTH = 100


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help that is the same whatever the terminal's width and Python's version."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_WIDTH)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return ", ".join(f"{option} {value}" for option in action.option_strings)


def titles() -> list[str]:
    """Every command as it is typed."""
    return [_title(noun, verb) for noun in NOUNS for verb in verbs_of(noun).values()]


def _title(noun: str, verb: Verb) -> str:
    return f"ralph {noun} {verb.name}".strip()


def commands() -> str:
    """A heading and the help of each command, by noun."""
    return "\n\n".join(_nouns())


def _nouns() -> Iterator[str]:
    for noun, line in NOUNS.items():
        verbs = verbs_of(noun)
        yield f"## ralph {noun}"
        yield f"{line[:1].upper()}{line[1:]}" + ("" if line.endswith("?") else ".")
        for verb in verbs.values():
            if verb.name:
                yield f"### ralph {noun} {verb.name}"
            yield fence(help_text(noun, verb))


def help_text(noun: str, verb: Verb) -> str:
    """What `--help` prints."""
    parser = Parser(_title(noun, verb), verb.help, verb.examples)
    verb.arguments(parser)
    parser.formatter_class = _Formatter
    return parser.format_help()
