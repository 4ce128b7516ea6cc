"""`ralph log`: what happened, of all or of one, and what happens while it looks."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from faces.journals import STATES, journal_file, opened, reports, tampered, write_session
from faces.programs import RALPH, SECONDS, Result, followed, run, run_here

Ralph = Callable[..., Result]
ENTRIES = 1 + len(STATES)
FORGED = "done\n     9  2026-01-01 00:00:00  thread …abcdef  PendingReview → Approved  approve  human ada (cli)"
"""A text that looks like an entry of its own when it is printed as it is."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]")


@pytest.fixture
def ralph(repository: Path, environment: dict[str, str]) -> Ralph:
    """`ralph log …` in the repository, in this process."""
    return lambda *words: run_here("log", *words, cwd=repository, env=environment)


@pytest.fixture
def sessions(repository: Path) -> list[str]:
    """Three sessions in the repository's journal; their ids."""
    with opened(repository) as journal:
        return [write_session(journal) for _ in range(3)]


# What happened


def test_where_nothing_has_happened_the_log_is_empty_and_makes_nothing(
    repository: Path, environment: dict[str, str]
) -> None:
    result = run("log", cwd=repository, env=environment)
    assert (result.code, result.out) == (0, "")
    assert "Nothing has happened" in result.err
    result = run("log", "--json", cwd=repository, env=environment)
    assert result.data == []
    assert result.err == ""
    assert not (repository / ".ralf").exists()


def test_the_log_shows_who_moved_what_from_where_to_where(
    sessions: list[str], repository: Path, environment: dict[str, str]
) -> None:
    result = run("log", cwd=repository, env=environment)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert len(lines) == 3 * ENTRIES
    for line, seq in zip(lines, range(1, 13), strict=True):
        assert re.match(rf" *{seq} +\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d ", line)
        assert f"session …{sessions[(seq - 1) // 4][-6:]} " in line
    assert all(f" {said}" in lines[2] for said in ("analyzing → implementing", "update_session_state", "agent claude"))


def test_the_log_as_json_is_every_entry_oldest_first(sessions: list[str], ralph: Ralph, repository: Path) -> None:
    entries = ralph("--json").data
    assert [one["seq"] for one in entries] == list(range(1, 13))
    with opened(repository) as journal:
        assert [one["hash"] for one in entries] == [entry.hash for entry in journal.all_entries()]
    assert entries[0]["evidence"]["data"]["ticket_id"] == "7"


@pytest.mark.parametrize("words", [["-n", "5"], ["--number", "5"], ["-n5"], ["--number=5"]], ids=" ".join)
def test_the_last_ones_are_shown_oldest_first(words: list[str], sessions: list[str], ralph: Ralph) -> None:
    assert [one["seq"] for one in ralph(*words, "--json").data] == [8, 9, 10, 11, 12]


@pytest.mark.parametrize("number", ["1000", "999999999", "9" * 40], ids=lambda number: str(len(number)))
def test_asking_for_more_than_there_is_gives_all(number: str, sessions: list[str], ralph: Ralph) -> None:
    assert len(ralph("-n", number, "--json").data) == 12


def test_the_log_is_short_unless_more_is_asked_for(repository: Path, ralph: Ralph) -> None:
    with opened(repository) as journal:
        for _ in range(15):
            write_session(journal)
    assert [one["seq"] for one in ralph("--json").data] == list(range(11, 61))


def test_the_log_is_shown_also_while_somebody_writes(sessions: list[str], ralph: Ralph, repository: Path) -> None:
    writer = apsw.Connection(str(journal_file(repository)))
    try:
        writer.execute("BEGIN IMMEDIATE")
        assert len(ralph("--json").data) == 12
    finally:
        writer.close()


# Of one instance


@pytest.mark.parametrize("length", [4, 8, 26])
def test_one_instance_is_named_by_the_end_of_its_id(length: int, sessions: list[str], ralph: Ralph) -> None:
    shown = ralph(sessions[1][-length:], "--json").data
    assert [one["seq"] for one in shown] == [5, 6, 7, 8]
    assert {one["instance"] for one in shown} == {sessions[1]}
    assert [one["seq"] for one in ralph(sessions[1][-length:], "-n", "2", "--json").data] == [7, 8]


def test_what_the_log_itself_shows_of_an_id_is_enough_to_name_it(sessions: list[str], ralph: Ralph) -> None:
    [shown] = set(re.findall(r"…(\w+)", ralph(sessions[2]).out))
    assert len(ralph(shown, "--json").data) == ENTRIES


def test_an_unknown_instance_is_named_and_the_way_to_the_ids(
    sessions: list[str], repository: Path, environment: dict[str, str]
) -> None:
    result = run("log", "zzzzzzzz", cwd=repository, env=environment)
    assert (result.code, result.out) == (1, "")
    assert "[unknown_instance]" in result.err
    assert "'zzzzzzzz'" in result.err
    assert "ralph log" in result.err


@pytest.mark.parametrize("reference", ["abc", "NO ID", "../..", "%%%%", "____", "x" * 5000], ids=lambda text: text[:9])
def test_what_can_be_no_id_is_refused(reference: str, sessions: list[str], ralph: Ralph) -> None:
    error = ralph(reference, "--json").error
    assert error["code"] == "invalid_argument"
    assert len(error["message"]) < 200
    assert error["hint"]


def test_an_ending_that_two_instances_share_is_ambiguous_and_both_are_named(repository: Path, ralph: Ralph) -> None:
    with opened(repository, randomness=b"0123456789") as journal:
        both = [write_session(journal), write_session(journal)]
    error = ralph(both[0][-6:], "--json").error
    assert error["code"] == "ambiguous_instance"
    assert all(id_ in error["message"] for id_ in both)
    assert len(ralph(both[0], "--json").data) == ENTRIES


# What happens


@pytest.mark.parametrize("option", ["-f", "--follow"])
def test_following_streams_lines_of_json_until_it_is_interrupted(
    option: str, repository: Path, environment: dict[str, str]
) -> None:
    with opened(repository) as journal:
        session = write_session(journal)
        with followed("log", option, "--json", cwd=repository, env=environment) as stream:
            assert [json.loads(stream.line())["seq"] for _ in range(ENTRIES)] == [1, 2, 3, 4]
            for seq, state in enumerate(("reviewing", "committing"), ENTRIES + 1):
                journal.append(session, reports(state))
                line = json.loads(stream.line())
                assert (line["seq"], line["to_state"], line["instance"]) == (seq, state, session)
            ended = stream.interrupt()
    assert ended.code == 130
    assert "Traceback" not in ended.err


def test_following_as_people_read_it(repository: Path, environment: dict[str, str]) -> None:
    with opened(repository) as journal:
        session = write_session(journal)
        with followed("log", "-f", "-n", "1", cwd=repository, env=environment) as stream:
            assert stream.line().split()[0] == "4"
            journal.append(session, reports("reviewing", "all tests pass"))
            assert "testing → reviewing" in stream.line()
            assert stream.line().strip() == "│ all tests pass"
            ended = stream.interrupt()
    assert ended.code == 130
    assert ended.out == ""
    assert "Traceback" not in ended.err


def test_following_one_instance_leaves_the_others_out(repository: Path, environment: dict[str, str]) -> None:
    with opened(repository) as journal:
        one, other = write_session(journal), write_session(journal)
        with followed("log", other[-8:], "-f", "--json", cwd=repository, env=environment) as stream:
            assert [json.loads(stream.line())["seq"] for _ in range(ENTRIES)] == [5, 6, 7, 8]
            journal.append(one, reports("reviewing"))
            journal.append(other, reports("committing"))
            line = json.loads(stream.line())
            assert (line["seq"], line["instance"]) == (10, other)
            assert stream.interrupt().code == 130


def test_following_may_begin_before_there_is_a_journal(repository: Path, environment: dict[str, str]) -> None:
    with followed("log", "-f", "--json", cwd=repository, env=environment) as stream:
        with pytest.raises(subprocess.TimeoutExpired):  # it goes on, although there is nothing to read
            stream.process.wait(0.6)
        assert not (repository / ".ralf").exists()
        with opened(repository) as journal:
            session = write_session(journal)
        assert [json.loads(stream.line())["seq"] for _ in range(ENTRIES)] == [1, 2, 3, 4]
        with opened(repository) as journal:
            journal.append(session, reports("reviewing"))
        assert json.loads(stream.line())["to_state"] == "reviewing"
        assert stream.interrupt().code == 130


# A journal that was tampered with


def test_the_log_of_entries_whose_instance_was_removed_is_still_shown(
    sessions: list[str], ralph: Ralph, repository: Path
) -> None:
    tampered(repository, "DELETE FROM instances WHERE id = ?", sessions[0])
    assert len(ralph("--json").data) == 12
    result = ralph()
    assert result.code == 0
    assert len(result.out.splitlines()) == 12


def test_an_entry_that_cannot_be_read_is_named(sessions: list[str], ralph: Ralph, repository: Path) -> None:
    tampered(repository, "UPDATE entries SET evidence = 'no JSON' WHERE seq = 3")
    error = ralph("--json").error
    assert error["code"] == "journal_tampered"
    assert "3" in error["message"]


# A reader that has seen enough


@pytest.mark.sampled(1)
@pytest.mark.parametrize("command", ["ralph log -n 2000", "ralph journal export", "ralph log -n 2000 --json"])
def test_a_closed_pipe_leaves_no_traceback(command: str, repository: Path, environment: dict[str, str]) -> None:
    with opened(repository) as journal:
        session = write_session(journal)
        journal.transact(
            lambda many: [many.append(session, reports(STATES[turn % 2], "x" * 500)) for turn in range(1000)]
        )
    script = f"set -o pipefail; {command} | head -c 1 >/dev/null"
    done = subprocess.run(
        ["/bin/bash", "-c", script], cwd=repository, env=environment, capture_output=True, timeout=SECONDS, check=False
    )
    assert done.stderr == b""
    assert done.returncode in (0, 141)


def test_a_stdout_that_was_closed_from_the_start_leaves_no_traceback(
    repository: Path, environment: dict[str, str]
) -> None:
    script = f"{RALPH} machine list >&-; {RALPH} machine list --json >&-; {RALPH} --version >&-"
    done = subprocess.run(
        ["/bin/bash", "-c", script], cwd=repository, env=environment, capture_output=True, timeout=SECONDS, check=False
    )
    assert b"Traceback" not in done.stderr


def test_a_full_disk_behind_stdout_is_a_failure_and_not_a_success(
    sessions: list[str], repository: Path, environment: dict[str, str]
) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [RALPH, "journal", "export"],
            cwd=repository,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


# Text that somebody else wrote


HOSTILE = ["\x1b[2J\x1b[31mred", "\x1b]0;title\x07", "\x9b31m", "a\rb", "\u202eevil", "\x08\x08", "\x7f"]


@pytest.mark.parametrize("column", ["reason", "actor_id", "event", "to_state", "from_state", "command", "channel"])
def test_control_characters_in_the_journal_never_reach_the_terminal(
    column: str, repository: Path, ralph: Ralph
) -> None:
    with opened(repository) as journal:
        write_session(journal, "because")
    for hostile in HOSTILE:
        tampered(repository, f"UPDATE entries SET {column} = ? WHERE seq = 3", hostile)
        result = ralph()
        assert result.code == 0
        assert not CONTROL.search(result.out)
        assert "⟦U+" in result.out


def test_the_same_text_is_unchanged_as_json(repository: Path, ralph: Ralph) -> None:
    with opened(repository) as journal:
        write_session(journal)
    tampered(repository, "UPDATE entries SET reason = ? WHERE seq = 3", "\x1b[31mred")
    result = ralph("--json")
    assert result.data[2]["reason"] == "\x1b[31mred"
    assert "\x1b" not in result.out


@pytest.mark.parametrize("column", ["reason", "actor_id"])
def test_nothing_that_was_written_can_pass_for_an_entry_of_its_own(column: str, repository: Path, ralph: Ralph) -> None:
    with opened(repository) as journal:
        write_session(journal, "because")
    tampered(repository, f"UPDATE entries SET {column} = ? WHERE seq = 3", FORGED)
    assert re.findall(r"^ *(\d+) +\d{4}-", ralph().out, re.MULTILINE) == ["1", "2", "3", "4"]


def test_a_reason_in_several_lines_is_one_that_the_journal_takes_and_cannot_pass_for_an_entry_either(
    repository: Path, ralph: Ralph
) -> None:
    with opened(repository) as journal:
        journal.append(write_session(journal), reports("reviewing", FORGED))
    assert re.findall(r"^ *(\d+) +\d{4}-", ralph().out, re.MULTILINE) == ["1", "2", "3", "4", "5"]
    assert ralph("--json").data[-1]["reason"] == FORGED
