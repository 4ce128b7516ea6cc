"""What is shipped: the facts of pyproject.toml, and a wheel that holds everything the programs read."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

import pytest

from faces.programs import AUTHORIZED, Result, clean_environment, followed, run
from interlock import __version__
from interlock.extras import how_to_install
from interlock.machine import SHIPPED
from patience import SECONDS
from sources import SOURCE, nodes_of

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
UV = Path(sys.executable).parent / "uv"


def test_the_project_is_called_interlock_and_its_programs_ralph() -> None:
    project = PROJECT["project"]
    assert project["name"] == "interlock"
    assert project["scripts"] == {
        "ralph": "interlock.faces.cli:main",
        "interlock": "interlock.faces.cli:main",
        "ralph-hook": "interlock.faces.hook:main",
    }
    assert project["requires-python"] == ">=3.11"


def test_the_extra_all_has_every_other_extra() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    others = extras.keys() - {"all"}
    assert {
        extra for one in extras["all"] for extra in re.findall(r"interlock\[([\w,]+)\]", one)[0].split(",")
    } == others


CALLED = {"pyyaml": "yaml"}
"""The dependencies that are imported by another name."""
SINCE_3_12 = {"_sha2"}
"""The modules of a newer Python that the code tries."""


def test_every_dependency_is_used_and_everything_used_is_a_dependency() -> None:
    listed = {re.split(r"[\[<>=~! ;]", one)[0] for one in PROJECT["project"]["dependencies"]}
    extras = {
        re.split(r"[\[<>=~! ;]", one)[0]
        for some in PROJECT["project"]["optional-dependencies"].values()
        for one in some
    } - {"interlock"}
    nodes = (node for path in SOURCE.rglob("*.py") for node in nodes_of(path))
    imported = {name for node in nodes for name in _imported(node)} - {"interlock"}
    # Packages of a namespace are called by its first part.
    needed = {CALLED.get(name, name.replace("-", "_").partition(".")[0]) for name in listed | extras}
    assert imported - sys.stdlib_module_names - SINCE_3_12 == needed


def _imported(node: ast.AST) -> list[str]:
    """The packages that a statement imports from, by their first names."""
    if isinstance(node, ast.Import):
        return [one.name.partition(".")[0] for one in node.names]
    return [node.module.partition(".")[0]] if isinstance(node, ast.ImportFrom) and node.module else []


def test_the_guide_for_agents_is_the_guide_for_everybody() -> None:
    assert (ROOT / "CLAUDE.md").read_text(encoding="utf-8") == "@AGENTS.md\n"
    assert (ROOT / "AGENTS.md").is_file()


def test_the_licence_is_mit() -> None:
    assert PROJECT["project"]["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, and the wheel made of it, by the builder that the tests' group brings."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, copy / name)
    for name in ("src", "plugins", ".claude-plugin", "docs", "bench"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    output = copy / "dist"
    done = subprocess.run(
        [UV, "build", "--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", output, copy],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    [found] = built.glob("*.whl")
    return zipfile.ZipFile(found)


def test_the_source_archive_holds_what_is_shipped_and_neither_tests_nor_benchmarks(built: Path) -> None:
    [found] = built.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        names = {PurePosixPath(one).parts[1] for one in archive.getnames() if "/" in one}
    generated = {"PKG-INFO", ".gitignore"}
    shipped = {"src", "plugins", ".claude-plugin", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"}
    assert names - generated == shipped


def test_the_wheel_holds_what_the_programs_read(wheel: zipfile.ZipFile) -> None:
    held = set(wheel.namelist())
    definitions = "interlock/machine/definitions"
    assert {f"{definitions}/{name}.toml" for name in SHIPPED} <= held
    assert {f"{definitions}/machine.schema.json", f"{definitions}/index.json", "interlock/py.typed"} <= held


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    source = ROOT / "src"
    files = {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == files


def test_the_wheel_says_what_pyproject_says(wheel: zipfile.ZipFile) -> None:
    [name] = [one for one in wheel.namelist() if one.endswith(".dist-info/METADATA")]
    told = Parser().parsestr(wheel.read(name).decode())
    assert (told["Name"], told["Version"], told["Requires-Python"]) == ("interlock", __version__, ">=3.11")
    assert told["License-Expression"] == "MIT"
    assert "all" in (told.get_all("Provides-Extra") or [])
    [entry_points] = [one for one in wheel.namelist() if one.endswith("/entry_points.txt")]
    assert "ralph = interlock.faces.cli:main" in wheel.read(entry_points).decode()
    assert any(one.endswith("/licenses/LICENSE") for one in wheel.namelist())


# Installed


class Installed(NamedTuple):
    """Interlock as a person has it who installed the wheel, and nothing else."""

    ralph: Path
    environment: dict[str, str]


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, installed as a tool into an empty home, without extras; not run where the registry is away."""
    home = tmp_path_factory.mktemp("home")
    [found] = built.glob("*.whl")
    cache = subprocess.run([UV, "cache", "dir"], capture_output=True, text=True, timeout=SECONDS, check=True)
    own = {"HOME": home, "XDG_DATA_HOME": home / "data", "XDG_CACHE_HOME": home / "cache", "XDG_CONFIG_HOME": home}
    own |= {"UV_TOOL_BIN_DIR": home / "bin", "UV_CACHE_DIR": Path(cache.stdout.strip())}
    done = subprocess.run(
        [UV, "tool", "install", "--quiet", "--python", sys.executable, found],
        env={**os.environ, **{name: str(path) for name, path in own.items()}},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode and re.search(r"error sending request|dns error|network was disabled", done.stderr):
        pytest.skip(f"not run: the package registry does not answer: {done.stderr[:200]}")
    assert done.returncode == 0, done.stderr
    assert sorted(one.name for one in (home / "bin").iterdir()) == ["interlock", "ralph", "ralph-hook"]
    system = os.pathsep.join(one for one in os.environ["PATH"].split(os.pathsep) if ".venv" not in one)
    environment = clean_environment(home, PATH=f"{home / 'bin'}{os.pathsep}{system}")
    return Installed(home / "bin" / "ralph", environment)


@pytest.fixture
def place(installed: Installed, tmp_path: Path) -> Path:
    assert (
        run("init", "-q", cwd=tmp_path, env=installed.environment, program=Path(shutil.which("git") or "git")).code == 0
    )
    return tmp_path


def test_an_installed_wheel_sets_up_a_repository_and_talks_with_agents(installed: Installed, place: Path) -> None:
    def ralph(*words: str, stdin: bytes = b"") -> Result:
        return run(*words, cwd=place, env=installed.environment, program=installed.ralph, stdin=stdin)

    assert ralph("--version").out == f"ralph {__version__}\n"
    assert "see also:" in ralph("help", "work").out
    assert ralph("thread", "new", "Greet people", "--json").data["state"] == "Drafting"
    assert ralph("init", "--yes", "--agent", "claude", "--json").data
    server = json.loads((place / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["ralph"]
    assert server == {"command": "ralph", "args": ["mcp"]}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    answer = json.loads(ralph("mcp", stdin=f"{asked}\n".encode()).out)
    assert answer["result"]["serverInfo"]["name"]
    hook = run("pre-tool-use", cwd=place, env=installed.environment, program=installed.ralph.with_name("ralph-hook"))
    assert (hook.code, hook.out) == (0, "")


@pytest.mark.sampled(0)
def test_an_installed_wheel_plays_the_demo(installed: Installed, tmp_path: Path) -> None:
    """The main job needs no extra."""
    done = run("demo", "--json", cwd=tmp_path, env=installed.environment, program=installed.ralph, seconds=SECONDS)
    assert done.data["verified"] is True


def test_an_installed_wheel_serves_the_dashboard(installed: Installed, place: Path) -> None:
    words = ("serve", "--port", "0", "--json")
    with followed(*words, cwd=place, env=installed.environment, program=installed.ralph) as stream:
        url = json.loads(stream.line())["data"]["url"]
        for path in ("/", "/static/style.css"):
            with urlopen(Request(url + path, headers=AUTHORIZED), timeout=SECONDS) as page:
                assert page.status == 200


def test_what_needs_an_extra_says_how_it_is_installed(installed: Installed, place: Path) -> None:
    elsewhere = {**installed.environment, "RALPH_DATABASE_URL": "postgresql://nobody@localhost/none"}
    error = run("log", "--json", cwd=place, env=elsewhere, program=installed.ralph).error
    assert error["code"] == "database_url_invalid"
    found = re.fullmatch(r"Install it: `uv pip install --python (\S+) '(psycopg\[binary\]\S+)'`", error["hint"])
    assert found, error
    assert Path(found[1]).is_file()
    assert found[2] in PROJECT["project"]["optional-dependencies"]["postgres"]


def test_each_way_of_installing_has_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    [neo4j] = PROJECT["project"]["optional-dependencies"]["neo4j"]
    assert how_to_install("neo4j").endswith(f"-m pip install '{neo4j}'")
    (tmp_path / "pipx_metadata.json").touch()
    assert how_to_install("neo4j") == f"pipx inject interlock '{neo4j}'"
