"""Does a shell command write, and what? A careful guess from its text alone, by the tables in `programs`.

Code that stands in the command counts as writing unless its text shows otherwise, and so does what cannot be read with
certainty: an open quote, a command that only a variable names, a shell that reads its input. Those are a guess, and
are said to be one.

No reading of a text can be complete. Not caught are
- what is only named: a script, a Makefile's target, a package's script, a test that writes, a program of one's own;
- a name that is put together where it is used: by a variable of the environment, inside inline code, by a link;
- what happens elsewhere: in a container, over ssh, by a service that is asked to, later by cron or at.
What slips through here is found by the check after the session, which looks at the files themselves.
"""

from __future__ import annotations

import re

from interlock.work.sessions.carriers import carried, name_of
from interlock.work.sessions.options import Options, read_options
from interlock.work.sessions.programs import (
    AGENT_SETTINGS,
    BUILTINS_THAT_EVALUATE,
    COPIERS,
    INTERPRETERS,
    LOOKS,
    OUTPUTS,
    REMOVERS,
    SHELLS,
    TEMPORARY,
    VERBS,
    kind_of,
    row_of,
)
from interlock.work.sessions.reading import Reading
from interlock.work.sessions.shell import ASSIGNMENT, KEYWORDS, Budget, Exhausted, ShellReader, Simple, UnreadableShell
from interlock.work.sessions.shell_words import UNKNOWN
from interlock.work.sessions.special_programs import SPECIAL
from interlock.work.sessions.variables import variable_does

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Call", "Judge", "commands_of", "read_command"]

_MAX_COMMAND = 100_000
_UNREADABLE = "the command cannot be read with certainty"
_NOWHERE = re.compile(r"-|/dev/(?:null|stdout|stderr|tty|fd/\d+)")
_INPUT = re.compile(r"-|/dev/stdin|/dev/fd/\d+|/proc/self/fd/\d+")
_SHELL_OPTIONS = "-o= -O= +o= +O= --command= --rcfile= --init-file=".split()
_CLIENT_WRITES = r"(?i)\\[!acegiowT]|\b(?:copy|outfile|dumpfile|lo_export|pg_write\w*|system|tee|program)\b"
"""Commands of a database's client itself, and of a server for files."""
_EVALUATED = frozenset("alias eval trap".split())
_MOVES = frozenset("cd popd pushd".split())
_JUDGED_BY_WORDS = frozenset({"git", ":", "exec", *_EVALUATED, *SHELLS})
"""Commands that only look if what they are given does."""


def read_command(
    command: str, is_temporary: Callable[[str], bool] = lambda path: False, budget: Budget | None = None
) -> Reading:
    """Read a command; `is_temporary` says of an absolute path whether writing there is nobody's business."""
    judge = Judge(budget or Budget(), is_temporary)
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
    return [(carried(simple.words)[0], simple.after) for simple in reader.found]


class Call:
    """One call of a program: its name, the words after it, and the command and the text that it is in."""

    __slots__ = ("name", "reader", "simple", "words")

    def __init__(self, name: str, words: list[str], simple: Simple, reader: ShellReader) -> None:
        self.name = name
        self.words = words
        self.simple = simple
        self.reader = reader


class Judge:
    """Goes through the commands of a text and notes what each of them writes."""

    def __init__(self, budget: Budget, is_temporary: Callable[[str], bool]) -> None:
        self.reading = Reading()
        self.budget = budget
        self._is_temporary = is_temporary

    def judge(self, text: str, above: ShellReader | None) -> None:
        """Judge a text that is run as a command, by an agent or by another command that holds it."""
        if len(text) > _MAX_COMMAND:
            raise Exhausted
        try:
            reader = ShellReader(text, above, self.budget, is_inside=False)
            first = len(reader.found)
            reader.commands()
            for simple in reader.found[first:]:
                self._judge_simple(simple, reader)
        except (UnreadableShell, RecursionError):
            self.may_write(_UNREADABLE)

    def writes(self, why: str, paths: Iterable[str] = (), *, name: str = "") -> None:
        """Note that a command writes, unless that goes nowhere; for some, a temporary directory is nowhere."""
        given = list(paths)
        found = [path for path in given if not _NOWHERE.fullmatch(path)]
        if given and name in TEMPORARY and all(one[:1] == "/" and self._is_temporary(one) for one in found):
            self.reading.only_reads &= not found
            return
        self.reading.why = self.reading.why or why
        self.reading.is_certain |= not (found and all(UNKNOWN in path for path in found))
        self.reading.paths += found
        unknown = [*found, *self.reading.directories]
        self.reading.is_loose |= any(UNKNOWN in path or "{}" in path for path in unknown)

    def may_write(self, why: str) -> None:
        """Note that what a command does is not known."""
        self.reading.why = self.reading.why or why
        self.reading.is_loose = True

    def _judge_simple(self, simple: Simple, reader: ShellReader) -> None:
        for target in simple.into:
            shown = "a file" if UNKNOWN in target or not target else target
            self.writes(f"it redirects into {shown}", [target], name="tee")
        for word in simple.words:
            self._judge_variable(word, reader)
        at = Call("", [], simple, reader)
        self.judge_words(simple.words, at)
        if simple.may_vanish:
            first = next(index for index, word in enumerate(simple.words) if not ASSIGNMENT.match(word))
            self.judge_words(simple.words[first + 1 :], at)

    def _judge_variable(self, word: str, reader: ShellReader) -> None:
        """A variable that names a program, or a file that one writes."""
        does, value = variable_does(word)
        if does == "command":
            self.judge(value, reader)
        elif does == "file":
            self.writes(f"`{word.partition('=')[0]}` names a file to write", [value], name="tee")
        elif does == "directory":
            self.reading.directories.append(value)
        elif does:
            self.may_write(f"`{word.partition('=')[0]}` can make a program run or write something")

    def judge_words(self, words: list[str], at: Call) -> None:
        """Judge words that are run as one command, in the place of another call."""
        # A word is looked at by several patterns, and where something carries a command, again with each of them.
        self.budget.spend(len(words), 4 * sum(map(len, words)))
        command, carriers = carried(words)
        before = self.reading.why
        for carrier in carriers:
            self.judge_options(carrier.name, carrier.options, at)
        if command:
            self._judge_call(Call(name_of(command[0]), command[1:], at.simple, at.reader))
        elif any(one.is_runner for one in carriers):
            self.reading.only_reads = False
        if self.reading.why != before and any(carrier.name in ("xargs", "parallel") for carrier in carriers):
            self.reading.is_loose = True  # what it writes is named elsewhere

    def judge_options(self, name: str, options: Options, at: Call) -> None:
        """Judge the options of a program by their marks."""
        for one in options.given:
            if "$" in one.marks:
                self.judge(one.value, at.reader)
            if "@" in one.marks:
                self.reading.directories.append(one.value)
            if ">" in one.marks:
                self.writes(f"`{name} {one.name}` writes a file", [one.value], name="tee")
            elif "#" in one.marks and "!" not in one.marks:
                self.judge_code(name, one.value)
            elif "!" in one.marks and not options.marked("~"):
                self.writes(f"`{name} {one.name}` changes files", _written(name, options))

    def judge_code(self, name: str, code: str) -> None:
        """Judge code in the language of a program."""
        from interlock.work.sessions.inline_code import MOST_CODE, may_write

        self.budget.spend(1 + min(len(code), MOST_CODE) ** 2 // 5000)
        is_client = name in ("psql", "mysql", "mariadb")
        if re.search(_CLIENT_WRITES, code) is not None if is_client else may_write(name, code):
            self.may_write(f"`{name}` runs code that stands in the command, and it may write")

    def _judge_call(self, call: Call) -> None:
        name, words = call.name, call.words
        is_pattern = not words and call.simple.after == ")"  # of a case
        if UNKNOWN in name or (re.search(r"[*?\[ ]|\{\}|^-$", name) and name not in ("[", "[[") and not is_pattern):
            self.may_write("what it runs is not known before it runs")
            return
        looks = kind_of(name) == "read" or name in _JUDGED_BY_WORDS or name in KEYWORDS
        self.reading.only_reads &= looks or is_pattern
        if name in BUILTINS_THAT_EVALUATE and any("$(" in word or "`" in word for word in words):
            self.may_write("it evaluates a text with a command in it")
        if name in _EVALUATED:
            self._evaluate(call)
        elif words[:1] in (["--help"], ["--version"]):
            return
        elif name in SHELLS or name in (".", "source"):
            self._judge_shell(call)
        elif name == "git":
            self._judge_git(call)
        elif name in _MOVES:
            self.reading.directories += read_options(words, ()).operands[:1]
        elif name in SPECIAL:
            SPECIAL[name](self, call)
        else:
            self._judge_by_tables(call)

    def _evaluate(self, call: Call) -> None:
        words = call.words[call.words[:1] == ["--"] :]
        if call.name == "eval":
            self.judge(" ".join(words), call.reader)
        elif call.name == "alias":
            self.judge("\n".join(word.partition("=")[2] for word in words), call.reader)
        elif len(words) > 1 and words[0] not in ("-", "-l", "-p"):
            self.judge(words[0], call.reader)

    def _judge_shell(self, call: Call) -> None:
        options = read_options(call.words, _SHELL_OPTIONS, is_leading=call.name != "su")
        codes = options.values("--command") or (options.operands[:1] if options.has("-c") else [])
        if call.name == "su":
            codes = read_options(call.words, ["-c=", "--command=", "-s=", "-g="]).values("-c", "--command")
        if codes and call.name not in (".", "source"):
            self.judge(codes[0], call.reader)
            return
        self.reading.only_reads = False
        plain = call.words[:1] if call.name in (".", "source") else options.operands
        if ((not plain or options.has("-s")) and call.name != "su") or _INPUT.fullmatch("".join(plain[:1])):
            for text in call.simple.given:
                self.judge(text, call.reader)
            if not call.simple.given:
                self.may_write("a shell runs what it is given on its input")

    def _judge_git(self, call: Call) -> None:
        from interlock.work.sessions.git_calls import read_git

        git = read_git(call.words)
        self.reading.directories += git.directories
        for command in git.commands:
            self.judge(command, call.reader)
        if git.harmful:
            self.may_write(f"`git` is given `{git.harmful}`, which can make it run something")
        if git.verb in ("apply", "am"):
            self.reading.patches += [one for one in git.options.operands if one != "-"] or call.simple.read or ["-"]
        if git.writes and git.is_known:
            self.writes(f"`git {git.verb}` changes the repository", git.paths)
            self.reading.is_certain = True
        elif git.writes:
            self.may_write(f"`git {git.verb}` is not known to only look".replace(UNKNOWN, "…"))
        self.reading.removed += git.removed

    def _judge_by_tables(self, call: Call) -> None:
        name, kind = call.name, kind_of(call.name)
        options = read_options(call.words, row_of(name) if kind else OUTPUTS, is_leading=name in INTERPRETERS)
        if not kind:
            self.reading.named += [one.value for one in options.marked(">")]
            return
        self.judge_options(name, options, call)
        line = "\n".join(options.operands)
        if name in INTERPRETERS:
            self._judge_interpreter(call, options)
        elif options.marked("~"):
            return
        elif kind == "write" and not (name in LOOKS and re.match(rf"(?:{LOOKS[name]})(?=\n|\Z)", line)):
            self._judge_changes(name, options)
        elif name in VERBS and re.match(rf"(?:{VERBS[name]})(?=\n|\Z)", line):
            self.writes(f"`{name}` changes files", _written(name, options), name=name)
        if name == "patch":
            named = options.values("-i", "--input") or options.operands[1:2]
            self.reading.patches += named or call.simple.read or ["-"]

    def _judge_interpreter(self, call: Call, options: Options) -> None:
        """Code that an interpreter is given without a script, now or when more is written to its input."""
        loads = [one.value for one in options.given if one.name in ("-M", "-m", "-r", "--import")]
        if options.operands[:1] == ["eval"] or any(re.search(r"data:|[\s;(]", one) for one in loads):
            self.may_write(f"`{call.name}` runs code that stands in the command, and it may write")
            return
        has_script = options.operands and not any(map(_INPUT.fullmatch, options.operands[:2]))
        shows = options.has("-v", "-V", "-h", "--version", "--help", "--test", "--run") and not options.operands
        if has_script or shows or any("#" in one.marks for one in options.given):
            return
        for code in call.simple.given:
            self.judge_code(call.name, code)
        if not call.simple.given:
            self.may_write(f"`{call.name}` runs code that it is given on its input, and it may write")

    def _judge_changes(self, name: str, options: Options) -> None:
        """A program that is there to change files: which it makes, and which are gone."""
        plain, into = _written(name, options), [one.value for one in options.marked(">")]
        if name not in COPIERS:
            self.writes(f"`{name}` changes files", plain or into, name=name)
            self.reading.removed += plain if name in REMOVERS else []
            return
        links = name == "ln" or options.has("-s", "-l", "--symbolic-link", "--link")
        moved = plain if into else plain[:-1]
        self.budget.spend(len(moved) * len(into))
        # Into a directory, each goes under its own name.
        landed = [f"{one}/{word.rstrip('/').rpartition('/')[2]}" for one in into or plain[-1:] for word in moved]
        taken = moved if name in REMOVERS else []
        written = [*(moved if taken or links else []), *([] if into else plain[-1:]), *landed]
        self.writes(f"`{name}` changes files", written, name=name)
        self.reading.removed += [*taken, *landed]


def _written(name: str, options: Options) -> list[str]:
    """Of the words of a command that writes, those that may name what it writes."""
    if name in AGENT_SETTINGS:
        changes = options.operands[:1] in (["mcp"], ["config"], ["plugin"], ["init"])
        return [AGENT_SETTINGS[name]] if changes else []
    return options.operands
