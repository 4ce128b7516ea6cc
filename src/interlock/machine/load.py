"""From a machine file to a machine: read, convert, expand, index; every problem of a file named at once."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from interlock.errors import InvalidMachine, NotFound
from interlock.machine.condition import Condition, ConditionError, Term, compile_condition
from interlock.machine.form import NAME, WORD, Command, Intent, MachineForm, Proof, RefusalForm, State, TransitionForm
from interlock.machine.model import BUILTIN, Key, Machine, Rule, Transition

__all__ = ["SHIPPED", "compile_machine", "definition_path", "load_file", "load_shipped", "makes", "parse", "read_text"]

SHIPPED = ("ticket", "thread", "story", "orchestrator", "session")
"""The machines that come with Interlock, the outermost first."""

_MAX_BYTES = 8 * 1024 * 1024
_MAX_COUNT = 1_000_000


def definition_path(name: str) -> Path:
    """Where the definition of a shipped machine lies."""
    if name not in SHIPPED:
        raise NotFound("unknown_machine", f"There is no machine {name!r}.", f"The machines are {', '.join(SHIPPED)}.")
    return Path(str(resources.files("interlock.machine") / "definitions" / f"{name}.toml"))


@cache
def load_shipped(name: str) -> Machine:
    """A machine that comes with Interlock, by name."""
    return load_file(definition_path(name))


def load_file(path: Path) -> Machine:
    """Load a machine from a TOML file."""
    return compile_machine(parse(read_text(path), where=str(path)))


def read_text(path: Path) -> str:
    """The text of a machine's file, refused where it is unreadable or far too large."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise InvalidMachine(
            "machine_unreadable", f"{path}: {error.strerror}.", "Give the path of a machine's file."
        ) from None
    if len(content) > _MAX_BYTES:
        raise InvalidMachine("machine_unreadable", f"{path} is larger than 8 MiB.", "A machine file is a table.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidMachine("machine_unreadable", f"{path} is not UTF-8: {error}.", "Save it as UTF-8.") from None


def parse(text: str, where: str = "the machine") -> MachineForm:
    """Read TOML text as the form of a machine file."""
    try:
        return msgspec.convert(tomllib.loads(text), MachineForm)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidMachine("machine_unreadable", f"{where} is no TOML: {error}.", "Mend the line it names.") from None
    except msgspec.ValidationError as error:
        raise InvalidMachine(
            "machine_invalid",
            f"{where} is no machine: {error}.",
            "`ralph machine schema` prints the JSON Schema of a machine file.",
        ) from None


def compile_machine(form: MachineForm) -> Machine:
    """Expand and index a form, or refuse it with every problem it has."""
    return _Compiler(form).machine()


class _Compiler:
    """Builds one machine and collects what is wrong with its form."""

    def __init__(self, form: MachineForm) -> None:
        self.form = form
        self.problems: list[str] = []
        self.proofs: dict[str, Proof] = {**form.gates, **form.receipts}
        self.terms = self._terms()
        self.facts_of: dict[str, set[str]] = {}

    def machine(self) -> Machine:
        self._check_names()
        rows = [(row, transition) for row in self.form.transitions for transition in self._expand(row)]
        made = [self._rule(row, transition) for row, transition in rows]
        rules: dict[Key, list[Rule]] = {}
        for rule, (_, transition) in zip(made, rows, strict=True):
            for kind in transition.by:
                rules.setdefault((transition.source, transition.on, kind), []).append(rule)
        for refusal in self.form.refusals:
            rule = self._refusal(refusal)
            for source in self._sources(refusal):
                for kind in refusal.by:
                    rules.setdefault((source, refusal.on, kind), []).append(rule)
        self._check_commands([transition for _, transition in rows])
        self._refuse_problems()
        return self._assemble([transition for _, transition in rows], made, rules)

    def _assemble(self, transitions: list[Transition], made: list[Rule], rules: Mapping[Key, list[Rule]]) -> Machine:
        form = self.form
        targets: dict[str, set[str]] = {name: set() for name, event in form.events.items() if event.targeted}
        outgoing: dict[str, list[tuple[Transition, Condition | None]]] = {name: [] for name in form.states}
        actors: dict[str, set[str]] = {}
        for rule, transition in zip(made, transitions, strict=True):
            outgoing[transition.source].append((transition, rule.condition))
            actors.setdefault(transition.on, set()).update(transition.by)
            if transition.on in targets:
                targets[transition.on].add(transition.to)
        limits: dict[str, int | str] = {f"{name}.limit": counter.limit for name, counter in form.counters.items()}
        return Machine(
            form=form,
            digest=hashlib.sha256(msgspec.json.encode(form, order="sorted")).hexdigest(),
            transitions=tuple(transitions),
            rules={key: tuple(found) for key, found in rules.items()},
            plain=_plain(rules),
            outgoing={name: tuple(found) for name, found in outgoing.items()},
            by_id={one.id: rule for rule, one in zip(made, transitions, strict=True) if one.after_effects},
            actors={name: frozenset(found) for name, found in actors.items()},
            targets={name: frozenset(found) for name, found in targets.items()},
            event_facts={name: frozenset(found) for name, found in self.facts_of.items()},
            proofs=self.proofs,
            settings={**limits, **{name: setting.default for name, setting in form.settings.items()}},
            observes=form.enforcement == "observe",
        )

    def _refuse_problems(self) -> None:
        if not self.problems:
            return
        shown = self.problems[:20]
        rest = len(self.problems) - len(shown)
        lines = "".join(f"\n  - {problem}" for problem in shown) + (f"\n  - and {rest} more" if rest else "")
        raise InvalidMachine(
            "machine_invalid",
            f"The machine {self.form.name!r} does not hold together:{lines}",
            "Mend these rows of the file, then run `ralph machine check FILE`.",
        )

    # What may be named

    def _terms(self) -> dict[str, Term]:
        terms: dict[str, Term] = {
            "held": Term(bool, lambda snapshot, evidence: snapshot.holder is not None),
            "task": Term(bool, lambda snapshot, evidence: snapshot.task is not None),
        }
        for name, counter in self.form.counters.items():
            self._add(terms, name, _counter_term(name, counter.start, counter.per))
            self._add(terms, f"{name}.limit", _limit_term(name, counter.limit))
        for name, fact in self.form.facts.items():
            self._add(terms, name, _fact_term(name, fact.default, fact.values))
        for name, setting in self.form.settings.items():
            self._add(terms, name, _setting_term(name, setting.default, setting.values))
        for name in self.proofs:
            self._add(terms, f"{name}.valid", _proof_term(name))
        return terms

    def _add(self, terms: dict[str, Term], name: str, term: Term) -> None:
        if name in terms:
            self.problems.append(f"{name!r} is the name of two things")
        terms[name] = term

    def _check_patterns(self) -> None:
        form = self.form
        tables: list[Iterable[str]] = [form.counters, form.gates, form.receipts, form.facts, form.settings]
        tables += [form.commands, form.intents, [form.name], [row.on for row in form.transitions]]
        named = [name for table in tables for name in table]
        self.problems += [f"{name[:80]!r} is no name: use a-z, 0-9 and _" for name in named if not WORD.fullmatch(name)]
        self.problems += [
            f"states: {name[:80]!r} is no name of a state: use letters, digits, spaces, - and _, at most 64"
            for name in form.states
            if not NAME.fullmatch(name)
        ]
        for name, counter in form.counters.items():
            if not 0 <= counter.start <= _MAX_COUNT or not 0 <= counter.limit <= _MAX_COUNT:
                self.problems.append(f"counters.{name}: `start` and `limit` are numbers from 0 to {_MAX_COUNT}")
        rows: list[TransitionForm | RefusalForm] = [*form.transitions, *form.refusals]
        for row in rows:
            if row.on in BUILTIN:
                self.problems.append(f"{row.on!r} is an event that every machine has; call yours something else")
            if not row.by:
                self.problems.append(f"{row.on} from {row.source}: `by` names nobody")

    def _check_names(self) -> None:
        form = self.form
        self._check_patterns()
        self._state(form.initial, "initial")
        for start in form.starts:
            self._state(start.state, "starts")
        for both in form.gates.keys() & form.receipts.keys():
            self.problems.append(f"{both!r} is both a gate and a receipt")
        for name, setting in form.settings.items():
            if setting.default not in setting.values:
                self.problems.append(f"settings.{name}: the default {setting.default!r} is none of its values")
        for name, fact in form.facts.items():
            if fact.default is not None and fact.default not in fact.values:
                self.problems.append(f"facts.{name}: the default {fact.default!r} is none of its values")
        for name, state in form.states.items():
            self._check_state(name, state)

    def _check_state(self, name: str, state: State) -> None:
        subjects = {proof.subject for proof in self.proofs.values()}
        for subject in state.changes:
            if subject not in subjects:
                self.problems.append(f"states.{name}: nothing is proven of {subject!r}, so `changes` means nothing")
        if state.outcome and not state.terminal:
            self.problems.append(f"states.{name}: only a terminal state has an outcome")
        if state.terminal and (state.human or state.lock):
            self.problems.append(f"states.{name}: a terminal state is no lock and waits for nobody")
        for item in state.menu:
            if item.on and not any(row.on == item.on for row in self.form.transitions):
                self.problems.append(f"states.{name}: the menu names the event {item.on!r}, which does not exist")

    def _state(self, name: str, where: str) -> bool:
        if name in self.form.states:
            return True
        self.problems.append(f"{where}: there is no state {name!r}")
        return False

    # Rows

    def _sources(self, row: TransitionForm | RefusalForm) -> Iterator[str]:
        where = f"{row.on} from {row.source}"
        flags = {"lock", "human"}
        for excepted in row.except_:
            if excepted not in flags:
                self._state(excepted, where)
        if row.source == "*":
            for name, state in self.form.states.items():
                if not state.terminal and not _excepted(name, state, row.except_):
                    yield name
            return
        if row.except_:
            self.problems.append(f"{where}: `except` goes with from = '*'")
        for name in [row.source] if isinstance(row.source, str) else row.source:
            if self._state(name, where):
                if self.form.states[name].terminal:
                    self.problems.append(f"{where}: {name!r} is terminal, nothing leads out of it")
                yield name

    def _expand(self, row: TransitionForm) -> Iterator[Transition]:
        self._check_row(row)
        targets = [row.to] if isinstance(row.to, str) else row.to
        for source in self._sources(row):
            for to in targets or [source]:
                if self._state(to, f"{row.on} from {source!r}"):
                    yield self._transition(row, source, to)

    def _transition(self, row: TransitionForm, source: str, to: str) -> Transition:
        return Transition(
            source=source,
            to=to,
            on=row.on,
            by=tuple(row.by),
            gate=row.gate,
            receipt=row.receipt,
            when=row.when,
            added=row.added,
            needs=tuple(row.needs),
            requires=tuple(row.requires),
            voids=tuple(row.voids),
            count=row.count,
            set=row.set,
            selects=row.selects is not None,
            releases=tuple(row.releases),
            holds=row.holds,
            any_holder=row.any_holder,
            commands=tuple(self._commands(row, source, to)),
            effects=tuple(row.effects),
            after_effects=row.moves == "after_effects",
            outcome=row.outcome,
            off_path=row.off_path,
            progress=row.progress,
            trigger=row.trigger,
            action=row.action,
        )

    def _check_row(self, row: TransitionForm) -> None:
        where = f"{row.on} from {row.source}"
        known: list[tuple[str, Collection[str], Iterable[str]]] = [
            ("gate", self.form.gates, [row.gate] if row.gate else []),
            ("receipt", self.form.receipts, [row.receipt] if row.receipt else []),
            ("requires", self.proofs, row.requires),
            ("voids", self.proofs, row.voids),
            ("count", self.form.counters, row.count),
            ("set", self.form.counters, row.set),
            ("command", self.form.commands, [row.command] if row.command else []),
        ]
        for field, names, given in known:
            self.problems += [
                f"{where}: `{field}` names {name!r}, which does not exist" for name in given if name not in names
            ]
        if isinstance(row.to, list) and not self._targeted(row.on):
            self.problems.append(
                f"{where}: only a targeted event ([events.{row.on}] targeted = true) has several targets"
            )
        if row.moves == "after_effects" and not row.effects:
            self.problems.append(f"{where}: it moves after its effects and has none")
        if len(set(row.by)) != len(row.by):
            self.problems.append(f"{where}: `by` names an actor twice")

    def _targeted(self, event: str) -> bool:
        return event in self.form.events and self.form.events[event].targeted

    def _condition(self, text: str | None, event: str, where: str) -> Condition | None:
        if text is None:
            return None
        try:
            condition = compile_condition(text, self.terms)
        except ConditionError as error:
            self.problems.append(f"{where}: {error}")
            return None
        self.facts_of.setdefault(event, set()).update(condition.names & self.form.facts.keys())
        return condition

    def _rule(self, row: TransitionForm, transition: Transition) -> Rule:
        source, to = self.form.states[transition.source], self.form.states[transition.to]
        condition = self._condition(row.when, row.on, f"{row.on} from {transition.source!r}")
        outcome = (transition.outcome or to.outcome or to.label or transition.to) if to.terminal else None
        voided = [name for name, proof in self.proofs.items() if proof.subject in to.changes]
        resets = any(set(counter.reset_by) & set(transition.by) for counter in self.form.counters.values())
        asks = transition.gate or transition.receipt or transition.needs or transition.requires or transition.commands
        does = transition.count or transition.set or transition.selects or transition.releases or transition.voids
        return Rule(
            transition=transition,
            because=None,
            to=transition.to if self._targeted(transition.on) else None,
            condition=condition,
            plain=not (asks or does or resets or to.changes or outcome or source.lock or transition.holds)
            and not transition.effects
            and condition is None
            and not transition.off_path,
            outcome=outcome,
            voided=(*voided, *transition.voids),
            unknown=tuple(to.changes),
        )

    def _refusal(self, row: RefusalForm) -> Rule:
        condition = self._condition(row.when, row.on, f"the refusal of {row.on}")
        return Rule(None, row.because, row.to, condition, plain=False, outcome=None, voided=(), unknown=())

    # Commands

    def _commands(self, row: TransitionForm, source: str, to: str) -> Iterator[str]:
        if row.command:
            yield row.command
            return
        if any(intent.event == row.on for intent in self.form.intents.values()):
            for name, command in self.form.commands.items():
                if not command.internal and makes(command, self.form.intents, row, source, to):
                    yield name

    def _check_commands(self, transitions: Iterable[Transition]) -> None:
        form = self.form
        for name, command in form.commands.items():
            for state in [*command.inputs, *command.outputs, *([command.lock] if command.lock else [])]:
                self._state(state, f"commands.{name}")
        for name, intent in form.intents.items():
            for command_name in [*intent.commands.keys() - {"*"}, *intent.ambiguous, *intent.unsupported]:
                if command_name not in form.commands:
                    self.problems.append(f"intents.{name}: there is no command {command_name!r}")
            for target in intent.commands.values():
                self._state(target, f"intents.{name}")
            if not any(row.on == intent.event for row in form.transitions):
                self.problems.append(f"intents.{name}: there is no event {intent.event!r}")
        commanded = {intent.event for intent in form.intents.values()}
        for transition in transitions:
            if transition.on in commanded and not transition.commands and set(transition.by) & {"agent"}:
                self.problems.append(f"{transition.id}: no command makes this move, so an agent never can")


def makes(command: Command, intents: Mapping[str, Intent], row: TransitionForm, source: str, to: str) -> bool:
    """Whether a command makes a move: it claims its lock, gives it back, or produces an output."""
    begins = source in command.inputs
    inside = source == command.lock
    if row.holds:
        return to == command.lock and (begins or inside)
    if "lock" in row.releases:
        return inside
    from_anywhere = {intent.commands["*"] for intent in intents.values() if "*" in intent.commands}
    return to in command.outputs and (inside or (begins and (command.lock is None or to in from_anywhere)))


def _plain(rules: Mapping[Key, list[Rule]]) -> dict[tuple[str, str, str, str | None], Transition]:
    found: dict[tuple[str, str, str, str | None], list[Rule]] = {}
    for (state, event, kind), here in rules.items():
        for rule in here:
            found.setdefault((state, event, kind, rule.to), []).append(rule)
    alone = {key: here[0] for key, here in found.items() if len(here) == 1}
    return {key: rule.transition for key, rule in alone.items() if rule.plain and rule.transition is not None}


def _excepted(name: str, state: State, excepted: Iterable[str]) -> bool:
    return name in excepted or (state.lock and "lock" in excepted) or (state.human and "human" in excepted)


def _counter_term(name: str, start: int, per: str | None) -> Term:
    if per is None:
        return Term(int, lambda snapshot, evidence: snapshot.counters.get(name, start))
    return Term(
        int, lambda snapshot, evidence: snapshot.counters.get(f"{name}:{evidence.task or snapshot.task}", start)
    )


def _limit_term(name: str, limit: int) -> Term:
    key = f"{name}.limit"
    return Term(int, lambda snapshot, evidence: snapshot.settings.get(key, limit) or math.inf)


def _fact_term(name: str, default: str | None, values: list[str]) -> Term:
    return Term(str, lambda snapshot, evidence: evidence.facts.get(name, default), frozenset(values))


def _setting_term(name: str, default: str, values: list[str]) -> Term:
    return Term(str, lambda snapshot, evidence: snapshot.settings.get(name, default), frozenset(values))


def _proof_term(name: str) -> Term:
    return Term(bool, lambda snapshot, evidence: name in snapshot.proofs)
