"""The pages of threads, from a spec to a commit, and what they make of hostile text."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path

import pytest

from faces.web.looking import BIDI, CODE, HOSTILE, Seen, visiting
from interlock.machine import Event, Evidence, load_shipped
from interlock.machine.model import NOTED
from interlock.work.threads.verbs import add_context, new_thread, revise_spec
from work.threads.benches import DONE, FAIL, SPEC, Bench, shell

_PHASES = list(load_shipped("thread").states)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.made(tmp_path / "bench")


def _revised(bench: Bench, id_: str, text: str) -> None:
    journal = bench.open()
    try:
        revise_spec(bench.context(journal), id_, bench.person.actor, text)
    finally:
        journal.close()


def _events(page: Seen) -> list[str | None]:
    """What the forms of a page send."""
    return [has["value"] for has in page.all("input", name="event")]


def test_where_there_is_no_thread_the_page_says_how_to_begin_one(bench: Bench, environment: dict[str, str]) -> None:
    with visiting(bench.root, environment) as visitor:
        assert "ralph thread new" in visitor.see("/threads").text


def test_a_thread_that_does_not_exist_is_not_here(bench: Bench, environment: dict[str, str]) -> None:
    id_ = bench.new()
    with visiting(bench.root, environment) as visitor:
        for path in (
            "0" * 26,
            "%3Cscript%3E",
            "..%2f..%2fetc",
            f"{id_}/nothing",
            f"{id_}/output/run-x",
            f"{id_}/changes",
        ):
            answer = visitor.get(f"/thread/{path}")
            assert answer.status_code == 404, path
            assert "<script>" not in answer.text
        visitor.see(f"/thread/{'0' * 26}", status=404)
        assert visitor.see(f"/thread/{id_[-8:]}").all("form", action=f"/thread/{id_}/act")


def test_a_draft_shows_its_spec_its_revisions_side_by_side_and_what_can_be_done(
    bench: Bench, environment: dict[str, str]
) -> None:
    id_ = bench.new()
    _revised(bench, id_, SPEC.replace("it is polite", "it is kind"))
    _revised(bench, id_, SPEC.replace("it is polite", "it is very kind"))
    with visiting(bench.root, environment) as visitor:
        page = visitor.see(f"/thread/{id_}")
        assert _events(page) == ["finalize", "assess", "abandon", "spec"]
        assert len(page.with_class("p-here")) == 1
        assert len(page.with_class("p-ahead")) == len(_PHASES) - 1 == 16
        assert "Needs a gate" in page.text
        assert "1. greeting.txt says hello" in page.text
        assert "Greet people" in visitor.see("/threads").text
        both = visitor.see(f"/thread/{id_}?left=1&right=3")
        assert len(both.with_class("d-changed")) == 1
        assert {"it is polite", "it is very kind"} <= {part.removeprefix("- [ ] ") for part in both.parts}
        assert "Revision 1 beside revision 3" in both.html
        visitor.see(f"/thread/{id_}?left=99&right=%3Cscript%3E")


def test_a_thread_that_is_stuck_has_the_menu_of_the_seed(bench: Bench, environment: dict[str, str]) -> None:
    bench.settings["thread.iterations"] = 2
    bench.judge(FAIL)
    id_ = bench.new()
    assert bench.act(id_, "finalize", "run", "start").state == "Stuck"
    with visiting(bench.root, environment) as visitor:
        page = visitor.see(f"/thread/{id_}")
        assert _events(page) == ["revise", "reconfigure", "assist", "abandon", "context"]
        assert page.all("a", href="#diagnosis")
        for label in ("Revise spec", "Reconfigure", "Manual assist", "Abandon", "Diagnose"):
            assert label in page.text
        assert "1/2 criteria (2 iterations)" in page.text
        assert page.text.count("said it is done") == 2
        assert "1/2 criteria" in page.text
        assert "it is rude" in page.text


def test_a_thread_that_rests_has_the_menu_of_the_seed(bench: Bench, environment: dict[str, str]) -> None:
    bench.pausing.set()
    id_ = bench.new()
    assert bench.act(id_, "finalize", "run", "start").state == "Paused"
    with visiting(bench.root, environment) as visitor:
        page = visitor.see(f"/thread/{id_}")
        assert _events(page) == ["resume", "reconfigure", "abandon", "context", "configure"]
        assert [has["value"] for has in page.all("input", id="config-agents")] == ["scripted"]
        assert "nothing was verified yet" in page.text


def test_a_review_shows_what_was_proven_the_changes_in_colour_and_the_recommendation(
    bench: Bench, environment: dict[str, str]
) -> None:
    bench.play(
        [shell("printf 'def greet():\\n    return \"hello\"  # so\\n' > greeting.py; echo hello > greeting.txt"), *DONE]
    )
    id_ = bench.new(mode="quick")
    assert bench.act(id_, "finalize").state == "PendingReview"
    with visiting(bench.root, environment) as visitor:
        page = visitor.see(f"/thread/{id_}")
        assert len(page.with_class("recommend")) == 1
        assert "2 of 2 met" in page.text
        assert "Verified in" in page.text
        assert "greeting.py" in page.text
        assert page.with_class("t-keyword")
        assert page.with_class("t-string")
        assert page.with_class("t-comment")
        assert len(page.with_class("d-added")) == 3
        assert _events(page) == ["approve", "reject", "reverify", "revise", "abandon"]
        assert [has["name"] for has in page.all("input", id="reason-reject")] == ["reason"]
        assert "greeting.py" in visitor.see(f"/thread/{id_}/changes").text


def test_a_thread_that_is_done_shows_its_gates_its_commit_and_how_it_was_before(
    bench: Bench, environment: dict[str, str]
) -> None:
    bench.signs = True
    id_ = bench.new()
    thread = bench.act(id_, "finalize", "run", "start", "ready", "approve", "commit")
    assert thread.state == "Done"
    assert thread.revision is not None
    with visiting(bench.root, environment) as visitor:
        page = visitor.see(f"/thread/{id_}")
        assert not _events(page)
        assert thread.commit is not None
        assert thread.commit in page.text
        assert page.html.count(f'title="{thread.revision.sha256}"') >= 2
        for gate in ("finalize", "approve", "commit"):
            assert gate in page.text
        assert "ada@example.org" in page.text
        assert [has["data-indicator"] for _, has in page.elements if "data-indicator" in has] == ["check", "check"]
        assert len(page.with_class("p-behind")) == 10
        before = visitor.see(f"/thread/{id_}?at=2")
        assert "As it was after entry 2" in before.text
        assert "Drafting" in before.text
        assert not _events(before)


def test_what_an_agent_says_is_shown_while_it_works_and_only_of_the_thread_itself(
    bench: Bench, environment: dict[str, str]
) -> None:
    id_ = bench.new()
    bench.act(id_, "finalize", "run")
    thread = bench.act(id_, "start", drives=False)
    assert (thread.state, thread.run) == ("Running", f"run-{id_[-6:]}-001")
    log = bench.state_directory / "runs" / str(thread.run) / "output.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("x" * 1_000_000 + "\n" + f"I look at {CODE}{BIDI} now\n" * 300)
    with visiting(bench.root, environment) as visitor:
        page = visitor.see(f"/thread/{id_}")
        address = f"/thread/{id_}/output/{thread.run}"
        assert [has["hx-get"] for has in page.all("div") if "hx-get" in has] == [address]
        assert "Nobody drives it" in page.text
        assert _events(page) == ["pause", "abandon", "drive", "context"]
        alone = visitor.get(address)
        assert alone.status_code == 200
        assert CODE not in alone.text
        assert alone.text.count("I look at") == 200
        assert len(alone.text) < 200_000
        other = bench.new()
        assert visitor.get(f"/thread/{other}/output/{thread.run}").status_code == 404


def test_hostile_text_does_nothing_wherever_it_stands(bench: Bench, environment: dict[str, str]) -> None:
    unseen = BIDI.replace("\0", "")
    files = f"mkdir -p a; cat > 'a/<b>.py' <<'END'\n'''{HOSTILE}\n{unseen}\nEND\necho hello > greeting.txt"
    binary = "printf '\\000\\001' > picture"
    bench.play([shell(files), shell(binary), {"say": HOSTILE}, {"promise": "COMPLETE"}, {"finish": True}])
    bench.judge([{"say": f"CRITERION 2: FAIL - {HOSTILE}"}, {"finish": True}])
    bench.settings |= {"thread.iterations": 1, "verify.commands": (f"echo '{CODE}'; printf '\\033[31m\\007'; false",)}
    journal = bench.open()
    try:
        context, actor = bench.context(journal), bench.person.actor
        id_ = new_thread(context, actor, HOSTILE, "methodical").id
        revise_spec(context, id_, actor, f"{SPEC}\n{HOSTILE}\n")
        revise_spec(context, id_, actor, f"{SPEC.replace('it is polite', HOSTILE)}\n{'long ' * 30_000}\n")
        add_context(context, id_, bench.person, HOSTILE)
        said = {"type": "said", "role": "user", "content": HOSTILE}
        journal.append(id_, Event(NOTED, actor, reason=HOSTILE, evidence=Evidence(data=said)))
    finally:
        journal.close()
    assert bench.act(id_, "finalize", "run", "start").state == "Stuck"
    with visiting(bench.root, environment) as visitor:
        for path in (f"/thread/{id_}", f"/thread/{id_}?left=1&right=2", f"/thread/{id_}/changes", "/threads"):
            page = visitor.see(path)
            assert HOSTILE.split()[0] in page.text
            assert "49" not in page.text or "7 * 7" in page.text
        regions = visitor.live(f"/thread/{id_}")
        assert {
            "head",
            "menu",
            "criteria",
            "output",
            "tries",
            "receipt",
            "changes",
            "spec",
            "gates",
            "way",
        } <= regions.keys()
        assert not [name for name, html in regions.items() if "<script" in html or "onerror=alert(1)>" in html]


def test_a_spec_is_only_offered_to_be_written_here_where_it_would_come_back_unchanged(
    bench: Bench, environment: dict[str, str]
) -> None:
    empty, hostile = bench.new(None), bench.new(f"{SPEC}\n{HOSTILE}\n")
    unseen, long = bench.new(f"{SPEC}\nno\u00a0break\n"), bench.new(f"{SPEC}\n{'long ' * 9000}\n")
    with visiting(bench.root, environment) as visitor:
        assert "## Completion Criteria" in visitor.see(f"/thread/{empty}").text
        page = visitor.see(f"/thread/{hostile}")
        assert len(page.all("textarea", name="text")) == 1
        assert f"{SPEC}\n{HOSTILE}\n" in page.parts
        for id_ in (unseen, long):
            page = visitor.see(f"/thread/{id_}")
            assert not page.all("textarea", name="text")
            assert "ralph thread spec --edit" in page.text


def test_threads_come_newest_first_and_page_by_page(bench: Bench, environment: dict[str, str]) -> None:
    bench.now = count(time.time_ns(), 1_000_000).__next__  # ids of the same millisecond have no order
    journal = bench.open()
    try:
        made = [new_thread(bench.context(journal), bench.person.actor, f"Part {n}", "quick").id for n in range(52)]
    finally:
        journal.close()
    with visiting(bench.root, environment) as visitor:
        first = visitor.see("/threads")
        shown = [str(has["href"])[8:] for has in first.all("a") if str(has["href"]).startswith("/thread/")]
        assert shown == made[:1:-1]
        [older] = [has["href"] for has in first.all("a", rel="next")]
        second = visitor.see(str(older))
        shown = [str(has["href"])[8:] for has in second.all("a") if str(has["href"]).startswith("/thread/")]
        assert shown == made[1::-1]
        assert not second.all("a", rel="next")
