"""The dashboard of a real server over a real journal, and what a test writes into it and reads from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import httpx
import msgspec

from faces.journals import AGENT, PERSON, opened
from faces.mcp.servers import serving
from faces.programs import AUTHORIZED, SECONDS
from interlock.journal import Journal
from interlock.work.sessions.verbs import Caller, complete, create, update

__all__ = ["HOSTILE", "NOBODY", "WAY", "Site", "alien", "site_of", "walk"]

NOBODY = SimpleNamespace(is_offered=False, refusal=SimpleNamespace(message="Nobody is there.", hint=""))
"""Who acts where nobody can, as pages know them."""
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>&amp;{{ 7*7 }}"
"""What an agent or a tracker may call something."""
WAY = ("analyzing", "implementing", "testing", "committing", "reviewing")


class Site(msgspec.Struct, frozen=True):
    """A served dashboard, and the journal that it shows."""

    url: str
    journal: Journal
    repository: Path

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"{self.url}{path}", headers=AUTHORIZED, verify=False, timeout=SECONDS)

    def page(self, path: str) -> str:
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        alien(answer.text)
        return answer.text

    def session(self, ticket: str | None = None, agent: str = "claude") -> str:
        """A session that has just begun."""
        return self.journal.transact(create(Caller(AGENT, agent), ticket=ticket)).session_id


@contextmanager
def site_of(repository: Path, environment: Mapping[str, str]) -> Iterator[Site]:
    """`ralph serve` in a repository, with the journal open to write into it meanwhile."""
    with serving(repository, environment) as served, opened(repository) as journal:
        yield Site(served.url, journal, repository)


def walk(journal: Journal, session: str, *states: str) -> None:
    """Report states, one after the other."""
    for state in states:
        if state == "done":
            journal.transact(complete(session, "success", AGENT))
        elif state == "failed":
            journal.transact(complete(session, "failure", PERSON, "it does not work"))
        else:
            journal.transact(update(session, state, AGENT))


class _Seen(HTMLParser):
    """All elements of a page with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))


def alien(text: str) -> None:
    """A page has no script but ours, no handler, no style of its own, and nothing that cannot be seen."""
    seen = _Seen()
    seen.feed(text)
    for tag, attributes in seen.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
        if tag == "script":
            assert str(attributes.get("src")).startswith("/static/"), attributes
        if tag in ("img", "iframe", "object", "embed", "style"):
            raise AssertionError(tag)
    hidden = {one for one in text if not (one.isprintable() or one in "\n\t")}
    assert not hidden, hidden
