"""Agents of loops in a sandbox: they work in their tree, speak through their socket, and reach nothing else."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.work.driver.agent_sandbox import confined_run
from interlock.work.driver.ports import real_ports
from interlock.work.settings.values import Settings
from interlock.world.agents.command import CommandAgent
from interlock.world.agents.running import run
from interlock.world.repository import own_tree
from interlock.world.sandbox.choosing import choose
from interlock.world.sandbox.unconfined import Unavailable
from work.stories.yards import MET, WORK, Ground, Steps, shell
from work.threads.benches import PASS, Bench
from world.sandbox.networks import FETCH, serving
from world.sandbox.places import SECRET

pytestmark = pytest.mark.skipif(
    isinstance(choose("bubblewrap"), Unavailable), reason="not run: bubblewrap does not work here"
)

CONFINED = Settings({**Settings().values, "agent.sandbox": "bubblewrap", "driver.lease_seconds": 86_400})
SPEAKS = """
import json, os, subprocess, sys
def message(id_, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}) + "\\n"
who = {"name": "t", "version": "1"}
first = message(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=who)
ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\\n"
tool, given = sys.argv[1], {"sessionId": os.environ.pop("RALPH_SESSION_ID"), **json.loads(sys.argv[2])}
ask = message(2, "tools/call", name=tool, arguments=given)
with subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
    server.stdin.write(first + ready + ask)
    server.stdin.flush()
    for line in server.stdout:
        if json.loads(line).get("id") == 2:
            print(line, file=open("answer.json", "w"))
            break
    server.stdin.close()
"""


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path).made()


def _driven(ground: Ground, *steps: dict[str, object], **options: object) -> Ground:
    script: Steps = [*steps, *WORK]
    ground.drive(
        agents=[ground.agent(script, counted=False)],
        judge=ground.agent(MET, name="judge", counted=False),
        settings=CONFINED,
        **options,
    )
    return ground


def test_an_agent_works_at_the_repositorys_own_path_and_what_it_did_is_committed(ground: Ground) -> None:
    _driven(ground, shell("pwd > where; git rev-parse --show-toplevel >> where; git log --format=%s -1 >> where"))
    assert ground.moves()[-1] == "all_complete"
    assert ground.git("show", "HEAD:where").split() == [str(ground.root), str(ground.root), "start"]
    assert ground.is_clean()
    assert not list((ground.root / ".ralf" / "trees").iterdir())


ATTACKS = {
    "a hook of git": "echo '#!/bin/sh' > {out}/.git/hooks/pre-commit",
    "the configuration of git": "git --git-dir {out}/.git config core.hooksPath /tmp",
    "the settings": "echo 'x' >> {out}/ralph.toml",
    "the state directory": "touch {out}/.ralf/forged",
    "the journal": "sqlite3 {out}/.ralf/journal.db 'delete from entries' || rm {out}/.ralf/journal.db",
    "the home": "touch {home}/.bashrc",
    "a stray process": "setsid sh -c 'while :; do touch {out}/stray; done' >/dev/null 2>&1 &",
}


@pytest.mark.parametrize("how", ATTACKS)
def test_nothing_outside_of_its_tree_is_changed(ground: Ground, how: str) -> None:
    away = ground.root.rename(ground.directory / "elsewhere")
    away.rename(ground.root)
    before = {one: one.read_bytes() for one in (ground.root / ".git" / "hooks").glob("*")}
    settings = (ground.root / ".git" / "config").read_bytes()
    # By its own path, the repository is covered by the tree; a process's root directory is another way to it.
    for out in (str(ground.root), f"/proc/1/root{ground.root}", "../../../.."):
        command = ATTACKS[how].format(out=out, home=ground.directory)
        _driven(ground.again(), shell(f"({command}) 2>/dev/null; true"))
        assert ground.moves()[-1] == "all_complete"
    assert {one: one.read_bytes() for one in (ground.root / ".git" / "hooks").glob("*")} == before
    assert (ground.root / ".git" / "config").read_bytes() == settings
    assert not (ground.root / ".ralf" / "forged").exists()
    assert not (ground.directory / ".bashrc").exists()
    with closing(ground.journal()) as journal:
        assert journal.verify() == []


def test_the_journal_and_the_persons_files_are_not_visible(ground: Ground) -> None:
    (ground.root / "mine").write_text("uncommitted")
    (ground.directory / ".ssh").mkdir()
    (ground.directory / ".ssh" / "id").write_text("secret")
    _driven(
        ground, shell(f"cat mine .ralf/journal.db {ground.directory}/.ssh/id ~/.ssh/id > seen 2>/dev/null; env > given")
    )
    assert ground.git("show", "HEAD~1:seen") == ""
    given = ground.git("show", "HEAD~1:given")
    assert "RALPH_SESSION_ID=" in given
    assert "DATABASE_URL" not in given


def test_only_variables_that_are_named_come_along(ground: Ground) -> None:
    secrets = dict.fromkeys(("MY_KEY", "MY_OTHER", "THEIR_KEY", "TEST_DATABASE"), "secret")
    values = {**CONFINED.values, "agent.variables": ("MY_*",), "verify.sandbox": "agent"}
    settings = Settings({**values, "verify.variables": ("TEST_DATABASE",)})
    agent = ground.agent([shell("env | grep secret | sort > given"), *WORK], counted=False)
    judge = ground.agent(MET, name="judge", counted=False)
    tests = ('env | grep secret > /dev/null && test -z "$MY_KEY"',)
    environment = {**ground.environment, **secrets}
    ground.drive(agents=[agent], judge=judge, settings=settings, tests=tests, environment=environment)
    assert ground.moves()[-1] == "all_complete"
    assert ground.git("show", "HEAD~1:given").split() == ["MY_KEY=secret", "MY_OTHER=secret"]


def test_it_reports_through_its_socket_as_the_session_that_the_driver_began(ground: Ground) -> None:
    event = {"type": "progress", "data": {"message": "hello"}}
    _driven(ground, shell(_tells(ground, "emit_ralph_event", event)))
    answer = json.loads(ground.git("show", "HEAD~1:answer.json"))
    assert not answer["result"].get("isError"), answer
    with closing(ground.journal()) as journal:
        [session, *_] = [one.id for one in journal.instances("session")]
        told = [one for one in journal.history(session) if one.decoded_evidence().data.get("message") == "hello"]
    assert [(one.channel, one.event) for one in told] == [("mcp", "noted")]


def _tells(ground: Ground, tool: str, given: Mapping[str, object]) -> str:
    """A command that calls a tool of our server, with the session of the agent that runs it."""
    speak = ground.directory / "speak.py"
    speak.write_text(SPEAKS)
    words = [sys.executable, str(speak), tool, json.dumps(given), str(Path(sys.executable).with_name("ralph")), "mcp"]
    return shlex.join(words)


def test_the_hook_only_explains_what_it_knows_to_an_agent_behind_walls(ground: Ground) -> None:
    """What cannot be known passes where running is allowed; what plainly writes is told the call that is right."""
    hook = str(Path(sys.executable).with_name("ralph-hook"))
    asks = ""
    for name, command in (("guess", 'python3 -c \'open("a", "w")\''), ("write", "touch a"), ("own", "touch .git/x")):
        call = {"tool_name": "Bash", "tool_input": {"command": command}, "cwd": str(ground.root)}
        asks += f"; echo {shlex.quote(json.dumps(call))} | {hook} pre-tool-use 2> {name}; echo $? >> statuses"
    ground.uses_clock = False  # the server outside has the real one, and would find the session to be long over
    _driven(ground, shell(_tells(ground, "update_session_state", {"state": "analyzing"}) + asks))
    assert ground.git("show", "HEAD~1:statuses").split() == ["0", "2", "2"], ground.git("show", "HEAD~1:guess")
    assert "update_session_state(" in ground.git("show", "HEAD~1:write")
    assert "is protected" not in ground.git("show", "HEAD~1:own"), "it is the agent's own repository"
    with closing(ground.journal()) as journal:
        [session, *_] = [one.id for one in journal.instances("session")]
        noted = [one.decoded_evidence().data for one in journal.history(session) if one.event == "noted"]
    assert ["may write" in str(one.get("unsure")) for one in noted if one.get("type") == "tool_start"] == [True]


def _reported(ground: Ground, *commands: str) -> list[str]:
    """Have an agent run commands one after the other and do its work first; gives what was found in its session."""
    ground.uses_clock = False  # the server outside has the real one, and would find the session to be long over
    script = [shell(WORK[0]["run"][2]), *map(shell, commands), {"finish": True}]
    ground.drive(
        agents=[ground.agent(script, counted=False)],
        judge=ground.agent(MET, name="judge", counted=False),
        settings=CONFINED,
    )
    with closing(ground.journal()) as journal:
        [session, *_] = [one.id for one in journal.instances("session")]
        found = [one.decoded_evidence().data for one in journal.history(session)]
    return [f"{one['code']} {one['message']}" for one in found if one.get("type") == "finding"]


DONE = {"outcome": "success"}


def test_nothing_is_written_any_more_once_the_agent_has_completed_its_session(ground: Ground) -> None:
    ends = _tells(ground, "complete_ralph_session", DONE)
    found = _reported(ground, f"cd /tmp && {ends}; touch {ground.root}/late; rm {ground.root}/part-1; true")
    assert not [one for one in found if "'done'" in one], found
    names = ground.git("ls-tree", "--name-only", "HEAD").split()
    assert "part-1" in names, "what it wrote before is there"
    assert "late" not in names


def test_a_tree_with_a_file_open_for_writing_stays_writable_and_what_is_written_is_found(ground: Ground) -> None:
    ends = _tells(ground, "complete_ralph_session", DONE)
    hello = _tells(ground, "emit_ralph_event", {"type": "progress"})
    found = _reported(ground, f"exec 3> held; cd /tmp && {ends} && {hello}; touch {ground.root}/late")
    assert [one.split(" was ")[0] for one in found if "'done'" in one] == [
        "still_writable the tree stayed writable in 'done': a file in it",
        "unseen_write late",
    ]


def test_an_agent_may_write_wherever_its_state_allows_to_run(ground: Ground) -> None:
    """Tests and builds write into the tree; what they did is found when the state is left."""
    states = ("analyzing", "implementing")
    analyzing, implementing = (_tells(ground, "update_session_state", {"state": state}) for state in states)
    hello = _tells(ground, "emit_ralph_event", {"type": "progress"})
    commands = f"cd /tmp; {analyzing} && {hello}; touch {ground.root}/built; {implementing}; touch {ground.root}/made"
    found = _reported(ground, commands)
    assert [one.split(" was ")[0] for one in found if "'analyzing'" in one] == ["unseen_write built"]
    assert {"built", "made"} <= set(ground.git("ls-tree", "--name-only", "HEAD").split())


def test_a_hook_is_judged_outside_and_what_it_saw_is_in_the_session(ground: Ground) -> None:
    call = json.dumps({"tool_name": "Bash", "tool_input": {"command": "cat part-1"}, "cwd": str(ground.root)})
    hook = str(Path(sys.executable).with_name("ralph-hook"))
    _driven(ground, shell(f"echo '{call}' | {hook} pre-tool-use > said 2>&1; echo $? > status"))
    with closing(ground.journal()) as journal:
        [session, *_] = [one.id for one in journal.instances("session")]
        seen = [one.decoded_evidence().data for one in journal.history(session) if one.event == "noted"]
    assert [one["about"] for one in seen if one.get("type") in ("tool_start", "denied")] == ["cat part-1"]


def test_a_program_that_is_not_in_the_sandbox_is_missing_and_not_a_failed_attempt(ground: Ground) -> None:
    (ground.root / "tool").write_text("#!/bin/sh\n")
    (ground.root / "tool").chmod(0o755)
    with pytest.raises(InterlockError) as caught:
        ground.drive(agents=[CommandAgent((str(ground.root / "tool"),), "tool")], settings=CONFINED)
    assert caught.value.code in ("agent_missing", "agent_unusable")
    assert "attempt_failed" not in ground.moves()


def test_an_agent_that_is_stopped_has_its_grace(ground: Ground) -> None:
    slow = replace(real_ports(), run_agent=partial(run, clock=lambda: time.monotonic() / 100))
    # A shell whose last command is `wait` may exit without running its trap.
    ends = "trap 'echo ended > ended; exit 0' TERM; sleep 1000 & echo begun; wait; exit 1"
    ground.hear = lambda told: ground.stop.set() if getattr(told, "text", "") == "begun" else None
    ground.drive(agents=[CommandAgent(("/bin/sh", "-c", ends), "waits")], settings=CONFINED, ports=slow)
    assert (own_tree(ground.root / ".ralf", ground.loop().id) / "ended").read_text() == "ended\n"


def test_an_agent_has_a_copy_of_its_login_that_is_its_own(ground: Ground) -> None:
    login = ground.directory / ".claude" / ".credentials.json"
    login.parent.mkdir()
    login.write_text(
        '{"claudeAiOauth": {"accessToken": "access", "refreshToken": "refresh", "expiresAt": 4102444800000}}'
    )
    before = login.read_bytes()
    script = (
        "trap 'exit 0' TERM; cd $CLAUDE_CONFIG_DIR; cp .credentials.json $OLDPWD/login; echo x > .credentials.json; "
    )
    ground.hear = lambda told: ground.stop.set() if getattr(told, "text", "") == "begun" else None
    ground.drive(
        agents=[CommandAgent(("/bin/sh", "-c", f"{script} sleep 1000 & echo begun; wait"), "claude")], settings=CONFINED
    )
    shown = json.loads((own_tree(ground.root / ".ralf", ground.loop().id) / "login").read_text())
    assert shown == {"claudeAiOauth": {"accessToken": "access", "expiresAt": 4102444800000}}
    assert login.read_bytes() == before
    assert not list((ground.directory / ".local").rglob("runs/*"))


def test_a_judge_cannot_write(ground: Ground) -> None:
    ground.drive(
        agents=[ground.agent(WORK, counted=False)],
        judge=ground.agent([shell("echo 1 > judged; true"), *MET], name="judge", counted=False),
        settings=CONFINED,
    )
    assert ground.moves()[-1] == "all_complete"
    assert "judged" not in ground.git("ls-tree", "--name-only", "HEAD").split()


VERIFIED = Settings(
    {**Settings().values, "agent.sandbox": "none", "verify.sandbox": "bubblewrap", "driver.lease_seconds": 86_400}
)


def test_tests_see_the_work_at_the_repositorys_own_path_and_change_nothing_outside(ground: Ground) -> None:
    """As with a package that is installed as editable: its path is absolute, and leads to what is tested."""
    outside = ground.directory / "outside"
    tests = (
        f"test -f {ground.root}/part-1 && test ! -e {ground.root}/.ralf",
        f"touch {outside} {ground.root}/.git/forged 2>/dev/null; test ! -e {outside}",
    )
    ground.drive(settings=VERIFIED, tests=tests)
    assert ground.moves()[-1] == "all_complete"
    assert not outside.exists()
    assert not (ground.root / ".git" / "forged").exists()


def test_an_agent_and_the_verifiers_of_a_thread_see_its_tree_at_the_repositorys_own_path(tmp_path: Path) -> None:
    bench = Bench.made(tmp_path / "repository")
    outside = tmp_path / "outside"
    bench.settings |= {"agent.sandbox": "bubblewrap", "verify.sandbox": "bubblewrap", "thread.isolation": "own"}
    bench.settings["verify.prepare"] = f"touch {outside}; pwd"
    bench.settings["verify.commands"] = (f"touch {outside}; test -f {bench.root}/made && test ! -e {outside}",)
    script = tmp_path / "agent.sh"
    script.write_text(
        f"touch {outside}; touch {bench.root}/made; echo hello > greeting.txt; echo '<promise>COMPLETE</promise>'"
    )
    judge = tmp_path / "judge.json"  # where the sandbox shows it
    judge.write_text(json.dumps({"iterations": [PASS]}))
    bench.settings |= {"agent.name": "command", "agent.command": f"sh {script}", "agent.judge": "scripted"}
    bench.settings["agent.judge_script"] = str(judge)
    thread = bench.act(bench.new(mode="quick"), "finalize")
    assert thread.state == "PendingReview", [str(one)[:300] for one in bench.told]
    done = bench.act(thread.id, "approve", "commit")
    assert done.state == "Done"
    assert not outside.exists()
    assert not (bench.root / "made").exists()
    assert "made" in bench.git("ls-tree", "--name-only", str(done.commit)).split()


def test_a_sandbox_that_does_not_work_is_said_before_an_agent_starts(ground: Ground) -> None:
    settings = Settings({**CONFINED.values, "agent.sandbox": "seatbelt"})
    with pytest.raises(InterlockError) as caught:
        ground.drive(settings=settings)
    assert caught.value.code == "sandbox_unavailable"
    assert 'agent.sandbox = "none"' in caught.value.hint
    assert ground.runs_of() == 0


@pytest.mark.parametrize(
    ("network", "wanted"),
    [
        ("open", '["open", "127.0.0.1:4000"]'),
        ("none", '["127.0.0.1:4000"]'),
        (("a.org",), '["a.org", "127.0.0.1:4000"]'),
    ],
)
def test_a_model_of_this_machine_that_an_agent_does_not_reach_is_named_with_what_to_set(
    ground: Ground, network: str | tuple[str, ...], wanted: str
) -> None:
    settings = Settings({**CONFINED.values, "agent.network": network})
    with closing(ground.journal()) as journal:
        context = ground.context(journal, settings=settings)
        variables = {**context.environment, "ANTHROPIC_BASE_URL": "http://127.0.0.1:4000/v1", "OLLAMA_HOST": "::1"}
        tree = own_tree(ground.root / ".ralf", "01jb")
        run = confined_run(replace(context, environment=variables), "claude", "session", tree, {}, is_read_only=False)
        with pytest.raises(InterlockError) as caught, run:
            raise AssertionError("it was begun")
    assert caught.value.code == "sandbox_unavailable"
    assert "ANTHROPIC_BASE_URL leads to 127.0.0.1:4000" in caught.value.message
    assert f"`agent.network = {wanted}`" in caught.value.hint


def test_agents_and_tests_have_the_networks_of_the_settings(ground: Ground) -> None:
    """A server of this machine that the tests may reach, and the agents may not."""
    with serving() as port:
        fetch = f"{FETCH} http://127.0.0.1:{port}/"
        ground.drive(
            agents=[ground.agent([shell(f"{fetch} > got"), *WORK], counted=False)],
            judge=ground.agent(MET, name="judge", counted=False),
            settings=Settings({**CONFINED.values, **VERIFIED.values, **_networks(port)}),
            tests=(f"{fetch} | grep {SECRET}",),
        )
    assert ground.moves()[-1] == "all_complete"
    assert "no http" in ground.git("show", "HEAD:got")


def _networks(port: int) -> dict[str, str | tuple[str, ...]]:
    return {"agent.sandbox": "bubblewrap", "agent.network": "open", "verify.network": (f"localhost:{port}",)}
