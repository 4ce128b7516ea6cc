"""What a thread does by itself in each state that continues without a person: one function a state."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.journal import Transaction
from interlock.machine import Event, Evidence
from interlock.work.driver.agent_run import DRIVER, not_answered
from interlock.work.driver.step import noted
from interlock.work.driver.system import NoEvent, StepFunction, StepResult
from interlock.work.threads import prompts
from interlock.work.threads.children import CHILDREN, run_child
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.effects import commit_message
from interlock.work.threads.iterating import claim_again, iterate, spec_of
from interlock.work.threads.preflight import preflight
from interlock.work.threads.proving import prove, receipt_hash
from interlock.world.agents.result import Ending

__all__ = ["STEPS"]


def _assessing(step: ThreadStep) -> StepResult:
    """An agent reads the spec. What it finds is advice, and a person decides; with issues, the spec is open again."""
    thread, context = step.thread, step.context
    if not thread.is_assessed:
        revision = thread.revision
        assert revision is not None
        agent = context.agent(step.config.agents[0])
        prompt = prompts.assess(revision.text)
        heard = step.run_agent(agent, "assessor", prompt, step.log_of("assess"), context.root)
        if step.is_over(context.journal):
            return NoEvent.RETRY  # it was about a spec that may be another one now
        if heard.result.ending is not Ending.FINISHED:
            raise not_answered(agent.title, heard, "`ralph thread assess` asks it again; or finalize the spec.")
        said = noted("assessed", said=heard.said, verdict=prompts.verdict_in(heard.said))
        context.journal.transact(lambda transaction: _keep(transaction, step, said))
        return NoEvent.RETRY
    if prompts.verdict_in(thread.assessment) == "REVISE":
        return step.event("revise", "the assessment found issues; `ralph thread show` has them")
    return NoEvent.STOP


def _keep(transaction: Transaction, step: ThreadStep, note: Event) -> None:
    if not step.is_over(transaction):
        transaction.append(step.thread.id, note, lease=step.lease)


def _quick(event: str) -> StepFunction[ThreadStep]:
    """In quick mode a state between gates is gone through; in methodical mode a person says when."""

    def go_on(step: ThreadStep) -> StepResult:
        return step.event(event) if step.thread.mode == "quick" else NoEvent.STOP

    return go_on


def _running(step: ThreadStep) -> StepResult:
    if step.thread.is_claimed:
        return claim_again(step)
    return run_child(step) if step.config.driver in CHILDREN else iterate(step)


def _prepare(step: ThreadStep) -> StepResult:
    """The message of the commit, for a person to read before it is made."""
    receipt = step.thread.receipt
    assert receipt is not None  # there is no approval without one
    message = commit_message(step.thread, spec_of(step), receipt, receipt_hash(receipt))
    return Event("prepare", DRIVER, evidence=Evidence(data={"message": message}))


STEPS: Mapping[str, StepFunction[ThreadStep]] = {
    "Assessing": _assessing,
    "Finalized": _quick("run"),
    "Preflight": preflight,
    "Configuring": _quick("start"),
    "Running": _running,
    "Verifying": prove,
    "Implemented": _quick("ready"),
    "Approved": _prepare,
}
"""What is done in each state that goes on by itself."""
