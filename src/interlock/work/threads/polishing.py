"""Polishing: docs, tests and clean-up before the review. A person does it, or asks an agent to."""

from __future__ import annotations

from interlock.errors import Refusal
from interlock.work.driver.agent_run import not_answered
from interlock.work.driver.context import DriverContext
from interlock.work.threads import prompts
from interlock.work.threads.attending import attending, step_of
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.iterating import misplaced
from interlock.world.agents.result import Ending

__all__ = ["ask_for"]


def ask_for(context: DriverContext, id_: str, wanted: str) -> None:
    """Let an agent polish once; what it changed is proven again before anybody reviews it."""
    with attending(context, id_) as held:
        _polish(step_of(held.context, id_, held.lease), wanted)


def _polish(step: ThreadStep, wanted: str) -> None:
    wrong = misplaced(step)
    if wrong is not None:
        raise Refusal("wrong_branch", f"Nothing is polished: {wrong}.", "Mend that first.")
    agent = step.context.agent(step.config.agents[0])
    log = step.runs / f"polish-{step.thread.version}.log"
    heard = step.run_agent(agent, "polisher", prompts.polish(step.thread, wanted), log)
    if heard.result.ending is not Ending.FINISHED:
        raise not_answered(agent.title, heard, "Look at what it left, then go on with `ralph thread polish`.")
