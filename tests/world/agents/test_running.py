"""One run of one agent: what it does is told, what it may take is bounded, and nothing of it is left."""

from __future__ import annotations

import gc
import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from interlock.world.agents.assignment import TimeOuts
from interlock.world.agents.command import CommandAgent
from interlock.world.agents.happenings import (
    ContextUsed,
    Cost,
    Failure,
    FailureKind,
    Finished,
    Happening,
    Said,
    Usage,
    UsedTool,
    Warned,
)
from interlock.world.agents.lines import LONGEST
from interlock.world.agents.result import Ending
from interlock.world.agents.tree import MARKER, end_marked, members
from patience import SECONDS
from world.agents.runs import Clock, Place, are_gone, child

MARK = f"test-{os.getpid()}"
SLOW = 0.02
"""With this pace of the clock, the two seconds of a grace are enough on any machine."""
LIMIT = {"kind": "weekly", "until": 1_790_000_000, "said": "no more this week"}
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="environments are shown on Linux alone")


# What it does is told


def test_a_run_is_told_as_it_happens_and_summed_up(place: Place) -> None:
    agent = place.script(
        {"say": "I begin."},
        {"tool": {"name": "Bash", "about": "make test"}},
        {"usage": {"input": 10, "output": 2}},
        {"usage": {"input": 5, "cached": 7}},
        {"cost": 0.25},
        {"cost": 0.5},
        {"context": 40},
        {"context": 81.5},
        {"lie": True},
        {"promise": "completed"},
        {"finish": True},
    )
    result = place.run(agent)
    assert place.told == [
        Said("I begin."),
        UsedTool("Bash", "make test"),
        Usage(10, 2),
        Usage(5, 0, 7),
        Cost(0.25),
        Cost(0.5),
        ContextUsed(40.0),
        ContextUsed(81.5),
        Said("All 42 tests pass."),
        Said("<promise>completed</promise>"),
        Finished(True),
    ]
    assert (result.ending, result.exit_code, result.promise) == (Ending.FINISHED, 0, "COMPLETED")
    assert (result.usage, result.cost_usd, result.context_percent) == (Usage(15, 2, 7), 0.75, 81.5)
    assert result.failure is None
    assert result.output_bytes == place.log.stat().st_size
    assert result.log_sha256 == hashlib.sha256(place.log.read_bytes()).hexdigest()
    assert '"finished": true' in result.last_lines[-1]


def test_an_exit_status_that_is_not_0_is_a_failure_whatever_was_said(place: Place) -> None:
    result = place.run(place.script({"promise": "COMPLETED"}, {"finish": True}, {"exit": 3}))
    assert (result.ending, result.exit_code) == (Ending.FAILED, 3)


def test_an_agent_that_says_that_it_failed_has_failed_whatever_its_exit_status(place: Place) -> None:
    assert place.run(place.script({"finish": False})).ending is Ending.FAILED


@pytest.mark.parametrize("code", [0, 1])
def test_a_limit_that_stops_the_work_is_neither_success_nor_failure(place: Place, code: int) -> None:
    result = place.run(place.script({"limit": LIMIT}, {"exit": code}))
    assert result.ending is Ending.LIMITED
    assert result.failure == Failure(FailureKind.WEEKLY, 1_790_000_000.0, "no more this week")


def test_a_limit_that_was_overcome_is_none(place: Place) -> None:
    result = place.run(place.script({"limit": LIMIT}, {"finish": True}))
    assert (result.ending, result.failure) == (Ending.FINISHED, None)


def test_a_banner_on_stderr_of_a_failed_run_is_a_limit(place: Place) -> None:
    result = place.run(place.script({"complain": "You've hit your session limit · resets 3:45pm"}, {"exit": 1}))
    assert result.ending is Ending.LIMITED
    assert result.failure is not None
    assert result.failure.kind is FailureKind.SESSION
    assert result.failure.until is not None


def test_an_agent_that_is_not_there_is_not_installed(place: Place) -> None:
    result = place.run(CommandAgent(("no-such-agent-anywhere",)))
    assert (result.ending, result.exit_code, result.output_bytes) == (Ending.NOT_INSTALLED, None, 0)
    assert "no-such-agent-anywhere cannot be started" in result.last_lines[0]
    assert "no-such-agent-anywhere" in place.log.read_text()


def test_a_file_that_is_no_program_is_not_installed(place: Place) -> None:
    path = place.directory / "agent"
    path.write_text("no program")
    assert place.run(CommandAgent((str(path),))).ending is Ending.NOT_INSTALLED
    path.chmod(0o700)
    assert place.run(CommandAgent((str(path),))).ending is Ending.NOT_INSTALLED


def test_a_directory_that_is_not_there_is_no_missing_agent(place: Place) -> None:
    assert place.run(child("pass"), directory=place.directory / "gone").ending is Ending.FAILED


def test_an_argument_that_is_too_long_is_a_failure(place: Place) -> None:
    assert place.run(CommandAgent(("echo", "{prompt}")), prompt="x" * 4_000_000).ending is Ending.FAILED


def test_the_environment_is_what_is_given_and_the_marker(place: Place) -> None:
    code = "import os; print(sorted(name for name in os.environ if name != 'LC_CTYPE'))"
    place.run(child(code), environment={"RALPH_SESSION_ID": "s"}, marker="m")
    assert place.told == [Said("['RALPH_RUN', 'RALPH_SESSION_ID']")]


def test_a_run_has_a_session_of_its_own_and_no_terminal(place: Place) -> None:
    code = "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0))"
    place.run(child(code))
    assert place.told == [Said("True")]


# The prompt


@pytest.mark.parametrize("size", [0, 10, 10_000_000])
def test_a_prompt_of_any_size_arrives_on_stdin_and_its_echo_comes_back(place: Place, size: int) -> None:
    result = place.run(place.script({"echo": True}), prompt="p" * size)
    assert (result.ending, result.output_bytes) == (Ending.FINISHED, size + 1)


def test_a_prompt_that_nobody_reads_hinders_nobody(place: Place) -> None:
    assert place.run(child("print('ok')"), prompt="p" * 10_000_000).ending is Ending.FINISHED
    assert place.told == [Said("ok")]


def test_a_prompt_as_an_argument_leaves_stdin_empty(place: Place) -> None:
    code = "import sys; print(sys.argv[1:], sys.stdin.read() == '')"
    place.run(child(code, "{prompt}", "--model={model}"), prompt="a {prompt_file} b", model="m")
    assert place.told == [Said("['a {prompt_file} b', '--model=m'] True")]


def test_a_prompt_in_a_file_is_read_by_its_owner_alone(place: Place) -> None:
    code = "import os, sys; path = sys.argv[1]; print(open(path).read()); print(oct(os.stat(path).st_mode))"
    place.run(child(code, "{prompt_file}"), prompt="in a file")
    assert place.told == [Said("0o100600")]  # an echo of the prompt is none of its words
    assert list(place.log.parent.iterdir()) == [place.log], "it is gone with the run"


def test_a_promise_in_an_echoed_prompt_is_not_the_agents(place: Place) -> None:
    prompt = "Do it. When it is done, say\n<promise>COMPLETED</promise>"
    assert place.run(child("import sys; print(sys.stdin.read())"), prompt=prompt).promise is None
    code = "import sys; print(sys.stdin.read()); print('<promise>Blocked</promise>')"
    assert place.run(child(code), prompt=prompt).promise == "BLOCKED"
    assert place.run(place.script({"echo": True}), prompt=prompt).promise is None


# What it may take


def test_a_run_is_ended_by_its_wall_clock_even_if_it_talks(place: Place) -> None:
    clock = Clock(pace=SLOW)

    def on(happening: Happening) -> None:
        clock.skip(1 if len(place.told) <= 51 else 0)  # what it says after that takes nothing of its grace

    agent = child("import time\nwhile True: print('tick', flush=True); time.sleep(0.01)")
    result = place.run(agent, clock=clock, on=on, time_outs=TimeOuts(wall=50, idle=40))
    assert result.ending is Ending.TIMED_OUT_WALL
    assert result.exit_code == -15
    assert result.seconds > 50


def test_a_run_is_ended_when_it_was_silent_for_too_long(place: Place) -> None:
    clock = Clock()
    agent = place.script({"say": "I think."}, {"sleep": 600})
    result = place.run(agent, clock=clock, on=lambda _: clock.rush(10), time_outs=TimeOuts(idle=600))
    assert (result.ending, place.told) == (Ending.TIMED_OUT_IDLE, [Said("I think.")])


def test_a_run_is_ended_when_it_never_says_anything(place: Place) -> None:
    result = place.run(child("import time; time.sleep(600)"), clock=Clock(each=5), time_outs=TimeOuts(first_output=60))
    assert (result.ending, result.output_bytes) == (Ending.TIMED_OUT_START, 0)


def test_the_first_output_has_its_own_time_only_until_it_comes(place: Place) -> None:
    clock = Clock()
    agent = place.script({"say": "first"}, {"wait": "go"}, {"say": "second"})

    def on(happening: Happening) -> None:
        clock.skip(100)
        (place.directory / "go").touch()

    result = place.run(agent, clock=clock, on=on, time_outs=TimeOuts(first_output=60))
    assert result.ending is Ending.FINISHED


def test_an_agent_that_closes_its_output_and_hangs_is_lost(place: Place) -> None:
    agent = place.script({"say": "bye"}, {"close": True}, {"sleep": 600})
    result = place.run(agent, clock=Clock(each=1), time_outs=TimeOuts())
    assert result.ending is Ending.LOST


def test_an_agent_that_finished_and_hangs_has_finished(place: Place) -> None:
    agent = place.script({"promise": "COMPLETED"}, {"finish": True}, {"sleep": 600})
    clock = Clock(pace=SLOW)

    def on(happening: Happening) -> None:
        if happening == Finished(True):
            clock.rush(40, times=2)  # when it is heard, and when it is silent after that: the grace comes later

    result = place.run(agent, clock=clock, on=on)
    assert (result.ending, result.promise, result.exit_code) == (Ending.FINISHED, "COMPLETED", -15)


# Nothing of it is left


@needs_proc
def test_a_stop_ends_all_that_ignore_it_have_left_the_group_or_their_parent(place: Place) -> None:
    stubborn = {"ignore": ["SIGTERM", "SIGINT", "SIGHUP"], "pids": "pids"}
    agent = place.script(
        {"ignore": ["SIGTERM"]},
        {"fork": {**stubborn, "count": 2}},
        {"fork": {**stubborn, "detach": True}},
        {"fork": {"quiet": True, "pids": "pids"}},
        {"run": [sys.executable, "-c", "import os; open('pids', 'a').write(f'{os.getppid()}\\n')"]},
        {"say": "ready"},
        {"sleep": 600},
    )
    stop = threading.Event()
    result = place.run(agent, on=lambda _: stop.set(), stop=stop, marker=MARK)
    assert (result.ending, result.exit_code) == (Ending.STOPPED, -9)
    assert len(place.pids.read_text().split()) == 5
    assert are_gone(place.pids)


def test_who_ends_when_asked_is_heard_to_the_end(place: Place) -> None:
    code = """
import os, signal, time
def bye(*_): os.write(1, b"saved my work\\n"); os._exit(5)
signal.signal(signal.SIGTERM, bye)
print("ready", flush=True)
time.sleep(600)
"""
    stop = threading.Event()
    result = place.run(child(code), clock=Clock(pace=SLOW), on=lambda _: stop.set(), stop=stop)
    assert (result.ending, result.exit_code) == (Ending.STOPPED, 5)
    assert place.told == [Said("ready"), Said("saved my work")]


def test_what_was_said_before_the_exit_is_heard_however_slowly_it_is_taken_in(place: Place) -> None:
    clock = Clock()
    code = "for number in range(2000): print(number)"
    result = place.run(child(code), clock=clock, on=lambda _: clock.skip(0.01), time_outs=TimeOuts(idle=5))
    assert (result.ending, place.told[-1]) == (Ending.FINISHED, Said("1999"))


def test_who_holds_the_output_open_after_the_agent_does_not_hold_us(place: Place) -> None:
    result = place.run(place.script({"fork": {"ignore": ["SIGTERM"], "pids": "pids"}}, {"say": "done"}))
    assert (result.ending, result.exit_code, place.told) == (Ending.FINISHED, 0, [Said("done")])
    assert are_gone(place.pids)


@needs_proc
def test_who_is_left_behind_detached_and_quiet_is_ended_too(place: Place) -> None:
    result = place.run(place.script({"fork": {"detach": True, "quiet": True, "pids": "pids"}}), marker=MARK)
    assert result.ending is Ending.FINISHED
    assert are_gone(place.pids)


def test_an_error_of_whoever_watches_ends_the_run(place: Place) -> None:
    def on(happening: Happening) -> None:
        raise KeyboardInterrupt

    agent = place.script({"fork": {"pids": "pids", "ignore": ["SIGTERM"]}}, {"say": "ready"}, {"sleep": 600})
    with pytest.raises(KeyboardInterrupt):
        place.run(agent, on=on)
    assert are_gone(place.pids)


def test_no_thread_no_file_and_no_zombie_is_left(place: Place) -> None:
    place.run(place.script({"say": "once, so that everything is imported"}))
    gc.collect()  # what others have left would close its files meanwhile
    threads, files = threading.enumerate(), len(list(Path("/dev/fd").iterdir()))
    place.run(place.script({"fork": {"count": 3}}, {"say": "again"}))
    place.run(CommandAgent(("no-such-agent-anywhere",)))
    assert threading.enumerate() == threads
    assert len(list(Path("/dev/fd").iterdir())) == files
    assert not [pid for pid in _children() if "Z" in _state(pid)]


def _children() -> list[int]:
    shown = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = (line.split() for line in shown.splitlines())
    return [int(pid) for pid, parent in pairs if int(parent) == os.getpid()]


def _state(pid: int) -> str:
    return subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout


@needs_proc
def test_the_processes_of_a_dead_run_are_ended_by_its_marker(place: Place) -> None:
    """A driver is killed in the middle; the next one finds what it has left."""
    driver = """
import os, subprocess, sys
for detached in (False, True):
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('on', flush=True); time.sleep(600)"
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    left = subprocess.Popen([sys.executable, "-c", code], start_new_session=detached, **streams)
    left.stdout.readline()
    print(left.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    environment = {**os.environ, MARKER: f"{MARK}-dead"}
    dead = subprocess.run(
        [sys.executable, "-c", driver], env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    pids = [int(word) for word in dead.stdout.split()]
    assert members(None, f"{MARK}-dead") == sorted(pids)
    assert end_marked(f"{MARK}-dead") == 2
    assert are_gone(pids)
    assert end_marked(f"{MARK}-dead") == 0


@needs_proc
def test_who_ends_the_marked_spares_itself_and_who_is_above_it(place: Place) -> None:
    code = f"from interlock.world.agents.tree import end_marked; print(end_marked('{MARK}-self'))"
    shell = ["sh", "-c", f'"{sys.executable}" -c "{code}"; echo alive']
    done = subprocess.run(
        shell, env={**os.environ, MARKER: f"{MARK}-self"}, capture_output=True, text=True, timeout=SECONDS, check=True
    )
    assert done.stdout.split() == ["0", "alive"]


def test_without_a_marker_nobody_is_ended() -> None:
    assert end_marked("") == 0
    assert members(None, "") == []


# What it prints


def test_a_line_without_an_end_is_cut_for_the_reader_and_whole_in_the_log(place: Place) -> None:
    size = 5 * LONGEST
    result = place.run(place.script({"bytes": size}))
    assert result.output_bytes == place.log.stat().st_size == size
    assert place.log.read_bytes() == b"x" * size
    assert [type(one) for one in place.told] == [Warned]
    assert max(map(len, result.last_lines)) <= 2000


def test_a_log_is_only_added_to(place: Place) -> None:
    first = place.run(place.script({"print": "one"}))
    second = place.run(place.script({"print": "two"}), log_limit=5)
    assert place.log.read_bytes() == b"one\ntwo\n", "what was there counts for no limit"
    assert first.log_sha256 == hashlib.sha256(b"one\n").hexdigest()
    assert second.log_sha256 == hashlib.sha256(b"two\n").hexdigest()


def test_the_log_ends_at_its_limit_and_the_run_goes_on(place: Place) -> None:
    agent = place.script({"flood": 300_000}, {"say": "still here"})
    result = place.run(agent, log_limit=100_000)
    assert result.ending is Ending.FINISHED
    assert result.output_bytes > 300_000
    log = place.log.read_bytes()
    assert 100_000 <= len(log) < 100_200
    assert b"The log ends early" in log
    assert result.log_sha256 == hashlib.sha256(log).hexdigest()
    assert [one for one in place.told if isinstance(one, Said)] == [Said("still here")]
    assert [one for one in place.told if isinstance(one, Warned)]
    assert "still here" in result.last_lines[-1]


def test_a_log_that_cannot_be_written_does_not_end_the_run(place: Place) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("not run: there is no /dev/full here")
    result = place.run(place.script({"say": "on I go"}), log=full)
    assert result.ending is Ending.FINISHED
    assert any(isinstance(one, Warned) and "cannot be written" in one.text for one in place.told)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured on Linux alone")
def test_memory_stays_bounded_however_much_is_printed(place: Place) -> None:
    """Lines, and a line without an end: each alone is more than memory may grow by."""
    place.run(place.script({"flood": 2_000_000}, {"bytes": 3_000_000}))
    Path("/proc/self/clear_refs").write_text("5")
    before = _memory("VmRSS")
    result = place.run(place.script({"flood": 60_000_000}, {"bytes": 60_000_000}), log_limit=10_000_000)
    assert result.output_bytes == 120_000_000
    assert _memory("VmHWM") - before < 50_000, "kilobytes"


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def test_both_streams_are_read_at_once_and_bytes_that_are_no_text_are_no_error(place: Place) -> None:
    code = """
import os
for _ in range(200):
    os.write(2, b"e" * 5000 + b"\\n")
    os.write(1, b"o\\xff\\x00" * 2000 + b"\\n")
"""
    result = place.run(child(code))
    assert result.ending is Ending.FINISHED
    assert result.output_bytes == 200 * (5001 + 6001)


# Secrets

TOKEN = "ghp_" + "aB3" * 12
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "bm90IGEga2V5\n" * 60 + "-----END RSA PRIVATE KEY-----\n"


def _everything(place: Place, *more: object) -> str:
    return place.log.read_text() + repr(place.told) + repr(more)


def test_a_secret_is_in_nothing_that_is_kept_or_told(place: Place) -> None:
    agent = place.script(
        {"say": f"The token is {TOKEN}."},
        {"tool": {"name": "Bash", "about": f"curl -H 'Authorization: Bearer {TOKEN}'"}},
        {"limit": {"kind": "rate", "until": None, "said": TOKEN}},
        {"complain": f"Error: too many requests, {TOKEN}"},
        {"exit": 1},
    )
    result = place.run(agent)
    assert TOKEN not in _everything(place, result)
    assert "[redacted:github]" in place.log.read_text()
    assert "[redacted:github]" in str(place.told[0])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("gap", [0, 10, 30, 4000, 5000])
def test_a_secret_that_lies_across_a_cut_is_taken_out(place: Place, gap: int) -> None:
    code = f"print('x ' * {LONGEST // 2 - 5 - gap // 2} + '{TOKEN}' + ' y' * {LONGEST}, flush=True)"
    result = place.run(child(code))
    assert TOKEN not in _everything(place, result)
    assert place.log.read_text().count("[redacted:github]") == 1


def test_a_secret_that_comes_in_pieces_is_taken_out(place: Place) -> None:
    pieces = [TOKEN[start : start + 7] for start in range(0, len(TOKEN), 7)]
    code = f"import os\nfor piece in {pieces!r}: os.write(1, piece.encode())"
    assert "[redacted:github]" in place.run(child(code)).last_lines[0]
    assert TOKEN[:20] not in _everything(place)


def test_a_private_key_of_many_lines_is_taken_out(place: Place) -> None:
    code = f"print('before'); print({KEY!r}); print('after', flush=True)"
    result = place.run(child(code))
    assert "bm90IGEga2V5" not in _everything(place, result)
    log = place.log.read_text()
    assert log.split() == ["before", "[redacted:private-key]", "after"]


def test_a_private_key_that_never_ends_is_taken_out_too(place: Place) -> None:
    result = place.run(child(f"print('before'); print({KEY.partition('-----END')[0]!r})"))
    assert "bm90IGEga2V5" not in _everything(place, result)
