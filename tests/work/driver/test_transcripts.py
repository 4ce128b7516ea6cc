"""What agents print, out of their logs: in their own words where the agent is known, and never more than the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.work.driver.transcripts import TAIL, newest_log, spoken, tail_of
from interlock.world.agents.catalogue import AGENTS

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
    (tmp_path / "runs" / "x" / "000001-a.log").write_text("old")
    (tmp_path / "runs" / "x" / "000002-b.log").write_text("first line\n" * 200_000)
    name = newest_log(tmp_path, "x")
    assert name == "runs/x/000002-b.log"
    tail = tail_of(tmp_path, name)
    assert len(tail) == TAIL
    told = spoken(tail, None)
    assert len(told) == 200
    assert {one.text for one in told} == {"first line"}
    assert newest_log(tmp_path, "nothing") is None
    assert tail_of(tmp_path, "runs/x/../../../etc/passwd") == b""
    assert tail_of(tmp_path, "runs/x/none.log") == b""
