"""The entry point of `ralph`: find the noun and the verb, call it, and exit with what came of it."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from interlock import __version__
from interlock.errors import Exit, InterlockError, UsageError
from interlock.faces.cli.command import CommandCall, Parser, Verb
from interlock.faces.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GROUPS", "NOUNS", "RUN_OPTIONS", "main", "run", "verbs_of"]

GROUPS = {
    "begin": {
        "demo": "see the whole way in half a minute, in a temporary repository",
        "init": "set up a repository and its agents, and take it out again",
        "doctor": "is everything here that Interlock needs?",
        "import": "bring in work from other tools: prd.json, spec-kit, beads, GitHub",
    },
    "get work done": {
        "work": "lead a ticket to a commit; it stops where a person decides",
        "run": "speak with an agent that works in a tree of its own",
        "ticket": "the pieces of work: make, show and hand them on",
        "thread": "one feature: spec, implementation, review, commit",
        "story": "the loop over stories: begin it, watch it, steer it",
        "orchestrate": "a goal: planned, worked on task by task, reviewed",
    },
    "see what happens": {
        "status": "what waits for you, who is at work, what is stuck, what it cost",
        "why": "how something came to be where it is, and what it waits for",
        "log": "what happened, and what happens",
        "serve": "the dashboard, and the MCP server over HTTP",
        "session": "agents at work: list, show and watch them; report for one",
        "stats": "what runs took: time, success, rework, questions",
        "notify": "being told: try the channels, see how they stand",
        "telemetry": "traces: try the collector, see how they stand, send what waits",
    },
    "decide and trust": {
        "gate": "the keys that sign at gates, who passed, and who was refused",
        "config": "the settings in force and where from; accept a change of them",
        "journal": "the journal as a whole: verify, export, rebuild",
        "machine": "the machines: list, show, check and draw them",
    },
    "for agents and shells": {
        "mcp": "the MCP server that agents report to, over stdio",
        "completion": "completion for bash, zsh and fish",
    },
}
"""Every noun with its line of help, by what people want of it."""
NOUNS = {noun: line for group in GROUPS.values() for noun, line in group.items()}
"""Every noun with its line of help; the module of the same name holds its verbs."""
_MODULES = {"import": "importing"}
"""The modules that cannot have their noun's name, which is a word of Python."""

_HELP = ("-h", "--help")
RUN_OPTIONS = frozenset(
    """
    --agent --rotation --model --max-iterations --min-iterations -f --prompt-file --prompt-template --abort-promise
    --completion-promise --task-promise --no-commit --no-stream --verbose-tools --allow-all --no-allow-all
    --no-questions -t --tasks --add-task --remove-task --questions --no-plugins --config --init-config
    """.split()
)
"""What tells a prompt from a noun: the options of `ralph story run`, known without importing it."""
_SHORTHANDS = {
    "--status": ("status",),
    "--add-context": ("context",),
    "--clear-context": ("context", "--clear"),
    "--list-tasks": ("tasks",),
}
_OUTPUT_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF})
_FEW_COLLECTIONS = 50_000
"""Objects between two collections of garbage: more than a short command makes, and a few megabytes for a long one."""


def main() -> NoReturn:
    """Run `ralph` with this process's arguments."""
    gc.set_threshold(_FEW_COLLECTIONS)
    _prepare_streams()
    arguments = sys.argv[1:]
    output = Output(json="--json" in _split(arguments)[0])
    try:
        code = _attempt(arguments, output)
        sys.stdout.flush()
    except OSError as error:
        code = _stdout_failed(error)
    _exit(code)


def _exit(code: int) -> NoReturn:
    """End the process: at once if nothing has to be done first, for taking the interpreter down frees all of it."""
    threading = sys.modules.get("threading")
    if not atexit._ncallbacks() and (threading is None or threading.active_count() == 1):
        sys.stderr.flush()
        os._exit(code)
    gc.freeze()  # or the interpreter looks through everything for garbage before it ends
    sys.exit(code)


def _prepare_streams() -> None:
    """Make sure that anything can be said: a terminal shows what it cannot encode as escapes."""
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _attempt(arguments: list[str], output: Output) -> Exit:
    try:
        run(arguments, output)
    except InterlockError as error:
        output.failure(error)
        return error.exit
    except KeyboardInterrupt:
        if not output.json and output.stderr.isatty():
            output.stderr.write("\n")  # the terminal has just shown ^C
        output.failure(InterlockError("interrupted", "Interrupted.", ""))
        return Exit.INTERRUPTED
    except Exception as error:
        if isinstance(error, BrokenPipeError) or _is_output_error(error):
            raise
        import traceback

        traceback.print_exc()
        hint = "This is a fault in Interlock; please report it with the lines above. Nothing was half-written."
        output.failure(InterlockError("internal_error", f"{type(error).__name__}: {error}.", hint))
        return Exit.FAILURE
    return Exit.OK


def _is_output_error(error: Exception) -> bool:
    return isinstance(error, OSError) and error.filename is None and error.errno in _OUTPUT_ERRORS


def _stdout_failed(error: OSError) -> Exit:
    """Nothing more can be said on stdout; a reader that has seen enough is no failure."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return Exit.OK
    hint = "Make room where stdout goes to, then run it again."
    Output().failure(InterlockError("output_failed", f"The result cannot be written: {error.strerror}.", hint))
    return Exit.FAILURE


def run(arguments: list[str], output: Output) -> None:
    """Call the verb that the arguments name."""
    own, passed = _split(arguments)
    words = [*(word for word in own if word != "--json"), *passed]
    if not words or words[0] in _HELP:
        _help([], output)
    elif words[0] == "help":
        _help([word for word in words[1:] if word not in _HELP], output)
    elif words[0] in ("-V", "--version"):
        output.result({"version": __version__}, lambda: output.text(f"ralph {__version__}"))
    elif words[0] in NOUNS:
        _call(words[0], words[1:], output)
    elif _is_prompt(words):
        _call("story", ["run", *words], output)
    elif words[0] in _SHORTHANDS:
        _call("story", [*_SHORTHANDS[words[0]], *words[1:]], output)
    else:
        raise _unknown("noun", words[0], list(NOUNS), "ralph")


def _is_prompt(words: list[str]) -> bool:
    """Whether a first word that is no noun is what agents are to be told: a typo must not start one."""
    first, options = words[0], {word.partition("=")[0] for word in _split(words)[0]}
    if first.startswith("-"):
        return first.partition("=")[0] in RUN_OPTIONS
    return any(one.isspace() for one in first) or not RUN_OPTIONS.isdisjoint(options)


def _help(words: list[str], output: Output) -> None:
    """The help of everything, of a noun or of a verb."""
    from interlock.faces.cli.helping import noun_help, ralph_help, verb_help

    noun, name, rest = (*words, "", "")[0], (*words, "", "")[1], words[2:]
    if rest:
        raise UsageError("usage", f"`ralph help` does not take {rest[0][:80]!r}.", "It is `ralph help [NOUN [VERB]]`.")
    if not noun:
        text = ralph_help(GROUPS)
    elif noun not in NOUNS:
        raise _unknown("noun", noun, list(NOUNS), "ralph")
    elif not name:
        text = noun_help(noun, NOUNS[noun], verbs_of(noun))
    elif name not in verbs_of(noun):
        raise _unknown("verb", name, [verb for verb in verbs_of(noun) if verb], f"ralph {noun}")
    else:
        text = verb_help(noun, verbs_of(noun)[name])
    output.result({"help": text}, lambda: output.text(text))


def _call(noun: str, words: list[str], output: Output) -> None:
    verbs = verbs_of(noun)
    prog = f"ralph {noun}"
    verb = verbs.get("")
    if len(verbs) > 1 and words and not _is_for_the_noun(words[0]):
        verb = None
    if verb is None:
        if not words:
            raise UsageError("usage", f"`{prog}` needs a verb.", f"One of: {', '.join(verbs)}.")
        if words[0] in _HELP:
            _help([noun], output)
            return
        if words[0] not in verbs:
            raise _unknown("verb", words[0], [name for name in verbs if name], prog)
        verb, words, prog = verbs[words[0]], words[1:], f"{prog} {words[0]}"
    own, passed = _split(words) if verb.passes else (words, [])
    if any(word in _HELP for word in own):
        _help([noun, *filter(None, [verb.name])], output)
        return
    parser = Parser(prog)
    verb.arguments(parser)
    arguments = parser.parse_args(own)
    arguments.passed = tuple(passed[1:])
    verb.run(CommandCall(arguments, output, _environment()))


def _environment() -> Mapping[str, str]:
    """The environment, with the journal's address where a driver keeps that for the session that this runs in."""
    from interlock.world.journal_address import DATABASE_URL, kept_address

    # An agent may hand on the session and not the mark, as one does that an older `ralph init` set up.
    kept = "" if os.environ.get(DATABASE_URL) else kept_address(os.environ)
    return {**os.environ, DATABASE_URL: kept} if kept else os.environ


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """The words before `--`, and it with those behind it."""
    place = words.index("--") if "--" in words else len(words)
    return words[:place], words[place:]


def _is_for_the_noun(word: str) -> bool:
    """Whether a first word is for the noun itself: an option, or a text that can be no verb."""
    return (word.startswith("-") and word not in _HELP) or any(one.isspace() for one in word)


def verbs_of(noun: str) -> dict[str, Verb]:
    """The verbs of a noun by name; a noun that is its own verb has one with an empty name."""
    # msgspec asks `typing_extensions` for what `typing` has, too, and that takes as long to import as Python to start.
    is_imported = sys.modules.setdefault("typing_extensions", None) is not None  # type: ignore[arg-type]
    try:
        module = import_module(f"interlock.faces.cli.{_MODULES.get(noun, noun)}")
    finally:
        if not is_imported:
            del sys.modules["typing_extensions"]
    return {verb.name: verb for verb in module.VERBS}


def _unknown(what: str, word: str, known: list[str], prog: str) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(word, known, 1)
    guess = f"Did you mean `{prog} {near[0]}`? " if near else ""
    return UsageError("usage", f"`{prog}` has no {what} {word[:80]!r}.", f"{guess}Known: {', '.join(known)}.")
