"""What the loader refuses, by code, and that it names every problem of a file at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from interlock.errors import InterlockError, InvalidMachine
from interlock.machine import SHIPPED, Machine, load, load_file, load_shipped
from interlock.machine.load import compile_machine, definition_path, parse, read_text

SOUND = (Path(__file__).parent / "sound.toml").read_text()


def _load(text: str) -> Machine:
    return compile_machine(parse(text))


def _with(old: str, new: str) -> str:
    assert old in SOUND, old
    return SOUND.replace(old, new, 1)


def _and(more: str) -> str:
    return f"{SOUND}\n{more}\n"


def _row(**fields: object) -> str:
    """A further row of the table; `source` is its `from`."""
    row = {"source": "Draft", "to": "Working", "on": "more", "by": ["human"], **fields}
    lines = [
        f"{'from' if key == 'source' else key} = {_toml(value)}" for key, value in row.items() if value is not None
    ]
    return _and("[[transitions]]\n" + "\n".join(lines))


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def _refused(text: str) -> InvalidMachine:
    with pytest.raises(InvalidMachine) as caught:
        _load(text)
    assert caught.value.hint
    return caught.value


INVALID = {
    "an unknown key": _with("version = 1", "version = 1\nweather = 'fine'"),
    "an unknown key of a state": _with("[states.Draft]", "[states.Draft]\nweather = 'fine'"),
    "an unknown key of a row": _row(weather="fine"),
    "a missing key": _with('initial = "Draft"\n', ""),
    "a missing key of a row": _row(on=None),
    "a version in words": _with("version = 1", 'version = "one"'),
    "a flag in words": _with("human = true", 'human = "yes"'),
    "a fraction as a limit": _with("limit = 2", "limit = 2.5"),
    "states as a list": _with("[states.Draft]", "[[states]]\n[states.Draft]").replace("[states.", "[other."),
    "an unknown enforcement": _with("version = 1", 'version = 1\nenforcement = "lenient"'),
    "an unknown indicator": _with("[states.Draft]", '[states.Draft]\nindicator = "bell"'),
    "an actor of no kind": _row(by=["robot"]),
    "nobody to fire a row": _row(by=[]),
    "an actor named twice": _row(by=["human", "human"]),
    "an initial state that is none": _with('initial = "Draft"', 'initial = "Nowhere"'),
    "a start in no state": _and('[[starts]]\nstate = "Nowhere"'),
    "a row to nowhere": _row(to="Nowhere"),
    "a row from nowhere": _row(source="Nowhere"),
    "a row out of the end": _row(source="Done"),
    "a refusal to nowhere": _and('[[refusals]]\nfrom="Draft"\nto="Nowhere"\non="begin"\nby=["system"]\nbecause="no"'),
    "a refusal from nowhere": _and('[[refusals]]\nfrom="Nowhere"\non="begin"\nby=["system"]\nbecause="no"'),
    "several targets of an event that names none": _row(to=["Working", "Review"]),
    "an exception without everything": _row(**{"except": ["Done"]}),
    "an exception that is no state": _row(source="*", to="Dropped", **{"except": ["Nowhere"]}),
    "an unknown counter counted": _row(count={"tries": 1}),
    "an unknown counter set": _row(set={"tries": 1}),
    "an unknown gate": _row(gate="bless"),
    "a receipt as a gate": _row(gate="receipt"),
    "an unknown receipt": _row(receipt="bill"),
    "an unknown requirement": _row(requires=["bless"]),
    "an unknown proof voided": _row(voids=["bless"]),
    "an unknown command": _row(command="deploy"),
    "an unknown fact in a condition": _row(when="weather == 'fine'"),
    "a value that the fact does not have": _row(on="verified", when="verdict == 'splendid'"),
    "words compared with numbers": _row(when="verdict == 1"),
    "numbers compared with words": _row(when="attempt < 'many'"),
    "words put in order": _row(when="verdict < 'good'"),
    "truths compared": _row(when="task == held"),
    "a number as a condition": _row(when="attempt"),
    "a constant as a condition": _row(when="True"),
    "a call": _row(when="__import__('os').system('true')"),
    "an attribute of an attribute": _row(when="attempt.limit.real > 1"),
    "an attribute that is none": _row(when="attempt.__class__"),
    "an index": _row(when="verdict[0] == 'g'"),
    "arithmetic": _row(when="attempt + 1 < attempt.limit"),
    "a chain of comparisons": _row(when="0 < attempt < 2"),
    "a lambda": _row(when="(lambda: attempt)() > 1"),
    "a walrus": _row(when="(x := attempt) > 1"),
    "two statements": _row(when="held; held"),
    "no condition": _row(when=""),
    "a null byte": _row(when="held\x00"),
    "deep nesting": _row(when="(" * 240 + "held" + ")" * 240),
    "many negations": _row(when="not " * 2400 + "held"),
    "a condition of ten thousand characters": _row(when="held or " * 1250 + "held"),
    "a state with a path in its name": _with("[states.Draft]", '[states."../Draft"]').replace('"Draft"', '"../Draft"'),
    "a state with a control character": _with("[states.Draft]", '[states.Draft]\n[states."a\\u0000b"]'),
    "a state with a line break": _with("[states.Draft]", '[states.Draft]\n[states."a\\nb"]'),
    "a state with a megabyte for a name": _with("[states.Draft]", f"[states.Draft]\n[states.{'x' * 2**20}]"),
    "a state without a name": _with("[states.Draft]", '[states.Draft]\n[states.""]'),
    "a machine with a path for a name": _with('name = "sound"', 'name = "../sound"'),
    "a counter with a capital": _with("[counters.attempt]", "[counters.Attempt]"),
    "an event with a space": _row(on="give up"),
    "an end of what never ends": _with("version = 1", "version = 1\nnever_ends = true"),
    "a counter below zero": _with("limit = 2", "limit = -2"),
    "a counter beyond counting": _with("limit = 2", f"limit = {10**9}"),
    "a counter called like a fact": _with("[facts.verdict]", "[facts.attempt]"),
    "a gate called like a receipt": _with("[receipts.receipt]", "[receipts.approve]"),
    "a default that the fact does not have": _with('["good", "bad"]', '["good", "bad"]\ndefault = "fine"'),
    "a default that the setting does not have": _and('[settings.mode]\nvalues = ["a"]\ndefault = "b"'),
    "an outcome before the end": _with("[states.Draft]", '[states.Draft]\noutcome = "success"'),
    "an end that waits for a person": _with('outcome = "dropped"', 'outcome = "dropped"\nhuman = true'),
    "an end that is a lock": _with('outcome = "dropped"', 'outcome = "dropped"\nlock = true'),
    "a change of what nobody proves": _with('changes = ["tree"]', 'changes = ["weather"]'),
    "a menu with an event that is none": _with(
        "[states.Draft]", '[states.Draft]\n[[states.Draft.menu]]\nkey="X"\nlabel="x"\ndoes="x"\non="nothing"'
    ),
    "an end that is driven": _with('outcome = "dropped"', 'outcome = "dropped"\ndriven = true'),
    "an end with a next command": _with(
        'outcome = "dropped"', 'outcome = "dropped"\nnext = [{ command = "ralph x {id}", does = "x" }]'
    ),
    "an unknown use of the work tree": _with("[states.Draft]", '[states.Draft]\ntree = "shared"'),
    "a pause by an event that is none": _with("[states.Draft]", '[states.Draft]\npause = ["nothing"]'),
    "a pause that the system cannot make": _with("[states.Draft]", '[states.Draft]\npause = ["begin"]'),
    "effects that there are none of": _row(moves="after_effects"),
    "a command from nowhere": _with('inputs = ["Draft"]', 'inputs = ["Nowhere"]'),
    "a command to nowhere": _with('outputs = ["Working"]', 'outputs = ["Nowhere"]'),
    "a command with a lock that is no state": _with('outputs = ["Working"]', 'outputs = ["Working"]\nlock = "Nowhere"'),
    "an intent of a command that is none": _with("{ write =", "{ deploy ="),
    "an intent to nowhere": _with('{ write = "Working" }', '{ write = "Nowhere" }'),
    "an intent with an event that is none": _with('event = "begin"', 'event = "nothing"'),
    "a start by a command that is none": _and('[[starts]]\nstate = "Working"\ncommand = "deploy"'),
    "a command that delegates to none": _with(
        'outputs = ["Working"]', 'outputs = ["Working"]\ndelegates_to = ["deploy"]'
    ),
    "a parent that is told of a state that is none": _and(
        '[[parents]]\nmachine = "thread"\nevent = "claims_done"\nenters = ["Nowhere"]'
    ),
    "two moves after their effects that could not be told apart": _and(
        "\n".join(
            f'[[transitions]]\nfrom="Draft"\nto="Dropped"\non="more"\nby=["human"]\nwhen="attempt {sign} 1"\n'
            f'outcome="{sign}"\neffects=["e"]\nmoves="after_effects"'
            for sign in ("<", ">=")
        )
    ),
    "a claim after effects, when nobody knows who claimed": _row(holds=True, effects=["e"], moves="after_effects"),
    "a move that no command makes": _row(source="Review", to="Working", on="begin", by=["agent"]),
    **{
        f"an event called {name}": _row(on=name)
        for name in ("effect_intended", "effect_settled", "observed", "superseded")
    },
}
UNREADABLE = {
    "no TOML": "this is no TOML",
    "a state defined twice": _with("[states.Draft]", "[states.Draft]\n[states.Draft]"),
    "a key given twice": _with("version = 1", "version = 1\nversion = 1"),
    "lists in lists without end": "x = " + "[" * 10_000,
}


@pytest.mark.parametrize("what", INVALID)
def test_a_file_that_does_not_describe_a_machine_is_refused(what: str) -> None:
    error = _refused(INVALID[what])
    assert error.code == "machine_invalid"
    assert len(error.message) < 10_000


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_text_that_is_no_toml_is_refused(what: str) -> None:
    assert _refused(UNREADABLE[what]).code == "machine_unreadable"


def test_the_machine_that_all_these_were_made_from_loads() -> None:
    assert _load(SOUND).name == "sound"
    assert _load(_row(when="held and not (attempt >= 1 or receipt.valid)")).name == "sound"


def test_every_problem_of_a_file_is_named_at_once() -> None:
    text = _row(to="Nowhere", gate="bless", count={"tries": 1}, when="weather == 'fine'", by=["human", "human"])
    message = _refused(text).message
    for named in ("Nowhere", "bless", "tries", "twice"):
        assert named in message


def test_of_very_many_problems_the_first_are_named_and_the_rest_counted() -> None:
    text = _and("\n".join(f'[[transitions]]\nfrom="Draft"\nto="Lost {n}"\non="more"\nby=["human"]' for n in range(500)))
    message = _refused(text).message
    assert "Lost 0" in message
    assert "Lost 499" not in message
    assert "480 more" in message


def _saved(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_file_that_cannot_be_read_is_refused_and_never_a_default(tmp_path: Path) -> None:
    for path in (
        tmp_path / "missing.toml",
        tmp_path,
        _saved(tmp_path / "latin.toml", SOUND.replace("Write", "Schr\xe4g").encode("latin-1")),
        _saved(tmp_path / "huge.toml", SOUND.encode() + b"#" * (9 * 1024 * 1024)),
        _saved(tmp_path / "binary.toml", bytes(range(256))),
    ):
        with pytest.raises(InvalidMachine) as caught:
            load_file(path)
        assert caught.value.code == "machine_unreadable"
        assert str(path) in caught.value.message


def test_an_empty_file_is_no_machine(tmp_path: Path) -> None:
    with pytest.raises(InvalidMachine) as caught:
        load_file(_saved(tmp_path / "empty.toml", b""))
    assert caught.value.code == "machine_invalid"


def test_a_machine_of_three_thousand_states_loads(tmp_path: Path) -> None:
    states = "\n".join(f"[states.s{number}]" for number in range(3000))
    rows = "\n".join(
        f'[[transitions]]\nfrom = "s{number}"\nto = "s{number + 1}"\non = "next"\nby = ["human"]'
        for number in range(2999)
    )
    head = 'name = "chain"\nversion = 1\ndescription = "one after the other"\ninitial = "s0"\n'
    machine = load_file(_saved(tmp_path / "chain.toml", f"{head}{states}\n{rows}".encode()))
    assert (len(machine.states), len(machine.transitions)) == (3000, 2999)


@pytest.mark.parametrize("name", ["nonsense", "../session", "/etc/passwd", "session.toml", ""])
def test_a_machine_that_is_not_shipped_is_unknown(name: str) -> None:
    with pytest.raises(InterlockError) as caught:
        load_shipped(name)
    assert caught.value.code == "unknown_machine"
    assert all(shipped in caught.value.hint for shipped in SHIPPED)


def test_a_machine_is_known_by_what_it_says_and_not_by_how_it_is_written() -> None:
    assert _load(SOUND).digest == _load(SOUND.replace("\n\n", "\n\n# a comment\n\n")).digest
    assert _load(SOUND).digest != _load(_with("limit = 2", "limit = 3")).digest
    assert len({load_shipped(name).digest for name in SHIPPED}) == len(SHIPPED)


def test_a_shipped_machine_is_read_from_its_definition() -> None:
    for name in SHIPPED:
        assert parse(read_text(definition_path(name))) == load_shipped(name).form
        assert load_shipped(name).name == name


def test_everything_but_the_excepted_leads_away() -> None:
    def sources(*excepted: str) -> set[str]:
        lock = _row(source="*", to="Dropped", on="flee", **{"except": list(excepted)}).replace(
            "[states.Draft]", "[states.Draft]\nlock = true"
        )
        return {row.source for row in _load(lock).transitions if row.on == "flee"}

    assert sources() == {"Draft", "Working", "Review", "Ready"}
    assert sources("human") == {"Draft", "Working"}
    assert sources("lock", "Ready") == {"Working", "Review"}


# The shipped definitions as JSON


@pytest.fixture
def forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the JSON that the loader reads."""
    copy = tmp_path / "forms.json"
    copy.write_bytes(load.FORMS.read_bytes())
    monkeypatch.setattr(load, "FORMS", copy)
    for cached in (load.load_shipped, load._written_forms):
        cached.cache_clear()
    yield copy
    for cached in (load.load_shipped, load._written_forms):
        cached.cache_clear()


@pytest.mark.parametrize("name", [*load.SHIPPED, *load.INTERNAL])
def test_the_json_of_a_definition_is_the_same_machine(name: str, forms: Path) -> None:
    made, read = load.load_shipped(name), load.load_file(load.definition_path(name))
    assert (made.form, made.digest) == (read.form, read.digest)


@pytest.mark.parametrize("damage", ["stale", "broken", "missing"])
def test_json_of_another_definition_is_not_used(damage: str, forms: Path) -> None:
    known = msgspec.json.decode(forms.read_bytes())
    known["thread"]["sha256"] = "0" * 64
    known["thread"]["form"]["name"] = "another"
    match damage:
        case "stale":
            forms.write_bytes(msgspec.json.encode(known))
        case "broken":
            forms.write_bytes(b"{")
        case _:
            forms.unlink()
    assert load.load_shipped("thread").name == "thread"


def test_json_of_this_definition_is_used(forms: Path) -> None:
    known = msgspec.json.decode(forms.read_bytes())
    known["thread"]["form"]["description"] = "From JSON"
    forms.write_bytes(msgspec.json.encode(known))
    assert load.load_shipped("thread").form.description == "From JSON"
