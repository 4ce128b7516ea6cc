"""An agent that a person speaks with, in a tree of its own: a session from its start until its work is on a branch.

    check → begin a session → make the tree → the person and the agent → commit what it wrote → bring it to the branch

What a process that was killed left is committed and brought to the branch by the next start.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.decoding import convert
from interlock.errors import InterlockError, LeaseHeld
from interlock.journal import Journal, Transaction
from interlock.machine import ActorKind
from interlock.work.driver.agent_sandbox import confined_run, run_limits
from interlock.work.driver.agent_tree import first_of
from interlock.work.driver.context import DriverContext
from interlock.work.driver.driver_lease import hold_lease
from interlock.work.driver.lease_holders import lease_name
from interlock.work.driver.readiness import nameless
from interlock.work.driver.record import Beginning
from interlock.work.driver.target_branch import TargetBranch, beginning_of, ended_trees, target_of
from interlock.work.sessions.refresh import refresh
from interlock.work.sessions.verbs import DRIVER, MACHINE, Caller, complete, create
from interlock.world.agents.agent import InteractiveAgent
from interlock.world.agents.assignment import Assignment
from interlock.world.agents.interactive import InteractiveEnd
from interlock.world.journal_address import BY_SESSION, MARK
from interlock.world.processes import this_process

__all__ = ["InteractiveResult", "run_with_person"]

_ROLE: Final = "interactive"
_LEASE: Final = "run"


class InteractiveResult(msgspec.Struct, frozen=True):
    """What came of it."""

    session: str
    status: int
    """The exit status of the agent, or 128 and the signal that ended it."""
    commit: str | None
    """The commit of what it wrote; None if it changed nothing."""
    branch: str
    """The branch that has the commit: the person's, or that of the run if theirs stayed behind."""
    changed: tuple[str, ...]
    ended: str = ""
    """Why it was ended, if it used too much of the machine."""


def run_with_person(
    context: DriverContext, agent: InteractiveAgent, program: str, arguments: tuple[str, ...], directory: Path
) -> InteractiveResult:
    """Let a person speak with an agent at this process's streams; what it wrote is committed to their branch.

    `directory` is where it starts, relative to the repository. Nothing is started where anything is missing:
    `run_not_ready` names all of it.
    """
    context.settings.must_allow_agents()
    _require_ready(context, program)
    _finish_killed(context)
    start = beginning_of(context)
    assert start is not None  # there is a branch with a commit
    session = _begin(context, agent.name, start)
    with hold_lease(context, lease_name(_LEASE, session)):
        target = target_of(context, session, start)
        outcome, made = "failure", None
        try:
            target.tree.make()
            end = _spoken(context, target, agent, arguments, directory)
            outcome = "cancelled" if end.was_asked else "failure" if end.status else "success"
            made = _commit(target, agent.name)
        finally:
            _end(context, session, outcome)
        target.end(_end_of(session))
    changed = tuple(one.path for one in context.git.changed_by(context.root, made)) if made is not None else ()
    branch = target.tree.branch if target.is_behind else start.branch
    return InteractiveResult(session, end.status, made, branch, changed, end.excess.said if end.excess else "")


# Before


def _require_ready(context: DriverContext, program: str) -> None:
    """Refuse with everything that is missing, before anything is made."""
    found = list(_problems(context, program))
    if found:
        message = " ".join(f"{one}" for one, _ in found)
        raise InterlockError("run_not_ready", f"{message} Nothing was started.", " ".join(hint for _, hint in found))


def _problems(context: DriverContext, program: str) -> Iterator[tuple[str, str]]:
    """What is missing, each with what to do."""
    there = context.git.state(context.root)
    if there.head is None:
        yield "The repository has no commits yet.", "Make a first commit with `git add` and `git commit`."
    elif there.branch is None:
        yield "No branch is checked out, so the work would belong to none.", "Check out a branch with `git switch`."
    if (why := nameless(context)) is not None:
        yield why, ""
    if context.ports.find_program(program, context.environment.get("PATH")) is None:
        yield f"The program {program!r} is not there.", "Install it, or choose another agent."


def _begin(context: DriverContext, agent: str, start: Beginning) -> str:
    """Begin the session. It ends with this process at the latest, which holds its lease."""
    caller = Caller(DRIVER, agent, this_process())
    kept = {"beginning": {"branch": start.branch, "commit": start.commit}}
    return context.journal.transact(create(caller, role=_ROLE, kept=kept)).session_id


# Meanwhile


def _spoken(
    context: DriverContext, target: TargetBranch, agent: InteractiveAgent, arguments: tuple[str, ...], directory: Path
) -> InteractiveEnd:
    tree, ports = target.tree, context.ports
    given = {
        "RALPH_SESSION_ID": tree.id,
        "RALPH_ROOT": str(context.base),
        "RALPH_REPORTING": "optional",
        **({MARK: BY_SESSION} if context.journal.url else {}),
    }
    with ExitStack() as stack:
        confinement, own = stack.enter_context(
            confined_run(context, agent.name, tree.id, tree.files, given, is_read_only=False)
        )
        if confinement is None:
            context.report(f"{agent.name} runs as you and without a sandbox: agent.sandbox is none")
        is_there = ports.files.mark(tree.files / directory) is not None
        shown = tree.files if confinement is None else context.base
        start = shown / directory if is_there else shown
        if confinement is not None:
            confinement = replace(confinement, policy=replace(confinement.policy, directory=start))
        return ports.run_interactive(
            agent,
            Assignment(
                prompt="",
                directory=start,
                log=context.state_directory / "runs" / f"run-{tree.id}.log",
                environment={**context.environment, **own},
                arguments=arguments,
                marker=tree.id,
                outfit=ports.tools_for(agent.name, tree.files, context.environment, context.base),
                confinement=confinement,
                limits=run_limits(context.settings),
            ),
        )


# Afterwards


def _commit(target: TargetBranch, agent: str) -> str | None:
    """Commit the files as one tree, on what the person committed meanwhile; None if nothing changed.

    If git cannot, the files are kept when the tree is removed.
    """
    tree = target.tree
    try:
        with tree.context.git.opened(tree.files) as repository:
            target.take_commits(repository)
        taken = tree.take()
        if taken.left_out:
            tree.context.report(f"git cannot store {first_of(taken.left_out)}")
        message = f"Work with {agent}\n\nRalph-Session: {tree.id}"
        with tree.context.git.opened(tree.files) as repository:
            made = tree.commit(repository, message, f"run/{tree.id}/commits", tree=taken.tree)
    except InterlockError as error:
        if not error.code.startswith("git_"):
            raise
        tree.context.report(f"the work is not committed: {error.message}")
        return None
    target.forward()
    return made


def _end(context: DriverContext, session: str, outcome: str) -> None:
    """End the session, unless the agent did."""
    context.ports.sessions.take_in(context.journal, context.state_directory)

    def work(transaction: Transaction) -> None:
        if transaction.instance(session).outcome is None:
            complete(session, outcome, DRIVER)(transaction)

    context.journal.transact(work)


def _end_of(session: str) -> str:
    return f"run/{session}/end"


def _finish_killed(context: DriverContext) -> None:
    """Commit what runs wrote whose process was killed, bring it to their branches, and remove their trees."""
    refresh(context.journal, context.state_directory)  # which ends their sessions
    for session in ended_trees(context, MACHINE):
        begun = _begun(context.journal, session)
        if begun is None:
            continue
        agent, start = begun
        with suppress(LeaseHeld), hold_lease(context, lease_name(_LEASE, session)):
            context.report(f"session {session} with {agent} was killed; what it wrote is kept")
            context.ports.end_processes(session)
            target = target_of(context, session, start)
            target.tree.make()
            _commit(target, agent)
            target.end(_end_of(session))


def _begun(journal: Journal, session: str) -> tuple[str, Beginning] | None:
    """The agent and the beginning of a session that was begun here; None of any other."""
    [created, *_] = journal.history(session)
    data = created.decoded_evidence().data
    if created.actor_kind != ActorKind.SYSTEM or "beginning" not in data:
        return None
    return str(data.get("agent")), convert(data["beginning"], Beginning)
