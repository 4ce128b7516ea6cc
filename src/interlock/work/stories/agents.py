"""IMPLEMENT and VALIDATE: one agent writes, another one judges."""

from __future__ import annotations

from interlock.errors import InterlockError
from interlock.machine import Event
from interlock.work.stories import prompts
from interlock.work.stories.budget import overdrawn
from interlock.work.stories.committing import commit_aside
from interlock.work.stories.record import Ran
from interlock.work.stories.runs import free_agent, ran
from interlock.work.stories.stories import Criterion, Story, Task
from interlock.work.stories.testing import facts_of, log_path
from interlock.work.stories.visit import Visit
from interlock.work.stories.yard import write_text
from interlock.world.agents.agent import Agent
from interlock.world.git import diff

__all__ = ["judged", "worked"]

_ATTEMPTS = 3
_SOFT, _HARD = "context_soft_percent", "context_hard_percent"
_SHOWN = 20_000


def worked(visit: Visit) -> Event | None:
    """One attempt at the subtask. That code was written is seen in the tree, not heard."""
    made = visit.loop.ran or _attempted(visit)
    if made is None:
        return None
    if made.percent >= visit.machine.form.limits[_HARD]:
        return _exhausted(visit, made)
    if made.percent >= visit.machine.form.limits[_SOFT]:
        visit.yard.tell(f"context {made.percent:.0f} %: skip what is only nice to have")
    if made.is_finished and visit.tree() != visit.loop.base:
        return visit.event("code_written", files=visit.touched()[:200])
    why = "the agent ended without changing anything" if made.is_finished else _why(made)
    return visit.failed("attempt_failed", f"{why}\n{made.said[-2000:]}", facts_of(visit, why))


def _attempted(visit: Visit) -> Ran | None:
    story, task = _at(visit)
    over = overdrawn(visit)
    if over is not None:
        visit.note("paused", reason=over)
        visit.yard.tell(f"paused: {over}")
        return None
    agent = free_agent(visit, _in_turn(visit))
    return ran(visit, agent, "implementer", _prompt(visit, story, task)) if agent else None


def _at(visit: Visit) -> tuple[Story, Task]:
    story = visit.shelf().get(visit.loop.story or "")
    if isinstance(story, str):
        raise InterlockError("story_invalid", f"{visit.loop.story}: {story}.", "Put the story file back.")
    task = story.task(visit.loop.task or "") or next((one for one in story.tasks if not one.done), story.tasks[-1])
    return story, task


def _why(made: Ran) -> str:
    how = "took too long" if made.ending.startswith("timed_out") else made.ending
    return f"the agent {how} (exit {made.exit_code})"


def _in_turn(visit: Visit) -> tuple[Agent, ...]:
    """The agents, the one whose turn it is first: they have one attempt each."""
    agents = visit.yard.agents
    turn = sum(one.role == "implementer" and one.counts for one in visit.loop.attempts) % len(agents)
    return agents[turn:] + agents[:turn]


def _prompt(visit: Visit, story: Story, task: Task) -> str:
    yard, loop = visit.yard, visit.loop
    context = "\n".join(loop.context)
    own = prompts.implement(
        story,
        task,
        attempt=visit.retries + 1,
        of=_ATTEMPTS,
        failure=loop.failure[-_SHOWN:],
        context=context,
        memory=loop.known,
    )
    if yard.template is None:
        return f"{yard.prompt}\n\n{own}" if yard.prompt else own
    values = {
        "iteration": str(loop.next_iteration),
        "max_iterations": str(yard.limits.iterations or "unlimited"),
        "min_iterations": "1",
        "prompt": yard.prompt,
        "completion_promise": "COMPLETED",
        "abort_promise": "BLOCKED",
        "task_promise": "READY_FOR_NEXT_TASK",
        "context": context,
        "tasks": own,
    }
    return prompts.filled(yard.template, values)


def _exhausted(visit: Visit, made: Ran) -> Event:
    """The context is used up: a summary for the next agent, the work committed as it is, a fresh start."""
    text = f"# Where the work stands ({made.percent:.0f} % of the context used)\n\n{made.said[-8000:]}\n"
    write_text(log_path(visit, "summary").with_suffix(".md"), text)
    commit = commit_aside(visit, made.percent)
    visit.yard.tell("<promise>CONTEXT_EXHAUSTED</promise>")
    failure = f"the agent's context was used up ({made.percent:.0f} %)"
    told = {"percent": made.percent, "commit": commit}
    summary = f"The agent before you ran out of context. It said:\n{made.said[-4000:]}"
    return visit.failed("context_exhausted", failure, facts_of(visit, failure), summary=summary, **told)


def judged(visit: Visit) -> Event | None:
    """Each criterion judged by somebody who did not write the code; a line that is missing is a failure."""
    story, task = _at(visit)
    criteria = story.wanted(task)
    if not criteria:
        return visit.event("criteria_met", judged=[])
    made = visit.loop.ran or _judgement(visit, story, task, criteria)
    if made is None:
        return None
    found = prompts.judgements(criteria, made.said)
    if made.percent >= visit.machine.form.limits[_HARD] and not made.is_finished:
        return _exhausted(visit, made)
    lines = [str(one) for one in found]
    for line in lines:
        visit.yard.tell(line)
    failure = "\n".join(str(one) for one in found if not one.met)
    if visit.tree() != visit.loop.tested:
        failure = f"the files are not those that were tested: the judge changed them\n{failure}"
    if not failure:
        return visit.event("criteria_met", judged=lines)
    return visit.failed("criteria_failed", failure, facts_of(visit, failure), judged=lines)


def _judgement(visit: Visit, story: Story, task: Task, criteria: tuple[Criterion, ...]) -> Ran | None:
    patch = diff(visit.yard.root, visit.loop.base, visit.tree()).text[:_SHOWN]
    agent = free_agent(visit, (visit.yard.judge,))
    prompt = prompts.judge(story, task, criteria, patch, visit.loop.tests)
    return ran(visit, agent, "judge", prompt) if agent else None
