"""The MCP project's own tools, and our server over HTTP for them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from faces.programs import RALPH, followed
from node.tools import environment, packages


@pytest.fixture(scope="session")
def programs() -> Path:
    """Where the programs of the packages are; not run where they cannot be had."""
    return packages(Path(__file__).parent)


@pytest.fixture
def surroundings(tmp_path: Path, programs: Path) -> dict[str, str]:
    """An environment that nobody's settings leak into."""
    base = environment()
    return {**base, "PATH": f"{programs}:{RALPH.parent}:{base['PATH']}", "HOME": str(tmp_path)}


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
        yield json.loads(stream.line())["data"]["mcp"]
