"""What the tests need from npm: pinned, from any registry, and missed aloud."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from node.tools import FILES, NODE, packages

HERE = Path(__file__).parent
LOCKED = [HERE, HERE / "github", HERE.parent / "agents"]


@pytest.mark.parametrize("beside", LOCKED, ids=lambda path: path.name)
def test_a_lock_names_exact_versions_with_their_hashes_and_no_registry(beside: Path) -> None:
    wanted = json.loads((beside / "package.json").read_text())
    direct = wanted["dependencies"] | wanted.get("optionalDependencies", {}) | wanted.get("overrides", {})
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in direct.values())
    locked = json.loads((beside / "package-lock.json").read_text())["packages"]
    installed = [package for name, package in locked.items() if name]
    assert all(package["integrity"].startswith("sha512-") for package in installed if not package.get("inBundle"))
    assert not any("resolved" in package for package in installed)


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock, and a registry that does not answer."""
    if NODE is None:
        pytest.skip("not run: Node.js is missing")
    directory = tmp_path / "locked"
    directory.mkdir()
    for name in FILES:
        shutil.copy(LOCKED[0] / name, directory)
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:1")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    return directory


@pytest.mark.node
def test_a_registry_that_does_not_answer_means_not_run(beside: Path, tmp_path: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match=r"^not run: the npm registry does not answer \(ECONNREFUSED\)$"):
        packages(beside, tmp_path / "node")


@pytest.mark.node
def test_a_list_of_packages_that_cannot_be_read_is_a_failure(beside: Path, tmp_path: Path) -> None:
    (beside / "package.json").write_text("{")
    with pytest.raises(pytest.fail.Exception, match="npm ci for locked"):
        packages(beside, tmp_path / "node")
