"""`ralph machine`: list, show, check, diagram and schema, of shipped machines and of one's own."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from faces.programs import Result, run, run_here
from faces.source_form import source_form
from interlock.machine import SHIPPED, load_shipped

Ralph = Callable[..., Result]
EXAMPLES = Path(__file__).parent.parent / "machine"
SOUND = EXAMPLES / "sound.toml"
BROKEN = sorted((EXAMPLES / "broken").glob("*.toml"))
TRAP = EXAMPLES / "broken" / "trap.toml"
OVERRIDE = "RALPH_STATE_MACHINE_CONFIG"


@pytest.fixture
def ralph(outside: Path, environment: dict[str, str]) -> Ralph:
    """`ralph machine …` in a directory that is in no repository, with more in its environment."""
    return lambda *words, **more: run_here("machine", *words, cwd=outside, env={**environment, **more})


# List


def test_list_gives_an_object_for_each_machine(ralph: Ralph) -> None:
    listed = ralph("list", "--json").data
    assert [one["name"] for one in listed] == list(SHIPPED)
    for one in listed:
        machine = load_shipped(one["name"])
        assert (one["states"], one["transitions"]) == (len(machine.states), len(machine.transitions))
        assert one["gates"] == list(machine.form.gates)
        assert one["description"] == machine.form.description


def test_list_shows_people_a_line_for_each_machine(ralph: Ralph) -> None:
    lines = ralph("list").out.splitlines()
    assert [line.split()[0] for line in lines] == list(SHIPPED)
    assert all(re.search(r"\d+ states +\d+ transitions  \w", line) for line in lines)


# Show


@pytest.mark.parametrize("name", SHIPPED)
def test_show_gives_states_by_name_and_an_object_for_each_transition(name: str, ralph: Ralph) -> None:
    shown = ralph("show", name, "--json").data
    machine = load_shipped(name)
    assert (shown["name"], shown["digest"]) == (name, machine.digest)
    assert list(shown["states"]) == list(machine.states)
    assert all(state["label"] for state in shown["states"].values())
    assert shown["initial"] in shown["states"]
    assert len(shown["transitions"]) == len(machine.transitions)
    for given, meant in zip(shown["transitions"], machine.transitions, strict=True):
        assert (given["from"], given["to"], given["on"]) == (meant.source, meant.to, meant.on)
        assert {given["from"], given["to"]} <= shown["states"].keys()
        assert given["by"] == list(meant.by)
        assert {*given["by"]} <= {"human", "agent", "system"}
        for key in ("gate", "when", "added"):
            assert given.get(key) == getattr(meant, key)
            assert (key in given) == (getattr(meant, key) is not None)


def test_show_gives_the_four_gates_of_a_thread_to_people_alone(ralph: Ralph) -> None:
    shown = ralph("show", "thread", "--json").data
    gated = [one for one in shown["transitions"] if "gate" in one]
    assert {one["gate"] for one in gated} == set(shown["gates"])
    assert len(shown["gates"]) == 4
    assert all(one["by"] == ["human"] for one in gated)


@pytest.mark.parametrize("name", SHIPPED)
def test_show_names_every_state_and_every_event_to_people(name: str, ralph: Ralph) -> None:
    shown = ralph("show", name).out
    machine = load_shipped(name)
    for state in machine.states:
        assert re.search(rf"^\S+ {re.escape(machine.label(state))}( |$)", shown, re.MULTILINE), state
    for transition in machine.transitions:
        assert re.search(rf"^ +(◈ )?{transition.on} ", shown, re.MULTILINE), transition.on


@pytest.mark.parametrize("name", SHIPPED)
def test_show_keeps_every_transition_on_a_line_of_its_own_where_there_is_room(name: str, ralph: Ralph) -> None:
    """The event, the target and who may fire it are never torn apart; only the remarks behind them may be long."""
    shown = ralph("show", name).out
    for transition in load_shipped(name).transitions:
        target = "↻ stays" if transition.stays else f"→ {load_shipped(name).label(transition.to)}"
        assert re.search(rf"^ +(◈ )?{transition.on} +{re.escape(target)} +(person|agent|system)", shown, re.MULTILINE)


def test_show_takes_a_sound_machine_of_ones_own_by_its_path(ralph: Ralph) -> None:
    shown = ralph("show", SOUND, "--json").data
    assert shown["name"] == "sound"
    assert list(shown["states"]) == ["Draft", "Working", "Review", "Ready", "Done", "Dropped"]
    assert "Write something" in ralph("show", SOUND).out


@pytest.mark.parametrize("verb", ["show", "diagram"])
def test_an_unsound_machine_of_ones_own_is_refused_by_all_that_would_use_it(verb: str, ralph: Ralph) -> None:
    error = ralph(verb, TRAP, "--json").error
    assert error["code"] == "machine_unsound"
    assert "trap" in error["message"]
    assert "ralph machine check" in error["hint"]
    assert ralph(verb, TRAP).code == 7


def test_the_program_itself_exits_7_on_an_unsound_machine_and_1_on_an_unknown_one(
    outside: Path, environment: dict[str, str]
) -> None:
    assert run("machine", "show", TRAP, cwd=outside, env=environment).code == 7
    assert run("machine", "check", TRAP, cwd=outside, env=environment).code == 7
    assert run("machine", "show", "threads", cwd=outside, env=environment).code == 1


def test_a_machine_files_texts_reach_the_terminal_without_control_characters(ralph: Ralph, outside: Path) -> None:
    hostile = outside / "hostile.toml"
    text = SOUND.read_text(encoding="utf-8")
    text = text.replace("Write something", r"\u001b[2J\u202e\u0007Write something")
    hostile.write_text(text.replace("[states.Draft]", '[states.Draft]\nlabel = "Dr\\u001b[31maft"'), encoding="utf-8")
    result = ralph("show", hostile)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", result.out + result.err)


# Unknown and unreadable


@pytest.mark.sampled(10)
@pytest.mark.parametrize("verb", ["show", "check", "diagram"])
@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("threads", "unknown_machine", "Did you mean 'thread'?"),
        ("nothing like it", "unknown_machine", "ticket, thread, story, orchestrator, session"),
        ("", "unknown_machine", "ticket, thread, story, orchestrator, session"),
        ("x" * 5000, "unknown_machine", "ticket, thread, story, orchestrator, session"),
        ("./none.toml", "machine_unreadable", "none.toml"),
        ("none.json", "machine_unreadable", "none.json"),
        (".", "machine_unreadable", "directory"),
        ("/dev/zero", "machine_unreadable", "8 MiB"),
        ("/dev/null", "machine_invalid", "name"),
    ],
    ids=lambda value: value[:20],
)
def test_a_machine_that_cannot_be_had_is_named_with_the_right_code(
    verb: str, name: str, code: str, said: str, ralph: Ralph
) -> None:
    error = ralph(verb, name, "--json").error
    assert error["code"] == code
    assert said in error["message"] + error["hint"]
    assert error["hint"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"name = ", "machine_unreadable"),
        (b"\xff\xfe", "machine_unreadable"),
        (b'name = "mine"\n', "machine_invalid"),
        (SOUND.read_bytes().replace(b'initial = "Draft"', b'initial = "Nowhere"'), "machine_invalid"),
        (SOUND.read_bytes() + b"\nsurprise = 1\n", "machine_invalid"),
    ],
    ids=["no TOML", "no text", "no machine", "no such state", "an unknown key"],
)
def test_a_file_that_is_no_machine_exits_7_and_says_why(content: bytes, code: str, ralph: Ralph, outside: Path) -> None:
    file = outside / "mine.toml"
    file.write_bytes(content)
    for verb in ("show", "check", "diagram"):
        result = ralph(verb, file)
        assert result.code == 7
        assert f"[{code}]" in result.err
        assert result.err.startswith("ralph: ")


def test_a_file_that_nobody_can_read_is_unreadable(ralph: Ralph, outside: Path) -> None:
    file = outside / "mine.toml"
    file.symlink_to(file)
    assert ralph("show", file, "--json").error["code"] == "machine_unreadable"


# Check


def test_check_proves_the_five_machines_and_prints_what_it_looked_at(
    outside: Path, environment: dict[str, str]
) -> None:
    result = run("machine", "check", cwd=outside, env=environment)
    assert result.code == 0
    counted = re.findall(
        r"^✓ (\w+)  (\d+) states, (\d+) transitions: ([\d,]+) configurations, ([\d,]+) moves explored$",
        result.out,
        re.MULTILINE,
    )
    assert [name for name, *_ in counted] == list(SHIPPED)
    for name, states, transitions, configurations, moves in counted:
        machine = load_shipped(name)
        assert (int(states), int(transitions)) == (len(machine.states), len(machine.transitions))
        assert int(moves.replace(",", "")) >= int(configurations.replace(",", "")) >= len(machine.states)


def test_check_reports_what_it_took_on_trust(ralph: Ralph) -> None:
    [report] = ralph("check", "session", "--json").data
    assert report["machine"] == "session"
    assert report["findings"] == []
    assert report["digest"] == load_shipped("session").digest
    assert report["configurations"] > 0
    assert report["moves"] > 0
    assert all(f"assumed: {one}" in ralph("check", "session").out for one in report["assumptions"])


@pytest.mark.parametrize("file", BROKEN, ids=lambda file: file.stem)
def test_check_exits_7_on_a_fault_and_prints_the_way_to_it(file: Path, ralph: Ralph) -> None:
    error = ralph("check", file, "--json").error
    assert error["code"] == "machine_unsound"
    [report] = error["details"]["reports"]
    assert report["findings"]
    result = ralph("check", file)
    assert result.code == 7
    assert result.out.startswith("✗ sound")
    assert "[machine_unsound]" in result.err
    assert str(file) in result.err
    for finding in report["findings"]:
        assert f"  {finding['code']}  {finding['message']}\n" in result.out
        assert bool(finding["begins"]) == bool(finding["path"])  # each of these has a counter, and so a limit
        assert f"        begins {finding['begins']}\n" in result.out or not finding["begins"]
        for number, move in enumerate(finding["path"], 1):
            assert f"{number:>2}. {move}\n" in result.out


def test_check_goes_on_to_the_next_machine_after_a_fault(ralph: Ralph) -> None:
    result = ralph("check", TRAP, "session", SOUND)
    assert result.code == 7
    assert [line[:1] for line in result.out.splitlines() if line[:1] in "✓✗"] == ["✗", "✓", "✓"]
    reports = ralph("check", TRAP, "session", SOUND, "--json").error["details"]["reports"]
    assert [one["machine"] for one in reports] == ["sound", "session", "sound"]


# Diagram and schema


@pytest.mark.parametrize("name", SHIPPED)
def test_diagram_draws_in_three_forms(name: str, ralph: Ralph) -> None:
    machine = load_shipped(name)
    assert ralph("diagram", name).out.startswith("stateDiagram-v2\n")
    drawn = ElementTree.fromstring(ralph("diagram", name, "--format", "svg").out)
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    xstate: dict[str, Any] = json.loads(ralph("diagram", name, "--format", "xstate").out)
    assert xstate["id"] == name
    assert xstate["initial"]
    assert all(
        json.dumps(state, ensure_ascii=False)[1:-1] in json.dumps(xstate, ensure_ascii=False)
        for state in machine.states
    )


@pytest.mark.parametrize("wanted", ["mermaid", "svg", "xstate"])
def test_diagram_in_an_envelope_is_what_people_get(wanted: str, ralph: Ralph) -> None:
    data = ralph("diagram", "session", "--format", wanted, "--json").data
    assert (data["machine"], data["format"]) == ("session", wanted)
    assert ralph("diagram", "session", "--format", wanted).out.rstrip("\n") == data["diagram"].rstrip("\n")


def test_schema_is_one_that_the_machines_meet(ralph: Ralph) -> None:
    schema = ralph("schema", "--json").data
    assert json.loads(ralph("schema").out) == schema
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(tomllib.loads(SOUND.read_text(encoding="utf-8")), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": "mine"}, schema)


# The ticket machine's override


@pytest.fixture
def override(outside: Path) -> Path:
    """The ticket machine in the source system's form, with one more state."""
    file = outside / "machine.json"
    form = source_form(load_shipped("ticket"))
    form["states"]["Parked"] = {"allowed_transitions": ["Backlog"], "requires_human_action": True}
    form["states"]["Backlog"]["allowed_transitions"].append("Parked")
    file.write_text(json.dumps(form), encoding="utf-8")
    return file


def test_the_override_replaces_the_ticket_machine_and_no_other(ralph: Ralph, override: Path) -> None:
    shown = ralph("show", "ticket", "--json", **{OVERRIDE: str(override)}).data
    assert "Parked" in shown["states"]
    assert (
        ralph("show", "session", "--json", **{OVERRIDE: str(override)}).data["digest"] == load_shipped("session").digest
    )
    assert "Parked" in ralph("diagram", "ticket", **{OVERRIDE: str(override)}).out
    assert ralph("check", "ticket", **{OVERRIDE: str(override)}).code == 0


def test_an_override_can_be_looked_at_by_its_path(ralph: Ralph, override: Path) -> None:
    assert "Parked" in ralph("show", override, "--json").data["states"]


def test_an_empty_override_is_none(ralph: Ralph) -> None:
    assert ralph("show", "ticket", "--json", **{OVERRIDE: ""}).data["digest"] == load_shipped("ticket").digest


@pytest.mark.parametrize(
    "words", [["show", "ticket"], ["check", "ticket"], ["check"], ["diagram", "ticket"]], ids=" ".join
)
@pytest.mark.parametrize(
    ("content", "code"),
    [(None, "machine_unreadable"), ("{", "machine_invalid"), ('{"states": {}}', "machine_invalid")],
    ids=["missing", "no JSON", "no machine"],
)
def test_a_broken_override_is_an_error_and_never_a_silent_default(
    words: list[str], content: str | None, code: str, ralph: Ralph, outside: Path
) -> None:
    file = outside / "broken.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    error = ralph(*words, "--json", **{OVERRIDE: str(file)}).error
    assert error["code"] == code
    assert str(file) in error["message"]
    assert OVERRIDE in error["message"] + error["hint"]


def test_a_broken_override_is_an_error_to_the_doctor(
    repository: Path, environment: dict[str, str], outside: Path
) -> None:
    env = {**environment, OVERRIDE: str(outside / "none.json")}
    error = run("doctor", "--json", cwd=repository, env=env).error
    assert error["code"] == "unhealthy"
    assert [one["check"] for one in error["details"]["checks"] if one["status"] == "fault"] == ["machines"]


# What the checker found is remembered


def test_what_the_checker_found_is_written_down_once_and_believed(ralph: Ralph, environment: dict[str, str]) -> None:
    assert ralph("show", SOUND).code == 0
    [kept] = (Path(environment["XDG_CACHE_HOME"]) / "interlock").iterdir()
    assert ralph("show", SOUND, "--json").data["digest"] in kept.name
    report = json.loads(kept.read_bytes())
    assert report["findings"] == []
    report["findings"] = [{"code": "trap", "message": "as the cache remembers", "path": []}]
    kept.write_text(json.dumps(report), encoding="utf-8")
    assert "as the cache remembers" in ralph("show", SOUND, "--json").error["message"]


@pytest.mark.parametrize("rubbish", [b"", b"{", b"\x00\xff", b'{"machine": 1}', b"[" * 100_000], ids=ascii)
def test_a_corrupt_cache_is_made_anew(rubbish: bytes, ralph: Ralph, environment: dict[str, str]) -> None:
    assert ralph("show", SOUND).code == 0
    [kept] = (Path(environment["XDG_CACHE_HOME"]) / "interlock").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(rubbish)
    assert ralph("show", SOUND).code == 0
    assert ralph("show", TRAP).code == 7
    assert kept.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_done_without(ralph: Ralph, outside: Path) -> None:
    in_the_way = outside / "a file"
    in_the_way.write_text("", encoding="utf-8")
    for cache in (in_the_way, Path("/proc/nothing")):
        assert ralph("show", SOUND, XDG_CACHE_HOME=str(cache)).code == 0
        assert ralph("show", TRAP, XDG_CACHE_HOME=str(cache)).code == 7


def test_a_cache_directory_that_was_made_unreadable_is_done_without(ralph: Ralph, environment: dict[str, str]) -> None:
    directory = Path(environment["XDG_CACHE_HOME"]) / "interlock"
    directory.mkdir(parents=True)
    directory.chmod(0)
    try:
        result = ralph("show", SOUND)
    finally:
        directory.chmod(0o700)
    assert result.code == 0


def test_without_a_cache_home_it_is_kept_below_home(ralph: Ralph, environment: dict[str, str]) -> None:
    assert ralph("show", SOUND, XDG_CACHE_HOME="").code == 0
    assert [*(Path(environment["HOME"]) / ".cache" / "interlock").glob("check-*.json")]
