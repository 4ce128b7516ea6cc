"""What agents print, out of their logs: in their own words where the agent is known, and never more than the end."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.journal import Journal
from interlock.machine import Event
from interlock.work.driver.transcripts import TAIL, RunLog, newest_log, spoken, tail_of
from interlock.work.sessions.verbs import DRIVER, Caller, complete, create
from interlock.world.agents.catalogue import AGENTS
from work.orchestration.playing import MET, done, plan, qualified, run, task
from work.threads.benches import Bench

_CLAUDE = {
    "type": "assistant",
    "parent_tool_use_id": None,
    "message": {
        "content": [
            {"type": "text", "text": "I read it.\nThen I write."},
            {"type": "tool_use", "name": "Read", "input": {"file_path": "a.py"}},
        ]
    },
}


def test_an_agents_words_and_tools_are_read_from_its_own_form() -> None:
    log = f"{json.dumps({'type': 'system'})}\n{json.dumps(_CLAUDE)}\nwarning: something\n".encode()
    told = [(one.kind, one.text) for one in spoken(log, "claude:opus")]
    assert told == [
        ("said", "I read it."),
        ("said", "Then I write."),
        ("tool", "Read a.py"),
        ("printed", "warning: something"),
    ]


def test_what_nobody_is_known_to_have_printed_is_shown_as_it_is() -> None:
    assert [one.text for one in spoken(b"3 passed\n\nin 1 s", None)] == ["3 passed", "in 1 s"]


@pytest.mark.parametrize("agent", sorted(AGENTS))
@given(data=st.binary(max_size=2000))
def test_whatever_is_in_a_log_it_can_be_read(agent: str, data: bytes) -> None:
    assert all(len(one.text) <= 2000 for one in spoken(data, agent))


def test_only_the_end_of_a_log_is_shown_and_no_half_line(tmp_path: Path) -> None:
    (tmp_path / "runs" / "x").mkdir(parents=True)
    (tmp_path / "runs" / "x" / "000002-b.log").write_text("first line\n" * 200_000)
    tail = tail_of(tmp_path, "runs/x/000002-b.log")
    assert len(tail) == TAIL
    told = spoken(tail, None)
    assert len(told) == 200
    assert {one.text for one in told} == {"first line"}
    assert tail_of(tmp_path, "runs/x/../../../etc/passwd") == b""
    assert tail_of(tmp_path, "runs/x/none.log") == b""


def _logged(state_directory: Path, *names: str) -> None:
    for name in names:
        (state_directory / name).parent.mkdir(parents=True, exist_ok=True)
        (state_directory / name).write_text(name)


@pytest.mark.parametrize("machine", ["story", "orchestrator"])
def test_the_log_of_a_run_is_found_where_its_session_says(
    sqlite_journal: Journal, tmp_path: Path, machine: str
) -> None:
    id_ = sqlite_journal.create(machine, Event("created", DRIVER)).entry.instance
    loop = sqlite_journal.instance(id_)
    assert newest_log(sqlite_journal, tmp_path, loop) is None
    earlier = f"runs/{id_}" if machine == "story" else f"runs/orchestrate-{id_[-8:]}"
    _logged(tmp_path, f"{earlier}/00003-planner.log", f"{earlier}/00001-judge.log", "runs/there/00001-judge.log")
    claude = Caller(DRIVER, "claude")
    session = sqlite_journal.transact(create(claude, parent=id_, role="planner")).session_id
    assert newest_log(sqlite_journal, tmp_path, loop) == RunLog(f"{earlier}/00003-planner.log", "planner", "claude")
    sqlite_journal.transact(complete(session, "success", DRIVER))
    told = {"log": "runs/there/00001-judge.log"}
    sqlite_journal.transact(create(claude, parent=id_, role="judge", kept=told))
    assert newest_log(sqlite_journal, tmp_path, loop) == RunLog(told["log"], "judge", "claude")
    _logged(tmp_path, "runs/there/00002-test-1.log")
    assert newest_log(sqlite_journal, tmp_path, loop) == RunLog("runs/there/00002-test-1.log", "test-1", None)


def test_the_session_of_a_run_stores_the_name_of_its_log(tmp_path: Path) -> None:
    bench = Bench.made(tmp_path / "repository")
    bench.play(plan(task(1)), done(1))
    bench.judge(qualified(1), MET)
    ran = run(bench)
    with closing(bench.open()) as journal:
        sessions = [one.id for one in journal.recent("session", 10, parent=ran.id)]
        stored = [str(one.decoded_evidence().data["log"]) for one in journal.first_entries(sessions).values()]
        found = newest_log(journal, bench.state_directory, journal.instance(ran.id))
    assert len(set(stored)) == 4
    assert all((bench.state_directory / one).is_file() for one in stored)
    assert found == RunLog(max(stored), "holistic", "scripted")
