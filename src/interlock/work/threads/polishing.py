"""Polishing: docs, tests and clean-up before the review. A person does it, or asks an agent to."""

from __future__ import annotations

from interlock.errors import InterlockError, Refusal
from interlock.work.threads import prompts
from interlock.work.threads.attending import attending, visit_of
from interlock.work.threads.iterating import account, misplaced
from interlock.work.threads.visit import Visit
from interlock.work.workshop import Workshop

__all__ = ["ask_for"]


def ask_for(workshop: Workshop, id_: str, wanted: str) -> None:
    """Let an agent polish once; what it changed is proven again before anybody reviews it."""
    with attending(workshop, id_) as right:
        _polish(visit_of(workshop, id_, right.lease), wanted)


def _polish(visit: Visit, wanted: str) -> None:
    wrong = misplaced(visit)
    if wrong is not None:
        raise Refusal("wrong_branch", f"Nothing is polished: {wrong}.", "Mend that first.")
    name = visit.config.agents[0]
    log = visit.runs / f"polish-{visit.thread.version}.log"
    heard = visit.send(name, "polisher", prompts.polish(visit.thread, wanted), log)
    account(visit, "polisher", name.partition(":")[0], heard)
    if str(heard.result.ending) != "finished":
        message = f"The agent {name} did not finish: {heard.result.ending}."
        raise InterlockError("agent_failed", message, "Look at what it left, then go on with `ralph thread polish`.")
