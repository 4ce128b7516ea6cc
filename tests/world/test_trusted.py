"""What a user trusts is in files of their own: private, whole, one for each journal and path."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from interlock.world.trusted import is_trusted, trust

ID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def _files(environment: dict[str, str]) -> list[Path]:
    return sorted((Path(environment["XDG_STATE_HOME"]) / "interlock" / "trusted").iterdir())


def test_trust_is_for_one_journal_at_one_path(tmp_path: Path, environment: dict[str, str]) -> None:
    here, there = str(tmp_path / "a"), str(tmp_path / "b")
    assert not is_trusted(environment, here, ID)
    trust(environment, here, ID)
    assert is_trusted(environment, here, ID)
    assert not is_trusted(environment, there, ID)
    assert not is_trusted(environment, here, ID.replace("0", "1"))


def test_a_link_to_a_path_is_that_path(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    trust(environment, str(tmp_path / "link" / ".ralf"), ID)
    assert is_trusted(environment, str(tmp_path / "a" / ".ralf"), ID)


def test_the_files_are_the_users_alone(tmp_path: Path, environment: dict[str, str]) -> None:
    before = os.umask(0)
    try:
        trust(environment, str(tmp_path), ID)
    finally:
        os.umask(before)
    [file] = _files(environment)
    assert [path.stat().st_mode & 0o777 for path in (file, file.parent, file.parent.parent)] == [0o600, 0o700, 0o700]


def test_many_at_once_lose_nothing(tmp_path: Path, environment: dict[str, str]) -> None:
    places = [str(tmp_path / f"{number}") for number in range(50)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda place: trust(environment, place, ID), places * 2))
    assert all(is_trusted(environment, place, ID) for place in places)
    assert len(_files(environment)) == len(places)


@pytest.mark.parametrize("content", [b"", b"x", f"{ID}\n/elsewhere\n".encode()])
def test_a_damaged_file_is_no_trust(tmp_path: Path, environment: dict[str, str], content: bytes) -> None:
    trust(environment, str(tmp_path), ID)
    [file] = _files(environment)
    file.write_bytes(content)
    assert not is_trusted(environment, str(tmp_path), ID)
    trust(environment, str(tmp_path), ID)
    assert is_trusted(environment, str(tmp_path), ID)


def test_a_link_is_no_trust(tmp_path: Path, environment: dict[str, str]) -> None:
    trust(environment, str(tmp_path), ID)
    [file] = _files(environment)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert not is_trusted(environment, str(tmp_path), ID)


@pytest.mark.parametrize("id_", ["", "../../x", "a" * 65, "é"])
def test_what_is_no_id_is_refused(tmp_path: Path, environment: dict[str, str], id_: str) -> None:
    with pytest.raises(ValueError, match="not the id"):
        trust(environment, str(tmp_path), id_)
