"""`ralph init`: tell the coding agents of a repository about Interlock; show the diff, ask, write."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from interlock.errors import InterlockError, UsageError
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.gate import enrolled
from interlock.faces.cli.output import Output, ask, clean, columns, one_line
from interlock.faces.cli.place import DATABASE_URL, journal_path, opened, writable
from interlock.faces.cli.styled import Text

if TYPE_CHECKING:
    from interlock.work.setup import Proposal, SetupTarget

__all__ = ["VERBS"]

_STYLES = {"+++": "bold", "---": "bold", "@": "cyan", "+": "green", "-": "red", "\\": "dim"}


def _init(call: CommandCall) -> None:
    if call.arguments.undo:
        _undo(call)
        return
    from interlock.work.setup import propose

    agents = _agents(call)
    proposal = propose(call.directory, list(agents), call.environment)
    if _agreed(call, proposal, _introduction(agents), "✓ Everything is in place."):
        _carry_out(call, proposal)
        _explain(call, proposal, agents)
    if not call.output.json and not call.arguments.dry_run:
        _offer_key(call)
        _suggest(call, agents)


def _suggest(call: CommandCall, agents: dict[SetupTarget, str]) -> None:
    """Say how to speak with the agents that are installed."""
    from shutil import which

    there = [f"`ralph run {one}`" for one in agents if which(one, path=call.environment.get("PATH", ""))]
    if there:
        call.output.text(f"→ {' or '.join(there)} starts an agent to speak with, in a tree of its own.")


def _explain(call: CommandCall, proposal: Proposal, agents: dict[SetupTarget, str]) -> None:
    """What else to know of what was written."""
    from interlock.work.setup import SetupTarget

    if call.output.json:
        return
    call.output.text("`ralph init --undo` takes all of it out again.")
    if proposal.ralph != "ralph":
        call.output.message(
            f"The programs are registered as {one_line(proposal.ralph)}, which is of use on this machine only; "
            "installed as a tool, with `uv tool install` or `pipx install`, they are found by everybody."
        )
    if SetupTarget.CODEX in agents:
        call.output.message("Codex runs the hooks once you trust them: type `/hooks` in its terminal.")


def _offer_key(call: CommandCall) -> None:
    """Offer to have the key that git signs with sign at the gates too, where no key does yet."""
    from interlock.work.gates.enrolling import key_of_git
    from interlock.work.gates.presence import at_terminal
    from interlock.work.gates.trust import trust_of

    file = key_of_git(call.directory, call.environment)
    with opened(call) as journal:
        if file is None or (journal is not None and trust_of(journal).keys):
            return
    try:
        at_terminal(call.environment, call.directory, batch=call.arguments.yes)
    except InterlockError:
        call.output.message(f"Git signs with {one_line(str(file))}; `ralph gate enroll` has it sign at the gates too.")
        return
    call.output.message(f"Git signs with {one_line(str(file))}. It can sign at the gates too:")
    try:
        with writable(call) as place:
            key = enrolled(call, place.journal, file)
    except InterlockError as error:  # what was set up stands without it
        call.output.message(f"It was not enrolled: {error.message} `ralph gate enroll` does it at any time.")
        return
    call.output.message(f"✓ {key.fingerprint} signs at the gates from now on; what guards it: {key.guard}.")


def _agents(call: CommandCall) -> dict[SetupTarget, str]:
    """The agents to set up, each with the reason."""
    from interlock.work.setup import SetupTarget
    from interlock.work.setup.surroundings import find_agents, work_tree

    if call.arguments.agent:
        return {agent: "named by --agent" for agent in SetupTarget if agent in call.arguments.agent}
    found = find_agents(work_tree(call.directory), call.environment)
    return found or dict.fromkeys(SetupTarget, "no agent was found here, so all are set up")


def _introduction(agents: dict[SetupTarget, str]) -> str:
    return "".join(f"{agent}: {one_line(reason)}\n" for agent, reason in agents.items())


def _undo(call: CommandCall) -> None:
    if call.arguments.agent:
        raise UsageError("usage", "`--undo` is for all agents, and takes no `--agent`.", "Leave `--agent` out.")
    from interlock.work.setup import propose_undo

    if not call.arguments.dry_run and _has_session(call):
        message = "This is an agent with a session here, and its hooks are a person's to take out."
        raise InterlockError("person_needed", message, "Ask the person you work for.")
    proposal = propose_undo(call.directory, call.environment)
    if _agreed(call, proposal, "", "✓ There is nothing of Interlock here."):
        _carry_out(call, proposal)


def _has_session(call: CommandCall) -> bool:
    """Whether an agent with a session calls: it must not take out the hooks that hold it."""
    if call.environment.get("RALPH_SESSION_ID"):
        return True
    address = call.environment.get(DATABASE_URL) or str(journal_path(call))
    if not call.environment.get(DATABASE_URL) and not os.path.lexists(address):
        return False
    from interlock.journal.peek import JournalUnreadable, peek
    from interlock.world.ancestry import names_above

    try:
        return peek(address, None, names_above()) is not None
    except JournalUnreadable:
        return False


def _agreed(call: CommandCall, proposal: Proposal, introduction: str, nothing: str) -> bool:
    """Whether to write: shows the diff, and asks where somebody can answer."""
    output = call.output
    if not output.json:
        output.text(introduction) if introduction else None
        _show(output, proposal)
    if not proposal.is_needed:
        output.result(_data(proposal), lambda: output.text(nothing))
        return False
    if call.arguments.dry_run:
        output.result(_data(proposal), lambda: output.text("Nothing was written; without --dry-run, it is."))
        return False
    if not call.arguments.yes and (declined := ask(output, "Write these changes?")):
        raise InterlockError("setup_declined", *declined)
    return True


def _carry_out(call: CommandCall, proposal: Proposal) -> None:
    from interlock.work.setup import carry_out

    carry_out(proposal)
    rows = [("✓", one.action, one.file) for one in proposal.changes if one.action != "unchanged"]
    call.output.result(_data(proposal), lambda: call.output.text(columns(rows)))


def _data(proposal: Proposal) -> list[dict[str, str]]:
    return [{"file": one.file, "action": one.action, "diff": one.diff} for one in proposal.changes]


def _show(output: Output, proposal: Proposal) -> None:
    """The whole diff; in colours where stdout is a terminal."""
    text = clean("".join(one.diff for one in proposal.changes).replace("\r\n", "\n"))
    if not text:
        return
    if not output.stdout.isatty():
        output.text(text)
        return

    for line in text.removesuffix("\n").split("\n"):
        style = next((style for start, style in _STYLES.items() if line.startswith(start)), "")
        output.print(Text(line, style))


def _arguments(parser: argparse.ArgumentParser) -> None:
    from interlock.work.setup.agents import SetupTarget

    parser.add_argument(
        "--agent",
        action="append",
        choices=[str(agent) for agent in SetupTarget],
        help="set up this one, found or not; can be given several times",
    )
    parser.add_argument("--undo", action="store_true", help="take everything of Interlock out again")
    parser.add_argument("--dry-run", action="store_true", help="show the diff and write nothing")
    parser.add_argument("--yes", action="store_true", help="write without a question")


VERBS = (
    Verb(
        "",
        "set up this repository and its coding agents, or undo it",
        _init,
        _arguments,
    ),
)
