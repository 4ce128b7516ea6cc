"""Every noun and verb of `ralph` with its help, as `--help` shows it."""

from __future__ import annotations

from collections.abc import Iterator

from docs.generators.markdown import fence
from interlock.faces.cli.helping import verb_help
from interlock.faces.cli.main import GROUPS, NOUNS, verbs_of
from interlock.faces.cli.manual import pages

__all__ = ["WIDTH", "commands", "overview", "titles"]

WIDTH = 80


def titles() -> list[str]:
    """Every command as it is typed."""
    return [f"ralph {noun} {verb}".strip() for noun in NOUNS for verb in verbs_of(noun)]


def overview() -> str:
    """The nouns by what people want of them, each with a link to its part of the page."""
    rows = [
        f"| {title} | {', '.join(f'[`{noun}`](#ralph-{noun})' for noun in group)} |" for title, group in GROUPS.items()
    ]
    return "\n".join(["| to | |", "| --- | --- |", *rows])


def commands() -> str:
    """A heading and the help of each command, by noun."""
    return "\n\n".join(_nouns())


def _nouns() -> Iterator[str]:
    for noun, line in NOUNS.items():
        verbs, page = verbs_of(noun), pages(noun)[""]
        more = f" More is in [its page]({page.document})." if page.document else ""
        yield f"## ralph {noun}"
        yield f"{line[:1].upper()}{line[1:]}" + ("" if line.endswith("?") else ".") + more
        if "" not in verbs:
            yield from page.about
        for verb in verbs.values():
            if verb.name:
                yield f"### ralph {noun} {verb.name}"
            yield fence(verb_help(noun, verb, WIDTH))
