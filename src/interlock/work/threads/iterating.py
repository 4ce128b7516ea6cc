"""Running: one iteration of the loop. An agent works; that it is done is its claim, and not yet so."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.machine import Event
from interlock.work.budget import has_room
from interlock.work.driver.agent_turn import NoAgent, choose
from interlock.work.driver.record import OpenRun
from interlock.work.driver.system import NoEvent, StepResult
from interlock.work.threads import prompts
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.spec import Spec, parse_spec
from interlock.world.git import FINGERPRINT_VERSION

__all__ = ["claim_again", "iterate", "keep_iteration", "misplaced", "overdrawn", "spec_of"]


def spec_of(step: ThreadStep) -> Spec:
    revision = step.thread.revision
    assert revision is not None  # nothing is finalized without one
    return parse_spec(revision.text)


def iterate(step: ThreadStep) -> StepResult:
    """One iteration of the plain loop."""
    if step.thread.ran is not None:
        keep_iteration(step)  # its driver may have died before it did
    wrong = misplaced(step)
    if wrong is not None:
        return wrong
    if step.thread.ran is not None:
        return _concluded(step, step.thread.ran)
    over = overdrawn(step)
    if over is not None:
        return step.event("budget_exhausted", over)
    agents = [step.context.agent(one) for one in step.config.agents]
    counted = sum(one.role == "implementer" and one.counts for one in step.thread.iterations)
    chosen = choose(step.context, step.thread, agents, step.config.selection, counted)
    if isinstance(chosen, NoAgent):
        if chosen.is_for_person:
            raise chosen.error()
        return step.event("models_exhausted", chosen.reason)
    if chosen is not None:
        step.tree.get_ready()
        step.context.report(f"iteration {step.number} of {step.config.iterations or 'any number'}: {chosen.title}")
        told = step.context.settings.texts("verify.commands")
        prompt = prompts.implement(step.thread, spec_of(step), step.number, told)
        step.run_agent(chosen, "implementer", prompt, step.runs / "output.log")
        keep_iteration(step)
    return NoEvent.RETRY


def claim_again(step: ThreadStep) -> Event:
    """Claim what was claimed before, because its verification was stopped; the files must still be the thread's."""
    return misplaced(step) or step.event("claims_done")


def misplaced(step: ThreadStep) -> Event | None:
    """The end of the loop if the repository's settings were changed; a person who goes on accepts them as they are."""
    then, now = step.thread.guarded, step.context.git.fingerprint_of_settings(step.context.root)
    if then != now and then.startswith(FINGERPRINT_VERSION):
        reason = "the settings, hooks or attributes in .git were changed while the loop ran"
        return step.event("driver_failed", f"{reason}; look at them, then go on", guarded=now)
    return None


def overdrawn(step: ThreadStep, children: Mapping[str, tuple[float, float, int]] | None = None) -> str | None:
    """Why nothing more may be spent; counted from the journal, so that a restart resets nothing.

    There must be room for one more run like the others. `children` are those of which the journal of the thread does
    not know yet what they used.
    """
    thread, config = step.thread, step.config
    if children:
        thread = replace(thread, children={**thread.children, **children})
    seconds, dollars, tokens = thread.spent
    likely = thread.books.likely()
    kinds = (
        ("{:,.1f} minutes", config.budget_minutes, seconds / 60, likely.seconds / 60),
        ("${:,.2f}", config.budget_usd, dollars, likely.usd),
        ("{:,.0f} tokens", config.budget_tokens, tokens, likely.tokens),
    )
    for said, limit, used, following in kinds:
        if not has_room(used, following, limit):
            has, most, wants = (said.format(one) for one in (used, limit, following))
            return f"the budget of the thread is used up: {has} of {most} are used, one run takes about {wants}"
    return None


def keep_iteration(step: ThreadStep) -> None:
    """Keep what the iteration left, so that a later one cannot lose it."""
    try:
        step.tree.keep(f"threads/{step.thread.id}", f"{step.thread.runs}-{step.number}")
    except InterlockError as error:
        step.context.report(f"the work of this iteration is not kept beside the tree: {error.message}")


def _concluded(step: ThreadStep, made: OpenRun) -> Event:
    """What an agent's run means: a claim of done, which is verified, or one more iteration."""
    wanted = spec_of(step).claim
    if made.ending == "finished" and made.promise is not None and made.promise == wanted:
        return step.event("claims_done", agent=made.agent)
    if made.ending == "finished":
        feedback = "the last iteration ended without the promise: go on with what is missing"
    else:
        how = "took too long" if made.ending.startswith("timed_out") else made.ending
        feedback = f"the agent of the last iteration {how} (exit {made.exit_code})\n{made.said[-2000:]}"
    return step.event("iteration_finished", feedback=feedback)
