"""Agents that a person asks: one talks about the spec while it is drafted, one polishes before the review."""

from __future__ import annotations

from msgspec.structs import replace

from interlock.errors import Conflict, Refusal
from interlock.machine import Actor, ActorKind, Event, Evidence
from interlock.machine.model import NOTED
from interlock.work.driver.agent_run import not_answered
from interlock.work.driver.context import DriverContext
from interlock.work.threads import prompts
from interlock.work.threads.attending import attending, step_of
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.iterating import misplaced
from interlock.work.threads.reading import read_thread
from interlock.work.threads.record import SpecMessage, Thread
from interlock.work.threads.spec import template
from interlock.work.threads.verbs import revise_spec
from interlock.world.agents.result import Ending
from interlock.world.redaction import redacted

__all__ = ["polish", "say"]

_MAX_SAID = 20_000


def say(context: DriverContext, id_: str, actor: Actor, text: str, agent: str | None = None) -> Thread:
    """Say something about the spec, and let an agent answer; a spec in its answer is the next revision."""
    step = step_of(context, id_, None)
    thread = step.thread
    if thread.state != "Drafting":
        message = f"The spec of a thread in {thread.state} is not talked about any more."
        raise Refusal("not_allowed", message, "`ralph thread reopen` or `ralph thread revise` opens it again.")
    name = agent or step.config.agents[0]
    said = SpecMessage("user", redacted(text.strip())[:_MAX_SAID], None, "")
    draft = thread.revision.text if thread.revision else template(thread.title)
    last = thread.messages[-1] if thread.messages else None
    is_said = last is not None and (last.role, last.content) == (said.role, said.content)
    earlier = thread.messages[:-1] if is_said else thread.messages
    prompt = prompts.talk(thread.title, draft, [*earlier, said])

    told = () if is_said else (_said(actor, said),)  # what nobody is asked is not said
    with attending(context, id_) as held:
        heard = replace(step, context=held.context, lease=held.lease).run_agent(
            context.agent(name), "drafter", prompt, step.log_of("draft"), context.root, started=told
        )
    if heard.result.ending is not Ending.FINISHED:
        raise not_answered(name, heard, "Try it again, or write the spec with `ralph thread spec --edit`.")
    answering = Actor(ActorKind.AGENT, name.partition(":")[0], actor.channel)
    context.journal.append(id_, _said(answering, SpecMessage("assistant", heard.said, name, "")))
    found = prompts.draft_in(heard.said)
    try:
        if found:
            revise_spec(context, id_, answering, found, on=thread.revision.number if thread.revision else 0)
    except (Refusal, Conflict) as error:  # what a person wrote or decided meanwhile counts
        context.report(f"The draft of {name} stays in the conversation alone: {error.message}")
    return read_thread(context.journal, id_)


def _said(actor: Actor, message: SpecMessage) -> Event:
    data = {"type": "said", "role": message.role, "content": message.content}
    if message.agent is not None:
        data["agent"] = message.agent
    return Event(NOTED, actor, evidence=Evidence(data=data))


def polish(context: DriverContext, id_: str, wanted: str) -> None:
    """Let an agent polish docs, tests and code once; what it changed is proven again before anybody reviews it."""
    with attending(context, id_) as held:
        _polish(step_of(held.context, id_, held.lease), wanted)


def _polish(step: ThreadStep, wanted: str) -> None:
    wrong = misplaced(step)
    if wrong is not None:
        raise Refusal("wrong_branch", f"Nothing is polished: {wrong.reason}.", "Mend that first.")
    agent = step.context.agent(step.config.agents[0])
    step.tree.get_ready()
    log = step.runs / f"polish-{step.thread.version}.log"
    heard = step.run_agent(agent, "polisher", prompts.polish(step.thread, wanted), log)
    if heard.result.ending is not Ending.FINISHED:
        raise not_answered(agent.title, heard, "Look at what it left, then go on with `ralph thread polish`.")
