"""Running: one iteration of the loop. An agent works; that it is done is its claim, and not yet so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from interlock.errors import InterlockError
from interlock.machine import Event
from interlock.work.errands import Heard
from interlock.work.hindrances import clock, unusable
from interlock.work.threads import prompts
from interlock.work.threads.record import Ran
from interlock.work.threads.spec import Spec, parse_spec
from interlock.work.threads.visit import Visit
from interlock.world.agents.result import NO_ATTEMPTS, UNUSABLE, Ending
from interlock.world.git import fingerprint_of_settings, keep, state

__all__ = ["account", "iterate", "keep_iteration", "misplaced", "overdrawn", "spec_of"]


def spec_of(visit: Visit) -> Spec:
    revision = visit.thread.revision
    assert revision is not None  # nothing is finalized without one
    return parse_spec(revision.text)


def iterate(visit: Visit) -> Event | None:
    """One iteration of the plain loop; None where it was stopped, or has to wait."""
    wrong = misplaced(visit)
    if wrong is not None:
        return visit.event("driver_failed", wrong)
    if visit.workshop.pausing.is_set():
        return visit.event("pause")  # what an agent came to is concluded when it goes on
    if visit.thread.ran is not None:
        return _concluded(visit, visit.thread.ran)
    over = overdrawn(visit)
    if over is not None:
        return visit.event("budget_exhausted", over)
    chosen = _chosen(visit)
    if isinstance(chosen, float):
        until = clock(visit.workshop.journal.now() + chosen)
        visit.workshop.tell(f"every agent has reached a limit; waiting until {until}")
        visit.workshop.wait(chosen)
    elif chosen is None:
        return _exhausted(visit)
    else:
        _run(visit, chosen)
    return None


def _exhausted(visit: Visit) -> Event:
    """Handle a rotation without a usable agent: raise if a person can fix one, else the thread is stuck."""
    failing = visit.thread.failing
    for agent, ran in failing.items():
        if ran.ending in UNUSABLE:
            raise unusable(agent, ran)
    says = "; ".join(ran.why for ran in failing.values())
    return visit.event("models_exhausted", f"{says}, and agent.wait_minutes is over")


def misplaced(visit: Visit) -> str | None:
    """Why the loop must not go on here: another branch is checked out, or the repository's settings were changed."""
    there = state(visit.root)
    if there.branch != visit.thread.branch:
        return f"{there.branch or 'no branch'} is checked out, and the thread works on {visit.thread.branch}"
    if fingerprint_of_settings(visit.root) != visit.thread.guarded:
        return "the settings, hooks or attributes in .git were changed while the loop ran; look at them, then go on"
    return None


def overdrawn(visit: Visit, children: Mapping[str, tuple[float, float, int]] | None = None) -> str | None:
    """Why nothing more may be spent; counted from the journal, so that a restart resets nothing.

    `children` are those of which the journal of the thread does not know yet what they used.
    """
    thread, config = visit.thread, visit.config
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


def _chosen(visit: Visit) -> str | float | None:
    """The agent whose turn it is; how long to wait where all rest; None where none can be started."""
    thread, config = visit.thread, visit.config
    agents = [one for one in config.agents if one.partition(":")[0] not in thread.failing]
    if not agents:
        return None
    if config.selection == "round_robin":
        turn = sum(one.role == "implementer" and _counts(one.ending) for one in thread.iterations) % len(agents)
        agents = agents[turn:] + agents[:turn]
    now = visit.workshop.journal.now()
    waits = {one: thread.limited.get(one.partition(":")[0], 0.0) - now for one in agents}
    free = next((one for one in agents if waits[one] <= 0), None)
    return free if free is not None else min(waits.values())


def _counts(ending: str) -> bool:
    return ending not in NO_ATTEMPTS


def _run(visit: Visit, name: str) -> None:
    workshop, thread, spec = visit.workshop, visit.thread, spec_of(visit)
    agent = name.partition(":")[0]
    workshop.tell(f"iteration {visit.number} of {visit.config.iterations or 'any number'}: {name}")
    prompt = prompts.implement(thread, spec, visit.number, workshop.settings.texts("verify.commands"))
    heard = visit.send(name, "implementer", prompt, visit.runs / "output.log", reports=True)
    keep_iteration(visit)
    account(visit, "implementer", agent, heard, told=len(thread.context))
    _rest(visit, agent, heard)


def keep_iteration(visit: Visit) -> None:
    """Keep what the iteration left, so that a later one cannot lose it."""
    name = f"threads/{visit.thread.id}/iteration-{visit.thread.runs}-{visit.number}"
    try:
        if not state(visit.root).is_clean:
            keep(visit.root, name)
    except InterlockError as error:
        visit.workshop.tell(f"the work of this iteration is not kept beside the tree: {error.message}")


def account(visit: Visit, role: str, agent: str, heard: Heard, **more: Any) -> None:
    """Write down what a run cost and how it ended, before anything is concluded of it."""
    result = heard.result
    visit.note(
        "iteration",
        number=visit.number,
        run=visit.thread.run or "",
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


def _rest(visit: Visit, agent: str, heard: Heard) -> None:
    """Let an agent rest that has reached a limit, or took too long while others could go on."""
    result, now = heard.result, visit.workshop.journal.now()
    if result.ending in UNUSABLE or (result.ending is Ending.LIMITED and heard.wait is None):
        visit.note("failing", agent=agent, ending=str(result.ending), failure=heard.ran.failure, why=heard.ran.why)
    elif heard.wait is not None:
        visit.note("limited", agent=agent, until=heard.wait.until, said=heard.ran.why)
    elif str(result.ending).startswith("timed_out") and len(visit.config.agents) > 1:
        until = now + visit.workshop.settings.number("agent.cooldown_minutes") * 60.0
        visit.note("limited", agent=agent, until=until, said="it took too long")


def _concluded(visit: Visit, made: Ran) -> Event:
    """What an agent's run means: a claim of done, which is verified, or one more iteration."""
    wanted = spec_of(visit).claim
    if made.ending == "finished" and made.promise is not None and made.promise == wanted:
        return visit.event("claims_done", agent=made.agent)
    if made.ending == "finished":
        feedback = "the last iteration ended without the promise: go on with what is missing"
    else:
        how = "took too long" if made.ending.startswith("timed_out") else made.ending
        feedback = f"the agent of the last iteration {how} (exit {made.exit_code})\n{made.said[-2000:]}"
    return visit.event("iteration_finished", feedback=feedback)
