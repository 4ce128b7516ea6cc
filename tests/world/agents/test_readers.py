"""What agents print is read: recorded streams of the real ones, and anything else without an error.

`recorded/` holds what Claude Code 2.1.325, Codex 0.166.0, OpenCode 1.18.33, Gemini CLI 0.61.0 and Qwen Code 0.24.4
printed against a scripted model, but for ids, paths and the lists of their tools: the work tree is `/repo`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.world.agents.account import Account
from interlock.world.agents.agent import Agent, Reader, Reply
from interlock.world.agents.assignment import AgentTools, Assignment
from interlock.world.agents.catalogue import AGENTS, find_agent
from interlock.world.agents.claude import Claude
from interlock.world.agents.happenings import (
    ContextUsed,
    Cost,
    Finished,
    Happening,
    Said,
    Usage,
    UsedTool,
    Warned,
    without_secrets,
)
from interlock.world.agents.result import Ending
from world.agents.runs import NOW

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*/*.jsonl"))
DONE = [path for path in RECORDED if path.stem == "done"]
PERSONS = {"unauthorized": "login", "credit": "credit", "unknown_model": "model"}
"""Recorded streams of failures that only a person can fix."""
SAID = "All tests pass.\n<promise>COMPLETED</promise>"
ASSIGNMENT = Assignment("Do it.", Path("/repo"), Path("/log"), {})


def _agent(name: str) -> Agent:
    return find_agent(name, {"command": "agent", "script": "script.json"})


def _reader(name: str) -> Reader:
    return _agent(name).reader(ASSIGNMENT, lambda: NOW)


def _name(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


def _read(path: Path, exit_code: int) -> tuple[list[Happening], Account]:
    reader, account = _reader(path.parent.name), Account(lambda: NOW)
    told: list[Happening] = []
    for line in path.read_bytes().splitlines():
        told += [one for one in reader.read(line) if not isinstance(one, Reply)]
        account.printed(line)
    told += reader.end(exit_code)
    for one in told:
        account.take(one)
    return told, account


# Recorded streams


@pytest.mark.parametrize("path", DONE, ids=_name)
def test_a_run_that_went_well_is_read(path: Path) -> None:
    told, account = _read(path, 0)
    assert account.conclude(0) is Ending.FINISHED
    assert account.promise == "COMPLETED"
    assert Said(SAID) in told
    assert any(isinstance(one, UsedTool) and "echo hello" in one.about for one in told)
    assert [one.ok for one in told if isinstance(one, Finished)] == [True]
    assert account.usage.input > 0
    assert account.usage.output > 0


@pytest.mark.parametrize("path", [path for path in RECORDED if path not in DONE], ids=_name)
def test_a_run_that_a_limit_or_an_error_stopped_is_read(path: Path) -> None:
    told, account = _read(path, 1)
    ending = account.conclude(1)
    if path.stem == "refused":
        assert (ending, account.failure) == (Ending.FAILED, None)
    elif path.stem in PERSONS:
        assert ending is Ending.NEEDS_PERSON
        assert account.failure is not None
        assert account.failure.kind == PERSONS[path.stem]
    else:
        assert ending is Ending.LIMITED
        assert account.failure is not None
        assert account.failure.kind == path.stem
    assert [one.ok for one in told if isinstance(one, Finished)] == [False]
    assert not [one for one in told if isinstance(one, Said)]


def test_there_are_recordings_of_all_five() -> None:
    assert {path.parent.name for path in DONE} == {"claude", "codex", "gemini", "opencode", "qwen"}


def test_claude_says_what_it_cost_and_how_full_its_context_is() -> None:
    told, _ = _read(next(path for path in DONE if path.parent.name == "claude"), 0)
    assert [one for one in told if isinstance(one, ContextUsed)] == [ContextUsed(100 * 2 / 200_000)]
    assert [round(one.usd, 9) for one in told if isinstance(one, Cost)] == [0.000054]
    assert not [one for one in told if isinstance(one, Warned)]


# Claude's stream in detail


def _claude(*events: Any) -> list[Happening]:
    reader = _reader("claude")
    lines = [json.dumps(event).encode() for event in events]
    return [one for line in lines for one in reader.read(line) if not isinstance(one, Reply)]


@pytest.mark.parametrize("servers", [[], None, [{"name": "other", "status": "connected"}], [{"name": "ralph"}]])
def test_a_claude_without_our_server_is_warned_of(servers: Any) -> None:
    event = json.dumps({"type": "system", "subtype": "init", "mcp_servers": servers}).encode()
    reports = replace(ASSIGNMENT, outfit=AgentTools())
    [warned] = Claude().reader(reports, lambda: NOW).read(event)
    assert isinstance(warned, Warned)
    assert "ralph" in warned.text
    assert list(Claude().reader(ASSIGNMENT, lambda: NOW).read(event)) == [], "it is not expected to report"


def test_the_words_of_a_subagent_are_not_the_agents() -> None:
    blocks = [{"type": "text", "text": "<promise>COMPLETED</promise>"}, {"type": "tool_use", "name": "Read"}]
    event = {"type": "assistant", "parent_tool_use_id": "toolu_1", "message": {"content": blocks}}
    assert _claude(event) == [UsedTool("Read")]


PROMISED = Said("All is done.\n<promise>COMPLETE</promise>")
AFTERWARDS: dict[str, tuple[list[Happening], str | None]] = {
    "nothing": ([], "COMPLETE"),
    "a remark": ([Said("By the way, the tests are slow.")], None),
    "work": ([UsedTool("Write", "a.py"), Said("One more fix.")], None),
    "its session's end, of Claude Code": (
        [UsedTool("mcp__ralph__complete_ralph_session"), Said("The session is completed.")],
        "COMPLETE",
    ),
    "its session's end, of Codex": (
        [UsedTool("ralph.complete_ralph_session"), Said("The session is completed.")],
        "COMPLETE",
    ),
    "its session's end, of OpenCode": (
        [UsedTool("ralph_complete_ralph_session"), Said("The session is completed.")],
        "COMPLETE",
    ),
    "two reports": (
        [
            UsedTool("mcp__ralph__update_session_state"),
            Said("Now I end it."),
            UsedTool("mcp__ralph__complete_ralph_session"),
            Said("The session is completed."),
        ],
        "COMPLETE",
    ),
    "a report, and work": (
        [UsedTool("mcp__ralph__update_session_state"), UsedTool("Edit", "a.py"), Said("I found a bug.")],
        None,
    ),
    "a report, and another promise": (
        [UsedTool("mcp__ralph__complete_ralph_session"), Said("<promise>BLOCKED</promise>")],
        "BLOCKED",
    ),
    "a report by somebody else's server": ([UsedTool("mcp__other__complete"), Said("Done.")], None),
}


@pytest.mark.parametrize("name", AFTERWARDS)
def test_a_promise_counts_until_more_is_done_and_a_report_is_not_more(name: str) -> None:
    account = Account(lambda: NOW)
    happenings, expected = AFTERWARDS[name]
    for happening in (PROMISED, *happenings):
        account.take(happening)
    assert account.promise == expected


def test_a_promise_in_a_tools_output_or_in_the_prompt_is_not_the_agents() -> None:
    words = "<promise>COMPLETED</promise>"
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": words}
    events = [{"type": "user", "message": {"content": [result]}}, {"type": "user", "message": {"content": words}}]
    assert _claude(*events) == []
    output = {"type": "command_execution", "id": "1", "command": "cat prompt", "aggregated_output": words}
    line = json.dumps({"type": "item.completed", "item": output}).encode()
    assert list(_reader("codex").read(line)) == [UsedTool("command_execution", "cat prompt")]


def test_calls_that_were_not_permitted_are_warned_of() -> None:
    denied = [{"tool_name": "Bash"}, {"tool_name": "Bash"}, {"tool_name": "Write"}]
    told = _claude({"type": "result", "is_error": False, "permission_denials": denied})
    assert Warned("3 calls were not permitted: Bash, Write.") in told


def test_the_context_is_that_of_the_last_answer_in_the_window_of_the_main_model() -> None:
    def answer(tokens: int) -> dict[str, Any]:
        used = {"input_tokens": tokens, "cache_read_input_tokens": 100, "output_tokens": 50}
        return {"type": "assistant", "parent_tool_use_id": None, "message": {"usage": used, "content": []}}

    models = {"large": {"contextWindow": 1_000}, "small": {"contextWindow": 5_000}}
    init = {"type": "system", "subtype": "init", "model": "large", "mcp_servers": [{"name": "ralph"}]}
    told = _claude(init, answer(10), answer(650), {"type": "result", "is_error": False, "modelUsage": models})
    assert ContextUsed(80.0) in told


def test_a_result_that_is_not_of_the_kind_success_is_none() -> None:
    assert Finished(False, "error_max_turns") in _claude(
        {"type": "result", "subtype": "error_max_turns", "is_error": False}
    )


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "qwen", "acp"])
def test_an_end_without_a_word_of_it_is_no_success(name: str) -> None:
    account = Account(lambda: NOW)
    for happening in _reader(name).end(0):
        account.take(happening)
    assert account.conclude(0) is Ending.FAILED


# Command lines


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "qwen"])
def test_the_prompt_is_on_stdin_and_a_persons_flags_come_after_ours(name: str) -> None:
    assignment = Assignment("--help", Path("/repo"), Path("/log"), {}, model="m", arguments=("--more", "1"))
    launch = _agent(name).launch(assignment)
    assert launch.stdin == b"--help"
    assert "--help" not in launch.argv
    words = " ".join(launch.argv)
    assert words.index("--model m") < words.index("--more 1")


def test_a_persons_permissions_replace_ours() -> None:
    plain, own = (
        Claude().launch(Assignment("p", Path(), Path(), {}, arguments=arguments)).argv
        for arguments in ((), ("--permission-mode=plan",))
    )
    assert "acceptEdits" in plain
    assert "acceptEdits" not in own


# Anything else

_KEYS = sorted(
    set(
        "type subtype item error message usage result part state tokens data content params update method id options "
        "said tool limit kind mcp_servers modelUsage permission_denials rate_limit_info status event stats role "
        "sessionUpdate input_tokens output_tokens text name finished cost context is_error until responseBody".split()
    )
)
_WORDS = (
    "system init assistant result api_retry rate_limit_event item.completed turn.completed turn.failed error "
    "agent_message file_change mcp_tool_call text tool_use step_finish message session/update rejected weekly "
    "session/request_permission agent_message_chunk tool_call usage_update connected success stop"
).split()
_PLAIN = st.sampled_from([None, True, -1, 2**70, 1e300, "", "{", *_WORDS])
_VALUES = st.recursive(
    _PLAIN,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3),
    max_leaves=6,
)
_EVENTS = st.builds(
    lambda kind, more: {**more, "type": kind},
    st.sampled_from(_WORDS),
    st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=4),
)
_LINES = st.lists(st.binary(max_size=40) | _EVENTS.map(lambda event: json.dumps(event).encode()), max_size=4)


def _happenings(reader: Reader, lines: list[bytes], code: int | None) -> Iterator[Happening | Reply]:
    for line in lines:
        yield from reader.read(line)
    yield from reader.end(code)


@pytest.mark.parametrize("name", AGENTS)
@given(lines=_LINES, code=st.none() | st.integers(-9, 255))
def test_whatever_is_printed_is_read_without_an_error(name: str, lines: list[bytes], code: int | None) -> None:
    account = Account(lambda: NOW)
    for happening in _happenings(_reader(name), lines, code):
        if not isinstance(happening, Reply):
            account.take(without_secrets(happening))
    assert account.conclude(code) in set(Ending)
    assert account.usage.input >= 0


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("path", RECORDED, ids=_name)
def test_another_agents_stream_is_read_without_an_error(name: str, path: Path) -> None:
    assert all(_happenings(_reader(name), path.read_bytes().splitlines(), 0))


@pytest.mark.parametrize(
    "line", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe{}", b'{"type":', b'{"cost": 1e999}', b"{}\0"]
)
@pytest.mark.parametrize("name", AGENTS)
def test_a_garbled_line_says_nothing(name: str, line: bytes) -> None:
    if name != "command":
        assert list(_reader(name).read(line)) == []


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3) + Usage(10, 20, 30) == Usage(11, 22, 33)
