"""Durable transitions of frameworks that keep state in SQLite too, each used as its documentation shows.

LangGraph's SqliteSaver sets WAL and leaves SQLite's default, synchronous = FULL; with durability "sync" every
step is saved before the next begins, in two commits: what the node wrote, and the checkpoint. Burr's
SQLitePersister leaves both defaults, a rollback journal and FULL, and saves the whole state once for each step.
Both run a node or an action in every step, which a journal does not; neither checks a move against a table,
knows who made it, or chains its entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, TypedDict

from bench.timing import Comparison, Effort, Side, at_least, by_turns, compare, missing
from bench.workload import appender
from interlock.journal import open_journal

__all__ = ["measure"]

_STEPS = 20
"""Steps in one run of LangGraph's graph."""
_SUBJECT = "append, 1 thread"
_LANGGRAPH = "LangGraph, SqliteSaver, sync"
_BURR = "Burr, SQLitePersister"


class Progress(TypedDict):
    """The state that both frameworks keep: as small as an instance of ours."""

    phase: str
    steps: int


def measure(effort: Effort, directory: Path) -> Iterator[Comparison]:
    """One thread of ours against one of each framework."""
    makers: dict[str, Callable[[Path], AbstractContextManager[Side]]] = {_LANGGRAPH: _langgraph, _BURR: _burr}
    absent = set()
    with ExitStack() as stack:
        journal = stack.enter_context(closing(open_journal(directory / "peers.db")))
        sides = {"ours": appender(journal)}
        for name, maker in makers.items():
            try:
                sides[name] = stack.enter_context(maker(directory))
            except ImportError:
                absent.add(name)
        rates = by_turns(sides, effort.rounds, effort.seconds)
    notes = {_LANGGRAPH: "WAL, FULL; 2 commits a step", _BURR: "rollback journal, FULL; 1 commit a step"}
    for name in makers:
        if name in absent:
            yield missing(_SUBJECT, name, "not installed", at_least(1))
        else:
            yield compare(_SUBJECT, name, rates["ours"], rates[name], aim=at_least(1), note=notes[name])


@contextmanager
def _langgraph(directory: Path) -> Iterator[Side]:
    graphs: Any = import_module("langgraph.graph")
    sqlite: Any = import_module("langgraph.checkpoint.sqlite")
    builder = graphs.StateGraph(Progress)
    builder.add_node("implementing", lambda state: {"phase": "testing", "steps": state["steps"] + 1})
    builder.add_node("testing", lambda state: {"phase": "implementing", "steps": state["steps"] + 1})
    builder.add_edge(graphs.START, "implementing")
    builder.add_edge("implementing", "testing")
    builder.add_conditional_edges("testing", lambda state: "implementing" if state["steps"] < _STEPS else graphs.END)
    with sqlite.SqliteSaver.from_conn_string(str(directory / "langgraph.db")) as saver:
        graph, runs = builder.compile(checkpointer=saver), count()

        def run() -> int:
            config = {"configurable": {"thread_id": str(next(runs))}, "recursion_limit": 2 * _STEPS}
            done = graph.invoke({"phase": "implementing", "steps": 0}, config, durability="sync")
            return int(done["steps"])

        yield run


@contextmanager
def _burr(directory: Path) -> Iterator[Side]:
    core: Any = import_module("burr.core")
    persistence: Any = import_module("burr.core.persistence")

    def move(phase: str) -> Any:
        def moved(state: Any) -> Any:
            return state.update(phase=phase, steps=state["steps"] + 1)

        return core.action(reads=["steps"], writes=["phase", "steps"])(moved)

    with persistence.SQLitePersister(db_path=str(directory / "burr.db"), table_name="state") as persister:
        persister.initialize()
        application = (
            core.ApplicationBuilder()
            .with_actions(implementing=move("testing"), testing=move("implementing"))
            .with_transitions(("implementing", "testing"), ("testing", "implementing"))
            .with_identifiers(app_id="bench")
            .with_state(phase="implementing", steps=0)
            .with_entrypoint("implementing")
            .with_state_persister(persister)
            .build()
        )

        def run() -> int:
            application.step()
            return 1

        yield run
