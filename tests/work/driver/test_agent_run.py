"""An errand: how much of what an agent says is kept, what is written down of its run, and agents without schemas."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.errors import InterlockError, Refusal
from interlock.journal import Journal
from interlock.machine import Actor, ActorKind, Channel
from interlock.work.driver.agent_run import DRIVER, KEEPS, AgentRequest, AgentRun, end_orphaned_runs, run_agent
from interlock.work.orchestration.beginning import begin, roles_of
from interlock.work.sessions.runs import DIED, UNKNOWN, RunSummary, ran_of
from interlock.work.sessions.verbs import Caller, complete, create
from interlock.world.agents.happenings import Said, Warned
from interlock.world.agents.result import Ending
from interlock.world.place import Place
from work.orchestration.playing import MET, done, plan, qualified, task
from work.threads.benches import PASS, STORY_MET, WORK, Bench, Steps, shell

SCHEMA = {"type": "object", "properties": {"met": {"type": "boolean"}}, "required": ["met"]}
OLD = f"""#!{sys.executable}
import json, sys
from pathlib import Path
with Path("started").open("a") as file:
    print(*["--json-schema" in sys.argv], file=file)
if "--json-schema" in sys.argv:
    sys.exit("error: unknown option '--json-schema'")
sys.stdin.read()
print(json.dumps({{"type": "assistant", "message": {{"content": [{{"type": "text", "text": '{{"met": true}}'}}]}}}}))
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": ""}}))
"""


BLOCKED = f"""#!{sys.executable}
import json, os, subprocess, sys
session = os.environ["RALPH_SESSION_ID"]
def say(*blocks):
    print(json.dumps({{"type": "assistant", "parent_tool_use_id": None, "message": {{"content": blocks}}}}), flush=True)
def text(words):
    return {{"type": "text", "text": words}}
def call(tool):
    return {{"type": "tool_use", "name": tool, "input": {{"sessionId": session}}}}
sys.stdin.read()
subprocess.run(["ralph", "session", "update", "analyzing"], check=True, stdout=subprocess.DEVNULL)
say(text("I look."), call("mcp__ralph__update_session_state"))
say(text("All criteria are met.\\n<promise>COMPLETE</promise>"))
settings = json.loads(sys.argv[sys.argv.index("--settings") + 1])
[hook] = settings["hooks"]["Stop"][0]["hooks"]
told = {{"hook_event_name": "Stop", "cwd": os.getcwd(), "stop_hook_active": False, "transcript_path": "/x"}}
done = subprocess.run([hook["command"], *hook["args"]], input=json.dumps(told).encode(), stderr=subprocess.PIPE)
if done.returncode == 2:
    say(call("mcp__ralph__complete_ralph_session"))
    say(text("The session is completed."))
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": ""}}))
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


@pytest.fixture
def journal(bench: Bench) -> Iterator[Journal]:
    opened = bench.open()
    yield opened
    opened.close()


def _send(bench: Bench, journal: Journal, name: str = "command", keeps: int = KEEPS) -> AgentRun:
    context = bench.context(journal)
    path = f"{bench.root.parent}:{context.environment['PATH']}"
    context = replace(context, environment={**context.environment, "PATH": path})
    log = bench.state_directory / "runs" / "log"
    roles = roles_of(context, {})
    parent = begin(context, "Answer", "261115-120000", roles)
    request = AgentRequest(context.agent(name), "planner", "Answer.", parent, log, schema=SCHEMA, keeps=keeps)
    return run_agent(context, request)


def _printing(bench: Bench, code: str) -> None:
    (bench.root.parent / "print.py").write_text(code)
    bench.settings["agent.command"] = f"{sys.executable} {bench.root.parent / 'print.py'}"


def test_all_that_is_wanted_of_ten_megabytes_in_small_pieces_is_kept(bench: Bench, journal: Journal) -> None:
    """Each piece must not cost a copy of all that is kept: that would be 400 GB."""
    _printing(bench, "for number in range(100_000): print(f'line {number:>94d}')\nprint('{\"met\": true}')")
    heard = _send(bench, journal, keeps=4_000_000)
    assert heard.result.ending is Ending.FINISHED
    assert len(heard.said) == 4_000_000
    assert heard.said.endswith('99999\n{"met": true}')
    assert sum(isinstance(one, Said) for one in bench.told) == 100_001


def test_one_line_of_megabytes_is_heard_whole_where_so_much_is_wanted(bench: Bench, journal: Journal) -> None:
    _printing(bench, "print('x' * 3_000_000 + ' end')")
    assert _send(bench, journal, keeps=4_000_000).said == "x" * 3_000_000 + " end"
    assert not [one for one in bench.told if isinstance(one, Warned)]


def test_where_nobody_wants_more_the_end_is_kept(bench: Bench, journal: Journal) -> None:
    _printing(bench, "for number in range(20_000): print(f'line {number}')")
    said = _send(bench, journal).said
    assert len(said) == 32_000
    assert said.endswith("line 19998\nline 19999")


@pytest.mark.parametrize("keeps", [1, 5, 6, 7, 12, 13, 100])
def test_what_is_kept_is_the_end_of_all_lines(keeps: int, bench: Bench, journal: Journal) -> None:
    _printing(bench, "print('abcdef\\n\\nghi\\njklmno')")
    assert _send(bench, journal, keeps=keeps).said == "abcdef\nghi\njklmno"[-keeps:].lstrip("\n")


def test_an_agent_that_is_too_old_for_the_option_is_asked_by_the_prompt_alone(bench: Bench, journal: Journal) -> None:
    program = bench.root.parent / "claude"
    program.write_text(OLD)
    program.chmod(0o700)
    heard = _send(bench, journal, "claude")
    assert heard.result.ending is Ending.FINISHED
    assert json.loads(heard.said) == {"met": True}
    assert (bench.root / "started").read_text() == "True\nFalse\n"
    assert [one for one in bench.told if isinstance(one, Warned) and "no schema" in one.text]


def test_our_stop_hook_does_not_cost_an_agent_the_promise_that_it_ended_with(bench: Bench, journal: Journal) -> None:
    """A program that behaves like Claude Code at a stop that a hook blocks; `tests/agents` has the real one."""
    program = bench.root.parent / "claude"
    program.write_text(BLOCKED)
    program.chmod(0o700)
    context = bench.context(journal)
    path = f"{bench.root.parent}:{Path(sys.executable).parent}:{context.environment['PATH']}"
    context = replace(context, environment={**context.environment, "PATH": path})
    parent = begin(context, "Answer", "261115-120000", roles_of(context, {}))
    log = bench.state_directory / "runs" / "log"
    request = AgentRequest(context.agent("claude"), "implementer", "Build it.", parent, log, reports=True)
    heard = run_agent(context, request)
    assert (heard.result.ending, heard.result.promise) == (Ending.FINISHED, "COMPLETE"), heard
    assert heard.said.endswith("<promise>COMPLETE</promise>"), "nothing was asked of it after its last message"


def test_an_agent_that_fails_for_another_reason_is_not_started_twice(bench: Bench, journal: Journal) -> None:
    program = bench.root.parent / "claude"
    program.write_text(OLD.replace("unknown option '--json-schema'", "no such model"))
    program.chmod(0o700)
    heard = _send(bench, journal, "claude")
    assert heard.result.ending is Ending.FAILED
    assert (bench.root / "started").read_text() == "True\n"


def _runs(journal: Journal) -> list[RunSummary]:
    """What drivers wrote down of the runs of all sessions."""
    found = [ran_of(journal.history(one.id)) for one in journal.instances("session")]
    return [one[1] for one in found if one is not None]


@pytest.mark.parametrize("words", ["off", "on"])
def test_a_run_leaves_a_note_on_its_session_with_words_only_where_they_are_wanted(
    words: str, bench: Bench, journal: Journal
) -> None:
    bench.settings["telemetry.content"] = words
    bench.play([{"tool": {"name": "Read", "about": "private"}}, {"usage": {"input": 5}}, {"say": "done"}])
    _send(bench, journal, "scripted")
    [ran] = _runs(journal)
    assert (ran.agent, ran.ending, ran.input, ran.calls) == ("scripted", "finished", 5, 1)
    assert [(one.tool, one.about) for one in ran.tools] == [("Read", "private" if words == "on" else "")]
    assert (ran.asked, ran.said) == (("Answer.", "done") if words == "on" else ("", ""))
    [session] = journal.instances("session")
    assert session.outcome == "success"


def test_a_run_whose_driver_died_is_written_down_by_the_next_once(bench: Bench, journal: Journal) -> None:
    roles = roles_of(bench.context(journal), {})
    parent = begin(bench.context(journal), "Answer", "261115-120000", roles)
    caller = Caller(DRIVER, "claude", None, Place())
    left = journal.transact(create(caller, parent=parent, role="executor")).session_id
    ended = journal.transact(create(caller, parent=parent, role="reviewer")).session_id
    journal.transact(complete(ended, "success", Actor(ActorKind.AGENT, "claude", Channel.MCP)))
    for _ in range(2):
        end_orphaned_runs(bench.context(journal), parent)
    assert [(one.agent, one.ending) for one in _runs(journal)] == [("claude", DIED), ("claude", UNKNOWN)]
    assert [journal.instance(one).outcome for one in (left, ended)] == ["cancelled", "success"]
    assert sum('"run"' in one.evidence for one in journal.all_entries()) == 2


def test_no_agent_is_started_while_settings_wait(bench: Bench, journal: Journal) -> None:
    context = bench.context(journal)
    parent = begin(context, "Answer", "261115-120000", roles_of(context, {}))
    pending = Refusal("settings_waiting", "A change waits.", "Accept it.")
    context = replace(context, settings=replace(context.settings, pending=pending))
    head, log = journal.head(), bench.state_directory / "runs" / "log"
    with pytest.raises(Refusal) as caught:
        run_agent(context, AgentRequest(context.agent("scripted"), "planner", "Answer.", parent, log))
    assert caught.value.code == "settings_waiting"
    assert journal.head() == head
    assert not log.exists()


@pytest.mark.parametrize("driver", ["story", "orchestrator"])
def test_a_run_that_broke_the_repository_is_paid_once_and_not_repeated(bench: Bench, driver: str) -> None:
    bench.settings |= {"thread.driver": driver, "story.tests": ("true",)}
    aside = shell(f"mv {bench.root}/.git {bench.root.parent}/git")
    costs: Steps = [{"usage": {"input": 70, "output": 30, "cached": 0}}, {"cost": 1.5}, *WORK]
    if driver == "story":
        bench.play([*costs, aside, {"finish": True}])
        bench.judge(STORY_MET)
    else:
        bench.play(plan(task(1)), [*costs, aside, *done(1)])
        bench.judge(qualified(1), MET, PASS)
    id_ = bench.new(mode="quick")
    with pytest.raises(InterlockError) as caught:
        bench.act(id_, "finalize")
    assert caught.value.code == "no_repository"
    (bench.root.parent / "git").rename(bench.root / ".git")
    thread = bench.drive(id_)
    assert (thread.state, thread.spent[1:]) == ("PendingReview", (1.5, 100)), thread.reason
