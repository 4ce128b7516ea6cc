"""Does a shell command write, and what? A careful guess from its text alone: which commands write, as tables.

Code that stands in the command counts as writing, whatever its language, and so does what cannot be read with
certainty: an open quote, a command that only a variable names, a shell that reads its input.

No reading of a text can be complete. Not caught are
- what is only named: a script, a Makefile's target, a package's script, a test that writes, a program of one's own;
- a name that is put together where it is used: by a variable of the environment, inside inline code, by a link;
- what happens elsewhere: in a container, over ssh, by a service that is asked to, later by cron or at.
What slips through here is found by the check after the session, which looks at the files themselves.
"""

from __future__ import annotations

import re

from interlock.work.sessions.shell import (
    ASSIGNMENT,
    KEYWORDS,
    UNKNOWN,
    Budget,
    Exhausted,
    ShellReader,
    Simple,
    UnreadableShell,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Reading", "commands_of", "read_command"]

_MAX_COMMAND = 100_000
_MAX_SCRIPT = 4000
_MOST_CARRIERS = 20
_UNREADABLE = "the command cannot be read with certainty"
_NOWHERE = re.compile(r"-|/dev/(?:null|stdout|stderr|tty|fd/\d+)")
_INPUT = r"-|/dev/stdin|/dev/fd/\d+|/proc/self/fd/\d+"


def _rows(text: str) -> dict[str, str]:
    """Names and what is said of them, a row each; a name may stand in several."""
    found: dict[str, str] = {}
    for names, _, rule in (row.partition(" : ") for row in text.strip().splitlines()):
        for name in names.split():
            found[name] = f"{found[name]}|{rule}" if name in found else rule
    return found


_WRITERS = frozenset(
    "aider apply_patch black chgrp chmod chown cp csplit dos2unix ed emacs ex gemini install isort link ln mkdir "
    "mkfifo mknod mv nano nvim patch rename rm rmdir rsync rustfmt scp sd shred split sponge tee touch truncate unlink "
    "venv vi vim virtualenv zip".split()
)
"""Commands that are there to change files."""
_COPIERS = frozenset("cp install mv rsync scp".split())
_REMOVERS = frozenset("mv rm rmdir shred unlink".split())
_TEMPORARY = frozenset("cp mkdir mv rm rmdir tee touch truncate".split())
"""Of these: what the last word names is written; what they name is gone; a temporary place is nobody's business."""
_SETTINGS = {"claude": ".mcp.json", "codex": ".codex", "opencode": "opencode.json", "ralph": "ralph.toml"}
"""What a command of an agent, or of ours, changes of the settings that hold an agent to the rules."""

_WRITING = _rows(r"""
7z : \A(?![lt]$)
autopep8 clang-format sed gsed yapf yq : ^-[a-zA-Z]*i|^--in-?place
biome cargo clang-tidy eslint stylelint : ^--(?:fix|write|apply)$
bunzip2 bzip2 gunzip gzip unxz xz zstd : \A(?![\s\S]*^(?:-\w*[clt]|--(?:stdout|list|test)))
claude codex opencode : \A(?!-[vVh]|mcp\n(?:get|list)\b|mcp\Z)
curl : ^-[a-zA-Z]*[OJ]$|^--remote-name|^-[sSfkLvg#]*o[^\n]
curl : ^(?:-[a-zA-Z]*[oDc]|--output|--dump-header|--cookie-jar)[=\n](?!-$|/dev/)
dd : ^of=(?!/dev/)
find : ^-(?:delete|fprint\w*|fls)$
gofmt goimports prettier shfmt : ^-w$|^--write$
make : ^--eval|^(?:-\w*f|--file)[=\n]?(?:-|/dev/stdin)$
mktemp : ^-p|^--tmpdir=|^[^-/].*X
ralph : \Ainit$
rubocop : ^-[aA]$|^--auto
ruff : \Aformat$|^--fix
shuf sort : ^-[a-zA-Z]*o|^--output
sqlite3 : (?i:\A(?!(?:-\w+\n)*(?:-readonly$|[^-\n]+\n\s*(?:select|explain|\.(?:dump|schema|tables))\b[^;]*(?:;\s*)?\Z)))
tar bsdtar gtar : (?:\A|^-)[a-zA-Z]*(?:x(?!\w*O)|[ruA]|c(?!\w*f\n-$))|^--(?:extract|get|create|append|update|delete)
tar bsdtar gtar : ^-I|^--(?:to-command|checkpoint-action|use-compress)
uniq : \A(?:-\S+\n)*[^-\n]+\n[^-\n]+\Z
unzip : \A(?![\s\S]*^-\w*[lptvzZ])
wget : \A(?![\s\S]*^(?:-\w*O\n?-|--spider|--output-document[=\n]-)$)
""")
_VERBS = _rows(r"""
apt apt-get brew composer gem : install|remove|require|uninstall|update|upgrade
bun bundle npm pnpm yarn : add|audit\nfix|ci|create|dedupe|i|init|install|link|patch|pkg\n(?:set|delete)|prune
bun bundle npm pnpm yarn : rebuild|remove|rm|set|uninstall|unlink|up|update|upgrade|version\n\w+
cargo : add|clean|fix|fmt|init|install|new|remove|update
gh : pr\ncheckout|release\ndownload|repo\n(?:clone|fork|sync)|run\ndownload
go : fix|fmt|generate|get|install|mod\n(?:download|edit|init|tidy|vendor)|work\n(?:init|use)
pdm pip pipenv poetry uv : add|download|init|install|lock|new|pip\n(?:un)?install|pip\nsync|remove|sync|tool\ninstall
pdm pip pipenv poetry uv : uninstall|update|venv|wheel
yarn : \Z
""")
"""Commands that write where this is found in the words after them, each word a line; and where they begin with this."""
_DRY = r"\A--(?:help|version)$|^--(?:check|check-only|diff|dry-run|fix-dry-run)$"

_SHELLS = frozenset("ash bash csh dash fish ksh sh su zsh".split())
_INTERPRETERS = _rows("""
bun node nodejs ts-node tsx : ep rC
ipython pypy python : c WX
deno elixir julia lua osascript r rscript : eE l
perl : eEinp MmIFD
php : rBRE dcz
ruby : einp rIEF
""")
"""Interpreters: the letters with which they run code that stands in the command, and those that take a value."""

_GIT_READS = frozenset(
    "annotate blame cat-file check-attr check-ignore cherry count-objects describe diff diff-files diff-index "
    "diff-tree for-each-ref fsck grep help log ls-files ls-remote ls-tree merge-base merge-tree name-rev range-diff "
    "rev-list rev-parse shortlog show show-branch show-ref status var verify-commit version".split()
)
_GIT_LISTS = _rows(r"""
apply : \A--(?:check|numstat|stat|summary)$(?![\s\S]*^--apply$)
archive : \A(?![\s\S]*^(?:-o|--output))
bisect : \A(?:log|view)\b
branch tag : \A(?:(?:-[ailrv]+|-n\d*|--(?:co|fo|list|merged|no-|points|remotes|show|sort|verb).*)(?:\n|\Z))*\Z
branch tag : \A(?!(?:[\s\S]*\n)?-[a-zA-Z]*[cCdDfmMu])(?:[\s\S]*\n)?(?:-l|-n\d*|--(?:contains|list|merged|no-|points))
clean : ^-\w*n
config : \A(?:get|list)$|^--get|^--list$|^-\w*l$|\A(?:--(?:global|local|system)\n)?(?!edit$)[^-\n]+\Z
format-patch : ^--stdout$
hash-object : \A(?![\s\S]*^-w$)
notes submodule : \A(?:list|show|status|summary|\Z)
reflog : \A(?!delete$|drop$|expire$)
remote : \A(?:(?:get-url|show)\b[\s\S]*|-v|--verbose|)\Z
stash worktree : \A(?:list|show)\b
symbolic-ref : \A(?:-q\n|--short\n)*[^-\n]+\Z
""")
"""What of git only looks, and with which words the rest does."""
_GIT_COMMANDS = r"(?i)(?:^|\.)(?:\w*pager|\w*editor|\w*command|external|fsmonitor|textconv|askpass|alias\.[\w-]+)="
_HOLDS_COMMAND = re.compile(r"(?:GIT_(?:ASKPASS|\w*EDITOR|EXTERNAL_DIFF|PAGER|\w+_COMMAND)|LESSOPEN|PAGER)=")

_CARRIERS = _rows("""
builtin busybox command nohup npx bunx uvx pnpx setsid : -p --package --from --with
chroot flock gtimeout timeout : 1 -k -s -w --kill-after --signal --timeout
doas runuser sudo : -C -D -g -h -p -R -r -T -t -U -u --chdir --group --host --prompt --role --type --user
env : -u -C --unset --chdir
exec : -a
ionice nice : -c -n --adjustment
parallel : -a -d -I -j -L -n -N -P --arg-file --delimiter --jobs --max-args
stdbuf : -i -o -e --input --output --error
time : -f -o --format --output
watch : -n --interval
xargs : -a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-chars --max-procs --process-slot-var
""")
"""Words before the word that counts, and their options that take a word with them; 1: they take one more word."""
_RUNNERS = _rows(r"""
bundle npm pnpm yarn : exec|x|dlx
bun conda hatch pdm pipenv pipx poetry uv : run|exec|x|tool\nrun
""")
_RUNNER_VALUES = "-n -p -w -C --cwd --directory --env-file --extra --filter --group --package --prefix --project --with"
"""Tools that run what comes after one of these words, and their options that take a word with them."""


class Reading:
    """What a command does: why it counts as writing, what it writes and what it takes away."""

    __slots__ = ("directories", "is_exhausted", "is_loose", "paths", "removed", "why")

    def __init__(self) -> None:
        self.why: str | None = None
        self.paths: list[str] = []
        self.removed: list[str] = []
        self.directories: list[str] = []
        """Where it changes to on the way; a path may be meant from any of them."""
        self.is_loose = False
        """Whether what it writes may be named anywhere in the text."""
        self.is_exhausted = False
        """True if it is too long or too deep to be read in time: what it writes is not known."""


def read_command(
    command: str, is_temporary: Callable[[str], bool] = lambda path: False, budget: Budget | None = None
) -> Reading:
    """Read a command; `is_temporary` says of an absolute path whether writing there is nobody's business."""
    judge = _Judge(budget or Budget(), is_temporary)
    try:
        judge.judge(command, None)
    except Exhausted:
        judge.reading.is_exhausted = judge.reading.is_loose = True
        judge.reading.why = _UNREADABLE
    return judge.reading


def commands_of(command: str) -> list[tuple[list[str], str]]:
    """The words of each simple command, without what only carries it, and the operator after it."""
    try:
        reader = ShellReader(command[:_MAX_COMMAND])
        reader.commands()
    except (UnreadableShell, Exhausted, RecursionError):
        return []
    return [(_carried(simple.words)[0], simple.after) for simple in reader.found]


class _Judge:
    """Goes through the commands of a text and notes what each of them writes."""

    def __init__(self, budget: Budget, is_temporary: Callable[[str], bool]) -> None:
        self.reading = Reading()
        self._budget = budget
        self._is_temporary = is_temporary

    def judge(self, text: str, above: ShellReader | None) -> None:
        """Judge a text that is run as a command, by an agent or by another command that holds it."""
        if len(text) > _MAX_COMMAND:
            raise Exhausted
        try:
            reader = ShellReader(text, above, self._budget)
            first = len(reader.found)
            reader.commands()
            for simple in reader.found[first:]:
                self._judge_simple(simple, reader)
        except (UnreadableShell, RecursionError):
            self._writes(_UNREADABLE, is_loose=True)

    def _writes(self, why: str, paths: Iterable[str] = (), *, is_loose: bool = False, name: str = "") -> None:
        """Note it, unless it goes nowhere; for some commands a temporary directory is nowhere."""
        given = list(paths)
        found = [path for path in given if not _NOWHERE.fullmatch(path)]
        if given and name in _TEMPORARY and all(one[:1] == "/" and self._is_temporary(one) for one in found):
            return
        self.reading.why = self.reading.why or why
        self.reading.paths += found
        self.reading.is_loose |= is_loose or any(UNKNOWN in path or "{}" in path for path in found)

    def _judge_simple(self, simple: Simple, reader: ShellReader) -> None:
        for target in simple.into:
            shown = "a file" if UNKNOWN in target or not target else target
            self._writes(f"it redirects into {shown}", [target], name="tee")
        for word in simple.words:
            if (held := _HOLDS_COMMAND.match(word)) is not None:
                self.judge(word[held.end() :], reader)
        self._judge_words(simple.words, simple, reader)

    def _judge_words(self, words: list[str], simple: Simple, reader: ShellReader) -> None:
        # A word is looked at by several patterns, and where something carries a command, again with each of them.
        self._budget.spend(len(words), 4 * sum(map(len, words)))
        command, carriers = _carried(words)
        before = self.reading.why
        for carrier, rest in carriers:
            for code in _values(rest, {"env": "S", "flock": "c", "npm": "c", "npx": "c"}.get(carrier, "")):
                self.judge(code, reader)
            if carrier == "time" and (into := _values(rest, "o")):
                self._writes("`time` writes what it finds", into, name="tee")
        if command:
            self._judge_command(_name(command[0]), command[1:], simple, reader)
        if self.reading.why != before and any(carrier in ("xargs", "parallel") for carrier, _ in carriers):
            self.reading.is_loose = True  # what it writes is named elsewhere

    def _judge_command(self, name: str, rest: list[str], simple: Simple, reader: ShellReader) -> None:
        line = "\n".join(rest)
        is_pattern = not rest and simple.after == ")"  # of a case
        if UNKNOWN in name or (re.search(r"[*?\[ ]|\{\}|^-$", name) and name not in ("[", "[[") and not is_pattern):
            self._writes("what it runs is not known before it runs", is_loose=True)
        elif _has(_DRY, line):
            return
        elif name in ("eval", "trap", "alias"):
            code = {"eval": " ".join(rest), "trap": "".join(rest[:1])}.get(name, line.partition("=")[2])
            self.judge(code if code != "-" else "", reader)
        elif name in ("cd", "pushd"):
            self.reading.directories += [word for word in rest if word[:1] != "-"][:1]
        elif name in _SHELLS or name in (".", "source"):
            self._of_shell(name, rest, simple, reader)
        elif name == "git":
            self._of_git(rest, reader)
        elif name in _WRITERS or name in _WRITING or name in _VERBS:
            self._of_table(name, rest, line)
        self._of_code(name, rest, simple, reader)

    def _of_table(self, name: str, rest: list[str], line: str) -> None:
        begins = rf"\A(?:-.*\n)*(?:{_VERBS[name]})$" if name in _VERBS else r"\Z\A."
        if not (name in _WRITERS or _has(_WRITING.get(name, r"\Z\A."), line) or _has(begins, line)):
            return
        plain = _written(name, rest, line)
        paths = [word.partition("=")[2] for word in rest if "=" in word]
        into = re.findall(r"(?m)^(?:-\w*t|--target-directory)[=\n](.*)", line) if name in _COPIERS else []
        self._budget.spend(len(plain) * len(into))
        moved = [word for word in plain[: None if into else -1] if word not in into] if name in _COPIERS else []
        # Into a directory, each goes under its own name.
        landed = [f"{one}/{word.rstrip('/').rpartition('/')[2]}" for one in into or plain[-1:] for word in moved]
        written = [*(into or plain[-1:]), *landed] if name in _COPIERS and name != "mv" else [*plain, *paths, *landed]
        is_loose = name == "make" or (name.endswith("tar") and _has(r"^-I|^--(?:to-|check|use-)", line))
        self._writes(f"`{name}` changes files", written, is_loose=is_loose, name=name)
        self.reading.removed += [*((moved or plain) if name in _REMOVERS else []), *landed]

    def _of_shell(self, name: str, rest: list[str], simple: Simple, reader: ShellReader) -> None:
        plain = rest[:1] if name in (".", "source") else _past_options(rest, "-o -O +o +O")
        for index, word in enumerate(rest if name in _SHELLS else ()):
            if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*|--command", word):
                self.judge("".join(_past_options(rest[index + 1 :], "-o -O")[:1]), reader)
                return
        listens = not plain or any(re.fullmatch(r"-\w*s\w*", one) for one in rest[: len(rest) - len(plain)])
        if (listens and name != "su") or re.fullmatch(_INPUT, "".join(plain[:1])):
            for text in simple.given:
                self.judge(text, reader)
            if not simple.given:
                self._writes("a shell runs what it is given on its input", is_loose=True)

    def _of_code(self, name: str, rest: list[str], simple: Simple, reader: ShellReader) -> None:
        """Commands that run code which stands among their words."""
        if name in _INTERPRETERS and self._runs_code(name, rest):
            self._writes(f"`{name}` runs code that stands in the command, and it may write", is_loose=True)
        elif name in ("find", "fd", "fdfind"):
            self._of_find(rest, simple, reader)
        elif name in ("sed", "gsed"):
            scripts = _values(rest, "e") or [word for word in rest if word[:1] != "-"][:1]
            # Where a delimiter is never closed, the rest of the script is searched for it each time.
            self._budget.spend(sum(min(len(one), _MAX_SCRIPT) ** 2 for one in scripts) // 1000)
            if any(map(_sed_writes, scripts)):
                self._writes(f"`{name}` writes or runs what its script says", is_loose=True)
        elif name in ("awk", "gawk", "mawk"):
            code = re.sub(r'"(?:[^"\\]|\\[\s\S])*"?', '"', "\n".join(rest))
            prints = any(">" in one.partition("print")[2] for one in re.split(r"[;}\n]", code))
            if prints or "inplace" in rest or re.search(r'\bsystem\s*\(|\|\s*["&]|\|\s*getline', code):
                self._writes(f"`{name}` writes or runs what its program says", is_loose=True)

    def _of_find(self, rest: list[str], simple: Simple, reader: ShellReader) -> None:
        """Every command that a search runs with what it finds: that lies below where it begins."""
        line = "\n".join(rest)
        start = rest[0] if rest and rest[0][:1] not in ("-", "!", "(") else "."
        before = self.reading.why
        for part in re.split(r"\n(?:;|\+)(?=\n|\Z)", line):
            runs = re.search(r"(?:^|\n)(?:-exec(?:dir)?|-ok(?:dir)?|-x|-X|--exec(?:-batch)?)\n([\s\S]*)", part)
            if runs is not None:
                words = runs.group(1).split("\n")
                found = [words[0], *(f"{start}/found" if word == "{}" else word for word in words[1:])]
                self._judge_words(found, simple, reader)
        if self.reading.why != before:
            self.reading.paths += _written("find", rest, line)

    def _runs_code(self, name: str, rest: list[str]) -> bool:
        inline, _, valued = _INTERPRETERS[name].partition(" ")
        past = _past_options(rest, " ".join(f"-{letter}" for letter in valued))
        options = [one for one in rest[: len(rest) - len(past)] if len(one) == 2 or one[1] not in valued]
        letters = {letter for one in options if re.fullmatch(r"-\w+", one) for letter in one}
        if letters & set(inline) or _has(r"^--(?:eval|print)", "\n".join(options)) or past[:1] == ["eval"]:
            return True
        if past:
            return any(re.fullmatch(_INPUT, one) for one in past[:2])
        # Without a script it runs what it is given on its input, now or when more is written to it.
        return not _has(r"^-[vVh]|^--(?:run|test)", "\n".join(options))

    def _of_git(self, rest: list[str], reader: ShellReader) -> None:
        past = _past_options(rest, "-C -c --git-dir --work-tree --namespace --exec-path")
        for index, option in enumerate(rest[: len(rest) - len(past)]):
            if option == "-c" and (held := re.search(_GIT_COMMANDS, "".join(rest[index + 1 : index + 2]))):
                self.judge(rest[index + 1][held.end() :].lstrip("!"), reader)
            self.reading.directories += rest[index + 1 : index + 2] if option == "-C" else []
        verb, options = "".join(past[:1]), past[1:]
        line = "\n".join(options)
        looks = not _has(r"^--(?:output|lost-found|ext-diff|open-files)|^-O", line) if verb in _GIT_READS else False
        if not verb or looks or (verb in _GIT_LISTS and _has(_GIT_LISTS[verb], line)):
            return
        named = [one for one in options if one[:1] != "-"]
        paths = named if verb in ("apply", "checkout", "clean", "mv", "restore", "rm") else []
        # What git ignores is ours as well, and these take it away.
        takes_all = verb in ("clean", "stash") and _has(r"^-\w*[axX]|^--all$", line)
        ours = [".git/config"] if verb == "config" else [".ralf"] if takes_all else []
        self._writes(f"`git {verb}` changes the repository", [*paths, *ours], is_loose=UNKNOWN in verb)
        self.reading.removed += paths if verb in ("clean", "mv", "rm") else []


def _written(name: str, rest: list[str], line: str) -> list[str]:
    """Of the words of a command that writes, those that may name what it writes."""
    if name in ("find", "fd", "fdfind"):  # not the patterns of what it leaves out
        line = re.sub(r"(?m)^(?:(?:!|-not)\n-\w*(?:path|name)\n.*|-\w*(?:path|name)\n.*\n-prune)$", "-", line)
        return [word for word in line.split("\n") if word[:1] not in ("-", "")]
    plain = [word for word in rest if word[:1] != "-"]
    if name in ("sed", "gsed"):
        scripts = set(_values(rest, "e") or plain[:1])
        return [word for word in plain if word not in scripts]
    if name.endswith("tar") and not _has(r"(?:\A|^-)[a-zA-Z]*x|^--(?:extract|get)", line):
        return re.findall(r"(?m)(?:\A\w*f|^-\w*f|^--file)[=\n](.*)", line)
    if name in _SETTINGS:
        return [_SETTINGS[name]] if plain[:1] in (["mcp"], ["config"], ["plugin"], ["init"]) else []
    return plain


def _has(pattern: str, line: str) -> bool:
    return re.search(pattern, line, re.MULTILINE) is not None


def _sed_writes(script: str) -> bool:
    """Whether a script of sed writes a file or runs a command."""
    if len(script) > _MAX_SCRIPT:
        return True
    part = r"(?:\\.|(?!\1)[^\\])*\1"
    substitution = re.compile(rf"s([^\w\s\\]){part}{part}[gpiImM0-9]*([we]?)")
    if any(found.group(2) for found in substitution.finditer(script)):
        return True
    bare = re.sub(r"/(?:\\.|[^/\\\n])*/", "0", substitution.sub(";", script))
    return re.search(r"(?:^|[;{}\n0-9$!,])[ \t]*(?:[wW][ \t]+[^\n;}]|e(?:[ \t;}]|$))", bare) is not None


# Words


def _name(word: str) -> str:
    """A command without its directory and its version."""
    name = word.rpartition("/")[2].lower()
    name = name.partition("@")[0] or name
    return name if name in _WRITING else re.sub(r"(?<=[a-z])-?[\d.]+$", "", name)


def _carried(words: list[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The words from the command on, and what carries it there: assignments, keywords, `sudo`, `npx` and the like."""
    carriers: list[tuple[str, list[str]]] = []
    at = 0
    while at < len(words):
        if words[at] in KEYWORDS or words[at] == "function" or ASSIGNMENT.match(words[at]):
            at += 2 if words[at] == "function" else 1
            continue
        name, rest = _name(words[at]), words[at + 1 :]
        after = _past_carrier(name, rest)
        if after is None:
            return words[at:], carriers
        if len(carriers) == _MOST_CARRIERS:
            return [UNKNOWN], carriers
        carriers.append((name, rest[:_MOST_CARRIERS]))
        words, at = after, 0
    return [], carriers


def _past_carrier(name: str, rest: list[str]) -> list[str] | None:
    """What a command carries; None where it carries none."""
    if name == "command" and rest and rest[0][:2] in ("-v", "-V"):
        return []
    if name in _CARRIERS:
        given = rest[1:] if rest[:1] == ["-"] else rest
        return _past_options(given, _CARRIERS[name])[_CARRIERS[name][:1] == "1" :]
    if name in _RUNNERS:
        past = _past_options(rest, _RUNNER_VALUES)
        runs = re.match(rf"(?:{_RUNNERS[name]})(?=\n|\Z)", "\n".join(past[:2]))
        if runs is not None:
            return _past_options(past[runs.group().count("\n") + 1 :], _RUNNER_VALUES)
    if name in ("python", "pypy"):
        past = _past_options(rest, "-W -X")
        module = re.fullmatch(r"-[a-zA-Z]*m(.*)", "".join(rest[: len(rest) - len(past)][-1:]))
        return None if module is None else [module.group(1), *past] if module.group(1) else past
    runs_tool = name in ("yarn", "pnpm") and rest[:1] and _name(rest[0]) in (_WRITERS | _WRITING.keys())
    return rest if runs_tool and not _has(rf"\A(?:{_VERBS[name]})$", "\n".join(rest[:2])) else None


def _past_options(words: list[str], valued: str) -> list[str]:
    """The words after the options, some of which take a word with them."""
    known, at = valued.split(), 0
    while at < len(words) and words[at][:1] in ("-", "+") and len(words[at]) > 1:
        if words[at] == "--":
            return words[at + 1 :]
        at += 2 if words[at] in known else 1
    return words[at:]


def _values(words: list[str], letter: str) -> list[str]:
    """What is given with an option of one letter: in the next word, or at once behind it."""
    found: list[str] = []
    for index, word in enumerate(words if letter else ()):
        option = re.match(rf"-[a-zA-Z]*?{letter}", word)
        if option is not None:
            found += [word[option.end() :]] if len(word) > option.end() else words[index + 1 : index + 2]
    return found
