"""What the checker finds in machines that are wrong on purpose, and that it finds nothing in sound ones."""

from __future__ import annotations

import copy
import difflib
import itertools
import re
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlock.machine import SHIPPED, Accepted, Event, Evidence, Machine, Snapshot, load_file, load_shipped, step
from interlock.machine.check import FINDINGS, Finding, Report, check
from interlock.machine.form import MachineForm, State, TransitionForm
from interlock.machine.load import compile_machine

from .walks import Table, by, event_of, holds, shipped_table, table

HERE = Path(__file__).parent
SOUND = HERE / "sound.toml"

BROKEN: dict[str, tuple[str, int]] = {
    "gate_not_human": ("gate_not_human", 3),
    "gate_avoided": ("gate_avoided", 1),
    "gate_voided": ("gate_voided", 6),
    "receipt_avoided": ("receipt_avoided", 1),
    "receipt_voided": ("receipt_voided", 5),
    "trap": ("trap", 4),
    "unreachable_state": ("unreachable_state", 0),
    "dead_transition": ("dead_transition", 0),
    "ambiguous": ("ambiguous", 3),
    "gap_by_fact": ("gap", 1),
    "gap_by_counter": ("gap", 4),
    "endless": ("endless", 3),
    "unreachable_output": ("unreachable_output", 0),
    "unreachable_intent": ("unreachable_intent", 0),
}
"""Each machine in broken/, with the code of its fault and the length of the shortest way to it."""


def test_every_broken_machine_has_its_place_in_the_table_and_every_code_its_machine() -> None:
    assert {path.stem for path in (HERE / "broken").glob("*.toml")} == BROKEN.keys()
    assert {code for code, _ in BROKEN.values()} | {"too_large"} == set(FINDINGS)


def test_the_sound_machine_has_no_findings() -> None:
    report = check(load_file(SOUND))
    assert report.findings == ()
    assert report.assumptions == ()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_machine_has_its_fault_and_no_other(name: str) -> None:
    code, length = BROKEN[name]
    (finding,) = check(load_file(_broken(name))).findings
    assert (finding.code, len(finding.path)) == (code, length)
    assert finding.message


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_machine_says_what_is_wrong_and_differs_little_from_the_sound_one(name: str) -> None:
    broken, sound = (path.read_text().splitlines() for path in (_broken(name), SOUND))
    assert broken[0].startswith("# Wrong: ")
    changed = [line for line in difflib.ndiff(sound[1:], broken[1:]) if line[0] in "+-"]
    assert 0 < len(changed) <= 10


@pytest.mark.parametrize("name", BROKEN)
def test_the_way_to_a_fault_can_be_walked(name: str) -> None:
    (finding,) = check(load_file(_broken(name))).findings
    _replay(load_file(_broken(name)), table(tomllib.loads(_broken(name).read_text())), finding)


def _broken(name: str) -> Path:
    return HERE / "broken" / f"{name}.toml"


MOVE = re.compile(r"(?:↻ )?(?P<source>.+) --(?P<on>\w+) \((?P<kind>\w+)(?P<brought>.*)\)--> (?P<to>.+)")
CHANGE = re.compile(r"(?P<state>.+): the (?P<subject>\w+) is changed from outside")


def _replay(machine: Machine, table: Table, finding: Finding) -> None:
    """Walk the way of a finding with `step`, from one of the starts that the checker tries."""
    settings = table.section("settings")
    limits = {"iteration.limit": 3} if machine.name == "thread" else {}
    starts = [
        Snapshot(table.raw["initial"], settings={**limits, **dict(zip(settings, chosen, strict=True))})
        for chosen in itertools.product(*(setting["values"] for setting in settings.values()))
    ]
    assert any(_walks(machine, table, start, finding.path) for start in starts), finding


def _walks(machine: Machine, table: Table, snapshot: Snapshot, path: Iterable[str]) -> bool:
    for number, line in enumerate(path):
        event = _event(table, snapshot, line, number)
        result = step(machine, snapshot, event) if event else None
        if not isinstance(result, Accepted):
            return False
        snapshot = result.snapshot
        if not (line.endswith(f"> {snapshot.state}") or line.startswith(f"{snapshot.state}:")):
            return False
    return True


def _event(table: Table, snapshot: Snapshot, line: str, number: int) -> Event | None:
    """The event that a line of a way tells of, if the snapshot is where it begins."""
    if change := CHANGE.fullmatch(line):
        seen = Evidence(subjects={change["subject"]: f"changed in move {number}"})
        return Event("observed", by("system"), evidence=seen)
    move = MOVE.fullmatch(line)
    assert move is not None, line
    if move["on"] == "effect_settled":
        key, result = move["brought"].removeprefix(", ").split()
        return Event("effect_settled", by("system"), evidence=Evidence(data={"key": key, "result": result}))
    facts = dict(fact.split(" = ") for fact in move["brought"].split(", ")[1:])
    rows = [row for row in table.speaking(move["source"], move["on"], move["kind"]) if not row.refuses]
    fitting = [row for row in rows if row.source == snapshot.state and holds(table, row, snapshot, facts)]
    return event_of(table, fitting[0], move["kind"], snapshot, facts) if fitting else None


# The shipped machines


@cache
def _report(name: str) -> Report:
    return check(load_shipped(name))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_machine_has_no_findings(name: str) -> None:
    report = _report(name)
    assert report.findings == ()
    assert report.configurations > report.states == len(shipped_table(name).states)
    assert report.moves > report.transitions == len([row for row in shipped_table(name).rows if not row.refuses])
    assert report.digest == load_shipped(name).digest


@pytest.mark.parametrize("name", SHIPPED)
def test_the_assumptions_are_the_rows_that_say_why_they_end(name: str) -> None:
    raw = shipped_table(name).raw
    marks = {row["progress"] for row in raw["transitions"] if "progress" in row}
    said = {line.rpartition(": ")[2] for line in _report(name).assumptions if "-->" in line}
    assert said == marks
    assert any("off the path" in line for line in _report(name).assumptions) == (raw.get("enforcement") == "observe")


# Mutants of the thread: what each slip would be found as

Raw = dict[str, Any]
Mutation = Callable[[Raw], None]


def _rows(raw: Raw, on: str, source: str | None = None, kind: str | None = None) -> list[Raw]:
    found = [row for row in raw["transitions"] if row["on"] == on]
    found = [row for row in found if source is None or source == row["from"] or source in row["from"]]
    return [row for row in found if kind is None or kind in row["by"]]


def _without(raw: Raw, rows: Iterable[Raw]) -> None:
    gone = [id(row) for row in rows]
    raw["transitions"] = [row for row in raw["transitions"] if id(row) not in gone]
    for state in raw["states"].values():
        state.pop("menu", None)


def _dropped(on: str, source: str, kind: str | None = None) -> Mutation:
    return lambda raw: _without(raw, _rows(raw, on, source, kind))


def _unasked(on: str, source: str, key: str, kind: str | None = None) -> Mutation:
    def mutate(raw: Raw) -> None:
        for row in _rows(raw, on, source, kind):
            row.pop(key, None)

    return mutate


def _opened(on: str, source: str, kind: str) -> Mutation:
    def mutate(raw: Raw) -> None:
        for row in _rows(raw, on, source):
            row["by"] = [*row["by"], kind]

    return mutate


def _all_of(*mutations: Mutation) -> Mutation:
    def mutate(raw: Raw) -> None:
        for mutation in mutations:
            mutation(raw)

    return mutate


def _last_iteration_leads_nowhere(raw: Raw) -> None:
    _without(raw, [row for row in _rows(raw, "iteration_finished") if row["to"] == "Stuck"])


def _by_itself(on: str, source: str) -> Mutation:
    return _unasked(on, source, "when", "system")


GATES = [(row.on, row.source) for row in shipped_table("thread").rows if "gate" in row.raw]
SELF_PASSED = {"approve", "commit", "reconfigure", "assist"}
"""The gates on a way round which agents or the system could go for ever, were it not for the person."""

MUTANTS: dict[str, tuple[Mutation, set[str]]] = {
    **{
        f"{kind} may {on} in {source}": (
            _opened(on, source, kind),
            {"gate_not_human", "endless"} if on in SELF_PASSED else {"gate_not_human"},
        )
        for on, source in GATES
        for kind in ("agent", "system")
    },
    "commit is no gate": (_unasked("commit", "ReadyToCommit", "gate"), {"gate_avoided"}),
    "commit requires nothing": (_unasked("commit", "ReadyToCommit", "requires"), {"gate_voided", "receipt_voided"}),
    "approve is no gate": (_unasked("approve", "PendingReview", "gate"), {"unreachable_state", "dead_transition"}),
    "verifying brings no receipt": (
        _unasked("criteria_passed", "Verifying", "receipt"),
        {"unreachable_state", "dead_transition", "endless"},
    ),
    "an approval cannot be taken back": (_dropped("withdraw", "Approved"), {"trap"}),
    "no person can run a finalized spec": (_dropped("run", "Finalized", "human"), {"trap"}),
    "no person can start the loop": (_dropped("start", "Configuring", "human"), {"trap"}),
    "no person can ask for review": (_dropped("ready", "Implemented", "human"), {"trap"}),
    "run goes on by itself in any mode": (_by_itself("run", "Finalized"), {"ambiguous"}),
    "start goes on by itself in any mode": (_by_itself("start", "Configuring"), {"ambiguous"}),
    "ready goes on by itself in any mode": (_by_itself("ready", "Implemented"), {"ambiguous"}),
    "polish is not proven again": (_unasked("polished", "Polishing", "when"), {"ambiguous", "dead_transition"}),
    "reverify needs no change": (_by_itself("reverify", "Implemented"), {"ambiguous", "endless"}),
    "the last iteration leads nowhere": (_last_iteration_leads_nowhere, {"gap"}),
    "iterations are not counted": (_unasked("criteria_failed", "Verifying", "count"), {"endless"}),
    "iterations have no limit": (
        _unasked("iteration_finished", "Running", "when"),
        {"ambiguous", "endless", "dead_transition"},
    ),
    "verifiers can be stopped for ever": (_unasked("verification_stopped", "Verifying", "progress"), {"endless"}),
    "nothing pauses": (_dropped("pause", "Running"), {"unreachable_state"}),
}
"""Each slip in the thread's table that matters, with the codes it is found with."""


def _mutant(mutate: Mutation) -> tuple[Machine, Table]:
    raw = copy.deepcopy(dict(shipped_table("thread").raw))
    mutate(raw)
    assert raw != shipped_table("thread").raw
    return compile_machine(msgspec.convert(raw, MachineForm)), table(raw)


def _codes(mutate: Mutation) -> set[str]:
    return {finding.code for finding in check(_mutant(mutate)[0]).findings}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_slip_in_the_thread_is_found(name: str) -> None:
    mutate, codes = MUTANTS[name]
    machine, mutated = _mutant(mutate)
    findings = check(machine).findings
    assert {finding.code for finding in findings} == codes
    for finding in findings:
        _replay(machine, mutated, finding)


@pytest.mark.parametrize("required", ["finalize", "approve", "receipt"])
def test_what_commit_requires_is_guarded_twice(required: str) -> None:
    def forget(raw: Raw) -> None:
        _rows(raw, "commit")[0]["requires"].remove(required)

    def forget_before(raw: Raw) -> None:
        for row in raw["transitions"]:
            if row["on"] != "commit" and required in row.get("requires", []):
                row["requires"].remove(required)

    assert _codes(forget) == _codes(forget_before) == set()


@pytest.mark.parametrize(
    ("state", "ways"),
    [("Stuck", ["revise", "reconfigure", "assist"]), ("PendingReview", ["reject", "revise", "reverify"])],
)
def test_a_person_is_trapped_only_without_the_last_way_out(state: str, ways: list[str]) -> None:
    for left_out in itertools.chain.from_iterable(itertools.combinations(ways, n) for n in range(1, len(ways) + 1)):
        codes = _codes(_all_of(*(_dropped(way, state, "human") for way in left_out)))
        assert ("trap" in codes) == (len(left_out) == len(ways)), left_out


# Size


def _chain(length: int) -> Machine:
    states = {f"s{number}": State() for number in range(length)}
    last = State(terminal=True, outcome="success")
    moves = [
        TransitionForm(on="next", by=["human"], source=f"s{number}", to=f"s{number + 1}")
        for number in range(length - 1)
    ]
    form = MachineForm("chain", 1, "one after the other", "s0", {**states, f"s{length - 1}": last}, moves)
    return compile_machine(form)


def test_a_chain_of_three_thousand_states_is_sound() -> None:
    report = check(_chain(3000))
    assert report.findings == ()
    assert report.configurations == 3000


def test_what_is_too_large_to_look_at_is_said_to_be() -> None:
    machine = _chain(10)
    assert "too_large" in {finding.code for finding in check(machine, most=9).findings}
    assert check(machine, most=10).findings == ()


def test_of_many_faults_of_one_kind_a_few_are_shown() -> None:
    form = load_file(SOUND).form
    lost = {f"Lost {number}": State() for number in range(50)}
    machine = compile_machine(msgspec.structs.replace(form, states={**form.states, **lost}))
    codes = [finding.code for finding in check(machine).findings]
    assert set(codes) == {"unreachable_state"}
    assert 1 < len(codes) < 50
