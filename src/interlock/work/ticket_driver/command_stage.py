"""One command of the pipeline for one ticket, as an agent's session that hands the ticket on itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from interlock.errors import LeaseHeld
from interlock.journal import Entry, Instance, Journal, Transaction
from interlock.work.driver.agent_failures import end_text, hindrance_of, unavailable, unusable, waiting_text
from interlock.work.driver.agent_run import DRIVER, AgentRequest, AgentRun, run_agent
from interlock.work.driver.context import DriverContext
from interlock.work.driver.driver_lease import hold_lease
from interlock.work.sessions.runs import RunSummary, ran_of
from interlock.work.sessions.verbs import Caller
from interlock.work.ticket_driver.document_tree import creates_documents, document_tree
from interlock.work.ticket_driver.stages import WorkStop
from interlock.work.tickets.handoff import Handed, handoff
from interlock.work.tickets.locks import expire
from interlock.work.tickets.skills import prompt
from interlock.world.agents.result import NO_ATTEMPTS, UNUSABLE, Ending

__all__ = ["run_command", "wait_out"]

_ATTEMPTS = 2
_PATIENCE = 1.0
_SAID = 300
_PREPARING = "way:prepare"
"""Who prepares tickets: one agent at a time."""
_OWN_TREE = "You work in a copy of the repository, on a branch of its own that counts as the branch it was made from."
_DOCUMENTS = f"""{_OWN_TREE}
Do not commit or push. When you end, the document of this command is committed for you; nothing else is.
"""
_READ_ONLY = f"{_OWN_TREE} Change no files: nothing that you write is kept.\n"


def run_command(context: DriverContext, ticket: Instance, number: int, command: str, agent: str) -> WorkStop | None:
    """Send an agent for a command. What it holds afterwards is let go; None where the ticket was handed on."""
    journal = context.journal
    wait_out(context, ticket.id)
    if context.is_interrupted:
        return WorkStop("it is paused", f"`ralph work {number}` continues.")
    with _alone(context) as alone:
        if journal.instance(ticket.id).version != ticket.version:
            return None  # somebody else was at work on it meanwhile
        tried = _tried(journal, ticket, command)
        log = context.state_directory / "runs" / f"{command}-{number}-{tried + 1}-{ticket.version}" / "output.log"
        context.report(f"{command}: {agent} works on #{number}")
        with document_tree(alone, ticket, number, command) as inside:
            heard = run_agent(inside, _request(inside, ticket, number, command, agent, log))
        journal.transact(lambda transaction: expire(transaction, transaction.instance(ticket.id)))
    ending = str(heard.result.ending)
    if _state(journal, ticket) != ticket.state:
        _tell_moves(context, ticket)
        return None
    if context.stop.is_set() or ending == "stopped":
        return WorkStop(f"#{number} rests: it was stopped during {command}.", f"`ralph work {number}` goes on.")
    if heard.result.ending in UNUSABLE:
        error = unusable(agent, heard.ran)
        return WorkStop(
            error.message.rstrip("."), f"{error.hint} `ralph work {number} --agent NAME` takes another.", True
        )
    if heard.result.ending is Ending.LIMITED:
        return _unavailable(agent, heard.ran) if heard.wait is None else None  # else the next round waits for it
    if tried + 1 < _ATTEMPTS:
        context.report(f"{command} ended without handing #{number} on; it is tried once more")
        return None
    reason = f"{command} was tried {_ATTEMPTS} times and did not hand it on; {_last_words(agent, heard)}"
    escalate = handoff(Caller(DRIVER), number, reason=reason, command=command, intent="escalate")
    journal.transact(lambda transaction: _unless_moved(transaction, ticket, escalate))
    return None


def _request(inside: DriverContext, ticket: Instance, number: int, command: str, agent: str, log: Path) -> AgentRequest:
    machine = inside.journal.machine_of(ticket)
    writes = creates_documents(machine, command)
    return AgentRequest(
        agent=inside.agent(agent),
        role=command,
        prompt=f"{prompt(machine, command, number)}\n{_DOCUMENTS if writes else _READ_ONLY}",
        parent=ticket.id,
        log=log,
        reports=True,
        is_read_only=not writes,
    )


def _last_words(agent: str, heard: AgentRun) -> str:
    """The result of the last run for the ticket's trail; never the raw output of a failed agent."""
    said = " ".join(heard.said.split())[-_SAID:]
    if heard.result.ending is Ending.FINISHED and said:
        return f"the last said: {said}"
    return f"the last time, {end_text(agent, heard.result)}"


def wait_out(context: DriverContext, parent: str) -> None:
    """Wait for the limit or provider of an instance's last agent, if it failed temporarily."""
    now = context.journal.now()
    ran = hindrance_of(context.journal, parent, now)
    if ran is not None and ran.until is not None:
        context.report(f"{ran.why}; it {waiting_text(ran)}")
        context.wait(ran.until - now)


def _unavailable(agent: str, ran: RunSummary) -> WorkStop:
    error = unavailable(agent, ran)
    return WorkStop(error.message.rstrip("."), error.hint, failed=True)


def _unless_moved(transaction: Transaction, ticket: Instance, work: Callable[[Transaction], Handed]) -> None:
    """Hand a ticket on, where nobody else has done so meanwhile."""
    if transaction.instance(ticket.id).state == ticket.state:
        work(transaction)


def _tell_moves(context: DriverContext, before: Instance) -> None:
    """Where the agent handed the ticket on to, and why."""
    for one in context.journal.history(before.id, before.version):
        if one.from_state != one.to_state:
            context.report(f"✓ {one.from_state} → {one.to_state}: {one.reason or one.event}")


def _state(journal: Journal, ticket: Instance) -> str:
    return journal.instance(ticket.id).state


def _tried(journal: Journal, ticket: Instance, command: str) -> int:
    """How often an agent came to its end with a command since the ticket was handed on last."""
    since = next(one.time for one in reversed(journal.history(ticket.id)) if one.event in ("handoff", "created"))
    sent = [one for one in journal.recent("session", 2 * _ATTEMPTS, parent=ticket.id) if one.created > since]
    return sum(one.outcome != "cancelled" and _was_tried(journal.history(one.id), command) for one in sent)


def _was_tried(session: list[Entry], command: str) -> bool:
    """True if a session was an attempt at a command; a failure that is not about the work is none."""
    told = ran_of(session)
    is_none = told is not None and told[1].ending in NO_ATTEMPTS
    return not is_none and session[0].decoded_evidence().data.get("role") == command


@contextmanager
def _alone(context: DriverContext) -> Iterator[DriverContext]:
    """Be the only one who prepares tickets in this work tree; others take their turn."""
    with ExitStack() as stack:
        while True:
            try:
                held = stack.enter_context(hold_lease(context, _PREPARING))
                break
            except LeaseHeld:
                if context.is_interrupted:
                    raise
                context.wait(_PATIENCE)
        yield held.context
