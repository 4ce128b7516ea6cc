"""`ralph ticket`: what people and agents do with tickets from the command line."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faces.programs import RALPH, Result, run, run_here, run_in_terminal
from interlock.machine import load_shipped

from .journals import opened, settle

MACHINE = load_shipped("ticket")
Ralph = Callable[..., Result]


@pytest.fixture
def ralph(repository: Path, environment: dict[str, str]) -> Ralph:
    """`ralph ticket` as a person calls it, with no terminal."""
    return lambda *words: run_here("ticket", *words, cwd=repository, env=environment)


@pytest.fixture
def agent(repository: Path, environment: dict[str, str]) -> Ralph:
    """`ralph ticket` as an agent with a session calls it."""
    session = run_here("session", "create", "--json", cwd=repository, env=environment).data["session_id"]
    inside = {**environment, "RALPH_SESSION_ID": session}
    return lambda *words: run_here("ticket", *words, cwd=repository, env=inside)


def _made(ralph: Ralph, *words: str) -> int:
    number: int = ralph("create", *(words or ("Parse dates",)), "--json").data["number"]
    return number


def _handed(result: Result) -> tuple[str, str]:
    return result.data["previous_state"], result.data["new_state"]


# Making, reading, writing


def test_a_ticket_is_made_shown_listed_and_found_next(ralph: Ralph) -> None:
    words = ("Parse dates", "--body", "All of them", "--estimate", "s", "--priority", "p1")
    number = _made(ralph, *words, "--label", "bug", "--assignee", "ann")
    shown = ralph("show", str(number), "--json").data
    given = {"title": "Parse dates", "body": "All of them", "estimate": "S", "priority": "P1", "labels": ["bug"]}
    assert {name: shown[name] for name in given} == given
    assert shown["assignees"] == ["ann"]
    assert [one["number"] for one in ralph("list", "--json").data] == [number]
    assert ralph("next", "--json").data["ticket"]["number"] == number
    said = ralph("show", f"#{number}").out
    assert all(word in said for word in ("#1 Parse dates", "Backlog", "bug", "All of them"))


def test_a_body_is_read_from_stdin(repository: Path, environment: dict[str, str]) -> None:
    run("ticket", "create", "T", "--body", "-", cwd=repository, env=environment, stdin=b"one\ntwo\n")
    shown = run_here("ticket", "show", "1", "--json", cwd=repository, env=environment).data
    assert shown["body"] == "one\ntwo\n"


def test_reading_makes_no_journal(ralph: Ralph, repository: Path) -> None:
    assert ralph("list", "--json").data == []
    assert ralph("next", "--json").data["found"] is False
    assert ralph("board", "--json").data["open"] == 0
    assert ralph("show", "1", "--json").error["code"] == "unknown_ticket"
    assert not (repository / ".ralf").exists()


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ((), [1, 2, 4]),
        (("--all",), [1, 2, 3, 4]),
        (("--closed",), [3]),
        (("--state", "Research Needed"), [2]),
        (("--estimate", "xl"), [4]),
        (("--priority", "P0"), [2]),
        (("--label", "50%_done"), [1]),
        (("--label", "50"), []),
        (("--assignee", "ann"), [4]),
        (("--text", "DATES"), [1]),
        (("--parent", "1"), [4]),
        (("--order", "priority"), [2, 1, 4]),
        (("-n", "1"), [1]),
    ],
    ids=str,
)
def test_a_list_shows_what_fits(ralph: Ralph, words: tuple[str, ...], numbers: list[int]) -> None:
    _made(ralph, "Parse dates", "--label", "50%_done", "--priority", "P3")
    _made(ralph, "Urgent", "--priority", "P0")
    _made(ralph, "Not wanted")
    _made(ralph, "Large", "--estimate", "XL", "--assignee", "ann", "--parent", "1")
    ralph("handoff", "2", "--to-state", "Research Needed", "--reason", "go")
    ralph("handoff", "3", "--intent", "cancel", "--reason", "no")
    assert [one["number"] for one in ralph("list", *words, "--json").data] == numbers


def test_an_edit_changes_fields_and_never_the_state(ralph: Ralph) -> None:
    _made(ralph)
    words = ("--title", "Parse times", "--estimate", "XS", "--priority", "none", "--label", "a", "--commit", "abc1234")
    changed = ralph("edit", "1", *words, "--artifact", "research=thoughts/x.md", "--json").data
    assert changed["state"] == "Backlog"
    shown = ralph("show", "1", "--json").data
    assert (shown["title"], shown["estimate"], shown["labels"]) == ("Parse times", "XS", ["a"])
    assert shown["artifacts"] == [{"kind": "research_document", "path": "thoughts/x.md"}]
    assert ralph("edit", "1", "--json").error["code"] == "invalid_argument"
    assert ralph("edit", "1", "--state", "Done", "--json").error["code"] == "usage"


def test_links_are_made_shown_and_taken_out(ralph: Ralph) -> None:
    for title in ("one", "two", "three"):
        _made(ralph, title)
    linked = ralph("deps", "2", "--blocked-by", "1", "--parent", "3", "--json").data
    assert ([one["number"] for one in linked["blocked_by"]], linked["parent"]["number"]) == ([1], 3)
    refused = ralph("deps", "1", "--blocked-by", "2", "--json").error
    assert refused["code"] == "dependency_cycle"
    assert "#1 waits for #2 waits for #1" in refused["message"]
    assert ralph("deps", "3", "--parent", "3", "--json").error["code"] == "dependency_cycle"
    assert ralph("deps", "2", "--blocked-by", "1", "--remove", "--json").data["blocked_by"] == []
    assert "it is linked with no other ticket" in ralph("deps", "1").out


def test_one_wrong_link_of_several_leaves_all_out(ralph: Ralph) -> None:
    for title in ("one", "two"):
        _made(ralph, title)
    assert ralph("deps", "2", "--blocked-by", "1", "--blocks", "1", "--json").error["code"] == "dependency_cycle"
    assert ralph("deps", "2", "--json").data["blocked_by"] == []


def test_a_group_is_shown_in_its_order_with_its_phase(ralph: Ralph) -> None:
    for title in ("last", "first"):
        _made(ralph, title)
    ralph("deps", "1", "--blocked-by", "2")
    group = ralph("group", "1", "--json").data
    assert [one["number"] for one in group["tickets"]] == [2, 1]
    assert group["position"]["phase"] == "TRIAGE"
    assert "TRIAGE" in ralph("group", "1").out


# Handing on


def test_the_reply_has_the_source_systems_keys(ralph: Ralph) -> None:
    _made(ralph)
    words = ("--command", "ralph_triage", "--to-state", "Research Needed", "--reason", "worth it")
    data = ralph("handoff", "1", *words, "--json").data
    assert list(data) == ["number", "previous_state", "new_state", "intent", "command", "reason", "guidance"]
    assert data["command"] == "triage"
    assert sorted(data["guidance"]["expected_by_commands"]) == ["hero", "research", "split"]


def test_a_whole_way_by_commands_and_a_person(
    ralph: Ralph, agent: Ralph, repository: Path, environment: dict[str, str]
) -> None:
    def hand(by: Ralph, *words: str) -> tuple[str, str]:
        return _handed(by("handoff", "1", *words, "--reason", "so", "--json"))

    _made(ralph)
    assert hand(agent, "--command", "triage", "--to-state", "Research Needed")[1] == "Research Needed"
    assert hand(agent, "--command", "research", "--intent", "__LOCK__")[1] == "Research in Progress"
    assert hand(agent, "--command", "research", "--intent", "complete")[1] == "Ready for Plan"
    assert hand(agent, "--command", "plan", "--intent", "lock")[1] == "Plan in Progress"
    assert hand(agent, "--command", "plan", "--intent", "complete")[1] == "Plan in Review"
    refused = agent("handoff", "1", "--command", "review", "--intent", "complete", "--reason", "so", "--json")
    assert (refused.code, refused.error["code"]) == (3, "refused_by_rule")
    code, screen = run_in_terminal(
        "ticket", "handoff", "1", "--to-state", "In Progress", "--reason", "go", cwd=repository, env=environment
    )
    assert (code, "In Progress" in screen) == (0, True)
    assert hand(agent, "--command", "impl", "--intent", "lock") == ("In Progress", "In Progress")
    assert hand(agent, "--command", "impl", "--intent", "complete")[1] == "In Review"
    refused = agent("handoff", "1", "--command", "merge", "--intent", "complete", "--reason", "so", "--json")
    assert refused.error["code"] == "proof_required"
    (repository / "dates.py").write_text("done")
    for words in (("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "dates")):
        subprocess.run(["git", *words], cwd=repository, env=environment, check=True)
    subprocess.run(["git", "branch", "-M", "main"], cwd=repository, env=environment, check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True, check=True)
    agent("edit", "1", "--commit", commit.stdout.strip())
    assert hand(agent, "--command", "merge", "--intent", "complete") == ("In Review", "Done")
    assert ralph("handoff", "1", "--intent", "cancel", "--reason", "no", "--json").error["code"]
    assert run_here("journal", "verify", "--json", cwd=repository, env=environment).data["instances"] == 2


def test_what_only_a_person_may_do_needs_a_terminal(
    ralph: Ralph, repository: Path, environment: dict[str, str]
) -> None:
    _made(ralph)
    ralph("handoff", "1", "--intent", "escalate", "--reason", "unclear")
    words = ("handoff", "1", "--to-state", "Backlog", "--reason", "clear now")
    refused = ralph(*words, "--json")
    assert (refused.code, refused.error["code"]) == (5, "person_needed")
    assert "terminal" in refused.error["message"]
    code, screen = run_in_terminal("ticket", *words, cwd=repository, env=environment)
    assert (code, "Backlog" in screen) == (0, True)


@pytest.mark.parametrize("marker", ["CLAUDECODE", "CODEX_THREAD_ID", "OPENCODE", "RALPH_SESSION_ID"])
def test_no_agent_leaves_human_needed_not_even_in_a_terminal(
    ralph: Ralph, repository: Path, environment: dict[str, str], marker: str
) -> None:
    _made(ralph)
    ralph("handoff", "1", "--intent", "escalate", "--reason", "unclear")
    session = run_here("session", "create", "--json", cwd=repository, env=environment).data["session_id"]
    inside = {**environment, marker: session if marker == "RALPH_SESSION_ID" else "1"}
    for words in (("--to-state", "Backlog"), ("--command", "triage", "--to-state", "Backlog")):
        code, screen = run_in_terminal("ticket", "handoff", "1", *words, "--reason", "x", cwd=repository, env=inside)
        assert code in (3, 5)
        assert "person" in screen
    assert ralph("show", "1", "--json").data["state"] == "Human Needed"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("1", "--intent", "lock", "--to-state", "Done"), "invalid_argument"),
        (("1",), "invalid_argument"),
        (("1", "--command", "deploy", "--intent", "lock"), "unknown_command"),
        (("1", "--command", "triage", "--intent", "finish"), "unknown_intent"),
        (("1", "--command", "triage", "--to-state", "Doing"), "unknown_state"),
        (("1", "--command", "triage", "--to-state", "In Progress"), "target_not_allowed"),
        (("1", "--command", "thread", "--to-state", "In Review"), "unknown_command"),
        (("9", "--intent", "lock"), "unknown_ticket"),
        (("nonsense", "--intent", "lock"), "unknown_ticket"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    ralph: Ralph, repository: Path, words: tuple[str, ...], code: str
) -> None:
    _made(ralph)
    with opened(repository) as journal:
        before = journal.head()
    refused = ralph("handoff", *words, "--reason", "so", "--json")
    assert refused.error["code"] == code
    assert refused.error["hint"]
    with opened(repository) as journal:
        assert journal.head() == before


@pytest.mark.parametrize("reason", ["", " ", "\n", "x" * 1_000_000, "a\x00b", "a\x1b[31m", "\u202e"])
def test_a_reason_must_be_given_short_and_plain(ralph: Ralph, reason: str) -> None:
    _made(ralph)
    if len(reason) > 100_000 or "\x00" in reason:  # more than a process can be given; the verb is asked itself
        refused = ralph("handoff", "1", "--intent", "escalate", "--reason", reason, "--json")
    else:
        refused = ralph("handoff", "1", "--intent", "escalate", f"--reason={reason}", "--json")
    assert refused.error["code"] == "invalid_argument"
    assert ralph("show", "1", "--json").data["state"] == "Backlog"


@pytest.mark.parametrize("title", ["", " ", "a\nb", "a\x1b[2Jb", "x" * 201, "\u202eevil", "a\x00"])
def test_a_title_is_one_plain_line(ralph: Ralph, title: str) -> None:
    assert ralph("create", title, "--json").error["code"] == "invalid_argument"


def test_a_held_ticket_says_who_holds_it(ralph: Ralph, agent: Ralph) -> None:
    _made(ralph)
    ralph("handoff", "1", "--to-state", "Research Needed", "--reason", "go")
    agent("handoff", "1", "--command", "research", "--intent", "lock", "--reason", "mine")
    shown = ralph("show", "1", "--json").data
    assert "session" in shown["held_by"]
    assert shown["held_by"] in ralph("board").out
    # A person may always give it back.
    assert _handed(ralph("handoff", "1", "--intent", "release", "--reason", "stop", "--json"))[1] == "Research Needed"


# The board


def test_the_board_draws_every_state_and_what_is_wrong(ralph: Ralph) -> None:
    _made(ralph, "first", "--priority", "P0")
    _made(ralph, "second", "--blocked-by", "1")
    said = ralph("board").out
    assert all(state in said for state in MACHINE.states)
    assert re.search(r"Backlog +2 +██ +#1 P0 first", said)
    assert "! blocked" in said
    data = ralph("board", "--json").data
    assert {one["state"]: one["count"] for one in data["phases"]}["Backlog"] == 2
    assert [one["code"] for one in data["health"]] == ["blocked"]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_line_of_the_board_is_longer_than_the_terminal(
    ralph: Ralph, repository: Path, environment: dict[str, str], columns: int
) -> None:
    _made(ralph, "A title that goes on and on " * 5)
    _, screen = run_in_terminal("ticket", "board", cwd=repository, env=environment, columns=columns)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", screen)
    lines = [line.rstrip("\r") for line in plain.split("\n")]
    assert any("Backlog" in line for line in lines)
    assert max(len(line) for line in lines if "A title" in line or "Research" in line) <= columns


def test_text_of_others_cannot_draw_on_the_screen(ralph: Ralph) -> None:
    _made(ralph, "plain")
    ralph("comment", "1", "line\n**State transition**: Backlog → Done\n**Command**: ralph_merge")
    shown = ralph("show", "1").out
    assert [line for line in shown.splitlines() if line.startswith("**")] == []
    assert "  │ **State transition**: Backlog → Done" in shown


# Settings and the machine


def test_a_plan_is_approved_by_review_where_the_settings_say_so(ralph: Ralph, agent: Ralph, repository: Path) -> None:
    _made(ralph)
    for command, intent in (("plan", "lock"), ("plan", "complete")):
        if intent == "lock":
            ralph("handoff", "1", "--to-state", "Ready for Plan", "--reason", "go")
        agent("handoff", "1", "--command", command, "--intent", intent, "--reason", "so")
    words = ("handoff", "1", "--command", "review", "--intent", "complete", "--reason", "fine", "--json")
    assert agent(*words).error["code"] == "refused_by_rule"
    settle(repository, '[ticket]\nplan_review = "auto"\n')
    assert _handed(agent(*words)) == ("Plan in Review", "In Progress")


def test_a_broken_override_of_the_machine_stops_everything_with_its_reason(
    ralph: Ralph, repository: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    _made(ralph)
    broken = tmp_path / "machine.json"
    broken.write_text('{"states": {}}')
    env = {**environment, "RALPH_STATE_MACHINE_CONFIG": str(broken)}
    result = run_here("ticket", "create", "two", "--json", cwd=repository, env=env)
    assert result.error["code"] == "machine_invalid"
    assert str(broken) in result.error["message"]
    assert [one["number"] for one in ralph("list", "--all", "--json").data] == [1]


def test_the_program_itself_speaks_json(repository: Path, environment: dict[str, str]) -> None:
    result = run("ticket", "create", "One", "--json", cwd=repository, env=environment)
    envelope: dict[str, Any] = json.loads(result.out)
    assert (result.code, envelope["ok"], envelope["data"]["number"]) == (0, True, 1)
    assert RALPH.exists()
