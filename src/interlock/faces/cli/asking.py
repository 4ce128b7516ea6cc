"""A question before something is written: whoever is at a terminal is asked, and nobody else is taken to agree."""

from __future__ import annotations

import sys

from interlock.faces.cli.output import Output

__all__ = ["ask"]


def ask(output: Output, question: str) -> tuple[str, str] | None:
    """None where somebody says yes; else why nothing is to be written, and what to do next."""
    if output.json or not (sys.stdin is not None and sys.stdin.isatty() and output.stdout.isatty()):
        hint = "`--yes` writes without a question; `--dry-run` shows what it would write."
        return "Nothing was written: there is nobody at a terminal to ask.", hint
    output.stdout.flush()
    output.stderr.write(f"{question} [y/N] ")
    output.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return None
    return "Nothing was written.", "Run it again to be asked again."
