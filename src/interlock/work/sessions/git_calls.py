"""The calls of git: which only look, and what the others change. No repository is looked at."""

from __future__ import annotations

import re

from interlock.work.sessions.options import Options, read_options

__all__ = ["GitCall", "can_run", "read_git"]

_GLOBAL = (
    "-C@ -c= --git-dir= --work-tree@ --namespace= --exec-path?! --config-env= --super-prefix= --attr-source= "
    "-p --paginate -P --no-pager --bare --literal-pathspecs --no-replace-objects --no-optional-locks"
).split()
_OPTIONS = (
    "-m= -F= -C= -c= -o> --output> --output-directory@ --message= --file= --author= --date= --format= --pretty= "
    "--upload-pack$ --exec$ --receive-pack$ --extcmd$ -x? --directory@ --include= --exclude= -p? -S? -G? -U? "
    "--reference= --branch= -b= -B= -u? --since= --until= --after= --before= --grep= --max-count= --prefix="
).split()
"""Options of the commands that change something; those of one letter mean something else for some of them."""
_OF_LOOKS = (
    "--output> --upload-pack$ --exec$ --extcmd$ --open-files-in-pager? --lost-found --ext-diff --in-place".split()
)
_LOOKS = frozenset(
    "annotate blame cat-file check-attr check-ignore check-mailmap check-ref-format cherry column count-objects "
    "describe diff diff-files diff-index diff-tree for-each-ref fsck get-tar-commit-id grep help log ls-files "
    "ls-remote ls-tree merge-base merge-tree name-rev patch-id range-diff rev-list rev-parse shortlog show show-branch "
    "show-index show-ref status stripspace var verify-commit verify-pack verify-tag version whatchanged".split()
)
_DRY: dict[str, tuple[str, ...]] = dict.fromkeys("add clean mv prune push rm worktree".split(), ("--dry-run", "-n"))
_DRY |= dict.fromkeys("commit fetch pull".split(), ("--dry-run",))
_LISTS = {
    "apply": r"\A--(?:check|numstat|stat|summary)$(?![\s\S]*^--apply$)",
    "archive": r"\A(?![\s\S]*^(?:-o|--o))",
    "bisect": r"\A(?:log|view)\b",
    "branch": r"\A(?:(?:-[ailrv]+|-n\d*|--(?:co|fo|list|merged|no-|points|remotes|show|sort|verb).*)(?:\n|\Z))*\Z"
    r"|\A(?!(?:[\s\S]*\n)?-[a-zA-Z]*[cCdDfmMu])(?:[\s\S]*\n)?(?:-l|-n\d*|--(?:contains|list|merged|no-|points))",
    "bundle": r"\A(?:list-heads|verify)\b",
    "config": r"\A(?:get|list)$|^--get|^--list$|^-\w*l$|\A(?:--(?:global|local|system)\n)?(?!edit$)[^-\n]+\Z",
    "format-patch": r"^--stdout$",
    "hash-object": r"\A(?![\s\S]*^(?:-w|--literally))",
    "lfs": r"\A(?:ls-files|status|env|version|logs)\b",
    "merge-file": r"^-p$|^--stdout$",
    "notes": r"\A(?:list|show|\Z)",
    "reflog": r"\A(?!delete$|drop$|expire$)",
    "remote": r"\A(?:(?:get-url|show)\b[\s\S]*|-v|--verbose|)\Z",
    "rerere": r"\A(?:status|diff|remaining)\b",
    "sparse-checkout": r"\Alist\b",
    "stash": r"\A(?:list|show)\b",
    "submodule": r"\A(?:status|summary|\Z)",
    "symbolic-ref": r"\A(?:-q\n|--short\n)*[^-\n]+\Z",
    "worktree": r"\A(?:list|show)\b",
}
_LISTS["tag"] = _LISTS["branch"]
"""The words, each a line, with which other commands only look."""
_PATHS = frozenset("apply checkout clean mv restore rm".split())

_SETTINGS_RUN = (
    r"(?i)(?:^|\.)(?:\w*pager|\w*editor|\w*command|external|fsmonitor|textconv|askpass|helper|driver|clean|smudge|process|"
    r"program|cmd|alias\.[\w-]+|diffFilter|gitproxy|update)=|^(?:alias|pager)\.[\w-]+="
)
"""Settings with a command in them."""
_SETTINGS_HARMFUL = (
    r"(?i)(?:core\.(?:hookspath|worktree|gitproxy|attributesfile)|include(?:if)?\.|init\.templatedir|trace2\.|filter\.|"
    r"gpg\.|protocol\.ext|remote\.[^=]*(?:pack|vcs)|uploadpack|url\.|extensions\.|core\.bare)"
)


class GitCall:
    """A call of git: its verb, the reason why it writes, the paths that it names, and the commands that it runs."""

    __slots__ = ("commands", "directories", "harmful", "is_known", "options", "paths", "removed", "verb", "writes")

    def __init__(self) -> None:
        self.verb = ""
        self.writes = False
        self.is_known = True
        self.harmful = ""
        self.commands: list[str] = []
        self.directories: list[str] = []
        self.paths: list[str] = []
        self.removed: list[str] = []
        self.options = Options()


def read_git(rest: list[str]) -> GitCall:
    """Read the words after `git`."""
    call = GitCall()
    before = read_options(rest, _GLOBAL, is_leading=True)
    call.directories = [one.value for one in before.marked("@")]
    for one in before.given:
        if one.name == "--exec-path" and one.value:
            call.harmful = "--exec-path"
        elif one.name == "--config-env" and (
            re.search(_SETTINGS_RUN, one.value) or re.match(_SETTINGS_HARMFUL, one.value)
        ):
            call.harmful = one.value.partition("=")[0]
        elif one.name == "-c" and (held := re.search(_SETTINGS_RUN, one.value)) is not None:
            call.commands.append(one.value[held.end() :].lstrip("!"))
        elif one.name == "-c" and re.match(_SETTINGS_HARMFUL, one.value):
            call.harmful = one.value.partition("=")[0]
    if before.after:
        call.verb = before.after[0]
        _read_verb(call, before.after[1:])
    return call


def _read_verb(call: GitCall, words: list[str]) -> None:
    verb, line = call.verb, "\n".join(words)
    found = call.options = read_options(words, _OF_LOOKS if verb in _LOOKS else _OPTIONS)
    call.commands += [one.value for one in found.marked("$") if verb != "clone"]
    if verb == "bisect" and found.operands[:1] == ["run"]:
        call.commands.append(" ".join(words[1:]))
    if verb == "submodule" and found.operands[:1] == ["foreach"]:
        call.commands.append(" ".join(found.operands[1:]))
    call.directories += [one.value for one in found.marked("@")]
    if verb in _DRY and found.has(*_DRY[verb]):
        return
    if verb in _LOOKS:
        call.paths = found.values("--output")
        opens = verb == "grep" and found.has("-O", "--open-files-in-pager")
        call.writes = bool(call.paths) or opens or found.has("--lost-found", "--ext-diff", "--in-place")
        return
    if verb in _LISTS and re.search(_LISTS[verb], line, re.MULTILINE):
        return
    call.writes = True
    call.is_known = verb in _PATHS or verb in _LISTS or verb in _WRITES
    call.paths = found.operands if verb in _PATHS else []
    call.paths += [
        one.value for one in found.given if one.name in ("-o", "--output", "--output-directory", "--directory")
    ]
    call.removed = call.paths if verb in ("clean", "mv", "rm") else []
    # What git ignores is ours as well, and these take it away.
    if verb == "config":
        call.paths.append(".git/config")
    elif verb in ("clean", "stash") and (
        found.has("--all") or any(one.name in ("-a", "-x", "-X") for one in found.given)
    ):
        call.paths.append(".ralf")


_WRITES = frozenset(
    "add am cherry-pick clone commit commit-graph commit-tree fast-import fetch filter-branch gc gui init maintenance "
    "merge mktag mktree notes pack-objects pack-refs prune pull push read-tree rebase reset revert replace repack "
    "stash switch unpack-objects update-index update-ref write-tree difftool mergetool".split()
)
"""Commands that are there to change something; one that is not known may be an alias."""


def can_run(setting: str) -> bool:
    """True if a setting of git can make it run something."""
    return re.search(_SETTINGS_RUN, f"{setting}=") is not None or re.match(_SETTINGS_HARMFUL, setting) is not None
