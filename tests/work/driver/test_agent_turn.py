"""One agent's turn, in every system alike: who is chosen, who rests, and what a run costs is counted once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interlock.errors import InterlockError, Refusal
from interlock.work.driver.agent_run import AgentRequest, run_agent
from interlock.work.sessions.runs import ran_of
from interlock.work.settings.values import Settings
from interlock.work.stories.context import Limits
from interlock.work.threads import iterating
from interlock.work.threads.driver_step import ThreadStep
from interlock.work.threads.record import Thread
from interlock.world.agents.command import CommandAgent
from work.stories.yards import MET, WORK, Ground, Recorded, Steps
from work.threads.benches import DONE, IDLE, Bench

DOLLAR: Steps = [{"usage": {"input": 1000, "output": 100}}, {"cost": 1.0}]
MISSING = CommandAgent(("surely-no-such-agent-here",), "missing")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path, stories={"1-1": ("greet", "thank")}).made()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


def _settings(**values: Any) -> Settings:
    values = {"agent__sandbox": "none", **values}
    return Settings({**Settings().values, **{name.replace("__", "."): value for name, value in values.items()}})


def _agents(ground: Ground) -> list[str]:
    return [one["agent"] for one in ground.notes("iteration") if one["role"] == "implementer"]


# Story loops


def test_one_of_several_agents_that_is_missing_leaves_the_work_to_the_others(ground: Ground) -> None:
    driven = ground.drive(agents=[MISSING, ground.agent(WORK)])
    assert driven.loop.outcome == "all_complete"
    assert _agents(ground) == ["missing", "implementer", "implementer"], "it is tried once, and costs no attempt"
    assert "attempt_failed" not in ground.moves()


def test_the_first_agent_does_all_of_it_where_they_do_not_take_turns(ground: Ground) -> None:
    agents = [ground.agent(WORK), ground.agent(WORK, name="second")]
    ground.drive(agents=agents, settings=_settings(agent__selection="priority"))
    assert _agents(ground) == ["implementer", "implementer"]


def test_they_take_turns_by_default(ground: Ground) -> None:
    ground.drive(agents=[ground.agent(WORK), ground.agent(WORK, name="second")])
    assert _agents(ground) == ["implementer", "second"]


def test_an_agent_that_took_too_long_rests_while_others_work(ground: Ground) -> None:
    silent: Steps = [{"wait": "never"}]
    agents = [ground.agent(silent, name="slow"), ground.agent(WORK)]
    settings = _settings(agent__selection="priority")
    ground.drive(agents=agents, settings=settings, limits=Limits(idle_seconds=0.5))
    assert _agents(ground) == ["slow", "implementer", "implementer"]
    assert [one["agent"] for one in ground.notes("cooling")] == ["slow"]
    assert ground.waited == []


def test_the_files_that_a_driver_writes_just_before_a_run_are_not_the_agents(ground: Ground) -> None:
    """The file clock may give `progress.txt` the same time as the start of the run."""
    with pytest.raises(InterlockError) as caught:
        ground.drive(agents=[ground.agent([{"exit": 0}], name="idle")])
    assert caught.value.code == "agent_unusable"
    assert "attempt_failed" not in ground.moves()


# Threads


def test_a_run_is_paid_for_in_the_transaction_that_ends_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    bench.play([*DOLLAR, *DONE])
    id_ = bench.new(mode="quick")
    monkeypatch.setattr(iterating, "keep_iteration", dies)
    with pytest.raises(KeyboardInterrupt):
        bench.act(id_, "finalize")
    thread = bench.thread(id_)
    assert (thread.spent[1], len(thread.iterations)) == (1.0, 1)


def test_a_run_that_nobody_heard_to_its_end_costs_what_was_reserved(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.settings |= {"thread.budget_usd": 3, "thread.iterations": 9}
    bench.play([*DOLLAR, *IDLE])
    id_ = bench.new(mode="quick")
    real, begun = ThreadStep.run_agent, []

    def dies(*_: object) -> Any:
        raise KeyboardInterrupt

    def second_dies(step: Any, *args: Any) -> Any:
        begun.append(step)
        if len(begun) == 2:
            ports = replace(step.context.ports, run_agent=dies)
            step = replace(step, context=replace(step.context, ports=ports))
        return real(step, *args)

    monkeypatch.setattr(ThreadStep, "run_agent", second_dies)
    with pytest.raises(KeyboardInterrupt):
        bench.act(id_, "finalize")
    monkeypatch.undo()
    assert bench.thread(id_).spent[1] == 2.0, "one was paid, and one is reserved like it"
    thread = bench.drive(id_)
    assert (thread.state, len(thread.iterations)) == ("Stuck", 2), "there is room for one more, not for two"
    assert "the budget of the thread is used up" in thread.reason


def test_the_limit_of_an_assessor_is_noted(bench: Bench) -> None:
    bench.play([{"limit": {"kind": "weekly", "until": 1_900_000_000, "said": ""}}, {"exit": 1}])
    id_ = bench.new()
    with pytest.raises(InterlockError) as caught:
        bench.act(id_, "assess")
    assert caught.value.code == "agent_unavailable"
    assert bench.thread(id_).limited == {"scripted": 1_900_000_000.0}


# Any of them


def test_what_a_run_cost_is_kept_even_where_its_driver_may_write_no_more(bench: Bench) -> None:
    bench.play([*DOLLAR, *IDLE])
    journal = bench.open()
    context, parent = bench.context(journal), bench.new()

    def refuses(_: object) -> list[Any]:
        raise Refusal("lease_lost", "Somebody else drives it.", "Stop.")

    log = bench.state_directory / "log"
    with pytest.raises(Refusal):
        run_agent(context, AgentRequest(context.agent("scripted"), "x", "Work.", parent, log, settled=refuses))
    [session] = journal.instances("session")
    told = ran_of(journal.history(session.id))
    assert session.outcome is not None
    assert told is not None
    assert told[1].cost_usd == 1.0
    journal.close()


# What a review of the first version found


def test_a_judge_that_a_person_brought_back_does_not_keep_the_implementer_out(bench: Bench) -> None:
    program = bench.root.parent / "helper"
    scripts = {
        "Running": "#!/bin/sh\necho hello > greeting.txt\necho '<promise>COMPLETE</promise>'\n",
        "Verifying": "#!/bin/sh\n",  # it exits at once, as one that is not logged in
    }

    def play(told: object) -> None:
        if isinstance(told, Thread) and told.state in scripts:
            program.write_text(scripts[told.state])

    program.write_text(scripts["Running"])
    program.chmod(0o700)
    bench.settings |= {"agent.name": "command", "agent.command": str(program), "agent.judge": "command"}
    bench.settings["thread.iterations"] = 2
    bench.hear = play
    id_ = bench.new(mode="quick")
    with pytest.raises(InterlockError) as caught:
        bench.act(id_, "finalize")
    assert (caught.value.code, bench.thread(id_).state) == ("agent_unusable", "Verifying")
    scripts["Verifying"] = "#!/bin/sh\necho 'CRITERION 2: FAIL - it is rude'\n"
    thread = bench.drive(id_)
    assert [one.role for one in thread.iterations] == ["implementer", "judge", "judge", "implementer", "judge"]


@pytest.mark.parametrize("ending", ["limited", "switched"])
def test_what_an_agent_left_is_kept_however_its_run_ended(bench: Bench, ending: str) -> None:
    limited: Steps = [{"limit": {"kind": "weekly", "until": 1_900_000_000, "said": ""}}, {"exit": 1}]
    switched: Steps = [{"run": ["git", "switch", "-qc", "elsewhere"]}, {"finish": True}]
    work: Steps = [{"run": ["/bin/sh", "-c", "echo precious > work.txt"]}]
    bench.play([*work, *(limited if ending == "limited" else switched)])
    bench.hear = lambda told: bench.stop.set() if "reached a limit" in str(told) else None
    id_ = bench.new(mode="quick")
    bench.act(id_, "finalize")
    refs = bench.git("for-each-ref", "--format=%(refname)", "refs/ralf/threads").splitlines()
    assert any("precious" in bench.git("grep", "-h", "precious", one) for one in refs if "iteration" in one)


def test_a_judge_waits_for_no_rest_that_only_others_can_use(ground: Ground) -> None:
    silent: Steps = [{"wait": "never"}]
    ground.agent(MET, name="judge")
    judge = Recorded(ground.directory / "judge.json", "slow")  # the same agent as the worker that takes too long
    agents = [ground.agent(silent, name="slow"), ground.agent(WORK)]
    settings = _settings(agent__selection="priority")
    ground.drive(agents=agents, judge=judge, settings=settings, limits=Limits(idle_seconds=0.5))
    assert (ground.loop().outcome, ground.waited) == ("all_complete", [])
