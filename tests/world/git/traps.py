"""Everything by which a repository can have git run a program, set to one that leaves a mark."""

from __future__ import annotations

from pathlib import Path

__all__ = ["arm", "trap"]

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


def trap(program: Path, canary: Path) -> Path:
    """A program that writes down that it ran, and fails."""
    program.write_text(f"#!/bin/sh\necho $0 $* >> {canary}\nexit 1\n")
    program.chmod(0o755)
    return program


def arm(git_directory: Path, program: Path, place: Path) -> None:
    """Have a repository name a program wherever git looks for one: settings, hooks, attributes, an included file."""
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
