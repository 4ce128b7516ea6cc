"""A thread in one state, as its driver and its verbs have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from interlock.journal import Journal
from interlock.machine import Accepted, Event, Evidence, step
from interlock.work.driver.agent_failures import prose
from interlock.work.driver.agent_run import DRIVER, AgentRequest, AgentRun, run_agent
from interlock.work.driver.agent_tree import AgentTree
from interlock.work.driver.agent_turn import account, resting
from interlock.work.driver.context import DriverContext
from interlock.work.driver.step import DriverStep, noted
from interlock.work.formats.hashing import sha256_of
from interlock.work.formats.quoting import sayable
from interlock.work.settings.values import Settings, isolation_of
from interlock.work.threads.diagnosing import diagnose
from interlock.work.threads.record import Config, Thread
from interlock.world.agents.agent import ChosenAgent

__all__ = ["ThreadStep", "branch_of", "default_config"]

_WORKERS = frozenset({"implementer", "executor"})
"""The roles of the sessions in which the work itself is done."""
_SESSIONS = 500


def default_config(settings: Settings) -> Config:
    """How a loop runs where nobody chose anything else."""
    return Config(
        agents=settings.texts("agent.rotation") or (settings.text("agent.name"),),
        iterations=settings.number("thread.iterations"),
        driver=settings.text("thread.driver"),
        selection=settings.text("agent.selection"),
        isolation=isolation_of(settings.text("thread.isolation")),
        judge=settings.text("agent.judge") or settings.text("agent.name"),
        budget_minutes=settings.number("thread.budget_minutes"),
        budget_usd=settings.number("thread.budget_usd"),
        budget_tokens=settings.number("thread.budget_tokens"),
    )


def branch_of(thread: str) -> str:
    """The branch of a thread."""
    return f"ralf/{thread}"


class ThreadStep(DriverStep[DriverContext, Thread], frozen=True):
    """A thread in one state."""

    @property
    def thread(self) -> Thread:
        return self.fold.record

    @property
    def config(self) -> Config:
        return self.thread.config or default_config(self.context.settings)

    @property
    def root(self) -> Path:
        """Where the thread's agents work."""
        return self.tree.files if self.thread.branch is not None else self.context.root

    @property
    def tree(self) -> AgentTree:
        """The tree of the thread's agents; only once it has begun."""
        thread = self.thread
        base = thread.baseline.commit if thread.baseline is not None else ""
        branch = thread.branch or branch_of(thread.id)
        return AgentTree(self.context, thread.id, branch, base, branch if self.config.follows_checkout else "")

    @property
    def number(self) -> int:
        """Which iteration this is."""
        return self.snapshot.counters.get("iteration", 1)

    @property
    def runs(self) -> Path:
        """The directory of the run that is under way."""
        return self.context.state_directory / "runs" / (self.thread.run or f"run-{self.thread.id[-6:]}-000")

    def event(self, name: str, reason: str | None = None, **data: Any) -> Event:
        """What came of it, as an event of the machine; where it leads to Stuck, with what is known then."""
        reason = sayable(reason) if reason is not None else None
        event = Event(name, DRIVER, reason=reason, evidence=Evidence(data=data) if data else None)
        made = step(self.machine, self.snapshot, event)
        if not (isinstance(made, Accepted) and made.snapshot.state == "Stuck"):
            return event
        last = prose(data.get("feedback", "nothing was claimed"))
        reason = reason or f"{self.number} iterations are used up: {last}"
        reason = sayable(reason)
        thread = self.thread
        if "child" in data:  # it has just worked, perhaps begun after the thread was read
            thread = replace(thread, child=data["child"], child_run=thread.run, is_settled=False)
        diagnosis = diagnose(self.context.git, thread, reason, self.root, _child_agents(self.context.journal, thread))
        text = msgspec.json.encode(diagnosis, order="deterministic").decode()
        evidence = Evidence(
            data={**data, "diagnosis": msgspec.json.decode(text)}, subjects={"diagnosis": sha256_of(text)}
        )
        return Event(name, DRIVER, reason=reason, evidence=evidence)

    def run_agent(
        self,
        agent: ChosenAgent,
        role: str,
        prompt: str,
        log: Path,
        directory: Path | None = None,
        started: tuple[Event, ...] = (),
    ) -> AgentRun:
        """Run an agent for the thread; what it costs is reserved before, and accounted for at its end."""
        told = {"number": self.number, "run": self.thread.run or "", "role": role, "agent": agent.name}
        given = len(self.thread.context) if role == "implementer" else 0
        request = AgentRequest(
            agent=agent,
            role=role,
            prompt=prompt,
            parent=self.thread.id,
            log=log,
            directory=directory or self.root,
            is_read_only=role not in ("implementer", "polisher"),
            reports=role == "implementer",
            lease=self.lease,
            started=(*started, noted("begun", **told, reserved=self.thread.books.likely().data)),
            settled=lambda heard: [
                noted("iteration", **told, **account(heard), said=_last_words(heard), told=given),
                *resting(self.context, agent, heard),
            ],
        )
        return run_agent(self.context, request)

    def log_of(self, what: str) -> Path:
        """Where the log of something beside the loop's runs lies."""
        return (
            self.context.state_directory / "runs" / f"{what}-{self.thread.id[-6:]}-{self.thread.version}" / "output.log"
        )


def _last_words(heard: AgentRun) -> str:
    return heard.said or "\n".join(heard.result.last_lines)


def _child_agents(journal: Journal, thread: Thread) -> list[str]:
    """The agents that did the work of the thread's child in this run, in the order in which they began."""
    if thread.child is None or thread.child_run != thread.run:
        return []
    sessions = journal.recent("session", _SESSIONS, parent=thread.child)
    later = [one.id for one in sessions if one.created >= (thread.run_started or "")]
    first = journal.first_entries(later)
    told = [first[id_].decoded_evidence().data for id_ in reversed(later)]
    return [str(one["agent"]) for one in told if one.get("role") in _WORKERS and one.get("agent")]
