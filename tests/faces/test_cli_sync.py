"""`ralph ticket sync`, and the other ticket commands while there is a board on GitHub; `ralph serve` beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from faces.programs import AUTHORIZED, SECONDS, followed, run, run_here, run_in_terminal
from interlock.work.sessions.verbs import Caller
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.tracker import ESTIMATE, PRIORITY, STATE
from work.tickets.boards import way_to
from world.github_server import TOKEN, Fault, GitHubServer

from .journals import PERSON, opened, settle

SETTINGS = """
[ticket]
tracker = "github"

[github]
repository = "acme/rocket"
project = 7
every_seconds = 1
"""


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with GitHubServer() as server:
        yield server


@pytest.fixture
def env(environment: dict[str, str], server: GitHubServer) -> dict[str, str]:
    """An environment with a token, and the address of the server that plays GitHub."""
    return {**environment, "GH_TOKEN": TOKEN, "RALPH_GITHUB_API": server.url}


@pytest.fixture
def place(repository: Path, env: dict[str, str]) -> Path:
    """A repository whose tickets are on a board that is set up."""
    settle(repository, SETTINGS)
    assert run_here("ticket", "sync", "--setup", cwd=repository, env=env).code == 0
    return repository


def _json(*words: str, cwd: Path, env: Mapping[str, str]) -> dict[str, Any]:
    data: dict[str, Any] = run_here("ticket", *words, "--json", cwd=cwd, env=env).data
    return data


def _waiting_ticket(place: Path, env: Mapping[str, str], server: GitHubServer) -> None:
    """Ticket 1 is in Research Needed, and its card in Canceled."""
    run_here("ticket", "create", "Parse dates", cwd=place, env=env)
    moved = run_here("ticket", "handoff", "1", "--to-state", "Research Needed", "--reason", "x", cwd=place, env=env)
    assert moved.code == 0, moved
    server.state.move(1, STATE, "Canceled")


def test_a_board_is_set_up_and_then_in_step(repository: Path, env: dict[str, str], server: GitHubServer) -> None:
    settle(repository, SETTINGS)
    data = _json("sync", "--setup", cwd=repository, env=env)
    assert data["set_up"] == {
        "project_url": "https://github.com/orgs/acme/projects/7",
        "created": [STATE, PRIORITY, ESTIMATE],
        "added": {},
    }
    lists = ("accepted", "restored", "made", "moved", "edited", "shown", "waiting", "trouble")
    assert {name: data[name] for name in lists} == {name: [] for name in lists}
    assert data.keys() == {"set_up", *lists}
    said = run("ticket", "sync", "--setup", cwd=repository, env=env)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[1:] == ["The tickets and the board are in step."]
    assert "everything was there" in said.out


def test_what_is_done_with_a_ticket_is_shown_at_once(place: Path, env: dict[str, str], server: GitHubServer) -> None:
    for words in (
        ("create", "Parse dates", "--priority", "P1"),
        ("edit", "1", "--estimate", "S"),
        ("comment", "1", "Hello"),
        ("handoff", "1", "--to-state", "Done", "--reason", "it works"),
    ):
        result = run_here("ticket", *words, cwd=place, env=env)
        assert (result.code, result.err) == (0, "")
    assert [server.state.value(1, name) for name in (STATE, PRIORITY, ESTIMATE)] == ["Done", "P1", "S"]
    assert (server.state.issue(1).state, len(server.state.issue(1).comments)) == ("CLOSED", 2)


def test_what_a_ticket_does_with_its_thread_is_shown_at_once(
    place: Path, env: dict[str, str], server: GitHubServer
) -> None:
    run_here("ticket", "create", "Parse dates", cwd=place, env=env)
    with opened(place) as journal:
        for state in way_to("In Progress"):
            journal.transact(handoff(Caller(PERSON), 1, to=state, reason="it is time"))
    made = run_here("thread", "new", "--ticket", "1", cwd=place, env=env)
    assert (made.code, made.err) == (0, "")
    assert server.state.value(1, STATE) == "In Progress"
    said = [one.body.splitlines()[1] for one in server.state.issue(1).comments]
    assert said == ["**Command**: none (human ada@example.org)"] * len(way_to("In Progress")) + [
        "**Command**: ralph_thread"
    ]


def test_what_was_done_there_comes_in(place: Path, env: dict[str, str], server: GitHubServer) -> None:
    issue = server.state.add_issue("Theirs")
    server.state.move(issue.number, STATE, "Ready for Plan")
    said = run_here("ticket", "sync", cwd=place, env=env)
    assert "1 came from the board: #1" in said.out
    assert "1 moved as their cards were: #1" in said.out
    assert _json("show", "1", cwd=place, env=env)["state"] == "Ready for Plan"


def test_a_move_that_needs_a_person_is_accepted_in_a_terminal(
    place: Path, env: dict[str, str], server: GitHubServer
) -> None:
    _waiting_ticket(place, env, server)
    [waiting] = _json("sync", cwd=place, env=env)["waiting"]
    assert (waiting["number"], waiting["here"], waiting["there"]) == (1, "Research Needed", "Canceled")
    refused = run_here("ticket", "sync", "--accept", "1", "--json", cwd=place, env=env)
    assert (refused.error["code"], refused.code) == ("person_needed", 5)
    code, screen = run_in_terminal("ticket", "sync", "--accept", "1", cwd=place, env={**env, "CLAUDECODE": "1"})
    assert (code, "person_needed" in screen) == (5, True)
    assert _json("show", "1", cwd=place, env=env)["state"] == "Research Needed"
    code, screen = run_in_terminal("ticket", "sync", "--accept", "1", cwd=place, env=env)
    assert (code, "#1 is now in Canceled here" in screen) == (0, True), screen
    assert _json("show", "1", cwd=place, env=env)["state"] == "Canceled"
    assert (server.state.issue(1).state, server.state.issue(1).reason) == ("CLOSED", "NOT_PLANNED")
    code, screen = run_in_terminal("ticket", "sync", "--accept", "1", cwd=place, env=env)
    assert (code, "nothing_outside" in screen) == (1, True)


def test_a_board_is_put_right_in_a_terminal(place: Path, env: dict[str, str], server: GitHubServer) -> None:
    _waiting_ticket(place, env, server)
    run_here("ticket", "sync", cwd=place, env=env)
    refused = run_here("ticket", "sync", "--restore", "1", "--json", cwd=place, env=env)
    assert refused.error["code"] == "person_needed"
    assert server.state.value(1, STATE) == "Canceled"
    code, screen = run_in_terminal("ticket", "sync", "--restore", "1", "--json", cwd=place, env=env)
    assert code == 0, screen
    assert json.loads(screen.splitlines()[-1])["data"]["restored"] == [1]
    assert server.state.value(1, STATE) == "Research Needed"


def test_what_a_person_accepts_holds_though_github_is_away(
    place: Path, env: dict[str, str], server: GitHubServer
) -> None:
    _waiting_ticket(place, env, server)
    run_here("ticket", "sync", cwd=place, env=env)
    away = {**env, "RALPH_GITHUB_API": _nowhere()}
    code, screen = run_in_terminal("ticket", "sync", "--accept", "1", cwd=place, env=away)
    assert (code, "#1 is now in Canceled here" in screen, "tracker_unreachable" in screen) == (75, True, True), screen
    assert _json("sync", cwd=place, env=env)["shown"] == [1]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ("# nothing", "tracker_unconfigured"),
        ('[ticket]\ntracker = "github"\n', "tracker_unconfigured"),
        ('[ticket]\ntracker = "github"\n[github]\nrepository = "acme/rocket"\n', "tracker_unconfigured"),
    ],
)
def test_a_board_that_is_not_configured_is_told(
    settings: str, code: str, repository: Path, env: dict[str, str]
) -> None:
    settle(repository, settings)
    result = run_here("ticket", "sync", "--json", cwd=repository, env=env)
    assert (result.error["code"], result.code) == (code, 64)


def test_without_a_token_it_says_how_to_get_one(repository: Path, environment: dict[str, str]) -> None:
    settle(repository, SETTINGS)
    result = run_here("ticket", "sync", "--json", cwd=repository, env=environment)
    assert (result.error["code"], result.code) == ("tracker_unauthorized", 4)
    made = run_here("ticket", "create", "Parse dates", cwd=repository, env=environment)
    assert (made.code, "GitHub does not show it yet" in made.err) == (0, True)


def _nowhere() -> str:
    """An address at which GitHub was, and is no longer."""
    with GitHubServer() as gone:
        return gone.url


def test_a_ticket_is_handed_on_while_github_is_away(place: Path, env: dict[str, str], server: GitHubServer) -> None:
    run_here("ticket", "create", "Parse dates", cwd=place, env=env)
    away = {**env, "RALPH_GITHUB_API": _nowhere()}
    words = ("handoff", "1", "--to-state", "Research Needed", "--reason", "x")
    result = run_here("ticket", *words, "--json", cwd=place, env=away)
    assert result.data["new_state"] == "Research Needed"
    assert "GitHub does not show it yet" in result.err
    assert _json("sync", cwd=place, env=env)["shown"] == [1]
    assert server.state.value(1, STATE) == "Research Needed"
    assert len(server.state.issue(1).comments) == 1


def test_a_ticket_that_cannot_be_shown_is_told_with_all_else_that_was_done(
    place: Path, env: dict[str, str], server: GitHubServer
) -> None:
    server.state.delete_option(PRIORITY, "P1")
    made = run_here("ticket", "create", "First", "--priority", "P1", cwd=place, env=env)
    assert (made.code, "#1 is not shown on GitHub yet" in made.err) == (0, True)
    server.state.add_issue("Theirs")
    failed = run_here("ticket", "sync", "--json", cwd=place, env=env)
    assert (failed.error["code"], failed.code) == ("tracker_failed", 1)
    report = failed.error["details"]["report"]
    assert (report["made"], [one["number"] for one in report["trouble"]]) == ([2], [1])
    shown = run_here("ticket", "sync", cwd=place, env=env)
    assert shown.code == 1
    assert "#1 could not be brought in step" in shown.out
    assert "ralph ticket sync --setup" not in shown.out
    assert run_here("ticket", "sync", "--setup", cwd=place, env=env).code == 0


# `ralph serve`


def test_a_server_keeps_in_step_by_itself_and_answers_while_github_is_away(
    place: Path, env: dict[str, str], server: GitHubServer
) -> None:
    server.start_over(server.state)
    server.fail("Items", Fault(status=401), Fault("yes", "silence"))
    with followed("serve", "--port", "0", "--json", cwd=place, env=env) as stream:
        url = json.loads(stream.line())["data"]["url"]
        server.wait_for(2, "Items")  # it fails, and then hangs
        assert httpx.get(f"{url}/healthz", headers=AUTHORIZED, verify=False, timeout=SECONDS).json()["ok"] is True
        ended = stream.interrupt()
    assert ended.code in (0, 130), ended
    server.state.add_issue("Theirs")
    with followed("serve", "--port", "0", "--json", cwd=place, env=env) as stream:
        stream.line()
        server.wait_for(1, "SetField")
        server.state.move(1, STATE, "Ready for Plan")
        server.wait_for(1, "AddComment")
        assert stream.interrupt().code in (0, 130)
    assert _json("show", "1", cwd=place, env=env)["state"] == "Ready for Plan"


def test_issues_on_the_board_are_shown_and_then_imported_once(
    place: Path, env: dict[str, str], server: GitHubServer
) -> None:
    server.state.add_issue("Crash on start")
    words = ("import", "--as", "github", "--json")
    shown = run_here(*words, "--dry-run", cwd=place, env=env).data
    assert [one["title"] for one in shown["make"]] == ["Crash on start"]
    assert not _json("list", cwd=place, env=env)
    assert run_here(*words, "--yes", cwd=place, env=env).data["made"] == [1]
    assert run_here(*words, "--yes", cwd=place, env=env).data["make"] == []
    url = "https://github.com/acme/rocket/issues/1"
    (place / "issues.json").write_text(json.dumps([{"number": 1, "title": "Crash on start", "url": url}]))
    assert run_here("import", "issues.json", "--json", cwd=place, env=env).error["code"] == "import_invalid"
