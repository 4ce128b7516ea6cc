"""A place names where something works without an absolute path."""

from __future__ import annotations

from pathlib import Path

import msgspec

from interlock.world.place import Place


def test_a_place_is_found_again_after_the_repository_was_moved() -> None:
    place = Place.at(Path("/home/ann/shop"), Path("/home/ann/shop/.ralf/worktrees/1"), "ann-laptop")
    told = msgspec.to_builtins(place)
    assert "/home" not in str(told)
    assert Place.of({"place": told}) == place
    assert place.directory(Path("/srv/shop")) == Path("/srv/shop/.ralf/worktrees/1")


def test_a_work_tree_beside_the_repository_is_relative_too() -> None:
    place = Place.at(Path("/home/ann/shop"), Path("/home/ann/shop-fix"), "h")
    assert place.path == "../shop-fix"
    assert place.directory(Path("/home/ann/shop")) == Path("/home/ann/shop-fix")


def test_entries_of_earlier_versions_name_an_absolute_path() -> None:
    place = Place.of({"work_tree": "/home/ann/shop"})
    assert place is not None
    assert place.directory(Path("/elsewhere")) == Path("/home/ann/shop")
    assert Place.of({"role": "implementer"}) is None
