"""The tree of an agent: files that we take, and a git repository in it that is the agent's and counts for nothing.

    ID/files        what the agent works in
    ID/files/.git   the agent's: a clone that shares our objects, in which it may do anything
    ID/git          ours, as the git directory of a linked work tree: HEAD and index

Every verb of this package that is given `ID/files` uses `ID/git` (`settings.find`), so the agent's configuration,
index, hooks, attributes, refs and replaced objects are never read.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from interlock.errors import InterlockError
from interlock.world.git.branches import create_branch, our_branch, refuse_reftable, taken, the_commit, tip_of
from interlock.world.git.kept import OURS, KeptWork, about, kept_series, kept_under, ref_of
from interlock.world.git.private import GitRoot, Repository, borrowed, opened, private_directory
from interlock.world.git.references import loose_ref
from interlock.world.git.status import branch_of, head_of
from interlock.world.git.taking import TreeTaking, note_unusual

__all__ = [
    "finished_trees",
    "keep_commits",
    "make_own_tree",
    "protected",
    "remove_own_tree",
    "show_commit",
    "show_made",
    "tree_names",
]

_SECONDS = 3600.0
"""For a checkout of everything: a large repository on a slow disk takes minutes."""
_MOST_BYTES = 1 << 30
_MOST_FILES = 200_000
_CONFIGURED = """
    core.autocrlf core.checkroundtripencoding core.eol core.excludesfile core.filemode core.ignorecase
    core.precomposeunicode core.sparsecheckout core.sparsecheckoutcone core.symlinks user.email user.name
""".split()
"""The settings of the repository that the agent's own git needs to read its files as we do, and to commit."""
_SHARED = "objects"
"""The file of `ID/git` with the path by which the clone finds our objects."""
_HEAD = re.compile(rb"ref: (refs/[\x21-\x7e]{1,500})\n?|([0-9a-f]{40}|[0-9a-f]{64})\n?")


def make_own_tree(root: Path, files: Path, branch: str, at: str, objects: Path) -> None:
    """Make an agent's tree at a commit, for the branch `ralf/…`, which is made if it is not there.

    One that is there stays as it is. `objects` is the path by which the agent's clone finds the objects that it shares
    with the repository: a link that this makes, so that both can be moved. Files with a filter, such as those of Git
    LFS, come out as they are stored. After a crash it can be called again.
    """
    home = files.parent
    with opened(root) as repository:
        base = branch_of(repository)
        our_branch(repository, branch)
        the_commit(repository, at)
        refuse_reftable(repository)
        tip = tip_of(repository, branch)
        known = protected(repository, home.name)
        if not home.is_dir() and tip not in (None, at) and known is None:
            raise taken(repository, branch, branch)
        if tip is None:  # also if the person deleted it
            tip = known if home.is_dir() and known is not None else at
            create_branch(repository, branch, tip)
        _link_objects(repository, objects)
        if home.is_dir():
            return
        _protect(repository, home.name, tip)
        making = home.with_name(f"{home.name}.making")
        _remove_whole(making)  # what a crash left
        _make_ours(repository, making, branch, objects)
    with opened(making / files.name) as repository:
        index = making / "git" / "index"
        repository.run("read-tree", "-m", "-u", tip, index=index, seconds=_SECONDS)
        note_unusual(repository, index)
        _make_theirs(repository, branch, tip, base)
    _sync(making)
    making.rename(home)


def _link_objects(repository: Repository, objects: Path) -> None:
    wanted = str(repository.common.resolve() / "objects")
    with suppress(OSError):
        if os.readlink(objects) == wanted:  # noqa: PTH115
            return
    objects.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = objects.with_name(f"{objects.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(wanted)
    new.replace(objects)


def protected(repository: Repository, name: str) -> str | None:
    """The commit that a tree has checked out, whose objects are kept for its clone."""
    ref = ref_of(repository, f"trees/{name}/base")
    return loose_ref(repository, ref) or repository.found("rev-parse", "--verify", "--quiet", ref)


def _protect(repository: Repository, name: str, commit: str) -> None:
    """Keep the objects that a clone shares, whatever the person deletes and collects."""
    if protected(repository, name) != commit:
        ref = ref_of(repository, f"trees/{name}/base")
        repository.run("update-ref", "-m", "tree by ralph", ref, commit, environment=OURS)


def _base_of(repository: Repository, name: str) -> str:
    """The commit of the branch, or where it began if the person deleted the branch."""
    head = head_of(repository) or protected(repository, name)
    if head is None:
        message = f"Neither the branch of the tree {name} nor the commit that it began on is there."
        raise InterlockError("git_failed", message, "`git reflog` has the commits of the branch.")
    return head


def _make_ours(repository: Repository, home: Path, branch: str, objects: Path) -> None:
    git, files = home / "git", home / "files"
    (git / "logs").mkdir(parents=True)
    (git / "info").mkdir()
    files.mkdir()
    (git / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8", errors="surrogateescape")
    (git / "commondir").write_bytes(os.fsencode(os.path.relpath(repository.common.resolve(), git.resolve())))
    (git / _SHARED).write_bytes(os.fsencode(objects))
    for name in ("info/sparse-checkout", "config.worktree"):
        source = repository.git_directory / name
        if source.is_file():
            shutil.copyfile(source, git / name)


# The agent's repository


def _make_theirs(repository: Repository, branch: str, at: str, base: str | None = None) -> None:
    """Make the agent's own repository: a clone, written by us so that nothing of it runs."""
    place, ours = repository.work_tree / ".git", repository.git_directory
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "objects" / "info" / "alternates").write_bytes(_alternates((ours / _SHARED).read_bytes()))
    (place / "config").write_text(_configuration(repository), encoding="utf-8", errors="surrogateescape")
    for directory, names in ((repository.common, ("shallow", "info/exclude", "info/attributes")), (ours, ("index",))):
        for name in names:
            if (directory / name).is_file():
                shutil.copyfile(directory / name, place / name)
    if (ours / "info" / "sparse-checkout").is_file():
        shutil.copyfile(ours / "info" / "sparse-checkout", place / "info" / "sparse-checkout")
    (place / "packed-refs").write_bytes(_refs(repository, at, base if base != branch else None))
    (place / "refs" / "heads" / branch).parent.mkdir(parents=True, exist_ok=True)
    (place / "refs" / "heads" / branch).write_text(f"{at}\n", encoding="ascii")
    (place / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8")


def _alternates(objects: bytes) -> bytes:
    """The line that names a directory of objects; one that git could misread is quoted as it expects."""
    if b"\n" not in objects and not objects.startswith((b'"', b"#")):
        return objects + b"\n"
    escaped = objects.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"\n'


def _configuration(repository: Repository) -> str:
    known = {one.name: one.value for one in repository.settings if not one.is_users and one.name in _CONFIGURED}
    if repository.algorithm != "sha1":
        known["extensions.objectformat"] = repository.algorithm
    whole = {"core.repositoryformatversion": "1", "core.bare": "false", "core.logallrefupdates": "true", **known}
    lines = []
    for name, value in whole.items():
        section, _, key = name.partition(".")
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        lines.append(f'[{section}]\n\t{key} = "{escaped}"\n')
    return "".join(lines)


def _refs(repository: Repository, at: str, base: str | None) -> bytes:
    """The branch that the work began on and the tags that lead to its commit, as packed refs.

    Agents compare their work with the branch, and tools make a version of the tags. Each ref names a commit that the
    clone needs anyway, so that it stays whole when the person deletes a branch or a tag.
    """
    found = _tags(repository, at) if _may_have_tags(repository) else {}
    if base is not None:
        found |= {os.fsencode(f"{where}/{base}"): at.encode() for where in ("refs/heads", "refs/remotes/origin")}
    lines = b"".join(name + b" " + ref + b"\n" for ref, name in sorted(found.items()))
    return b"# pack-refs with: peeled fully-peeled sorted \n" + lines


def _tags(repository: Repository, at: str) -> dict[bytes, bytes]:
    """The tags that lead to a commit or to one before it, each with the object that it finally names."""
    merged = repository.ask("for-each-ref", f"--merged={at}", "--format=%(refname)", "refs/tags").output.split()
    shown = (line.split(b" ", 1) for line in repository.ask("show-ref", "--tags", "-d").output.splitlines())
    tags = {ref.removesuffix(b"^{}"): name for name, ref in shown}  # what a tag leads to comes after the tag
    return {ref: tags[ref] for ref in merged if ref in tags}


def _may_have_tags(repository: Repository) -> bool:
    packed = repository.common / "packed-refs"
    if packed.exists() and b" refs/tags/" in packed.read_bytes():
        return True
    return any(names for _, _, names in os.walk(repository.common / "refs" / "tags"))


def show_commit(files: Path, commit: str) -> None:
    """Let our index and the agent's repository have a commit of ours checked out; no file is touched.

    The agent's repository is made again; `keep_commits` keeps what it has. The agent must not be running.
    """
    with opened(files) as repository:
        _protect(repository, files.parent.name, commit)
        index = repository.git_directory / "index.ralph-new"
        repository.run("read-tree", "-m", commit, index=index)
        index.replace(repository.git_directory / "index")
        show_made(repository, commit)


def show_made(repository: Repository, commit: str) -> None:
    """The same, for a commit that our index has already and that is protected."""
    _remove_whole(repository.work_tree / ".git")
    _make_theirs(repository, _branch(repository), commit)


def _branch(repository: Repository) -> str:
    written = (repository.private / "plain" / "HEAD").read_text(encoding="utf-8", errors="surrogateescape")
    return written.strip().removeprefix("ref: refs/heads/")


def _is_directory(place: Path) -> bool:
    return place.is_dir() and not place.is_symlink()


def keep_commits(root: GitRoot, name: str) -> str | None:
    """Keep what an agent committed in its own repository under `refs/ralf/<name>`; gives the commit.

    Its objects are checked when they come in, and no ref of the agent is trusted. None if it committed nothing. Raises
    `git_failed` if its repository cannot be read, or leads out of itself. The agent must not be running.
    """
    with opened(root) as repository:
        files = repository.work_tree
        ref, place = ref_of(repository, name), files / ".git"
        base = _base_of(repository, files.parent.name)
        wanted = _head_of(repository, place)
        if _named(place, wanted) == base:
            return None
        with borrowed(repository, place) as theirs, private_directory() as beside:
            tip = theirs.found("rev-parse", "--verify", "--quiet", "--end-of-options", f"{wanted}^{{commit}}")
            if tip is None or theirs.ask("merge-base", "--is-ancestor", tip, base).status == 0:
                return None
            pack = beside / "commits.pack"
            words = ("pack-objects", "--revs", "--stdout", "--quiet", "--thin")
            made = theirs.ask(*words, feed=f"{tip}\n^{base}\n".encode(), output=str(pack))
            if made.status != 0 or pack.stat().st_size > _MOST_BYTES:
                raise _unreadable(files, made.said[-200:] or "its commits are larger than 1 GB")
            checked = repository.ask("index-pack", "--strict", "--stdin", "--fix-thin", source=str(pack))
        if checked.status != 0:
            raise _unreadable(files, checked.said[-200:])
        repository.run("update-ref", "-m", "kept by ralph", ref, tip, environment=OURS)
        return tip


def _head_of(repository: Repository, place: Path) -> str:
    """What the HEAD of an agent's repository names; refuses a repository that is not plain files of its own."""
    files = place.parent
    if not _is_directory(place):
        raise _unreadable(files, "there is no directory `.git`")
    for number, (path, mode) in enumerate(_walked(place)):
        if number > _MOST_FILES:
            raise _unreadable(files, f"it has more than {_MOST_FILES} files")
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise _unreadable(files, f"{os.fsdecode(path)!r} in it is neither a file nor a directory")
    try:
        said = _HEAD.fullmatch(_read(place / "HEAD"))
        shared = _read(place / "objects" / "info" / "alternates")
    except OSError as error:
        raise _unreadable(files, error.strerror or error) from None
    if shared != _alternates((repository.git_directory / _SHARED).read_bytes()):
        raise _unreadable(files, "it takes objects from elsewhere")
    if said is None:
        raise _unreadable(files, "its HEAD names no branch")
    return os.fsdecode(said[1] or said[2])


def _named(place: Path, wanted: str) -> str | None:
    """The commit that a ref of an agent names, if the ref is a file of its own; a hash names itself."""
    if not wanted.startswith("refs/"):
        return wanted
    with suppress(OSError):
        return _read(place / wanted).decode("ascii", "replace").strip()
    return None


def _walked(place: Path) -> Iterator[tuple[bytes, int]]:
    """What git reads of a repository: each path with its mode."""
    left = [os.fsencode(place / name) for name in ("HEAD", "objects", "refs", "packed-refs", "shallow", "reftable")]
    while left:
        path = left.pop()
        try:
            mode = os.lstat(path).st_mode
            yield path, mode
            if stat.S_ISDIR(mode):
                left += [path + b"/" + name for name in os.listdir(path)]  # noqa: PTH208 bytes
        except OSError:
            continue


def _read(place: Path, most: int = 1 << 16) -> bytes:
    with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123
        return file.read(most)


def _unreadable(files: Path, why: object) -> InterlockError:
    message = f"The agent's own repository in {files} cannot be read: {why}. Its files are not affected."
    return InterlockError("git_failed", message, "Look at it with `git fsck`.")


# The end of a tree


def tree_names(root: Path, trees: Path) -> list[str]:
    """The names of the trees in a directory, and of those of which a crash left something."""
    listed = [one.name for one in trees.iterdir()] if trees.is_dir() else []
    names = {name.removesuffix(".making").removesuffix(".removing") for name in listed}
    with opened(root) as repository:
        refs = repository.run("for-each-ref", "--format=%(refname)", "refs/ralf/trees").decode().splitlines()
    return sorted(name for name in names | {ref.split("/")[3] for ref in refs} if "." not in name)


def finished_trees(root: Path, trees: Path) -> list[str]:
    """The names of the trees in a directory whose branch `ralf/NAME` is merged into the one checked out, or gone."""
    names = sorted(one.name for one in trees.iterdir() if "." not in one.name) if trees.is_dir() else []
    with opened(root) as repository:
        tips = {name: tip_of(repository, f"ralf/{name}") for name in names}
        return [name for name, tip in tips.items() if tip is None or _is_merged(repository, tip)]


def _is_merged(repository: Repository, commit: str) -> bool:
    return repository.ask("merge-base", "--is-ancestor", "--end-of-options", commit, "HEAD").status == 0


def remove_own_tree(root: Path, files: Path, keep: str | None, objects: Path) -> KeptWork | None:
    """Remove an agent's tree; with `keep`, its files are kept under `refs/ralf/<keep>`, and `undo` makes it again.

    Ignored files go with it. Where git cannot store a file, everything stays beside, as `ID.left`. After a crash it can
    be called again.
    """
    home = files.parent
    with opened(root) as repository:
        place = os.path.relpath(files, repository.work_tree)
    kept, is_whole = None, True
    if home.is_dir() and keep is not None:
        kept, is_whole = _kept(files, keep, {"verb": "remove_own", "place": place, "objects": str(objects)})
    going = home.with_name(f"{home.name}.removing")
    if home.is_dir():
        target = going if is_whole else _free(home)
        if is_whole:
            _remove_whole(going)
        home.rename(target)
    _remove_whole(going)
    _remove_whole(home.with_name(f"{home.name}.making"))
    objects.unlink(missing_ok=True)
    with opened(root) as repository:
        refs = repository.run("for-each-ref", "--format=delete %(refname)", f"refs/ralf/trees/{home.name}")
        repository.run("update-ref", "--stdin", feed=refs)
        if kept is None and keep is not None:
            found = [one for one in kept_series(repository, keep) if about(repository, one).get("place") == place]
            kept = found[-1] if found else None
    return kept


def _free(home: Path) -> Path:
    names = (home.with_name(f"{home.name}.left{number or ''}") for number in range(1 << 16))
    return next(one for one in names if not os.path.lexists(one))


def _kept(files: Path, keep: str, said: dict[str, str]) -> tuple[KeptWork, bool]:
    """Keep the tree of the files; gives what is kept, and whether that is everything."""
    with opened(files) as repository:
        taken_tree = TreeTaking().take(repository)
        head = _base_of(repository, files.parent.name)
        told = {**said, "branch": _branch(repository), "tip": head, "tree": taken_tree.tree}
        texts = {"about.json": json.dumps(told, indent=0, sort_keys=True), "kept.json": "{}"}
        lines = [f"040000 tree {taken_tree.tree}\tfiles\0"]
        for name, text in texts.items():
            blob = repository.line("hash-object", "-w", "--no-filters", "--stdin", feed=text.encode("ascii"))
            lines.append(f"100644 blob {blob}\t{name}\0")
        tree = repository.line("mktree", "-z", feed="".join(lines).encode())
        feed = b"The files of an agent, kept by ralph\n"
        made = repository.line("commit-tree", "-p", head, "-F", "-", tree, feed=feed, environment=OURS)
        ref = ref_of(repository, keep)
        for number in range(1, 1 << 16):
            name = ref if number == 1 else f"{ref}-{number}"
            there = kept_under(repository, name)
            if there is None:
                repository.run("update-ref", "-m", "kept by ralph", name, made, "0" * len(made), environment=OURS)
                return KeptWork(name, made, head, ()), not taken_tree.left_out
            if about(repository, there) == told:
                return there, not taken_tree.left_out
        raise InterlockError("git_failed", f"No name is free for {ref}.", "Remove some of these refs.")


def _remove_whole(place: Path) -> None:
    """Remove everything at a path, however deep it is and whatever rights an agent took away."""
    if not _is_directory(place):
        place.unlink(missing_ok=True)
        return
    place.chmod(0o700)
    top = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while names := os.listdir(top):  # noqa: PTH208 a descriptor
            for name in names:
                _flatten(top, name)
    finally:
        os.close(top)
    place.rmdir()


def _flatten(top: int, name: str) -> None:
    """Remove a name of a directory, after its own directories were moved up: so no path grows long."""
    found = os.lstat(name, dir_fd=top)
    if not stat.S_ISDIR(found.st_mode):
        os.unlink(name, dir_fd=top)
        return
    os.chmod(name, 0o700, dir_fd=top)
    inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    try:
        for one in os.listdir(inside):  # noqa: PTH208 a descriptor
            if stat.S_ISDIR(os.lstat(one, dir_fd=inside).st_mode):
                os.chmod(one, 0o700, dir_fd=inside)
                free = f"ralph-going-{os.urandom(8).hex()}"  # an agent, or a call that died, may have any other name
                os.rename(one, free, src_dir_fd=inside, dst_dir_fd=top)
            else:
                os.unlink(one, dir_fd=inside)
    finally:
        os.close(inside)
    os.rmdir(name, dir_fd=top)


def _sync(place: Path) -> None:
    directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
