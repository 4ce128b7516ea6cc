"""The files of a tree, written elsewhere: exactly those, whatever they are called and whatever they hold."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import export_tree, tree_hash
from world.git.repositories import git, made, picture, write

ODD: dict[str, str | bytes] = {
    "sp ace": "1",
    "new\nline": "2",
    "-x": "3",
    ":(glob)*": "4",
    os.fsdecode(b"\xff"): b"\xff",
    "é/ü": "6",
}


def test_a_tree_is_written_exactly_as_a_checkout_would(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {**ODD, ".gitattributes": "*.txt text eol=crlf\n", "w.txt": "1\r\n", "run": "x"})
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("/nowhere")
    write(root, {"untracked": "too"})
    tree = tree_hash(root)
    before = picture(root), git("status", "--porcelain", cwd=root)
    target = tmp_path / "out"
    export_tree(root, tree, target)
    assert picture(target) == picture(root)
    assert stat.S_IMODE((target / "run").stat().st_mode) & 0o100
    assert (target / "w.txt").read_bytes() == b"1\r\n"
    assert (picture(root), git("status", "--porcelain", cwd=root)) == before
    export_tree(root, tree, target)
    assert picture(target) == picture(root), "it can be called again"
    assert [one.name for one in tmp_path.iterdir() if "partial" in one.name] == []


def test_an_empty_directory_is_filled_and_keeps_its_permissions(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    target = tmp_path / "out"
    target.mkdir(mode=0o700)
    export_tree(root, git("rev-parse", "HEAD^{tree}", cwd=root), target)
    assert picture(target) == picture(root)
    assert stat.S_IMODE(target.stat().st_mode) == 0o700


@pytest.mark.parametrize("there", [{"other": "1"}, {"a.txt": "changed\n"}, {"a.txt": "one\n"}])
def test_a_directory_with_other_files_is_refused_and_left(tmp_path: Path, there: dict[str, str]) -> None:
    root = made(tmp_path / "r")
    target = tmp_path / "out"
    write(target, there)
    before = picture(target)
    with pytest.raises(InterlockError) as caught:
        export_tree(root, git("rev-parse", "HEAD^{tree}", cwd=root), target)
    assert caught.value.code == "invalid_argument"
    assert picture(target) == before


def test_a_link_in_the_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    root = made(tmp_path / "r")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InterlockError) as caught:
        export_tree(root, git("rev-parse", "HEAD^{tree}", cwd=root), tmp_path / "out")
    assert caught.value.code == "invalid_argument"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def _evil_trees(root: Path, outside: Path) -> list[str]:
    """Trees that no git would make: names that lead elsewhere, and a link that is a directory too."""
    blob = git("hash-object", "-w", "--stdin", cwd=root, feed=b"evil")
    link = git("hash-object", "-w", "--stdin", cwd=root, feed=os.fsencode(outside))
    inner = git("mktree", cwd=root, feed=f"100644 blob {blob}\tx\n".encode())
    lines = [
        f"040000 tree {inner}\t..\n",
        f"040000 tree {inner}\t.git\n",
        f"040000 tree {inner}\t.GIT\n",
        f"120000 blob {link}\td\n040000 tree {inner}\td\n",
    ]
    made_of = ("hash-object", "-w", "-t", "tree", "--literally", "--stdin")
    return [git(*made_of, cwd=root, feed=_raw(line)) for line in lines]


def _raw(lines: str) -> bytes:
    entries = [line.split("\t") for line in lines.splitlines()]
    described = [(first.split(" "), name) for first, name in entries]
    return b"".join(
        f"{mode.lstrip('0')} {name}\0".encode() + bytes.fromhex(made) for (mode, _, made), name in described
    )


def test_a_tree_that_leads_elsewhere_writes_nothing_there(tmp_path: Path) -> None:
    root, outside = made(tmp_path / "r"), tmp_path / "outside"
    (tmp_path / "in").mkdir()
    outside.mkdir()
    for number, tree in enumerate(_evil_trees(root, outside)):
        target = tmp_path / "in" / str(number)
        with suppress(InterlockError):
            export_tree(root, tree, target)
        assert list(outside.iterdir()) == []
        assert sorted(one.name for one in tmp_path.iterdir()) == ["in", "outside", "r"]
        assert {one.name for one in (tmp_path / "in").iterdir()} <= {str(one) for one in range(number + 1)}
        assert not (target / ".git").exists()


@pytest.mark.parametrize("tree", ["HEAD", "main^{tree}", "--all", "", "0" * 40])
def test_a_tree_is_given_by_its_whole_hash(tmp_path: Path, tree: str) -> None:
    root = made(tmp_path / "r")
    with pytest.raises(InterlockError) as caught:
        export_tree(root, tree, tmp_path / "out")
    assert caught.value.code == "git_failed"
    assert not (tmp_path / "out").exists()


def test_submodules_are_empty_directories_and_sparse_rules_do_not_count(tmp_path: Path) -> None:
    library, root = made(tmp_path / "library"), made(tmp_path / "r", {"in/a": "1", "out/b": "1"})
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib", cwd=root)
    git("commit", "-qm", "lib", cwd=root)
    git("sparse-checkout", "set", "in", cwd=root)
    export_tree(root, git("rev-parse", "HEAD^{tree}", cwd=root), tmp_path / "out")
    assert (tmp_path / "out" / "out" / "b").read_text() == "1"
    assert list((tmp_path / "out" / "lib").iterdir()) == []
