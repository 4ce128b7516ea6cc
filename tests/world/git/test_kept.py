"""Work kept, put away and put back: byte for byte, whatever the files and the index are."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhaustive import EXHAUSTIVE
from interlock.errors import InterlockError
from interlock.world.git import commit, keep, park, restore, state
from world.git.repositories import ADA, environment, git, index_of, made, picture, write


def _dirty(root: Path) -> None:
    """Every way for a path to differ."""
    write(root, {"staged": "2", "both": "2", "unstaged": "2", "new": "1", "added": "1", "deep/er/new": "1"})
    git("add", "staged", "both", "added", cwd=root)
    write(root, {"both": "3", "ita": "1"})
    git("add", "-N", "ita", cwd=root)
    git("rm", "-q", "--cached", "uncached", cwd=root)
    git("rm", "-q", "removed", cwd=root)
    (root / "gone").unlink()
    (root / "mode").chmod(0o755)
    (root / "new").chmod(0o600)
    (root / "kind").unlink()
    (root / "kind").symlink_to("nowhere")
    (root / "d" / "x").unlink()
    (root / "d").rmdir()
    write(root, {"d": "a file now"})
    (root / "f").unlink()
    write(root, {"f/inner": "a directory now"})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    names = "staged both unstaged uncached removed gone mode kind d/x f same".split()
    return made(tmp_path / "r", {**dict.fromkeys(names, "1"), ".gitignore": "*.log\n"})


def test_what_is_kept_touches_nothing(root: Path) -> None:
    _dirty(root)
    before = picture(root), (root / ".git" / "index").read_bytes()
    kept = keep(root, "thread-1/before")
    assert (picture(root), (root / ".git" / "index").read_bytes()) == before
    assert (kept.ref, kept.head) == ("refs/ralf/thread-1/before", git("rev-parse", "HEAD", cwd=root))
    assert "same" not in kept.paths
    assert git("show", f"{kept.ref}:work/both", cwd=root) == "3"
    assert keep(root, "thread-1/before") == kept, "the same is kept once"
    write(root, {"both": "4"})
    assert keep(root, "thread-1/before").ref == "refs/ralf/thread-1/before-2", "nothing is overwritten"


def test_what_is_parked_comes_back(root: Path) -> None:
    write(root, {"x.log": "ignored"})
    _dirty(root)
    before = picture(root), index_of(root), git("status", "--porcelain", cwd=root)
    kept = park(root, "p")
    assert kept is not None
    assert state(root).is_clean
    assert git("status", "--porcelain", cwd=root) == ""
    assert (root / "x.log").read_text() == "ignored"
    assert not (root / "deep").exists()
    git("gc", "-q", "--prune=now", cwd=root)
    assert restore(root, "p") == kept
    assert (picture(root), index_of(root), git("status", "--porcelain", cwd=root)) == before
    assert restore(root, "p") == kept, "it can be done again"
    git("fsck", "--strict", cwd=root)


def test_a_clean_tree_has_nothing_to_park(root: Path) -> None:
    assert park(root, "p") is None
    write(root, {"new": "1"})
    kept = park(root, "p")
    assert park(root, "p") == kept, "what is parked already is found"


def test_mixed_line_endings_come_back_as_they_were(tmp_path: Path) -> None:
    root = made(
        tmp_path / "r",
        {".gitattributes": "*.txt text eol=crlf\n*.u16 working-tree-encoding=UTF-16\n", "a.txt": "1\r\n"},
    )
    write(root, {"a.txt": b"one\r\ntwo\nthree\r", "b.txt": b"\n\r\n", "c.u16": "x".encode("utf-16")})
    git("-c", "core.safecrlf=false", "add", "a.txt", cwd=root)
    before = picture(root), index_of(root)
    park(root, "p")
    assert (root / "a.txt").read_bytes() == b"1\r\n"
    restore(root, "p")
    assert (picture(root), index_of(root)) == before


def test_attributes_that_are_parked_do_not_decide_what_comes_instead(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {".gitattributes": "* text eol=lf\n", "a.txt": "1\n"})
    write(root, {".gitattributes": "* text eol=crlf\n", "a.txt": "2\n"})
    park(root, "p")
    assert (root / "a.txt").read_bytes() == b"1\n"
    assert git("status", "--porcelain", cwd=root) == ""


def test_work_goes_on_and_what_was_parked_still_comes_back(root: Path) -> None:
    write(root, {"staged": "2", "new": "1"})
    git("add", "staged", cwd=root)
    park(root, "p")
    write(root, {"unstaged": "committed"})
    commit(root, "went on", author=ADA)
    restore(root, "p")
    now = state(root)
    assert (now.staged, now.unstaged, now.untracked) == (("staged",), (), ("new",))
    assert (root / "unstaged").read_text() == "committed"


def test_other_work_is_never_overwritten(root: Path) -> None:
    write(root, {"both": "parked", "new": "parked"})
    park(root, "p")
    for change in ({"both": "changed"}, {"new": "another"}, {"elsewhere": "untracked"}):
        write(root, change)
        before = picture(root)
        with pytest.raises(InterlockError) as caught:
            restore(root, "p")
        assert caught.value.code == "git_conflict"
        assert picture(root) == before
        park(root, "other")
    write(root, {"both": "committed"})
    commit(root, "both", author=ADA)
    with pytest.raises(InterlockError) as caught:
        restore(root, "p")
    assert (caught.value.code, caught.value.details["paths"]) == ("git_conflict", ["both"])


def test_an_ignored_file_where_a_file_has_to_go_is_left(root: Path) -> None:
    write(root, {"new": "parked"})
    park(root, "p")
    write(root, {".git/info/exclude": "new\n", "new": "ignored now"})
    with pytest.raises(InterlockError) as caught:
        restore(root, "p")
    assert caught.value.code == "git_conflict"
    assert (root / "new").read_text() == "ignored now"


def test_an_ignored_file_in_a_directory_where_head_has_a_file_is_left(root: Path) -> None:
    (root / "same").unlink()
    write(root, {"same/x.log": "ignored", "same/y": "untracked"})
    before = picture(root)
    with pytest.raises(InterlockError) as caught:
        park(root, "p")
    assert caught.value.code == "git_conflict"
    assert picture(root) == before


def test_nothing_is_removed_through_a_symbolic_link(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"x": "not ours"})
    (root / "d" / "x").unlink()
    (root / "d").rmdir()
    (root / "d").symlink_to(outside)
    before = picture(root)
    park(root, "p")
    assert (outside / "x").read_text() == "not ours"
    assert (root / "d" / "x").read_text() == "1"
    for _ in range(2):
        restore(root, "p")
        assert picture(root) == before
        assert (outside / "x").read_text() == "not ours"


def test_a_root_that_is_a_symbolic_link_is_the_root_it_leads_to(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    write(root, {"same": "2", "new": "1"})
    before = picture(root)
    park(tmp_path / "link", "p")
    assert state(root).is_clean
    restore(tmp_path / "link", "p")
    assert picture(root) == before


def test_an_unborn_branch_is_parked_and_put_back(tmp_path: Path) -> None:
    git("init", "-q", tmp_path, cwd=tmp_path)
    write(tmp_path, {"a": "1", "b/c": "2"})
    git("add", "a", cwd=tmp_path)
    before = picture(tmp_path), index_of(tmp_path)
    park(tmp_path, "p")
    assert picture(tmp_path) == {}
    restore(tmp_path, "p")
    assert (picture(tmp_path), index_of(tmp_path)) == before


def test_a_linked_sparse_tree_is_parked_and_put_back(tmp_path: Path) -> None:
    main = made(tmp_path / "r", {"in/a": "1", "out/b": "1"})
    root = tmp_path / "side"
    git("worktree", "add", "-q", root, cwd=main)
    git("sparse-checkout", "set", "in", cwd=root)
    write(root, {"in/a": "2", "in/n": "1"})
    before = picture(root), index_of(root)
    park(root, "p")
    assert picture(root) == {"in/a": ("file", b"1", (root / "in/a").stat().st_mode & 0o777)}
    assert git("status", "--porcelain", cwd=root) == ""
    restore(root, "p")
    assert (picture(root), index_of(root)) == before


def test_a_conflict_can_be_kept_and_is_not_parked(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"f": "0\n"})
    git("checkout", "-q", "-b", "other", cwd=root)
    write(root, {"f": "1\n"})
    git("commit", "-qam", "other", cwd=root)
    git("checkout", "-q", "main", cwd=root)
    write(root, {"f": "2\n"})
    git("commit", "-qam", "main", cwd=root)
    merge = ["git", "merge", "-q", "other"]
    subprocess.run(merge, cwd=root, env=environment(tmp_path), capture_output=True, check=False, timeout=60)
    kept = keep(root, "k")
    assert "<<<<<<<" in git("show", f"{kept.ref}:work/f", cwd=root)
    before = picture(root), index_of(root)
    with pytest.raises(InterlockError) as caught:
        park(root, "p")
    assert caught.value.code == "git_conflict"
    assert (picture(root), index_of(root)) == before


def test_a_moved_submodule_is_not_parked(tmp_path: Path) -> None:
    library, root = made(tmp_path / "library"), made(tmp_path / "r")
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib", cwd=root)
    git("commit", "-qm", "lib", cwd=root)
    git("commit", "-q", "--allow-empty", "-m", "moved", cwd=root / "lib")
    with pytest.raises(InterlockError) as caught:
        park(root, "p")
    assert caught.value.code == "git_conflict"
    assert keep(root, "k").paths == ()


def test_a_repository_inside_stays(root: Path) -> None:
    made(root / "inner")
    write(root, {"new": "1"})
    park(root, "p")
    assert (root / "inner" / "a.txt").exists()
    assert not (root / "new").exists()


@pytest.mark.parametrize("name", ["", "a..b", "/x", "x.lock", "a b", "-", "..", "x\n", "x^{tree}"])
def test_a_name_that_is_no_ref_is_refused(root: Path, name: str) -> None:
    if name == "-":
        assert keep(root, name).ref == "refs/ralf/-"
        return
    with pytest.raises(InterlockError) as caught:
        keep(root, name)
    assert caught.value.code == "invalid_argument"


def test_nothing_under_a_name_is_said(root: Path) -> None:
    with pytest.raises(InterlockError) as caught:
        restore(root, "never")
    assert caught.value.code == "git_failed"


NAMES = st.sampled_from(["a", "b", "d", "d/x", "d/y", "d/e/z", "sp ace", "new\nline", os.fsdecode(b"\xff"), "é/ü"])
CONTENTS = st.one_of(st.binary(max_size=8), st.sampled_from([b"1\r\n2\n", b"\r\n", b"\n", b"x" * 9000]))
MODES = st.sampled_from([0o644, 0o755, 0o600, 0o444, 0o640])
FILES = st.dictionaries(NAMES, st.tuples(CONTENTS, MODES, st.booleans()), max_size=6)
STEPS = st.lists(st.tuples(FILES, st.booleans(), st.lists(NAMES, max_size=3)), min_size=1, max_size=3)


def _put(root: Path, name: str, content: bytes, mode: int, is_link: bool) -> None:
    path = root / name
    for above in reversed(path.relative_to(root).parents[:-1]):
        if (root / above).is_symlink() or (root / above).is_file():
            (root / above).unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        return
    path.unlink(missing_ok=True)
    if is_link:
        path.symlink_to(os.fsdecode(content.replace(b"\0", b"")[:50] or b"x"))
    else:
        path.write_bytes(content)
        path.chmod(mode)


@settings(max_examples=60 if EXHAUSTIVE else 4)
@given(first=FILES, steps=STEPS, attributes=st.sampled_from(["", "* text=auto\n", "* text eol=crlf\n"]))
def test_whatever_the_tree_and_the_index_are_they_come_back(
    first: dict[str, tuple[bytes, int, bool]],
    steps: list[tuple[dict[str, tuple[bytes, int, bool]], bool, list[str]]],
    attributes: str,
) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "r"
        root.mkdir()
        git("init", "-q", cwd=root)
        write(root, {".gitattributes": attributes})
        for number, (files, is_staged, gone) in enumerate([(first, True, []), *steps]):
            for name, (content, mode, is_link) in files.items():
                _put(root, name, content, mode, is_link)
            for name in gone:
                if (root / name).is_symlink() or (root / name).is_file():
                    (root / name).unlink()
            if is_staged:
                git("-c", "core.safecrlf=false", "add", "-A", cwd=root)
            if number == 0:
                git("commit", "-q", "--allow-empty", "-m", "first", cwd=root)
        before = picture(root), index_of(root)
        park(root, "p")
        assert state(root).is_clean
        park(root, "p")
        assert git("status", "--porcelain", cwd=root) == ""
        if git("for-each-ref", "refs/ralf", cwd=root):
            restore(root, "p")
        assert (picture(root), index_of(root)) == before
