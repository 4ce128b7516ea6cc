"""What `ralph story run` and `ralph "PROMPT"` can be told, with the names that such loops have elsewhere.

A flag that cannot mean here what it means there is refused, with what does the same.
"""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.errors import NotFound, UsageError
from interlock.faces.cli.command import CommandCall, positive

if TYPE_CHECKING:
    from interlock.work.stories.opening import LoopOptions

__all__ = ["asked", "run_arguments"]

_MAX_FILE = 1024 * 1024
_MAX_PROMISE = 200
_ALIASES = {"claude-code": "claude"}
_STRANGERS = ("copilot", "cursor-agent")
_REFUSED: Mapping[str, str] = {
    "-t --tasks": "The stories of progress.txt and their boxes are the tasks; `ralph story tasks` lists them.",
    "--add-task": "Add a box to the story's file, or a story to progress.txt: it is read before the next subtask.",
    "--remove-task": "`ralph story skip STORY` leaves one out; a box that you delete is gone with the next subtask.",
    "--questions": "Agents work without a terminal, and cannot ask; `ralph --add-context TEXT` tells the next one.",
    "--no-plugins": "Give the agent its own flag for it behind `--`, or in agent.arguments.",
    "--config": "The settings are in ralph.toml.",
    "--init-config": "`ralph init` writes a ralph.toml with every setting.",
}
"""Flags that are known elsewhere, and what does it here."""


class _Refused(Action):
    """A flag that is not taken."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        hint = next(hint for flags, hint in _REFUSED.items() if option in flags.split())
        raise UsageError("usage", f"`ralph` does not take {option}.", hint)


def run_arguments(parser: ArgumentParser) -> None:
    """What a run can be told."""
    parser.add_argument("prompt", nargs="?", help="what to tell every agent, besides its subtask")
    parser.add_argument(
        "--agent", help="which agent works: claude, codex, opencode, gemini, qwen, acp, command, scripted"
    )
    parser.add_argument("--rotation", metavar="A,B", help="agents that take turns, each as NAME or NAME:MODEL")
    parser.add_argument("--model", help="the model, as the agent calls it")
    parser.add_argument("--max-iterations", type=positive, metavar="N", help="how many runs of an agent at the most")
    parser.add_argument("--min-iterations", type=positive, metavar="N", help="1; the criteria say when it is done")
    parser.add_argument("-f", "--prompt-file", type=Path, help="a file with more of the prompt")
    parser.add_argument("--prompt-template", type=Path, metavar="FILE", help="a prompt with {{variables}}")
    parser.add_argument("--abort-promise", metavar="TEXT", help="pause when an agent ends with this promise")
    parser.add_argument("--completion-promise", metavar="TEXT", help="what {{completion_promise}} is in a template")
    parser.add_argument("--task-promise", metavar="TEXT", help="what {{task_promise}} is in a template")
    parser.add_argument("--no-commit", action="store_true", help="leave the work uncommitted")
    parser.add_argument("--no-stream", action="store_true", help="do not show what agents and tests say")
    parser.add_argument("--verbose-tools", action="store_true", help="show all that is known of a tool's use")
    allows = parser.add_mutually_exclusive_group()
    allows.add_argument("--allow-all", action="store_true", help="let agents do everything, and never ask")
    allows.add_argument("--no-allow-all", action="store_true", help="let them edit files, and no more; it is so anyway")
    parser.add_argument("--no-questions", action="store_true", help="agents ask nothing; it is so anyway")
    for flags in _REFUSED:
        parser.add_argument(*flags.split(), action=_Refused, nargs="?", help=SUPPRESS)


def asked(call: CommandCall) -> LoopOptions:
    """What the flags ask for."""
    from interlock.work.stories.opening import LoopOptions

    given = call.arguments
    if given.min_iterations is not None and given.min_iterations > 1:
        message = "A loop has no least number of iterations: it is done when the tests pass and the criteria are met."
        raise UsageError("usage", message, "Ask for more by criteria in the stories, or by commands in story.tests.")
    prompt = given.prompt or ""
    if given.prompt_file is not None:
        prompt = f"{prompt}\n{_read(given.prompt_file)}".strip()
    return LoopOptions(
        prompt=prompt,
        agent=None if given.agent is None else _agent(given.agent),
        rotation=tuple(_agent(word.strip()) for word in given.rotation.split(",")) if given.rotation else (),
        model=given.model,
        iterations=given.max_iterations,
        template=None if given.prompt_template is None else _read(given.prompt_template),
        commits=not given.no_commit,
        allows_all=given.allow_all,
        arguments=given.passed,
        promises={
            name: _promise(f"--{name}-promise", text)
            for name in ("completion", "task", "abort")
            if (text := getattr(given, f"{name}_promise")) is not None
        },
    )


def _agent(word: str) -> str:
    """An agent as it is called here, with its model behind a colon if it has one."""
    name, colon, model = word.partition(":")
    if name in _STRANGERS:
        hint = "Set agent.command to its command line; then --agent acp if it speaks that protocol, else command."
        raise NotFound("agent_unknown", f"No agent is called {name!r}.", hint)
    return f"{_ALIASES.get(name, name)}{colon}{model}"


def _promise(flag: str, text: str) -> str:
    from interlock.world.agents.promise import promise

    if len(text) > _MAX_PROMISE or promise(f"<promise>{text}</promise>") is None:
        message = f"{flag} cannot be {text[:80]!r}."
        raise UsageError("invalid_argument", message, "It is a word or a few, such as COMPLETED, without the tag.")
    return text


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_FILE:
            raise UsageError("invalid_argument", f"{path} is too long.", "Make it shorter.")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("invalid_argument", f"{path} cannot be read: {error}.", "Name a text file.") from None
