"""The whole way of a ticket, in a real repository, with agents that play each command of the pipeline."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from interlock.errors import Refusal
from interlock.machine import load_shipped
from interlock.work.driver.agent_run import DRIVER
from interlock.work.sessions.verbs import Caller
from interlock.work.sessions.verbs import create as begin
from interlock.work.ticket_driver.loop import drive_ticket, is_told
from interlock.work.ticket_driver.stages import StageKind, stage_of, too_large
from interlock.work.ticket_driver.thread_stage import Choices
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.verbs import create, edit, link
from work.threads.benches import AGENT, DONE, IDLE, Steps
from work.ticket_driver.ways import NUMBER, PERSON, Way, commands, handed, made, planned
from work.tickets.boards import way_to

WHOLE = [
    ("Backlog", "human", None),
    ("Research Needed", "agent", "triage"),
    ("Research in Progress", "agent", "research"),
    ("Ready for Plan", "agent", "research"),
    ("Plan in Progress", "agent", "plan"),
    ("Plan in Review", "agent", "plan"),
    ("In Progress", "human", None),
    ("In Review", "human", "thread"),
    ("Done", "system", "merge"),
]


@pytest.fixture
def way(tmp_path: Path) -> Way:
    return made(tmp_path / "repository")


def test_a_ticket_goes_from_backlog_to_done_with_somebody_at_the_gates(way: Way) -> None:
    walked = way.walk(asks=True)
    assert walked.ticket.state == "In Review"
    assert "merged" in walked.stop.why
    assert "triage: scripted works on #1" in way.told
    assert "✓ Backlog → Research Needed: triage!" in way.told
    with closing(way.open()) as journal:
        [thread] = journal.instances("thread")
        assert (thread.outcome, thread.parent) == ("success", journal.instances("ticket")[0].id)
        roles = [one.decoded_evidence().data.get("role") for one in journal.all_entries() if one.event == "created"]
    assert [one for one in roles if one] == ["triage", "research", "plan", "implementer", "judge"]
    way.git("switch", "-q", "main")
    way.git("merge", "-q", "--ff-only", f"ralf/{thread.id}")
    assert way.walk().ticket.outcome == "success"
    assert way.moves == WHOLE
    with closing(way.open()) as journal:
        assert journal.verify() == []


def test_without_somebody_it_stops_where_a_person_decides_and_goes_on_from_there(way: Way) -> None:
    planned(way).play(DONE)
    walked = way.walk()
    assert (walked.ticket.state, walked.stop.failed) == ("Plan in Review", False)
    assert "yours to approve" in walked.stop.why
    before = len(way.moves)
    assert way.walk().stop == walked.stop, "and nothing moves by asking again"
    assert len(way.moves) == before
    with closing(way.open()) as journal:
        journal.transact(handoff(Caller(PERSON), NUMBER, reason="go", to="In Progress"))
    walked = way.walk()
    assert walked.stop.why == "finalize is yours"
    assert walked.stop.thread is not None
    way.act(walked.stop.thread, "finalize", drives=False)
    assert way.walk().stop.why == "approve is yours"
    way.act(walked.stop.thread, "approve", drives=False)
    assert way.walk().stop.why == "commit is yours"
    way.act(walked.stop.thread, "commit", drives=False)
    assert "merged" in way.walk().stop.why


def test_an_agent_that_hands_nothing_on_is_tried_twice_and_then_a_person_is_needed(way: Way) -> None:
    way.play(IDLE)
    walked = way.walk()
    assert (walked.ticket.state, walked.stop.failed) == ("Human Needed", True)
    assert "triage was tried 2 times" in walked.stop.why
    assert "I looked around" in walked.stop.why
    with closing(way.open()) as journal:
        assert len(journal.instances("session")) == 2


def test_an_agent_that_is_not_installed_is_named_and_the_ticket_stays_where_it_is(tmp_path: Path) -> None:
    way = made(tmp_path / "repository", **{"agent.command": "no-such-agent-is-anywhere"})
    way.play(IDLE)
    for _ in range(3):
        walked = way.walk(agent="command")
        assert (walked.ticket.state, walked.stop.failed) == ("Backlog", True)
        assert walked.stop.why == "the agent command cannot be started: it is not installed"
        assert "--agent NAME" in walked.stop.hint
    assert "triage was tried 2 times" in way.walk().stop.why, "no try of it counts"


def test_what_an_agent_held_and_left_is_let_go(way: Way) -> None:
    way.play(commands()[0], [handed("research", "--intent", "lock"), {"finish": True}])
    walked = way.walk()
    assert walked.ticket.state == "Human Needed"
    assert walked.ticket.held_by is None
    assert way.moves.count(("Research in Progress", "agent", "research")) == 2


def test_an_agent_that_a_dead_walker_left_is_ended_and_no_other(way: Way) -> None:
    with closing(way.open()) as journal:
        for state in way_to("Plan in Review"):
            journal.transact(handoff(Caller(PERSON), NUMBER, reason="go", to=state))
        [ticket] = journal.instances("ticket")
        left = journal.transact(begin(Caller(DRIVER), parent=ticket.id, role="plan")).session_id
        own = journal.transact(begin(Caller(AGENT), ticket=str(NUMBER))).session_id
        assert [journal.instance(one).parent for one in (left, own)] == [ticket.id, ticket.id]
        assert "yours to approve" in way.walk_in(journal).stop.why
        assert [journal.instance(one).outcome for one in (left, own)] == ["cancelled", None]


def test_a_large_ticket_is_to_be_divided_first(way: Way) -> None:
    with closing(way.open()) as journal:
        journal.transact(edit(PERSON, NUMBER, set_={"estimate": "L"}))
    walked = way.walk()
    assert walked.ticket.state == "Backlog"
    assert "L is too large" in walked.stop.why
    assert "--split" in walked.stop.hint


def test_a_ticket_waits_for_those_that_block_it(way: Way) -> None:
    with closing(way.open()) as journal:
        journal.transact(create(PERSON, "First of all"))
        journal.transact(link(PERSON, NUMBER, "blocked_by", 2))
    walked = way.walk()
    assert walked.stop.why == "it waits for #2"
    assert way.moves == WHOLE[:1]


def test_an_agent_does_not_have_tickets_worked_on(way: Way) -> None:
    from msgspec.structs import replace

    with closing(way.open()) as journal, pytest.raises(Refusal) as refused:
        drive_ticket(way.context(journal), NUMBER, replace(way.person, actor=AGENT), Choices())
    assert refused.value.code == "person_needed"


def test_a_plan_that_is_no_spec_is_made_one_by_an_agent(way: Way) -> None:
    spec = "# Greet\n\n## Goal\n\nHello.\n\n## Completion Criteria\n\n- [ ] it greets\n\n<promise>COMPLETE</promise>\n"
    drafts: Steps = [{"say": f"Here it is:\n\n```markdown\n{spec}```"}, {"finish": True}]
    planned(way, "Just do it.\n").play(drafts, DONE)
    walked = way.walk(asks=True)
    assert "merged" in walked.stop.why
    with closing(way.open()) as journal:
        [thread] = journal.instances("thread")
    assert way.thread(thread.id).revisions[0].text.startswith("# Greet\n\n## Goal\n\nHello.")


def test_where_no_agent_makes_a_spec_it_is_the_persons(way: Way) -> None:
    planned(way, "Just do it.\n").play(IDLE)
    walked = way.walk(asks=True)
    assert "yours to write" in walked.stop.why
    assert walked.ticket.state == "In Progress"
    with closing(way.open()) as journal:
        sessions = len(journal.instances("session"))
    assert "yours to write" in way.walk(asks=True).stop.why
    with closing(way.open()) as journal:
        assert len(journal.instances("session")) == sessions, "no agent is asked again and again"


def test_a_stuck_thread_stops_it_and_says_why(way: Way) -> None:
    way.settings["thread.iterations"] = 1
    planned(way).play(IDLE)
    walked = way.walk(asks=True)
    assert (walked.ticket.state, walked.stop.failed) == ("Human Needed", True)
    assert "1 iterations" in walked.stop.why


def test_who_ends_the_thread_of_another_ticket_ends_no_walk_of_this_one(way: Way) -> None:
    with closing(way.open()) as journal:
        journal.transact(create(PERSON, "Greet others"))
        for number in (NUMBER, NUMBER + 1):
            for state in way_to("In Progress"):
                journal.transact(handoff(Caller(PERSON), number, reason="go", to=state))
    for number in (NUMBER, NUMBER + 1):
        way.act(way.new(ticket=number), "abandon", drives=False)
    with closing(way.open()) as journal:
        words = [one for one in journal.entries(0) if one.event == "abandon"]
        assert [is_told(journal, NUMBER, one) for one in words] == [True, False]


def test_a_plan_may_be_reviewed_by_an_agent_where_the_settings_say_so(way: Way) -> None:
    way.settings["ticket.plan_review"] = "auto"
    (way.root / "ralph.toml").write_text('[ticket]\nplan_review = "auto"\n')
    way.git("add", "ralph.toml")
    way.git("commit", "-qm", "settings")
    review = [handed("review", "--intent", "reject"), {"finish": True}]
    planned(way).play(review, IDLE)
    way.walk()
    assert ("Ready for Plan", "agent", "review") in way.moves


@pytest.mark.parametrize(
    ("state", "what", "command"),
    [
        ("Backlog", StageKind.COMMAND, "triage"),
        ("Research Needed", StageKind.COMMAND, "research"),
        ("Research in Progress", StageKind.COMMAND, "research"),
        ("Ready for Plan", StageKind.COMMAND, "plan"),
        ("Plan in Progress", StageKind.COMMAND, "plan"),
        ("Plan in Review", StageKind.PLAN, "review"),
        ("In Progress", StageKind.THREAD, None),
        ("In Review", StageKind.MERGE, None),
        ("Human Needed", StageKind.PERSON, None),
        ("Done", StageKind.NOTHING, None),
        ("Canceled", StageKind.NOTHING, None),
    ],
)
def test_every_state_has_its_station(state: str, what: StageKind, command: str | None) -> None:
    stage = stage_of(load_shipped("ticket"), state, "human")
    assert (stage.what, stage.command) == (what, command)


def test_every_state_of_the_machine_is_a_station() -> None:
    machine = load_shipped("ticket")
    assert {stage_of(machine, state, "auto").what for state in machine.states} == set(StageKind) - {StageKind.PLAN}
    assert [one for one in machine.form.estimates if too_large(machine, "research", one)] == ["M", "L", "XL"]
    assert not too_large(machine, "research", None)
