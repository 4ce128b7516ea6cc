"""The tree of a session is read-only in states that allow only to read, and a role that only reads never writes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping

import pytest
from msgspec.structs import replace

from interlock.journal import Journal, open_journal
from interlock.machine import Actor, ActorKind, Channel, Machine, load_shipped
from interlock.machine.compile import compile_machine
from interlock.work.driver.session_wall import SessionWall, only_reads
from interlock.work.sessions.verbs import Caller, complete, create, update
from world.sandbox.places import Place, made_place
from world.sandbox.players import playing

AGENT = Actor(ActorKind.AGENT, "claude", Channel.MCP)
DRIVER = Actor(ActorKind.SYSTEM, "ralph", Channel.DRIVER)


def machine_with(tools: Mapping[str, list[str]]) -> Machine:
    """The machine of sessions, with other tools in some of its states."""
    form = load_shipped("session").form
    states = {name: replace(one, tools=tools.get(name, one.tools)) for name, one in form.states.items()}
    return compile_machine(replace(form, states=states))


READS = machine_with({"idle": ["read"], "analyzing": ["read"], "reviewing": ["read"]})


@pytest.fixture
def journal() -> Iterator[Journal]:
    """A journal whose sessions only read while they analyze and review."""
    made = open_journal(None, lambda name: READS)
    yield made
    made.close()


@pytest.fixture
def session(journal: Journal) -> str:
    return journal.transact(create(Caller(AGENT, "claude"))).session_id


@pytest.fixture
def place() -> Iterator[Place]:
    with made_place(os.geteuid()) as made:
        yield made


@pytest.fixture
def report(journal: Journal, session: str) -> Callable[[str], object]:
    return lambda state: journal.transact(update(session, state, AGENT))


def test_the_tree_follows_the_states_of_its_session(
    journal: Journal, session: str, place: Place, report: Callable[[str], object]
) -> None:
    wall = SessionWall(journal, session, place.policy)
    with playing(place) as (ask, root):
        report("analyzing")
        wall.follow()
        assert ask("write()") is None, "it has not started yet"
        report("implementing")
        wall.start(root)
        for state, said in (
            ("analyzing", errno.EROFS),
            ("implementing", None),
            ("testing", None),
            ("reviewing", errno.EROFS),
            ("reviewing", errno.EROFS),
            ("implementing", None),
        ):
            report(state)
            wall.follow()
            assert ask("write()") == said, state
        journal.transact(complete(session, "success", AGENT))
        wall.follow()
        assert ask("write()") == errno.EROFS


def test_a_role_that_only_reads_writes_nowhere_whatever_it_reports(
    journal: Journal, session: str, place: Place, report: Callable[[str], object]
) -> None:
    policy = replace(place.policy, is_read_only=True)
    wall = SessionWall(journal, session, policy)
    with playing(place, policy) as (ask, root):
        wall.start(root)
        for state in ("analyzing", "implementing"):
            report(state)
            wall.follow()
            assert ask("write()") == errno.EROFS


def test_a_tree_that_could_not_be_made_read_only_is_told_once_and_follows_the_next_state(
    journal: Journal, session: str, place: Place, report: Callable[[str], object]
) -> None:
    wall = SessionWall(journal, session, place.policy)
    with playing(place) as (ask, root):
        wall.start(root)
        ask("held.setdefault('a', open('a', 'w')) and 0")
        report("analyzing")
        wall.follow()
        wall.follow()
        told = [one.decoded_evidence().data for one in journal.history(session)]
        assert [one["code"] for one in told if one.get("type") == "finding"] == ["still_writable"]
        ask("held.pop('a').close()")
        for state, said in (("implementing", None), ("analyzing", errno.EROFS)):
            report(state)
            wall.follow()
            assert ask("write()") == said


def test_a_run_that_has_ended_is_not_told_to_be_writable(
    journal: Journal, session: str, place: Place, report: Callable[[str], object]
) -> None:
    wall = SessionWall(journal, session, place.policy)
    with playing(place) as (_, root):
        wall.start(root)
    report("analyzing")
    wall.follow()
    assert [one.event for one in journal.history(session)] == ["created", "update_session_state"]


def test_an_agent_that_never_reported_is_not_locked_out(journal: Journal, session: str) -> None:
    assert not only_reads(READS, journal.instance(session))


@pytest.mark.parametrize("outcome", ["failure", "timeout", "cancelled"])
def test_an_agent_whose_session_others_may_have_ended_is_not_locked_out(
    journal: Journal, session: str, outcome: str
) -> None:
    journal.transact(complete(session, outcome, DRIVER))
    assert not only_reads(READS, journal.instance(session))


def test_the_shipped_machine_holds_nobody_where_tests_and_builds_may_run(journal: Journal, session: str) -> None:
    machine = load_shipped("session")
    for state in ("analyzing", "implementing", "testing", "committing", "reviewing"):
        journal.transact(update(session, state, AGENT))
        assert not only_reads(machine, journal.instance(session)), state
    journal.transact(complete(session, "success", AGENT))
    assert only_reads(machine, journal.instance(session))
