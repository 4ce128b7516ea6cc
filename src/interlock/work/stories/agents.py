"""IMPLEMENT and VALIDATE: one agent writes, another one judges."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.errors import InterlockError, Refusal
from interlock.machine import Event
from interlock.work.hindrances import prose
from interlock.work.stories import prompts
from interlock.work.stories.committing import commit_aside
from interlock.work.stories.limits import overdrawn
from interlock.work.stories.record import Ran
from interlock.work.stories.runs import free_agent, pause, ran
from interlock.work.stories.stories import Criterion, Story, Task
from interlock.work.stories.stuck import Facts, standstill
from interlock.work.stories.testing import log_path
from interlock.work.stories.visit import Visit
from interlock.work.stories.yard import named, read_text, write_text
from interlock.work.verification.counting import counted
from interlock.work.verification.globs import matching
from interlock.work.verification.protecting import Touched
from interlock.work.verification.receipt import losses
from interlock.world.agents.agent import Agent
from interlock.world.agents.promise import promise
from interlock.world.git import Change, Repository, changed_between, contents, diff

__all__ = ["judged", "worked"]

_ATTEMPTS = 3
_SOFT, _HARD = "context_soft_percent", "context_hard_percent"
_SHOWN = 20_000
_HOW = {"lost": "closed its output and did not end"}


def worked(visit: Visit) -> Event | None:
    """One attempt at the subtask. That code was written is seen in the tree, not heard."""
    made = visit.loop.ran or _attempted(visit)
    if made is None:
        return None
    if made.percent >= visit.machine.form.limits[_HARD]:
        return _exhausted(visit, made)
    if _has_given_up(visit, made):
        return _given_up(visit, made)
    if made.percent >= visit.machine.form.limits[_SOFT]:
        visit.yard.tell(f"context {made.percent:.0f} %: skip what is only nice to have")
    if made.is_finished and (now := visit.look()).tree != visit.loop.base:
        return _written(visit, now.tree)
    why = "the agent ended without changing anything" if made.is_finished else _why(made)
    failure = f"{why}\n{made.said[-2000:]}"
    return visit.failed("attempt_failed", failure, visit.facts(why if made.is_finished else failure))


def _written(visit: Visit, tree: str) -> Event:
    """What was written; and what was done to the tests that were there, which proves less than new ones do."""
    repository, base = visit.repository(), visit.loop.base
    changes = changed_between(repository, base, tree)
    tests = [one for one in changes if one.status != "A" and matching(one.path, visit.yard.test_files)]
    sentences = _done_to_tests(repository, base, tree, tests, visit.yard.test_files) if tests else []
    for sentence in sentences:
        visit.yard.tell(f"WARNING: {sentence}")
    files = named(one.path for one in changes)
    return visit.event("code_written", files=files[:200], tests=sentences[:200])


def _done_to_tests(
    repository: Repository, base: str, tree: str, tests: Sequence[Change], globs: tuple[str, ...]
) -> list[str]:
    """A sentence for each thing that was done to a test that was there."""
    paths = [one.path for one in tests]
    before, after = contents(repository, base, paths), contents(repository, tree, paths)
    touched = [Touched(one.path, one.status, before.get(one.path), after.get(one.path)) for one in tests]
    found = counted(touched, globs, ())
    return [*(f"the test file {path} was changed" for path in found.edited), *losses(found)]


def _has_given_up(visit: Visit, made: Ran) -> bool:
    """Whether the agent's run ended with the promise by which it gives up; to stop, its word is enough."""
    wanted = visit.yard.promises.get("abort")
    return wanted is not None and made.promise == promise(f"<promise>{wanted}</promise>")


def _given_up(visit: Visit, made: Ran) -> Event:
    why = f"the agent gave up with <promise>{visit.yard.promises['abort']}</promise>"
    pause(visit, why)
    return visit.failed("attempt_failed", f"{why}\n{made.said[-2000:]}", visit.facts(why))


def _attempted(visit: Visit) -> Ran | None:
    story, task = _at(visit)
    over = overdrawn(visit)
    why = over or _goes_in_circles(visit)
    if why is not None:
        pause(visit, why, **({"cause": "budget"} if over else {}))
        return None
    agent = free_agent(visit, _in_turn(visit))
    return ran(visit, agent, "implementer", _prompt(visit, story, task, _guide(visit, agent))) if agent else None


def _guide(visit: Visit, agent: Agent) -> str:
    """What the project tells every agent; one that reads it by itself is not told twice."""
    if agent.name == "claude":
        return ""
    try:
        return (read_text(visit.yard.root / ".claude" / "CLAUDE.md") or "")[:_SHOWN]
    except Refusal as error:
        visit.yard.tell(f"WARNING: {error.message}")
        return ""


def _goes_in_circles(visit: Visit) -> str | None:
    """Why no more subtasks are tried: several failed alike, one after the other, so it is not the subtasks."""
    loop, most = visit.loop, visit.yard.limits.stuck_after
    if not most or len(loop.alike) < most:
        return None
    return f"{len(loop.alike)} subtasks in a row failed in the same way: {loop.way_said}"


def _at(visit: Visit) -> tuple[Story, Task]:
    story = visit.shelf().get(visit.loop.story or "")
    if isinstance(story, str):
        raise InterlockError("story_invalid", f"{visit.loop.story}: {story}.", "Put the story file back.")
    task = story.task(visit.loop.task or "") or next((one for one in story.tasks if not one.done), story.tasks[-1])
    return story, task


def _why(made: Ran) -> str:
    how = "took too long" if made.ending.startswith("timed_out") else _HOW.get(made.ending, made.ending)
    said = prose(made.said).strip().splitlines()
    return f"the agent {how} (exit {made.exit_code})" + (f": {said[-1].strip()[:200]}" if said else "")


def _in_turn(visit: Visit) -> tuple[Agent, ...]:
    """The agents, the one whose turn it is first: they have one attempt each."""
    agents = visit.yard.agents
    turn = visit.loop.worked[0] % len(agents)
    return agents[turn:] + agents[:turn]


def _prompt(visit: Visit, story: Story, task: Task, guide: str) -> str:
    yard, loop = visit.yard, visit.loop
    context = "\n".join(loop.context)
    own = prompts.implement(
        story,
        task,
        attempt=visit.retries + 1,
        of=_ATTEMPTS,
        failure=loop.failure[-_SHOWN:],
        unchanged=standstill(loop.base, loop.facts),
        context=context,
        memory=loop.known,
        guide=guide,
    )
    if yard.template is None:
        return f"{yard.prompt}\n\n{own}" if yard.prompt else own
    values = {
        "iteration": str(loop.next_iteration),
        "max_iterations": str(int(loop.limits.get("iterations", yard.limits.iterations)) or "unlimited"),
        "min_iterations": "1",
        "prompt": yard.prompt,
        "completion_promise": yard.promises["completion"],
        "abort_promise": yard.promises.get("abort", "BLOCKED"),
        "task_promise": yard.promises["task"],
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
    return visit.failed("context_exhausted", failure, visit.facts("the context was used up"), summary=summary, **told)


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
    return visit.failed("criteria_failed", failure, _seen(visit, made, found, failure), judged=lines)


def _seen(visit: Visit, made: Ran, found: Sequence[prompts.Judgement], failure: str) -> Facts:
    """The facts of a judgement; of one that was never made, how the judge ended."""
    if not made.is_finished:
        return visit.facts(_why(made))
    met = tuple(one.criterion.number for one in found if one.met)
    return visit.facts(failure, met=met, wanted=len(found))


def _judgement(visit: Visit, story: Story, task: Task, criteria: tuple[Criterion, ...]) -> Ran | None:
    patch = diff(visit.repository(), visit.loop.base, visit.tree()).text[:_SHOWN]
    agent = free_agent(visit, (visit.yard.judge,))
    prompt = prompts.judge(story, task, criteria, patch, visit.loop.tests, visit.loop.weakened)
    return ran(visit, agent, "judge", prompt) if agent else None
