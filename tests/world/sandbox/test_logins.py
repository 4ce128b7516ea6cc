"""The logins of agents in a sandbox: what they get, that nothing of theirs comes out, and what is refreshed outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interlock.world.sandbox.homes import AgentHome, agent_home
from interlock.world.sandbox.policy import SandboxPolicy
from patience import SECONDS
from world.sandbox.networks import Request, driven, driver, driver_environment
from world.sandbox.places import LOGIN, SECRET, Place, as_user, made_place, users

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not run: bubblewrap needs Linux")

_FRESH = 4_102_444_800_000
_REFRESHING = """#!/usr/bin/python3
# Plays the agent: refreshes a login that is about to expire, once for all who ask at the same time.
import fcntl, json, os, pathlib, sys, time
home = pathlib.Path(os.environ["HOME"])
with open(home / "refreshed.log", "a") as log:
    fcntl.flock(log, fcntl.LOCK_EX)
    path = home / ".claude" / ".credentials.json"
    login = json.loads(path.read_text())
    oauth = login["claudeAiOauth"]
    if oauth["expiresAt"] / 1000 - time.time() < 300:
        log.write(json.dumps({"words": sys.argv[1:], "at": os.getcwd(), "environment": dict(os.environ)}) + "\\n")
        oauth |= {"accessToken": oauth["accessToken"] + "+", "expiresAt": 4102444800000}
        path.with_suffix(".new").write_text(json.dumps(login))
        path.with_suffix(".new").replace(path)
"""
_SEARCH = "! grep -rqs do-not-[r]ead-me"
"""Without the text itself, which would be found in the script."""
_AWAIT = 'until grep -q {} "$CLAUDE_CONFIG_DIR/.credentials.json"; do sleep 0.05; done'


@pytest.fixture(params=users())
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with made_place(request.param) as place:
        yield place


@pytest.fixture
def own() -> Iterator[Place]:
    """A place of whoever runs the tests, whose driver they are."""
    with made_place(os.geteuid()) as place:
        yield place


def _login(place: Place) -> Path:
    return place.home / ".claude" / ".credentials.json"


def _oauth(access: str, expires: int = _FRESH) -> str:
    return json.dumps({"claudeAiOauth": {"accessToken": access, "refreshToken": SECRET, "expiresAt": expires}})


def _log_in(place: Place, access: str, expires: int = _FRESH) -> None:
    """Replace the login of a person, as their own agent does."""
    new = place.home / ".claude" / "new"
    new.write_text(_oauth(access, expires))
    new.chmod(0o644)
    new.replace(_login(place))


def _install(directory: Path, text: str = _REFRESHING) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "claude").write_text(text)
    (directory / "claude").chmod(0o755)
    return str(directory)


def _path(*directories: str) -> Mapping[str, str]:
    return {"PATH": os.pathsep.join((*directories, "/usr/bin", "/bin"))}


def _refreshed(place: Place) -> list[dict[str, Any]]:
    log = place.home / "refreshed.log"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@contextmanager
def _running(place: Place, script: str, **changes: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A run whose driver is this process, until it has ended."""
    policy: SandboxPolicy = replace(place.policy, **{"agent": agent_home("claude"), **changes})
    with (
        place.sockets() as sockets,
        place.sandbox.confine(("sh", "-c", script), replace(policy, sockets=sockets)) as confined,
        subprocess.Popen(
            confined.argv,
            env=confined.environment,
            cwd=confined.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def test_an_agent_can_read_and_replace_its_login_and_gets_no_refresh_token(place: Place) -> None:
    script = (
        'cd "$CLAUDE_CONFIG_DIR" && cat .credentials.json && stat -c " %a %u" .credentials.json && '
        "echo x > .credentials.json && mv .credentials.json y && mv y .credentials.json && "
        f"{_SEARCH} /run /proc/1/environ /proc/1/cmdline ~/.claude"
    )
    before = place.contents()
    done = driven(place, script, "host", agent="claude")
    assert done.returncode == 0, done.stderr
    shown, _, stat = done.stdout.rpartition("} ")
    assert json.loads(f"{shown}}}") == {"claudeAiOauth": {"accessToken": "access", "expiresAt": _FRESH}}
    assert stat.split()[0] == "600"
    assert place.contents() == before


def test_a_directory_that_no_variable_moves_shows_the_login_in_one_place_alone(place: Place) -> None:
    directory = place.home / ".qwen"
    directory.mkdir()
    (directory / "settings.json").write_text("{}")
    (directory / "oauth_creds.json").write_text(json.dumps({"access_token": "a", "refresh_token": SECRET}))
    (directory / ".env").write_text("DASHSCOPE_API_KEY=key\n")
    script = f"cd ~/.qwen; cat settings.json .env oauth_creds.json; {_SEARCH} /run ~/.qwen"
    done = driven(place, script, "host", agent="qwen")
    assert done.returncode == 0, done.stderr
    assert done.stdout == '{}DASHSCOPE_API_KEY=key\n{\n  "access_token": "a",\n  "refresh_token": "withheld"\n}'


ATTACKS = {
    "another account, in place": "echo '{}' > .credentials.json",
    "another account, by rename": "echo '{}' > new && mv new .credentials.json",
    "a link to a file of the person": "ln -sf ~/.bashrc .credentials.json",
    "a link to what only the driver sees": "ln -sf /proc/self/fd/1 .credentials.json",
    "a hard link": "echo '{}' > other && ln -f other .credentials.json",
    "a pipe": "rm .credentials.json && mkfifo .credentials.json",
    "a directory": "rm .credentials.json && mkdir .credentials.json && touch .credentials.json/x",
    "a large file": "head -c 1900000 /dev/zero > .credentials.json",
    "a full directory": "head -c 4000000 /dev/zero > large; [ -s large ]",
    "a directory that nobody may enter": "chmod 0 .",
    "another directory in its place": 'cd / && mv "$CLAUDE_CONFIG_DIR" /run/ralph/home/x && mkdir "$CLAUDE_CONFIG_DIR"',
    "no file": "rm .credentials.json",
    "the socket of the logins": "ls /run/ralph/sockets/logins && exit 1; true",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_an_agent_does_to_its_login_reaches_the_person(own: Place, attack: str) -> None:
    """Neither at once nor when the person's login changes. A second login is updated after it, and is seen to be."""
    second = own.home / ".codex" / "auth.json"
    second.parent.mkdir()
    second.write_text("{}")
    agent = AgentHome((*agent_home("claude").directories, *agent_home("codex").directories[-1:]))
    wait = 'until grep -q newer "$CODEX_HOME/auth.json"; do sleep 0.05; done'
    script = (
        f'cd "$CLAUDE_CONFIG_DIR" && {{ {ATTACKS[attack]}; }} && echo done && read line; rm -f large; {wait}; echo seen'
    )
    before = own.contents()
    with _running(own, script, agent=agent) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"done\n"
        _log_in(own, "newer")
        second.write_text('{"OPENAI_API_KEY": "newer"}')
        assert process.communicate(b"\n", SECONDS)[0] == b"seen\n"
    changed = {name for name, content in own.contents().items() if before.get(name) != content}
    assert changed == {"home/.claude/.credentials.json", "home/.codex/auth.json"}
    assert _login(own).read_text() == _oauth("newer")


@pytest.mark.parametrize(
    "attack", ["another account, by rename", "a link to a file of the person", "a pipe", "no file"]
)
def test_the_person_s_new_login_replaces_what_is_in_its_place(own: Place, attack: str) -> None:
    wait = f"until [ -f .credentials.json ] && [ ! -L .credentials.json ] && {_AWAIT[6:].format('newer')}"
    script = f'cd "$CLAUDE_CONFIG_DIR" && {{ {ATTACKS[attack]}; }} && echo done && {wait}; cat .credentials.json'
    with _running(own, script) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"done\n"
        _log_in(own, "newer")
        shown = process.communicate(timeout=SECONDS)[0]
    assert json.loads(shown) == {"claudeAiOauth": {"accessToken": "newer", "expiresAt": _FRESH}}


def test_a_login_that_is_about_to_expire_is_refreshed_outside_before_the_agent_starts(place: Place) -> None:
    programs = _install(place.home / "bin")
    _login(place).write_text(_oauth("old", 1000))
    environment = {**_path(programs), "RALPH_DATABASE_URL": "postgresql://secret", "DISPLAY": ":0"}
    done = driven(place, 'cat "$CLAUDE_CONFIG_DIR/.credentials.json"', "host", agent="claude", environment=environment)
    assert json.loads(done.stdout) == {"claudeAiOauth": {"accessToken": "old+", "expiresAt": _FRESH}}, done.stderr
    assert json.loads(_login(place).read_text()) == json.loads(_oauth("old+"))
    [call] = _refreshed(place)
    assert (call["words"], call["at"]) == (["auth", "status"], "/")
    assert call["environment"]["DISPLAY"] == ":0"
    assert "RALPH_DATABASE_URL" not in call["environment"]


def test_a_login_that_is_about_to_expire_is_refreshed_outside_during_the_run(own: Place) -> None:
    programs = _install(own.home / "bin")
    script = f"echo started; {_AWAIT.format('soon+')}; echo seen"
    environment = {**own.environment, **_path(programs), "RALPH_RUN": "marker"}
    with _running(own, script, environment=environment, names=frozenset({"RALPH_RUN"})) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        assert _refreshed(own) == []
        _log_in(own, "soon", int(time.time() * 1000) + 200_000)
        assert process.stdout.readline() == b"seen\n"
    [call] = _refreshed(own)
    assert "RALPH_RUN" not in call["environment"]  # or it would end with the run


def test_many_runs_at_once_use_a_refresh_token_once(own: Place) -> None:
    programs = _install(own.home / "bin")
    _login(own).write_text(_oauth("old", 1000))
    requests = Request(
        str(own.directory), own.user, _AWAIT.format("'old+\"'"), "host", own.sandbox, _path(programs), "claude"
    )
    processes = [
        subprocess.Popen(driver(own, requests), env=driver_environment(own), start_new_session=True) for _ in range(4)
    ]
    try:
        assert [one.wait(SECONDS) for one in processes] == [0] * 4
    finally:
        for one in processes:
            one.kill()
            one.wait(SECONDS)
    assert json.loads(_login(own).read_text()) == json.loads(_oauth("old+"))
    assert len(_refreshed(own)) == 1


@pytest.mark.parametrize("where", ["absolute", "relative", "link", "tree"])
def test_a_program_that_agents_can_write_does_not_refresh_a_login(place: Place, where: str) -> None:
    """What an agent commits can come to the person's checkout, and the person's PATH can name that."""
    programs = _install((place.tree if where == "tree" else place.root) / "bin")
    if where == "link":
        (place.home / "bin").mkdir()
        (place.home / "bin" / "claude").symlink_to(f"{programs}/claude")
        programs = str(place.home / "bin")
    _login(place).write_text(_oauth("old", 1000))
    named = os.path.relpath(programs, "/") if where == "relative" else programs
    script = 'cat "$CLAUDE_CONFIG_DIR/.credentials.json"'
    done = driven(place, script, "host", agent="claude", environment=_path(named))
    assert json.loads(done.stdout)["claudeAiOauth"]["accessToken"] == "old", done.stderr
    assert _refreshed(place) == []


def test_a_program_that_cannot_refresh_a_login_is_not_asked_at_each_look(own: Place) -> None:
    programs = _install(own.home / "bin", '#!/bin/sh\necho "$@" >> ~/asked; exit 1\n')
    _login(own).write_text(_oauth("old", 1000))
    environment = {**own.environment, **_path(programs)}
    began = time.monotonic()
    with _running(own, f"echo started; {_AWAIT.format('newer')}", environment=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        for access in ("other", "newer"):
            _log_in(own, access, 1000)
        process.communicate(timeout=SECONDS)
    asked = (own.home / "asked").read_text().splitlines()
    assert set(asked) == {"auth status"}
    assert len(asked) <= 1 + (time.monotonic() - began) // 60


def test_a_login_that_is_not_understood_is_not_given(place: Place) -> None:
    _login(place).write_text(SECRET)
    done = driven(place, 'cat "$CLAUDE_CONFIG_DIR/.credentials.json"', "host", agent="claude")
    assert (done.stdout, done.returncode) == ("", 1)
    assert "No such file" in done.stderr


def test_a_driver_that_is_killed_leaves_no_login_behind(own: Place) -> None:
    script = f'echo started > "{own.root}/started"; sleep {SECONDS:.0f}'
    request = Request(str(own.directory), own.user, script, "host", own.sandbox, {}, "claude")
    with subprocess.Popen(as_user(own.user, driver(own, request)), env=driver_environment(own)) as process:
        try:
            until = time.monotonic() + SECONDS
            while not (own.tree / "started").exists():
                assert time.monotonic() < until
                time.sleep(0.02)
        finally:
            process.send_signal(signal.SIGKILL)
    found = [path for path in own.directory.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [one for one in found if '"accessToken"' in one.read_text(errors="replace")] == [_login(own)]
    assert _login(own).read_text() == LOGIN
