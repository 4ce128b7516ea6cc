"""Real coding agents with a login that expires: it is refreshed outside, and is new in the sandbox as well."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agents.drivers import Agent, Claude, Codex
from agents.drivers import Place as AgentPlace
from agents.fakes import Say, Script
from agents.provider import Provider, providing, token
from interlock.world.sandbox.homes import agent_home
from interlock.world.sandbox.policy import Limits
from node.tools import environment
from patience import SECONDS
from world.sandbox.places import Place, made_place, run

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(sys.platform != "linux", reason="not run: bubblewrap needs Linux"),
]
_SOON, _LATER = 60.0, 28_800.0


def _of_claude(access: str, refresh: str, seconds: float) -> Any:
    ends = int((time.time() + seconds) * 1000)
    kept = {"scopes": ["user:inference", "user:profile"], "subscriptionType": "max", "rateLimitTier": "max"}
    return {"claudeAiOauth": {"accessToken": access, "refreshToken": refresh, "expiresAt": ends, **kept}}


def _of_codex(access: str, refresh: str, seconds: float) -> Any:
    kept = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "last_refresh": "2026-01-01T00:00:00Z"}
    tokens = {"id_token": access, "access_token": access, "refresh_token": refresh, "account_id": "account"}
    return {**kept, "tokens": tokens}


def _claude(place: AgentPlace, provider: Provider) -> tuple[list[str], Mapping[str, str]]:
    words, more = Claude().command(place, "", "Do it.")
    own = {name: value for name, value in more.items() if not name.startswith("ANTHROPIC_")}
    return words, {**own, **provider.environment}


def _codex(place: AgentPlace, provider: Provider) -> tuple[list[str], Mapping[str, str]]:
    words, _ = Codex().command(place, provider.url, "Do it.")
    words = [one.replace('env_key="SCRIPTED_KEY"', "requires_openai_auth=true") for one in words]
    words[2:2] = ["-c", f'chatgpt_base_url="{provider.url}/backend-api"']
    return words, {"CODEX_REFRESH_TOKEN_URL_OVERRIDE": f"{provider.url}/oauth/token"}


class Subject(msgspec.Struct, frozen=True):
    """An agent with a login, the file of that, and how it is started so that it uses it."""

    agent: Agent
    file: str
    login: Callable[[str, str, float], Any]
    command: Callable[[AgentPlace, Provider], tuple[list[str], Mapping[str, str]]]
    inside: str


SUBJECTS = {
    "claude": Subject(
        Claude(), ".claude/.credentials.json", _of_claude, _claude, "$CLAUDE_CONFIG_DIR/.credentials.json"
    ),
    "codex": Subject(Codex(prelude=()), ".codex/auth.json", _of_codex, _codex, "$CODEX_HOME/auth.json"),
}


@pytest.fixture
def place() -> Iterator[Place]:
    with made_place(os.geteuid()) as place:
        yield place


def _log_in(place: Place, subject: Subject, access: str, refresh: str, seconds: float) -> None:
    path = place.home / subject.file
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(subject.login(access, refresh, seconds)))
    new.chmod(0o600)
    new.replace(path)


def _play(place: Place, subject: Subject, programs: Path, provider: Provider) -> None:
    words, more = subject.command(AgentPlace(place.home, place.root, programs), provider)
    own = {**place.environment, **environment(), **more}
    with place.sockets() as sockets:
        policy = replace(
            place.policy,
            agent=agent_home(subject.agent.name),
            environment={**own, "PATH": f"{programs}:{own['PATH']}"},
            sockets=sockets,
            network="host",
            limits=Limits(),
        )
        done = run(place, words, policy)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert not provider.model.failures


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_login_that_is_about_to_expire_is_refreshed_before_the_agent_asks_the_model(
    place: Place, name: str, programs: Path
) -> None:
    subject = SUBJECTS[name]
    old = token("old", _SOON)
    script: Script = [subject.agent.shell(f'cat "{subject.inside}"'), Say("It is done.")]
    with providing(place.home, old, "refresh-1", script) as provider:
        _log_in(place, subject, old, "refresh-1", _SOON)
        _play(place, subject, programs, provider)
        kept = json.loads((place.home / subject.file).read_text())
        assert set(provider.bearers) == {provider.current} != {old}
        [shown] = provider.model.results
    assert provider.refused == []
    assert provider.refresh == "refresh-1+"
    assert provider.refresh in str(kept)
    assert provider.current in shown
    assert "refresh-1" not in shown


@pytest.mark.parametrize("name", SUBJECTS)
def test_an_agent_goes_on_with_the_login_that_was_refreshed_outside_while_it_runs(
    place: Place, name: str, programs: Path
) -> None:
    """As another run or the person refreshes it; the token that the agent began with is no longer accepted."""
    subject = SUBJECTS[name]
    old, new = token("old", _LATER), token("new", _LATER)
    wait = f'until grep -q "{new}" "{subject.inside}"; do sleep 0.1; done'
    script: Script = [subject.agent.shell(wait), Say("It is done.")]
    with providing(place.home, old, "refresh-1", script) as provider:
        _log_in(place, subject, old, "refresh-1", _LATER)

        def refresh() -> None:
            until = time.monotonic() + SECONDS
            while not provider.bearers and time.monotonic() < until:
                time.sleep(0.05)
            provider.current, provider.refresh = new, "refresh-2"
            _log_in(place, subject, new, "refresh-2", _LATER)

        thread = threading.Thread(target=refresh)
        thread.start()
        try:
            _play(place, subject, programs, provider)
        finally:
            thread.join()
        assert (provider.bearers[0], provider.bearers[-1]) == (old, new)
    assert [one for one in provider.refused if one != "withheld"] == []
    kept = (place.home / subject.file).read_text()
    assert new in kept
    assert "refresh-2" in kept
