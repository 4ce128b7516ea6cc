"""PURE. The YAML between two lines `---` at the head of a Markdown file: split off, and read as nodes with their lines.

Nodes and not values: what an anchor stands for is never multiplied, and no tag makes anything.
"""

from __future__ import annotations

import re
from typing import Final

import yaml
from yaml.error import MarkedYAMLError, YAMLError
from yaml.nodes import Node

__all__ = ["FRONT", "FrontMatterFault", "composed"]

FRONT: Final = re.compile(r"\ufeff?---[ \t]*\n(?P<fields>(?:.*\n)*?)---[ \t]*(?:\n|\Z)")
"""The head of a file with its fields; its line breaks are `\\n` by then, and the fields begin on its second line."""


class FrontMatterFault(Exception):
    """The fields are no YAML; the line is the file's."""

    def __init__(self, line: int, said: str, *, is_marked: bool) -> None:
        super().__init__(said)
        self.line = line
        self.said = said
        self.is_marked = is_marked
        """Whether the reader knows the line, and not only that there is something."""


def composed(fields: str) -> Node | None:
    """The fields as a node; None where there are none."""
    try:
        node: Node | None = yaml.compose(fields, Loader=yaml.SafeLoader)  # libyaml would recurse without a limit
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = int(mark.line) + 2 if mark is not None else 2
        raise FrontMatterFault(line, _said(error.problem or error.context), is_marked=True) from None
    except (YAMLError, RecursionError, ValueError) as error:
        raise FrontMatterFault(2, _said(error)[:200], is_marked=False) from None
    return node


def _said(what: object) -> str:
    return " ".join(str(what).split())
