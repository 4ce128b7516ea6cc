"""Things that no agent can fix, looked for before the first agent of a ticket is paid for."""

from __future__ import annotations

from interlock.work.driver.context import DriverContext
from interlock.work.driver.readiness import missing_program, nameless
from interlock.work.threads.driver_step import default_config
from interlock.work.ticket_driver.stages import WorkStop
from interlock.work.verification.request import plan_of
from interlock.work.verification.verifiers import missing_verifiers, uncarried

__all__ = ["hindered"]


def hindered(context: DriverContext, number: int, agent: str) -> WorkStop | None:
    """Return why a ticket cannot be worked on here, else None.

    No configured verifier is not among it: the spec that is to be written may bring commands of its own.
    """
    root, environment = context.root, context.environment
    if missing_program(context, context.agent(agent)) is not None:
        hint = f"Install it, or choose another: `ralph work {number} --agent NAME`, or agent.name in ralph.toml."
        return WorkStop(f"the agent {agent} cannot be started: it is not installed", hint, failed=True)
    again = f"`ralph work {number}` then continues."
    judge = default_config(context.settings).judge
    if judge and missing_program(context, context.agent(judge, is_judge=True)) is not None:
        hint = f"Install it, or choose another with agent.judge in ralph.toml; {again}"
        return WorkStop(f"the judge {judge} cannot be started: it is not installed", hint, failed=True)
    plan = plan_of(context.settings)
    lost = missing_verifiers(plan, (), root, environment)
    if lost:
        hint = f"Install it, or correct verify.commands in ralph.toml; {again}"
        return WorkStop(f"a verifier cannot be found: {', '.join(lost)}", hint, failed=True)
    wrong = next(uncarried(plan, root), None) or nameless(context)
    return WorkStop(wrong.rstrip("."), again, failed=True) if wrong is not None else None
