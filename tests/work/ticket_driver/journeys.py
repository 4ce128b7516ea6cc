"""One journey of a ticket, told once: from Backlog to Done, with each driver, on the local board and on GitHub's.

Every walk is a process of its own, which may be killed; the board on GitHub is a server that plays it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec

from faces.forking import run_module
from faces.journals import settle
from interlock.journal import Instance, Journal
from interlock.work.driver.lease_holders import is_present
from interlock.work.gates.audit import audit
from interlock.work.orchestration.replay import run_of
from interlock.work.stories.replay import loop_of
from interlock.work.threads.reading import read_thread
from interlock.work.tickets.ticket_table import TICKETS
from interlock.work.tickets.tracker import said_since
from interlock.work.tickets.verbs import create
from interlock.work.views.ticket import ticket_view
from interlock.world.github.transport import Transport
from mortality import moments_in
from work.ticket_driver.ways import NUMBER, PERSON, RALPH, Way
from work.tickets.boards import Office
from world.github_server import TOKEN, GitHubServer
from world.github_state import GitHubState

__all__ = ["BOARDS", "BUILT", "DRIVERS", "PARTS", "PLANNED", "Journey", "Leg", "journey"]

DRIVERS = ("plain", "story", "orchestrator")
BOARDS = ("local", "github")
_PREPARING = ("triage", "research", "plan")
PARTS = {
    "plain": (*_PREPARING, "implementer", "judge"),
    "story": (*_PREPARING, "story worker", "story judge", "judge"),
    "orchestrator": (*_PREPARING, "planner", "executor", "reviewer", "reviewer of all", "judge"),
}
"""What agents are asked for with each driver, in this order."""
_DRIVEN = ("thread", *DRIVERS[1:])
_PROVEN = ("Implemented", "PendingReview", "Approved", "ReadyToCommit", "Done")
_PLAYER = Path(__file__).with_name("player.py")
_TRACKER = '[ticket]\ntracker = "github"\n\n[github]\nrepository = "acme/rocket"\nproject = 7\n'


class Leg(msgspec.Struct, frozen=True):
    """What one walk brings a ticket to, when nobody kills it."""

    name: str
    asks: bool
    """Whether somebody is there to be asked."""
    why: str
    """Where it comes to rest."""


PLANNED = Leg("planned", asks=False, why="its plan is yours to approve")
BUILT = Leg("built", asks=True, why="it has ended")


class Journey(msgspec.Struct):
    """A repository with one ticket, the board, and both as they were at each stop so far."""

    directory: Path
    way: Way
    server: GitHubServer | None = None
    board: Transport | None = None
    states: dict[str, GitHubState] = msgspec.field(default_factory=dict)

    @property
    def asked(self) -> tuple[str, ...]:
        """What agents were asked for, in order."""
        return tuple((self.directory / "current" / "log").read_text().splitlines())

    def keep(self, name: str) -> None:
        """Remember everything as it is now."""
        shutil.copytree(self.directory / "current", self.directory / name, symlinks=True)
        if self.server is not None:
            self.states[name] = deepcopy(self.server.state)

    def go_back(self, name: str) -> None:
        """Have everything as it was, at the same path."""
        shutil.rmtree(self.directory / "current")
        shutil.copytree(self.directory / name, self.directory / "current", symlinks=True)
        if self.server is not None:
            self.server.start_over(deepcopy(self.states[name]))

    def walk(self, leg: Leg, driver: str, dies: int | None = None) -> tuple[int, str, str]:
        """Walk as far as it goes, or to one's death: how it ended, and what it told."""
        settings = {**self.way.settings, "thread.driver": driver}
        options = {"settings": settings, "outside": self.way.outside, "asks": leg.asks, "dies": dies}
        words = (str(self.way.root), json.dumps(options))
        return run_module("work.ticket_driver.mortal_walks", *words, env={**os.environ, **self.way.environment})

    def walk_all(self, leg: Leg, driver: str) -> list[str]:
        """Walk a leg to its end: the moments of it."""
        code, told, wrong = self.walk(leg, driver)
        assert code == 0, wrong
        assert told.startswith(leg.why), (told, wrong)
        return moments_in(told)

    def accepted(self) -> int:
        """How many answers of agents the journal has: nobody is to be asked for them again."""
        with closing(self.way.open()) as journal:
            [ticket] = journal.instances("ticket")
            passed = {one.to_state for one in journal.history(ticket.id) if one.event == "handoff"}
            count = len(passed & {"Research Needed", "Ready for Plan", "Plan in Review"})
            for one in journal.instances("thread"):
                thread = read_thread(journal, one.id)
                count += sum(run.role != "judge" for run in thread.iterations) + (one.state in _PROVEN)
            count += sum(len(loop_of(journal.history(one.id)).attempts) for one in journal.instances("story"))
            runs = [run_of(journal.history(one.id)) for one in journal.instances("orchestrator")]
            return count + sum(len(one.invocations) for one in runs)

    def found(self) -> dict[str, Any]:
        """What must be the same, however often the walk was killed."""
        with closing(self.way.open()) as journal:
            assert list(journal.verify(TICKETS)) == []
            assert audit(journal) == []
            self._assert_shown(journal)
            [ticket], sessions = journal.instances("ticket"), journal.instances("session")
            handed = [one for one in journal.history(ticket.id) if one.event in ("handoff", "follow")]
            return {
                "ticket": (ticket.state, ticket.outcome, ticket.snapshot.holder),
                "moves": [one.to_state for one in handed if one.from_state != one.to_state],
                "sessions": sorted({_place(journal, one) for one in sessions}),
                "open": [f"{kind} {one.id}" for kind in (*_DRIVEN, "session") for one in journal.open_instances(kind)],
                "held": _held(journal),
                "main": self.way.git("rev-list", "--count", "main"),
                "status": self.way.git("status", "--porcelain"),
                "threads": [self._built(journal, one.id) for one in journal.instances("thread")],
            }

    def _built(self, journal: Journal, id_: str) -> dict[str, Any]:
        thread, git = read_thread(journal, id_), self.way.git
        assert thread.baseline is not None
        gates = [one.event for one in journal.history(id_) if one.event in ("finalize", "approve", "commit")]
        above = journal.instance(thread.ticket) if thread.ticket is not None else None
        return {
            "state": (thread.state, thread.outcome, above.machine if above is not None else None),
            "gates": gates,
            "commits": git("rev-list", "--count", f"{thread.baseline.commit}..{thread.commit}"),
            "files": git("diff", "--name-only", thread.baseline.commit, str(thread.commit)).split(),
            "is merged": git("rev-parse", "main") == thread.commit,
        }

    def _assert_shown(self, journal: Journal) -> None:
        """Each move has one comment, on the board as well, and nothing there is other than the ticket is."""
        [ticket] = journal.instances("ticket")
        expected = [one.body for one in said_since(journal.history(ticket.id), 0)]
        moves = sum(one.from_state not in (None, one.to_state) for one in journal.history(ticket.id))
        assert len(set(expected)) == len(expected) >= moves > 0
        assert [one.body for one in ticket_view(journal, NUMBER, comments=1000).comments if one.is_audit] == expected
        if self.server is not None and self.board is not None:
            office = Office(journal, self.server, self.board)
            assert office.posted(NUMBER) == expected
            office.assert_in_step()
            office.quiet_sync()


def _place(journal: Journal, session: Instance) -> tuple[str, str]:
    """What a session was for, and the kind of what it is below."""
    role = journal.history(session.id)[0].decoded_evidence().data.get("role")
    return str(role), journal.instance(session.parent).machine if session.parent is not None else "nothing"


def _held(journal: Journal) -> list[str]:
    """What somebody has, or had and is gone without letting go of it: whoever is next has the leases of drivers."""
    driven = [f"{one.machine}:{one.id}" for kind in _DRIVEN for one in journal.instances(kind)]
    driven += [f"work:{one.id}" for one in journal.instances("ticket")]
    held = [one for one in (*driven, "way:prepare", "tracker:github") if journal.is_held(one, is_present)]
    return held + journal.lost("ticket:", is_present)


@contextmanager
def journey(directory: Path, board: str) -> Iterator[Journey]:
    """A ticket in Backlog, and all that is needed to bring it to its end."""
    with ExitStack() as stack:
        (directory / "current").mkdir()
        way = Way.made(directory / "current" / "repository")
        log = directory / "current" / "log"
        log.touch()
        way.settings |= {
            "agent.name": "command",
            "agent.sandbox": "none",
            "agent.command": f"{sys.executable} -I -S {_PLAYER} {RALPH} {log}",
            "agent.judge": "command",
            "thread.mode": "quick",
            "story.tests": ("true",),
        }
        made = Journey(directory, way)
        if board == "github":
            made.server = stack.enter_context(GitHubServer())
            made.board = stack.enter_context(Transport(TOKEN, url=made.server.url))
            way.outside |= {"GH_TOKEN": TOKEN, "RALPH_GITHUB_API": made.server.url}
            way.settings |= {"ticket.tracker": "github", "github.repository": "acme/rocket", "github.project": 7}
            settle(way.root, _TRACKER)
            way.git("add", "ralph.toml")
            way.git("commit", "-qm", "settings")
        with closing(way.open()) as journal:
            journal.transact(create(PERSON, "Greet people", estimate="S"))
            if made.server is not None and made.board is not None:
                Office(journal, made.server, made.board).set_up()
        made.keep("new")
        yield made
