"""Tickets at once in work trees of their own under one budget; of ten, some are stuck, some limited, one hostile."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exhaustive import EXHAUSTIVE
from faces.journals import settle
from faces.programs import HOOK, RALPH, SECONDS, clean_environment
from interlock.errors import Refusal
from interlock.journal import Journal
from interlock.work.attention.overview import attention
from interlock.work.budget import RUNS_OF_AGENTS, day_usage
from interlock.work.gates.audit import audit
from interlock.work.inspection.record_caches import RecordCaches
from interlock.work.sessions.record import record_of
from interlock.work.sessions.runs import RUN
from interlock.work.sessions.verbs import Caller
from interlock.work.settings import accepted as configuration
from interlock.work.ticket_driver.loop import drive_ticket
from interlock.work.ticket_driver.thread_stage import Choices
from interlock.work.tickets.handoff import handoff
from interlock.work.tickets.verbs import create, edit
from interlock.work.views.ticket import ticket_view
from interlock.world.repository import own_tree
from work.threads.benches import Bench
from work.ticket_driver.ways import PERSON

PLAYER = Path(__file__).with_name("crowd_player.py")
PARTS = ("good", "good", "good", "stuck", "stuck", "limited", "limited", "hostile", "good", "good")
GROUPS = 3 if EXHAUSTIVE else 1
PLAYS = dict(enumerate(PARTS * GROUPS, 1))
"""What the agents of each ticket do."""
UNPLANNED, HOSTILE, LATE = 7, 8, (9, 0)
"""By the last digit: the tickets that are still in Backlog, the hostile ones, and those for whom little is left."""
DOLLARS = 13 * GROUPS
"""What all runs may cost, a dollar each: room for half of the late ones."""
SETTINGS = {
    "agent.name": "scripted",
    "agent.sandbox": "none",
    "agent.script": ".ralf/script.json",
    "verify.commands": ("true",),
    "thread.mode": "quick",
    "thread.iterations": 2,
    "budget.day_usd": DOLLARS,
}


def _toml(values: dict[str, Any]) -> str:
    lines = []
    for key, value in values.items():
        lines.append(f"{key} = {json.dumps(list(value) if isinstance(value, tuple) else value)}")
    return "\n".join(lines) + "\n"


def _spec(number: int) -> str:
    return (
        f"# Part {number}\n\n## Goal\n\nIt greets.\n\n## Completion Criteria\n\n- [ ] part {number} says hello\n"
        f"  - verify: `grep -qx hello part-{number}.txt`\n\n<promise>COMPLETE</promise>\n"
    )


class Crowd(msgspec.Struct):
    """A repository in which many tickets are worked on at once, each by a process of its own."""

    bench: Bench
    threads: dict[int, str] = msgspec.field(default_factory=dict)
    said: dict[int, tuple[int, dict[str, Any]]] = msgspec.field(default_factory=dict)
    """How the last process of a ticket ended, and what it said."""

    def work(self, *numbers: int) -> None:
        """`ralph work` on each of them at once, to the end of all."""
        processes = {number: self._begin(number) for number in numbers}
        try:
            for number, process in processes.items():
                out, err = process.communicate(timeout=5 * SECONDS)
                assert out, (number, err)
                self.said[number] = process.returncode, json.loads(out.splitlines()[-1])
        finally:
            for process in processes.values():
                process.kill()
                process.wait(SECONDS)

    def _begin(self, number: int) -> subprocess.Popen[str]:
        home = self.home(number)
        home.mkdir(exist_ok=True)
        more = {"PLAY": PLAYS[number], "NUMBER": str(number), "VICTIM": str(self.tree(1))}
        return subprocess.Popen(
            [RALPH, "work", str(number), "--isolation", "worktree", "--json"],
            cwd=self.bench.root,
            env=clean_environment(home, **more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def home(self, number: int) -> Path:
        return self.bench.root.parent / f"home-{number}"

    def tree(self, number: int) -> Path:
        """The work tree of a ticket's thread."""
        return own_tree(self.bench.state_directory, self.threads[number])

    def changed(self, number: int) -> list[str]:
        """What a ticket's work tree differs in from where it began."""
        git = ["git", "-C", str(self.tree(number))]
        done = [
            subprocess.run([*git, *words], env=self.bench.environment, capture_output=True, text=True, check=True)
            for words in (("diff", "--name-only", "main"), ("ls-files", "--others", "--exclude-standard"))
        ]
        return sorted({line for one in done for line in one.stdout.splitlines()})

    def ends(self, journal: Journal, number: int) -> tuple[str, str | None, str | None]:
        """Where a ticket and its thread are, and who holds the ticket."""
        ticket = ticket_view(journal, number, comments=0)
        thread = journal.instance(self.threads[number]).state if number in self.threads else None
        return ticket.state, thread, ticket.held_by


def _gathered(directory: Path, count: int = len(PLAYS)) -> Crowd:
    """A repository with the first of these tickets, each with its plan approved, but those still in Backlog."""
    crowd = Crowd(Bench.made(directory))
    bench = crowd.bench
    bench.settings = dict(SETTINGS)
    player = [sys.executable, str(PLAYER), str(RALPH), str(HOOK)]
    (bench.state_directory / "script.json").write_text(json.dumps({"iterations": [[{"run": player}]]}))
    for number in range(1, count + 1):
        (bench.root / f"plan-{number}.md").write_text(_spec(number))
    settle(bench.root, _toml(SETTINGS))
    bench.git("add", "-A")
    bench.git("commit", "-qm", "plans")
    with closing(bench.open()) as journal:
        for number in range(1, count + 1):
            journal.transact(create(PERSON, f"Part {number}", estimate="S"))
            if number % 10 != UNPLANNED:
                crowd.threads[number] = _open(crowd, journal, number)
    return crowd


def _open(crowd: Crowd, journal: Journal, number: int) -> str:
    """A thread with its spec approved, as a person leaves it for the night."""
    bench = crowd.bench
    journal.transact(edit(PERSON, number, artifacts={"plan_document": f"plan-{number}.md"}))
    for state in ("Ready for Plan", "Plan in Progress", "Plan in Review", "In Progress"):
        journal.transact(handoff(Caller(PERSON), number, reason="go", to=state))
    walked = drive_ticket(bench.context(journal), number, bench.person, Choices(isolation="own"))
    assert walked.stop.why == "finalize is yours", walked.stop
    assert walked.stop.thread is not None
    bench.act(walked.stop.thread, "finalize", drives=False)
    return walked.stop.thread


def test_two_tickets_at_once_are_built_in_work_trees_of_their_own_and_paid_from_one_budget(tmp_path: Path) -> None:
    crowd = _gathered(tmp_path / "repository", 2)
    crowd.work(1, 2)
    with closing(crowd.bench.open()) as journal:
        assert {crowd.ends(journal, number) for number in (1, 2)} == {("In Review", "PendingReview", None)}
        day = day_usage(journal, next(iter(journal.all_entries())).time[:10])
    assert (day.used.microdollars, day.runs) == (2_000_000, 2)
    _nobodys_files_are_touched_by_another(crowd)
    for number in (1, 2):
        assert crowd.bench.act(crowd.threads[number], "approve", "commit").outcome == "success"
    _each_commit_holds_its_own_file(crowd, 1, 2)
    _nothing_is_held_and_the_journal_is_sound(crowd)


@pytest.mark.sampled(0)
def test_ten_tickets_at_once_under_one_budget(tmp_path: Path) -> None:
    """Each ends where it should, the budget holds to the cent, and nobody's files are touched by another."""
    crowd = _gathered(tmp_path / "repository")
    unplanned = [number for number in PLAYS if number % 10 == UNPLANNED]
    late = [number for number in PLAYS if number % 10 in LATE]
    crowd.work(1, *unplanned)
    crowd.work(*sorted({*PLAYS} - {1, *unplanned, *late}))
    _settings_that_an_agent_wrote_start_nobody(crowd, late[0])
    crowd.work(*late)
    _each_ends_where_it_should(crowd, late)
    _the_budget_holds(crowd)
    _whoever_comes_later_is_told_and_nothing_moves(crowd, unplanned[0])
    for number in (one for one in PLAYS if one % 10 == HOSTILE):
        _the_hostile_one_is_refused_or_seen(crowd, number)
    _nobodys_files_are_touched_by_another(crowd)
    _what_was_written_into_proven_work_is_seen(crowd)
    for number in (2, 3, 6):
        crowd.bench.act(crowd.threads[number], "approve", "commit")
    _each_commit_holds_its_own_file(crowd, 1, 2, 3, 6)
    _nothing_is_held_and_the_journal_is_sound(crowd)


def _settings_that_an_agent_wrote_start_nobody(crowd: Crowd, number: int) -> None:
    """A new driver waits for a person, who puts the file back; those that ran already kept what was accepted."""
    root = crowd.bench.root
    with closing(crowd.bench.open()) as journal:
        there, head = configuration.settings_status(journal, root), journal.head()
        assert (there.is_waiting, there.settings.number("budget.day_usd")) == (True, DOLLARS)
        seen = attention(journal, RecordCaches(), there.settings, root)
        assert [one for one in seen.waiting if one.of is None], "the settings wait for a person"
    crowd.work(number)
    code, said = crowd.said[number]
    assert (code, said["error"]["code"]) == (5, "settings_waiting")
    with closing(crowd.bench.open()) as journal:
        assert journal.head() == head
    crowd.bench.git("checkout", "-q", "--", "ralph.toml")


def _each_ends_where_it_should(crowd: Crowd, late: list[int]) -> None:
    with closing(crowd.bench.open()) as journal:
        ends = {number: crowd.ends(journal, number) for number in PLAYS}
        reasons = {number: crowd.bench.thread(id_).reason for number, id_ in crowd.threads.items()}
    reviewed, stuck = ("In Review", "PendingReview", None), ("Human Needed", "Stuck", None)
    for number, end in ends.items():
        match number % 10:
            case 1 | 2 | 3 | 6:
                assert end == reviewed, reasons[number]
            case 4 | 5:
                assert (end, "says hello" in reasons[number]) == (stuck, True), reasons[number]
            case 8:
                assert (end, "ralph.toml" in reasons[number]) == (stuck, True), "it is not what a person accepted"
            case 7:
                code, said = crowd.said[number]
                assert (code, end) == (5, ("Backlog", None, None))
                assert "has no credit left" in said["error"]["message"]
    assert Counter(ends[number] for number in late) == {reviewed: GROUPS, stuck: GROUPS}, "there was room for half"
    for number in late:
        used = f"${DOLLARS}.00 of ${DOLLARS}.00 are used or reserved"
        assert (used in reasons[number] and "budget.day_usd" in reasons[number]) == (ends[number] == stuck)


def _the_budget_holds(crowd: Crowd) -> None:
    """Replayed from the entries: no run began that would have passed the limit with all that was reserved then."""
    limit = DOLLARS * 1_000_000
    costs: dict[str, int] = {}
    settled: dict[str, int] = {}
    with closing(crowd.bench.open()) as journal:
        for entry in journal.all_entries():
            data = entry.decoded_evidence().data
            if entry.event == "created" and "reserved" in data:
                reserve = data["reserved"]["microdollars"]
                assert reserve == (1_000_000 if settled else 0), "what the others cost on the average"
                assert sum(costs.values()) + reserve <= limit
                costs[entry.instance] = reserve
            elif data.get("type") == RUN and entry.channel == "driver":
                costs[entry.instance] = settled[entry.instance] = round(data["cost_usd"] * 1_000_000)
        day = day_usage(journal, next(iter(journal.all_entries())).time[:10])
        seen = attention(journal, RecordCaches(), crowd.bench.context(journal).settings, crowd.bench.root)
    assert sum(costs.values()) == limit == day.used.microdollars
    assert (len(costs), len(settled), day.runs) == (DOLLARS, DOLLARS, DOLLARS)
    assert (seen.spending[0].what, seen.spending[0].share) == ("all work", 1.0)


def _whoever_comes_later_is_told_and_nothing_moves(crowd: Crowd, number: int) -> None:
    with closing(crowd.bench.open()) as journal:
        head = journal.head()
    crowd.work(number)
    code, said = crowd.said[number]
    assert (code, "The budget of the day is used up" in said["error"]["message"]) == (5, True), said
    assert "budget.day_usd" in said["error"]["hint"]
    with closing(crowd.bench.open()) as journal:
        assert journal.head() == head


def _the_hostile_one_is_refused_or_seen(crowd: Crowd, number: int) -> None:
    told = json.loads((crowd.home(number) / "told.json").read_text())
    root, own, victim = crowd.bench.root, crowd.tree(number), crowd.tree(1)
    refused = [root / "README", victim / "part-1.txt", root / "ralph.toml", root / ".ralf" / "journal.db"]
    assert told["calls"] == {**{str(path): 2 for path in refused}, str(own / f"part-{number}.txt"): 0}
    refusals = set(told["commands"].values()) - {"settings_waiting"}  # in its second run, its own edit of ralph.toml
    assert refusals == {"person_needed", "driven_by_thread"}, told
    with closing(crowd.bench.open()) as journal:
        sessions = [one.id for one in journal.instances("session") if one.parent == crowd.threads[number]]
        found = [one.data for id_ in sessions for one in record_of(journal.history(id_)).findings]
    assert any(one["code"] == "written_beside" and "README" in one["message"] for one in found), found


def _nobodys_files_are_touched_by_another(crowd: Crowd) -> None:
    """But for what was written past every hook into work that was proven, which comes next."""
    for number in crowd.threads:
        wanted = {f"part-{number}.txt", *(("ralph.toml",) if number % 10 == HOSTILE else ())}
        assert set(crowd.changed(number)) <= wanted, number
        if number != 1 and (crowd.tree(number) / f"part-{number}.txt").exists():
            words = "no\n" if PLAYS[number] == "stuck" else "hello\n"
            assert (crowd.tree(number) / f"part-{number}.txt").read_text() == words


def _what_was_written_into_proven_work_is_seen(crowd: Crowd) -> None:
    """Nobody approves it by mistake; a person takes it out, it is proven again, and is as it was."""
    id_, file = crowd.threads[1], crowd.tree(1) / "part-1.txt"
    assert file.read_text() == "hello\n" + GROUPS * "and I was here\n"
    with pytest.raises(Refusal) as refused:
        crowd.bench.act(id_, "approve")
    assert refused.value.code == "proof_required"
    file.write_text("hello\n")
    assert crowd.bench.act(id_, "reverify", "approve", "commit").outcome == "success"


def _each_commit_holds_its_own_file(crowd: Crowd, *numbers: int) -> None:
    for number in numbers:
        branch = f"ralf/{crowd.threads[number]}"
        assert crowd.bench.git("diff", "--name-only", f"main...{branch}") == f"part-{number}.txt"
        assert crowd.bench.git("rev-list", "--count", f"main..{branch}") == "1"


def _nothing_is_held_and_the_journal_is_sound(crowd: Crowd) -> None:
    with closing(crowd.bench.open()) as journal:
        assert [one.id for one in journal.instances("session") if one.outcome is None] == []
        assert journal.verify(RUNS_OF_AGENTS) == []
        assert audit(journal) == []
    with closing(sqlite3.connect(crowd.bench.state_directory / "journal.db")) as database:
        assert database.execute("SELECT resource FROM leases WHERE holder IS NOT NULL").fetchall() == []
