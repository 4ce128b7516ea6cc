"""What `ralph-hook` allows, denies and asks: every state against every kind of tool, and where nothing can be known."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from faces.hooks import CLAUDE, CODEX, agent_process, begun, called, hooked, notes, recorded
from faces.journals import AGENT, journal_file, opened, trusting
from faces.programs import HOOK, Result, run
from interlock.journal import open_journal
from interlock.machine import load_shipped
from interlock.work.sessions.verbs import Caller, create, update

POLICY = "pre-tool-use"
MACHINE = load_shipped("session")
PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+y\n*** End Patch\n"
TOOLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "Write": ("Write", {"file_path": "a.txt", "content": "x"}, "write"),
    "Edit": ("Edit", {"file_path": "a.txt", "old_string": "x", "new_string": "y"}, "write"),
    "MultiEdit": ("MultiEdit", {"file_path": "a.txt", "edits": [{"old_string": "x", "new_string": "y"}]}, "write"),
    "NotebookEdit": ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, "write"),
    "apply_patch of Codex": ("apply_patch", {"command": PATCH}, "write"),
    "apply_patch of OpenCode": ("apply_patch", {"patchText": PATCH}, "write"),
    "write of OpenCode": ("write", {"filePath": "a.txt", "content": "x"}, "write"),
    "Read": ("Read", {"file_path": "a.txt"}, "read"),
    "Grep": ("Grep", {"pattern": "x"}, "read"),
    "Bash that reads": ("Bash", {"command": "git status --short | head -5"}, "read"),
    "Bash that runs": ("Bash", {"command": "make test 2>&1 | tail -5"}, "run"),
    "Bash that writes": ("Bash", {"command": "echo x > a.txt"}, "write"),
    "Bash with a patch": ("Bash", {"command": f"apply_patch <<'EOF'\n{PATCH}EOF"}, "write"),
    "a shell given in words": ("shell", {"command": ["bash", "-lc", "ls"]}, "read"),
    "a shell given in words that writes": ("shell", {"command": ["bash", "-lc", "touch a"]}, "write"),
    "an unknown MCP tool": ("mcp__tracker__create_issue", {"title": "x"}, "other"),
    "our own MCP tool": ("mcp__ralph__update_session_state", {"state": "analyzing"}, "read"),
    "our own MCP tool in OpenCode": ("ralph_update_session_state", {"state": "analyzing"}, "read"),
}


def _allowed(state: str) -> tuple[str, ...]:
    declared = MACHINE.states[state].tools
    assert declared is not None, "every state says what tools it allows"
    return tuple(declared)


def _expected(state: str, kind: str, agent: dict[str, Any]) -> str:
    if kind == "other":
        if "write" in _allowed(state):
            return "allow"
        return "ask" if agent is CLAUDE and not MACHINE.states[state].terminal else "deny"
    return "allow" if kind in _allowed(state) else "deny"


def _answer(result: Result) -> str:
    """What an agent makes of it."""
    assert "Traceback" not in result.err
    if result.code == 2:
        assert result.out == ""
        assert result.err.startswith("Interlock: ")
        return "deny"
    assert result.code == 0, result
    if not result.out:
        return "allow"
    told = json.loads(result.out)["hookSpecificOutput"]
    assert told.keys() == {"hookEventName", "permissionDecision", "permissionDecisionReason"}
    assert told["hookEventName"] == "PreToolUse"
    return str(told["permissionDecision"])


@pytest.mark.sampled(40)
@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("state", MACHINE.states)
def test_a_state_allows_what_the_machines_file_says(
    state: str, name: str, repository: Path, environment: dict[str, str]
) -> None:
    tool, given, kind = TOOLS[name]
    session = begun(repository, state)
    result = hooked(POLICY, called(tool, given), repository, environment, session)
    assert _answer(result) == _expected(state, kind, CLAUDE)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("agent", [CODEX, {}], ids=["Codex", "OpenCode"])
@pytest.mark.parametrize("state", MACHINE.states)
def test_where_an_agent_would_not_ask_it_is_denied(
    state: str, agent: dict[str, Any], repository: Path, environment: dict[str, str]
) -> None:
    tool, given, kind = TOOLS["an unknown MCP tool"]
    session = begun(repository, state)
    result = hooked(POLICY, called(tool, given, agent), repository, environment, session)
    assert _answer(result) == _expected(state, kind, agent)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("claude/pre-tool-use-write", "write"),
        ("claude/pre-tool-use-edit", "write"),
        ("claude/pre-tool-use-read", "read"),
        ("claude/pre-tool-use-shell", "run"),
        ("claude/pre-tool-use-shell-failing", "run"),
        ("claude/pre-tool-use-mcp", "read"),
        ("codex/pre-tool-use-patch-add", "write"),
        ("codex/pre-tool-use-patch-update", "write"),
        ("codex/pre-tool-use-shell", "run"),
        ("codex/pre-tool-use-shell-patch", "write"),
        ("codex/pre-tool-use-shell-in-code-mode", "run"),
        ("codex/pre-tool-use-mcp", "read"),
    ],
)
def test_what_real_agents_sent_is_understood(
    name: str, kind: str, repository: Path, environment: dict[str, str]
) -> None:
    said = recorded(name, repository)
    for state in ("analyzing", "implementing"):
        session = begun(repository, state)
        result = hooked(POLICY, said, repository, environment, session)
        assert _answer(result) == ("allow" if kind in _allowed(state) else "deny")


# An agent whose driver can do without reports

OPTIONAL = {"RALPH_REPORTING": "optional"}
STOP = {"stop_hook_active": False}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", TOOLS)
def test_an_agent_that_need_not_report_is_held_by_nothing_but_its_own_reports(
    name: str, repository: Path, environment: dict[str, str]
) -> None:
    tool, given, kind = TOOLS[name]
    unreported, reported = begun(repository), begun(repository, "analyzing")
    said = called(tool, given)
    assert _answer(hooked(POLICY, said, repository, environment, unreported, **OPTIONAL)) == "allow"
    held = hooked(POLICY, said, repository, environment, reported, **OPTIONAL)
    assert _answer(held) == _expected("analyzing", kind, CLAUDE)


def test_what_is_protected_stays_so_for_an_agent_that_need_not_report(
    repository: Path, environment: dict[str, str]
) -> None:
    said = called("Write", {"file_path": "ralph.toml", "content": "x"})
    result = hooked(POLICY, said, repository, environment, begun(repository), **OPTIONAL)
    assert _answer(result) == "deny"
    assert "protected" in result.err


@pytest.mark.parametrize("state", [name for name, state in MACHINE.states.items() if state.terminal])
def test_an_end_holds_an_agent_that_need_not_report(state: str, repository: Path, environment: dict[str, str]) -> None:
    said = called(*TOOLS["Write"][:2])
    assert _answer(hooked(POLICY, said, repository, environment, begun(repository, state), **OPTIONAL)) == "deny"


@pytest.mark.parametrize("reporting", ["optional", "expected"])
def test_an_agent_whose_driver_ends_its_session_is_never_held_at_its_stop(
    reporting: str, repository: Path, environment: dict[str, str]
) -> None:
    """The driver reads its last message, and a stop that is blocked would put another one in its place."""
    for state in ("idle", "analyzing", "implementing"):
        session = begun(repository, state)
        result = hooked("stop", STOP, repository, environment, session, RALPH_REPORTING=reporting)
        assert (result.code, result.err) == (0, "")


def test_an_agent_whose_reports_are_expected_is_held_from_the_beginning(
    repository: Path, environment: dict[str, str]
) -> None:
    said = called(*TOOLS["Write"][:2])
    result = hooked(POLICY, said, repository, environment, begun(repository), RALPH_REPORTING="expected")
    assert _answer(result) == "deny"


# What a denial says

CALL = re.compile(r"update_session_state\((\{[^}]*\})\)")
DESTRUCTIVE = re.compile(r"(?i)\b(rm|delete|remove|reset|force|undo|clean|kill|drop|overwrite|discard|--\w+)\b")


@pytest.mark.parametrize("state", [name for name, state in MACHINE.states.items() if not state.terminal])
def test_the_calls_that_a_denial_names_lead_to_where_the_call_is_allowed(
    state: str, repository: Path, environment: dict[str, str]
) -> None:
    for tool, given, kind in (TOOLS["Write"], TOOLS["Bash that writes"]):
        session = begun(repository, state)
        result = hooked(POLICY, called(tool, given), repository, environment, session)
        if kind in _allowed(state):
            assert result.code == 0
            continue
        assert result.code == 2
        assert f"`{state}`" in result.err
        assert f"allowed here: {', '.join(_allowed(state))}" in result.err
        calls = [json.loads(call) for call in CALL.findall(result.err)]
        assert calls
        assert all(call["sessionId"] == session for call in calls)
        with opened(repository) as journal:
            for call in calls:
                moved = journal.transact(update(call["sessionId"], call["state"], AGENT))
                assert not moved.off_path
        assert hooked(POLICY, called(tool, given), repository, environment, session).code == 0


def test_from_idle_it_names_the_way_over_analyzing(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository)
    result = hooked(POLICY, called(*TOOLS["Write"][:2]), repository, environment, session)
    assert [json.loads(call)["state"] for call in CALL.findall(result.err)] == ["analyzing", "implementing"]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("state", MACHINE.states)
@pytest.mark.parametrize("agent", [CLAUDE, CODEX], ids=["Claude Code", "Codex"])
def test_a_denial_never_names_anything_destructive(
    agent: dict[str, Any], state: str, repository: Path, environment: dict[str, str]
) -> None:
    for name in ("Write", "Bash that writes", "Bash that reads", "an unknown MCP tool"):
        tool, given, _ = TOOLS[name]
        result = hooked(POLICY, called(tool, given, agent), repository, environment, begun(repository, state))
        assert DESTRUCTIVE.search(result.err + result.out) is None
    result = hooked(
        POLICY, called("Write", {"file_path": ".git/config"}), repository, environment, begun(repository, state)
    )
    assert DESTRUCTIVE.search(result.err) is None


def test_a_denial_says_why_a_command_counts_as_writing(repository: Path, environment: dict[str, str]) -> None:
    said = called("Bash", {"command": "cd src\ncat <<EOF > a.txt\nhello\nEOF"})
    result = hooked(POLICY, said, repository, environment, begun(repository))
    assert "it redirects into a.txt" in result.err
    assert result.err.count("\n") == 1, "it is one line, whatever the command was"


def test_a_closed_session_leads_on_to_a_new_one(repository: Path, environment: dict[str, str]) -> None:
    write = called(*TOOLS["Write"][:2])
    with agent_process() as agent:
        begun(repository, "done", process=agent.process)
        result = agent.hook(POLICY, write, repository, environment)
        assert result.code == 2
        assert "has ended (success)" in result.err
        assert "create_ralph_session(" in result.err
        begun(repository, "implementing", process=agent.process)
        assert agent.hook(POLICY, write, repository, environment).code == 0


def test_a_driven_agent_is_not_sent_for_a_session_that_would_not_be_its_own(
    repository: Path, environment: dict[str, str]
) -> None:
    session = begun(repository, "failed")
    result = hooked(POLICY, called(*TOOLS["Write"][:2]), repository, environment, session)
    assert result.code == 2
    assert "create_ralph_session" not in result.err
    assert "stop here" in result.err


def test_what_was_decided_is_left_to_be_seen(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository)
    for name in ("Write", "Read", "an unknown MCP tool"):
        tool, given, _ = TOOLS[name]
        hooked(POLICY, called(tool, given), repository, environment, session)
    denied, passed, asked = notes(repository)
    assert denied == {
        "type": "denied",
        "tool": "Write",
        "call": "call-1",
        "about": "a.txt",
        "need": "write",
        "state": "idle",
    }
    assert passed == {"type": "tool_start", "tool": "Read", "call": "call-1", "about": ""}
    assert asked["type"] == "progress"
    assert asked["message"] == "a person was asked"


# Protected paths, in every state

PROTECTED = [
    ("Write", {"file_path": ".git/config"}),
    ("Edit", {"file_path": "src/../.GIT/hooks/pre-commit"}),
    ("Write", {"file_path": "{repository}/.claude/settings.json"}),
    ("MultiEdit", {"file_path": "link/config"}),
    ("NotebookEdit", {"notebook_path": ".ralf/x.ipynb"}),
    ("apply_patch", {"command": "*** Begin Patch\n*** Add File: .mcp.json\n+{}\n*** End Patch"}),
    ("apply_patch", {"patchText": "*** Begin Patch\n*** Update File: a\n*** Move to: ralph.toml\n*** End Patch"}),
    ("Bash", {"command": "echo x > .git/config"}),
    ("Bash", {"command": "cd .git && rm config"}),
    ("Bash", {"command": "sed -i s/a/b/ .codex/config.toml"}),
    ("Bash", {"command": "python3 -c \"open('.ralf/journal.db', 'w')\""}),
    ("Bash", {"command": "git config core.hooksPath /tmp/x"}),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("tool", "given"), PROTECTED, ids=[str(one) for one in PROTECTED])
def test_what_is_protected_is_denied_in_every_state(
    tool: str, given: dict[str, str], repository: Path, environment: dict[str, str]
) -> None:
    (repository / "link").symlink_to(".git")
    filled = {name: value.replace("{repository}", str(repository)) for name, value in given.items()}
    for state in MACHINE.states:
        result = hooked(POLICY, called(tool, filled), repository, environment, begun(repository, state))
        assert result.code == 2
        assert "is protected" in result.err
        assert "update_session_state" not in result.err, "no state allows it"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": ".git/config"}),
        ("Read", {"file_path": ".claude/settings.json"}),
        ("Grep", {"pattern": "x", "path": ".git"}),
        ("Bash", {"command": "cat .git/config ralph.toml; git config --get user.name"}),
        ("Write", {"file_path": ".gitignore"}),
        ("Write", {"file_path": ".github/workflows/ci.yml"}),
        ("Write", {"file_path": "src/ralph.toml.md"}),
        ("Bash", {"command": "git commit -m 'About .git, .ralf and ralph.toml'"}),
    ],
    ids=str,
)
def test_reading_them_and_writing_beside_them_passes(
    tool: str, given: dict[str, str], repository: Path, environment: dict[str, str]
) -> None:
    session = begun(repository, "implementing")
    assert hooked(POLICY, called(tool, given), repository, environment, session).code == 0


@pytest.mark.parametrize(("agent", "answer"), [(CLAUDE, "ask"), (CODEX, "deny"), ({}, "deny")])
def test_an_unknown_tool_that_names_a_protected_path_is_asked_about(
    agent: dict[str, Any], answer: str, repository: Path, environment: dict[str, str]
) -> None:
    said = called("mcp__files__write_file", {"path": ".git/config"}, agent)
    assert _answer(hooked(POLICY, said, repository, environment, begun(repository, "implementing"))) == answer


# Where nothing can be known

WRITES = ("Write", "Edit", "Bash that writes", "apply_patch of Codex", "an unknown MCP tool")
LOOKS = ("Read", "Grep", "Bash that reads", "our own MCP tool")


EVENTS = ("post-tool-use", "stop", "session-end", "user-prompt-submit", "session-start")


def _holds(repository: Path, environment: dict[str, str], session: str | None, **more: str) -> str:
    """Writes are denied and reads pass; why. A call to PostgreSQL takes longer, so only one of each kind is made."""
    few = 1 if more else None
    said = ""
    for name in WRITES[:few]:
        tool, given, _ = TOOLS[name]
        result = hooked(POLICY, called(tool, given), repository, environment, session, **more)
        assert _answer(result) == "deny", name
        said = result.err
    for name in LOOKS[:few]:
        tool, given, _ = TOOLS[name]
        assert _answer(hooked(POLICY, called(tool, given), repository, environment, session, **more)) == "allow", name
    for event in EVENTS[:few]:
        assert hooked(event, called("Write", {}), repository, environment, session, **more).code == 0
    return said


def test_a_session_that_is_not_there(repository: Path, environment: dict[str, str]) -> None:
    begun(repository)
    assert "there is no session 01abc" in _holds(repository, environment, "01abc")


def test_an_id_of_something_else_is_no_session(repository: Path, environment: dict[str, str]) -> None:
    with opened(repository) as journal:
        session = journal.transact(create(Caller(AGENT), ticket="7")).session_id
        ticket = journal.instance(session).parent
    assert ticket is not None
    assert "there is no session" in _holds(repository, environment, ticket)


def test_a_journal_that_is_not_there(repository: Path, environment: dict[str, str]) -> None:
    assert "there is no journal here" in _holds(repository, environment, "01abc")
    assert not (repository / ".ralf").exists()


def test_no_repository_at_all(outside: Path, environment: dict[str, str]) -> None:
    assert "there is no journal here" in _holds(outside, environment, "01abc")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("content", [b"", b"no journal", b"SQLite format 3\0" + b"\xff" * 5000, None])
def test_a_journal_that_is_damaged(content: bytes | None, repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository)
    path = journal_file(repository)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096) if content is None else content)
    assert "so this session's state is not known" in _holds(repository, environment, session)


def test_a_journal_that_is_a_directory(repository: Path, environment: dict[str, str]) -> None:
    journal_file(repository).mkdir(parents=True)
    assert "the journal cannot be read (it is no file)" in _holds(repository, environment, "01abc")


def test_a_journal_whose_machine_is_garbage(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository)
    with _locked_out(repository) as database:
        database.execute("UPDATE machines SET definition = '{' WHERE name = 'session'")
    for name in WRITES:
        result = hooked(POLICY, called(*TOOLS[name][:2]), repository, environment, session)
        assert result.code == 2
        assert "could not be judged" in result.err


@contextmanager
def _locked_out(repository: Path) -> Iterator[apsw.Connection]:
    """A connection to the journal past Interlock."""
    database = apsw.Connection(str(journal_file(repository)))
    try:
        yield database
    finally:
        database.close()


def test_a_journal_that_another_process_has_locked(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository)
    with _locked_out(repository) as database:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("BEGIN EXCLUSIVE")
        database.execute("UPDATE leases SET expires = expires")
        write, read = (called(*TOOLS[name][:2]) for name in ("Write", "Read"))
        result = hooked(POLICY, write, repository, environment, session)
        assert result.code == 2
        assert "the journal cannot be read" in result.err
        assert hooked(POLICY, read, repository, environment, session).code == 0
        assert hooked("stop", {"stop_hook_active": False}, repository, environment, session).code == 0
        database.execute("ROLLBACK")
    assert "is in the state `idle`" in hooked(POLICY, write, repository, environment, session).err


def test_a_journal_that_others_write_to_can_be_read(repository: Path, environment: dict[str, str]) -> None:
    session = begun(repository, "implementing")
    with _locked_out(repository) as database:
        database.execute("BEGIN IMMEDIATE")
        database.execute("UPDATE leases SET expires = expires")
        assert hooked(POLICY, called(*TOOLS["Write"][:2]), repository, environment, session).code == 0
        database.execute("ROLLBACK")


_WITHOUT_POWERS = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
for capability in (1, 2):  # root may read everything, unless it gives that up
    libc.prctl(24, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="root gives up its powers in Linux's way")
def test_a_journal_that_may_not_be_read(repository: Path, environment: dict[str, str]) -> None:
    env = {**environment, "RALPH_SESSION_ID": begun(repository)}
    journal_file(repository).chmod(0)
    try:
        for name, code in (("Write", 2), ("Read", 0)):
            said = json.dumps(called(*TOOLS[name][:2])).encode()
            words = ("-S", "-c", _WITHOUT_POWERS, HOOK, POLICY)
            result = run(*words, cwd=repository, env=env, program=Path(sys.executable), stdin=said)
            assert result.code == code, result
            assert ("the journal cannot be read" in result.err) == (code == 2)
    finally:
        journal_file(repository).chmod(0o600)


def test_an_agent_that_may_have_a_session_is_held_as_if_it_had(repository: Path, environment: dict[str, str]) -> None:
    """Whether it has one stands in the journal, and that cannot be read."""
    begun(repository)
    journal_file(repository).write_bytes(b"no journal")
    _holds(repository, environment, None)


# The journal in PostgreSQL


@pytest.mark.sampled(2)
@pytest.mark.parametrize("state", ["idle", "implementing", "done"])
def test_a_session_in_postgresql_is_held_to_its_state(
    state: str, repository: Path, environment: dict[str, str], postgres_address: str
) -> None:
    journal = open_journal(postgres_address, created=trusting(repository))
    try:
        driven = begun(journal, state)
        with agent_process() as agent:
            begun(journal, state, process=agent.process)
            env = {**environment, "RALPH_DATABASE_URL": postgres_address}
            for name in ("Write", "Read"):
                tool, given, kind = TOOLS[name]
                expected = 0 if kind in _allowed(state) else 2
                assert agent.hook(POLICY, called(tool, given), repository, env).code == expected
                assert hooked(POLICY, called(tool, given), repository, env, driven).code == expected
    finally:
        journal.close()


def test_a_session_that_is_not_there_in_postgresql(
    repository: Path, environment: dict[str, str], postgres_address: str
) -> None:
    open_journal(postgres_address, created=trusting(repository)).close()
    said = _holds(repository, environment, "01abc", RALPH_DATABASE_URL=postgres_address)
    assert "there is no session 01abc" in said


def test_a_database_without_a_journal(repository: Path, environment: dict[str, str], postgres_address: str) -> None:
    said = _holds(repository, environment, "01abc", RALPH_DATABASE_URL=postgres_address)
    assert "the journal cannot be read" in said


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://nobody:hunter2hunter2@127.0.0.1:1/x",
        "postgresql:///x?host=/no/such/directory",
        "postgresql://nobody:hunter2 hunter2@127.0.0.1/x",
        "postgresql://no.such.host.invalid/x",
        "mysql://127.0.0.1/x",
    ],
)
def test_a_server_that_cannot_be_reached(url: str, repository: Path, environment: dict[str, str]) -> None:
    write, read = (called(*TOOLS[name][:2]) for name in ("Write", "Read"))
    for session in ("01abc", None):
        result = hooked(POLICY, write, repository, environment, session, RALPH_DATABASE_URL=url)
        assert result.code == 2
        assert "the journal cannot be read" in result.err
        assert "hunter2" not in result.err
        assert hooked(POLICY, read, repository, environment, session, RALPH_DATABASE_URL=url).code == 0


def test_a_table_that_another_has_locked_in_postgresql(
    repository: Path, environment: dict[str, str], postgres_address: str
) -> None:
    journal = open_journal(postgres_address, created=trusting(repository))
    session = begun(journal)
    journal.close()
    with psycopg.connect(postgres_address) as other:
        other.execute("LOCK TABLE interlock.instances IN ACCESS EXCLUSIVE MODE")
        env = {**environment, "RALPH_DATABASE_URL": postgres_address}
        result = hooked(POLICY, called(*TOOLS["Write"][:2]), repository, env, session)
        assert result.code == 2
        assert "the journal cannot be read" in result.err
        assert hooked(POLICY, called(*TOOLS["Read"][:2]), repository, env, session).code == 0
        other.rollback()
