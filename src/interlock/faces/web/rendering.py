"""Pages made of what they look at. All that is printed into one is text that cannot do anything."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from interlock import __version__
from interlock.work.gates.display import visible

__all__ = ["Renderer", "drawn"]

_LIVE: Final = "live_"
"""How the names of blocks begin that are regions."""
_MOST: Final = 40_000
_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"))


class Renderer:
    """Makes pages, and parts of them."""

    def __init__(self, navigation: object, acting: object) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(Path(__file__).with_name("templates")),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_safe,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(when=when, exact=exact, short=short, duration=duration)
        self._environment.globals.update(navigation=navigation, version=__version__, live=live, acting=acting)

    def page(self, name: str, given: Mapping[str, Any]) -> str:
        """A whole page."""
        return self._template(name).render(given)

    def regions(self, name: str, given: Mapping[str, Any]) -> dict[str, str]:
        """The parts of a page that live."""
        template = self._template(name)
        context = template.new_context(dict(given))
        blocks = {block: make for block, make in template.blocks.items() if block.startswith(_LIVE)}
        return {block.removeprefix(_LIVE): "".join(make(context)) for block, make in blocks.items()}

    def _template(self, name: str) -> Template:
        return self._environment.get_template(name)


def _safe(value: object) -> object:
    """What is printed: without what cannot be seen or turns text around, and not without an end."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value if value is not None else ""
    return visible(value if len(value) <= _MOST else f"{value[:_MOST]} … {len(value) - _MOST} characters more")


def drawn(text: str) -> Markup:
    """A drawing to be put into a page: our own, in which every word is escaped, without what cannot be seen."""
    return Markup(visible(text))


def duration(seconds: float) -> str:
    """A span of time, in its largest unit."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


@pass_context
def when(context: Context, text: str) -> Markup:
    """How long a time of the journal is past, with the exact one behind it."""
    past = duration(context["now"] - datetime.fromisoformat(text).timestamp())
    return Markup('<time datetime="{}" title="{}">{}</time>').format(text, exact(text), past)


@pass_context
def live(context: Context, name: str) -> Markup:
    """The attributes of the element that holds a region: the block `live_<name>` of the page."""
    return Markup('id="{0}" sse-swap="{1}#{0}"').format(name, context["asked"].path)


def exact(text: str) -> str:
    """A time of the journal, for people."""
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def short(id_: str) -> str:
    """As much of an id as commands need."""
    return id_[-6:]
