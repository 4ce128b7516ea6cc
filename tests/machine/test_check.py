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

from exhaustive import EXHAUSTIVE
from interlock.errors import InvalidMachine
from interlock.machine import SHIPPED, Accepted, Event, Evidence, Machine, Snapshot, load_file, load_shipped, step
from interlock.machine.check import FINDINGS, CheckReport, Finding, check
from interlock.machine.form import Counter, Fact, MachineForm, Parent, Setting, State, TransitionForm
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
    "receipt_by_agent": ("receipt_by_agent", 2),
    "no_success": ("no_success", 0),
    "dead_end": ("dead_end", 2),
    "lock_kept": ("lock_kept", 1),
    "counts_down": ("counts_down", 0),
    "states_alike": ("states_alike", 0),
    "parent_unknown": ("parent_unknown", 0),
    "parent_cycle": ("parent_cycle", 0),
    "parent_untold": ("parent_untold", 1),
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
    (finding,) = _findings(name)
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
    (finding,) = _findings(name)
    _replay(load_file(_broken(name)), table(tomllib.loads(_broken(name).read_text())), finding)


def _broken(name: str) -> Path:
    return HERE / "broken" / f"{name}.toml"


@cache
def _findings(name: str) -> tuple[Finding, ...]:
    return check(load_file(_broken(name))).findings


MOVE = re.compile(r"(?:↻ )?(?P<source>.+) --(?P<on>\w+) \((?P<kind>\w+)(?P<brought>.*)\)--> (?P<to>.+)")
CHANGE = re.compile(r"(?P<state>.+): the (?P<subject>\w+) is changed from outside")


BEGINS = re.compile(r"in '(?P<state>.+?)'(?: with (?P<settings>.+))?")


def _replay(machine: Machine, table: Table, finding: Finding) -> None:
    """Walk the way of a finding with `step`, from where it says it begins and with the settings it names."""
    if finding.path:
        assert _walks(machine, table, _start(machine, table, finding.begins), finding.path), finding


def _start(machine: Machine, table: Table, begins: str) -> Snapshot:
    if not begins:
        assert not machine.settings, "a way has to name the settings it begins with"
        return Snapshot(table.raw["initial"])
    said = BEGINS.fullmatch(begins)
    assert said is not None, begins
    named = dict(setting.split(" = ") for setting in (said["settings"] or "").split(" and ") if setting)
    assert named.keys() == machine.settings.keys()
    numbers = {name: int(value) if name.endswith(".limit") else value for name, value in named.items()}
    return Snapshot(said["state"], settings=numbers)


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
def _report(name: str) -> CheckReport:
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
    "approve is no gate": (
        _unasked("approve", "PendingReview", "gate"),
        {"unreachable_state", "dead_transition", "no_success"},
    ),
    "verifying brings no receipt": (
        _unasked("criteria_passed", "Verifying", "receipt"),
        {"unreachable_state", "dead_transition", "endless", "no_success"},
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
}
"""Each slip in the thread's table that matters, with the codes it is found with."""


def _mutant(mutate: Mutation) -> tuple[Machine, Table]:
    raw = copy.deepcopy(dict(shipped_table("thread").raw))
    mutate(raw)
    assert raw != shipped_table("thread").raw
    return compile_machine(msgspec.convert(raw, MachineForm)), table(raw)


def _codes(mutate: Mutation) -> set[str]:
    return {finding.code for finding in check(_mutant(mutate)[0]).findings}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_slip_in_the_thread_is_found(name: str) -> None:
    mutate, codes = MUTANTS[name]
    machine, mutated = _mutant(mutate)
    findings = check(machine).findings
    assert {finding.code for finding in findings} == codes
    for finding in findings:
        _replay(machine, mutated, finding)


def test_a_pause_that_no_move_makes_is_refused_before_it_is_checked() -> None:
    with pytest.raises(InvalidMachine, match="`pause` names 'pause'"):
        _mutant(_dropped("pause", "Running"))


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
    fewest = 1 if EXHAUSTIVE else len(ways) - 1
    for left_out in itertools.chain.from_iterable(
        itertools.combinations(ways, n) for n in range(fewest, len(ways) + 1)
    ):
        codes = _codes(_all_of(*(_dropped(way, state, "human") for way in left_out)))
        assert ("trap" in codes) == (len(left_out) == len(ways)), left_out


# Mutants of the sound machine: other slips that somebody could make, or try


def _the_count_is_reset_by_whoever_counts(raw: Raw) -> None:
    raw["counters"]["attempt"]["reset_by"] = ["system"]


def _counts_are_set_back(raw: Raw) -> None:
    (row,) = [row for row in _rows(raw, "verified") if "count" in row]
    row["set"] = {"attempt": 0}
    del row["count"]


def _receipt_that_nobody_makes(raw: Raw) -> None:
    raw["receipts"]["reviewed"] = {"subject": "tree"}
    _rows(raw, "publish")[0]["requires"].append("reviewed")


def _agent_passes_by_another_event(raw: Raw) -> None:
    row = {"from": "Review", "to": "Ready", "on": "wave_through", "by": ["agent"], "gate": "approve"}
    raw["transitions"].append({**row, "requires": ["receipt"]})


def _agent_begins_behind_the_gate(raw: Raw) -> None:
    raw["starts"] = [{"state": "Ready"}]
    _rows(raw, "publish")[0]["requires"] = []


def _only_agents_act_for_the_person(raw: Raw) -> None:
    for row in _rows(raw, "approve") + _rows(raw, "reject"):
        row["by"] = ["agent"]
        row.pop("gate", None)
    del raw["gates"]
    for row in raw["transitions"]:
        row.pop("voids", None)
        row["requires"] = [name for name in row.get("requires", []) if name != "approve"]


def _ends_as_an_outcome_of_the_row(raw: Raw) -> None:
    raw["states"]["Done"]["outcome"] = "published"
    _rows(raw, "drop")[0]["outcome"] = "success"


SLIPS: dict[str, tuple[Mutation, set[str]]] = {
    "the count is reset by whoever counts": (_the_count_is_reset_by_whoever_counts, {"endless", "dead_transition"}),
    "the count is set back": (_counts_are_set_back, {"endless", "dead_transition"}),
    "a receipt is required that nobody makes": (_receipt_that_nobody_makes, {"dead_transition", "no_success"}),
    "an agent passes the gate by another event": (_agent_passes_by_another_event, {"gate_not_human"}),
    "an agent begins behind the gate": (_agent_begins_behind_the_gate, {"gate_avoided", "receipt_avoided"}),
    "only agents act where a person is waited for": (_only_agents_act_for_the_person, {"trap", "endless"}),
    "dropping it is a success": (_ends_as_an_outcome_of_the_row, {"gate_avoided", "receipt_avoided"}),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_in_the_sound_machine_is_found(name: str) -> None:
    mutate, codes = SLIPS[name]
    raw = tomllib.loads(SOUND.read_text())
    mutate(raw)
    machine = compile_machine(msgspec.convert(raw, MachineForm))
    findings = check(machine).findings
    assert codes <= {finding.code for finding in findings}
    for finding in findings:
        _replay(machine, table(raw), finding)


@pytest.mark.parametrize(
    ("parent", "code"),
    [
        (Parent("story", "task_selected", outcomes=["success", "dropped"]), None),
        (Parent("story", "task_selectd", outcomes=["success", "dropped"]), "parent_unknown"),
        (Parent("ticket", "follow", enters=["Done", "Dropped"], to="In Progress", command="thread"), None),
        (Parent("ticket", "follow", enters=["Done", "Dropped"], to="In Progres"), "parent_unknown"),
        (Parent("ticket", "follow", enters=["Done", "Dropped"], to="In Progress", command="thred"), "parent_unknown"),
        (Parent("trust", "key_revoked", outcomes=["success", "dropped"]), "parent_unknown"),
        (Parent("ticket", "follow", enters=["Done"], to="In Review"), "parent_untold"),
    ],
)
def test_what_a_machine_says_of_the_one_above_it_holds_there(parent: Parent, code: str | None) -> None:
    machine = compile_machine(msgspec.structs.replace(load_file(SOUND).form, parents=[parent]))
    assert [finding.code for finding in check(machine).findings] == ([code] if code else [])


def test_a_machine_is_not_above_itself_by_way_of_another() -> None:
    above = Parent("thread", "claims_done", outcomes=["success", "dropped"])
    form = msgspec.structs.replace(load_file(SOUND).form, name="ticket", parents=[above])
    (finding,) = check(compile_machine(form)).findings
    assert finding.code == "parent_cycle"
    assert "ticket → thread → ticket" in finding.message


def test_a_machine_that_keeps_a_record_has_no_end_and_says_so() -> None:
    form = load_shipped("trust").form
    assert check(load_shipped("trust")).findings == ()
    ending = compile_machine(msgspec.structs.replace(form, never_ends=False))
    assert {finding.code for finding in check(ending).findings} == {"no_success"}
    stopped = compile_machine(msgspec.structs.replace(form, states={"Kept": State()}, transitions=[]))
    assert {finding.code for finding in check(stopped).findings} == {"dead_end"}


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


def _of_many(settings: int = 0, facts: int = 0) -> Machine:
    """A small machine with so many settings, and facts in one condition."""
    form = _chain(2).form
    (move,) = form.transitions
    return compile_machine(
        msgspec.structs.replace(
            form,
            settings={f"s{number}": Setting(["on", "off"], "on") for number in range(settings)},
            facts={f"f{number}": Fact([str(value) for value in range(10)]) for number in range(facts)},
            transitions=[msgspec.structs.replace(move, when=" or ".join(f"f{n} == '1'" for n in range(facts)) or None)],
        )
    )


@pytest.mark.parametrize("machine", [_of_many(settings=40), _of_many(facts=30)])
def test_more_settings_or_facts_than_can_be_tried_are_too_many(machine: Machine) -> None:
    assert "too_large" in {finding.code for finding in check(machine).findings}


def _counting(counter: Counter, **fields: Any) -> Machine:
    """A machine in which a person may count for as long as they like."""
    form = _chain(2).form
    counted = TransitionForm(**{"on": "more", "by": ["human"], "source": "s0", "count": {"tries": 1}, **fields})
    return compile_machine(
        msgspec.structs.replace(form, counters={"tries": counter}, transitions=[*form.transitions, counted])
    )


@pytest.mark.parametrize(
    ("machine", "codes"),
    [
        (_counting(Counter(limit=2)), set()),
        (_counting(Counter(limit=1_000_000)), set()),
        (_counting(Counter(limit=2), count={"tries": -1}), {"counts_down"}),
        (_counting(Counter(limit=2), set={"tries": -5}), {"counts_down"}),
        (_counting(Counter(limit=2), when="tries < 150_000"), {"too_large"}),
        (_counting(Counter(limit=2, start=150_000)), {"too_large"}),
    ],
)
def test_a_counter_is_followed_a_few_steps_whichever_way_it_goes(machine: Machine, codes: set[str]) -> None:
    report = check(machine)
    assert {finding.code for finding in report.findings} == codes
    assert report.configurations < 1_100


def test_what_was_not_looked_at_is_not_said_to_be_missing() -> None:
    findings = check(_chain(10), most=5).findings
    assert {finding.code for finding in findings} == {"too_large"}
