"""One agent's turn: choose an agent, wait for limits, run it, and account for it once.

Agents that failed in a way that only a person can mend are left out while others can work; one that has reached a
limit waits for its reset; one that took too long waits while others can work. All of it is noted on the instance, in
the transaction that ends the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from interlock.errors import InterlockError
from interlock.machine import Event
from interlock.work.driver.agent_failures import clock, unavailable, unusable
from interlock.work.driver.agent_run import AgentRun
from interlock.work.driver.context import DriverContext
from interlock.work.driver.step import noted
from interlock.world.agents.agent import ChosenAgent
from interlock.world.agents.result import UNUSABLE, Ending, FailedAgent

__all__ = ["NoAgent", "TurnRecord", "account", "choose", "resting"]


class NoAgent(msgspec.Struct, frozen=True):
    """No agent is left that could be started."""

    failing: Mapping[str, FailedAgent]

    @property
    def reason(self) -> str:
        """Why none of them can work, where all were waited for in vain."""
        return f"{'; '.join(one.why for one in self.failing.values())}, and agent.wait_minutes is over"

    def error(self, role: str = "") -> InterlockError:
        """The error for a person: how to bring back the first one that a person can, else that the wait is over."""
        for agent, failed in self.failing.items():
            if failed.ending in UNUSABLE:
                return unusable(agent, failed, role)
        agent, failed = next(iter(self.failing.items()))
        return unavailable(agent, failed)

    @property
    def is_for_person(self) -> bool:
        """True if a person can bring one of them back."""
        return any(one.ending in UNUSABLE for one in self.failing.values())


class TurnRecord(Protocol):
    """The agents of an instance, as its entries tell."""

    @property
    def limited(self) -> Mapping[str, float]:
        """The time until which an agent has reached a limit, by name."""

    @property
    def cooling(self) -> Mapping[str, float]:
        """The time until which an agent that took too long is left out, while others can work."""

    @property
    def failing(self) -> Mapping[str, FailedAgent]: ...


def choose(
    context: DriverContext,
    record: TurnRecord,
    agents: Sequence[ChosenAgent],
    selection: str = "priority",
    counted: int = 0,
) -> ChosenAgent | NoAgent | None:
    """The agent whose turn it is; None where all have reached a limit, and the first reset was waited for.

    With the selection `round_robin` they take turns: `counted` is how many runs there were. Else the first one that
    can work does.
    """
    usable = [one for one in agents if one.name not in record.failing]
    if not usable:
        return NoAgent({one.name: record.failing[one.name] for one in agents})
    turn = counted % len(usable) if selection == "round_robin" else 0
    now = context.journal.now()
    ready = {one.name: record.limited.get(one.name, 0.0) for one in usable}
    if len(ready) > 1:
        ready = {name: max(until, record.cooling.get(name, 0.0)) for name, until in ready.items()}
    for one in (*usable[turn:], *usable[:turn]):
        if ready[one.name] <= now:
            return one
    until = min(ready.values())
    names = " and ".join(dict.fromkeys(one.name for one in usable))
    context.report(f"{names} reached a limit; waiting until {clock(until)}")
    context.wait(until - now)
    return None


def resting(context: DriverContext, agent: ChosenAgent, heard: AgentRun) -> list[Event]:
    """The note after a run of an agent that reached a limit, needs a person, or took too long."""
    result, ran = heard.result, heard.ran
    if result.ending in UNUSABLE or (result.ending is Ending.LIMITED and heard.wait is None):
        return [noted("failing", agent=agent.name, ending=str(result.ending), failure=ran.failure, why=ran.why)]
    if heard.wait is not None:
        return [noted("limited", agent=agent.name, until=heard.wait.until, said=ran.why)]
    if str(result.ending).startswith("timed_out"):
        until = context.journal.now() + context.settings.number("agent.cooldown_minutes") * 60.0
        return [noted("cooling", agent=agent.name, until=until)]
    return []


def account(heard: AgentRun) -> dict[str, Any]:
    """The cost of a run and how it ended, as its instance notes it."""
    result = heard.result
    return {
        "ending": str(result.ending),
        "exit": result.exit_code,
        "seconds": round(result.seconds, 3),
        "cost_usd": result.cost_usd,
        "tokens": result.usage.input + result.usage.output,
        "promise": result.promise,
        "log_sha256": result.log_sha256,
    }
