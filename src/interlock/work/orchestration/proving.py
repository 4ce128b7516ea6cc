"""What our own verifiers see of the work: the reviewer's verdict needs it, and nobody's word takes its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interlock.work.configuration import vouched
from interlock.work.orchestration.visit import Visit
from interlock.work.verification.receipt import from_data
from interlock.work.verification.request import Request, plan_of
from interlock.work.verification.showing import text
from interlock.work.verification.verifying import verify

__all__ = ["passed", "receipt_text", "refusal", "verified"]


@dataclass(frozen=True, slots=True)
class _Verifiers:
    """The one criterion that is ours to decide here; those of a task are the reviewer's."""

    number: int = 1
    text: str = "our verifiers pass"
    command: str | None = "true"


def verified(visit: Visit) -> dict[str, Any] | None:
    """One verification, noted as soon as it is there; None where it was stopped."""
    workshop, run = visit.workshop, visit.run
    request = Request(
        root=workshop.root,
        spec="",
        baseline=run.base,
        criteria=(_Verifiers(),),
        plan=plan_of(workshop.settings),
        logs=visit.log("verification").with_suffix(""),
        environment=workshop.environment,
        marker=run.id,
        title=run.goal,
        vouched=vouched(workshop.journal),
    )
    receipt = verify(request, workshop.tell, workshop.stop)
    if receipt is None:
        return None
    visit.note("verified", receipt=receipt.data)
    return receipt.data


def passed(receipt: dict[str, Any]) -> bool:
    return from_data(receipt).passed


def refusal(receipt: dict[str, Any]) -> str:
    """What our verifiers refuse, a line each."""
    return from_data(receipt).reason


def receipt_text(receipt: dict[str, Any]) -> str:
    return text(from_data(receipt))
