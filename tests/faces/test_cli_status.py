"""`ralph status`, `ralph why` and `ralph log --at`, on a real history: a ticket, its thread, and agents' sessions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from faces.journals import opened, write_session
from faces.programs import Result, clean_environment, run, run_here
from interlock.errors import CODES
from interlock.machine import load_shipped
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.handoff import handoff
from work.attention.standings import PERSON, thread_in
from work.threads.benches import IDLE
from work.ticket_driver.ways import Way, commands, made

Ralph = Callable[..., Result]


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> Way:
    """A ticket that went the whole way to a commit; tests only look at it."""
    found = made(tmp_path_factory.mktemp("way") / "repository")
    found.walk(asks=True)
    return found


@pytest.fixture(scope="module")
def ralph(way: Way, tmp_path_factory: pytest.TempPathFactory) -> Ralph:
    environment = clean_environment(tmp_path_factory.mktemp("home"))
    return lambda *words: run_here(*words, cwd=way.root, env=environment)


@pytest.fixture(scope="module")
def thread(way: Way) -> str:
    with closing(way.open()) as journal:
        return journal.instances("thread")[0].id


@pytest.fixture
def here(repository: Path, environment: dict[str, str]) -> Ralph:
    return lambda *words: run_here(*words, cwd=repository, env=environment)


def _all(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for one in nodes for each in (one, *_all(one["below"]))]


# Status


def test_an_empty_repository_says_what_to_do_next_and_makes_nothing(here: Ralph, repository: Path) -> None:
    result = here("status")
    assert "Nothing has happened here yet" in result.out
    assert "→ ralph ticket create" in result.out
    assert here("status", "--json").data["next"][0].startswith("ralph ticket create")
    assert not (repository / ".ralf").exists()


def test_what_waits_comes_first_with_what_to_type(ralph: Ralph) -> None:
    [waits] = ralph("status", "--json").data["waiting"]
    assert (waits["of"]["number"], waits["state"], waits["is_gate"]) == (1, "In Review", True)
    lines = ralph("status").out.splitlines()
    assert lines[0].strip() == "1 waits for you"
    assert "#1 Greet people" in lines[1]
    assert f"→ {waits['command']}" in lines[3]


def test_what_is_under_way_is_a_tree_by_parents(here: Ralph, repository: Path) -> None:
    with opened(repository) as journal:
        ticket = journal.instance(_ticket(journal))
        id_ = thread_in(journal, "Drafting", parent=ticket.id)
        journal.acquire(f"thread:{id_}", process_holder(), 600, is_present)
        session = journal.transact(lambda t: t.create("session", _began(), parent=id_)).entry.instance
        write_session(journal)
    data = here("status", "--json").data
    [root] = [one for one in data["working"] if one["of"]["machine"] == "ticket"]
    [below] = root["below"]
    assert (below["of"]["id"], below["state"]) == (id_, "Drafting")
    assert below["by"]
    assert [one["of"]["id"] for one in below["below"]] == [session]
    assert len(_all(data["working"])) == 4
    shown = here("status").out
    label = load_shipped("thread").label("Drafting")
    [line] = [one for one in shown.splitlines() if f"└─ thread …{id_[-6:]}" in one]
    assert label in line
    assert f"   └─ session …{session[-6:]}" in shown
    assert data["rest"] == {}


def test_a_ticket_is_in_the_tree_only_where_something_is_open_or_it_is_held(here: Ralph, repository: Path) -> None:
    with opened(repository) as journal:
        _ticket(journal)
    data = here("status", "--json").data
    assert (data["working"], data["rest"], data["next"]) == ([], {"ticket": {"Backlog": 1}}, ["ralph work 1"])
    with opened(repository) as journal:
        journal.transact(handoff(Caller(PERSON), 1, to="Research Needed", reason="go"))
        journal.transact(handoff(Caller(PERSON), 1, command="research", intent="lock", reason="mine"))
    data = here("status", "--json").data
    assert [(one["of"]["number"], one["state"]) for one in data["working"]] == [(1, "Research in Progress")]
    assert (data["working"][0]["by"], data["rest"]) == (PERSON.id, {})


def _ticket(journal: Any) -> str:
    from interlock.work.tickets.numbers import known_ticket
    from interlock.work.tickets.verbs import create

    number = journal.transact(create(PERSON, "Greet people")).number
    return str(known_ticket(journal, number).id)


def _began() -> Any:
    from interlock.machine import Event
    from work.attention.standings import AGENT

    return Event("created", AGENT)


# Why


def test_why_tells_the_cause_of_a_tickets_move_and_its_threads(ralph: Ralph, thread: str) -> None:
    for called in ("1", "#1"):
        data = ralph("why", called, "--json").data
        assert (data["state"], data["number"]) == ("In Review", 1)
        led = data["basis"]["led_by"]
        assert (led["machine"], led["id"], led["entry"]["to_state"]) == ("thread", thread, "PendingReview")
        assert thread in [one["id"] for one in data["below"]]
        assert [one["to_state"] for one in data["way"]][:2] == ["Backlog", "Research Needed"]
        assert {one["to"] for one in data["possible"]} >= {"Done", "In Progress"}
        [waits] = ralph("status", "--json").data["waiting"]
        assert data["waits"]["command"] == waits["command"], "what leads on does not depend on who asks first"
    shown = ralph("why", "1").out
    assert f"because   thread …{thread[-6:]}" in shown
    assert "Possible next" in shown


def test_why_of_a_thread_has_its_proofs_with_the_entries_that_gave_them(ralph: Ralph, thread: str) -> None:
    data = ralph("why", thread[-6:], "--json").data
    assert (data["state"], data["outcome"], data["above"]["number"]) == ("Done", "success", 1)
    assert data["basis"]["commit"]
    assert [one["name"] for one in data["proofs"]] == ["finalize", "receipt", "approve", "commit"]
    for proof in data["proofs"]:
        at = ralph("log", thread, "--at", str(proof["version"]), "--json").data
        assert proof["hash"] in at["subjects"].values()
    assert "nothing: it has ended" in ralph("why", thread).out


@pytest.mark.sampled(0)
def test_a_ticket_waits_for_what_its_stuck_thread_needs(tmp_path: Path) -> None:
    way = made(tmp_path / "repository")
    way.settings["thread.iterations"] = 1
    way.play(*commands(), IDLE)
    way.walk(asks=True)
    environment = clean_environment(tmp_path)
    with closing(way.open()) as journal:
        id_ = journal.instances("thread")[0].id
    data = run_here("why", id_, "--json", cwd=way.root, env=environment).data
    assert data["state"] == "Stuck"
    assert data["waits"]["command"].startswith("ralph thread diagnose")
    ticket = run_here("why", "1", "--json", cwd=way.root, env=environment).data
    assert (ticket["state"], ticket["basis"]["led_by"]["id"]) == ("Human Needed", id_)
    assert ticket["waits"]["command"] == data["waits"]["command"]


# Back in time


def test_an_instance_is_told_as_it_stood_after_each_of_its_entries(ralph: Ralph, way: Way, thread: str) -> None:
    entries = way.entries(thread)
    for entry in entries:
        data = ralph("log", thread, "--at", str(entry.version), "--json").data
        assert (data["state"], data["entry"]["hash"]) == (entry.to_state, entry.hash)
        assert data["versions"] == len(entries)
    approve = next(one for one in entries if one.event == "approve")
    data = ralph("log", thread, "--at", str(approve.version), "--json").data
    assert data["basis"]["approval"]["statement"]["gate"] == "approve"
    assert ("gate or receipt", "approve") in [(one["kind"], one["name"]) for one in data["changes"]]
    shown = ralph("log", thread, "--at", str(approve.version)).out
    assert f"after entry {approve.version} of {len(entries)}" in shown
    assert "approved  the gate approve" in shown
    passed = next(one for one in entries if one.event == "criteria_passed")
    assert "receipt   passed: 2 of 2 criteria met" in ralph("log", thread, "--at", str(passed.version)).out


# Bad input


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("why",), "usage"),
        (("why", "zzzzzzzz"), "unknown_instance"),
        (("why", "77"), "unknown_ticket"),
        (("why", "#77"), "unknown_ticket"),
        (("why", "no id"), "invalid_argument"),
        (("why", ""), "invalid_argument"),
        (("log", "--at", "3"), "usage"),
        (("log", "1", "-f", "--at", "3"), "usage"),
        (("log", "1", "--at", "0"), "usage"),
        (("log", "1", "--at", "three"), "usage"),
        (("log", "1", "--at", "-1"), "usage"),
        (("log", "1", "--at", "999"), "unknown_resource"),
        (("log", "zzzzzzzz", "--at", "1"), "unknown_instance"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused_with_what_to_do(ralph: Ralph, words: tuple[str, ...], code: str) -> None:
    result = ralph(*words, "--json")
    assert (result.error["code"], result.code) == (code, CODES[code][0])
    assert result.error["hint"]


def test_an_end_that_two_share_is_ambiguous(here: Ralph, repository: Path) -> None:
    with opened(repository, randomness=b"0123456789") as journal:
        both = [write_session(journal), write_session(journal)]
    assert here("why", both[0][-6:], "--json").error["code"] == "ambiguous_instance"
    assert here("why", both[0], "--json").data["id"] == both[0]


def test_through_a_pipe_there_are_no_colours(way: Way, tmp_path: Path) -> None:
    for words in (("status",), ("why", "1"), ("log", "1", "--at", "2")):
        result = run(*words, cwd=way.root, env=clean_environment(tmp_path))
        assert result.code == 0, result.err
        assert "\x1b" not in result.out
