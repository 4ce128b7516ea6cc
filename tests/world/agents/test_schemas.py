"""An answer of a given schema: asked for with the agent's own option where it has one, and heard as its words."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from interlock.work.orchestration.contracts import Role, schema_of
from interlock.world.agents.agent import Launch, Reply
from interlock.world.agents.assignment import Assignment
from interlock.world.agents.catalogue import AGENTS, find_agent
from interlock.world.agents.codex import Codex
from interlock.world.agents.failures import refuses_schema
from interlock.world.agents.happenings import Happening, Said, Usage, UsedTool
from interlock.world.agents.result import Ending, Result
from world.agents.runs import NOW, Place

SCHEMA = {"type": "object", "properties": {"met": {"type": "boolean"}}, "required": ["met"]}
LOG = Path("/repo/.ralf/runs/1/000002-planner.log")
ANSWER = {"met": True, "summary": "héllo\n"}
FLAGS = {"claude": "--json-schema", "qwen": "--json-schema", "codex": "--output-schema"}
TOOLS = {"claude": ("StructuredOutput", "structured_output"), "qwen": ("structured_output", "structured_result")}
UNSUPPORTED = {"allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "default", "oneOf"}


def _launch(name: str, schema: dict[str, Any] | None = SCHEMA, arguments: tuple[str, ...] = ()) -> Launch:
    assignment = Assignment("p", Path("/repo"), LOG, {}, arguments=arguments, schema=schema)
    return find_agent(name, {"command": "agent", "script": "/script.json"}).launch(assignment)


def _result(*lines: str, ending: Ending = Ending.FAILED) -> Result:
    return Result(ending, 1, 0.1, Usage(), None, None, None, lines, 0, "", None)


# Asking


@pytest.mark.parametrize("name", ["claude", "qwen"])
def test_claude_and_qwen_take_the_schema_as_an_argument(name: str) -> None:
    argv = _launch(name).argv
    assert json.loads(argv[argv.index("--json-schema") + 1]) == SCHEMA


def test_codex_takes_the_schema_in_a_file_beside_the_log() -> None:
    launch = _launch("codex")
    [(path, text)] = launch.files.items()
    assert launch.argv[launch.argv.index("--output-schema") + 1] == str(path)
    assert path == LOG.with_name("000002-planner.log.schema.json")
    assert json.loads(text) == SCHEMA
    assert launch.argv[-1] == "-"


@pytest.mark.parametrize("name", sorted(AGENTS.keys() - FLAGS.keys()))
def test_an_agent_without_an_option_is_started_as_ever(name: str) -> None:
    assert _launch(name) == _launch(name, None)


@pytest.mark.parametrize("name", FLAGS)
def test_a_schema_of_a_person_is_not_replaced_by_ours(name: str) -> None:
    assert _launch(name, arguments=(FLAGS[name], "own")) == _launch(name, None, (FLAGS[name], "own"))


def test_the_file_is_there_for_the_run_and_gone_after_it(place: Place) -> None:
    script = place.directory / "codex"
    script.write_text(
        f"#!{sys.executable}\nimport json, os, sys\npath = sys.argv[sys.argv.index('--output-schema') + 1]\n"
        "said = json.dumps([json.load(open(path)), oct(os.stat(path).st_mode)])\n"
        "print(json.dumps({'type': 'item.completed', 'item': {'type': 'agent_message', 'text': said}}))\n"
        "print(json.dumps({'type': 'turn.completed'}))\n"
    )
    script.chmod(0o700)
    assert place.run(Codex(str(script)), schema=SCHEMA).ending is Ending.FINISHED
    [said] = [one for one in place.told if isinstance(one, Said)]
    assert json.loads(said.text) == [SCHEMA, "0o100600"]
    assert list(place.log.parent.iterdir()) == [place.log]


@pytest.mark.parametrize("role", Role)
def test_a_roles_schema_keeps_the_rules_of_every_vendor(role: Role) -> None:
    """OpenAI's strict ones: every field required, none besides, an object at the root, no keyword of a few.

    Claude Code knows no other draft than the seventh, and refuses a schema that names one.
    """

    def check(part: Any) -> None:
        if isinstance(part, list):
            for one in part:
                check(one)
        if not isinstance(part, dict):
            return
        assert not UNSUPPORTED & part.keys()
        if part.get("type") == "object":
            assert part["required"] == list(part["properties"])
            assert part["additionalProperties"] is False
        if part.get("type") == "array":
            assert part["items"]
        if "$ref" in part:
            assert part.keys() == {"$ref"}, "nothing may stand beside it"
            assert part["$ref"].removeprefix("#/$defs/") in schema["$defs"]
        for one in part.values():
            check(one)

    schema = schema_of(role)
    assert schema["type"] == "object"
    assert not {"$schema", "anyOf"} & schema.keys()
    check({key: value for key, value in schema.items() if key != "$defs"})
    check(list(schema["$defs"].values()))


# Hearing


def _read(name: str, *events: dict[str, Any]) -> list[Happening]:
    assignment = Assignment("p", Path("/repo"), LOG, {}, schema=SCHEMA)
    reader = find_agent(name, {}).reader(assignment, lambda: NOW)
    lines = [json.dumps(event).encode() for event in events]
    return [one for line in lines for one in reader.read(line) if not isinstance(one, Reply)]


def _said(told: list[Happening]) -> list[Any]:
    return [one.text for one in told if isinstance(one, Said)]


def _calls(name: str, answer: Any, parent: str | None = None) -> dict[str, Any]:
    block = {"type": "tool_use", "id": "1", "name": TOOLS[name][0], "input": answer}
    return {"type": "assistant", "parent_tool_use_id": parent, "message": {"content": [block]}}


def _says(text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "assistant", "parent_tool_use_id": None, "message": {"content": content}}


def _ends(name: str, answer: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "result": "x", TOOLS[name][1]: answer}


@pytest.mark.parametrize("name", TOOLS)
def test_an_answer_of_the_schema_is_what_the_agent_says_once(name: str) -> None:
    told = _read(name, _says("I look."), _calls(name, ANSWER), _ends(name, ANSWER))
    assert [json.loads(one) if one.startswith("{") else one for one in _said(told)] == ["I look.", ANSWER]
    assert not [one for one in told if isinstance(one, UsedTool)]


@pytest.mark.parametrize("name", TOOLS)
def test_the_answer_is_the_last_word_whatever_was_said_after_the_call(name: str) -> None:
    told = _read(name, _calls(name, ANSWER), _says("That is all."), _ends(name, ANSWER))
    assert json.loads(_said(told)[-1]) == ANSWER


def test_the_answer_of_the_result_counts_where_no_call_was_seen() -> None:
    assert json.loads(_said(_read("claude", _ends("claude", ANSWER)))[-1]) == ANSWER


def test_what_the_agent_itself_refused_is_heard_so_that_it_can_be_complained_about() -> None:
    failed = {"type": "result", "subtype": "error_max_structured_output_retries", "is_error": True}
    told = _read("claude", _calls("claude", {"met": "yes"}), failed)
    assert [json.loads(one) for one in _said(told)] == [{"met": "yes"}]


@pytest.mark.parametrize("junk", [None, "text", 3, []])
def test_what_is_no_object_is_no_answer(junk: Any) -> None:
    assert _said(_read("claude", _calls("claude", junk), _ends("claude", junk))) == []


def test_an_answer_of_a_subagent_is_not_the_agents() -> None:
    told = _read("claude", _calls("claude", ANSWER, "toolu_1"))
    assert [one.name for one in told if isinstance(one, UsedTool)] == ["StructuredOutput"]
    assert _said(told) == []


# Refusing


@pytest.mark.parametrize(
    "line",
    [
        "error: unknown option '--json-schema'",
        "error: unexpected argument '--output-schema' found",
        "Unknown arguments: json-schema, jsonSchema",
        'Error: --json-schema is not a valid JSON Schema: no schema with key or ref "x"',
        '{"type":"turn.failed","error":{"message":"{\\"code\\": \\"invalid_json_schema\\"}"}}',
        "400: Unsupported parameter: 'text.format'",
    ],
)
def test_an_agent_that_takes_no_schema_is_known_by_what_it_says(line: str) -> None:
    assert refuses_schema(_result("something", line))
    assert not refuses_schema(_result("something", line, ending=Ending.TIMED_OUT_WALL))


@pytest.mark.parametrize("line", ["Invalid API key", "connection refused", "error: unknown option '--modle'", ""])
def test_any_other_failure_is_none_of_the_schema(line: str) -> None:
    assert not refuses_schema(_result(line, "started with --json-schema"))
