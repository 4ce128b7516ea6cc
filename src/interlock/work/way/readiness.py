"""Things that no agent can fix, looked for before the first agent of a ticket is paid for."""

from __future__ import annotations

from interlock.work.readiness import missing_program, nameless
from interlock.work.threads.visit import default_config
from interlock.work.verification.request import plan_of
from interlock.work.verification.verifiers import missing_verifiers, uncarried
from interlock.work.way.stations import Stop
from interlock.work.workshop import Workshop

__all__ = ["hindered"]


def hindered(workshop: Workshop, number: int, agent: str) -> Stop | None:
    """Return why a ticket cannot be worked on here, else None.

    No configured verifier is not among it: the spec that is to be written may bring commands of its own.
    """
    root, environment = workshop.root, workshop.environment
    if missing_program(workshop.agent(agent), root, environment) is not None:
        hint = f"Install it, or choose another: `ralph work {number} --agent NAME`, or agent.name in ralph.toml."
        return Stop(f"the agent {agent} cannot be started: it is not installed", hint, failed=True)
    again = f"`ralph work {number}` then continues."
    judge = default_config(workshop.settings).judge
    if judge and missing_program(workshop.agent(judge, judge=True), root, environment) is not None:
        hint = f"Install it, or choose another with agent.judge in ralph.toml; {again}"
        return Stop(f"the judge {judge} cannot be started: it is not installed", hint, failed=True)
    plan = plan_of(workshop.settings)
    lost = missing_verifiers(plan, (), root, environment)
    if lost:
        hint = f"Install it, or correct verify.commands in ralph.toml; {again}"
        return Stop(f"a verifier cannot be found: {', '.join(lost)}", hint, failed=True)
    wrong = next(uncarried(plan, root), None) or nameless(root)
    return Stop(wrong.rstrip("."), again, failed=True) if wrong is not None else None
