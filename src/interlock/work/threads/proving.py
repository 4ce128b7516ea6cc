"""Verifying: what the agent claims is proven by us, for the exact tree, or it goes back with what failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interlock.errors import InterlockError
from interlock.machine import Event, Evidence
from interlock.work.driver.agent_failures import end_text, unavailable, unusable
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.agent_sandbox import confined_command
from interlock.work.driver.agent_turn import choose
from interlock.work.driver.system import NoEvent, StepResult
from interlock.work.settings.accepted import vouched
from interlock.work.threads.attending import step_of
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.iterating import overdrawn, spec_of
from interlock.work.threads.replay import take_receipt
from interlock.work.verification.receipt import JudgeRun, Receipt, from_data
from interlock.work.verification.request import Judge, JudgeAnswer, Request, plan_of
from interlock.work.verification.verifiers import NO_VERIFIER, verifiers_of
from interlock.world.agents.result import UNUSABLE, Ending

__all__ = ["prove", "receipt_hash"]


def receipt_hash(receipt: dict[str, Any]) -> str:
    """The hash by which a receipt is known again."""
    return from_data(receipt).sha256


def prove(step: ThreadStep) -> StepResult:
    """One verification. Its receipt, if it passed, is the only way to Implemented."""
    context, thread = step.context, step.thread
    if choose(context, thread, (context.agent(_judge_name(step), is_judge=True),)) is None:
        return NoEvent.RETRY
    request = _request(step)
    if not verifiers_of(request.plan, request.criteria):  # the settings changed after preflight
        raise InterlockError("verifiers_missing", f"{NO_VERIFIER}.", "Then run the same command again.")
    verification = context.ports.verification
    receipt = verification.verify(request, context.report, context.stop)
    if receipt is not None:
        verification.require_found(request, receipt, context.report, context.stop)
    if receipt is None or (receipt.judge is not None and receipt.judge.ending == Ending.LIMITED):
        return NoEvent.RETRY  # a limit is waited for before the verifiers run again
    return _concluded(step, receipt)


def _concluded(step: ThreadStep, receipt: Receipt) -> Event:
    if receipt.passed:
        evidence = Evidence(subjects={"tree": receipt.tree}, data={"receipt": receipt.data})
        return Event("criteria_passed", DRIVER, evidence=evidence)
    for failure in receipt.failures:
        step.context.report(f"✗ {failure}")
    now = step_of(step.context, step.thread.id, step.lease)  # with the limits as they are now
    take_receipt(now.thread, receipt.data)  # a diagnosis tells what failed just now, not what failed before
    over = overdrawn(now)
    if over is not None:
        return now.event("budget_exhausted", f"{over}\n{receipt.reason}", receipt=receipt.data)
    return now.event("criteria_failed", receipt.reason, receipt=receipt.data)


def _judge_name(step: ThreadStep) -> str:
    return step.config.judge or step.config.agents[0]


def _request(step: ThreadStep) -> Request:
    context, thread, spec = step.context, step.thread, spec_of(step)
    assert thread.baseline is not None
    taken = step.tree.take()
    return Request(
        root=context.root,
        tree=taken.tree,
        left_out=taken.left_out,
        ignored=context.git.newly_ignored(context.root, thread.baseline.commit, taken.tree, taken.ignored),
        spec=spec.sha256,
        baseline=thread.baseline.commit,
        criteria=spec.criteria,
        plan=plan_of(context.settings, protected=_listed(spec.protected, spec.named), named=spec.named),
        logs=step.runs / f"verification-{thread.entered}",
        environment=context.environment,
        marker=thread.id,
        judge=_judge(step),
        title=thread.title,
        confine=lambda place: confined_command(context, place),
        vouched=vouched(context.journal),
    )


def _listed(protected: tuple[str, ...], named: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for path in protected if path not in named)


def _judge(step: ThreadStep) -> Judge:
    """A second agent, in a run and a session of its own."""
    name = _judge_name(step)

    def ask(prompt: str, directory: Path) -> JudgeAnswer | None:
        log = step.runs / f"verification-{step.thread.entered}" / "judge.log"
        heard = step.run_agent(step.context.agent(name, is_judge=True), "judge", prompt, log, directory)
        result = heard.result
        if result.ending is Ending.STOPPED:
            return None
        if result.ending in UNUSABLE:
            raise unusable(name, heard.ran, "judge")
        if result.ending is Ending.LIMITED and heard.wait is None:
            raise unavailable(name, heard.ran)
        told = JudgeRun(
            agent=name,
            ending=str(result.ending),
            seconds=round(result.seconds, 3),
            cost_usd=result.cost_usd,
            tokens=result.usage.input + result.usage.output,
            limited_until=heard.wait.until if heard.wait is not None else None,
            log_sha256=result.log_sha256,
            why="" if result.ending is Ending.FINISHED else f"the judge {end_text(name, result)}",
        )
        return JudgeAnswer(heard.said, told)

    return ask
