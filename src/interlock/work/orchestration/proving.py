"""Our own verifiers: a reviewer's verdict needs them, and no agent's word takes their place."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.work.driver.agent_sandbox import confined_command
from interlock.work.driver.context import DriverContext
from interlock.work.driver.readiness import require_agent
from interlock.work.orchestration.driver_step import RunStep
from interlock.work.orchestration.record import Run
from interlock.work.settings.accepted import vouched
from interlock.work.verification.receipt import Receipt, from_data
from interlock.work.verification.request import Request, VerificationPlan, plan_of
from interlock.work.verification.verifiers import missing_verifiers, require_verifiers, uncarried, verifiers_of

__all__ = ["changes", "rehearsed", "require_ready", "verified"]


class _Verifiers(msgspec.Struct, frozen=True):
    """The one criterion that is ours to decide here; those of a task are the reviewer's."""

    number: int = 1
    text: str = "our verifiers pass"
    command: str | None = "true"


def require_ready(context: DriverContext, run: Run) -> None:
    """Refuse before the first role is asked where no agent could help: a program or a verifier is missing.

    The verifiers of a run that a thread drives may be those of the thread's criteria, and its preflight has seen them.
    """
    for name in set(run.roles.values()):
        require_agent(context, (context.agent(name),))
    if run.parent is None:
        plan = plan_of(context.settings)
        lost = [*missing_verifiers(plan, (), context.root, context.environment), *uncarried(plan, context.root)]
        require_verifiers(verifiers_of(plan), lost, "verify.commands")


def rehearsed(step: RunStep) -> bool:
    """True once verification is made ready on the untouched baseline; False where it was stopped.

    Raises `verifiers_missing` where that fails: no agent has worked yet, so none can fix it.
    """
    request, context = _request(step, plan_of(step.context.settings)), step.context
    found = context.ports.verification.rehearse(request, context.report, context.stop)
    if found:
        hint = "Correct verify.prepare or verify.carry in ralph.toml, then run `ralph orchestrate resume`."
        raise InterlockError("verifiers_missing", f"Nothing can be verified here: {'; '.join(found)}.", hint)
    return found is not None


def verified(step: RunStep) -> Receipt | None:
    """The receipt of our verifiers for the current tree, noted at once; None if they were stopped.

    A tree that has passed them already is not looked at again.
    """
    context, run, plan = step.context, step.run, plan_of(step.context.settings)
    known = from_data(run.receipt) if run.receipt is not None else None
    if known is not None and known.passed and _is_of(known, plan) and known.tree == step.cache.tree:
        return known
    if run.parent is None:
        require_verifiers(verifiers_of(plan), (), "verify.commands")
    request = replace(_request(step, plan), tree=step.cache.tree)
    step.cache.git.shut()
    step.note("verifying")
    verification = context.ports.verification
    receipt = verification.verify(request, context.report, context.stop)
    if receipt is not None:
        verification.require_found(request, receipt, context.report, context.stop)
    step.project(is_whole=False)  # what agents wrote was run, so what is in the files now is not a person's
    if receipt is None:
        step.note("released")
    else:
        step.note("verified", receipt=receipt.data)
    return receipt


def _request(step: RunStep, plan: VerificationPlan) -> Request:
    context, run = step.context, step.run
    return Request(
        root=step.cache.home,
        spec="",
        baseline=run.base,
        criteria=(_Verifiers(),),
        plan=plan,
        logs=step.log("verification").with_suffix(""),
        environment=context.environment,
        marker=run.id,
        title=run.goal,
        confine=lambda place: confined_command(context, place),
        vouched=vouched(context.journal),
    )


def _is_of(receipt: Receipt, plan: VerificationPlan) -> bool:
    """True if the receipt is of these verifiers."""
    return [one.command for one in receipt.verifiers] == [one.command for one in plan.verifiers]


def changes(step: RunStep, before: str, tree: str) -> str:
    """The changes between two trees, as a patch; empty if one of them is gone."""
    try:
        return step.context.git.diff(step.cache.repository, before, tree).text
    except InterlockError:
        return ""
