"""What the loop does in each state: one function a state. It does the state's effect and says what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.errors import InterlockError, Refusal
from interlock.work.driver.system import StepFunction, StepResult
from interlock.work.formats.hashing import sha256_of
from interlock.work.stories import plan
from interlock.work.stories.agents import judged, worked
from interlock.work.stories.committing import commit_end, commit_task
from interlock.work.stories.context import plain, read_text
from interlock.work.stories.driver_step import StoryStep
from interlock.work.stories.files import guard, put_back
from interlock.work.stories.progress import FILE, Progress
from interlock.work.stories.remembering import recall, remember
from interlock.work.stories.replay import fresh
from interlock.work.stories.stuck import first_line, is_transient_error, standstill
from interlock.work.stories.testing import tested
from interlock.world.memory import EventType

__all__ = ["STEPS"]


def _init(step: StoryStep) -> StepResult:
    """Cold start: a repository with a commit's branch, and a `progress.txt` that can be read."""
    try:
        text, progress = _read(step)
    except Refusal as error:
        return step.event("progress_missing", explanation=f"{error.message} {error.hint}")
    if step.loop.progress.stories:  # a fresh agent, and not a fresh loop
        return step.event("progress_found")
    if step.context.agent_tree is None:
        return step.event("progress_missing", explanation=_no_tree(step))
    branch = step.loop.beginning.branch if step.loop.beginning is not None else step.context.agent_tree.branch
    return step.event("progress_found", progress=plain(fresh(progress)), sha256=sha256_of(text), branch=branch)


def _no_tree(step: StoryStep) -> str:
    """Why the loop could not have a tree of its own."""
    if step.context.git.state(step.context.root).head is None:
        return "The repository has no commits yet. Make one, with `git add` and `git commit`."
    return "No branch is checked out: commits would belong to none. Check out a branch with `git switch`."


def _read(step: StoryStep) -> tuple[str, Progress]:
    """`progress.txt` as it is and what it says, or why it says nothing."""
    text = read_text(step.context.progress, step.context.root)
    if text is None:
        raise Refusal("progress_invalid", f"{FILE} not found.", "Create with template.")
    return text, step.context.cache.progress_file.parse(text)


def _memory_load(step: StoryStep) -> StepResult:
    """Load context: the files, and both questions to the memory."""
    warnings = [] if (step.context.root / ".claude" / "CLAUDE.md").is_file() else ["CLAUDE.md not found"]
    for warning in warnings:
        step.context.report(f"WARNING: {warning}")
    known = recall(step)
    if known is None:
        return step.event("memory_unavailable", warnings=warnings)
    return step.event("memory_loaded", server=step.context.is_server, known=known, warnings=warnings)


def _fallback(step: StoryStep) -> StepResult:
    step.context.report("Neo4j unavailable, using file-only context")
    return step.event("files_loaded")


def _story_select(step: StoryStep) -> StepResult:
    loop = step.loop
    target = step.context.target
    if target is not None and target.take_commits(step.repository()):
        step.context.cache.shut()
    try:
        _read(step)
    except Refusal as error:
        return step.event("progress_invalid", explanation=f"{error.message} {error.hint}")
    chosen = plan.select(
        loop.progress,
        step.shelf(),
        retried=frozenset(loop.retried),
        blocked_at=loop.blocked_at,
        iteration=loop.iteration,
        skipped=frozenset(loop.skipped),
    )
    match chosen:
        case plan.Chosen(story, task):
            name = plan.task_name(story.id, task.id)
            told = {"story": story.id, "task_id": task.id, "text": task.text[:500], "tree": step.last_look().tree}
            return step.event("task_selected", task=name, **told)
        case plan.StoryComplete(story):
            return step.event("story_completed", story=story.id, tasks=len(story.tasks))
        case plan.Reprieved(story, why):
            name = plan.task_name(story.id, story.current_task or "1")
            return step.event("blocker_retried", task=name, story=story.id, why=why)
        case plan.Lost(story, why):
            return step.event("progress_invalid", story=story.id, explanation=f"{story.id}: {why}")
        case plan.OnlyBlocked(stories):
            return _ending(step, "only_blocked_left", needs={one.id: one.blocker_reason or "" for one in stories})
    return _ending(step, "all_complete")


def _ending(step: StoryStep, event: str, **data: Any) -> StepResult:
    """The end of the loop: its own files are committed first, so that nothing of it is left open."""
    return step.event(event, commit=commit_end(step), **data)


def _blocker(step: StoryStep) -> StepResult:
    """Put the work away under a ref, mark the story, tell the memory."""
    loop, context = step.loop, step.context
    is_transient = is_transient_error(loop.failure) and loop.story not in loop.retried
    kept = _put_away(step)
    fixes = tuple(f"attempt {place}: {str(fact)[:200]}" for place, fact in enumerate(loop.facts, 1))
    event_id = f"{loop.id}-{loop.entered}"
    logged = remember(
        step,
        EventType.TASK_BLOCKER,
        event_id,
        reason="\n".join([loop.failure[:2000] or "unknown", *standstill(loop.base, loop.facts)]),
        attempted_fixes=fixes or ("none",),
        fix_sources_tried=("story file", "test output", "known issues"),
    )
    return step.event(
        "blocker_logged",
        story=loop.story,
        task_id=loop.task,
        reason="; ".join([first_line(loop.failure), *standstill(loop.base, loop.facts)])[:600],
        type="transient" if is_transient else "permanent",
        logged=logged and context.is_server,
        event_id=event_id,
        retry_count=step.retries,
        kept=kept,
    )


def _put_away(step: StoryStep) -> str | None:
    """The work under a ref, and the loop's own files as they are; where git cannot, all stays where it is."""
    context, loop = step.context, step.loop
    name = f"story/{loop.id}/{loop.entered}"
    if step.touched():
        guard(step)
        context.cache.shut()  # the files are others after it
        try:
            context.git.park(context.root, name)
        except InterlockError as error:
            if not error.code.startswith("git_"):
                raise
            context.report(f"the work stays in the tree: {error.message}")
        put_back(step)
    return f"refs/ralf/{name}" if _is_there(step, f"refs/ralf/{name}") else None


def _is_there(step: StoryStep, ref: str) -> bool:
    """Whether something is kept, now or before a crash."""
    try:
        return bool(step.context.git.log(step.context.root, ref, most=1))
    except InterlockError as error:
        if error.code != "git_failed":
            raise
        return False


STEPS: Mapping[str, StepFunction[StoryStep]] = {
    "INIT": _init,
    "MEMORY_LOAD": _memory_load,
    "STORY_SELECT": _story_select,
    "STORY_SELECT_FALLBACK": _fallback,
    "IMPLEMENT": worked,
    "TEST": tested,
    "VALIDATE": judged,
    "COMMIT": commit_task,
    "BLOCKER": _blocker,
}
"""What is done in each state that goes on."""
