"""What the hook says of tickets, from the machine's table: every command against every state and every intent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interlock.journal import Journal, open_journal
from interlock.machine import Evidence, Machine, load_shipped
from interlock.machine.compile import compile_machine
from interlock.work.tickets.policy import comes_next, denied
from journal.databases import Address
from journal.histories import HUMAN, created, paths

MACHINE = load_shipped("ticket")
COMMANDS = {name: one for name, one in MACHINE.form.commands.items() if not one.internal}
TOOL = "mcp__ralph__handoff_ticket"
WRITE = "Write"


def _ticket(journal: Journal, number: int = 19, state: str = "Backlog", machine: Machine = MACHINE) -> None:
    evidence = Evidence(names=(f"number:{number:012d}",), data={"number": number})
    made = journal.create("ticket", created(HUMAN, evidence)).entry.instance
    for event in paths(machine)[state]:
        journal.append(made, event)


def _handoff(address: Address, ours: str = "", /, tool: str = TOOL, **given: Any) -> str | None:
    return denied(str(address), tool, {"number": 19, "reason": "because", **given}, "/", ours)


# Handoffs


def test_a_state_that_the_command_does_not_produce_names_those_that_do(journal: Journal, address: Address) -> None:
    _ticket(journal)
    for command, one in COMMANDS.items():
        for state in MACHINE.states:
            why = _handoff(address, command=command, to_state=state)
            if state in {*one.outputs, one.lock}:
                assert why is None, (command, state)
                continue
            assert why is not None, (command, state)
            assert f"{command} is the wrong command for {state}" in why
            makers = [name for name, other in COMMANDS.items() if state in {*other.outputs, other.lock}]
            assert all(name in why.partition(". ")[0] for name in makers)
            assert "thread" not in why


def test_every_intent_that_is_known_is_left_to_the_tool(sqlite_journal: Journal, sqlite_address: Path) -> None:
    _ticket(sqlite_journal)
    for command in COMMANDS:
        for intent in MACHINE.form.intents:
            for asked in (intent, f"__{intent.upper()}__"):
                assert _handoff(sqlite_address, command=f"ralph_{command}", intent=asked) is None


@pytest.mark.parametrize("intent", ["finish", "LOCK IT", "__DONE__", "complete "])
def test_an_intent_that_is_not_known_is_denied_with_those_that_are(
    intent: str, sqlite_journal: Journal, sqlite_address: Path
) -> None:
    _ticket(sqlite_journal)
    why = _handoff(sqlite_address, command="plan", intent=intent) or ""
    assert repr(intent) in why
    assert all(f"{name} ({one.description})" in why for name, one in MACHINE.form.intents.items())


@pytest.mark.parametrize("command", ["thread", "ralph_thread", "deploy", "Plan"])
def test_a_command_that_is_not_offered_is_denied_with_those_that_are(
    command: str, sqlite_journal: Journal, sqlite_address: Path
) -> None:
    _ticket(sqlite_journal)
    why = _handoff(sqlite_address, command=command, intent="complete") or ""
    assert why.endswith(f"The commands are {', '.join(sorted(COMMANDS))}.")


def test_a_state_that_is_not_known_is_denied_with_those_that_are(sqlite_journal: Journal, sqlite_address: Path) -> None:
    _ticket(sqlite_journal)
    for given in ({"command": "plan"}, {}):
        why = _handoff(sqlite_address, to_state="Finished", **given) or ""
        assert "'Finished'" in why
        assert all(state in why for state in MACHINE.states)


def test_nothing_but_a_person_leads_out_of_where_a_person_is_needed(journal: Journal, address: Address) -> None:
    _ticket(journal, state="Human Needed")
    for command in (*COMMANDS, "deploy"):
        for asked in ({"intent": "release"}, {"to_state": "Backlog"}, {"to_state": "Human Needed"}, {}):
            why = _handoff(address, command=command, **asked) or ""
            assert "only a person moves it on: `ralph ticket handoff 19 …` in their terminal" in why


@pytest.mark.parametrize("state", [state for state in MACHINE.states if state != "Human Needed"])
def test_in_every_other_state_the_machine_itself_decides(
    state: str, sqlite_journal: Journal, sqlite_address: Path
) -> None:
    _ticket(sqlite_journal, state=state)
    for command in COMMANDS:
        assert _handoff(sqlite_address, command=command, intent="escalate") is None


def test_an_agent_hands_off_by_the_command_that_it_was_started_for(
    sqlite_journal: Journal, sqlite_address: Path
) -> None:
    _ticket(sqlite_journal)
    for ours in COMMANDS:
        for spelled in (ours, f"ralph_{ours}", f"ralph-{ours}"):
            for command in COMMANDS:
                why = _handoff(sqlite_address, spelled, command=command, intent="escalate")
                may = command == ours or command in COMMANDS[ours].delegates_to
                assert (why is None) is may, (ours, command)
                if why is not None:
                    assert f'handoff_ticket({{"number": 19, "command": "{ours}", …}})' in why


def test_the_machine_that_the_ticket_was_made_with_decides(sqlite_address: Path) -> None:
    plan = replace(MACHINE.form.commands["plan"], outputs=["Plan in Review", "Human Needed", "Backlog"])
    form = replace(MACHINE.form, commands={**MACHINE.form.commands, "plan": plan})
    other = compile_machine(form)
    for machine, number in ((MACHINE, 1), (other, 2)):
        journal = open_journal(sqlite_address, {"ticket": machine}.__getitem__)
        _ticket(journal, number, machine=machine)
        journal.close()
    given = {"command": "plan", "to_state": "Backlog", "reason": "because"}
    assert denied(str(sqlite_address), TOOL, {"number": 1, **given}, "/", "")
    assert denied(str(sqlite_address), TOOL, {"number": 2, **given}, "/", "") is None


@pytest.mark.parametrize("number", [20, "20", None, True, 1.5, -1, "x", "1" * 13, "\u0661", [19], {"a": 1}])
def test_what_is_no_ticket_here_is_left_to_the_tool(
    number: object, sqlite_journal: Journal, sqlite_address: Path
) -> None:
    _ticket(sqlite_journal)
    assert _handoff(sqlite_address, number=number, command="nope", to_state="nope") is None


@pytest.mark.parametrize("number", [19, "19", "0019"])
def test_a_number_is_found_however_it_is_written(number: object, sqlite_journal: Journal, sqlite_address: Path) -> None:
    _ticket(sqlite_journal)
    assert _handoff(sqlite_address, number=number, command="nope")


@pytest.mark.parametrize("wrong", [None, 5, ["plan"], {}, True, ""])
def test_an_argument_of_a_wrong_kind_is_left_to_the_tool(
    wrong: object, sqlite_journal: Journal, sqlite_address: Path
) -> None:
    _ticket(sqlite_journal)
    for name in ("command", "to_state", "intent"):
        right: dict[str, Any] = {"command": "plan", "to_state": "Plan in Review"}
        assert _handoff(sqlite_address, **{**right, name: wrong}) is None


@pytest.mark.parametrize(
    ("tool", "ours"),
    [
        ("mcp__ralph__handoff_ticket", True),
        ("mcp__plugin_ralph__handoff_ticket", True),
        ("ralph_handoff_ticket", True),
        ("mcp__other__handoff_ticket", False),
        ("handoff_ticket", False),
        ("mcp__ralph__get_ticket", False),
    ],
)
def test_it_is_about_our_own_tool_as_each_agent_spells_it(
    tool: str, ours: bool, sqlite_journal: Journal, sqlite_address: Path
) -> None:
    _ticket(sqlite_journal)
    assert (_handoff(sqlite_address, tool=tool, command="nope") is not None) is ours


def test_without_a_journal_that_can_be_read_everything_passes(tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database")
    for address in (broken, tmp_path / "none.db"):
        assert _handoff(address, command="nope") is None
        assert comes_next(str(address), TOOL, {"number": 19}, None) is None
        path = tmp_path / "thoughts/shared/plans/2026-02-16-GH-19-x.md"
        assert denied(str(address), WRITE, {"file_path": str(path)}, str(tmp_path), "") is None


# Documents

KINDS = {
    "research": ("thoughts/shared/research", "{date}-{group}GH-{number}-{words}.md"),
    "plan": ("thoughts/shared/plans", "{date}-{group}GH-{number}-{words}.md"),
    "critique": ("thoughts/shared/reviews", "{date}-{group}GH-{number}-critique.md"),
}


def _named(kind: str, number: str = "19", date: str = "2026-02-16", group: str = "", words: str = "words") -> str:
    directory, form = KINDS[kind]
    return f"{directory}/{form.format(date=date, number=number, group=group, words=words)}"


def _there(tree: Path, name: str) -> None:
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text("x", encoding="utf-8")


def _written(address: Address, tree: Path, *names: str) -> str | None:
    patch = "".join(f"*** Add File: {name}\n+x\n" for name in names)
    by_patch = denied(str(address), "apply_patch", {"command": f"*** Begin Patch\n{patch}"}, str(tree), "")
    by_tool = [denied(str(address), WRITE, {"file_path": str(tree / name)}, str(tree), "") for name in names]
    assert by_patch == next((why for why in by_tool if why), None)
    return by_patch


def test_the_kinds_are_those_of_the_machine() -> None:
    patterns = {name: one.pattern for name, one in MACHINE.form.artifacts.items() if name.endswith("_document")}
    assert patterns == {
        f"{kind}_document": f"{directory}/{form}".format(date="YYYY-MM-DD", group="", number="{number}", words="*")
        for kind, (directory, form) in KINDS.items()
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("there", [{}, {"number": "0019"}, {"group": "group-"}, {"date": "2025-12-31"}], ids=str)
@pytest.mark.parametrize("new", [{"date": "2026-03-01"}, {"date": "2026-03-01", "number": "019"}], ids=str)
def test_a_second_document_of_a_ticket_is_denied_and_the_first_is_named(
    kind: str,
    there: dict[str, str],
    new: dict[str, str],
    sqlite_journal: Journal,
    sqlite_address: Path,
    tmp_path: Path,
) -> None:
    _ticket(sqlite_journal)
    _there(tmp_path, _named(kind, **there))
    why = _written(sqlite_address, tmp_path, _named(kind, **new)) or ""
    assert f"ticket 19 has a {kind} document already, {_named(kind, **there)}" in why
    assert "update that file" in why
    assert _written(sqlite_address, tmp_path, _named(kind, **there)) is None, "the same file again may be written"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_another_tickets_or_another_kind_passes(
    kind: str, sqlite_journal: Journal, sqlite_address: Path, tmp_path: Path
) -> None:
    _ticket(sqlite_journal)
    _there(tmp_path, _named(kind))
    for number in ("1", "190", "119", "9"):
        assert _written(sqlite_address, tmp_path, _named(kind, number)) is None
    for other in KINDS.keys() - {kind}:
        assert _written(sqlite_address, tmp_path, _named(other)) is None
    directory = KINDS[kind][0]
    for name in ("notes.md", "GH-19-words.md", "2026-02-16-GH-19-words.txt", "2026-02-16-GH-19.md", "x/../GH-19.md"):
        assert _written(sqlite_address, tmp_path, f"{directory}/{name}") is None
    assert _written(sqlite_address, tmp_path, f"elsewhere/{Path(_named(kind, date='2026-03-01')).name}") is None


def test_one_bad_file_among_good_ones_is_enough(sqlite_journal: Journal, sqlite_address: Path, tmp_path: Path) -> None:
    _ticket(sqlite_journal)
    _there(tmp_path, _named("plan"))
    new = _named("plan", date="2026-03-01")
    assert _written(sqlite_address, tmp_path, "app.py", _named("research"), new)
    assert _written(sqlite_address, tmp_path, "app.py", f"thoughts/shared/x/../plans/{Path(new).name}")


def test_a_linked_work_tree_has_documents_of_its_own(
    sqlite_journal: Journal, sqlite_address: Path, tmp_path: Path
) -> None:
    _ticket(sqlite_journal)
    _there(tmp_path / "main", _named("plan"))
    assert _written(sqlite_address, tmp_path / "worktrees" / "GH-19", _named("plan", date="2026-03-01")) is None


def test_the_rule_holds_for_a_number_that_another_tracker_gave(
    journal: Journal, address: Address, tmp_path: Path
) -> None:
    name, new = _named("plan", "700"), _named("plan", "700", date="2026-03-01")
    _there(tmp_path, name)
    assert _written(address, tmp_path, new) is None, "no ticket yet, and so no machine that says where documents are"
    _ticket(journal)
    assert name in (_written(address, tmp_path, new) or "")


@pytest.mark.parametrize("path", ["\0GH-19.md", "~\0/GH-19-x.md", "GH-19.md", "GH-" + "9" * 5000 + "-x.md", ""])
def test_a_path_that_is_none_passes(path: str, sqlite_journal: Journal, sqlite_address: Path, tmp_path: Path) -> None:
    _ticket(sqlite_journal)
    assert denied(str(sqlite_address), WRITE, {"file_path": path}, str(tmp_path), "") is None


def test_reading_and_running_are_none_of_its_business(
    sqlite_journal: Journal, sqlite_address: Path, tmp_path: Path
) -> None:
    _ticket(sqlite_journal)
    _there(tmp_path, _named("plan"))
    new = _named("plan", date="2026-03-01")
    assert denied(str(sqlite_address), "Read", {"file_path": new}, str(tmp_path), "") is None
    assert denied(str(sqlite_address), "Bash", {"command": f"cat {new}"}, str(tmp_path), "") is None


# What comes next


@pytest.mark.parametrize("state", MACHINE.states)
def test_after_a_handoff_it_says_what_is_so_and_what_comes_next(
    state: str, sqlite_journal: Journal, sqlite_address: Path
) -> None:
    _ticket(sqlite_journal, state=state)
    known = MACHINE.states[state]
    told = comes_next(str(sqlite_address), TOOL, {"number": 19, "command": "impl"}, "{}") or ""
    assert told.startswith(f"Interlock: ticket 19 is in {state}")
    assert told.endswith(".")
    begin = [name for name, one in sorted(COMMANDS.items()) if state in one.inputs]
    if known.terminal:
        assert "nothing more to do" in told
    elif state == "Human Needed":
        assert "only a person moves it on; the work on it stops here" in told
    else:
        assert ("waits for a person" in told) is known.human
        assert ("has to be claimed" in told) is known.lock
        assert not begin or f"Commands that begin there: {', '.join(begin)}." in told


@pytest.mark.parametrize("command", [name for name, one in COMMANDS.items() if one.lock])
@pytest.mark.parametrize("spelled", ["lock", "__LOCK__", None])
def test_after_a_claim_it_says_that_the_lock_is_held(
    command: str, spelled: str | None, sqlite_journal: Journal, sqlite_address: Path
) -> None:
    lock = COMMANDS[command].lock
    assert lock is not None
    _ticket(sqlite_journal, state=lock)
    given = {"number": 19, "command": f"ralph_{command}", "intent": spelled, "to_state": None if spelled else lock}
    told = comes_next(str(sqlite_address), TOOL, given, None) or ""
    assert "the lock is held" in told
    assert all(intent in told for intent in ("complete", "escalate", "release"))


def test_after_a_refusal_or_another_tool_it_says_nothing(sqlite_journal: Journal, sqlite_address: Path) -> None:
    _ticket(sqlite_journal)
    address = str(sqlite_address)
    assert comes_next(address, TOOL, {"number": 19}, {"isError": True, "content": []}) is None
    assert comes_next(address, "mcp__ralph__get_ticket", {"number": 19}, None) is None
    assert comes_next(address, TOOL, {"number": 20}, None) is None
    assert comes_next(address, TOOL, {"number": 19}, {"isError": False}) is not None
    assert json.dumps(comes_next(address, TOOL, {"number": 19}, "{}"))
