"""Real coding agents work on a ticket: they claim it, write its document, hand it on, and skip no step."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.drivers import AGENTS, Agent, Place, Unavailable, play
from agents.fakes import Call, Say, Script

pytestmark = pytest.mark.agents

FOUND = "---\ndate: 2026-11-15\ngithub_issue: 1\nstatus: complete\ntype: research\n---\n\n# What was found\n"


@pytest.fixture(params=list(AGENTS.values()), ids=list(AGENTS))
def agent(request: pytest.FixtureRequest) -> Agent:
    found: Agent = request.param
    return found


def _hand(agent: Agent, command: str, **asked: str) -> Call:
    given = {"number": 1, "command": command, "reason": "as the script says", **asked}
    return agent.report("handoff_ticket", lambda _: given)


def test_an_agent_is_led_through_the_pipeline_and_cannot_skip_a_step(
    agent: Agent, set_up: Callable[[Agent], Place]
) -> None:
    place = set_up(agent)
    place.ralph("ticket", "create", "Parse dates", "--estimate", "S")
    documents = place.repository / "thoughts" / "shared" / "research"
    script: Script = [
        _hand(agent, "triage", to_state="Doing"),
        _hand(agent, "impl", intent="lock"),
        _hand(agent, "triage", to_state="Research Needed"),
        _hand(agent, "research", intent="complete"),
        _hand(agent, "research", intent="lock"),
        agent.write(documents / "2026-11-15-GH-1-dates.md", FOUND),
        agent.write(documents / "2026-11-16-GH-1-dates-again.md", FOUND),
        _hand(agent, "research", intent="complete"),
        Say("The ticket is researched."),
    ]
    try:
        ended = play(agent, place, script)
    except Unavailable as reason:
        pytest.skip(f"not run: {reason}")
    assert ended.result.code == 0, ended
    unknown, skipped, triaged, unclaimed, claimed, _, twice, completed = ended.told
    assert "Doing" in unknown
    assert "Research Needed" in unknown, "what there is instead is told"
    assert "not_allowed" in skipped
    assert '"newState":"Research Needed"' in triaged.replace("\\", "").replace(" ", " ").replace('": "', '":"')
    assert "lock" in unclaimed
    assert "exclusively claimed" in claimed
    assert "2026-11-15-GH-1-dates.md" in twice, "the document that is there is named"
    assert "Ready for Plan" in completed
    shown = place.ralph("ticket", "show", "1")
    assert shown["state"] == "Ready for Plan"
    moves = [one for one in shown["comments"] if one.get("is_audit")]
    assert len(moves) == 3
    assert all(one["author"].startswith("agent ") for one in moves)
    assert [path.name for path in documents.iterdir()] == ["2026-11-15-GH-1-dates.md"]
    assert (documents / "2026-11-15-GH-1-dates.md").read_text().startswith("---\ndate: 2026-11-15")
