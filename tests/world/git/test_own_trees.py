"""The tree of an agent: whatever the agent does to the repository in it, only its files count."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import (
    TreeTaking,
    commit_approved,
    contents,
    keep_commits,
    make_own_tree,
    remove_own_tree,
    show_commit,
    state,
    tree_hash,
    undo,
)
from world.git.own import BRANCH, OwnTree, again, bounded, listed, lives, made_own, on_disk, settle, taken, tree_of
from world.git.repositories import ADA, git, index_of, made, picture, write
from world.git.traps import arm, trap

FILES = {"a.txt": "one\n", "d/b.txt": "two\n", "run": "#!/bin/sh\n", ".gitignore": "*.log\n"}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnTree]:
    own = made_own(tmp_path / "r", FILES)
    yield own
    subprocess.run(["rm", "-rf", own.root / ".ralf"], check=True)  # pytest cannot remove paths of so many parts


def _persons(own: OwnTree) -> tuple[object, ...]:
    """Everything that is the person's."""
    refs = git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags", cwd=own.root)
    kept = {
        name: (own.root / ".git" / name).read_bytes()
        for name in ("HEAD", "config", "index")
        if (own.root / ".git" / name).is_file()
    }
    files = {name: one for name, one in picture(own.root).items() if not name.startswith(".ralf/")}
    return refs, kept, files, index_of(own.root)


def _code(call: Callable[[], object]) -> str:
    with pytest.raises(InterlockError) as caught:
        call()
    assert caught.value.hint
    return caught.value.code


def _agent_commits(own: OwnTree, message: str = "agent") -> str:
    git("add", "-A", cwd=own.files)
    git("commit", "-q", "--allow-empty", "-m", message, cwd=own.files)
    return git("rev-parse", "HEAD", cwd=own.files)


# What is made


def test_the_files_are_those_of_the_commit_and_the_agents_git_works(own: OwnTree) -> None:
    files = {name: one for name, one in picture(own.root).items() if not name.startswith(".ralf/")}
    assert picture(own.files) == files
    assert git("status", "--porcelain", "--branch", cwd=own.files) == f"## {BRANCH}"
    assert git("log", "--format=%s", cwd=own.files) == "first"
    assert git("rev-parse", BRANCH, cwd=own.root) == own.base
    assert git("status", "--porcelain", cwd=own.root) == ""
    assert git("branch", "--show-current", cwd=own.root) == "main"
    assert state(own.files).branch == BRANCH
    assert state(own.files).is_clean
    lives(own)
    assert git("rev-parse", BRANCH, cwd=own.root) == own.base, "what the agent commits is in its own repository"
    git("fsck", "--strict", cwd=own.root)


def test_one_that_is_there_stays_as_it_is(own: OwnTree) -> None:
    write(own.files, {"a.txt": "mine\n", "new": "1"})
    made_ = _agent_commits(own)
    before = picture(own.files)
    own.make()
    assert picture(own.files) == before
    assert git("rev-parse", "HEAD", cwd=own.files) == made_


def test_a_branch_at_another_commit_is_refused_and_nothing_is_left(own: OwnTree) -> None:
    write(own.files, {"a.txt": "two\n"})
    commit = commit_approved(own.root, BRANCH, own.base, taken(own), "one\n", "k", author=ADA)
    remove_own_tree(own.root, own.files, None, own.objects)
    assert _code(own.make) == "git_branch_exists"
    assert list((own.root / ".ralf" / "trees").iterdir()) == []
    assert not os.path.lexists(own.objects)
    assert git("for-each-ref", "refs/ralf", cwd=own.root) == ""
    make_own_tree(own.root, own.files, BRANCH, commit, own.objects)
    assert (own.files / "a.txt").read_text() == "two\n"
    assert git("rev-parse", "HEAD", cwd=own.files) == commit


def test_the_tags_that_lead_to_the_commit_are_there_and_stay_when_the_person_deletes_theirs(tmp_path: Path) -> None:
    def tags(root: Path) -> None:
        git("tag", "v1", cwd=root)
        git("tag", "-a", "v2", "-m", "annotated", cwd=root)
        git("tag", os.fsdecode(b"v\xff"), cwd=root)
        git("switch", "-qc", "side", cwd=root)
        git("commit", "-q", "--allow-empty", "-m", "side", cwd=root)
        git("tag", "of-the-side", cwd=root)
        git("switch", "-q", "main", cwd=root)

    own = made_own(tmp_path / "r", FILES, before=tags)
    assert git("tag", "--list", cwd=own.files).split("\n") == ["v1", "v2", os.fsdecode(b"v\xff")]
    assert git("describe", "--tags", cwd=own.files).startswith("v")
    git("tag", "-d", "v1", "v2", os.fsdecode(b"v\xff"), "of-the-side", cwd=own.root)
    git("gc", "-q", "--prune=now", cwd=own.root)
    git("fsck", cwd=own.files)
    lives(own)


def test_a_tag_of_a_tag_leads_to_its_commit_too(tmp_path: Path) -> None:
    def tags(root: Path) -> None:
        git("tag", "-a", "inner", "-m", "inner", cwd=root)
        git("tag", "-a", "outer", "-m", "outer", "inner", cwd=root)

    own = made_own(tmp_path / "r", FILES, before=tags)
    git("tag", "-d", "inner", "outer", cwd=own.root)
    git("gc", "-q", "--prune=now", cwd=own.root)
    assert git("rev-parse", "outer^{commit}", "inner^{commit}", cwd=own.files).split() == [own.base] * 2
    git("fsck", cwd=own.files)


@pytest.mark.parametrize("name", ["plain", 'q"uote', "back\\slash", "sp ace é", "# hash", "-dash", "new\nline"])
def test_the_agents_git_works_wherever_the_repository_lies(tmp_path: Path, name: str) -> None:
    own = made_own(tmp_path / name / "r", FILES)
    assert taken(own) == tree_of(own)
    lives(own)


def test_the_agents_git_sees_its_files_as_we_do(tmp_path: Path) -> None:
    def settings(root: Path) -> None:
        git("config", "core.excludesFile", str(root.with_name("excluded")), cwd=root)
        git("config", "user.name", 'Grace "H"', cwd=root)
        write(root, {".git/info/exclude": "secret\n", ".git/info/attributes": "d/* eol=crlf\n"})
        write(root.parent, {"excluded": "x\n"})

    own = made_own(tmp_path / "r", FILES, before=settings)
    assert (own.files / "d" / "b.txt").read_bytes() == b"two\r\n"
    write(own.files, {"secret": "1", "x": "1"})
    for path in own.files.glob("*.txt"):
        path.touch()
    (own.files / "d" / "b.txt").touch()
    assert git("status", "--porcelain", cwd=own.files) == ""
    assert git("config", "user.name", cwd=own.files) == 'Grace "H"'
    assert taken(own) == tree_of(own)


def test_a_tree_whose_git_directory_is_gone_is_refused_and_the_agents_is_not_read(own: OwnTree) -> None:
    shutil.rmtree(own.files.parent / "git")
    assert _code(lambda: tree_hash(own.files)) == "no_repository"
    assert _code(lambda: state(own.files)) == "no_repository"
    assert _code(lambda: taken(own)) == "no_repository"


# What the agent does to its repository


def _poisoned_index(own: OwnTree) -> None:
    """Another blob under a good file, with the stat data of that file."""
    git("add", "-A", cwd=own.files)
    bad = git("hash-object", "-w", "--stdin", cwd=own.files, feed=b"evil\n")
    good = git("rev-parse", ":a.txt", cwd=own.files)
    index = own.clone / "index"
    content = index.read_bytes()[:-20].partition(b"TREE")[0].replace(bytes.fromhex(good), bytes.fromhex(bad))
    index.write_bytes(content + hashlib.sha1(content).digest())
    assert bad in git("ls-files", "-s", cwd=own.files)


def _bits(own: OwnTree) -> None:
    git("update-index", "--assume-unchanged", "a.txt", cwd=own.files)
    git("update-index", "--skip-worktree", "run", cwd=own.files)


def _sparse(own: OwnTree) -> None:
    """Rules that leave everything out, and files that are there all the same."""
    write(own.clone, {"info/sparse-checkout": "/nothing\n"})
    _settings(core__sparseCheckout="true")(own)
    git("-c", "core.sparseCheckout=false", "update-index", "--skip-worktree", "a.txt", "run", cwd=own.files)


def _settings(**values: str) -> Callable[[OwnTree], None]:
    def configure(own: OwnTree) -> None:
        for name, value in values.items():
            where = value.replace("TOP", str(own.root.parent)).replace("ROOT", str(own.root))
            git("config", name.replace("__", "."), where, cwd=own.files)

    return configure


def _armed(own: OwnTree) -> None:
    """A program wherever git looks for one."""
    arm(own.clone, trap(own.root.parent / "program", own.root.parent / "canary"), own.root.parent)


def _written(**files: str) -> Callable[[OwnTree], None]:
    return lambda own: write(own.clone, {name.replace("__", "/"): text for name, text in files.items()})


def _attributes(own: OwnTree) -> None:
    write(
        own.clone,
        {"info/attributes": "* eol=crlf ident working-tree-encoding=UTF-16\n*.txt filter=evil export-subst\n"},
    )
    _settings(filter__evil__clean="tr a-z A-Z", filter__evil__required="true")(own)


def _named_files(own: OwnTree) -> None:
    write(own.root.parent, {"named-attributes": "* text eol=crlf\n", "named-excludes": "*\n"})
    named = {"core__attributesFile": "TOP/named-attributes", "core__excludesFile": "TOP/named-excludes"}
    _settings(**named)(own)


def _replaced(own: OwnTree) -> None:
    good = git("rev-parse", "HEAD:a.txt", cwd=own.files)
    bad = git("hash-object", "-w", "--stdin", cwd=own.files, feed=b"evil\n")
    git("replace", "-f", good, bad, cwd=own.files)
    commit = git("commit-tree", "-m", "evil", git("mktree", cwd=own.files), cwd=own.files)
    git("replace", "-f", own.base, commit, cwd=own.files)


def _other_objects(own: OwnTree) -> None:
    """Objects of another repository, and one of them under a wrong name."""
    other = made(own.root.parent / "other", {"x": "1"})
    name = git("rev-parse", f"{own.base}:a.txt", cwd=own.root)
    poisoned = other / ".git" / "objects" / name[:2] / name[2:]
    poisoned.parent.mkdir(exist_ok=True)
    poisoned.write_bytes(zlib.compress(b"blob 5\0evil\n"))
    (own.clone / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n{own.objects}\n")


def _poisoned_objects(own: OwnTree) -> None:
    """Its own store has other content under the names of the objects of the base and of its own commit."""
    for name, kind in ((own.base, "commit"), (git("rev-parse", "HEAD^{tree}", cwd=own.files), "tree")):
        path = own.clone / "objects" / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(zlib.compress(f"{kind} 0\0".encode()))


def _without(name: str) -> Callable[[OwnTree], None]:
    def remove(own: OwnTree) -> None:
        path = own.clone / name if name else own.clone
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return remove


def _in_the_place_of(name: str, put: Callable[[Path, OwnTree], None]) -> Callable[[OwnTree], None]:
    def replace(own: OwnTree) -> None:
        _without(name)(own)
        put(own.clone / name if name else own.clone, own)

    return replace


def _refs_moved(own: OwnTree) -> None:
    other = git("commit-tree", "-m", "other", git("mktree", cwd=own.files), cwd=own.files)
    git("update-ref", f"refs/heads/{BRANCH}", other, cwd=own.files)
    git("update-ref", "refs/heads/main", other, cwd=own.files)
    git("update-ref", "refs/ralf/k", other, cwd=own.files)


def _branch_in_the_way(own: OwnTree) -> None:
    git("switch", "-q", "--detach", cwd=own.files)
    git("branch", "-D", BRANCH, cwd=own.files)
    git("branch", f"{BRANCH}/below", cwd=own.files)


def _grafts(own: OwnTree) -> None:
    head = git("rev-parse", "HEAD", cwd=own.files)
    write(own.clone, {"info/grafts": f"{head}\n", "shallow": f"{head}\n"})


def _bare_shell(own: OwnTree) -> None:
    """A repository made anew in the place of the clone."""
    shutil.rmtree(own.clone)
    git("init", "-q", "-b", "main", cwd=own.files)
    git("add", "-A", cwd=own.files)
    git("commit", "-qm", "of its own", cwd=own.files)


def _stale_locks(own: OwnTree) -> None:
    for name in ("index.lock", "HEAD.lock", "packed-refs.lock", "config.lock"):
        (own.clone / name).touch()


def _names_of_ours(own: OwnTree) -> None:
    """The names that a removal once gave to directories on its way."""
    for number in range(9):
        write(own.clone, {f"ralph-going-{number}/x/y": "1"})


def _head(content: str) -> Callable[[OwnTree], None]:
    return _in_the_place_of("HEAD", lambda path, _: write(path.parent, {"HEAD": content}))


ATTACKS: dict[str, Callable[[OwnTree], None]] = {
    "an index with another blob": _poisoned_index,
    "bits of the index": _bits,
    "no index": _without("index"),
    "an index that is none": _in_the_place_of("index", lambda path, _: write(path.parent, {"index": b"DIRC"})),
    "programs everywhere": _armed,
    "attributes and a filter": _attributes,
    "everything excluded": _written(info__exclude="*\n"),
    "files of attributes and excludes": _named_files,
    "replaced objects": _replaced,
    "grafts": _grafts,
    "objects of another repository": _other_objects,
    "poisoned objects": _poisoned_objects,
    "no alternates": _without("objects/info/alternates"),
    "alternates that lead nowhere": _written(objects__info__alternates="/nowhere\n"),
    "another work tree": _settings(core__worktree="ROOT"),
    "other conversions": _settings(
        core__autocrlf="true", core__eol="crlf", core__fileMode="false", core__symlinks="false"
    ),
    "a monitor of files": _settings(core__fsmonitor="echo /", core__untrackedCache="true", core__trustctime="false"),
    "a bare repository": _settings(core__bare="true"),
    "another format": _settings(extensions__objectFormat="sha256", core__repositoryFormatVersion="7"),
    "a configuration that is none": _written(config="[core\n\0"),
    "sparse rules": _sparse,
    "refs that moved": _refs_moved,
    "a branch in the way": _branch_in_the_way,
    "no refs": _without("refs"),
    "no HEAD": _without("HEAD"),
    "a HEAD that is a FIFO": _in_the_place_of("HEAD", lambda path, _: os.mkfifo(path)),
    "a HEAD that is a directory": _in_the_place_of("HEAD", lambda path, _: path.mkdir()),
    "a HEAD that is a link": _in_the_place_of("HEAD", lambda path, own: path.symlink_to(own.root / ".git" / "HEAD")),
    "a HEAD that leads out": _head("ref: refs/heads/../../../../../.git/refs/heads/main\n"),
    "a HEAD that is a path": _head("ref: ../../x\n"),
    "a HEAD that is an option": _head("ref: refs/heads/--all\n"),
    "a HEAD that is an expression": _head("ref: refs/heads/main..HEAD\n"),
    "no repository": _without(""),
    "a file that leads to the main repository": _in_the_place_of(
        "", lambda path, own: write(path.parent, {".git": f"gitdir: {own.root}/.git\n"})
    ),
    "a link to the main repository": _in_the_place_of("", lambda path, own: path.symlink_to(own.root / ".git")),
    "a link to nowhere": _in_the_place_of("", lambda path, _: path.symlink_to("/nowhere/at/all")),
    "a FIFO for a repository": _in_the_place_of("", lambda path, _: os.mkfifo(path)),
    "objects by a link": _in_the_place_of("objects", lambda path, own: path.symlink_to(own.root / ".git" / "objects")),
    "refs by a link": _in_the_place_of("refs", lambda path, own: path.symlink_to(own.root / ".git" / "refs")),
    "another repository": _bare_shell,
    "locks that were left": _stale_locks,
    "names of ours": _names_of_ours,
}


def _work(own: OwnTree) -> None:
    """What an agent does to its files; the filter that they name is nowhere but in its own configuration."""
    write(
        own.files, {"a.txt": "changed\n", "new.txt": "$Id$\n", "crlf": b"1\r\n", ".gitattributes": "n* filter=evil\n"}
    )
    (own.files / "d" / "b.txt").unlink()
    (own.files / "link").symlink_to("/etc/passwd")


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_in_the_agents_repository_changes_what_is_taken_and_committed(own: OwnTree, name: str) -> None:
    git("tag", "of-the-person", cwd=own.root)
    _work(own)
    taking = TreeTaking()
    honest = taking.take(own.files)
    _agent_commits(own)
    before = _persons(own)
    ATTACKS[name](own)
    assert taking.take(own.files) == honest
    assert TreeTaking().take(own.files) == honest
    assert tree_hash(own.files) == honest.tree
    write(own.files, {"later": "1"})
    later = taking.take(own.files)
    assert later == TreeTaking().take(own.files)
    assert listed(own, later.tree).keys() - listed(own, honest.tree).keys() == {"later"}
    assert _persons(own) == before
    made_ = commit_approved(own.root, BRANCH, own.base, later.tree, "approved\n", "k", author=ADA)
    assert git("rev-parse", f"{made_}^{{tree}}", f"{made_}^", BRANCH, cwd=own.root).split() == [
        later.tree,
        own.base,
        made_,
    ]
    assert contents(own.root, made_, ["a.txt", "crlf"]) == {"a.txt": b"changed\n", "crlf": b"1\r\n"}
    git("fsck", "--strict", cwd=own.root)
    assert not (own.root.parent / "canary").exists()


@pytest.mark.parametrize("name", ATTACKS)
def test_commits_of_the_agent_are_kept_whole_or_refused(own: OwnTree, name: str) -> None:
    _work(own)
    commit = _agent_commits(own)
    before = _persons(own)
    ATTACKS[name](own)
    try:
        kept = keep_commits(own.files, "agent")
    except InterlockError as error:
        assert error.code == "git_failed"  # noqa: PT017 it may be refused
        kept = None
    found = git("for-each-ref", "--format=%(objectname)", "refs/ralf/agent", cwd=own.root)
    assert found == (kept or "")
    assert _persons(own) == before
    git("fsck", "--strict", cwd=own.root)
    assert not (own.root.parent / "canary").exists()
    if kept == commit:
        assert git("show", f"{kept}:a.txt", cwd=own.root) == "changed"


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "programs everywhere"])
def test_the_agents_repository_works_again_when_a_commit_is_shown(own: OwnTree, name: str) -> None:
    _work(own)
    _agent_commits(own)
    ATTACKS[name](own)
    before = _persons(own)
    files = picture(own.files)
    show_commit(own.files, own.base)
    assert not own.clone.is_symlink()
    assert picture(own.files) == files
    assert git("rev-parse", "HEAD", BRANCH, cwd=own.files).split() == [own.base] * 2
    assert git("branch", "--show-current", cwd=own.files) == BRANCH
    assert git("log", "--format=%s", cwd=own.files) == "first"
    assert git("diff", "--cached", "--name-only", cwd=own.files) == ""
    assert "a.txt" in git("diff", "--name-only", cwd=own.files).split()
    lives(own)
    assert _persons(own) == before
    git("fsck", cwd=own.root)


# What the agent committed


def test_what_the_agent_committed_is_kept_with_its_history(own: OwnTree) -> None:
    assert keep_commits(own.files, "agent") is None
    write(own.files, {"a.txt": "2\n"})
    _agent_commits(own, "one")
    git("switch", "-qc", "elsewhere", cwd=own.files)
    (own.files / "big").write_bytes(os.urandom(200_000))
    tip = _agent_commits(own, "two")
    assert keep_commits(own.files, "agent") == tip
    assert keep_commits(own.files, "agent") == tip, "it can be called again"
    assert git("log", "--format=%s", "refs/ralf/agent", cwd=own.root).split() == ["two", "one", "first"]
    shutil.rmtree(own.clone)
    git("fsck", "--strict", cwd=own.root)
    assert git("rev-parse", BRANCH, cwd=own.root) == own.base


def test_commits_are_kept_when_the_agent_packed_and_collected_them_and_with_a_detached_head(own: OwnTree) -> None:
    write(own.files, {"a.txt": "2\n"})
    tip = _agent_commits(own)
    git("switch", "-q", "--detach", cwd=own.files)
    git("gc", "-q", "--prune=now", cwd=own.files)
    git("pack-refs", "--all", cwd=own.files)
    assert keep_commits(own.files, "agent") == tip


def test_a_commit_whose_objects_are_not_all_there_is_refused(own: OwnTree) -> None:
    write(own.files, {"a.txt": "2\n"})
    tip = _agent_commits(own)
    blob = git("rev-parse", "HEAD:a.txt", cwd=own.files)
    (own.clone / "objects" / blob[:2] / blob[2:]).unlink()
    assert _code(lambda: keep_commits(own.files, "agent")) == "git_failed"
    path = own.clone / "objects" / blob[:2] / blob[2:]
    path.write_bytes(zlib.compress(b"blob 5\0evil\n"))
    assert _code(lambda: keep_commits(own.files, "agent")) == "git_failed"
    path.unlink()
    path.write_bytes(zlib.compress(b"blob 2\x002\n"))
    assert keep_commits(own.files, "agent") == tip


def _fifo(name: str) -> Callable[[OwnTree], None]:
    def put(own: OwnTree) -> None:
        path = own.clone / name
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)

    return put


@pytest.mark.parametrize("name", [f"refs/heads/{BRANCH}", "packed-refs", "objects/info/alternates", "shallow"])
def test_a_fifo_in_the_agents_repository_is_refused_at_once(
    own: OwnTree, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _work(own)
    _agent_commits(own)
    if name == "packed-refs":
        (own.clone / "HEAD").write_text("ref: refs/heads/other\n")
    _fifo(name)(own)
    bounded(monkeypatch)
    with pytest.raises(InterlockError) as caught:
        keep_commits(own.files, "agent")
    assert caught.value.code == "git_failed"
    assert "did not finish" not in caught.value.message


def test_objects_of_another_repository_of_the_person_are_not_brought_in(own: OwnTree, tmp_path: Path) -> None:
    """The agent may not be able to read it; we are."""
    other = made(tmp_path / "private", {"secret": "1"})
    (own.clone / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n{own.objects}\n")
    (own.clone / "refs" / "heads" / BRANCH).unlink()
    (own.clone / "refs" / "heads" / BRANCH).symlink_to(other / ".git" / "refs" / "heads" / "main")
    assert _code(lambda: keep_commits(own.files, "agent")) == "git_failed"
    assert git("for-each-ref", "refs/ralf/agent", cwd=own.root) == ""


# The commit that a person approved


def test_an_approved_tree_is_one_commit_and_what_the_branch_had_is_kept(own: OwnTree) -> None:
    write(own.files, {"a.txt": "2\n"})
    first = taken(own)
    before = picture(own.root / "d"), index_of(own.root)
    one = commit_approved(own.root, BRANCH, own.base, first, "one\n", "k", author=ADA)
    assert commit_approved(own.root, BRANCH, own.base, first, "one\n", "k", author=ADA) == one
    assert git("log", "--format=%s %an", BRANCH, cwd=own.root).split("\n") == ["one Ada", "first ada@example.org"]
    assert (picture(own.root / "d"), index_of(own.root)) == before
    assert git("for-each-ref", "refs/ralf/k", cwd=own.root) == ""
    write(own.files, {"a.txt": "3\n"})
    two = commit_approved(own.root, BRANCH, own.base, taken(own), "two\n", "k", author=ADA)
    write(own.files, {"a.txt": "4\n"})
    three = commit_approved(own.root, BRANCH, own.base, taken(own), "three\n", "k", author=ADA)
    assert git("rev-parse", BRANCH, cwd=own.root) == three
    kept = git("for-each-ref", "--format=%(objectname)", "refs/ralf", cwd=own.root).split()
    assert {one, two} <= set(kept), "a name that holds something else is not overwritten"


def test_an_approved_tree_is_committed_where_the_person_deleted_the_branch(own: OwnTree) -> None:
    git("branch", "-D", BRANCH, cwd=own.root)
    made_ = commit_approved(own.root, BRANCH, own.base, tree_of(own), "one\n", "k", author=ADA)
    assert git("rev-parse", BRANCH, cwd=own.root) == made_


@pytest.mark.parametrize("tree", ["HEAD^{tree}", "main", "", "0" * 40])
def test_only_the_whole_hash_of_a_tree_is_committed(own: OwnTree, tree: str) -> None:
    assert _code(lambda: commit_approved(own.root, BRANCH, own.base, tree, "x\n", "k", author=ADA)) == "git_failed"
    assert git("rev-parse", BRANCH, cwd=own.root) == own.base


# A tree that goes and comes back


def test_a_tree_goes_and_comes_back(own: OwnTree) -> None:
    _work(own)
    write(own.files, {"x.log": "ignored", 'sp ace/\nq"': "1", "run": "#!/bin/sh\nexit 1\n"})
    (own.files / "run").chmod(0o755)
    made(own.files / "inner", {"x": "1"})
    before, tree = picture(own.files), taken(own)
    kept = remove_own_tree(own.root, own.files, "k", own.objects)
    assert kept is not None
    assert (kept.name, kept.head) == ("k", own.base)
    assert not own.files.parent.exists()
    assert not os.path.lexists(own.objects)
    assert remove_own_tree(own.root, own.files, "k", own.objects) == kept, "it can be called again"
    assert git("for-each-ref", "--format=%(refname)", "refs/ralf", cwd=own.root) == "refs/ralf/k"
    assert git("status", "--porcelain", cwd=own.root) == ""
    git("branch", "-D", BRANCH, cwd=own.root)
    git("gc", "-q", "--prune=now", cwd=own.root)
    for _ in range(2):
        assert undo(own.root, "k") == kept
        assert picture(own.files) == {name: one for name, one in before.items() if name != "x.log"}
        assert taken(own) == tree
    lives(own)


def test_a_tree_goes_without_being_kept(own: OwnTree) -> None:
    write(own.files, {"n": "1"})
    assert remove_own_tree(own.root, own.files, None, own.objects) is None
    assert remove_own_tree(own.root, own.files, None, own.objects) is None
    assert list((own.root / ".ralf" / "trees").iterdir()) == []
    assert git("for-each-ref", "refs/ralf", cwd=own.root) == ""


def _closed(own: OwnTree) -> None:
    write(own.files, {"closed/inner/x": "1"})
    (own.files / "closed" / "inner").chmod(0)
    (own.files / "closed").chmod(0)


def _long(own: OwnTree) -> None:
    """A path that is longer than the system takes at once."""
    place = os.open(own.files, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("x" * 200, dir_fd=place)
        place, above = os.open("x" * 200, os.O_RDONLY, dir_fd=place), place
        os.close(above)
    os.close(place)


def _deep(own: OwnTree) -> None:
    """More directories in each other than Python calls functions."""
    place = os.open(own.files, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("x", dir_fd=place)
        place, above = os.open("x", os.O_RDONLY, dir_fd=place), place
        os.close(above)
    os.close(place)


def _fifo_for_a_file(own: OwnTree) -> None:
    (own.files / "a.txt").unlink()
    os.mkfifo(own.files / "a.txt")


def _fifo_in_a_repository(own: OwnTree) -> None:
    made(own.files / "inner")
    os.mkfifo(own.files / "inner" / "fifo")


def _names_of_git(own: OwnTree) -> None:
    write(own.files, {"s/.GIT/x": "1", "s/git~1": "1"})


LEFT: dict[str, Callable[[OwnTree], None]] = {
    "closed directories": _closed,
    "a path that is too long": _long,
    "a path of many parts": _deep,
    "a FIFO for a file": _fifo_for_a_file,
    "a FIFO in a repository": _fifo_in_a_repository,
    "names that git refuses": _names_of_git,
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", ATTACKS)
def test_a_tree_goes_whatever_became_of_the_agents_repository(own: OwnTree, name: str) -> None:
    write(own.files, {"n": "1"})
    ATTACKS[name](own)
    assert remove_own_tree(own.root, own.files, "k", own.objects) is not None
    assert git("show", "refs/ralf/k:files/n", cwd=own.root) == "1"
    assert not own.files.parent.exists()


@pytest.mark.parametrize("name", LEFT)
def test_a_tree_goes_whatever_the_agent_left_in_it(own: OwnTree, name: str) -> None:
    write(own.files, {"n": "1"})
    LEFT[name](own)
    kept = remove_own_tree(own.root, own.files, "k", own.objects)
    assert kept is not None
    assert git("show", "refs/ralf/k:files/n", cwd=own.root) == "1"
    work = git("ls-tree", "-r", "--name-only", "-z", "refs/ralf/k:files", cwd=own.root).split("\0")
    present = {path for path in kept.paths if path != "a.txt" and path != "d/b.txt"}
    assert present <= set(work), "only what is kept is said to be"
    assert not own.files.parent.exists()


def test_a_link_in_the_place_of_a_directory_leads_no_removal_out(own: OwnTree, tmp_path: Path) -> None:
    write(tmp_path / "outside", {"x": "1"})
    (tmp_path / "outside").chmod(0o500)
    shutil.rmtree(own.files / "d")
    (own.files / "d").symlink_to(tmp_path / "outside")
    remove_own_tree(own.root, own.files, "k", own.objects)
    assert (tmp_path / "outside" / "x").read_text() == "1"
    assert (tmp_path / "outside").stat().st_mode & 0o777 == 0o500


# The person meanwhile


def test_the_person_deletes_the_branch(own: OwnTree) -> None:
    git("config", "filter.lfs.clean", "git-lfs clean -- %f", cwd=own.root)
    write(own.files, {"n": "1"})
    taking = TreeTaking()
    before = taking.take(own.files)
    git("branch", "-D", BRANCH, cwd=own.root)
    assert taking.take(own.files) == before
    assert TreeTaking().take(own.files) == before
    write(own.files, {"n": "2"})
    assert taking.take(own.files) == TreeTaking().take(own.files) != before


def test_the_person_deletes_the_branch_and_the_agents_commits_are_kept(own: OwnTree) -> None:
    write(own.files, {"n": "1"})
    tip = _agent_commits(own)
    git("branch", "-D", BRANCH, cwd=own.root)
    assert keep_commits(own.files, "agent") == tip


def test_the_person_deletes_the_branch_and_the_tree_is_removed_and_comes_back(own: OwnTree) -> None:
    write(own.files, {"n": "1"})
    git("branch", "-D", BRANCH, cwd=own.root)
    assert remove_own_tree(own.root, own.files, "k", own.objects) is not None
    undo(own.root, "k")
    assert (own.files / "n").read_text() == "1"


def test_the_person_deletes_the_branch_and_it_is_made_again(own: OwnTree) -> None:
    write(own.files, {"n": "1"})
    git("branch", "-D", BRANCH, cwd=own.root)
    own.make()
    assert git("rev-parse", BRANCH, cwd=own.root) == own.base
    assert (own.files / "n").read_text() == "1"


def _collect(own: OwnTree) -> None:
    git("reflog", "expire", "--expire=now", "--all", cwd=own.root)
    git("repack", "-adq", cwd=own.root)
    git("gc", "-q", "--prune=now", cwd=own.root)
    git("prune", "--expire=now", cwd=own.root)


def test_the_person_deletes_everything_and_collects_it(tmp_path: Path) -> None:
    def prepare(root: Path) -> None:
        git("switch", "-qc", "feature", cwd=root)
        write(root, {"f": "1"})
        git("add", "-A", cwd=root)
        git("commit", "-qm", "feature", cwd=root)
        git("tag", "v1", cwd=root)

    own = made_own(tmp_path / "r", FILES, before=prepare)
    git("switch", "-q", "main", cwd=own.root)
    git("branch", "-D", "feature", BRANCH, cwd=own.root)
    git("tag", "-d", "v1", cwd=own.root)
    _collect(own)
    assert git("log", "--format=%s", cwd=own.files).split() == ["feature", "first"]
    git("fsck", cwd=own.files)
    assert taken(own) == git("rev-parse", f"{own.base}^{{tree}}", cwd=own.root)
    lives(own)
    remove_own_tree(own.root, own.files, None, own.objects)
    _collect(own)
    git("fsck", cwd=own.root)


@pytest.fixture
def own_on_disk() -> Iterator[OwnTree]:
    """Where a file that did not change is not read again."""
    with on_disk() as place:
        yield made_own(place / "r", FILES)


def test_a_taken_tree_is_there_after_the_person_collected(own_on_disk: OwnTree) -> None:
    own = own_on_disk
    write(own.files, {"n": "1", "e/m": "2"})
    settle(own)
    taking = TreeTaking()
    before = taking.take(own.files)
    _collect(own)
    assert taking.take(own.files) == before
    assert git("cat-file", "-t", before.tree, cwd=own.root) == "tree"
    write(own.files, {"n": "3"})
    settle(own)
    _collect(own)
    after = taking.take(own.files)
    assert after == TreeTaking().take(own.files)
    commit_approved(own.root, BRANCH, own.base, after.tree, "x\n", "k", author=ADA)
    git("fsck", "--strict", cwd=own.root)


def test_what_the_agent_commits_of_a_taken_tree_is_there_after_the_person_collected(own: OwnTree) -> None:
    """Git does not write an object again that it finds in the repository that it shares."""
    write(own.files, {"n": "1", "e/m": "2"})
    TreeTaking().take(own.files)
    tip = _agent_commits(own)
    _collect(own)
    git("fsck", cwd=own.files)
    assert keep_commits(own.files, "agent") == tip


def test_a_commit_that_is_shown_is_there_after_the_person_deleted_it(own: OwnTree) -> None:
    write(own.files, {"n": "1"})
    commit = commit_approved(own.root, BRANCH, own.base, taken(own), "x\n", "k", author=ADA)
    show_commit(own.files, commit)
    git("branch", "-D", BRANCH, cwd=own.root)
    _collect(own)
    lives(own)


def test_the_repository_moves_with_its_trees(own: OwnTree) -> None:
    write(own.files, {"n": "1"})
    before = taken(own)
    moved = own.root.with_name("moved")
    own.root.rename(moved)
    there = again(moved, own.objects)
    assert taken(there) == before
    lives(there)
    git("fsck", cwd=there.files)
    assert keep_commits(there.files, "agent") == git("rev-parse", "HEAD", cwd=there.files)
    kept = remove_own_tree(there.root, there.files, "k", there.objects)
    assert kept is not None
    assert not there.files.exists()


def test_a_repository_that_moves_takes_its_removed_trees_along(own: OwnTree) -> None:
    write(own.files, {"n": "1"})
    kept = remove_own_tree(own.root, own.files, "k", own.objects)
    moved = own.root.with_name("moved")
    own.root.rename(moved)
    files = moved / own.files.relative_to(own.root)
    assert remove_own_tree(moved, files, "k", own.objects) == kept
    undo(moved, "k")
    assert not own.root.exists()
    assert (files / "n").read_text() == "1"


def test_the_person_sees_nothing_of_it(own: OwnTree) -> None:
    before = _persons(own)
    git("worktree", "prune", cwd=own.root)
    _work(own)
    taken(own)
    _agent_commits(own)
    keep_commits(own.files, "agent")
    git("worktree", "prune", cwd=own.root)
    assert git("status", "--porcelain", cwd=own.root) == ""
    assert git("stash", "list", cwd=own.root) == ""
    assert git("worktree", "list", cwd=own.root).count("\n") == 0
    assert _persons(own) == before
    git("clean", "-ffdq", cwd=own.root)
    assert (own.files / "new.txt").exists()
