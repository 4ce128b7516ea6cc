"""Somebody acts on a thread while its driver or an agent is at work on an older reading of it: no word is lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as with_

from interlock.errors import Conflict, InterlockError
from interlock.work.driver.context import DriverContext
from interlock.work.driver.interrupts import Interrupts, PauseRequested
from interlock.work.gates.presence import Person
from interlock.work.gates.stage import staged
from interlock.work.threads.attending import is_told, step_of
from interlock.work.threads.dialogue import say
from interlock.work.threads.driver_step import default_config
from interlock.work.threads.effects import settle_effects
from interlock.work.threads.loop import drive
from interlock.work.threads.reading import read_thread
from interlock.work.threads.record import Thread
from interlock.work.threads.verbs import act, add_context, configure, pause, revise_spec
from interlock.world.agents.happenings import Said
from work.threads.benches import DONE, FAIL, IDLE, PASS, SPEC, STORY_MET, Bench, Steps, WaitingClock, shell

LATER = SPEC.replace("it is polite", "it is very polite")
DRAFTS = SPEC.replace("it is polite", "it is short")
READY: Steps = [{"say": "All is clear.\nVERDICT: READY"}, {"finish": True}]
WAITS: Steps = [{"say": "I begin."}, shell("while :; do sleep 0.05; done"), {"finish": True}]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "repository")


def _says(text: str) -> Callable[[object], bool]:
    return lambda told: isinstance(told, Said) and text in told.text


def _is_in(state: str) -> Callable[[object], bool]:
    return lambda told: isinstance(told, Thread) and told.state == state


def _when(bench: Bench, happens: Callable[[object], bool], speak: Callable[[DriverContext], object]) -> None:
    """Let somebody speak from elsewhere, once, as soon as something is told."""
    spoken: list[object] = []

    def hear(told: object) -> None:
        if not spoken and happens(told):
            spoken.append(told)
            with closing(bench.open()) as elsewhere:
                speak(bench.context(elsewhere))

    bench.hear = hear


def _sizes(bench: Bench, id_: str, iterations: int) -> Callable[[DriverContext], Thread]:
    """Somebody chooses how many iterations there are."""
    return lambda context: configure(
        context, id_, bench.person, replace(default_config(context.settings), iterations=iterations)
    )


def test_what_is_chosen_while_the_prerequisites_are_checked_counts(bench: Bench) -> None:
    id_ = bench.new(mode="quick")
    _when(bench, _is_in("Preflight"), _sizes(bench, id_, 3))
    thread = bench.act(id_, "finalize")
    assert thread.state == "PendingReview", thread.reason
    assert thread.config is not None
    assert thread.config.iterations == 3


def _has_ended(told: object) -> bool:
    """Whether the agent of an iteration has ended, and nothing is concluded of it yet."""
    return isinstance(told, Thread) and told.state == "Running" and told.ran is not None


@pytest.mark.sampled(1)
@pytest.mark.parametrize("happens", [_says("CRITERION 2: FAIL"), _has_ended], ids=["verifying", "running"])
def test_a_limit_that_is_lowered_meanwhile_leads_to_a_diagnosis(
    bench: Bench, happens: Callable[[object], bool]
) -> None:
    bench.play(IDLE if happens is _has_ended else DONE)
    bench.judge(FAIL)
    id_ = bench.new(mode="quick")
    _when(bench, happens, _sizes(bench, id_, 1))
    thread = bench.act(id_, "finalize")
    assert thread.state == "Stuck", thread.reason
    assert thread.diagnosis is not None
    assert bench.act(id_, "reconfigure", drives=False).state == "Configuring"


def test_who_resumes_while_the_judge_has_reached_its_limit_is_heard(bench: Bench) -> None:
    limit = {"limit": {"kind": "session", "until": 1_700_000_300, "said": "enough"}}
    bench.judge([{"say": "I begin."}, limit], PASS)
    clock = WaitingClock()
    bench.now, bench.waited = clock, clock
    id_ = bench.new(mode="quick")
    bench.act(id_, "finalize", drives=False)
    with closing(bench.open()) as journal:

        def is_limited() -> float:  # the journal is looked at when the judge is done, and not before
            return float(bool(read_thread(journal, id_).limited))

        interrupts = Interrupts(journal, lambda entry: entry.instance == id_ and is_told(entry), is_limited)

        def rest_and_go_on(context: DriverContext) -> None:
            pause(context, id_, bench.person)
            act(context, id_, bench.person, "resume")

        _when(bench, _says("I begin."), rest_and_go_on)
        steered = with_(
            bench.context(journal), stop=interrupts, pausing=PauseRequested(interrupts), refresh=interrupts.listen_again
        )
        thread = drive(steered, id_)
    assert thread.state == "PendingReview", thread.reason
    assert sum(clock) == pytest.approx(300, abs=1)


def _press(bench: Bench) -> None:
    bench.stop.set()
    bench.pausing.set()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("driver", ["plain", "story"])
def test_what_an_agent_was_told_that_came_to_nothing_is_told_to_the_next(bench: Bench, driver: str) -> None:
    bench.settings |= {"thread.driver": driver, "story.tests": ("true",)}
    bench.play(WAITS, [{"echo": True}, *DONE])
    bench.judge(STORY_MET)
    id_ = bench.new(mode="quick")
    with closing(bench.open()) as journal:
        add_context(bench.context(journal), id_, bench.person, "Greet the cat as well.")
    _when(bench, _says("I begin."), lambda _: _press(bench))
    assert bench.act(id_, "finalize").state == "Paused"
    bench.stop.clear()
    bench.pausing.clear()
    thread = bench.act(id_, "resume")
    assert (thread.state, thread.context) == ("PendingReview", []), thread.reason
    logs = (bench.state_directory / "runs").rglob("*.log")
    assert any("Greet the cat as well." in one.read_text() for one in logs)


def test_an_assessment_of_a_spec_that_is_another_now_is_none_of_it(bench: Bench) -> None:
    id_ = bench.new()

    def write_anew(context: DriverContext) -> None:
        act(context, id_, bench.person, "revise")
        revise_spec(context, id_, bench.person.actor, LATER)
        act(context, id_, bench.person, "assess")

    bench.play([{"say": "It is rude.\nVERDICT: REVISE"}, {"finish": True}], READY)
    _when(bench, _says("It is rude"), write_anew)
    thread = bench.act(id_, "assess")
    assert thread.state == "Assessing"
    assert "All is clear." in thread.assessment


def test_who_is_asked_whether_work_is_put_away_answers_for_what_was_there_then(bench: Bench) -> None:
    id_ = bench.new(mode="quick")
    assert bench.act(id_, "finalize").state == "PendingReview"
    presence = staged(bench.root, "test")

    class Reads:
        """Somebody who says yes to a question that was about other work."""

        actor = presence.actor
        enter = staticmethod(presence.enter)
        sign = staticmethod(presence.sign)

        def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
            assert bench.act(id_, "reject", reason="It is rude.").state == "PendingReview"
            return True

    with closing(bench.open()) as journal, pytest.raises(Conflict) as caught:
        act(bench.context(journal), id_, Person(presence.actor, Reads, lambda: True), "revise")
    assert caught.value.code == "conflict"
    assert bench.thread(id_).state == "PendingReview"


def test_a_draft_takes_no_spec_back_that_somebody_wrote_meanwhile(bench: Bench) -> None:
    id_ = bench.new()
    bench.play([{"say": f"Here:\n\n```markdown\n{DRAFTS}\n```"}, {"finish": True}])
    _when(bench, _says("Here:"), lambda context: revise_spec(context, id_, bench.person.actor, LATER))
    with closing(bench.open()) as journal:
        thread = say(bench.context(journal), id_, bench.person.actor, "Shorter.")
    assert thread.revision is not None
    assert thread.revision.text == LATER
    assert "it is short" in thread.messages[-1].content


def test_a_driver_that_is_changed_while_the_story_loop_runs_replaces_it(bench: Bench) -> None:
    bench.settings |= {"thread.driver": "story", "story.tests": ("true",)}
    begins: Steps = [{"say": "I begin."}, {"cost": 1.5}, shell("echo hello > greeting.txt"), {"finish": True}]
    bench.play(begins, DONE)
    bench.judge(STORY_MET, PASS)
    id_ = bench.new()
    bench.act(id_, "finalize", "run")
    _when(
        bench,
        _says("I begin."),
        lambda context: configure(context, id_, bench.person, with_(default_config(context.settings), driver="plain")),
    )
    thread = bench.act(id_, "start")
    assert thread.state == "Implemented", thread.reason
    assert thread.spent[1] == 1.5, "what its loop used until then"
    with closing(bench.open()) as journal:
        assert [one.outcome for one in journal.instances("story")] == ["superseded"]


def test_a_link_that_an_agent_left_leads_no_story_out_of_its_tree(bench: Bench) -> None:
    """What guards the files of a story loop is not there while the plain loop runs."""
    outside = bench.root.parent / "outside"
    outside.mkdir()
    bench.settings |= {"thread.driver": "plain", "thread.isolation": "own", "story.tests": ("true",)}
    bench.play([{"say": "I begin."}, shell(f"rm -rf .ralf; ln -s {outside} .ralf"), {"finish": True}], DONE)
    bench.judge(STORY_MET, PASS)
    id_ = bench.new()
    bench.act(id_, "finalize", "run")
    _when(
        bench,
        _says("I begin."),
        lambda context: configure(context, id_, bench.person, with_(default_config(context.settings), driver="story")),
    )
    with pytest.raises(InterlockError) as caught:
        bench.act(id_, "start")
    assert caught.value.code == "file_unsafe"
    assert list(outside.iterdir()) == []


def test_a_reset_that_is_begun_while_the_driver_reads_is_done_and_not_only_settled(bench: Bench) -> None:
    """The record of a step is read before its snapshot, and a person's decision may come between."""
    id_ = bench.new(mode="quick")
    assert bench.act(id_, "finalize").state == "PendingReview"
    with closing(bench.open()) as journal:
        context = bench.context(journal)
        read = step_of(context, id_, None)
        act(context, id_, bench.person, "revise")
        step = replace(read, snapshot=journal.instance(id_).snapshot)
        assert step.snapshot.pending
        assert settle_effects(step), "it is read again"
        assert journal.instance(id_).snapshot.pending
        thread = drive(context, id_)
        assert journal.instance(id_).snapshot.pending == {}
    assert (thread.state, len(thread.kept)) == ("Drafting", 1), "what was there is kept"
    assert bench.git("branch", "--show-current") == "main"
    assert not (bench.root / "greeting.txt").exists()
