"""People and agents at random, over the real services: Done is reached only through a person's gates.

That the machine itself has no other way is proven by `check`, which goes through every configuration of it.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from exhaustive import EXHAUSTIVE
from interlock.errors import InterlockError
from interlock.journal import Instance, Journal
from interlock.machine import ActorKind, Event, Evidence, load_shipped
from interlock.machine.check import check
from interlock.machine.states import shipped_state
from interlock.work.gates.audit import audit
from interlock.work.gates.presence import Person, at_terminal
from interlock.work.threads.driver_step import default_config
from interlock.work.threads.effects import undo_reset
from interlock.work.threads.loop import drive
from interlock.work.threads.reading import read_thread
from interlock.work.threads.record import Thread
from interlock.work.threads.verbs import act, configure, new_thread, pause, revise_spec
from work.threads.benches import AGENT, DONE, FAIL, IDLE, PASS, SPEC, WORK, Bench, Steps, shell

MACHINE = load_shipped("thread")
THEIRS = sorted({event for _, event, kind in MACHINE.rules if kind == ActorKind.HUMAN})
GATES = ("finalize", "assist", "reconfigure", "revise", "approve", "commit")
FORWARD = {
    "Drafting": "finalize",
    "Assessing": "finalize",
    "Finalized": "run",
    "PreflightFailed": "retry",
    "Configuring": "start",
    "Paused": "resume",
    "Stuck": "assist",
    "Implemented": "ready",
    "Polishing": "polished",
    "PendingReview": "approve",
    "ReadyToCommit": "commit",
}
AGENTS: dict[str, Steps] = {
    "works": DONE,
    "idles": IDLE,
    "stops half way": [*WORK, {"finish": True}],
    "commits": [*WORK, {"commit": "mine"}, *DONE[1:]],
    "promises only": DONE[1:],
    "is nowhere": [shell("git switch -q main"), *DONE],
    "has hooks": [*WORK, shell("echo exit > .git/hooks/pre-commit"), *DONE[1:]],
    "rewrites its state": [shell("sed -i s/Running/Done/ .ralf/threads/*/thread.json"), *DONE],
    "fails": [{"say": "I begin."}, {"exit": 3}],
}
JUDGES = {"passes": PASS, "fails": FAIL, "says nothing": IDLE}
FILES = st.sampled_from(["greeting.txt", "README", "new.txt", "d/x"])
WHICH = st.integers(0, 1)
LIMIT = 3
"""The most iterations that anybody chooses."""


def test_the_machine_itself_has_no_way_round_a_gate() -> None:
    assert check(MACHINE).findings == ()
    required = {name for name, gate in MACHINE.form.gates.items() if gate.required_for == "success"}
    assert required == {"finalize", "approve", "commit"}


def test_what_a_refused_verb_has_seen_is_in_the_file(tmp_path: Path) -> None:
    bench = Bench.made(tmp_path / "repository")
    id_ = bench.new(mode="quick")
    assert bench.act(id_, "finalize", "approve").state == "ReadyToCommit"
    (bench.root / "greeting.txt").write_text("hello, and more\n")
    with pytest.raises(InterlockError) as raised:
        bench.act(id_, "commit")
    assert raised.value.code == "not_allowed"
    shown = json.loads((bench.state_directory / "threads" / id_ / "thread.json").read_text())
    assert shown["phase"]["type"] == bench.thread(id_).state == "PendingReview"


class PeopleAndAgents(RuleBasedStateMachine):
    """A repository with up to two threads, and everybody who has to do with them."""

    @initialize(mode=st.sampled_from(["quick", "methodical"]))
    def begin(self, mode: str) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.time = 1_900_000_000_000_000_000
        self.bench = Bench.made(Path(self.directory.name) / "repository")
        self.bench.now = lambda: self.time
        self.bench.settings["thread.iterations"] = 2
        self.journal = self.bench.open()
        self.context = self.bench.context(self.journal)
        self.main = self.bench.git("rev-parse", "main")
        self.new(mode, "Greet")

    def teardown(self) -> None:
        if hasattr(self, "journal"):
            self.journal.close()
            self.directory.cleanup()

    def thread(self, which: int) -> Thread:
        there = self.journal.instances("thread")
        return read_thread(self.journal, there[which % len(there)].id)

    @rule(mode=st.sampled_from(["quick", "methodical"]), title=st.sampled_from(["Greet", "Greet again"]))
    @precondition(lambda self: len(self.journal.instances("thread")) < 2)
    def new(self, mode: str, title: str) -> None:
        made = new_thread(self.context, self.bench.person.actor, title, mode)
        revise_spec(self.context, made.id, self.bench.person.actor, SPEC)

    # People

    def say(self, id_: str, name: str) -> None:
        with suppress(InterlockError):
            act(self.context, id_, self.bench.person, name, reason="it was said so")
        with suppress(InterlockError):
            drive(self.context, id_)

    @rule(which=WHICH)
    def go_forward(self, which: int) -> None:
        thread = self.thread(which)
        if thread.outcome is None:
            self.say(thread.id, FORWARD.get(thread.state, "pause"))
        event(f"after a step: {self.thread(which).state}")

    @rule(which=WHICH, name=st.sampled_from(THEIRS))
    def say_anything(self, which: int, name: str) -> None:
        if name != "abandon":
            self.say(self.thread(which).id, name)

    @rule(which=WHICH, chance=st.integers(0, 5))
    def abandon(self, which: int, chance: int) -> None:
        if not chance:
            self.say(self.thread(which).id, "abandon")

    @rule(which=WHICH, limit=st.integers(1, LIMIT), mode=st.sampled_from([None, "quick", "methodical"]))
    def choose(self, which: int, limit: int, mode: str | None) -> None:
        with suppress(InterlockError):
            config = self.thread(which).config or default_config(self.context.settings)
            chosen = msgspec.structs.replace(config, iterations=limit)
            configure(self.context, self.thread(which).id, self.bench.person, chosen, mode)

    @rule(which=WHICH)
    def interrupt(self, which: int) -> None:
        with suppress(InterlockError):
            pause(self.context, self.thread(which).id, self.bench.person)

    @rule(which=WHICH)
    def undo(self, which: int) -> None:
        with suppress(InterlockError):
            undo_reset(self.context, self.thread(which))

    @rule(name=FILES, text=st.sampled_from(["hello\n", "bye\n"]))
    def edit(self, name: str, text: str) -> None:
        path = self.bench.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    @rule()
    def clean(self) -> None:
        self.bench.git("stash", "-q", "-u")

    @rule()
    def commit_on_main(self) -> None:
        tree = self.bench.git("rev-parse", "main^{tree}")
        self.main = self.bench.git("commit-tree", tree, "-p", "main", "-m", "theirs")
        if self.bench.git("symbolic-ref", "HEAD") == "refs/heads/main":
            self.bench.git("reset", "-q", "--soft", self.main)
        else:
            self.bench.git("update-ref", "refs/heads/main", self.main)

    @rule(seconds=st.integers(-86_400, 86_400))
    def time_goes_by(self, seconds: int) -> None:
        self.time += seconds * 1_000_000_000

    @rule(command=st.sampled_from(["true", "grep -q hello greeting.txt", "false"]))
    def verify_by(self, command: str) -> None:
        self.bench.settings["verify.commands"] = (command,)
        self.context = self.bench.context(self.journal)

    # Agents

    @rule(agent=st.sampled_from(sorted(AGENTS)), judge=st.sampled_from(sorted(JUDGES)))
    def others_work(self, agent: str, judge: str) -> None:
        self.bench.play(AGENTS[agent])
        self.bench.judge(JUDGES[judge])

    @rule(which=WHICH, name=st.sampled_from(THEIRS))
    def an_agent_says(self, which: int, name: str) -> None:
        id_, before = self.thread(which).id, self.thread(which).state
        agent = Person(AGENT, lambda: at_terminal({"CLAUDECODE": "1"}, self.bench.root), lambda: True)
        with pytest.raises(InterlockError):
            act(self.context, id_, agent, name, reason="I think so")
        assert self.thread(which).state in (before, "PendingReview"), "at most, what it changed was seen"

    @rule(which=WHICH, name=st.sampled_from(GATES), kind=st.sampled_from([AGENT, None]))
    def an_agent_writes(self, which: int, name: str, kind: Any) -> None:
        """An agent that has the journal itself, and forges what a person would bring."""
        thread = self.thread(which)
        subjects = {"tree": self.bench.git("rev-parse", "HEAD^{tree}")} if name in ("approve", "commit") else {}
        actor = kind or msgspec.structs.replace(AGENT, kind=ActorKind.SYSTEM)
        forged = Event(name, actor, reason="forged", evidence=Evidence(subjects=subjects, data={"approval": {}}))
        is_possible = (thread.state, name, actor.kind) in MACHINE.rules
        if not is_possible:
            with pytest.raises(InterlockError):
                self.journal.append(thread.id, forged)

    @rule(which=WHICH, state=st.sampled_from(["Done", "Approved", "Drafting"]))
    def somebody_edits_the_file(self, which: int, state: str) -> None:
        thread = self.thread(which)
        path = self.bench.state_directory / "threads" / thread.id / "thread.json"
        said = json.loads(path.read_text())
        path.write_text(json.dumps({**said, "phase": {"type": state}}))
        with suppress(InterlockError):
            drive(self.context, thread.id)

    # What always holds

    def each(self) -> list[tuple[Thread, Instance]]:
        if not hasattr(self, "journal"):
            return []
        return [(read_thread(self.journal, one.id), one) for one in self.journal.instances("thread")]

    @invariant()
    def the_file_says_what_the_journal_says(self) -> None:
        for thread, one in self.each():
            shown = json.loads((self.bench.state_directory / "threads" / one.id / "thread.json").read_text())
            assert shown["phase"]["type"] == one.state == thread.state

    @invariant()
    def done_is_what_people_decided_of_this_very_tree(self) -> None:
        for thread, one in self.each():
            if one.state != "Done":
                continue
            event("Done")
            proofs, tree = one.snapshot.proofs, self.bench.git("rev-parse", f"{thread.commit}^{{tree}}")
            assert proofs["approve"] == proofs["commit"] == proofs["receipt"] == tree
            assert thread.revision is not None
            assert proofs["finalize"] == thread.revision.sha256
            assert thread.receipt is not None
            assert (thread.receipt["tree"], thread.receipt["spec"]) == (tree, thread.revision.sha256)
            passed = {entry.event: entry for entry in _gates(self.journal, one.id)}
            assert {"finalize", "approve", "commit"} <= passed.keys()

    @invariant()
    def nobody_but_a_person_passes_a_gate(self) -> None:
        for _, one in self.each():
            assert {entry.actor_kind for entry in _gates(self.journal, one.id)} <= {"human"}

    @invariant()
    def the_users_branch_is_where_they_put_it(self) -> None:
        if hasattr(self, "journal"):
            assert self.bench.git("rev-parse", "main") == self.main

    @invariant()
    def the_journal_holds(self) -> None:
        if hasattr(self, "journal"):
            assert list(self.journal.verify()) == []
            assert audit(self.journal) == []

    @invariant()
    def one_thread_has_the_work_tree(self) -> None:
        there = [thread.place for thread, one in self.each() if shipped_state("thread", one.state).tree]
        assert len(there) <= 1

    @invariant()
    def iterations_are_limited(self) -> None:
        for _, one in self.each():
            assert one.snapshot.counters.get("iteration", 1) <= LIMIT


def _gates(journal: Journal, id_: str) -> list[Any]:
    """The entries that passed a gate: those with an approval, and those that could not be made without."""
    found = journal.history(id_)
    return [one for one in found if "approval" in one.decoded_evidence().data or one.event in ("approve", "commit")]


@pytest.mark.exhaustive
def test_people_and_agents_at_random_never_get_round_a_gate() -> None:
    run_state_machine_as_test(
        PeopleAndAgents,
        settings=settings(
            max_examples=100 if EXHAUSTIVE else 5,
            stateful_step_count=40 if EXHAUSTIVE else 25,
            suppress_health_check=list(HealthCheck),
            derandomize=not EXHAUSTIVE,
        ),
    )
