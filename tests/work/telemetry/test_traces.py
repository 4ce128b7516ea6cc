"""A run with agents that play scripts, as the traces that a real receiver gets; and what goes wrong on the way."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from faces.journals import settle
from faces.programs import RALPH, SECONDS, clean_environment, run_here
from interlock.journal import Journal, Transaction, open_journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.work.notifying.delivery import lease_of
from interlock.work.notifying.sending import sending
from interlock.work.sessions.runs import RUN, RunSummary, data_of
from interlock.work.sessions.verbs import Caller, complete, create, note
from interlock.work.settings.values import Settings
from interlock.work.telemetry.exporting import WEEK, Export, export_of
from interlock.work.threads.loop import drive
from interlock.world.place import Place
from interlock.world.telemetry.collector import collector_of
from journal.histories import Clock
from work.attention.standings import run_in, thread_in
from work.notifying.receivers import Receiver, receiver
from work.threads.benches import DONE, PASS, Bench, Steps

from .collectors import Read, read

HOOK = Actor(ActorKind.SYSTEM, "ralph-hook", Channel.HOOK)
SECRET = "sk-ant-" + "a" * 40
FIRST: Steps = [
    {"tool": {"name": "Read", "about": "/home/ann/private.txt"}},
    {"tool": {"name": "what is /etc/passwd?", "about": f"token {SECRET}"}},
    {"usage": {"input": 100, "output": 7, "cached": 20}},
    {"cost": 0.25},
    {"say": f"I looked around, with {SECRET}."},
    {"finish": True},
]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def journal(tmp_path: Path, clock: Clock) -> Iterator[Journal]:
    found = open_journal(tmp_path / "journal.db", now=clock)
    yield found
    found.close()


def _export(journal: Journal, there: Receiver, **given: str) -> Export:
    found = export_of(journal, _settings(there, **given), {})
    assert found is not None
    found.begin()
    return found


def _settings(there: Receiver, **given: str) -> Settings:
    known = {"traces": "on", "endpoint": there.url, **given}
    return Settings({**Settings().values, **{f"telemetry.{name}": value for name, value in known.items()}})


def _session(journal: Journal, parent: str | None = None, agent: str = "claude") -> str:
    """A session that a driver has just begun."""
    caller = Caller(DRIVER, agent, None, Place("/home/ann/work"))
    return journal.transact(create(caller, parent=parent, role="implementer")).session_id


def _ended(journal: Journal) -> str:
    """A session that has ended, with what its driver wrote down."""
    session = _session(journal)
    journal.transact(note(session, RUN, DRIVER, data_of(RunSummary("claude", "finished"))))
    journal.transact(complete(session, "success", DRIVER))
    return session


def _named(spans: list[Read]) -> dict[str, list[Read]]:
    found: dict[str, list[Read]] = {}
    for one in spans:
        found.setdefault(one.name, []).append(one)
    return found


def test_a_thread_is_a_trace_of_its_runs_and_their_tools(tmp_path: Path) -> None:
    """The very same journal, which holds what was asked and said, without content and with it."""
    bench = Bench.made(tmp_path / "repository")
    bench.settings |= {"telemetry.content": "on"}
    bench.play(FIRST, DONE)
    bench.judge(PASS)
    id_ = bench.new(mode="quick")
    with receiver() as plain, receiver() as full:
        journal = bench.open()
        try:
            export = _export(journal, plain)
            bench.act(id_, "finalize", drives=False)
            with sending([export], grace=60):
                assert drive(bench.context(journal), id_).state == "PendingReview"
            bench.act(id_, "approve", "commit")
            assert export.turn() == 1
            _again(journal)
            assert _export(journal, full, content="on").turn() == journal.outboxes()[0].sent / 2
        finally:
            journal.close()
    assert all(one.path == "/hook/v1/traces" for one in plain.got)
    _is_whole(read(plain.got))
    with_content = {one.id: one for one in read(full.got)}
    for one in read(plain.got):
        other = with_content.pop(one.id)
        assert one.attributes.items() <= other.attributes.items()
        assert (one.trace, one.parent, one.began, one.ended) == (other.trace, other.parent, other.began, other.ended)
    assert not with_content
    written = ("Greet people", "People are greeted", "looked around", "private.txt", str(bench.root), "passwd", SECRET)
    told = [
        [one for one in written if one.encode() in b"".join(got.body for got in there.got)] for there in (plain, full)
    ]
    assert told == [[], ["Greet people", "People are greeted", "looked around", "private.txt"]]
    by_name = _named(read(full.got))
    assert by_name["execute_tool Read"][0].attributes["gen_ai.tool.call.arguments"] == "/home/ann/private.txt"
    first = min(by_name["invoke_agent scripted"], key=lambda one: one.began)
    assert "People are greeted" in str(first.attributes["gen_ai.input.messages"])
    assert "looked around, with [redacted:" in str(first.attributes["gen_ai.output.messages"])


def _is_whole(spans: list[Read]) -> None:
    by_name = _named(spans)
    [whole] = by_name.pop("invoke_workflow thread")
    runs = by_name.pop("invoke_agent scripted")
    assert sorted(by_name) == ["execute_tool Read", "execute_tool other"]
    assert {one.trace for one in spans} == {whole.trace}
    assert whole.parent == ""
    assert {one.parent for one in runs} == {whole.id}
    assert len({one.id for one in spans}) == len(spans)
    assert all(whole.began <= one.began <= one.ended <= whole.ended for one in spans)
    assert (whole.attributes["ralph.outcome"], whole.error) == ("success", None)
    assert whole.attributes["gen_ai.workflow.name"] == "thread"
    assert set(whole.events) == {"ralph.moved"}
    first, *others = sorted(runs, key=lambda one: one.began)
    assert [one.attributes["ralph.role"] for one in others] == ["implementer", "judge"]
    assert {one.parent for some in by_name.values() for one in some} == {first.id}
    expected = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "scripted",
        "gen_ai.provider.name": "scripted",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.cache_read.input_tokens": 20,
        "gen_ai.usage.output_tokens": 7,
        "ralph.cost.usd": 0.25,
        "ralph.role": "implementer",
        "ralph.ending": "finished",
        "ralph.tools.calls": 2,
    }
    assert expected.items() <= first.attributes.items()


def _again(journal: Journal) -> None:
    """Let everything be told once more, as if nobody knew how far it was."""
    lease = journal.acquire(lease_of("traces"), process_holder(), 60.0, is_present)
    journal.keep_outbox(structs.replace(journal.outboxes()[0], seq=0, upto=0), lease)
    journal.release(lease)


def test_what_hooks_saw_of_tools_is_told_with_its_times_and_its_ends(journal: Journal, clock: Clock) -> None:
    with receiver() as there:
        export = _export(journal, there)
        session = _session(journal)

        def saw(type_: str, tool: str, call: str, at: int, **more: object) -> None:
            data = {"tool": tool, "call": call, "about": "rm -rf private", "at": f"2023-11-14T22:13:{at}.000Z", **more}
            journal.transact(note(session, type_, HOOK, data))

        saw("tool_start", "Bash", "a", 21)
        saw("tool_start", "Edit", "b", 22)
        saw("tool_end", "Edit", "b", 23, success=False, error="private")
        saw("tool_end", "Bash", "a", 25, success=True)
        saw("denied", "Write", "c", 26)
        saw("tool_end", "Grep", "d", 28, success=True, milliseconds=1500)
        saw("tool_start", "Task", "e", 29)
        journal.transact(complete(session, "success", Actor(ActorKind.AGENT, "claude", Channel.MCP)))
        assert export.turn() == 0, "its driver has not written down what came of the run"
        clock.forward(20)
        journal.transact(note(session, RUN, DRIVER, data_of(RunSummary("claude", "timed_out_idle", "opus"))))
        assert export.turn() == 6
    spans = read(there.got)
    whole = spans[0]
    assert (whole.name, whole.error) == ("invoke_agent claude", "timed_out_idle")
    assert (whole.attributes["gen_ai.provider.name"], whole.attributes["gen_ai.request.model"]) == ("anthropic", "opus")
    tools = {one.attributes["gen_ai.tool.name"]: one for one in spans[1:]}
    took = {name: round((one.ended - one.began) / 1e9, 1) for name, one in tools.items()}
    assert took == {
        "Bash": 4.0,
        "Edit": 1.0,
        "Write": 0.0,
        "Grep": 1.5,
        "Task": round(whole.ended / 1e9 - 1_700_000_009, 1),
    }
    assert {name: one.error for name, one in tools.items() if one.error} == {"Edit": "tool_failed", "Write": "denied"}
    assert tools["Bash"].attributes["gen_ai.tool.call.id"] == "a"
    assert b"private" not in there.got[0].body


def test_what_works_for_a_ticket_is_in_the_tickets_trace(journal: Journal) -> None:
    with receiver() as there:
        export = _export(journal, there)
        ticket = journal.transact(create(Caller(DRIVER, "claude"), ticket="7", role="triage"))
        journal.transact(note(ticket.session_id, RUN, DRIVER, data_of(RunSummary("claude", "failed"))))
        journal.transact(complete(ticket.session_id, "failure", DRIVER))
        run_in(journal, "Failed")
        thread_in(journal, "Abandoned")
        assert export.turn() == 3
    session, failed, abandoned = read(there.got)
    root = journal.instance(ticket.session_id).parent
    assert root is not None
    assert session.parent != ""
    assert len({session.trace, failed.trace, abandoned.trace}) == 3
    assert (session.error, failed.error, abandoned.error) == ("failed", "failure", None)
    assert abandoned.attributes["ralph.outcome"] == "abandoned"


def test_nothing_is_lost_while_a_collector_is_down_slow_or_at_fault(journal: Journal, clock: Clock) -> None:
    with receiver() as gone:
        pass  # nobody listens there any more
    with receiver((500, {}), (503, {"Retry-After": "600"}), (302, {"Location": "http://127.0.0.1:1/"})) as there:
        export = _export(journal, gone)
        _ended(journal)
        assert export.turn() == 0
        [box] = journal.outboxes()
        assert (box.tries, box.trouble) == (1, "it cannot be reached: ConnectError")
        export = _export(journal, there)
        for number, (wait, trouble) in enumerate(((6, "500"), (11, "503"), (601, "302"))):
            assert export.turn() == 0
            assert len(there.got) == number, "it is left alone for a while"
            clock.forward(wait)
            assert export.turn() == 0
            assert journal.outboxes()[0].trouble.startswith(f"it answers {trouble}")
        clock.forward(900)
        assert export.turn() == 1
        [box] = journal.outboxes()
        assert (box.tries, box.trouble, box.sent, box.dropped) == (0, "", 1, 0)
    assert len({one.id for one in read(there.got)}) == 1, "it is the same span each time"


def test_a_collector_that_hangs_is_left_behind(journal: Journal, clock: Clock) -> None:
    with receiver((0, {})) as hanging:
        collector = collector_of(hanging.url, {}, journal.now)
        export = Export(journal, replace(collector, seconds=0.2))
        export.begin()
        _ended(journal)
        assert export.turn() == 0
        assert journal.outboxes()[0].trouble == "no answer within 0.2 s"
        assert hanging.arrived.wait(SECONDS)
        hanging.release.set()
        clock.forward(10)
        assert Export(journal, collector).turn() == 1


def test_what_is_refused_or_too_old_is_counted_and_holds_up_nothing(
    journal: Journal, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with receiver((400, {})) as there:
        export = _export(journal, there)
        _ended(journal)
        assert export.turn() == 0
        there.body = b'{"partialSuccess": {"rejectedSpans": "1", "errorMessage": "no \\u001b[31m room"}}'
        _ended(journal)
        assert export.turn() == 0
        assert journal.outboxes()[0].trouble == "1 spans were refused: no  [31m room"
        there.body = b'{"partialSuccess": {"rejectedSpans": {}}}' + b" " * 100_000
        _ended(journal)
        clock.forward(WEEK + 10)
        _ended(journal)
        assert export.turn() == 1
        [box] = journal.outboxes()
        assert (box.sent, box.dropped, box.tries) == (1, 3, 0)
    assert len(there.got) == 3
    assert sum("lost" in one.message for one in caplog.records) == 3


def test_a_flood_of_tools_is_cut_and_counted(journal: Journal) -> None:
    with receiver() as there:
        export = _export(journal, there)
        session = _session(journal)

        def flood(transaction: Transaction) -> None:
            for number in range(1_005):
                note(session, "tool_end", HOOK, {"tool": "Bash", "call": f"c{number}", "success": True})(transaction)

        journal.transact(flood)
        journal.transact(note(session, RUN, DRIVER, data_of(RunSummary("claude", "finished"))))
        journal.transact(complete(session, "success", DRIVER))
        assert export.turn() == 1_001
    assert [len(read([one])) for one in there.got] == [200, 200, 200, 200, 200, 1]
    assert read(there.got)[0].attributes["ralph.tools.left_out"] == 5


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return clean_environment(tmp_path / "home")


@pytest.fixture
def repository(tmp_path: Path, environment: dict[str, str]) -> Path:
    made = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", made], env=environment, check=True, timeout=60)
    return made


def test_a_sender_that_is_killed_is_followed_by_one_that_sends_the_same(
    repository: Path, environment: dict[str, str]
) -> None:
    """Through OpenTelemetry's own variables, which count only where traces are on."""
    with receiver((0, {})) as there:
        known = {
            **environment,
            "OTEL_EXPORTER_OTLP_ENDPOINT": there.url,
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b,host=elsewhere",
            "OTEL_SERVICE_NAME": "ours",
        }
        run_here("ticket", "create", "Parse dates", cwd=repository, env=known)
        assert run_here("telemetry", "send", "--json", cwd=repository, env=known).error["code"] == "telemetry_off"
        settle(repository, '[telemetry]\ntraces = "on"\n')
        run_here("telemetry", "send", cwd=repository, env=known)  # the first begins with what happens from now on
        run_here("ticket", "handoff", "1", "--to-state", "Canceled", "--reason", "no", cwd=repository, env=known)
        killed = subprocess.Popen([RALPH, "telemetry", "send"], cwd=repository, env=known)
        assert there.arrived.wait(SECONDS)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait(SECONDS)
        sent = run_here("telemetry", "send", "--json", cwd=repository, env=known).data
        assert sent == {"sent": 1, "dropped": 0, "trouble": None}
        status = run_here("telemetry", "status", "--json", cwd=repository, env=known).data
        assert (status["traces"], status["waiting"], status["sent"]) == (True, 0, 1)
        trace = run_here("telemetry", "test", "--json", cwd=repository, env=known).data["trace"]
        off = {**known, "OTEL_SDK_DISABLED": "true"}
        assert run_here("telemetry", "send", "--json", cwd=repository, env=off).error["code"] == "telemetry_off"
    first, again, tried = read(there.got)
    assert first == again
    assert (first.name, first.attributes["ralph.outcome"]) == ("invoke_workflow ticket", "canceled")
    assert (tried.name, tried.trace) == ("ralph telemetry test", trace)
    assert there.got[0].headers["x-key"] == "a b"
    assert there.got[0].headers["Host"].startswith("127.0.0.1")
    assert b'"stringValue":"ours"' in there.got[0].body


def test_where_traces_are_off_nothing_is_sent_and_nothing_of_it_is_imported(
    repository: Path, environment: dict[str, str]
) -> None:
    with receiver() as there:
        known = {**environment, "OTEL_EXPORTER_OTLP_ENDPOINT": there.url, "PYTHONPROFILEIMPORTTIME": "1"}
        done = subprocess.run(
            [RALPH, "thread", "new", "Greet people"],
            cwd=repository,
            env=known,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0
        assert "interlock.faces.cli" in done.stderr
        assert "telemetry" not in done.stderr
        assert "opentelemetry" not in done.stderr
        assert there.got == []
