"""IMPLEMENT and VALIDATE: one agent writes, another one judges."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.errors import InterlockError, Refusal
from interlock.machine import Event
from interlock.work.driver.agent_failures import prose
from interlock.work.driver.record import OpenRun
from interlock.work.driver.system import NoEvent, StepResult
from interlock.work.stories import prompts
from interlock.work.stories.committing import commit_aside
from interlock.work.stories.context import named, read_text, write_text
from interlock.work.stories.driver_step import StoryStep
from interlock.work.stories.limits import overdrawn
from interlock.work.stories.runs import pause, ran
from interlock.work.stories.stories import Story, StoryCriterion, Subtask
from interlock.work.stories.stuck import Facts, standstill
from interlock.work.stories.testing import log_path
from interlock.work.verification.counting import counted
from interlock.work.verification.protecting import Touched, matching
from interlock.work.verification.receipt import losses
from interlock.world.agents.agent import ChosenAgent
from interlock.world.agents.promise import promise
from interlock.world.git import PathChange

__all__ = ["judged", "worked"]

_ATTEMPTS = 3
_SOFT, _HARD = "context_soft_percent", "context_hard_percent"
_SHOWN = 20_000
_HOW = {"lost": "closed its output and did not end"}


def worked(step: StoryStep) -> StepResult:
    """One attempt at the subtask. That code was written is seen in the tree, not heard."""
    made = step.loop.ran or _attempted(step)
    if made is None:
        return NoEvent.RETRY
    if made.percent >= step.machine.form.limits[_HARD]:
        return _exhausted(step, made)
    if _has_given_up(step, made):
        return _given_up(step, made)
    if made.percent >= step.machine.form.limits[_SOFT]:
        step.context.report(f"context {made.percent:.0f} %: skip what is only nice to have")
    if made.is_finished and (now := step.last_look()).tree != step.loop.base:
        return _written(step, now.tree)
    why = "the agent ended without changing anything" if made.is_finished else _why(made)
    failure = f"{why}\n{made.said[-2000:]}"
    return step.failed("attempt_failed", failure, step.facts(why if made.is_finished else failure))


def _written(step: StoryStep, tree: str) -> Event:
    """What was written; and what was done to the tests that were there, which proves less than new ones do."""
    repository, base = step.repository(), step.loop.base
    changes = step.context.git.changed_between(repository, base, tree)
    tests = [one for one in changes if one.status != "A" and matching(one.path, step.context.test_files)]
    sentences = _done_to_tests(step, tree, tests) if tests else []
    for sentence in sentences:
        step.context.report(f"WARNING: {sentence}")
    files = named(one.path for one in changes)
    return step.event("code_written", files=files[:200], tests=sentences[:200])


def _done_to_tests(step: StoryStep, tree: str, tests: Sequence[PathChange]) -> list[str]:
    """A sentence for each thing that was done to a test that was there."""
    git, repository, globs = step.context.git, step.repository(), step.context.test_files
    paths = [one.path for one in tests]
    before, after = git.contents(repository, step.loop.base, paths), git.contents(repository, tree, paths)
    touched = [Touched(one.path, one.status, before.get(one.path), after.get(one.path)) for one in tests]
    found = counted(touched, globs, ())
    return [*(f"the test file {path} was changed" for path in found.edited), *losses(found)]


def _has_given_up(step: StoryStep, made: OpenRun) -> bool:
    """Whether the agent's run ended with the promise by which it gives up; to stop, its word is enough."""
    wanted = step.context.promises.get("abort")
    return wanted is not None and made.promise == promise(f"<promise>{wanted}</promise>")


def _given_up(step: StoryStep, made: OpenRun) -> Event:
    why = f"the agent gave up with <promise>{step.context.promises['abort']}</promise>"
    pause(step, why, "stuck")
    return step.failed("attempt_failed", f"{why}\n{made.said[-2000:]}", step.facts(why))


def _attempted(step: StoryStep) -> OpenRun | None:
    story, task = _at(step)
    over = overdrawn(step)
    why = over or _goes_in_circles(step)
    if why is not None:
        pause(step, why, "budget" if over else "stuck")
        return None
    return ran(step, step.context.agents, "implementer", lambda agent: _prompt(step, story, task, _guide(step, agent)))


def _guide(step: StoryStep, agent: ChosenAgent) -> str:
    """What the project tells every agent; one that reads it by itself is not told twice."""
    if agent.name == "claude":
        return ""
    root = step.context.root
    try:
        return (read_text(root / ".claude" / "CLAUDE.md", root) or "")[:_SHOWN]
    except Refusal as error:
        step.context.report(f"WARNING: {error.message}")
        return ""


def _goes_in_circles(step: StoryStep) -> str | None:
    """Why no more subtasks are tried: several failed alike, one after the other, so it is not the subtasks."""
    loop, most = step.loop, step.context.limits.stuck_after
    if not most or len(loop.alike) < most:
        return None
    return f"{len(loop.alike)} subtasks in a row failed in the same way: {loop.way_said}"


def _at(step: StoryStep) -> tuple[Story, Subtask]:
    story = step.shelf().get(step.loop.story or "")
    if isinstance(story, str):
        raise InterlockError("story_invalid", f"{step.loop.story}: {story}.", "Put the story file back.")
    task = story.task(step.loop.task or "") or next((one for one in story.tasks if not one.done), story.tasks[-1])
    return story, task


def _why(made: OpenRun) -> str:
    how = "took too long" if made.ending.startswith("timed_out") else _HOW.get(made.ending, made.ending)
    said = prose(made.said).strip().splitlines()
    return f"the agent {how} (exit {made.exit_code})" + (f": {said[-1].strip()[:200]}" if said else "")


def _prompt(step: StoryStep, story: Story, task: Subtask, guide: str) -> str:
    context, loop = step.context, step.loop
    told = "\n".join(loop.context)
    own = prompts.implement(
        story,
        task,
        attempt=step.retries + 1,
        of=_ATTEMPTS,
        failure=loop.failure[-_SHOWN:],
        unchanged=standstill(loop.base, loop.facts),
        context=told,
        memory=loop.known,
        guide=guide,
    )
    if context.template is None:
        return f"{context.prompt}\n\n{own}" if context.prompt else own
    values = {
        "iteration": str(loop.next_iteration),
        "max_iterations": str(int(loop.limits.get("iterations", context.limits.iterations)) or "unlimited"),
        "min_iterations": "1",
        "prompt": context.prompt,
        "completion_promise": context.promises["completion"],
        "abort_promise": context.promises.get("abort", "BLOCKED"),
        "task_promise": context.promises["task"],
        "context": told,
        "tasks": own,
    }
    return prompts.filled(context.template, values)


def _exhausted(step: StoryStep, made: OpenRun) -> Event:
    """The context is used up: a summary for the next agent, the work committed as it is, a fresh start."""
    text = f"# Where the work stands ({made.percent:.0f} % of the context used)\n\n{made.said[-8000:]}\n"
    write_text(step.context.ports.files, log_path(step, "summary").with_suffix(".md"), text)
    commit = commit_aside(step, made.percent)
    step.context.report("<promise>CONTEXT_EXHAUSTED</promise>")
    failure = f"the agent's context was used up ({made.percent:.0f} %)"
    told = {"percent": made.percent, "commit": commit}
    summary = f"The agent before you ran out of context. It said:\n{made.said[-4000:]}"
    return step.failed("context_exhausted", failure, step.facts("the context was used up"), summary=summary, **told)


def judged(step: StoryStep) -> StepResult:
    """Each criterion judged by somebody who did not write the code; a line that is missing is a failure."""
    story, task = _at(step)
    criteria = story.wanted(task)
    if not criteria:
        return step.event("criteria_met", judged=[])
    made = step.loop.ran or _judgement(step, story, task, criteria)
    if made is None:
        return NoEvent.RETRY
    found = prompts.judgements(criteria, made.said)
    if made.percent >= step.machine.form.limits[_HARD] and not made.is_finished:
        return _exhausted(step, made)
    lines = [str(one) for one in found]
    for line in lines:
        step.context.report(line)
    failure = "\n".join(str(one) for one in found if not one.met)
    if step.last_look().tree != step.loop.tested:
        failure = f"the files are not those that were tested: the judge changed them\n{failure}"
    if not failure:
        return step.event("criteria_met", judged=lines)
    return step.failed("criteria_failed", failure, _seen(step, made, found, failure), judged=lines)


def _seen(step: StoryStep, made: OpenRun, found: Sequence[prompts.Judgement], failure: str) -> Facts:
    """The facts of a judgement; of one that was never made, how the judge ended."""
    if not made.is_finished:
        return step.facts(_why(made))
    met = tuple(one.criterion.number for one in found if one.met)
    return step.facts(failure, met=met, wanted=len(found))


def _judgement(step: StoryStep, story: Story, task: Subtask, criteria: tuple[StoryCriterion, ...]) -> OpenRun | None:
    patch = step.context.git.diff(step.repository(), step.loop.base, step.tree()).text[:_SHOWN]
    prompt = prompts.judge(story, task, criteria, patch, step.loop.tests, step.loop.weakened)
    return ran(step, (step.context.judge,), "judge", lambda agent: prompt)
