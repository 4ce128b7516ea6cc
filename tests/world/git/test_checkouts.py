"""A person's checkout brought along with the tree of an agent, and their edits merged into it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhaustive import examples
from interlock.errors import InterlockError
from interlock.world.git import keep_tree, merge_trees, put_tree, tree_hash, tree_of_checkout, tree_under
from world.git.own import OwnTree, listed, made_own, taken
from world.git.repositories import git, index_of, made, picture, write

LINES = "".join(f"line {number}\n" for number in range(1, 21))
FILES = {"a.txt": LINES, "b.txt": "b\n", "d/c.txt": "c\n", "d/e/f": "f\n", "gone": "1\n", ".gitignore": "*.log\n"}


@pytest.fixture
def own(tmp_path: Path) -> OwnTree:
    return made_own(tmp_path / "r", FILES)


def _files(root: Path) -> dict[str, tuple[str, bytes, int]]:
    return {name: one for name, one in picture(root).items() if not name.startswith(".ralf/")}


def _kinds(root: Path) -> dict[str, tuple[str, bytes, int]]:
    """The files as a tree has them."""
    return {name: (kind, content, mode & 0o100) for name, (kind, content, mode) in _files(root).items()}


def _code(call: Callable[[], object]) -> str:
    with pytest.raises(InterlockError) as caught:
        call()
    assert caught.value.hint
    return caught.value.code


def _everything(own: OwnTree) -> None:
    """Every kind of change that an agent makes."""
    files = own.files
    write(
        files,
        {
            "a.txt": LINES.replace("line 3", "agent's"),
            "new/deep/x": "1",
            os.fsdecode(b"\xff\n"): "odd",
            "crlf": b"1\r\n",
        },
    )
    (files / "gone").unlink()
    (files / "b.txt").rename(files / "renamed.txt")
    (files / "d" / "c.txt").chmod(0o755)
    shutil.rmtree(files / "d" / "e")
    (files / "d" / "e").symlink_to("../new")
    write(files, {"b.txt/now a directory": "1"})


# A checkout that is brought along


def test_the_checkout_becomes_the_agents_tree_and_the_index_and_branches_stay(own: OwnTree) -> None:
    _everything(own)
    write(own.root, {"x.log": "ignored", "d/y.log": "ignored"})
    write(own.root, {"b.txt": "staged\n"})
    git("add", "b.txt", cwd=own.root)
    write(own.root, {"b.txt": "b\n"})
    tree, expected = taken(own), tree_hash(own.root)
    before = (own.root / ".git" / "index").read_bytes(), git("for-each-ref", cwd=own.root)
    for _ in range(2):
        assert put_tree(own.root, tree, expected)
        assert _kinds(own.root).items() - {
            ("x.log", ("file", b"ignored", 0)),
            ("d/y.log", ("file", b"ignored", 0)),
        } == (_kinds(own.files).items())
    assert tree_hash(own.root) == tree
    assert (own.root / "x.log").read_text() == "ignored"
    assert ((own.root / ".git" / "index").read_bytes(), git("for-each-ref", cwd=own.root)) == before
    assert git("branch", "--show-current", cwd=own.root) == "main"
    assert [one.name for one in (own.root / ".git").glob("*ralph*")] == []
    assert put_tree(own.root, expected, tree), "and back"
    assert tree_hash(own.root) == expected
    git("fsck", cwd=own.root)


def _linked(path: Path) -> None:
    path.unlink()
    path.symlink_to("a.txt")


PERSONS: dict[str, Callable[[Path], object]] = {
    "a changed file": lambda root: write(root, {"d/c.txt": "mine\n"}),
    "a new file": lambda root: write(root, {"mine": "1"}),
    "a removed file": lambda root: (root / "gone").unlink(),
    "another mode": lambda root: (root / "a.txt").chmod(0o755),
    "a link": lambda root: _linked(root / "gone"),
    "the same change in part": lambda root: write(root, {"a.txt": LINES.replace("line 3", "agent's")}),
}


@pytest.mark.parametrize("name", PERSONS)
def test_a_checkout_that_is_not_as_expected_is_not_touched(own: OwnTree, name: str) -> None:
    _everything(own)
    tree, expected = taken(own), tree_hash(own.root)
    PERSONS[name](own.root)
    before = _files(own.root), index_of(own.root)
    assert not put_tree(own.root, tree, expected)
    assert (_files(own.root), index_of(own.root)) == before


def test_an_ignored_file_in_the_way_is_kept_and_nothing_is_touched(own: OwnTree) -> None:
    write(own.files, {".gitignore": "", "x.log": "agent's", "a.txt": "changed\n"})
    write(own.root, {"x.log": "mine"})
    before = _files(own.root)
    assert _code(lambda: put_tree(own.root, taken(own), tree_hash(own.root))) == "git_conflict"
    assert _files(own.root) == before


def test_what_only_a_filter_could_write_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    own = made_own(tmp_path / "r", {".gitattributes": "*.big filter=lfs\n", "x": "1", "y.big": "pointer"})
    write(own.files, {"new.big": "pointer", "x": "2"})
    tree, expected = taken(own), tree_hash(own.root)
    git("config", "filter.lfs.smudge", "git-lfs smudge -- %f", cwd=own.root)
    before = _files(own.root)
    assert _code(lambda: put_tree(own.root, tree, expected)) == "git_unsafe"
    assert _files(own.root) == before
    (own.files / "new.big").unlink()
    assert put_tree(own.root, taken(own), expected)
    assert (own.root / "x").read_text() == "2"


def test_the_agents_tree_takes_what_only_a_filter_could_write_as_it_is_stored(tmp_path: Path) -> None:
    def filtered(root: Path) -> None:
        git("config", "filter.lfs.smudge", "git-lfs smudge -- %f", cwd=root)

    own = made_own(tmp_path / "r", {".gitattributes": "*.big filter=lfs\n", "y.big": "pointer\n"}, before=filtered)
    tree = git("rev-parse", "HEAD^{tree}", cwd=own.root)
    (own.files / "y.big").unlink()
    assert put_tree(own.files, tree, taken(own))
    assert (own.files / "y.big").read_text() == "pointer\n"
    assert not (own.files.parent / "git" / "ralph-stage").exists()


def test_files_come_out_with_the_line_endings_of_the_tree(tmp_path: Path) -> None:
    own = made_own(tmp_path / "r", {".gitattributes": "*.txt text eol=crlf\n", "a.txt": b"1\r\n", "b": b"1\r\n"})
    write(own.files, {"a.txt": b"2\r\n", "b": b"2\r\n", "c.txt": b"3\r\n"})
    assert put_tree(own.root, taken(own), tree_hash(own.root))
    assert _kinds(own.root) == _kinds(own.files)
    write(own.files, {".gitattributes": "*.txt text eol=lf\n", "a.txt": b"4\n"})
    assert put_tree(own.root, taken(own), tree_hash(own.root))
    assert (own.root / "a.txt").read_bytes() == b"4\n"
    assert tree_hash(own.root) == taken(own)


def test_submodules_and_repositories_among_the_files_stay(tmp_path: Path) -> None:
    library = made(tmp_path / "library")

    def with_library(root: Path) -> None:
        git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib", cwd=root)
        git("commit", "-qm", "lib", cwd=root)
        made(root / "inner", {"x": "1"})

    own = made_own(tmp_path / "r", {"a": "1"}, before=with_library)
    write(own.root, {"lib/mine": "1"})
    write(own.files, {"a": "2"})
    before = picture(own.root / "lib"), picture(own.root / "inner"), git("rev-parse", "HEAD", cwd=own.root / "lib")
    assert put_tree(own.root, taken(own), tree_hash(own.root))
    now = picture(own.root / "lib"), picture(own.root / "inner"), git("rev-parse", "HEAD", cwd=own.root / "lib")
    assert now == before
    assert (own.root / "a").read_text() == "2"


def test_nothing_is_written_through_a_link(own: OwnTree, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"c.txt": "outside\n"})
    shutil.rmtree(own.root / "d")
    (own.root / "d").symlink_to(outside)
    write(own.files, {"d/c.txt": "agent's\n"})
    assert put_tree(own.root, taken(own), tree_hash(own.root))
    assert picture(outside).keys() == {"c.txt"}
    assert (outside / "c.txt").read_text() == "outside\n"
    assert (own.root / "d" / "c.txt").read_text() == "agent's\n"


# Edits of a person and of an agent


def _edited(text: str, *numbers: int, by: str) -> str:
    for number in numbers:
        text = text.replace(f"line {number}\n", f"{by} {number}\n")
    return text


def _merged(own: OwnTree) -> str:
    """The tree of the agent's files with the person's edits since the base."""
    return merge_trees(
        own.root, git("rev-parse", f"{own.base}^{{tree}}", cwd=own.root), taken(own), tree_hash(own.root)
    )


def _blob(own: OwnTree, tree: str, path: str) -> str:
    return git("cat-file", "blob", f"{tree}:{path}", cwd=own.root)


def test_edits_in_different_files_are_both_there(own: OwnTree) -> None:
    write(own.files, {"a.txt": "agent's\n", "n/of the agent": "1"})
    (own.files / "gone").unlink()
    write(own.root, {"b.txt": "mine\n", "n/of the person": "1"})
    (own.root / "d" / "c.txt").unlink()
    merged = _merged(own)
    names = {".gitignore", "a.txt", "b.txt", "d/e/f", "n/of the agent", "n/of the person"}
    assert listed(own, merged).keys() == names
    assert (_blob(own, merged, "a.txt"), _blob(own, merged, "b.txt")) == ("agent's", "mine")
    assert put_tree(own.root, merged, tree_hash(own.root))
    assert tree_hash(own.root) == merged


def test_edits_in_different_lines_of_a_file_are_both_there_and_where_they_differ_the_persons_count(
    own: OwnTree,
) -> None:
    write(own.files, {"a.txt": _edited(LINES, 2, 10, by="agent")})
    write(own.root, {"a.txt": _edited(LINES, 10, 18, by="person")})
    text = _blob(own, _merged(own), "a.txt")
    assert f"{text}\n" == _edited(_edited(LINES, 2, by="agent"), 10, 18, by="person")
    assert "<<<<" not in text


def test_without_edits_of_one_the_other_counts(own: OwnTree) -> None:
    base = git("rev-parse", f"{own.base}^{{tree}}", cwd=own.root)
    _everything(own)
    tree = taken(own)
    assert merge_trees(own.root, base, tree, base) == tree
    assert merge_trees(own.root, base, base, tree) == tree
    assert merge_trees(own.root, base, tree, tree) == tree


def test_modes_are_merged_apart_from_content(own: OwnTree) -> None:
    (own.files / "a.txt").chmod(0o755)
    write(own.root, {"a.txt": _edited(LINES, 3, by="person")})
    write(own.files, {"b.txt": "agent's\n"})
    (own.root / "b.txt").chmod(0o755)
    merged = _merged(own)
    assert {name: mode[:6] for name, mode in listed(own, merged).items() if name in ("a.txt", "b.txt")} == {
        "a.txt": "100755",
        "b.txt": "100755",
    }
    assert _blob(own, merged, "a.txt") == _edited(LINES, 3, by="person").rstrip("\n")
    assert _blob(own, merged, "b.txt") == "agent's"


def test_where_one_removes_what_the_other_changes_the_persons_counts(own: OwnTree) -> None:
    (own.files / "a.txt").unlink()
    write(own.root, {"a.txt": "mine\n"})
    write(own.files, {"b.txt": "agent's\n"})
    (own.root / "b.txt").unlink()
    (own.files / "gone").unlink()
    (own.root / "gone").unlink()
    merged = _merged(own)
    assert listed(own, merged).keys() == {".gitignore", "a.txt", "d/c.txt", "d/e/f"}
    assert _blob(own, merged, "a.txt") == "mine"


def test_where_a_file_of_one_is_a_directory_of_the_other_the_persons_counts(own: OwnTree) -> None:
    write(own.files, {"one": "agent's", "two/x": "agent's", "three": "same"})
    write(own.root, {"one/x": "mine", "two": "mine", "three": "same"})
    for root in (own.files, own.root):
        (root / "b.txt").unlink()
    (own.files / "b.txt").symlink_to("a.txt")
    write(own.root, {"b.txt/x": "mine"})
    merged = _merged(own)
    assert {"one/x", "two", "three", "b.txt/x"} <= listed(own, merged).keys()
    assert not {"one", "two/x", "b.txt"} & listed(own, merged).keys()
    assert put_tree(own.root, merged, tree_hash(own.root))


def test_links_binary_and_large_files_are_taken_whole(own: OwnTree) -> None:
    write(own.files, {"d/c.txt": b"\0agent", "b.txt": "x" * 100})
    write(own.root, {"d/c.txt": b"\0person"})
    (own.root / "b.txt").unlink()
    (own.root / "b.txt").symlink_to("a.txt")
    (own.files / "gone").unlink()
    (own.files / "gone").symlink_to("d")
    merged = _merged(own)
    assert _blob(own, merged, "d/c.txt") == "\0person"
    assert listed(own, merged)["b.txt"].startswith("120000")
    assert listed(own, merged)["gone"].startswith("120000")


def test_line_endings_of_both_stay(tmp_path: Path) -> None:
    crlf = LINES.replace("\n", "\r\n")
    own = made_own(tmp_path / "r", {"plain": crlf, "a.txt": crlf, ".gitattributes": "*.txt text eol=crlf\n"})
    for name in ("plain", "a.txt"):
        write(own.files, {name: crlf.replace("line 2\r", "agent 2\r").encode()})
        write(own.root, {name: crlf.replace("line 18\r", "person 18\r").encode()})
    assert put_tree(own.root, _merged(own), tree_hash(own.root))
    wanted = crlf.replace("line 2\r", "agent 2\r").replace("line 18\r", "person 18\r").encode()
    assert (own.root / "plain").read_bytes() == wanted
    assert (own.root / "a.txt").read_bytes() == wanted


def test_a_file_without_a_last_newline_and_odd_names_are_merged(tmp_path: Path) -> None:
    name = os.fsdecode(b'\xff\n"')
    own = made_own(tmp_path / "r", {name: LINES.rstrip("\n")})
    write(own.files, {name: _edited(LINES, 2, by="agent").rstrip("\n")})
    write(own.root, {name: _edited(LINES, 15, by="person").rstrip("\n")})
    merged = _merged(own)
    assert put_tree(own.root, merged, tree_hash(own.root))
    assert (own.root / name).read_text() == _edited(_edited(LINES, 2, by="agent"), 15, by="person").rstrip("\n")


PATHS = ("a", "b", "a/x", "d/a", "d/a/y")
STATES = st.dictionaries(st.sampled_from(PATHS), st.sampled_from((b"1", b"2", b"3")), max_size=4)


@pytest.fixture(scope="module")
def merging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("merging") / "r", {})


def _written(root: Path, files: dict[str, bytes]) -> str:
    for path in root.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    write(root, files)
    return tree_hash(root)


def _possible(files: dict[str, bytes]) -> dict[str, bytes]:
    """Without the files that others have as a directory."""
    return {name: one for name, one in files.items() if not any(other.startswith(f"{name}/") for other in files)}


@pytest.mark.exhaustive
def test_every_merge_has_all_of_the_persons_and_what_of_the_agents_does_not_contradict_it(merging: Path) -> None:
    @settings(max_examples=examples(300))
    @given(STATES.map(_possible), STATES.map(_possible), STATES.map(_possible))
    def holds(base: dict[str, bytes], agents: dict[str, bytes], persons: dict[str, bytes]) -> None:
        trees = [_written(merging, one) for one in (base, agents, persons)]
        merged = merge_trees(merging, *trees)
        names = git("ls-tree", "-r", "--name-only", "-z", merged, cwd=merging).split("\0")
        found = {name: git("cat-file", "blob", f"{merged}:{name}", cwd=merging).encode() for name in names if name}
        for path in PATHS:
            if persons.get(path) != base.get(path):
                assert found.get(path) == persons.get(path), "what the person did is there"
            elif path in found:
                assert found[path] == agents.get(path, base.get(path))
            elif path in agents:
                blocked = any(
                    f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/") for other in persons
                )
                assert blocked or persons.get(path) == agents[path], "only a file of the person is in its way"

    holds()


# The tree of a checkout


def test_the_tree_of_a_checkout_is_that_of_its_branch_alone(own: OwnTree) -> None:
    write(own.root, {"a.txt": "mine\n", "new": "1"})
    before = index_of(own.root)
    assert tree_of_checkout(own.root, "main") == tree_hash(own.root)
    assert tree_of_checkout(own.root, "other") is None
    git("switch", "-q", "--detach", cwd=own.root)
    assert tree_of_checkout(own.root, "main") is None
    assert index_of(own.root) == before
    assert [one.name for one in (own.root / ".git").glob("index*")] == ["index"]


def test_a_checkout_that_another_git_writes_to_has_no_tree(own: OwnTree) -> None:
    """Git holds the index while it switches, and half of the files are those of another branch."""
    (own.root / ".git" / "index.lock").touch()
    waited: list[float] = []
    assert _code(lambda: tree_of_checkout(own.root, "main", sleep=waited.append)) == "git_failed"
    assert waited


def test_a_branch_that_is_switched_while_its_tree_is_made_gives_none(
    own: OwnTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git moves HEAD after it has let go of the index: here as soon as the tree is written."""
    git("branch", "other", cwd=own.root)
    program = tmp_path / "bin" / "git"
    real = shutil.which("git")
    switch = f'case "$1" in write-tree) echo "ref: refs/heads/other" > "{own.root}/.git/HEAD";; esac'
    write(tmp_path, {"bin/git": f'#!/bin/sh\n{switch}\nexec {real} "$@"\n'})
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert tree_of_checkout(own.root, "main") is None


@pytest.mark.parametrize("how", ["merge", "stash"])
def test_a_checkout_with_a_conflict_has_no_tree(own: OwnTree, how: str) -> None:
    write(own.root, {"a.txt": "stashed\n"})
    git("stash", "-q", cwd=own.root)
    write(own.root, {"a.txt": "committed\n"})
    git("commit", "-qam", "mine", cwd=own.root)
    with suppress(AssertionError):  # git says that there is a conflict
        git(*(("merge", "-q", "stash@{0}") if how == "merge" else ("stash", "pop", "-q")), cwd=own.root)
    before = _files(own.root)
    assert b"<<<<<<<" in before["a.txt"][1]
    assert _code(lambda: tree_of_checkout(own.root, "main")) == "git_conflict"
    assert _files(own.root) == before


# A tree that is kept


def test_a_tree_is_kept_and_another_in_its_place(own: OwnTree) -> None:
    assert tree_under(own.root, "t/checkout") is None
    for text in ("1", "2", "2"):
        write(own.files, {"a.txt": text})
        tree = taken(own)
        keep_tree(own.root, "t/checkout", tree)
        git("gc", "-q", "--prune=now", cwd=own.root)
        assert tree_under(own.root, "t/checkout") == tree
        assert tree_under(own.files, "t/checkout") == tree
    git("fsck", cwd=own.root)


def test_trees_are_kept_one_after_the_other(own: OwnTree) -> None:
    trees = []
    for text in ("1", "2", "3"):
        write(own.files, {"a.txt": text})
        trees.append(taken(own))
        keep_tree(own.root, "t/series", trees[-1], adds=True)
    assert git("log", "--format=%T", "--reverse", "refs/ralf/t/series", cwd=own.root).split() == trees


def test_only_names_for_refs_and_trees_are_kept(own: OwnTree) -> None:
    assert _code(lambda: keep_tree(own.root, "a..b", taken(own))) == "invalid_argument"
    assert _code(lambda: keep_tree(own.root, "k", "0" * 40)) == "git_failed"
    assert tree_under(own.root, "k") is None
