"""What only people decide is refused to agents in the verbs themselves, whatever face calls them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.errors import Refusal
from interlock.journal import Journal
from interlock.machine import Actor
from interlock.work.driver.step import noted
from interlock.work.orchestration.loop import begin as begin_run
from interlock.work.orchestration.reading import known_run
from interlock.work.orchestration.verbs import add, resume, stop
from interlock.work.stories import verbs
from interlock.work.stories.loop import begin
from work.orchestration.playing import ROLES
from work.stories.yards import Ground
from work.threads.benches import AGENT, Bench, somebody

STEERING: dict[str, Callable[[Journal, Actor], object]] = {
    "context": lambda journal, actor: verbs.add_context(journal, actor, "x"),
    "clear": verbs.clear_context,
    "pause": verbs.pause,
    "resume": verbs.resume,
    "skip": lambda journal, actor: verbs.skip(journal, actor, "story-1-1"),
    "limit": lambda journal, actor: verbs.limit(journal, actor, "iterations", 9),
    "unblock": lambda journal, actor: verbs.unblock(journal, actor, "story-1-1"),
}


@pytest.mark.parametrize("verb", STEERING)
def test_no_agent_steers_a_story_loop(tmp_path: Path, verb: str) -> None:
    ground = Ground(tmp_path).made()
    with closing(ground.journal()) as journal:
        begin(ground.context(journal))
        head = journal.head()
        with pytest.raises(Refusal) as caught:
            STEERING[verb](journal, AGENT)
        assert caught.value.code == "person_needed"
        assert journal.head() == head


def test_no_agent_steers_a_run(tmp_path: Path) -> None:
    bench = Bench.made(tmp_path / "repository")
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        begin_run(context, "All parts are there", "261115-120000", ROLES)
        run, head = known_run(journal), journal.head()
        for call in (
            lambda: add(journal, AGENT, run, "more"),
            lambda: stop(journal, AGENT, run),
            lambda: resume(context, somebody(AGENT), run),
        ):
            with pytest.raises(Refusal) as caught:
                call()
            assert caught.value.code == "person_needed"
        assert journal.head() == head


def test_after_a_failure_a_run_goes_on_for_somebody_at_a_terminal_alone(tmp_path: Path) -> None:
    bench = Bench.made(tmp_path / "repository")
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        begin_run(context, "All parts are there", "261115-120000", ROLES)
        failed = known_run(journal)
        failed.outcome, head = "failure", journal.head()
        with pytest.raises(Refusal) as caught:
            resume(context, replace(bench.person, is_at_terminal=lambda: False), failed)
        assert (caught.value.code, journal.head()) == ("person_needed", head)

        def unproven(id_: str, name: str) -> None:
            raise Refusal("person_needed", f"{name} of {id_}: nobody is proven.", "Enroll a key.")

        with pytest.raises(Refusal) as caught:
            resume(context, replace(bench.person, vouch=unproven), failed)
        assert "nobody is proven" in caught.value.message
        journal.append(failed.id, noted("stopped", reason=""))
        assert resume(context, bench.person, known_run(journal)) == failed.id
