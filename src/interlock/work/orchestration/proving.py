"""What our own verifiers see of the work: the reviewer's verdict needs it, and nobody's word takes its place."""

from __future__ import annotations

from dataclasses import dataclass

from interlock.errors import InterlockError
from interlock.work.configuration import vouched
from interlock.work.orchestration.visit import Visit
from interlock.work.verification.receipt import Receipt, from_data
from interlock.work.verification.request import Plan, Request, plan_of
from interlock.work.verification.verifying import verify
from interlock.world.git import diff

__all__ = ["changes", "verified"]


@dataclass(frozen=True, slots=True)
class _Verifiers:
    """The one criterion that is ours to decide here; those of a task are the reviewer's."""

    number: int = 1
    text: str = "our verifiers pass"
    command: str | None = "true"


def verified(visit: Visit) -> Receipt | None:
    """What our verifiers see of the tree as it is now, noted as soon as it is there; None where it was stopped.

    A tree that has passed them already is not looked at again.
    """
    workshop, run, plan = visit.workshop, visit.run, plan_of(visit.workshop.settings)
    known = from_data(run.receipt) if run.receipt is not None else None
    if known is not None and known.passed and _is_of(known, plan) and known.tree == visit.desk.tree:
        return known
    request = Request(
        root=workshop.root,
        spec="",
        baseline=run.base,
        criteria=(_Verifiers(),),
        plan=plan,
        logs=visit.log("verification").with_suffix(""),
        environment=workshop.environment,
        marker=run.id,
        title=run.goal,
        vouched=vouched(workshop.journal),
    )
    visit.desk.git.shut()
    visit.note("verifying")
    receipt = verify(request, workshop.tell, workshop.stop)
    visit.project(is_whole=False)  # what agents wrote was run, so what is in the files now is not a person's
    if receipt is None:
        visit.note("released")
    else:
        visit.note("verified", receipt=receipt.data)
    return receipt


def _is_of(receipt: Receipt, plan: Plan) -> bool:
    """Whether it tells of these verifiers."""
    return [one.command for one in receipt.verifiers] == [one.command for one in plan.verifiers]


def changes(visit: Visit, before: str, tree: str) -> str:
    """What differs between two trees, as a patch; nothing where one of them is there no more."""
    try:
        return diff(visit.desk.repository, before, tree).text
    except InterlockError:
        return ""
