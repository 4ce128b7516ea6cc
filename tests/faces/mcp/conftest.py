"""One portal to the official client's event loop, and one HTTP server for the tests of a module."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from itertools import count

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from faces.programs import clean_environment

from .servers import Agent, Served, http_agent, serving

_tickets = count(1)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "requirement(id): the requirement in requirements.toml that the test holds")


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    """Where the official client runs: an event loop in a thread."""
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with a home of its own, for all tests of a module."""
    return clean_environment(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, home: dict[str, str]) -> Iterator[Served]:
    """A server over HTTP that all tests of a module share; each uses tickets of its own."""
    directory = tmp_path_factory.mktemp("served") / "repository"
    subprocess.run(["git", "init", "-q", directory], env=home, check=True, timeout=60)
    with serving(directory, home) as server:
        yield server
        ended = server.end()
        assert ended.err == ""


@pytest.fixture(scope="module")
def agent(served: Served, portal: BlockingPortal) -> Iterator[Agent]:
    """An agent that reports to the server that is shared."""
    with http_agent(portal, served.url) as agent:
        yield agent


@pytest.fixture
def ticket() -> str:
    """The id of a ticket that no other test uses."""
    return f"ticket {next(_tickets)}"
