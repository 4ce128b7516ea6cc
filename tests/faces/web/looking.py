"""Pages of a real server, as somebody sees them who only looks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import httpx

from faces.mcp.servers import serving
from faces.programs import AUTHORIZED
from patience import SECONDS

__all__ = ["BIDI", "CODE", "HOSTILE", "Seen", "Visitor", "visiting"]

CODE = "<script>alert(1)</script></textarea></pre></details><img src=x onerror=alert(1)>"
BIDI = "\u202e\u2066\x1b[31m\x07\x00"
HOSTILE = f"{CODE}{{{{ 7 * 7 }}}}\"'&"
"""What may be in any text, and must do nothing: in the journal itself there are no control characters."""
_CARRIERS = frozenset({"script", "link", "style", "iframe", "object", "embed", "base"})


class Seen(HTMLParser):
    """What a browser makes of a page: its elements, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.parts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.parts).split())

    def all(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        """The elements of a kind that have these attributes."""
        values = {name.strip("_"): value for name, value in wanted.items()}
        return [has for name, has in self.elements if name == tag and values.items() <= has.items()]

    def with_class(self, name: str) -> list[dict[str, str | None]]:
        return [has for _, has in self.elements if name in (has.get("class") or "").split()]

    def check(self) -> None:
        """Nothing in it can do anything: all that runs is ours, and nothing is inline."""
        for tag, has in self.elements:
            assert not [name for name in has if name.startswith("on") or name == "style"], (tag, has)
            if tag in _CARRIERS:
                where = str(has.get("src") or has.get("href"))
                assert where.startswith("/static/"), (tag, has)
            assert not str(has.get("href", "")).lower().startswith(("javascript:", "data:")), has
        hidden = {one for one in self.html if not one.isprintable() and one not in "\n\t"}
        assert not hidden, hidden
        ids = [has["id"] for _, has in self.elements if has.get("id")]
        assert len(ids) == len(set(ids)), "an id is there twice"
        self._check_headings()
        labelled = {has.get("for") for has in self.all("label")}
        for tag in ("input", "select", "textarea"):
            for has in self.all(tag):
                assert has.get("type") == "hidden" or has.get("id") in labelled or has.get("aria-label"), has

    def _check_headings(self) -> None:
        levels = [int(tag[1]) for tag, _ in self.elements if re.fullmatch("h[1-6]", tag)]
        levels = levels[:-1] if levels and levels[-1] == 2 else levels  # that of the dialog
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in zip([1, *levels], levels, strict=False)), levels


class Visitor:
    """Somebody with a browser."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def get(self, path: str) -> httpx.Response:
        return self._client.get(path)

    def see(self, path: str, status: int = 200) -> Seen:
        """A page, which is sound whatever it shows."""
        answer = self._client.get(path)
        assert answer.status_code == status, answer.text[:2000]
        assert "content-security-policy" in answer.headers
        seen = Seen(answer.text)
        seen.check()
        return seen

    def live(self, path: str) -> dict[str, str]:
        """The regions of a page as the stream brings them at first."""
        found: dict[str, str] = {}
        swaps = [str(has.get("sse-swap", "")) for _, has in Seen(self._client.get(path).text).elements]
        wanted = {one.removeprefix(f"{path}#") for one in swaps if one.startswith(f"{path}#")}
        with self._client.stream("GET", "/live", params={"show": path}) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    told = httpx.Response(200, text=line.removeprefix("data: ")).json()
                    found[told["name"].rpartition("#")[2]] = told["html"]
                if wanted <= found.keys():
                    break
        return found


@contextmanager
def visiting(root: Path, environment: Mapping[str, str]) -> Iterator[Visitor]:
    """`ralph serve` in a repository, and somebody who looks at its pages."""
    with (
        serving(root, environment) as served,
        httpx.Client(base_url=served.url, headers=AUTHORIZED, verify=False, timeout=SECONDS) as client,
    ):
        yield Visitor(client)
