"""The MCP project's own tools, and our server over HTTP for them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from faces.programs import RALPH, SERVE_TOKEN, followed
from node.carrier import carrying
from node.tools import environment, packages


@pytest.fixture(scope="session")
def programs() -> Path:
    """Where the programs of the packages are; not run where they cannot be had."""
    return packages(Path(__file__).parent)


@pytest.fixture
def surroundings(tmp_path: Path, programs: Path) -> dict[str, str]:
    """An environment that nobody's settings leak into."""
    base = environment()
    # Clients of the SDK hand on HOME and few other names, so the state directory is the one below it.
    own = {"HOME": str(tmp_path), "RALPH_SERVE_TOKEN": SERVE_TOKEN}
    return {**base, "PATH": f"{programs}:{RALPH.parent}:{base['PATH']}", **own}


@pytest.fixture
def repository(tmp_path: Path, surroundings: dict[str, str]) -> Path:
    """A new git repository in which nothing has happened yet."""
    directory = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", directory], env=surroundings, check=True, timeout=60)
    return directory


@pytest.fixture
def served(repository: Path, surroundings: dict[str, str]) -> Iterator[str]:
    """Where our server answers over HTTP."""
    with followed("serve", "--port", "0", "--json", cwd=repository, env=surroundings) as stream:
        address = urlsplit(json.loads(stream.line())["data"]["mcp"])
        with carrying(address.port or 0) as port:
            yield f"http://127.0.0.1:{port}{address.path}"
