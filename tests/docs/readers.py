"""Whoever follows a page at a terminal: saves its files, types its commands and answers, and compares the screen."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from consoles import commands, expected_status, pattern, stripped, where
from documents import Block, blocks
from shells import Shell, seen

from interlock.errors import CODES

__all__ = ["follow", "is_typed"]

_TYPED = re.compile(r"^(?P<question>.*anything else is no: )(?P<answer>\S+)$", re.MULTILINE)
"""A question as the page shows it, with what its reader types there."""
_STOPS = "^C\n"
_SHOWN, _HIDDEN = "\x1b[?25h", "\x1b[?25l"
"""What shows the cursor, and what hides it while something else draws on the screen."""


def is_typed(page: Path) -> bool:
    """Whether a page has its reader answer at a terminal."""
    return any(_TYPED.search(block.body) for block in blocks(page, "console"))


def follow(page: Path, reader: Shell, look: Callable[[Shell], None] = lambda _: None) -> None:
    """Follow a page from its beginning to its end; `look` is what happens before Ctrl+C is pressed."""
    for block in blocks(page):
        if block.file is not None:
            (reader.directory / block.file).write_text(block.body, encoding="utf-8")
        if block.language == "console":
            _follow_block(block, reader, look)


def _follow_block(block: Block, reader: Shell, look: Callable[[Shell], None]) -> None:
    """Type the commands of a block; each must show what the page shows, and exit as it should."""
    for command, shown in commands(block):
        reader.start(command)
        for asked in _TYPED.finditer(shown):
            _answer(reader, asked["question"], asked["answer"])
        if _STOPS in shown:
            look(reader)
            reader.type("\x03")
        output = stripped(seen(reader.end()))
        told = f"{where(block)}: $ {command}\n{output}"
        assert not shown or pattern(shown).fullmatch(output), told
        status = CODES["interrupted"][0] if _STOPS in shown else expected_status(output)
        assert reader.status == status, told


def _answer(reader: Shell, question: str, answer: str) -> None:
    reader.see(re.compile(re.escape(question)))
    assert reader.screen.rfind(_SHOWN) >= reader.screen.rfind(_HIDDEN), "something draws over the question"
    reader.type(f"{answer}\n")
    reader.see(re.compile(re.escape(question + answer)))
