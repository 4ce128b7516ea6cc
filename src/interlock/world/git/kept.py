"""Work that is kept before anything is reset: the index, the changed files and the untracked ones, byte for byte.

What is kept is a commit under `refs/ralf/<name>`, on top of the HEAD it was made on, with

    index        the index, as the file that it is
    work/        every file that differed from HEAD, exactly as it was: no line ending is changed, no filter runs
    staged/      what the index holds and HEAD does not, by hash, so that git never collects it
    kept.json    every path that differed, with its permissions, or null where the file was gone
    about.json   where a verb kept it that then moved a branch: which one, and from where

Ignored files and repositories inside the work tree are neither kept nor touched. An empty directory is not kept.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from interlock.errors import InterlockError, UsageError
from interlock.world.git.locks import IndexLock, locked
from interlock.world.git.moves import Fingerprint, exchange, fingerprint, same_as_staged, staging
from interlock.world.git.private import GitRoot, Repository, as_input, opened
from interlock.world.git.status import PathStatus, head_of, operation_of, statuses
from interlock.world.git.trees import refuse_filters

__all__ = [
    "OURS",
    "KeptWork",
    "about",
    "entries_of",
    "is_ref_name",
    "keep",
    "keep_all",
    "kept_series",
    "kept_under",
    "nothing_kept",
    "park",
    "put_back",
    "ref_of",
    "refuse_half_done",
    "restore",
]

OURS = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Interlock"), ("EMAIL", "ralph@localhost"))
}
_GITLINK = "160000"
_LINK = "120000"


class KeptWork(msgspec.Struct, frozen=True):
    """What is kept: under which ref, as which commit, made on which HEAD, and the paths that differed or had to go."""

    ref: str
    commit: str
    head: str | None
    paths: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name to restore it by."""
        return self.ref.removeprefix("refs/ralf/")


class _TreeEntry(msgspec.Struct, frozen=True):
    mode: str
    hash: str


def keep(root: GitRoot, name: str) -> KeptWork:
    """Keep the index, the changed and the untracked files under `refs/ralf/<name>`; touches none of them.

    The same again is kept once. A name that holds something else is not overwritten: `<name>-2` is taken, and so on.
    """
    with opened(root) as repository:
        return keep_all(repository, name, statuses(repository))


def park(root: GitRoot, name: str, *, sleep: Callable[[float], None] = time.sleep) -> KeptWork | None:
    """Keep everything, then make the work tree and the index what HEAD has. Ignored files are not touched.

    None where it is clean and nothing is kept under the name. After a crash it can be called again: what was kept
    first is under the name, and what is left is kept beside it.
    """
    with opened(root) as repository, locked(repository, sleep) as lock:
        changed = [one for one in statuses(repository) if not one.is_nested]
        _refuse_to_move(repository, changed, "park")
        if not changed:
            return kept_under(repository, ref_of(repository, name))
        seen = {one.path: fingerprint(repository.work_tree, one.path) for one in changed if not one.is_absent}
        kept = keep_all(repository, name, changed)
        _reset(repository, lock, [one.path for one in changed], seen)
        return kept


def restore(root: GitRoot, name: str, *, sleep: Callable[[float], None] = time.sleep) -> KeptWork:
    """Put back what is kept under a name: files, permissions and index; what is kept stays kept.

    Refuses with `git_conflict`, and touches nothing, where it would overwrite other work: a changed file, or one that
    commits since then have changed. After a crash it can be called again.
    """
    with opened(root) as repository, locked(repository, sleep) as lock:
        ref = ref_of(repository, name)
        kept = kept_under(repository, ref)
        if kept is None:
            raise nothing_kept(repository, ref)
        put_back(repository, lock, kept)
        return kept


def nothing_kept(repository: Repository, ref: str) -> InterlockError:
    message = f"Nothing is kept under {ref} in {repository.work_tree}."
    return InterlockError("git_failed", message, "`git for-each-ref refs/ralf` lists what is.")


def is_ref_name(repository: Repository, ref: str) -> bool:
    """True if git accepts the name of a ref; one of letters, digits and `-` alone is accepted without asking it."""
    return re.fullmatch(r"[A-Za-z0-9-]+(?:/[A-Za-z0-9-]+)+", ref) is not None or (
        repository.ask("check-ref-format", ref).status == 0
    )


def ref_of(repository: Repository, name: str) -> str:
    ref = f"refs/ralf/{name}"
    if not is_ref_name(repository, ref):
        raise UsageError("invalid_argument", f"{name[:100]!r} is no name for a ref.", "Use letters, digits and `-`.")
    return ref


def refuse_half_done(repository: Repository, changed: Sequence[PathStatus], verb: str) -> None:
    """Refuse while a merge or the like is under way, or a conflict is not solved."""
    operation = operation_of(repository)
    conflicts = [one.path for one in changed if one.is_conflict]
    if operation is not None or conflicts:
        what = f"A {operation} is under way" if operation else f"{conflicts[0]!r} has a conflict"
        message = f"{what} in {repository.work_tree}; {verb} would leave it half done."
        raise InterlockError("git_conflict", message, "End it first, or solve the conflict.", {"paths": conflicts})


def _refuse_to_move(repository: Repository, changed: Sequence[PathStatus], verb: str) -> None:
    refuse_half_done(repository, changed, verb)
    moved = [one.path for one in changed if one.is_submodule]
    if moved:
        message = f"The submodule {moved[0]!r} is not at the commit that HEAD has, and no submodule is ever moved here."
        raise InterlockError("git_conflict", message, "Commit it, or put it back with `git submodule update`.")


# Keeping


def keep_all(
    repository: Repository,
    name: str,
    changed: Sequence[PathStatus],
    about: Mapping[str, str] | None = None,
    also: Sequence[str] = (),
    files: Iterable[str] = (),
) -> KeptWork:
    """Keep what has changed, and what it is about; the commits in `also` are kept with it, and so are `files`.

    A file that git calls unchanged may have other permissions and line endings than git would give it again.
    """
    ref = ref_of(repository, name)
    head = head_of(repository)
    present = {one.path for one in changed if not (one.is_absent or one.is_nested or one.is_submodule)}
    there = sorted(present.union(files))
    gone = sorted({one.path for one in changed if one.is_absent} - set(there))
    tree = _kept_tree(repository, head, there, gone, about)
    before = list(dict.fromkeys(one for one in (head, *also) if one))
    parents = [word for one in before for word in ("-p", one)]
    message = b"The index and the changed files, kept by ralph\n"
    made = repository.run("commit-tree", *parents, "-F", "-", tree, feed=message, environment=OURS)
    commit = made.decode("ascii").strip()
    _prove_readable(repository, commit, before)
    ref, commit = _name(repository, ref, commit, [tree, *before])
    return KeptWork(ref, commit, head, tuple(sorted({*there, *gone})))


def _kept_tree(
    repository: Repository, head: str | None, there: list[str], gone: list[str], about: Mapping[str, str] | None
) -> str:
    root = repository.work_tree
    modes: dict[str, int | None] = {path: stat.S_IMODE((root / path).lstat().st_mode) for path in there}
    described = json.dumps(modes | dict.fromkeys(gone), indent=0, sort_keys=True).encode("ascii")
    entries = [
        ("100644 blob", _blob(repository, _whole_index(repository).read_bytes()), "index"),
        ("100644 blob", _blob(repository, described), "kept.json"),
        ("040000 tree", _tree(repository, [("100644 blob", one, one) for one in _staged(repository, head)]), "staged"),
        ("040000 tree", _exact_tree(repository, there), "work"),
    ]
    if about is not None:
        said = json.dumps(dict(about), indent=0, sort_keys=True).encode("ascii")
        entries.append(("100644 blob", _blob(repository, said), "about.json"))
    return _tree(repository, entries)


def _exact_tree(repository: Repository, paths: Sequence[str]) -> str:
    """The tree of those files exactly as they are."""
    index = repository.private / "index.exact"
    repository.run("read-tree", "--empty", index=index, is_raw=True)
    adding = ("update-index", "-z", "--add", "--replace", "--stdin")
    repository.run(*adding, feed=as_input(list(paths)), index=index, is_raw=True)
    return repository.run("write-tree", index=index, is_raw=True).decode("ascii").strip()


def _whole_index(repository: Repository) -> Path:
    """The user's index as one file, also where git has not made one yet."""
    if not repository.users_index.exists():
        repository.run("read-tree", "--empty", index=repository.users_index)
    return repository.users_index


def _staged(repository: Repository, head: str | None) -> list[str]:
    """The hashes of what the index has and HEAD has not, in conflicts too."""
    against = head or _tree(repository, [])
    listed = repository.run("diff-index", "--cached", "--raw", "-z", "--no-renames", "--full-index", against)
    fields = [field.decode("ascii").split() for field in listed.split(b"\0")[:-1:2]]
    found = {new for _, mode, _, new, _ in fields if mode != _GITLINK}
    unmerged = repository.run("ls-files", "-u", "-z").split(b"\0")[:-1]
    found |= {line.split(b" ", 2)[1].decode("ascii") for line in unmerged if not line.startswith(b"160000")}
    return sorted(one for one in found if one.strip("0"))


def _blob(repository: Repository, content: bytes) -> str:
    return repository.line("hash-object", "-w", "--no-filters", "--stdin", feed=content)


def _tree(repository: Repository, entries: Sequence[tuple[str, str, str]]) -> str:
    lines = b"".join(f"{kind} {made}\t{name}\0".encode() for kind, made, name in entries)
    return repository.line("mktree", "-z", feed=lines)


def _prove_readable(repository: Repository, commit: str, before: Sequence[str]) -> None:
    """Read back every object that only this commit has, by packing it to nowhere."""
    wanted = f"{commit}\n" + "".join(f"^{one}\n" for one in before)
    words = ("pack-objects", "--revs", "--stdout", "--window=0", "--quiet")
    answer = repository.ask(*words, feed=wanted.encode("ascii"), output=os.devnull)
    if answer.status != 0:
        message = f"What was to be kept of {repository.work_tree} cannot be read back: {answer.said[-300:]}."
        raise InterlockError("git_failed", message, "Nothing was changed. Look at the disk, and at `git fsck`.")


def _name(repository: Repository, ref: str, commit: str, content: Sequence[str]) -> tuple[str, str]:
    """Give what is kept a name that holds nothing else."""
    number, name = 1, ref
    while (there := repository.found("rev-parse", "--verify", "--quiet", name)) is not None:
        if repository.line("rev-parse", f"{there}^{{tree}}", f"{there}^@").split() == list(content):
            return name, there
        number += 1
        name = f"{ref}-{number}"
    repository.run("update-ref", "-m", "kept by ralph", name, commit, "0" * len(commit), environment=OURS)
    return name, commit


def kept_under(repository: Repository, ref: str) -> KeptWork | None:
    """What is kept under a ref."""
    commit = repository.found("rev-parse", "--verify", "--quiet", ref)
    if commit is None:
        return None
    parents = repository.line("rev-parse", f"{commit}^@").split()
    return KeptWork(ref, commit, parents[0] if parents else None, tuple(_modes(repository, commit)))


def kept_series(repository: Repository, name: str) -> Iterator[KeptWork]:
    """What is kept under a name and, where that was taken, under those that were made of it; the oldest first."""
    ref, number = ref_of(repository, name), 1
    while (kept := kept_under(repository, ref if number == 1 else f"{ref}-{number}")) is not None:
        yield kept
        number += 1


def about(repository: Repository, kept: KeptWork) -> dict[str, str]:
    """What the verb said that kept it; empty where there is nothing to say."""
    answer = repository.ask("cat-file", "blob", f"{kept.commit}:about.json")
    said: dict[str, str] = json.loads(answer.output) if answer.status == 0 else {}
    return said


def _modes(repository: Repository, commit: str) -> dict[str, int | None]:
    described: dict[str, int | None] = json.loads(repository.run("cat-file", "blob", f"{commit}:kept.json"))
    return described


# Putting HEAD's files in place of the changed ones


def _reset(repository: Repository, lock: IndexLock, paths: Sequence[str], seen: Mapping[str, Fingerprint]) -> None:
    there = entries_of(repository, head_of(repository))
    back = {path: there[path] for path in paths if path in there}
    index = repository.index
    _set_entries(repository, index, {path: back.get(path) for path in paths})
    refuse_filters(repository, list(back), ("smudge", "process"), index=index)
    with staging(repository) as stage:
        repository.run("checkout-index", "-z", "--stdin", feed=as_input(list(back)), directory=stage, index=index)
        exchange(repository.work_tree, stage, remove=seen, put=list(back))
    _install(repository, lock, index)


def entries_of(repository: Repository, tree: str | None) -> dict[str, _TreeEntry]:
    """The files of a tree; submodules are not among them."""
    if tree is None:
        return {}
    found = {}
    for record in repository.run("ls-tree", "-r", "-z", tree).split(b"\0")[:-1]:
        described, _, path = record.partition(b"\t")
        mode, _, made = described.decode("ascii").split(" ")
        if mode != _GITLINK:
            found[os.fsdecode(path)] = _TreeEntry(mode, made)
    return found


def _set_entries(repository: Repository, index: Path, entries: Mapping[str, _TreeEntry | None]) -> None:
    """Make those paths of an index what is given, or take them out; what goes, goes first."""
    nothing = "0" * len(_tree(repository, []))
    gone = [f"0 {nothing}\t".encode() + os.fsencode(path) for path, entry in entries.items() if entry is None]
    put = [f"{one.mode} {one.hash}\t".encode() + os.fsencode(path) for path, one in entries.items() if one]
    lines = b"".join(line + b"\0" for line in (*gone, *put))
    repository.run("update-index", "--replace", "-z", "--index-info", feed=lines, index=index)


def _install(repository: Repository, lock: IndexLock, index: Path) -> None:
    repository.ask("update-index", "-q", "--refresh", index=index)  # its status says whether something differs
    lock.write(index)
    lock.install()


# Putting back what is kept


def put_back(repository: Repository, lock: IndexLock, kept: KeptWork, *, spares_untracked: bool = False) -> None:
    """Put back what is kept. An untracked file beside it is other work, or is spared."""
    modes = _modes(repository, kept.commit)
    work = entries_of(repository, f"{kept.commit}:work")
    gone = [path for path, mode in modes.items() if mode is None]
    changed = [one for one in statuses(repository) if not one.is_nested]
    if spares_untracked:
        kept_paths = set(kept.paths)
        changed = [one for one in changed if not one.is_submodule]
        changed = [one for one in changed if not one.is_untracked or one.path in kept_paths]
        changed = [one for one in changed if not one.is_absent or one.path not in kept_paths]
        refuse_half_done(repository, changed, "restore")
    else:
        _refuse_to_move(repository, changed, "restore")
    same = _refuse_other_work(repository, kept, work, gone, changed)
    tracked = {os.fsdecode(name) for name in repository.run("ls-files", "-z").split(b"\0") if name}
    replaced = tracked | same
    root = repository.work_tree
    leaving = [path for path in (*gone, *work) if path in replaced and os.path.lexists(root / path)]
    seen = {
        path: fingerprint(root, path) for path in leaving if not (root / path).is_dir() or (root / path).is_symlink()
    }
    with staging(repository) as stage:
        index = repository.private / "index.exact"
        repository.run("read-tree", f"{kept.commit}:work", index=index, is_raw=True)
        repository.run("checkout-index", "--all", directory=stage, index=index, is_raw=True)
        for path, entry in work.items():
            if entry.mode != _LINK:
                (stage / path).chmod(modes[path] or 0o600)
        exchange(root, stage, remove=seen | same_as_staged(root, stage, work), put=list(work))
    _install(repository, lock, _index_to_restore(repository, kept))


def _refuse_other_work(
    repository: Repository,
    kept: KeptWork,
    work: Mapping[str, _TreeEntry],
    gone: Sequence[str],
    changed: Sequence[PathStatus],
) -> set[str]:
    """The paths that are changed already to what is kept; refuses where one is changed to anything else."""
    there = [one.path for one in changed if not one.is_absent]
    exact = entries_of(repository, _exact_tree(repository, there))
    same = {path for path, entry in exact.items() if path in work and _is_same(entry, work[path])}
    other = [one.path for one in changed if one.path not in same and not (one.is_absent and one.path in gone)]
    head = head_of(repository)
    if head != kept.head:
        now, then = entries_of(repository, head), entries_of(repository, kept.head)
        other += [path for path in kept.paths if now.get(path) != then.get(path)]
    if other:
        message = f"{other[0]!r} in {repository.work_tree} was changed since {kept.ref} was kept."
        hint = f"Commit or park that first, or take single files from `git show {kept.ref}:work/PATH`."
        raise InterlockError("git_conflict", message, hint, {"paths": other})
    return same


def _is_same(one: _TreeEntry, other: _TreeEntry) -> bool:
    return one.hash == other.hash and (one.mode == _LINK) == (other.mode == _LINK)


def _index_to_restore(repository: Repository, kept: KeptWork) -> Path:
    """The kept index itself where HEAD is the same; else the present one with what was staged."""
    whole = repository.private / "index.kept"
    whole.write_bytes(repository.run("cat-file", "blob", f"{kept.commit}:index"))
    if head_of(repository) == kept.head:
        return whole
    against = kept.head or _tree(repository, [])
    listed = repository.run("diff-index", "--cached", "--raw", "-z", "--no-renames", against, index=whole)
    parts = listed.split(b"\0")[:-1]
    staged: dict[str, _TreeEntry | None] = {}
    for described, path in zip(parts[::2], parts[1::2], strict=True):
        _, mode, _, made, _ = described.decode("ascii").split()
        staged[os.fsdecode(path)] = _TreeEntry(mode, made) if made.strip("0") else None
    _set_entries(repository, repository.index, staged)
    return repository.index
