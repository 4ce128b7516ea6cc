"""What version 0.1 wrote is opened, verified, rebuilt and continued."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from interlock.journal import open_journal
from interlock.work.driver.transcripts import newest_log, spoken, tail_of
from journal.databases import PostgresServer, dump
from work.orchestration.playing import MET, done, qualified
from work.threads.benches import STORY_MET, Steps

from .kept import PASSPHRASE, Repository, repository, unpacked

ENTRIES = {"sqlite": 737, "postgresql": 65}
"""The number of entries that each journal had when it was archived."""
SCRIPT: Steps = [{"run": ["/bin/sh", "-c", "echo hello > greeting.txt"]}, {"promise": "COMPLETE"}, {"finish": True}]
VERDICT: Steps = [{"say": "CRITERION 1: PASS\nCRITERION 2: PASS"}, {"finish": True}]


def _gate(word: str) -> tuple[str, str]:
    return (f"Type {word} and press Enter", f"{word}\n")


CONTINUED = {
    "Drafting": ("finalize", "Finalized"),
    "Assessing": ("finalize", "Finalized"),
    "Finalized": ("start", "Configuring"),
    "Preflight": ("drive", "Configuring"),
    "PreflightFailed": ("start", "Configuring"),
    "Configuring": ("run", "Implemented"),
    "Running": ("resume", "Implemented"),
    "Paused": ("resume", "Implemented"),
    "Verifying": ("drive", "Implemented"),
    "Stuck": ("assist", "Implemented"),
    "Implemented": ("review", "PendingReview"),
    "Polishing": ("polish --done", "Implemented"),
    "PendingReview": ("approve", "ReadyToCommit"),
    "Approved": ("drive", "ReadyToCommit"),
    "ReadyToCommit": ("commit", "Done"),
}
"""The next command for a thread in each state, and where it leads."""
GATES = {"finalize", "approve", "commit", "assist"}


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with unpacked(1) as found:
        for name in ("dates", "shared/repository"):
            _play(found / name, [SCRIPT], [VERDICT])
        yield found


def _play(root: Path, agent: list[Steps], judge: list[Steps]) -> None:
    """Let the agents do and say this from now on, run by run; the last of it again and again."""
    for name, iterations in (("script", agent), ("judge", judge)):
        (root / ".ralf" / f"{name}.count").unlink(missing_ok=True)
        script = {"state": f"{name}.count", "iterations": iterations}
        (root / ".ralf" / f"{name}.json").write_text(json.dumps(script))


@pytest.fixture(scope="module")
def sqlite(place: Path) -> Repository:
    return _trusted(repository(place, "dates", "home", "ids.json", "sqlite.json"))


@pytest.fixture(scope="module")
def postgresql(place: Path, postgres: PostgresServer) -> Repository:
    address = postgres.database()
    with psycopg.connect(address, autocommit=True) as server:
        server.execute((place / "journal.sql").read_bytes())
    return _trusted(
        repository(place, "shared/repository", "shared/home", "postgresql.json", RALPH_DATABASE_URL=address)
    )


def _trusted(kept: Repository) -> Repository:
    """A repository whose user was asked once whether they trust the journal of before."""
    assert kept.ralph("ticket", "create", "Unasked", "--json").error["code"] == "journal_untrusted"
    code, screen = kept.person("config", "accept", answers=[_gate("trust")])
    assert code == 0, screen
    return kept


@pytest.fixture(params=["sqlite", "postgresql"])
def kept(request: pytest.FixtureRequest) -> Repository:
    found: Repository = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def address(kept: Repository) -> Path | str:
    return kept.environment.get("RALPH_DATABASE_URL") or kept.root / ".ralf" / "journal.db"


def test_it_is_verified_with_every_approval(kept: Repository, request: pytest.FixtureRequest) -> None:
    found = kept.ralph("journal", "verify", "--json").data
    assert found["entries"] >= ENTRIES[request.node.callspec.params["kept"]], found
    assert found["signed"] > 0, found


def test_it_is_rebuilt_to_what_it_was(kept: Repository, address: Path | str) -> None:
    kept.ralph("status")  # what is only caught up with is caught up
    before = dump(address)
    assert kept.ralph("journal", "rebuild").code == 0
    after = dump(address)
    assert {name: after[name] for name in ("instances", "names", "entries")} == {
        name: before[name] for name in ("instances", "names", "entries")
    }


@pytest.mark.parametrize(
    "words", ["status", "thread list", "ticket board", "session list", "gate list", "stats", "log", "config show"]
)
def test_it_can_be_looked_at(kept: Repository, words: str) -> None:
    assert kept.ralph(*words.split(), "--json").data


@pytest.mark.parametrize("machine", ["story", "orchestrator"])
def test_the_logs_of_its_loops_are_found_though_no_session_names_them(sqlite: Repository, machine: str) -> None:
    state_directory = sqlite.root / ".ralf"
    with closing(open_journal(state_directory / "journal.db")) as journal:
        found = [newest_log(journal, state_directory, one) for one in journal.instances(machine)]
    assert any(one is not None and spoken(tail_of(state_directory, one.name), one.agent) for one in found), found


@pytest.mark.sampled(5)
@pytest.mark.parametrize("state", CONTINUED)
def test_a_thread_continues_from_every_state(sqlite: Repository, state: str) -> None:
    id_ = sqlite.ids["threads"][state]
    assert sqlite.state(id_) == state
    verb, expected = CONTINUED[state]
    code, screen = sqlite.person("thread", *verb.split(), id_, answers=[_gate(verb)] if verb in GATES else [])
    assert sqlite.state(id_) == expected, (code, screen)


def test_a_thread_whose_driver_was_killed_continues(sqlite: Repository) -> None:
    id_ = sqlite.ids["killed"]
    _, screen = sqlite.person("thread", "resume", id_)
    assert sqlite.state(id_) == "PendingReview", screen


@pytest.mark.parametrize("state", ["Done", "Abandoned"])
def test_a_thread_that_ended_stays_so(sqlite: Repository, state: str) -> None:
    code, screen = sqlite.person("thread", "resume", sqlite.ids["threads"][state])
    assert code == 3, screen


def test_the_gates_of_a_shared_journal_are_passed_with_the_key_enrolled_there(postgresql: Repository) -> None:
    id_ = postgresql.ids["review"]
    for verb in ("approve", "commit"):
        postgresql.person("thread", verb, id_, answers=[_gate(verb), ("Enter passphrase", f"{PASSPHRASE}\n")])
    assert postgresql.state(id_) == "Done"
    assert postgresql.ralph("journal", "verify", "--json").data["signed"] >= 10


def test_a_story_loop_continues_when_its_story_is_unblocked(sqlite: Repository) -> None:
    settings = sqlite.root / "ralph.toml"
    settings.write_text(f'{settings.read_text()}[story]\ntests = ["true"]\n')
    code, screen = sqlite.person("config", "accept", answers=[_gate("accept")])
    assert code == 0, screen
    subprocess.run(["git", "add", "-A"], cwd=sqlite.root, check=True)
    subprocess.run(["git", "commit", "-qm", "What the run built"], cwd=sqlite.root, check=True)
    _play(sqlite.root, [[*SCRIPT[:1], {"finish": True}]], [STORY_MET])
    code, screen = sqlite.person("story", "unblock", "story-1-2")
    assert code == 0, screen
    code, screen = sqlite.person("story", "run")
    assert code == 0, screen


def test_a_run_of_the_orchestrator_continues(sqlite: Repository) -> None:
    _play(sqlite.root, [done(2)], [qualified(2), MET])
    code, screen = sqlite.person("orchestrate", "resume", sqlite.ids["runs"]["Executing"])
    assert code == 0, screen


def test_an_open_session_has_timed_out_and_a_new_one_begins(sqlite: Repository) -> None:
    agent = replace(sqlite, environment={**sqlite.environment, "CLAUDECODE": "1"})
    for state in ("testing", "done"):
        old = agent.ralph("session", "update", "committing", "--session", sqlite.ids["sessions"][state], "--json")
        assert old.error["code"] == "session_completed"
    new = agent.ralph("session", "create", "--ticket", "2", "--json").data["session_id"]
    assert agent.ralph("session", "update", "analyzing", "--session", new).code == 0


def test_a_ticket_moves_on(sqlite: Repository) -> None:
    code, screen = sqlite.person("ticket", "handoff", "2", "--to-state", "Research Needed", "--reason", "it is next")
    assert code == 0, screen
