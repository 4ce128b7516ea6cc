"""Running: one iteration of the loop. An agent works; that it is done is its claim, and not yet so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.machine import Event
from interlock.work.driver.agent_failures import clock, unusable
from interlock.work.driver.agent_run import AgentRun
from interlock.work.driver.system import NoEvent, StepResult
from interlock.work.threads import prompts
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.record import ThreadRunResult
from interlock.work.threads.spec import Spec, parse_spec
from interlock.world.agents.result import NO_ATTEMPTS, UNUSABLE, Ending
from interlock.world.git import fingerprint_of_settings, keep, state

__all__ = ["account", "iterate", "keep_iteration", "misplaced", "overdrawn", "spec_of"]


def spec_of(step: ThreadStep) -> Spec:
    revision = step.thread.revision
    assert revision is not None  # nothing is finalized without one
    return parse_spec(revision.text)


def iterate(step: ThreadStep) -> StepResult:
    """One iteration of the plain loop."""
    wrong = misplaced(step)
    if wrong is not None:
        return step.event("driver_failed", wrong)
    if step.thread.ran is not None:
        return _concluded(step, step.thread.ran)
    over = overdrawn(step)
    if over is not None:
        return step.event("budget_exhausted", over)
    chosen = _chosen(step)
    if isinstance(chosen, float):
        until = clock(step.context.journal.now() + chosen)
        step.context.tell(f"every agent has reached a limit; waiting until {until}")
        step.context.wait(chosen)
    elif chosen is None:
        return _exhausted(step)
    else:
        _run(step, chosen)
    return NoEvent.RETRY


def _exhausted(step: ThreadStep) -> Event:
    """Handle a rotation without a usable agent: raise if a person can fix one, else the thread is stuck."""
    failing = step.thread.failing
    for agent, ran in failing.items():
        if ran.ending in UNUSABLE:
            raise unusable(agent, ran)
    says = "; ".join(ran.why for ran in failing.values())
    return step.event("models_exhausted", f"{says}, and agent.wait_minutes is over")


def misplaced(step: ThreadStep) -> str | None:
    """Why the loop must not go on here: another branch is checked out, or the repository's settings were changed."""
    there = state(step.root)
    if there.branch != step.thread.branch:
        return f"{there.branch or 'no branch'} is checked out, and the thread works on {step.thread.branch}"
    if fingerprint_of_settings(step.root) != step.thread.guarded:
        return "the settings, hooks or attributes in .git were changed while the loop ran; look at them, then go on"
    return None


def overdrawn(step: ThreadStep, children: Mapping[str, tuple[float, float, int]] | None = None) -> str | None:
    """Why nothing more may be spent; counted from the journal, so that a restart resets nothing.

    `children` are those of which the journal of the thread does not know yet what they used.
    """
    thread, config = step.thread, step.config
    if children:
        thread = replace(thread, children={**thread.children, **children})
    seconds, dollars, tokens = thread.spent
    own = [one.cost_usd for one in thread.iterations]
    likely = sum(own) / len(own) if own else 0.0
    if config.budget_minutes and seconds >= config.budget_minutes * 60:
        return f"the {config.budget_minutes} minutes of agents are used up"
    if config.budget_usd and dollars + likely > config.budget_usd:
        return (
            f"the ${config.budget_usd} are used up (${dollars:.2f}, and the next iteration costs about ${likely:.2f})"
        )
    if config.budget_tokens and tokens >= config.budget_tokens:
        return f"the {config.budget_tokens} tokens are used up"
    return None


def _chosen(step: ThreadStep) -> str | float | None:
    """The agent whose turn it is; how long to wait where all rest; None where none can be started."""
    thread, config = step.thread, step.config
    agents = [one for one in config.agents if one.partition(":")[0] not in thread.failing]
    if not agents:
        return None
    if config.selection == "round_robin":
        turn = sum(one.role == "implementer" and _counts(one.ending) for one in thread.iterations) % len(agents)
        agents = agents[turn:] + agents[:turn]
    now = step.context.journal.now()
    waits = {one: thread.limited.get(one.partition(":")[0], 0.0) - now for one in agents}
    free = next((one for one in agents if waits[one] <= 0), None)
    return free if free is not None else min(waits.values())


def _counts(ending: str) -> bool:
    return ending not in NO_ATTEMPTS


def _run(step: ThreadStep, name: str) -> None:
    context, thread, spec = step.context, step.thread, spec_of(step)
    agent = name.partition(":")[0]
    context.tell(f"iteration {step.number} of {step.config.iterations or 'any number'}: {name}")
    prompt = prompts.implement(thread, spec, step.number, context.settings.texts("verify.commands"))
    heard = step.send(name, "implementer", prompt, step.runs / "output.log", reports=True)
    keep_iteration(step)
    account(step, "implementer", agent, heard, told=len(thread.context))
    _rest(step, agent, heard)


def keep_iteration(step: ThreadStep) -> None:
    """Keep what the iteration left, so that a later one cannot lose it."""
    name = f"threads/{step.thread.id}/iteration-{step.thread.runs}-{step.number}"
    try:
        if not state(step.root).is_clean:
            keep(step.root, name)
    except InterlockError as error:
        step.context.tell(f"the work of this iteration is not kept beside the tree: {error.message}")


def account(step: ThreadStep, role: str, agent: str, heard: AgentRun, **more: Any) -> None:
    """Write down what a run cost and how it ended, before anything is concluded of it."""
    result = heard.result
    step.note(
        "iteration",
        number=step.number,
        run=step.thread.run or "",
        role=role,
        agent=agent,
        ending=str(result.ending),
        exit=result.exit_code,
        seconds=round(result.seconds, 3),
        cost_usd=result.cost_usd,
        tokens=result.usage.input + result.usage.output,
        promise=result.promise,
        said=heard.said or "\n".join(result.last_lines),
        log_sha256=result.log_sha256,
        **{"told": 0, **more},
    )


def _rest(step: ThreadStep, agent: str, heard: AgentRun) -> None:
    """Let an agent rest that has reached a limit, or took too long while others could go on."""
    result, now = heard.result, step.context.journal.now()
    if result.ending in UNUSABLE or (result.ending is Ending.LIMITED and heard.wait is None):
        step.note("failing", agent=agent, ending=str(result.ending), failure=heard.ran.failure, why=heard.ran.why)
    elif heard.wait is not None:
        step.note("limited", agent=agent, until=heard.wait.until, said=heard.ran.why)
    elif str(result.ending).startswith("timed_out") and len(step.config.agents) > 1:
        until = now + step.context.settings.number("agent.cooldown_minutes") * 60.0
        step.note("limited", agent=agent, until=until, said="it took too long")


def _concluded(step: ThreadStep, made: ThreadRunResult) -> Event:
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
