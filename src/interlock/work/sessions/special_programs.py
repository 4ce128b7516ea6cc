"""Programs that write in a way of their own: what their words say, one function for each.

A function gets the judge of a text and one call of its program. All other programs are read by the tables alone.
"""

from __future__ import annotations

import re

from interlock.work.sessions.options import Options, read_options
from interlock.work.sessions.programs import row_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from interlock.work.sessions.writers import Call, Judge

__all__ = ["SPECIAL"]

_SQLITE = (
    "-cmd= -init= -separator= -newline= -nullvalue= -maxsize= -vfs= -A= -mmap= -heap= -readonly -batch -json -csv "
    "-header -noheader -line -list -column -box -table -markdown -html -quote -tabs -bail -echo -safe -version"
).split()
_SQLITE_ITSELF = r"(?m)^\s*\.|writefile|edit|load_extension"
"""Commands and functions that change files although the database is only read."""
_CMAKE_LOOKS = r"capabilities|cat|compare_files|echo|environment|false|md5sum|sha\d+sum|sleep|true"


def _hash(judge: Judge, call: Call) -> None:
    if read_options(call.words, ["-p="]).has("-p"):
        judge.may_write("`hash -p` gives a command another name")


def _find(judge: Judge, call: Call) -> None:
    """Every command that a search runs with what it finds: that lies below where it begins."""
    line = "\n".join(call.words)
    start = call.words[0] if call.words and call.words[0][:1] not in ("-", "!", "(") else "."
    before = judge.reading.why
    for option in re.findall(r"(?m)^-(?:delete|fprint\w*|fls)$", line if call.name == "find" else ""):
        judge.writes(f"`find {option}` changes files")
    for part in re.split(r"\n(?:;|\+)(?=\n|\Z)", line):
        words = _found_words(call.name, part)
        if words:
            judge.judge_words([words[0], *(f"{start}/found" if one == "{}" else one for one in words[1:])], call)
    if judge.reading.why != before:  # not the patterns of what it leaves out
        left = re.sub(r"(?m)^(?:(?:!|-not)\n-\w*(?:path|name)\n.*|-\w*(?:path|name)\n.*\n-prune)$", "-", line)
        judge.reading.paths += [word for word in left.split("\n") if word[:1] not in ("-", "")]


def _found_words(name: str, part: str) -> list[str]:
    """The command that `find` or `fd` runs."""
    if name == "find":
        runs = re.search(r"(?:^|\n)-(?:exec|ok)(?:dir)?\n([\s\S]*)", part)
        return runs.group(1).split("\n") if runs else []
    runs = re.search(
        r"(?:^|\n)(?:-[a-zA-Z]*[xX]|--exec(?:-batch)?=)\n?([\s\S]*)|(?:^|\n)--exec(?:-batch)?\n([\s\S]*)", part
    )
    return (runs.group(1) or runs.group(2) or "").split("\n") if runs else []


def _pay(judge: Judge, scripts: list[str]) -> None:
    """Pay for scripts in which a text that is never closed is searched for again and again."""
    from interlock.work.sessions.scripts import MOST_SCRIPT

    judge.budget.spend(len(scripts) + sum(min(len(one), MOST_SCRIPT) ** 2 for one in scripts) // 5000)


def _sed(judge: Judge, call: Call) -> None:
    from interlock.work.sessions.scripts import sed_writes

    options = read_options(call.words, row_of(call.name))
    scripts = options.values("-e", "--expression")
    files = options.operands if scripts or options.has("-f", "--file") else options.operands[1:]
    scripts = scripts or options.operands[:1]
    if options.marked("!"):
        judge.writes(f"`{call.name}` changes files", files)
    _pay(judge, scripts)
    if any(map(sed_writes, scripts)):
        judge.may_write(f"`{call.name}` writes or runs what its script says")


def _awk(judge: Judge, call: Call) -> None:
    from interlock.work.sessions.scripts import awk_runs, awk_writes

    options = read_options(call.words, row_of(call.name), is_leading=True)
    judge.judge_options(call.name, options, call)
    programs = options.values("-e", "--source")
    if not programs and not options.has("-f", "--file", "-E"):
        programs = options.operands[:1]
    if "inplace" in options.values("-i", "--include"):
        judge.writes(f"`{call.name}` changes files", options.operands)
    _pay(judge, programs)
    for program in programs:
        commands = awk_runs(program)
        for command in commands or ():
            judge.judge(command, call.reader)
        if commands is None or awk_writes(program):
            judge.may_write(f"`{call.name}` writes or runs what its program says")


def _sqlite(judge: Judge, call: Call) -> None:
    from interlock.work.sessions.scripts import sql_writes

    options = read_options(call.words, _SQLITE)
    if options.has("-version"):
        return
    told = [*options.values("-cmd"), *(options.operands[1:] or call.simple.given)]
    _pay(judge, told)
    only_read = options.has("-readonly") and not any(re.search(_SQLITE_ITSELF, one) for one in told)
    if not told or options.has("-init", "-A") or not (only_read or not any(map(sql_writes, told))):
        judge.writes(f"`{call.name}` changes files", options.operands[:1])


def _tar(judge: Judge, call: Call) -> None:
    words = [f"-{call.words[0]}", *call.words[1:]] if re.match(r"[a-zA-Z]+$", "".join(call.words[:1])) else call.words
    options = read_options(words, row_of(call.name))
    judge.judge_options(call.name, options, call)
    archives = options.values("-f", "--file")
    if options.has("-x", "--extract", "--get"):
        if not options.has("-O", "--to-stdout"):
            judge.writes(f"`{call.name}` changes files", [*archives, *options.operands])
    elif archives != ["-"] and options.has(
        *"-r -u -A -c --create --append --update --delete --catenate --concatenate".split()
    ):
        judge.writes(f"`{call.name}` changes files", archives)


def _dd(judge: Judge, call: Call) -> None:
    into = [word.partition("=")[2] for word in call.words if word.startswith("of=")]
    if into and not into[-1].startswith("/dev/"):
        judge.writes("`dd` changes files", into)


def _second_file(judge: Judge, call: Call) -> None:
    options = read_options(call.words, row_of(call.name))
    if len(options.operands) > 1:
        judge.writes(f"`{call.name}` writes its second file", options.operands[1:2])


def _wget(judge: Judge, call: Call) -> None:
    options = read_options(call.words, row_of(call.name))
    judge.judge_options(call.name, options, call)
    into = options.values("-O", "--output-document")
    if not into and not options.marked("~"):
        judge.writes("`wget` writes what it gets", _landed(options, "-P", "--directory-prefix"), name="wget")


def _curl(judge: Judge, call: Call) -> None:
    options = read_options(call.words, row_of(call.name))
    judge.judge_options(call.name, options, call)
    if options.has("-O", "--remote-name", "--remote-name-all"):
        judge.writes("`curl` writes what it gets", _landed(options, "--output-dir"), name="curl")
    if any("%output{" in one for one in options.values("-w", "--write-out")):
        judge.writes("`curl -w` writes a file")


def _landed(options: Options, *names: str) -> list[str]:
    """The paths of files that are fetched under their own names."""
    into = [*options.values(*names), "."][0]
    return [f"{into}/{one.rpartition('/')[2]}" for one in options.operands]


def _make(judge: Judge, call: Call) -> None:
    options = read_options(call.words, row_of(call.name))
    judge.judge_options(call.name, options, call)
    if not {"-", "/dev/stdin"}.isdisjoint(options.values("-f", "--file", "--makefile")):
        judge.may_write("`make` runs what it is given on its input")
    for word in options.operands:
        if word.startswith("SHELL="):
            judge.judge_words([word[6:], *options.operands], call)


def _mktemp(judge: Judge, call: Call) -> None:
    options = read_options(call.words, row_of(call.name))
    places = [*options.values("-p", "--tmpdir"), *(one for one in options.operands if "X" in one)]
    if any(places):
        judge.writes("`mktemp` makes a file", places, name="mktemp")


def _cmake(judge: Judge, call: Call) -> None:
    options = read_options(call.words, row_of(call.name))
    if not options.has("-E") or not options.operands:
        return
    if options.operands[0] in ("env", "time"):
        judge.judge_words(options.operands[1:], call)
    elif not re.fullmatch(_CMAKE_LOOKS, options.operands[0]):
        judge.writes("`cmake -E` changes files", options.operands[1:])


def _socat(judge: Judge, call: Call) -> None:
    for word in call.words:
        runs = re.match(r"(?i)(?:exec|system|shell):(.*)", word)
        judge.judge(runs.group(1) if runs else "", call.reader)


def _debugger(judge: Judge, call: Call) -> None:
    options = read_options(call.words, row_of(call.name))
    judge.judge_options(call.name, options, call)
    if options.has("--args", "-args"):
        judge.judge_words(options.operands, call)


def _each_word(judge: Judge, call: Call) -> None:
    """A program whose words are commands for a shell."""
    for word in read_options(call.words, row_of(call.name)).operands:
        judge.judge(word, call.reader)


def _all_words(judge: Judge, call: Call) -> None:
    """A program whose words are one command."""
    judge.judge_words(read_options(call.words, row_of(call.name), is_leading=True).after, call)


def _coreutils(judge: Judge, call: Call) -> None:
    options = read_options(call.words, row_of(call.name), is_leading=True)
    judge.judge_words([*options.values("--coreutils-prog"), *options.after], call)


def _timeit(judge: Judge, call: Call) -> None:
    for code in read_options(call.words, row_of(call.name)).operands:
        judge.judge_code("python", code)


SPECIAL: dict[str, Callable[[Judge, Call], None]] = {
    "cmake": _cmake,
    "coreutils": _coreutils,
    "curl": _curl,
    "dd": _dd,
    "hash": _hash,
    "mktemp": _mktemp,
    "socat": _socat,
    "sqlite3": _sqlite,
    "timeit": _timeit,
    "wget": _wget,
    **dict.fromkeys(("awk", "gawk", "mawk"), _awk),
    **dict.fromkeys(("entr", "watchexec"), _all_words),
    **dict.fromkeys(("find", "fd", "fdfind"), _find),
    **dict.fromkeys(("gdb", "lldb"), _debugger),
    **dict.fromkeys(("hyperfine", "pee"), _each_word),
    **dict.fromkeys(("json.tool", "uniq", "xxd"), _second_file),
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _tar),
}
