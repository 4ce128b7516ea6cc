"""`ralph config`: what is in force is what a person accepted, whatever the file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from faces.journals import opened, settle
from faces.programs import run, run_in_terminal
from interlock.work.gates.audit import audit

STRICT = '[session]\nenforcement = "strict"\n'


def _in_force(repository: Path, environment: dict[str, str], key: str) -> tuple[object, str]:
    rows = run("config", "show", "--json", cwd=repository, env=environment).data["settings"]
    return next((row["value"], row["origin"]) for row in rows if row["key"] == key)


def _accept(repository: Path, environment: dict[str, str], word: str | None = "accept") -> tuple[int, str]:
    """What comes of accepting in a terminal; with no word, nothing may be asked."""
    answers = [("Type accept", f"{word}\n")] if word is not None else []
    return run_in_terminal("config", "accept", cwd=repository, env=environment, answers=answers)


def test_a_file_is_shown_and_not_used_until_a_person_accepts_it(repository: Path, environment: dict[str, str]) -> None:
    (repository / "ralph.toml").write_text(STRICT)
    assert _in_force(repository, environment, "session.enforcement") == ("observe", "default")
    told = run("config", "show", cwd=repository, env=environment)
    assert '+enforcement = "strict"' in told.out
    assert "ralph config accept" in told.err
    code, screen = _accept(repository, environment)
    assert code == 0, screen
    assert '+enforcement = "strict"' in screen
    assert _in_force(repository, environment, "session.enforcement") == ("strict", "ralph.toml")
    with opened(repository) as journal:
        assert journal.verify() == []
        assert audit(journal) == []


def test_a_change_of_what_was_accepted_waits_again(repository: Path, environment: dict[str, str]) -> None:
    settle(repository, STRICT)
    (repository / "ralph.toml").write_text('[ticket]\nplan_review = "auto"\n')
    assert _in_force(repository, environment, "session.enforcement") == ("strict", "ralph.toml")
    assert _in_force(repository, environment, "ticket.plan_review") == ("human", "default")
    (repository / "ralph.toml").unlink()
    assert _in_force(repository, environment, "session.enforcement") == ("strict", "ralph.toml")


@pytest.mark.parametrize("word", ["yes", "", "ACCEPT"])
def test_another_word_accepts_nothing(repository: Path, environment: dict[str, str], word: str) -> None:
    (repository / "ralph.toml").write_text(STRICT)
    code, _ = _accept(repository, environment, word)
    assert code == 5
    assert _in_force(repository, environment, "session.enforcement") == ("observe", "default")


@pytest.mark.parametrize("inside", [{}, {"CLAUDECODE": "1"}])
def test_nobody_without_a_terminal_and_no_agent_accepts_anything(
    repository: Path, environment: dict[str, str], inside: dict[str, str]
) -> None:
    (repository / "ralph.toml").write_text(STRICT)
    refused = run("config", "accept", "--json", cwd=repository, env=environment | inside)
    assert (refused.error["code"], refused.code) == ("person_needed", 5)
    with opened(repository) as journal:
        [trust] = journal.instances("trust")
        notes = [one.decoded_evidence().data for one in journal.history(trust.id) if one.event == "noted"]
        assert [(note["type"], note["gate"]) for note in notes] == [("gate_refused", "settings")]


def test_an_agent_in_a_terminal_accepts_nothing_either(repository: Path, environment: dict[str, str]) -> None:
    (repository / "ralph.toml").write_text(STRICT)
    code, _ = _accept(repository, environment | {"CLAUDECODE": "1"}, None)
    assert code == 5


@pytest.mark.parametrize("text", ["= nonsense", "[session]\nenforcment = 'strict'\n"])
def test_what_cannot_be_used_is_not_accepted(repository: Path, environment: dict[str, str], text: str) -> None:
    (repository / "ralph.toml").write_text(text)
    code, screen = _accept(repository, environment, None)
    assert code == 64
    assert "settings_invalid" in screen


def test_without_a_file_there_is_nothing_to_accept(repository: Path, environment: dict[str, str]) -> None:
    code, screen = _accept(repository, environment, None)
    assert code == 1
    assert "settings_missing" in screen
