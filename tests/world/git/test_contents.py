"""The content of files in commits and trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import contents, tree_hash
from world.git.repositories import made, write

ODD = 'd/ä "odd"\n\tname'


def test_files_are_read_as_they_are_in_a_commit_and_in_a_tree(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"a": "one\n", ODD: b"\x00\xff\nblob 3\n", "empty": "", "d/sub/x": "x"})
    (root / "link").symlink_to("../away")
    write(root, {"a": "two"})
    wanted = ["a", ODD, "empty", "d/sub", "missing", "link"]
    assert contents(root, "HEAD", wanted) == {"a": b"one\n", ODD: b"\x00\xff\nblob 3\n", "empty": b""}
    assert contents(root, tree_hash(root), wanted) == {
        "a": b"two",
        ODD: b"\x00\xff\nblob 3\n",
        "empty": b"",
        "link": b"../away",
    }


def test_what_is_too_large_is_left_out(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"a": "12345", "b": "123456"})
    assert contents(root, "HEAD", ["a", "b"], most=5) == {"a": b"12345"}


def test_nothing_asked_is_nothing_read(tmp_path: Path) -> None:
    assert contents(tmp_path, "HEAD", []) == {}


@pytest.mark.parametrize("revision", ["missing", "--output=x"])
def test_what_is_no_commit_is_an_error(tmp_path: Path, revision: str) -> None:
    root = made(tmp_path / "r")
    with pytest.raises(InterlockError) as caught:
        contents(root, revision, ["a.txt"])
    assert caught.value.code == "git_failed"
    assert not (root / "x").exists()
