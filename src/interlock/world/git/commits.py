"""Commits: one at a time, whole or not at all, and found again after a crash."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import msgspec

from interlock.errors import InterlockError
from interlock.world.git.checkouts import merge_trees
from interlock.world.git.locks import end_dead_locks, locked
from interlock.world.git.looking import BEGAN, Looking
from interlock.world.git.objects import the_tree, tree_of
from interlock.world.git.own_trees import protected, show_made
from interlock.world.git.private import GitRoot, Repository, opened
from interlock.world.git.status import PathStatus, branch_of, head_of, operation_of, statuses
from interlock.world.git.trees import below, take_up

__all__ = ["Identity", "Signing", "commit", "commit_tree", "find_commit", "identity"]

_FORMATS = ("openpgp", "ssh", "x509")


class Signing(msgspec.Struct, frozen=True):
    """How the user signs commits: settings of git, all from the user's own configuration."""

    settings: tuple[tuple[str, str], ...]


class Identity(msgspec.Struct, frozen=True):
    """Who commits, read once and passed on."""

    name: str
    email: str
    signing: Signing | None = None


def identity(directory: GitRoot) -> Identity:
    """The user's name and e-mail as git has them here, and how the user signs.

    A repository may say who commits in it. It has no say in signing: that would let it name a program.
    """
    with nullcontext(directory) if isinstance(directory, Repository) else opened(directory) as repository:
        name, email = repository.setting("user.name"), repository.setting("user.email")
        if not name or not email:
            message = f"Git does not know who commits in {repository.root or repository.common}."
            hint = "Run `git config --global user.name NAME` and `git config --global user.email ADDRESS`."
            raise InterlockError("git_failed", message, hint)
        return Identity(name, email, _signing(repository))


def _signing(repository: Repository) -> Signing | None:
    wants = repository.setting("commit.gpgsign", of_the_user=True) or "false"
    if wants.lower() not in ("true", "yes", "on", "1"):
        return None
    programs = (f"gpg.{one}.program" for one in _FORMATS)
    names = ("gpg.format", "gpg.program", "gpg.ssh.defaultkeycommand", "user.signingkey", *programs)
    values = ((name, repository.setting(name, of_the_user=True)) for name in names)
    return Signing(tuple((name, value) for name, value in values if value is not None))


def commit(
    root: GitRoot,
    message: str,
    *,
    author: Identity,
    paths: Sequence[str] | None = None,
    looking: Looking | None = None,
    branch: str | None = None,
    tree: str | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> str | None:
    """Commit everything, or what is at and below the given paths, on the branch checked out; gives the hash.

    With a `tree`, exactly that is committed, and no file is looked at.

    None where there is nothing to commit. Refuses a detached HEAD (`git_detached`), another branch than the one that
    is named (`git_failed`), and while a merge or the like is under way (`git_conflict`). Hooks do not run. The branch
    moves only from where it was seen. What is `looking` at the work tree keeps what it knows. In an agent's
    tree, the agent's repository is made again, with the commit checked out; `keep_commits` keeps what it has.
    """
    with opened(root) as repository, locked(repository, sleep) as lock:
        before = repository.users_index.read_bytes() if repository.users_index.exists() else b""
        everything = statuses(repository) if tree is None else []
        branch = _branch_to_commit_on(repository, everything, branch)
        head = head_of(repository)
        new = _tree_of_files(repository, head, everything, paths) if tree is None else _laid_out(repository, tree)
        if new == (tree_of(repository, head) if head else _empty_tree(repository)):
            return None
        if repository.is_own:
            _refuse_moved(repository, branch, head, new)
        made = commit_tree(repository, new, head, message, author)
        lock.write(repository.index, made)
        began = looking.tree if looking is not None else tree
        _move_branch(repository, branch, head, made, message, author, began)
        lock.install()
        if repository.is_own:
            show_made(repository, made)
        if looking is not None and paths is None:
            looking.carry_over(before, repository.index.read_bytes())
        return made


def _tree_of_files(
    repository: Repository, head: str | None, everything: Sequence[PathStatus], paths: Sequence[str] | None
) -> str:
    """The tree of the files as they are, or of HEAD with only some paths as they are; the private index has all."""
    is_wanted = below(paths or ())
    changed = [one for one in everything if paths is None or is_wanted(one.path)]
    take_up(repository, changed)
    if paths is not None:
        return _tree_of(repository, head, changed)
    is_new = all(one.in_index in ".?" for one in everything)  # all objects but those of HEAD were written just now
    return repository.line("write-tree", *(["--missing-ok"] if is_new else []))


def _laid_out(repository: Repository, tree: str) -> str:
    """Make the private index that of a tree."""
    repository.index.unlink(missing_ok=True)
    repository.run("read-tree", "-m", the_tree(repository, tree), index=repository.index)
    return tree


def _move_branch(
    repository: Repository,
    branch: str,
    head: str | None,
    made: str,
    message: str,
    author: Identity,
    began: str | None,
) -> None:
    """Move the branch to a commit, and in an agent's tree what protects its objects, all at once."""
    about = f"commit: {message.splitlines()[0][:100] if message.strip() else ''}"
    for place in (repository.common / "logs" / "refs", repository.git_directory / "logs"):
        place.mkdir(parents=True, exist_ok=True)  # git makes them with the first commit
    moves = [(f"refs/heads/{branch}", made, head or "0" * len(made))]
    if repository.is_own:
        moves += [(f"{repository.own_refs}/base", made, "")]
        moves += [(f"{repository.own_refs}/{BEGAN}", began, "")] if began else []
    feed = os.fsencode("".join(f"update {ref}\0{new}\0{old}\0" for ref, new, old in moves))
    repository.run("update-ref", "-m", about, "-z", "--stdin", feed=feed, environment=_names(author))


def find_commit(root: GitRoot, trailer: str, *, most: int = 200) -> str | None:
    """The newest commit among the last of the branch that has a trailer line, such as `Ralph-Event: <id>`.

    It is asked after a crash, so it also ends what a `commit` that died left of itself.
    """
    with opened(root) as repository:
        end_dead_locks(repository)
        if head_of(repository) is None:
            return None
        form = "--format=%H%n%(trailers:only=true,unfold=true)"
        listed = repository.run("log", "-z", f"--max-count={most}", "--no-show-signature", form, "HEAD", "--")
        for record in listed.decode("utf-8", "surrogateescape").split("\0"):
            found, *lines = record.split("\n")
            if trailer in lines:
                return found
        return None


def _branch_to_commit_on(repository: Repository, everything: Sequence[PathStatus], wanted: str | None) -> str:
    operation = operation_of(repository)
    if operation is not None:
        message = f"A {operation} is under way in {repository.work_tree}; a commit now would end it half done."
        raise InterlockError("git_conflict", message, f"End it first: `git {operation} --continue` or `--abort`.")
    conflicts = [one.path for one in everything if one.is_conflict]
    if conflicts:
        message = f"{conflicts[0]!r} has a conflict that nobody has solved, in {repository.work_tree}."
        raise InterlockError("git_conflict", message, "Solve it and `git add` the file.", {"paths": conflicts})
    branch = branch_of(repository)
    if branch is None:
        message = f"No branch is checked out in {repository.work_tree}: a commit there would belong to none."
        raise InterlockError("git_detached", message, "Check out a branch with `git switch`.")
    if wanted not in (None, branch):
        message = f"{branch} is checked out in {repository.work_tree}, and the commit belongs on {wanted}."
        raise InterlockError("git_failed", message, f"Go back with `git switch {wanted}`.")
    return branch


def _refuse_moved(repository: Repository, branch: str, head: str | None, tree: str) -> None:
    """Refuse to undo commits of others on the branch of an agent's tree."""
    left = protected(repository, repository.work_tree.parent.name)
    if head == left:
        return
    if head is not None and left is not None:
        before, theirs = tree_of(repository, left), tree_of(repository, head)
        if merge_trees(repository, before, tree, theirs) == tree:
            return
    now = f"at {head[:12]}" if head is not None else "gone"
    message = f"{branch} is {now}, and not at {left or 'a commit'}, where ralph left it."
    hint = f"Keep what is there under another name, then go back: `git branch -f {branch} {left}`."
    raise InterlockError("git_failed", message, hint)


def _tree_of(repository: Repository, head: str | None, changed: Sequence[PathStatus]) -> str:
    """The tree of HEAD with only those paths changed; what else is staged stays out."""
    index = repository.private / "index.paths"
    repository.run("read-tree", head or "--empty", index=index)
    take_up(repository, changed, index)
    return repository.line("write-tree", index=index)


def _empty_tree(repository: Repository) -> str:
    return repository.line("hash-object", "-t", "tree", "--stdin")


def commit_tree(repository: Repository, tree: str, head: str | None, message: str, author: Identity) -> str:
    """Make a commit that no branch has yet."""
    signing = author.signing.settings if author.signing else ()
    configured = [word for name, value in signing for word in ("-c", f"{name}={value}")]
    sign = ["-S"] if author.signing else []
    parents = ["-p", head] if head else []
    made = repository.run(
        *configured,
        "commit-tree",
        *sign,
        *parents,
        "-F",
        "-",
        tree,
        feed=message.encode("utf-8", "surrogateescape"),
        environment=_names(author),
    )
    return made.decode("ascii").strip()


def _names(author: Identity) -> dict[str, str]:
    return {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", author.name), ("EMAIL", author.email))
    }
