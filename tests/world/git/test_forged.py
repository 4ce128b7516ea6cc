"""An index and objects that lie: what counts is what the files hold, and what is shown is what a hash stands for."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from interlock.errors import InterlockError
from interlock.world.git import (
    Looking,
    baseline,
    begin_branch,
    changed_between,
    changed_by,
    commit,
    contents,
    diff,
    export_tree,
    keep,
    squash,
    state,
    tree_hash,
)
from interlock.world.git.entries import entries_only
from world.git.repositories import ADA, git, made, write

GOOD, BAD = "print('good')\n", "import os; os.system('evil')\n"


FILES = {"app.py": GOOD, "d/b": "1\n", ".gitignore": "*.log\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made(tmp_path / "r", FILES)


def _bad(root: Path) -> str:
    return git("hash-object", "-w", "--stdin", cwd=root, feed=BAD.encode())


def _rewrite(root: Path, change: Callable[[bytes], bytes]) -> None:
    """Change the index as a program could that knows its format."""
    path = root / ".git" / "index"
    content = change(path.read_bytes()[:-20])
    path.write_bytes(content + hashlib.sha1(content).digest())
    later = path.stat().st_mtime + 60  # git reads a file again that is as young as the index
    os.utime(path, (later, later))


def _blob_in_the_place(root: Path) -> None:
    """An entry with another blob and the file's own stat data: git calls the file clean."""
    git("update-index", "--refresh", cwd=root)
    old, new = bytes.fromhex(git("rev-parse", ":app.py", cwd=root)), bytes.fromhex(_bad(root))
    _rewrite(root, lambda content: content.partition(b"TREE")[0].replace(old, new))
    assert git("status", "--porcelain", cwd=root) == "M  app.py"  # git takes it for staged, and the file for clean


def _blob_that_is_assumed(root: Path) -> None:
    _blob_in_the_place(root)
    git("update-index", "--assume-unchanged", "app.py", cwd=root)


def _tree_in_the_cache(root: Path) -> None:
    """The index remembers trees that it has written, and writes them again without a look at its entries."""
    git("write-tree", cwd=root)
    (root / "other").write_text("1")
    old, blob = git("rev-parse", "HEAD^{tree}", cwd=root), _bad(root)
    listed = git("ls-tree", "HEAD", cwd=root).replace(git("rev-parse", "HEAD:app.py", cwd=root), blob)
    new = git("mktree", cwd=root, feed=f"{listed}\n".encode())
    (root / "other").unlink()
    _rewrite(root, lambda content: content.replace(bytes.fromhex(old), bytes.fromhex(new)))
    assert git("write-tree", cwd=root) == new


FORGERIES = {
    "a blob in the place of another": _blob_in_the_place,
    "a tree in the cache": _tree_in_the_cache,
}


@pytest.mark.parametrize("name", FORGERIES)
def test_every_tree_that_counts_is_made_of_the_files(root: Path, name: str) -> None:
    honest = git("rev-parse", "HEAD^{tree}", cwd=root)
    FORGERIES[name](root)
    assert tree_hash(root) == honest
    looking = Looking()
    assert [looking.look(root).tree, looking.look(root).tree] == [honest, honest]
    assert diff(root).text == ""
    assert state(root).unstaged == (("app.py",) if name.startswith("a blob") else ())
    write(root, {"new": "1"})
    commit(root, "x", author=ADA)
    assert git("show", "HEAD:app.py", cwd=root) == GOOD.strip()
    assert git("show", "HEAD:new", cwd=root) == "1"


@pytest.mark.parametrize("name", FORGERIES)
def test_the_commit_of_an_approved_tree_takes_no_other(root: Path, name: str) -> None:
    base = baseline(root)
    begin_branch(root, "ralf/x", base.commit)
    FORGERIES[name](root)
    bad = git("write-tree", cwd=root)
    with pytest.raises(InterlockError) as caught:
        squash(root, "ralf/x", base.commit, bad, "x", "before", author=ADA)
    assert caught.value.code == "git_conflict"
    write(root, {"new": "1"})
    made_ = squash(root, "ralf/x", base.commit, tree_hash(root), "x", "before", author=ADA)
    assert git("show", f"{made_}:app.py", cwd=root) == GOOD.strip()


def test_what_is_kept_is_what_the_files_hold(root: Path) -> None:
    write(root, {"app.py": "mine\n"})
    git("add", "app.py", cwd=root)
    old, new = (bytes.fromhex(git("rev-parse", f"{where}:app.py", cwd=root)) for where in ("", "HEAD"))
    _rewrite(root, lambda content: content.partition(b"TREE")[0].replace(old, new))
    assert git("status", "--porcelain", cwd=root) == ""  # changed, and git sees nothing
    kept = keep(root, "x")
    assert kept.paths == ("app.py",)
    assert git("show", f"{kept.commit}:work/app.py", cwd=root) == "mine"


def test_a_file_that_git_must_not_look_at_is_compared_by_its_content(root: Path) -> None:
    _blob_that_is_assumed(root)
    assert state(root).hidden == ("app.py",)


def test_an_absent_file_that_git_must_not_look_at_is_hidden_where_it_is_not_heads(root: Path) -> None:
    git("update-index", "--cacheinfo", f"100644,{_bad(root)},app.py", cwd=root)
    git("update-index", "--skip-worktree", "app.py", cwd=root)
    (root / "app.py").unlink()
    assert state(root).hidden == ("app.py",)


@pytest.fixture
def root_on_disk() -> Iterator[Path]:
    """A repository that is not in memory: git trusts what it remembers of a directory only on some file systems."""
    with TemporaryDirectory(dir="/var/tmp", prefix="interlock-") as directory:
        yield made(Path(directory) / "r", FILES)


def test_a_remembered_look_at_a_directory_hides_no_new_file(root_on_disk: Path) -> None:
    """Git can keep in the index which files are untracked, with the times of their directories."""
    root = root_on_disk
    for place in (root / "d", root):
        os.utime(place, (1e9, 1e9))  # long before the index
    git("config", "core.untrackedCache", "true", cwd=root)
    git("update-index", "--untracked-cache", cwd=root)
    for _ in range(2):
        git("status", "--porcelain", cwd=root)
    seen = (root / "d").stat()
    write(root, {"d/new": "1"})
    os.utime(root / "d", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    now = (root / "d").stat()
    _rewrite(root, lambda content: content.replace(_time(seen.st_ctime_ns), _time(now.st_ctime_ns)))
    if git("status", "--porcelain", cwd=root):
        pytest.skip("git does not trust what it remembers of a directory on this file system")
    assert state(root).untracked == ("d/new",)
    assert "d/new" in git("ls-tree", "-r", "--name-only", tree_hash(root), cwd=root)


def _time(nanoseconds: int) -> bytes:
    return b"".join(one.to_bytes(4, "big") for one in divmod(nanoseconds, 10**9))


@pytest.mark.parametrize("setting", ["core.trustctime=false", "core.checkstat=minimal", "core.ignorestat=true"])
def test_no_setting_lets_git_believe_the_times_of_a_file(root: Path, setting: str) -> None:
    looking = Looking()
    before = looking.look(root).tree
    git("config", *setting.split("="), cwd=root)
    seen = (root / "app.py").stat()
    write(root, {"app.py": "print('evil')\n"})
    os.utime(root / "app.py", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert before != looking.look(root).tree == tree_hash(root)


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_an_index_is_reduced_to_its_entries(tmp_path: Path, version: str, algorithm: str) -> None:
    git("init", "-q", f"--object-format={algorithm}", tmp_path, cwd=tmp_path)
    write(tmp_path, {"a": "1", f"d/deep/er/{'long' * 50}": "2", "d/deep/f": "3", "n": "", "x0": "", "x1": ""})
    git("add", "a", "d", "x0", "x1", cwd=tmp_path)
    if version != "2":
        git("add", "-N", "n", cwd=tmp_path)
        git("update-index", "--skip-worktree", "a", cwd=tmp_path)
    git("update-index", "--assume-unchanged", "d/deep/f", cwd=tmp_path)
    git("update-index", "--index-version", version, cwd=tmp_path)
    index = tmp_path / ".git" / "index"
    entries = git("ls-files", "-s", "-v", "-z", cwd=tmp_path)
    made_, _ = entries_only(index.read_bytes(), algorithm)
    assert entries_only(made_, algorithm) == (made_, frozenset())
    index.write_bytes(made_)
    assert git("ls-files", "-s", "-v", "-z", cwd=tmp_path) == entries
    known = git("ls-files", "--debug", cwd=tmp_path)
    assert set(re.findall(r"(?:ctime|mtime|ino|size): *(\S+)", known)) == {"0:0", "0"}


@pytest.mark.parametrize("content", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\1" + bytes(20), b"DIRC\0\0\0\x09" + bytes(30)])
def test_an_index_that_is_none_is_said(root: Path, content: bytes) -> None:
    (root / ".git" / "index").write_bytes(content)
    with pytest.raises(InterlockError) as caught:
        tree_hash(root)
    assert caught.value.code == "git_failed"


# Objects that are not what their names say


def _poison(root: Path, name: str, content: bytes, kind: str = "blob") -> None:
    """Put other content into the store under the name of an object."""
    path = root / ".git" / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(zlib.compress(b"%s %d\0" % (kind.encode(), len(content)) + content))


def _refused(act: Callable[[], object]) -> None:
    with pytest.raises(InterlockError) as caught:
        act()
    assert caught.value.code == "git_failed"


def test_a_blob_that_is_not_what_its_name_says_is_not_shown(root: Path, tmp_path: Path) -> None:
    """The files hold BAD, and so does the tree by its hash; the store would show GOOD."""
    head = git("rev-parse", "HEAD", cwd=root)
    write(root, {"app.py": BAD})
    tree = tree_hash(root)
    _poison(root, _bad(root), b"print('better')\n")
    _refused(lambda: diff(root, head, tree))
    _refused(lambda: contents(root, tree, ["app.py"]))
    _refused(lambda: export_tree(root, tree, tmp_path / "out"))
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def test_a_tree_or_a_commit_that_is_not_what_its_name_says_is_not_shown(root: Path, tmp_path: Path) -> None:
    head, honest = git("rev-parse", "HEAD", cwd=root), git("rev-parse", "HEAD^{tree}", cwd=root)
    write(root, {"app.py": BAD})
    tree = tree_hash(root)
    raw = bytes.fromhex(git("rev-parse", "HEAD:app.py", cwd=root))
    listed = (root / ".git" / "objects" / tree[:2] / tree[2:]).read_bytes()
    entries = zlib.decompress(listed).partition(b"\0")[2]
    _poison(root, tree, entries.replace(bytes.fromhex(_bad(root)), raw), "tree")
    for act in (
        lambda: diff(root, head, tree),
        lambda: changed_between(root, honest, tree),
        lambda: contents(root, tree, ["app.py"]),
        lambda: export_tree(root, tree, tmp_path / "out"),
    ):
        _refused(act)
    _poison(root, tree, entries, "tree")
    assert [one.path for one in changed_between(root, honest, tree)] == ["app.py"]
    said = git("cat-file", "commit", head, cwd=root).replace(honest, tree)
    _poison(root, head, f"{said}\n".encode(), "commit")
    _refused(lambda: diff(root, head, tree))
    _refused(lambda: changed_by(root, head))


def test_an_object_of_other_bytes_in_a_pack_or_an_alternate_is_not_shown(root: Path, tmp_path: Path) -> None:
    head = git("rev-parse", "HEAD", cwd=root)
    other = made(tmp_path / "other", {"x": "1"})
    write(root, {"app.py": BAD})
    name = hashlib.sha1(b"blob %d\0" % len(BAD) + BAD.encode()).hexdigest()
    _poison(other, name, GOOD.encode())
    (root / ".git" / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n")
    tree = tree_hash(root)
    _refused(lambda: diff(root, head, tree))


def test_grafts_and_replacements_show_nothing_else(root: Path) -> None:
    head, name = git("rev-parse", "HEAD", cwd=root), _bad(root)
    write(root, {"app.py": BAD})
    tree = tree_hash(root)
    git("replace", name, "HEAD:app.py", cwd=root)
    assert f"+{BAD}" in diff(root, head, tree).text
    (root / ".git" / "info" / "grafts").write_text(f"{head}\n")
    assert [one.path for one in changed_between(root, head, tree)] == ["app.py"]
