"""The tree of an agent's files: what goes in comes out, and what changed is seen."""

from __future__ import annotations

import mmap
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhaustive import EXHAUSTIVE, examples
from interlock.errors import InterlockError
from interlock.world.git import TakenTree, TreeTaking, export_tree, make_own_tree, state, tree_hash
from interlock.world.repository import own_tree
from world.git.own import OwnTree, again, bounded, listed, lives, made_own, on_disk, settle, taken, tree_of
from world.git.repositories import git, made, picture, write

ODD: dict[str, str | bytes] = {
    "new\nline": "1",
    "tab\there": "2",
    'quote"': "3",
    "back\\slash": "4",
    "-dash": "5",
    "--all": "6",
    ":(glob)*": "7",
    os.fsdecode(b"\xff\xfe"): b"\xff",
    "caf\u00e9": "composed",
    "cafe\u0301": "decomposed",
    "#hash": "8",
    "!not": "9",
    " leading and trailing ": "10",
    "*.txt": "11",
    f"{'long' * 63}/{'deep/' * 200}{'n' * 255}": "12",
    "git~2": "13",
    ".gitx": "14",
    "...": "15",
    "empty": "",
}


def _as_git_has_it(own: OwnTree) -> str:
    """The tree that git makes of the files, with our git directory and nothing of the agent's."""
    ours = own.files.parent / "git-of-a-test"
    shutil.copytree(own.files.parent / "git", ours, symlinks=True)
    where = ("--git-dir", ours, "--work-tree", own.files)
    try:
        git(*where, "add", "-A", "--sparse", cwd=own.files)
        return git(*where, "write-tree", cwd=own.files)
    finally:
        shutil.rmtree(ours)


def _clear(own: OwnTree) -> None:
    for path in own.files.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _comes_out_again(own: OwnTree, tree: str) -> None:
    """The files of a taken tree, put into the tree of another agent, are taken as the same."""
    out = own.root.with_name(f"{own.root.name}-out")
    export_tree(own.root, tree, out)
    other = OwnTree(own.root, own_tree(own.files.parents[2], "02"), own.objects.with_name("02"), own.base)
    make_own_tree(own.root, other.files, "ralf/02", own.base, other.objects)
    _clear(other)
    shutil.copytree(out, other.files, symlinks=True, dirs_exist_ok=True)
    assert taken(other) == tree


# Repositories of every kind


def _commit(root: Path, files: dict[str, str | bytes]) -> None:
    write(root, files)
    git("add", "-A", cwd=root)
    git("commit", "-qm", "more", cwd=root)


def _plain(root: Path) -> Path:
    return made(root)


def _submodule(root: Path) -> Path:
    library = made(root.with_name("library"))
    made(root)
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "libs/lib", cwd=root)
    git("commit", "-qm", "lib", cwd=root)
    return root


def _pointers(root: Path) -> Path:
    made(root, {".gitattributes": "*.big filter=lfs diff=lfs merge=lfs -text\n", "x.big": _POINTER, "y": "1"})
    for name in ("clean", "smudge", "process"):
        git("config", f"filter.lfs.{name}", f"git-lfs {name} -- %f", cwd=root)
    git("config", "filter.lfs.required", "true", cwd=root)
    return root


_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


def _links(root: Path) -> Path:
    made(root, {"d/x": "1"})
    for name, target in {"file": "d/x", "dir": "d", "dangling": "no", "absolute": "/etc", "out": "../../.."}.items():
        (root / name).symlink_to(target)
    (root / "d" / "up").symlink_to("..")
    _commit(root, {})
    return root


def _modes(root: Path) -> Path:
    write(root, {"run": "#!/bin/sh\n", "d/run": "1", "not": "1"})
    (root / "run").chmod(0o755)
    (root / "d" / "run").chmod(0o700)
    return made(root)


def _conversions(root: Path) -> Path:
    attributes = "*.crlf text eol=crlf\n*.lf text eol=lf\n*.auto text=auto\n*.id ident\n*.bin -text\n"
    encodings = "*.u16 text working-tree-encoding=UTF-16\n*.l1 text working-tree-encoding=ISO-8859-1 eol=crlf\n"
    files: dict[str, str | bytes] = {
        "a.crlf": b"1\r\n2\r\n",
        "a.lf": b"1\n",
        "a.auto": b"1\r\n",
        "a.id": "$Id$\n",
        "a.bin": b"1\r\n\0",
        "a.u16": "\u00e9\r\n".encode("utf-16"),
        "a.l1": "\u00e9\r\n".encode("latin-1"),
        "plain": b"1\r\n2\n",
    }
    return made(
        root,
        {".gitattributes": attributes + encodings, "d/.gitattributes": "*.crlf -text\n", "d/a.crlf": b"1\r\n", **files},
    )


def _not_normal(root: Path) -> Path:
    """Files that are not stored as the attributes say, as in many repositories."""
    files: dict[str, str | bytes] = {"a.txt": b"1\r\n", "b.txt": "$Id: old $\n", "c.txt": b"1\r\n2\n"}
    made(root, files)
    write(root, {".gitattributes": "a.txt text\nb.txt ident\nc.txt text eol=crlf\n"})
    git("update-index", "--add", ".gitattributes", cwd=root)
    git("commit", "-qm", "attributes", cwd=root)
    assert git("ls-files", "--eol", "a.txt", cwd=root).startswith("i/crlf")
    return root


def _cone(root: Path) -> Path:
    made(root, {"in/a": "1", "out/b": "1", "out/deep/c": "1", "top": "1"})
    git("sparse-checkout", "set", "--cone", "in", cwd=root)
    assert not (root / "out").exists()
    return root


def _no_cone(root: Path) -> Path:
    made(root, {"in/a": "1", "out/b": "1", "in/x.big": "1"})
    git("sparse-checkout", "set", "--no-cone", "/in/*", "!*.big", cwd=root)
    return root


def _sparse_by_hand(root: Path) -> Path:
    """Without `extensions.worktreeConfig`."""
    made(root, {"in/a": "1", "out/b": "1"})
    git("config", "core.sparseCheckout", "true", cwd=root)
    write(root, {".git/info/sparse-checkout": "/in/\n"})
    git("read-tree", "-mu", "HEAD", cwd=root)
    return root


def _sparse_index(root: Path) -> Path:
    _cone(root)
    git("sparse-checkout", "reapply", "--sparse-index", cwd=root)
    return root


def _sparse_submodule(root: Path) -> Path:
    _submodule(root)
    write(root, {"in/a": "1"})
    _commit(root, {})
    git("submodule", "deinit", "-f", "libs/lib", cwd=root)
    git("sparse-checkout", "set", "in", cwd=root)
    return root


def _odd_names(root: Path) -> Path:
    return made(root, ODD)


def _shallow(root: Path) -> Path:
    origin = made(root.with_name("origin"))
    _commit(origin, {"b": "1"})
    git("clone", "-q", "--depth=1", f"file://{origin}", root, cwd=root.parent)
    return root


def _alternates(root: Path) -> Path:
    origin = made(root.with_name("origin"))
    git("clone", "-q", "--shared", origin, root, cwd=root.parent)
    return root


def _relative_alternates(root: Path) -> Path:
    _alternates(root)
    write(root, {".git/objects/info/alternates": "../../../origin/.git/objects\n"})
    return root


def _linked(root: Path) -> Path:
    main = made(root)
    side = root.with_name("side")
    git("worktree", "add", "-q", "-b", "side", side, cwd=main)
    _commit(side, {"side": "1"})
    git("sparse-checkout", "set", "d", cwd=side)
    return side


def _sha256(root: Path) -> Path:
    root.mkdir()
    git("init", "-q", "-b", "main", "--object-format=sha256", cwd=root)
    return made(root)


def _packed(root: Path) -> Path:
    made(root)
    git("tag", "v1", cwd=root)
    git("gc", "-q", cwd=root)
    assert not (root / ".git" / "refs" / "heads" / "main").exists()
    return root


def _a_submodule_itself(root: Path) -> Path:
    return _submodule(root) / "libs" / "lib"


def _with_settings(root: Path) -> Path:
    made(root)
    for name in ("index.version=4", "feature.manyFiles=true", "core.splitIndex=true", "core.autocrlf=input"):
        git("config", *name.split("="), cwd=root)
    git("update-index", "--split-index", cwd=root)
    return root


def _tracked_though_ignored(root: Path) -> Path:
    made(root, {"x.log": "1", "build/out": "1"})
    _commit(root, {".gitignore": "*.log\nbuild/\n"})
    return root


KINDS: dict[str, Callable[[Path], Path]] = {
    "plain": _plain,
    "submodule": _submodule,
    "pointers of LFS": _pointers,
    "links": _links,
    "executable files": _modes,
    "conversions": _conversions,
    "not normal": _not_normal,
    "sparse": _cone,
    "sparse without a cone": _no_cone,
    "sparse by hand": _sparse_by_hand,
    "sparse index": _sparse_index,
    "sparse with a submodule": _sparse_submodule,
    "odd names": _odd_names,
    "shallow": _shallow,
    "alternates": _alternates,
    "relative alternates": _relative_alternates,
    "linked work tree": _linked,
    "sha256": _sha256,
    "packed refs": _packed,
    "submodule as the repository": _a_submodule_itself,
    "other settings": _with_settings,
    "tracked though ignored": _tracked_though_ignored,
}


@pytest.mark.parametrize("name", KINDS)
def test_work_comes_out_as_it_went_in(tmp_path: Path, name: str) -> None:
    main = tmp_path / "r"
    root = KINDS[name](main)
    before = picture(root), git("diff", "--name-status", "--cached", cwd=root)
    own = again(root, tmp_path / "objects" / "01jb")
    taking = TreeTaking()
    assert taking.take(own.files) == TakenTree(tree_of(own))
    assert state(own.files).unstaged == ()
    if name != "pointers of LFS":  # its git would run the filter
        lives(own)
    assert taking.take(own.files) == TreeTaking().take(own.files) == TakenTree(tree_of(own))
    write(own.files, {"in/new": "1", "d/new": "1"})
    later = taking.take(own.files)
    assert later == TreeTaking().take(own.files)
    assert listed(own, later.tree).keys() - listed(own, tree_of(own)).keys() == {"in/new", "d/new"}
    assert listed(own, tree_of(own)).items() <= listed(own, later.tree).items()
    if name != "pointers of LFS":  # which no export writes
        _comes_out_again(own, later.tree)
    now = {path: one for path, one in picture(root).items() if not path.startswith(".ralf/")}
    assert (now, git("diff", "--name-status", "--cached", cwd=root)) == before
    git("fsck", cwd=root)


def _own(tmp_path: Path, kind: Callable[[Path], Path] = _plain) -> OwnTree:
    root = kind(tmp_path / "r")
    return made_own(tmp_path / "r", at=root)


MANY = 100_000 if EXHAUSTIVE else 2_000


@pytest.mark.exhaustive
def test_as_many_files_as_there_may_be_come_out_as_they_went_in() -> None:
    with on_disk() as place:
        root = place / "r"
        made(root, {"README": "1"})
        names = [f"d{number % 300}/e{number % 7}/f{number}" for number in range(MANY)]
        lines = [f"M 100644 inline {name}\ndata {len(name)}\n{name}\n" for name in names]
        begin = "commit refs/heads/main\ncommitter Ada <ada@example.org> 1700000000 +0000\ndata 4\nmany\n"
        feed = f"{begin}from refs/heads/main^0\n{''.join(lines)}"
        git("fast-import", "--quiet", cwd=root, feed=feed.encode())
        git("reset", "-q", "--hard", cwd=root)
        own = again(root, place / "objects" / "01jb")
        taking = TreeTaking()
        assert taking.take(own.files) == TakenTree(tree_of(own))
        for number, name in enumerate(names[::10]):
            path = own.files / name
            path.write_text("changed") if number % 2 else path.unlink()
        write(own.files, {f"new/{number}": "1" for number in range(MANY // 10)})
        found = taking.take(own.files)
        assert found == TreeTaking().take(own.files)
        assert found.left_out == ()
        assert len(listed(own, found.tree)) == MANY + 1 - MANY // 20 + MANY // 10
        _comes_out_again(own, found.tree)


# What an agent makes of its files


def test_names_of_every_kind_are_taken(tmp_path: Path) -> None:
    own = _own(tmp_path)
    write(own.files, ODD)
    found = TreeTaking().take(own.files)
    assert found == TakenTree(_as_git_has_it(own))
    assert listed(own, found.tree).keys() == {"a.txt", "d/b.txt", *ODD}
    _comes_out_again(own, found.tree)


def test_names_that_git_refuses_are_left_out_and_named(tmp_path: Path) -> None:
    own = _own(tmp_path)
    refused = ["s/.GIT", "s/git~1", "s/.git ", "s/.git.", "s/.Git/x", "s/.git::$INDEX_ALLOCATION/x", "s/.g\u200cit"]
    write(own.files, {**dict.fromkeys(refused, "1"), "s/good": "1", "good": "1"})
    taking = TreeTaking()
    for number in range(3):
        write(own.files, {"good": str(number)})
        settle(own)
        found = taking.take(own.files)
        assert found == TreeTaking().take(own.files)
        assert set(found.left_out) == {*refused} - (
            {"s/.g\u200cit"} if "s/.g\u200cit" in listed(own, found.tree) else set()
        )
        assert {"s/good", "good"} <= listed(own, found.tree).keys()
        assert not [path for path in listed(own, found.tree) if path.lower().startswith("s/.git")]


def test_a_name_for_git_alone_is_named_where_it_is_no_repository(tmp_path: Path) -> None:
    own = _own(tmp_path)
    write(own.files, {"s/.git/work": "1", "s/x": "1"})
    assert any(path.startswith("s/.git") for path in TreeTaking().take(own.files).left_out)


def test_paths_longer_than_the_system_takes_break_nothing(tmp_path: Path) -> None:
    own = _own(tmp_path)
    place = os.open(own.files, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("x" * 200, dir_fd=place)
        place, above = os.open("x" * 200, os.O_RDONLY, dir_fd=place), place
        os.close(above)
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=place))
    os.close(place)
    write(own.files, {"n": "1"})
    found = TreeTaking().take(own.files)
    assert {"a.txt", "d/b.txt", "n"} == listed(own, found.tree).keys()
    assert found.left_out, "what cannot be taken is named"


@pytest.mark.parametrize("target", ["d", "/etc", "nowhere", "../../../..", "a.txt"])
def test_a_directory_becomes_a_link_and_a_link_a_directory(tmp_path: Path, target: str) -> None:
    own = made_own(tmp_path / "r", {"d/x": "1", "e/x": "1", "a.txt": "1"})
    taking = TreeTaking()
    taking.take(own.files)
    shutil.rmtree(own.files / "e")
    (own.files / "e").symlink_to(target)
    found = taking.take(own.files)
    assert found == TreeTaking().take(own.files) == TakenTree(_as_git_has_it(own))
    assert listed(own, found.tree)["e"].startswith("120000 ")
    assert git("cat-file", "blob", f"{found.tree}:e", cwd=own.root) == target
    (own.files / "e").unlink()
    write(own.files, {"e/x": "1"})
    assert taking.take(own.files).tree == tree_of(own)


def test_a_file_becomes_a_directory_and_a_file_again(tmp_path: Path) -> None:
    own = _own(tmp_path)
    taking = TreeTaking()
    for files in ({"a.txt/x/y": "1", "d": "1"}, {"a.txt": "one\n", "d/b.txt": "two\n"}):
        _clear(own)
        write(own.files, files)
        assert taking.take(own.files) == TreeTaking().take(own.files) == TakenTree(_as_git_has_it(own))
    assert taken(own) == tree_of(own)


def test_a_file_becomes_a_repository(tmp_path: Path) -> None:
    own = _own(tmp_path)
    taking = TreeTaking()
    (own.files / "a.txt").unlink()
    made(own.files / "a.txt", {"x": "1"})
    found = taking.take(own.files)
    assert listed(own, found.tree).keys() == {"a.txt/x", "d/b.txt"}
    assert taking.take(own.files) == TreeTaking().take(own.files) == found


def test_permissions_and_empty_directories(tmp_path: Path) -> None:
    own = _own(tmp_path)
    taking = TreeTaking()
    before = taking.take(own.files)
    (own.files / "empty" / "inner").mkdir(parents=True)
    (own.files / "a.txt").chmod(0o600)
    assert taking.take(own.files) == before
    (own.files / "a.txt").chmod(0o755)
    changed = taking.take(own.files)
    assert listed(own, changed.tree)["a.txt"].startswith("100755 ")
    assert changed == TreeTaking().take(own.files)
    (own.files / "a.txt").chmod(0o644)
    assert taking.take(own.files) == before


@pytest.mark.parametrize("disk", [False, True])
def test_what_is_no_file_is_left_out_and_named_again_and_again(tmp_path: Path, disk: bool) -> None:
    with on_disk() as place:
        own = _own(place if disk else tmp_path)
        taking = TreeTaking()
        write(own.files, {"a.txt": "changed\n"})
        taking.take(own.files)
        (own.files / "a.txt").unlink()
        os.mkfifo(own.files / "a.txt")
        for number in range(3):
            write(own.files, {"n": str(number)})
            settle(own)
            found = taking.take(own.files)
            assert found == TreeTaking().take(own.files)
            assert found.left_out == ("a.txt",)
            assert "a.txt" not in listed(own, found.tree), "it is not the file that was there"
        (own.files / "a.txt").unlink()
        write(own.files, {"a.txt": "one\n"})
        assert taking.take(own.files).left_out == ()


def test_sockets_and_fifos_that_are_new_are_named(tmp_path: Path) -> None:
    own = _own(tmp_path)
    os.mkfifo(own.files / "d" / "fifo")
    here = Path.cwd()
    os.chdir(own.files)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    os.chdir(here)
    found = TreeTaking().take(own.files)
    assert found.tree == tree_of(own)
    assert found.left_out == ("d/fifo", "socket")


def test_holes_that_would_be_written_out_are_refused_before_they_are_read(tmp_path: Path) -> None:
    """They take no room in the tree, and the driver would read them for hours."""
    own = _own(tmp_path)
    for number in range(1000):
        (own.files / f"{number}").touch()
        os.truncate(own.files / f"{number}", 1 << 30)
    with pytest.raises(InterlockError) as caught:
        TreeTaking().take(own.files)
    assert (caught.value.code, "1000 GiB" in caught.value.message) == ("git_unsafe", True)


@pytest.mark.parametrize("name", [".gitattributes", ".gitignore", "d/.gitattributes", "d/.gitignore", ".gitmodules"])
def test_a_fifo_that_git_would_read_is_refused_at_once(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = _own(tmp_path)
    os.mkfifo(own.files / name)
    write(own.files, {"d/n": "1"})

    bounded(monkeypatch)
    try:
        assert name in TreeTaking().take(own.files).left_out
    except InterlockError as error:
        assert error.code in ("git_unsafe", "git_failed")  # noqa: PT017
        assert "did not finish" not in error.message  # noqa: PT017
        assert name in error.message  # noqa: PT017


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    own = _own(tmp_path)
    write(own.files, {"closed": "1", "dir/x": "1", "open": "1"})
    (own.files / "closed").chmod(0)
    (own.files / "dir").chmod(0)
    try:
        found = TreeTaking().take(own.files)
        assert "closed" in found.left_out
        assert "open" in listed(own, found.tree)
    finally:
        (own.files / "dir").chmod(0o700)


# Submodules and other repositories


def test_a_submodule_stays_and_what_is_written_into_it_is_named(tmp_path: Path) -> None:
    own = _own(tmp_path, _submodule)
    write(own.files, {"libs/lib/x": "1", "libs/lib/d/y": "1"})
    taking = TreeTaking()
    for _ in range(2):
        found = taking.take(own.files)
        assert found.tree == tree_of(own)
        assert found.left_out == ("libs/lib/d/y", "libs/lib/x")
    shutil.rmtree(own.files / "libs" / "lib")
    made(own.files / "libs" / "lib", {"x": "1"})
    assert taking.take(own.files) == TakenTree(tree_of(own), ("libs/lib/x",))


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_in_the_place_of_a_submodule_is_named(tmp_path: Path, kind: str) -> None:
    own = _own(tmp_path, _submodule)
    place = own.files / "libs" / "lib"
    place.rmdir()
    place.write_text("1") if kind == "file" else place.symlink_to("/etc")
    found = TreeTaking().take(own.files)
    assert found.left_out == ("libs/lib",)


def test_a_submodule_that_is_removed_goes(tmp_path: Path) -> None:
    own = _own(tmp_path, _submodule)
    shutil.rmtree(own.files / "libs")
    found = TreeTaking().take(own.files)
    assert found == TakenTree(_as_git_has_it(own))
    assert "libs/lib" not in listed(own, found.tree)


def _nested(own: OwnTree) -> None:
    made(own.files / "one", {"x": "1", ".gitignore": "*.o\nbuild/\n", "d/y": "1"})
    write(own.files / "one", {"not committed": "1", "z.o": "1", "build/out": "1"})
    git("init", "-q", own.files / "two", cwd=own.files)
    write(own.files / "two", {"x": "1"})
    made(own.files / "one" / "inner", {"x": "1", ".gitignore": "secret\n"})
    write(own.files / "one" / "inner", {"secret": "1"})
    git("init", "-q", "--bare", own.files / "bare", cwd=own.files)
    git("init", "-q", own.files / "none", cwd=own.files)
    (own.files / "one" / "link").symlink_to("d")
    (own.files / "two" / "-\n").write_text("1")


def test_repositories_among_the_files_are_taken_as_files(tmp_path: Path) -> None:
    own = made_own(tmp_path / "r", {"a.txt": "1"})
    taking = TreeTaking()
    taking.take(own.files)
    _nested(own)
    found = taking.take(own.files)
    assert found == TreeTaking().take(own.files)
    assert tree_hash(own.files) == found.tree
    one = {"one/.gitignore", "one/x", "one/d/y", "one/not committed", "one/link"}
    inner = {"one/inner/x", "one/inner/.gitignore"}
    names = {path for path in listed(own, found.tree) if not path.startswith("bare/")}
    assert names == {"a.txt", "two/x", "two/-\n"} | one | inner
    assert "bare/HEAD" in listed(own, found.tree)
    assert listed(own, found.tree)["one/link"].startswith("120000 ")
    assert not [line for line in listed(own, found.tree).values() if line.startswith("160000")]
    _comes_out_again(own, found.tree)
    write(own.files, {"one/x": "2", "one/inner/new": "1"})
    shutil.rmtree(own.files / "two")
    assert taking.take(own.files) == TreeTaking().take(own.files) != found


def test_a_repository_made_of_a_tracked_directory_is_taken_as_files(tmp_path: Path) -> None:
    own = _own(tmp_path)
    git("init", "-q", own.files / "d", cwd=own.files)
    write(own.files, {"d/b.txt": "changed\n", "d/new": "1"})
    found = TreeTaking().take(own.files)
    assert listed(own, found.tree).keys() == {"a.txt", "d/b.txt", "d/new"}
    assert found == TakenTree(_as_git_has_it(own))


# Filters


def test_pointers_stay_and_may_go_and_what_only_a_filter_could_store_is_refused(tmp_path: Path) -> None:
    own = _own(tmp_path, _pointers)
    assert (own.files / "x.big").read_text() == _POINTER
    taking = TreeTaking()
    write(own.files, {"y": "2"})
    assert listed(own, taking.take(own.files).tree)["x.big"] == listed(own, tree_of(own))["x.big"]
    for files in ({"x.big": "changed"}, {"x.big": _POINTER, "new.big": "1"}):
        write(own.files, files)
        for one in (taking, TreeTaking()):
            with pytest.raises(InterlockError) as caught:
                one.take(own.files)
            assert caught.value.code == "git_unsafe"
    (own.files / "new.big").unlink()
    assert taking.take(own.files) == TreeTaking().take(own.files)


@pytest.mark.parametrize("change", ["removed", "executable"])
def test_a_pointer_whose_content_stays_needs_no_filter(tmp_path: Path, change: str) -> None:
    own = _own(tmp_path, _pointers)
    if change == "removed":
        (own.files / "x.big").unlink()
    else:
        (own.files / "x.big").chmod(0o755)
    found = TreeTaking().take(own.files)
    assert listed(own, found.tree).get("x.big", "100755").startswith("100755")


# The attributes and the rules that the agent changes


def _both(own: OwnTree, taking: TreeTaking) -> TakenTree:
    """The same tree, whether the files were known or not, and git's."""
    settle(own)
    found = taking.take(own.files)
    assert found == TreeTaking().take(own.files)
    assert found.tree == _as_git_has_it(own)
    return found


@pytest.fixture(params=["memory", "disk"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "memory":
        yield tmp_path
        return
    with on_disk() as directory:
        yield directory


def test_attributes_that_change_change_what_is_taken_of_every_file(place: Path) -> None:
    own = made_own(place / "r", {"a.txt": b"1\r\n", "d/b.txt": b"1\r\n", "d/e/c.txt": "$Id: x $\n"})
    taking = TreeTaking()
    _both(own, taking)
    write(own.files, {".gitattributes": "*.txt text ident\n"})
    found = _both(own, taking)
    assert git("cat-file", "blob", f"{found.tree}:d/b.txt", cwd=own.root) == "1"
    write(own.files, {"d/.gitattributes": "*.txt -text -ident\n"})
    _both(own, taking)
    (own.files / "d" / ".gitattributes").unlink()
    _both(own, taking)
    (own.files / ".gitattributes").rename(own.files / "d" / ".gitattributes")
    _both(own, taking)


def test_attributes_that_are_ignored_count_too(place: Path) -> None:
    own = made_own(place / "r", {".gitignore": ".gitattributes\n", "d/a.txt": b"1\r\n"})
    taking = TreeTaking()
    _both(own, taking)
    write(own.files, {"d/.gitattributes": "*.txt text\n"})
    _both(own, taking)


def test_attributes_that_are_a_link_do_not_count(place: Path) -> None:
    own = made_own(place / "r", {".gitattributes": "*.txt text\n", "!a.txt": "1\n", "b.txt": "1\n"})
    taking = TreeTaking()
    write(own.files, {"!a.txt": b"1\r\n", "b.txt": b"1\r\n"})
    for target in ("* -text", "* -text -ident", "other"):
        (own.files / ".gitattributes").unlink()
        (own.files / ".gitattributes").symlink_to(target)
        settle(own)
        assert taking.take(own.files) == TreeTaking().take(own.files)


def test_attributes_and_settings_of_the_person_that_change_count(place: Path) -> None:
    own = made_own(place / "r", {"a.txt": b"1\r\n"})
    taking = TreeTaking()
    _both(own, taking)
    git("config", "core.autocrlf", "input", cwd=own.root)
    write(own.files, {"b.txt": b"1\r\n"})
    _both(own, taking)
    write(own.root, {".git/info/attributes": "a.txt text\n"})
    settle(own)
    assert taking.take(own.files) == TreeTaking().take(own.files)


def test_a_file_that_its_encoding_does_not_allow_is_named(place: Path) -> None:
    own = made_own(place / "r", {"a.txt": "1\n", "b": "1"})
    taking = TreeTaking()
    write(own.files, {"a.txt": "2\n"})
    taking.take(own.files)
    write(own.files, {".gitattributes": "*.txt working-tree-encoding=UTF-16\n"})
    for number in range(2):
        write(own.files, {"b": f"{number}\n"})
        settle(own)
        found = taking.take(own.files)
        assert found == TreeTaking().take(own.files)
        assert found.left_out == ("a.txt",)


def test_a_new_file_that_is_ignored_later_is_taken_no_more(place: Path) -> None:
    own = made_own(place / "r", {"tracked.log": "1"})
    taking = TreeTaking()
    write(own.files, {"x.log": "1", "build/a": "1", "build/b": "1", "kept": "1"})
    _both(own, taking)
    write(own.files, {".gitignore": "*.log\n", "tracked.log": "2"})
    assert "x.log" not in listed(own, _both(own, taking).tree)
    write(own.files, {"build/.gitignore": "*\n"})  # as many tools do it
    found = _both(own, taking)
    assert listed(own, found.tree).keys() == {".gitignore", "kept", "tracked.log"}
    (own.files / "build" / ".gitignore").unlink()
    (own.files / ".gitignore").unlink()
    assert "build/a" in listed(own, _both(own, taking).tree)


def test_files_outside_of_sparse_rules_count_while_they_are_there(place: Path) -> None:
    own = _own(place, _cone)
    taking = TreeTaking()
    assert _both(own, taking).tree == tree_of(own)
    write(own.files, {"out/b": "2", "out/new": "1"})
    found = _both(own, taking)
    assert git("cat-file", "blob", f"{found.tree}:out/b", cwd=own.root) == "2"
    shutil.rmtree(own.files / "out")
    settle(own)
    assert taking.take(own.files) == TreeTaking().take(own.files) == TakenTree(tree_of(own))


# Files that change in secret


def _rewrite(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _through_a_mapping(path: Path, content: bytes) -> None:
    with path.open("r+b") as file, mmap.mmap(file.fileno(), len(content)) as mapping:
        mapping[:] = content


def _by_another_name(path: Path, content: bytes) -> None:
    other = path.with_name("other name")
    other.hardlink_to(path)
    other.write_bytes(content)
    other.unlink()


def _exchanged(path: Path, content: bytes) -> None:
    other = path.with_name("other")
    other.write_bytes(content)
    other.replace(path)


def _below_an_exchanged_directory(path: Path, content: bytes) -> None:
    other = path.parent.with_name("other")
    other.mkdir()
    (other / path.name).write_bytes(content)
    seen = path.stat()
    os.utime(other / path.name, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    path.parent.rename(path.parent.with_name("gone"))
    other.rename(path.parent)
    shutil.rmtree(path.parent.with_name("gone"))


@pytest.mark.parametrize(
    "how", [_rewrite, _through_a_mapping, _by_another_name, _exchanged, _below_an_exchanged_directory]
)
def test_a_change_of_the_same_size_and_time_is_seen(place: Path, how: Callable[[Path, bytes], None]) -> None:
    own = made_own(place / "r", {"d/a": "0000", "b": "1"})
    path = own.files / "d" / "a"
    taking = TreeTaking()
    for number in range(1, 6):
        if number % 2:
            settle(own)
        taking.take(own.files)
        seen = path.stat()
        how(path, b"%04d" % number)
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        found = taking.take(own.files)
        assert git("cat-file", "blob", f"{found.tree}:d/a", cwd=own.root) == f"{number:04}"
        assert found == TreeTaking().take(own.files)


def test_a_time_in_the_future_hides_nothing(place: Path) -> None:
    own = made_own(place / "r", {"a": "0"})
    taking = TreeTaking()
    for number in range(4):
        write(own.files, {"a": str(number)})
        os.utime(own.files / "a", (1e11, 1e11))
        assert git("cat-file", "blob", f"{taking.take(own.files).tree}:a", cwd=own.root) == str(number)


def test_one_that_takes_knows_one_tree_and_is_told_when_it_is_made_again(tmp_path: Path) -> None:
    own, other = made_own(tmp_path / "1" / "r", {"a": "1"}), made_own(tmp_path / "2" / "r", {"b": "2"})
    taking = TreeTaking()
    for one in (own, other, own):
        assert taking.take(one.files).tree == tree_of(one)


# Every combination, against a fresh look and against git

PATHS = ("a", "b", "a/x", "d/a", "d/e/b", "d/e", "new", "in/x.log", "d/n.log")
CONTENTS = (b"", b"1", b"2", b"1\n", b"1\r\n", b"$Id$\r\n", b"$Id: x $\n", b"\0\r\n", b"3" * 5000)
RULES = ("", "*.log\n", "/d/\n", "new\n!in\n", "*\n", ".gitattributes\n")
ATTRIBUTES = ("", "* text\n", "* text=auto\n", "* ident\n", "d/** eol=crlf\n", "* -text\n")
_path = st.sampled_from(PATHS)
_places = st.sampled_from(("", "d/", "in/"))
CHANGES = st.one_of(
    st.tuples(st.just("write"), _path, st.sampled_from(CONTENTS)),
    st.tuples(st.just("write"), _path, st.sampled_from(CONTENTS)),
    st.tuples(st.just("secretly"), _path, st.just(None)),
    st.tuples(st.just("remove"), _path, st.just(None)),
    st.tuples(st.just("mode"), _path, st.just(None)),
    st.tuples(st.just("link"), _path, _path),
    st.tuples(st.just("rename"), _path, _path),
    st.tuples(st.just("write"), _places.map("{}.gitignore".format), st.sampled_from(RULES).map(str.encode)),
    st.tuples(st.just("write"), _places.map("{}.gitattributes".format), st.sampled_from(ATTRIBUTES).map(str.encode)),
    st.tuples(st.just("remove"), _places.map("{}.gitignore".format), st.just(None)),
    st.tuples(st.just("remove"), _places.map("{}.gitattributes".format), st.just(None)),
)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def _room(files: Path, path: Path) -> None:
    """Take away what is in the place of a path, and make its directories."""
    for above in reversed(path.relative_to(files).parents):
        place = files / above
        if place.is_symlink() or (os.path.lexists(place) and not place.is_dir()):
            place.unlink()
    _remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)


def _is_there(files: Path, path: Path) -> bool:
    above = [files / one for one in path.relative_to(files).parents]
    return os.path.lexists(path) and not any(one.is_symlink() for one in above)


def _change(files: Path, what: str, name: str, more: object) -> None:
    path = files / name
    if what == "write" and isinstance(more, bytes):
        _room(files, path)
        path.write_bytes(more)
    elif what == "link":
        _room(files, path)
        path.symlink_to(str(more))
    elif not _is_there(files, path):
        return
    elif what == "remove":
        _remove(path)
    elif what == "mode" and not path.is_symlink():
        path.chmod(0o755 if not path.stat().st_mode & 0o100 or path.is_dir() else 0o644)
    elif what == "secretly" and path.is_file() and not path.is_symlink():
        seen = path.stat()
        path.write_bytes(bytes(one ^ 1 for one in path.read_bytes()))
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    elif what == "rename" and not f"{more}/".startswith(f"{name}/") and not f"{name}/".startswith(f"{more}/"):
        _room(files, files / str(more))
        path.rename(files / str(more))


@pytest.mark.exhaustive
@pytest.mark.parametrize("disk", [False, True])
def test_what_is_taken_again_is_what_is_taken_at_first_and_what_git_has(
    tmp_path_factory: pytest.TempPathFactory, disk: bool
) -> None:
    with on_disk() as directory:

        @settings(max_examples=examples(300))
        @given(st.lists(st.lists(CHANGES, max_size=5), min_size=2, max_size=4))
        def holds(steps: list[list[tuple[str, str, object]]]) -> None:
            place = (directory if disk else tmp_path_factory.mktemp("take")) / os.urandom(4).hex()
            own = made_own(place / "r", {"a": "1", "d/a": b"1\r\n", "d/e/b": "$Id: x $\n", "in/x.log": "1\n"})
            taking = TreeTaking()
            for number, step in enumerate(steps):
                for change in step:
                    _change(own.files, *change)
                if disk and number % 2:
                    settle(own)
                found = taking.take(own.files)
                assert found == TreeTaking().take(own.files)
                assert (found.tree, found.left_out) == (_as_git_has_it(own), ()), "rules that ignore are drawn, too"
            shutil.rmtree(place)

        holds()
