"""A repository that names a program wherever it can: no verb runs one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world import git as verbs
from interlock.world.git.call import call
from world.git.repositories import ADA, environment, git, made, write

PROGRAMS = """
core.fsmonitor core.sshCommand core.pager core.editor core.askPass core.gitProxy core.alternateRefsCommand
sequence.editor diff.external diff.evil.command diff.evil.textconv merge.evil.driver
gpg.program gpg.ssh.program gpg.x509.program gpg.openpgp.program gpg.ssh.defaultKeyCommand
credential.helper interactive.diffFilter uploadpack.packObjectsHook
filter.evil.clean filter.evil.smudge filter.evil.process
remote.origin.uploadpack remote.origin.receivepack remote.origin.vcs
pager.status pager.log pager.diff pager.config pager.show trailer.event.command trailer.event.cmd
difftool.evil.cmd mergetool.evil.cmd sendemail.smtpserver web.browser browser.evil.cmd help.browser man.evil.cmd
""".split()
HOOKS = """
applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit post-index-change post-merge
post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase pre-receive
prepare-commit-msg proc-receive push-to-checkout reference-transaction sendemail-validate update
""".split()
ALIASES = "add cat-file checkout-index commit commit-tree config diff-index log ls-files status update-index".split()

Verb = Callable[[Path], object]
VERBS: dict[str, Verb] = {
    "state": verbs.state,
    "tree_hash": verbs.tree_hash,
    "commit": lambda root: verbs.commit(root, "x\n\nevent: 1", author=ADA),
    "commit as the user": lambda root: verbs.commit(root, "x", author=verbs.identity(root)),
    "commit paths": lambda root: verbs.commit(root, "x", author=ADA, paths=["plain", "new"]),
    "find_commit": lambda root: verbs.find_commit(root, "event: 1"),
    "keep": lambda root: verbs.keep(root, "k"),
    "park": lambda root: verbs.park(root, "k"),
    "park and restore": lambda root: (verbs.park(root, "k"), verbs.restore(root, "k")),
    "changed_between": lambda root: verbs.changed_between(root, "HEAD~1", "HEAD"),
    "diff": verbs.diff,
    "diff of commits": lambda root: verbs.diff(root, "HEAD~1", "HEAD"),
    "log": verbs.log,
    "has_commits": verbs.has_commits,
    "branch_exists": lambda root: verbs.branch_exists(root, "main"),
    "files": verbs.files,
    "merged_at": lambda root: verbs.merged_at(root, git("rev-parse", "HEAD", cwd=root.parent / "clean"), "main"),
    "identity": verbs.identity,
    "user_email": verbs.user_email,
}

REFUSED = {"tree_hash", "commit", "commit as the user", "park", "park and restore", "diff"}
"""What needs the content that only the filter can make."""


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that is there if any program of the repository ran."""
    return tmp_path / "canary"


@pytest.fixture
def hostile(tmp_path: Path, canary: Path) -> Path:
    """A repository, dirty in every way, with every setting that names a program."""
    library = made(tmp_path / "library")
    root = made(tmp_path / "r", {"plain": "1\n", "old.evil": "1\n", "same.evil": "1\n"})
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib", cwd=root)
    write(root, {".gitattributes": "*.evil filter=evil diff=evil merge=evil\n*.txt diff=evil\n"})
    git("add", "-A", cwd=root)
    git("commit", "-qm", "second", cwd=root)
    git("clone", "-q", root, tmp_path / "clean", cwd=tmp_path)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 $* >> {canary}\nexit 1\n")
    program.chmod(0o755)
    for git_directory in (root / ".git", root / ".git" / "modules" / "lib"):
        _arm(git_directory, program, tmp_path)
    write(root, {"plain": "2\n", "new": "1\n", "n.txt": "1\n", "lib/a.txt": "dirty\n"})
    return root


def _arm(git_directory: Path, program: Path, place: Path) -> None:
    hooks = git_directory / "evil-hooks"
    for directory in (hooks, git_directory / "hooks"):
        directory.mkdir(exist_ok=True)
        for hook in HOOKS:
            (directory / hook).unlink(missing_ok=True)
            (directory / hook).symlink_to(program)
    settings = {
        **dict.fromkeys(PROGRAMS, str(program)),
        **{f"alias.{name}": f"!{program}" for name in ALIASES},
        "core.hooksPath": str(hooks),
        "core.worktree": str(place / "elsewhere"),
        "core.preloadIndex": "true",
        "commit.gpgSign": "true",
        "log.showSignature": "true",
        "filter.evil.required": "true",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "remote.origin.url": f"ext::{program}",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "submodule.lib.update": f"!{program}",
        "submodule.recurse": "true",
        "status.submoduleSummary": "true",
        "diff.submodule": "diff",
        "user.name": "Mallory",
        "user.email": "mallory@example.org",
        "core.repositoryformatversion": "1",
        "include.path": "evil-include",
    }
    lines = []
    for name, value in settings.items():
        section, _, key = name.rpartition(".")
        head, _, sub = section.partition(".")
        lines.append(f'[{head} "{sub}"]\n\t{key} = {value}\n' if sub else f"[{head}]\n\t{key} = {value}\n")
    with (git_directory / "config").open("a") as file:
        file.write("".join(lines))
    (git_directory / "evil-include").write_text(f"[core]\n\tfsmonitor = {program}\n")
    (git_directory / "info" / "attributes").write_text("*.txt filter=evil2 diff=evil\n")


def test_the_trap_is_armed(hostile: Path, canary: Path) -> None:
    words = ["git", "--work-tree", str(hostile), "status"]
    subprocess.run(words, cwd=hostile, env=environment(hostile.parent), capture_output=True, check=False, timeout=60)
    assert canary.exists()


@pytest.mark.parametrize("name", VERBS)
def test_no_verb_runs_anything(hostile: Path, canary: Path, name: str) -> None:
    VERBS[name](hostile)
    assert not canary.exists(), canary.read_text()
    assert not (hostile.parent / "elsewhere").exists()


@pytest.mark.parametrize("name", VERBS)
def test_a_file_with_a_filter_is_refused_or_left_but_never_filtered(hostile: Path, canary: Path, name: str) -> None:
    write(hostile, {"old.evil": "2\n", "new.evil": "1\n"})
    before = {path: path.read_bytes() for path in hostile.glob("*.evil")}
    refused = None
    try:
        VERBS[name](hostile)
    except InterlockError as error:
        refused = error
    if name in REFUSED:
        assert refused is not None
        assert refused.code == "git_unsafe"
        assert "filter.evil." in refused.message
        assert {path: path.read_bytes() for path in hostile.glob("*.evil")} == before
    else:
        assert refused is None
    assert not canary.exists(), canary.read_text()


@pytest.mark.parametrize("name", VERBS)
def test_programs_in_the_environment_do_not_run_either(
    hostile: Path, canary: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = str(hostile.parent / "program")
    variables = "ASKPASS EDITOR EXTERNAL_DIFF PAGER PROXY_COMMAND SEQUENCE_EDITOR SSH SSH_COMMAND EXEC_PATH".split()
    for variable in variables:
        monkeypatch.setenv(f"GIT_{variable}", program)
    for variable, value in {
        "DIR": "/nowhere",
        "INDEX_FILE": "/nowhere",
        "WORK_TREE": "/",
        "TRACE": str(canary),
    }.items():
        monkeypatch.setenv(f"GIT_{variable}", value)
    for variable in ("EDITOR", "VISUAL", "PAGER", "SSH_ASKPASS"):
        monkeypatch.setenv(variable, program)
    VERBS[name](hostile)
    assert not canary.exists(), canary.read_text()


def test_a_file_that_never_ends_ends_in_time(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InterlockError) as caught:
        call(("hash-object", "fifo"), tmp_path, {}, seconds=0.5)
    assert caught.value.code == "git_failed"
    assert "git hash-object did not finish: it took longer than 0.5 s" in caught.value.message


def test_a_git_file_that_leads_nowhere_is_said(tmp_path: Path) -> None:
    for content in ("gitdir: /nowhere/at/all\n", "gitdir: \n", "nonsense", "\0" * 10):
        (tmp_path / ".git").write_text(content)
        with pytest.raises(InterlockError) as caught:
            verbs.state(tmp_path)
        assert caught.value.code in ("no_repository", "git_failed")
