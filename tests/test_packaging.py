"""What is shipped: the facts of pyproject.toml, and a wheel that holds everything the programs read."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

from interlock import __version__
from interlock.machine import SHIPPED

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SECONDS = 120.0


def test_the_project_is_called_interlock_and_its_programs_ralph() -> None:
    project = PROJECT["project"]
    assert project["name"] == "interlock"
    assert project["scripts"] == {"ralph": "interlock.faces.cli:main", "ralph-hook": "interlock.faces.hook:main"}
    assert project["requires-python"] == ">=3.11"


def test_the_extra_all_has_every_other_extra() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    others = extras.keys() - {"all"}
    assert {
        extra for one in extras["all"] for extra in re.findall(r"interlock\[([\w,]+)\]", one)[0].split(",")
    } == others


def test_every_dependency_is_used_and_everything_used_is_a_dependency() -> None:
    listed = {re.split(r"[\[<>=~! ;]", one)[0] for one in PROJECT["project"]["dependencies"]}
    extras = {
        re.split(r"[\[<>=~! ;]", one)[0]
        for some in PROJECT["project"]["optional-dependencies"].values()
        for one in some
    } - {"interlock"}
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "src").rglob("*.py")]
    imported = {name for tree in trees for node in ast.walk(tree) for name in _imported(node)} - {"interlock"}
    # Packages of a namespace are called by its first part.
    needed = {name.replace("-", "_").partition(".")[0] for name in listed | extras}
    assert imported - sys.stdlib_module_names == needed


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
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from a copy of what is shipped, with the builder that the tests' group brings."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, copy / name)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    output = copy / "dist"
    builder: list[str | Path] = [Path(sys.executable).parent / "uv", "build", "--quiet", "--wheel"]
    done = subprocess.run(
        [*builder, "--no-build-isolation", "--python", sys.executable, "--out-dir", output, copy],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [built] = output.glob("*.whl")
    return zipfile.ZipFile(built)


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


_RUN = """
import sys
sys.path.insert(0, {directory!r})
sys.argv = ["ralph", "machine", "show", "session", "--json"]
import interlock
from interlock.faces.cli import main
print(interlock.__file__, file=sys.stderr)
main()
"""


def test_the_wheel_runs_from_anywhere(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """Unpacked, away from the source tree, it still finds its machines."""
    wheel.extractall(tmp_path)
    program = _RUN.format(directory=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0
    assert done.stderr == f"{tmp_path / 'interlock' / '__init__.py'}\n"
    assert done.stdout.startswith('{"ok":true,')
