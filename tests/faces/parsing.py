"""Parses a command that a message names, with the parser that `ralph` itself uses."""

from __future__ import annotations

import shlex
from argparse import Namespace

from interlock.faces.cli.command import Parser
from interlock.faces.cli.main import NOUNS, verbs_of

__all__ = ["parsed"]


def parsed(line: str) -> tuple[str, str, Namespace]:
    """The noun, the verb and the arguments of a command; it is refused as `ralph` would refuse it."""
    program, noun, *words = shlex.split(line)
    assert program == "ralph", line
    assert noun in NOUNS, line
    verbs = verbs_of(noun)
    verb = words.pop(0) if words and words[0] in verbs else ""
    parser = Parser(f"ralph {noun} {verb}".strip())
    verbs[verb].arguments(parser)
    return noun, verb, parser.parse_args(words)
