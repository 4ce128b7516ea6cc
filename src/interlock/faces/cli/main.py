"""The entry point of `ralph`: find the noun and the verb, call it, and exit with what came of it."""

from __future__ import annotations

import errno
import io
import os
import sys
from importlib import import_module
from typing import NoReturn

from interlock import __version__
from interlock.errors import Exit, InterlockError, UsageError
from interlock.faces.cli.command import Call, Parser, Verb
from interlock.faces.cli.output import Output, columns

__all__ = ["NOUNS", "RUN_OPTIONS", "main", "run", "verbs_of"]

NOUNS = {
    "status": "what waits for you, who is at work on what, what is stuck, what today cost",
    "why": "how something came to be where it is, and what it waits for",
    "machine": "the machines: list, show, check and draw them",
    "journal": "the journal as a whole: verify, export, rebuild",
    "log": "what happened, and what happens",
    "work": "a ticket, all the way: commands, thread, gates, commit; as far as it goes without you",
    "ticket": "the pieces of work: make, show and hand them on; the board, the next one",
    "thread": "one feature: spec, implementation, review, commit",
    "story": "the loop over stories: begin it, watch it, steer it",
    "gate": "the keys that sign at the gates, who passed one, and who was refused",
    "orchestrate": "a goal: planned, worked on task by task, reviewed, until it is met",
    "stats": "what runs took: time in each state, success, rework, questions, durations",
    "session": "agents at work: list, show and watch them; report for one",
    "mcp": "the MCP server that agents report to, over stdio",
    "serve": "the same server over HTTP, and a live stream of events",
    "notify": "being told: try the channels, see how they stand, send what waits",
    "telemetry": "traces: try the collector, see how they stand, send what waits",
    "config": "the settings: which are in force and why, and accepting a change of them",
    "init": "set up a repository and its agents, and take it out again",
    "import": "bring work in from elsewhere: prd.json, fix_plan.md, tasks.md, Backlog.md, beads, GitHub",
    "demo": "a ticket from Backlog to a merged commit, in a temporary repository",
    "doctor": "is everything here that Interlock needs?",
    "completion": "completion for bash, zsh and fish",
}
"""Every noun with its line of help; the module of the same name holds its verbs."""
_MODULES = {"import": "importing"}
"""The modules that cannot have their noun's name, which is a word of Python."""

_PROMISE = "carries work from a ticket to a reviewed commit, and skips no step"
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


def main() -> NoReturn:
    """Run `ralph` with this process's arguments."""
    _prepare_streams()
    arguments = sys.argv[1:]
    output = Output(json="--json" in _split(arguments)[0])
    try:
        code = _attempt(arguments, output)
        sys.stdout.flush()
    except OSError as error:
        code = _stdout_failed(error)
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
    if not words or words[0] in (*_HELP, "help"):
        _help(output)
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


def _help(output: Output) -> None:
    text = f"ralph {__version__} · {_PROMISE}\n\nusage: ralph NOUN [VERB] [ARGUMENTS] [--json]\n\n"
    text += columns([(f"  {noun}", line) for noun, line in NOUNS.items()], output.width)
    text += "\nralph NOUN --help tells more. --json gives one envelope on stdout; --version the version.\n"
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
            _noun_help(noun, verbs, output)
            return
        if words[0] not in verbs:
            raise _unknown("verb", words[0], [name for name in verbs if name], prog)
        verb, words, prog = verbs[words[0]], words[1:], f"{prog} {words[0]}"
    parser = Parser(prog, verb.help, verb.examples)
    verb.arguments(parser)
    own, passed = _split(words) if verb.passes else (words, [])
    if any(word in _HELP for word in own):
        text = parser.format_help()
        output.result({"help": text}, lambda: output.text(text))
        return
    arguments = parser.parse_args(own)
    arguments.passed = tuple(passed[1:])
    verb.run(Call(arguments, output))


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """The words before `--`, and it with those behind it."""
    place = words.index("--") if "--" in words else len(words)
    return words[:place], words[place:]


def _is_for_the_noun(word: str) -> bool:
    """Whether a first word is for the noun itself: an option, or a text that can be no verb."""
    return (word.startswith("-") and word not in _HELP) or any(one.isspace() for one in word)


def verbs_of(noun: str) -> dict[str, Verb]:
    """The verbs of a noun by name; a noun that is its own verb has one with an empty name."""
    module = import_module(f"interlock.faces.cli.{_MODULES.get(noun, noun)}")
    return {verb.name: verb for verb in module.VERBS}


def _noun_help(noun: str, verbs: dict[str, Verb], output: Output) -> None:
    text = f"ralph {noun} · {NOUNS[noun]}\n\n"
    text += columns([(f"  ralph {noun} {verb.name}", verb.help) for verb in verbs.values()], output.width)
    output.result({"help": text}, lambda: output.text(text))


def _unknown(what: str, word: str, known: list[str], prog: str) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(word, known, 1)
    guess = f"Did you mean `{prog} {near[0]}`? " if near else ""
    return UsageError("usage", f"`{prog}` has no {what} {word[:80]!r}.", f"{guess}Known: {', '.join(known)}.")
