"""The machines in force, found as the journal finds them, and what is remembered of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from interlock import __version__
from interlock.errors import InterlockError
from interlock.machine import INTERNAL, SHIPPED, load_file, load_shipped
from interlock.machine.check import EDITION, CheckReport, check
from interlock.world.definitions import schema_text, summaries
from interlock.world.machines import OVERRIDE, cache_directory, checked, find_machine, load_unchecked, machine_finder

EXAMPLES = Path(__file__).parent.parent / "machine"
SOUND, TRAP = EXAMPLES / "sound.toml", EXAMPLES / "broken" / "trap.toml"


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}


@pytest.mark.parametrize("name", [*SHIPPED, *INTERNAL])
def test_the_report_of_a_shipped_machine_comes_with_it(name: str, environment: Mapping[str, str]) -> None:
    assert checked(load_shipped(name), environment) == check(load_shipped(name))
    assert not cache_directory(environment).exists()


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_machine_is_found_by_name_and_is_not_checked_again(name: str, environment: Mapping[str, str]) -> None:
    assert find_machine(name, environment) is load_shipped(name)
    assert machine_finder(environment)(name) is load_shipped(name)
    assert not cache_directory(environment).exists()


def test_a_machine_of_ones_own_is_found_by_its_path(environment: Mapping[str, str]) -> None:
    assert find_machine(str(SOUND), environment).digest == load_file(SOUND).digest


def test_an_unsound_one_is_loaded_only_to_be_looked_at(environment: Mapping[str, str]) -> None:
    assert load_unchecked(str(TRAP), environment).name == "sound"
    with pytest.raises(InterlockError) as caught:
        find_machine(str(TRAP), environment)
    assert caught.value.code == "machine_unsound"


def test_a_file_called_like_a_shipped_machine_does_not_stand_in_its_way(
    tmp_path: Path, environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "thread").write_bytes(SOUND.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert find_machine("thread", environment) is load_shipped("thread")
    assert find_machine("./thread", environment).name == "sound"


def test_what_was_found_is_kept_by_the_digest_and_the_version(environment: Mapping[str, str]) -> None:
    machine = load_file(SOUND)
    report = checked(machine, environment)
    assert report == check(machine)
    [kept] = cache_directory(environment).iterdir()
    assert kept.name == f"check-{__version__}-{EDITION}-{machine.digest}.json"
    assert msgspec.json.decode(kept.read_bytes(), type=CheckReport) == report


def test_what_was_kept_is_not_made_again(environment: Mapping[str, str]) -> None:
    machine = load_file(SOUND)
    kept = cache_directory(environment) / f"check-{__version__}-{EDITION}-{machine.digest}.json"
    report = checked(machine, environment)
    kept.write_bytes(msgspec.json.encode({**msgspec.to_builtins(report), "moves": 7}))
    assert checked(machine, environment).moves == 7


def test_no_scratch_file_is_left(environment: Mapping[str, str]) -> None:
    for file in (SOUND, TRAP):
        checked(load_file(file), environment)
    assert all(path.suffix == ".json" for path in cache_directory(environment).iterdir())


@pytest.mark.parametrize(
    ("environment", "directory"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/interlock"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/interlock"),
        ({"HOME": "/h"}, "/h/.cache/interlock"),
    ],
    ids=str,
)
def test_the_cache_lies_where_people_expect_it(environment: Mapping[str, str], directory: str) -> None:
    assert cache_directory(environment) == Path(directory)


def test_a_cache_home_that_is_not_absolute_is_none(tmp_path: Path) -> None:
    """So says the standard, and nobody wants a cache in whatever directory they are."""
    environment = {"XDG_CACHE_HOME": "cache", "HOME": str(tmp_path)}
    assert cache_directory(environment) == tmp_path / ".cache" / "interlock"


@pytest.mark.parametrize("file", [None, "{", "[]", '{"states": {}}'], ids=ascii)
def test_a_broken_override_hides_nothing(file: str | None, tmp_path: Path, environment: Mapping[str, str]) -> None:
    path = tmp_path / "override.json"
    if file is not None:
        path.write_text(file, encoding="utf-8")
    overridden = {**environment, OVERRIDE: str(path)}
    with pytest.raises(InterlockError) as caught:
        find_machine("ticket", overridden)
    assert caught.value.code in ("machine_unreadable", "machine_invalid")
    for name in set(SHIPPED) - {"ticket"}:
        assert find_machine(name, overridden) is load_shipped(name)


def test_the_shipped_summaries_are_of_the_shipped_machines() -> None:
    assert [one["name"] for one in summaries()] == list(SHIPPED)
    assert schema_text().startswith("{")
