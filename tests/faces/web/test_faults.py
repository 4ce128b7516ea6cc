"""A page that cannot be made does not take the others with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx

from faces.programs import SECONDS
from interlock.machine import Event
from work.attention.standings import DRIVER

from .sites import site_of


def test_the_stream_goes_on_when_one_of_its_pages_cannot_be_made(environment: dict[str, str], repository: Path) -> None:
    with site_of(repository, environment) as site:
        site.session()
        address = f"{site.url}/live?show=/&show=/sessions"
        with httpx.stream("GET", address, timeout=SECONDS) as stream:
            lines = stream.iter_lines()
            _until(lines, '"name":"/#waiting"')
            site.journal.create("orchestrator", Event("created", DRIVER))  # it has no goal, as none of ours would
            assert site.get("/").status_code == 500
            session = site.session()
            _until(lines, f'data-session=\\"{session}')
        assert site.get("/healthz").status_code == 200
        assert site.get("/sessions").status_code == 200


def _until(lines: Iterator[str], wanted: str) -> None:
    assert any(wanted in line for line in lines), wanted
