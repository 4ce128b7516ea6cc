"""The help of `ralph`, of a noun and of a verb, as pages that read like a manual's."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable, Iterator, Mapping
from textwrap import fill

from interlock import __version__
from interlock.faces.cli.command import Parser, Verb
from interlock.faces.cli.manual import ManualPage, pages
from interlock.faces.cli.output import columns

__all__ = ["noun_help", "ralph_help", "verb_help"]

_PROMISE = "carries work from a ticket to a reviewed commit, and skips no step"
_WIDEST = 100
_NARROWEST = 40
_COLUMN = 30
_FIRST = (
    ("ralph demo", "see all of it, on a small project"),
    ("ralph init", "set up your repository"),
    ("ralph ticket create 'Parse dates'", "say what is to be done"),
    ("ralph work 1", "let agents do it, up to the next gate"),
    ("ralph status", "see what waits for you, and what to type"),
)
_REST = """\
`ralph help NOUN` and `ralph help NOUN VERB` tell more, and so does --help behind any of them. --json gives one
envelope on stdout; --version tells the version. A text that is no noun, as in `ralph "PROMPT" --agent codex`, begins
the loop of `ralph story run`."""


def ralph_help(groups: Mapping[str, Mapping[str, str]], width: int | None = None) -> str:
    """Every noun in one line, in groups, with what to type first."""
    width = width or _width()
    parts = [f"ralph {__version__} · {_PROMISE}", "usage: ralph NOUN [VERB] [ARGUMENTS] [--json]"]
    parts.append(f"first steps:\n{_rows(_FIRST, width)}")
    longest = max(len(noun) for group in groups.values() for noun in group)
    for title, group in groups.items():
        parts.append(f"{title}:\n{_rows([(noun.ljust(longest), line) for noun, line in group.items()], width)}")
    return _joined([*parts, fill(" ".join(_REST.split()), width, break_on_hyphens=False)])


def noun_help(noun: str, line: str, verbs: Mapping[str, Verb], width: int | None = None) -> str:
    """What a noun is for, and its verbs; with how it is called itself, where it can be."""
    width = width or _width()
    if list(verbs) == [""]:
        return verb_help(noun, verbs[""], width)
    page = pages(noun)[""]
    own = [_parser(noun, verbs[""])] if "" in verbs else []
    usage = own[0] if own else Parser(f"ralph {noun} VERB")
    shown = [(f"ralph {noun} {name}".rstrip(), verb.help) for name, verb in verbs.items()]
    parts = [
        _title(f"ralph {noun}", line, width),
        _usage(usage, width),
        *_about(page, width),
        f"verbs:\n{_rows(shown, width)}",
    ]
    parts += [part for parser in own for part in _arguments(parser, width)]
    parts += _rest(page, width) if own else _see(page, width)
    parts.append(f"`ralph help {noun} VERB` tells more of one.")
    return _joined(parts)


def verb_help(noun: str, verb: Verb, width: int | None = None) -> str:
    """How a command is called, what it does, and what belongs to it."""
    width = width or _width()
    page, parser = pages(noun)[verb.name], _parser(noun, verb)
    usage = _usage(parser, width).rstrip() + (" [-- FLAGS]" if verb.passes else "")
    parts = [_title(parser.prog, verb.help, width), usage]
    return _joined([*parts, *_about(page, width), *_arguments(parser, width), *_rest(page, width)])


def _width() -> int:
    """What the terminal has, but no more than reads well; 80 in a pipe."""
    return max(min(shutil.get_terminal_size().columns, _WIDEST), _NARROWEST)


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _parser(noun: str, verb: Verb) -> Parser:
    parser = Parser(f"ralph {noun} {verb.name}".strip())
    verb.arguments(parser)
    return parser


# The parts of a page


def _title(name: str, line: str, width: int) -> str:
    return fill(f"{name} · {line}", width, subsequent_indent="  ")


def _about(page: ManualPage, width: int) -> Iterator[str]:
    for paragraph in page.about:
        yield fill(paragraph, width, break_on_hyphens=False, break_long_words=False)


def _usage(parser: Parser, width: int) -> str:
    formatter = _Formatter(parser.prog, width)
    actions = [action for action in parser._actions if action.dest not in Parser.COMMON]
    formatter.add_usage(None, actions, parser._mutually_exclusive_groups)
    return formatter.format_help()


def _arguments(parser: Parser, width: int) -> Iterator[str]:
    for group in parser._action_groups:
        formatter = _Formatter(parser.prog, width)
        formatter.start_section(group.title)
        formatter.add_arguments(group._group_actions)
        formatter.end_section()
        if text := formatter.format_help():
            yield text


def _rest(page: ManualPage, width: int) -> Iterator[str]:
    if page.examples:
        shown = (f"  {line}\n{_indented(told, width)}" for line, told in page.examples)
        yield "examples:\n" + "".join(shown)
    yield "exit status:\n" + _rows([(f"{status:d}", told) for status, told in page.exits.items()], width)
    if page.environment:
        yield "environment:\n" + _rows(list(page.environment.items()), width)
    yield from _see(page, width)


def _see(page: ManualPage, width: int) -> Iterator[str]:
    if page.see:
        listed = ", ".join(f"ralph {words}".replace(" ", "\0") for words in page.see)
        told = fill(listed, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        yield "see also:\n" + told.replace("\0", " ")


def _indented(text: str, width: int) -> str:
    return fill(text, width, initial_indent=" " * 6, subsequent_indent=" " * 6) + "\n"


def _rows(rows: Iterable[tuple[str, str]], width: int) -> str:
    return columns([(f"  {name}", text) for name, text in rows], width)


class _Formatter(argparse.HelpFormatter):
    """Arguments with their defaults, the same in every version of Python."""

    def __init__(self, prog: str, width: int) -> None:
        super().__init__(prog, max_help_position=_COLUMN, width=width)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"

    def _get_help_string(self, action: argparse.Action) -> str | None:
        takes = action.option_strings and action.nargs != 0
        if takes and action.default not in (None, argparse.SUPPRESS, [], "") and not action.required:
            return f"{action.help} (default: %(default)s)"
        return action.help
