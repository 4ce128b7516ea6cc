"""A goal with real coding agents: Claude Code as all four roles, and another vendor's agent as the reviewer.

Each is held to its role's schema by its own option, where it has one. The scripted model is asked by role: which
script it plays is told by the input that stands in the prompt.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agents.drivers import AGENTS, Place, Unavailable, make_place
from agents.fakes import Call, ModelServer, Request, Say, Script
from faces.journals import settle
from faces.programs import run
from interlock.work.orchestration.contracts import Role, schema_of
from interlock.work.verification.receipt import from_data

pytestmark = pytest.mark.agents

GOAL = "Greet people in French"
GREET = 'def hello() -> str:\n    return "Hello"\n'
FRENCH = 'def bonjour(name: str) -> str:\n    return f"Bonjour, {name}"\n'
MAIN = "import sys\n\nfrom french import bonjour\n\nprint(bonjour(sys.argv[1]))\n"
CHECK = 'assert french.bonjour("Ann") == "Bonjour, Ann"'
CLAUDE = "claude:claude-sonnet-4-5"
REVIEWERS = {"claude": CLAUDE, "codex": "codex:gpt-5.5", "opencode": "opencode:scripted/scripted"}
VERIFIERS = f"{sys.executable} -m unittest -q"


def _test(name: str, check: str) -> str:
    head = f"import unittest\n\nimport {name}\n\n\n"
    return f"{head}class Works(unittest.TestCase):\n    def test_it(self) -> None:\n        {check}\n"


# What each role does


def _task(number: int, *needs: str) -> dict[str, Any]:
    about = {1: "Write `bonjour` with a test", 2: "Let `main.py NAME` greet in French"}[number]
    return {
        "id": f"task-{number}",
        "description": about,
        "objective": "",
        "criteria": [f"criterion of task-{number}"],
        "files": [],
        "depends_on": list(needs),
        "inherits": list(needs),
    }


PLAN: dict[str, Any] = {
    "status": "completed",
    "goal": GOAL,
    "plan": "# Plan\n\nFirst the words, then the program.",
    "tasks": [_task(1), _task(2, "task-1")],
    "closes": [],
    "questions": [],
    "blockers": [],
    "next_actions": [],
}
ASKS = {**PLAN, "status": "needs_qa_cycle", "goal": "", "plan": "", "tasks": [], "questions": ["By name?"]}
FOUND: dict[str, Any] = {
    "status": "completed",
    "questions": [
        {
            "number": 1,
            "text": "By name?",
            "category": "Requirements",
            "priority": "High",
            "status": "Answered",
            "impact": "The signature",
            "answer": "Yes, by name",
            "source": "greet.py:1",
            "confidence": "High",
        }
    ],
    "summary": "By name",
    **{
        name: []
        for name in (
            "critical_findings",
            "validated_assumptions",
            "invalidated_assumptions",
            "remaining_unknowns",
            "recommendations",
            "blockers",
        )
    },
}
MET = {"met": True, "summary": "People are greeted in French.", "gaps": []}


def _criterion(task: str, *, met: bool) -> list[dict[str, Any]]:
    return [{"criterion": f"criterion of {task}", "met": met, "evidence": "french.py:1", "finding": ""}]


def _done(task: str) -> dict[str, Any]:
    return {
        "status": "completed",
        "task_id": task,
        "success_criteria_met": True,
        "objective_recap": "",
        "rework_context": "",
        "criteria_status": _criterion(task, met=True),
        "summary_of_changes": "wrote it",
        "verification_results": "",
        "discovered_tasks": [],
        "blockers": [],
    }


def _verdict(task: str, *, qualified: bool) -> dict[str, Any]:
    return {
        "status": "completed",
        "task_id": task,
        "verdict": "Qualified" if qualified else "Failed",
        "review_summary": "I looked",
        "criteria_results": _criterion(task, met=qualified),
        "quality_assessment": "",
        "issues": [],
        "validation_actions": [],
        "feedback": "" if qualified else "There is no test of bonjour",
        "reasoning": "I looked",
        "discovered_tasks": [],
    }


class Asked(msgspec.Struct, frozen=True):
    """What a role was asked, as its prompt says."""

    prompt: str

    def input(self, key: str) -> str:
        given = self.prompt.partition("# Your input\n")[2].partition("# What is known\n")[0]
        found = re.search(rf"(?m)^{key}: (.+)$", given)
        return found[1] if found else ""

    @property
    def role(self) -> Role:
        if self.input("ATTEMPT_NUMBER"):
            return Role.EXECUTOR
        if self.input("REPORT_PATH"):
            return Role.REVIEWER
        if self.input("CYCLE_NUMBER"):
            return Role.QUESTIONER
        return Role.HOLISTIC if self.input("MODE") == "SESSION_REVIEW" else Role.PLANNER

    @property
    def session(self) -> str:
        found = re.search(r"Your session id is `([0-9a-z]{26})`", self.prompt)
        assert found, self.prompt[-3000:]
        return found[1]


def _answers(answer: object) -> Call:
    """As Claude Code is answered when it was given a schema."""
    return Call("StructuredOutput", answer)  # type: ignore[arg-type]


def _script(prompt: str, repository: Path, reviewer: str) -> Script:
    asked = Asked(prompt)
    task = asked.input("TASK_ID")
    match asked.role:
        case Role.PLANNER if asked.input("MODE") == "INITIALIZE":
            return [_answers(ASKS)]
        case Role.PLANNER:  # the first one lacks fields: Claude Code refuses it, and no other run is needed
            return [_answers({"status": "completed", "tasks": PLAN["tasks"]}), _answers(PLAN)]
        case Role.QUESTIONER:  # a model that does not use the tool is heard as well
            return [Say(json.dumps(FOUND)), Say("I have answered.")]
        case Role.EXECUTOR:
            return [*_work(asked, repository), _answers(_done(task))]
        case Role.REVIEWER:
            qualified = task == "task-2" or "There is no test of bonjour" in prompt
            return [_judges(_verdict(task, qualified=qualified), reviewer)]
        case Role.HOLISTIC:
            return [_judges(MET, reviewer)]


def _judges(answer: dict[str, Any], reviewer: str) -> Say | Call:
    return _answers(answer) if reviewer == "claude" else Say(json.dumps(answer))


def _work(asked: Asked, repository: Path) -> Script:
    claude = AGENTS["claude"]
    match asked.input("TASK_ID"), asked.input("ATTEMPT_NUMBER"):
        case "task-1", "1":
            return [claude.write(repository / "french.py", FRENCH)]
        case "task-1", _:
            assert "There is no test of bonjour" in asked.prompt, "it is told what the reviewer said"
            return [claude.write(repository / "test_french.py", _test("french", CHECK))]
    session = asked.session

    def to(state: str) -> Call:
        return claude.report("update_session_state", lambda _: {"sessionId": session, "state": state})

    end = claude.report("complete_ralph_session", lambda _: {"sessionId": session, "outcome": "success"})
    return [to("analyzing"), to("implementing"), claude.write(repository / "main.py", MAIN), to("testing"), end]


# The run


def _set_up(place: Place, url: str) -> None:
    repository = place.repository
    (repository / "greet.py").write_text(GREET)
    (repository / "test_greet.py").write_text(_test("greet", 'assert greet.hello() == "Hello"'))
    network = json.dumps([url.partition("://")[2]])
    settle(
        repository,
        f'[agent]\nnetwork = {network}\nvariables = ["SCRIPTED_KEY"]\n[verify]\ncommands = [{json.dumps(VERIFIERS)}]\n',
    )
    place.git("add", "--all")
    place.git("commit", "-q", "-m", "a greeting")


def _environment(place: Place, url: str, names: Sequence[str]) -> dict[str, str]:
    """What the agents need to reach the model; what a person would have in their home."""
    found = dict(place.environment)
    for name in names:
        try:
            words, more = AGENTS[name].command(place, url, "")
        except Unavailable as reason:
            pytest.skip(f"not run: {reason}")
        found |= more
        found["PATH"] = f"{Path(words[0]).parent}:{found['PATH']}"
    settings = place.home / ".codex" / "config.toml"
    settings.parent.mkdir(exist_ok=True)
    provider = {"name": "scripted", "base_url": f"{url}/v1", "wire_api": "responses", "env_key": "SCRIPTED_KEY"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in provider.items()]
    settings.write_text("\n".join(['model_provider = "scripted"', "[model_providers.scripted]", *lines, ""]))
    return found


def _schemas(request: Request) -> list[Any]:
    """The schemas that an agent gave the model for its answer."""
    tools = request.body.get("tools", [])
    found = [tool["input_schema"] for tool in tools if tool.get("name") == "StructuredOutput"]
    told = request.body.get("text", {}).get("format")
    return [*found, *([told["schema"]] if told else [])]


def _orchestrated(place: Place, reviewer: str) -> tuple[dict[str, Any], list[tuple[Asked, Request]]]:
    """What came of the goal, and all that the model was asked about it, with who asked."""
    with ModelServer(lambda prompt: _script(prompt, place.repository, reviewer)) as server:
        _set_up(place, server.url)
        env = _environment(place, server.url, sorted({"claude", reviewer}))
        words = ("--agent", CLAUDE, "--reviewer", REVIEWERS[reviewer], "--json")
        result = run("orchestrate", GOAL, *words, cwd=place.repository, env=env, seconds=180)
    assert result.code == 0, (result, server.failures)
    assert server.failures == []
    return json.loads(result.out.splitlines()[-1])["data"], [
        (Asked(request.prompt), request) for request in server.requests
    ]


def _assert_met(place: Place, data: dict[str, Any]) -> None:
    """All that must be so once a goal is met."""
    assert (data["state"], data["outcome"], data["cycles"]) == ("Exit", "success", 1), data
    assert [(one["id"], one["mark"], one["attempt"]) for one in data["tasks"]] == [
        ("task-1", "x", 2),
        ("task-2", "x", 1),
    ]
    assert data["invocations"] == 10, "nobody was asked a second time for want of an answer that can be used"
    papers = place.repository / ".ralph-sessions" / data["session"]
    assert re.findall(r"- \[(.)\] (task-\d)", (papers / "progress.md").read_text()) == [
        ("x", "task-1"),
        ("x", "task-2"),
    ]
    reports = {"tasks.task-1-report.md", "tasks.task-1-report-r2.md", "tasks.task-2-report.md"}
    assert {one.name for one in papers.glob("tasks.task-*-report*.md")} == reports
    assert "There is no test of bonjour" in (papers / "tasks.task-1-report.md").read_text()
    tested = subprocess.run(
        [*VERIFIERS.split()], cwd=place.repository, env=place.environment, capture_output=True, timeout=60
    )
    assert tested.returncode == 0, tested.stderr
    notes = [one["evidence"]["data"] for one in place.ralph("log", data["id"], "-n", "500") if one["event"] == "noted"]
    receipts = [one["receipt"] for one in notes if one["type"] == "verified"]
    assert len(receipts) >= 3, "one for each review"
    assert all(from_data(one).passed for one in receipts)
    place.ralph("journal", "verify")
    assert not list((place.repository / ".ralf" / "runs").rglob("*.schema.json"))


def _assert_reported(place: Place) -> None:
    """Executors are held to what they report; one of them did, and answered after its session had ended."""
    executors = [one["id"] for one in place.ralph("session", "list") if one["role"] == "executor"]
    shown = [place.ralph("session", "show", one) for one in executors]
    states = sorted([stay["state"] for stay in one["state_history"]] for one in shown)
    assert states == [["idle", "analyzing", "implementing", "testing", "done"], ["idle", "done"], ["idle", "done"]]
    assert not any("denied" in one["events"] for one in shown)


@pytest.mark.parametrize("reviewer", REVIEWERS)
def test_a_goal_is_met_by_claude_and_judged_by_each(reviewer: str, tmp_path: Path, programs: Path) -> None:
    place = make_place(tmp_path / "home", tmp_path / "repository", programs)
    data, asked = _orchestrated(place, reviewer)
    _assert_met(place, data)
    _assert_reported(place)
    assert {one.role for one, _ in asked} == set(Role)
    for one, request in asked:
        judged = one.role in (Role.REVIEWER, Role.HOLISTIC)
        expected = [] if judged and reviewer == "opencode" else [schema_of(one.role)]
        assert _schemas(request) == expected, "each is held to its role's schema by its own option"
        assert json.dumps(schema_of(one.role)) in one.prompt, "and asked by the prompt"
    paths = {request.path for one, request in asked if one.role is Role.REVIEWER}
    assert paths == {{"claude": "/v1/messages", "codex": "/v1/responses"}.get(reviewer, "/v1/chat/completions")}
    refused = [told for one, request in asked if one.role is Role.PLANNER for told in request.results]
    assert any("does not match required schema" in told for told in refused), "Claude Code saw to it itself"
