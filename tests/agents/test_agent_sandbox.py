"""Real coding agents in a sandbox: they write files, run commands and commit, and change nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.drivers import AGENTS, Unavailable
from agents.drivers import Place as AgentPlace
from agents.fakes import ModelServer, Say, Script
from interlock.world.sandbox.homes import agent_home
from interlock.world.sandbox.policy import Limits
from node.tools import environment
from world.sandbox.places import Place, made_place, run, users

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(sys.platform != "linux", reason="not run: bubblewrap needs Linux"),
]

_COMMIT = "python3 -c 'print(6 * 7)' > answer.txt && git add -A && git commit -q -m 'Add an answer'"


@pytest.fixture(params=users())
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with made_place(request.param) as place:
        yield place


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_works_in_its_tree_and_leaves_the_rest_as_it_was(place: Place, name: str, programs: Path) -> None:
    agent = AGENTS[name]
    script: Script = [
        agent.write(place.root / "written.txt", "by its own tool\n"),
        agent.shell(_COMMIT),
        agent.shell("cat ~/.ssh/id_ed25519; touch ~/.bashrc; ls -a .git/../.ralf"),
        Say("It is done."),
    ]
    with ModelServer(script) as server:
        at = AgentPlace(place.home, place.root, programs)
        try:
            words, more = agent.command(at, server.url, "Answer it.")
        except Unavailable as reason:
            pytest.skip(f"not run: {reason}")
        before = place.contents()
        policy = replace(
            place.policy,
            agent=agent_home(agent.name),
            environment={**environment(), **place.environment, "PATH": environment()["PATH"], **more},
            names=frozenset({"SCRIPTED_KEY", "npm_config_offline"}),
            network=(server.url.partition("://")[2],) if place.user == os.geteuid() else "host",
            limits=Limits(),
        )
        done = run(place, words, policy)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert (place.tree / "answer.txt").read_text() == "42\n"
    assert (place.tree / "written.txt").read_text() == "by its own tool\n"
    assert "do-not-read-me" not in "".join(server.results)
    assert place.contents() == before
