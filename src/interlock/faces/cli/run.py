"""`ralph run`: an agent that a person speaks with, in a tree of its own and behind the walls of the sandbox."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from interlock.errors import NotFound, UsageError
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.driver_session import open_driver_session
from interlock.faces.cli.output import Output, one_line

if TYPE_CHECKING:
    from interlock.work.driver.interactive_run import InteractiveResult

__all__ = ["VERBS"]

_NAMED = 5


def _run(call: CommandCall) -> None:
    from interlock.work.driver.interactive_run import run_with_person
    from interlock.world.agents.adopting import adopting
    from interlock.world.agents.catalogue import find_interactive

    program, arguments = _command(call)
    # What the agent prints is alone on stdout, so that a script can use it.
    aside = Output(json=call.output.json, stdout=call.output.stderr, stderr=call.output.stderr)
    with open_driver_session(call._replace(output=aside), starts_agents=True) as here:
        directory = _below(call.directory, here.context.root)
        with adopting(), here.telling():
            done = run_with_person(here.context, find_interactive(program), program, arguments, directory)
    call.output.result(asdict(done), lambda: _show(aside, done))
    raise SystemExit(done.status)


def _command(call: CommandCall) -> tuple[str, tuple[str, ...]]:
    """The program and its arguments, of `ralph run AGENT -- ARGUMENTS` or `ralph run -- PROGRAM ARGUMENTS`."""
    from interlock.world.agents.catalogue import INTERACTIVE

    name, passed = call.arguments.agent, call.arguments.passed
    if name is None and not passed:
        message = "`ralph run` needs an agent or a command."
        raise UsageError("usage", message, f"It is `ralph run {'|'.join(INTERACTIVE)}`, or `ralph run -- COMMAND`.")
    if name is None:
        return passed[0], tuple(passed[1:])
    if name not in INTERACTIVE:
        hint = f"There are {', '.join(INTERACTIVE)}. Any other program is started with `ralph run -- {one_line(name)}`."
        raise NotFound("agent_unknown", f"No agent is called {name[:80]!r}.", hint)
    return name, tuple(passed)


def _below(directory: Path, root: Path) -> Path:
    """A directory relative to the repository, so that the agent starts in the same place of its own tree."""
    try:
        return directory.relative_to(root)
    except ValueError:
        return Path()


def _show(output: Output, done: InteractiveResult) -> None:
    if done.ended:
        output.text(f"It was ended: {one_line(done.ended)}")
    if done.commit is None:
        output.text("It changed nothing.")
        return
    more = f" and {len(done.changed) - _NAMED} more" if len(done.changed) > _NAMED else ""
    named = ", ".join(map(one_line, done.changed[:_NAMED]))
    output.text(f"✓ {done.commit[:12]} on {one_line(done.branch)}: {named}{more}")


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("agent", nargs="?", help="claude, codex, gemini, opencode or qwen; not with `-- COMMAND`")


VERBS = (Verb("", "speak with an agent that works in a tree of its own", _run, _arguments, passes=True),)
