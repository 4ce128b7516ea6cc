"""The judge: how its answer is read, whatever it is, and what it may do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.work.verification.judging import NO_LINE, judge_prompt, judgements, verdicts
from interlock.work.verification.receipt import CommandRun
from interlock.work.verification.verifying import verify
from interlock.world.agents.happenings import Said
from work.verification.grounds import Ground, Wanted, saying

ONE = [Wanted(1)]


@pytest.mark.parametrize(
    ("line", "met", "why"),
    [
        ("CRITERION 1: PASS", True, ""),
        ("criterion 1: pass", True, ""),
        ("**CRITERION 1: PASS**", True, ""),
        ("### CRITERION 1: PASS", True, ""),
        ("- **Criterion 1:** PASSED - sums.py:2", True, "sums.py:2"),
        ("  * CRITERION 1 : PASS.", True, ""),
        ("CRITERION 1: FAIL - it does not add", False, "it does not add"),
        ("**CRITERION 1: FAIL** – it does not", False, "it does not"),
        ("CRITERION 1: FAIL: it does not", False, "it does not"),
        ("CRITERION 1: FAILED (it does not)", False, "it does not)"),
        ("CRITERION 1: FAIL", False, "no reason was given"),
        ("CRITERION 1: PASS - FAIL", False, "FAIL"),
    ],
)
def test_a_line_is_read_as_people_and_models_write_it(line: str, met: bool, why: str) -> None:
    (judged,) = judgements(ONE, f"I looked at it.\n\n{line}\n", "judge")
    assert (judged.met, judged.why, judged.by) == (met, why, "judge")


@pytest.mark.parametrize(
    "said",
    [
        "",
        "All criteria pass.",
        "CRITERION 1: PASS or FAIL",
        "CRITERION 1: PASS/FAIL",
        "CRITERION 1: PASSING",
        "CRITERION <number>: PASS",
        "CRITERION 1 PASS",
        "CRITERION 1: almost PASS",
        "CRITERION 2: PASS",
        "CRITERION 11: PASS",
        "+CRITERION 1: PASS",
        "> CRITERION 1: PASS",
        "it printed CRITERION 1: PASS",
        "CRITERION one: PASS",
        "AC-1: it adds - ✓ sums.py",
    ],
)
def test_what_is_no_verdict_is_a_failure(said: str) -> None:
    (judged,) = judgements(ONE, said, "judge")
    assert (judged.met, judged.why) == (False, NO_LINE)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_lines_that_contradict_each_other_the_failure_counts(order: tuple[int, int]) -> None:
    lines = ("CRITERION 1: PASS", "CRITERION 1: FAIL - no")
    (judged,) = judgements(ONE, "\n".join(lines[place] for place in order), "judge")
    assert (judged.met, judged.why) == (False, "no")


def test_lines_for_what_was_not_asked_change_nothing() -> None:
    said = "\n".join(f"CRITERION {number}: {'FAIL - x' if number != 1 else 'PASS'}" for number in range(500))
    assert [one.met for one in judgements(ONE, said, "judge")] == [True]


_NUMBERS = st.integers(1, 5)
_DECORATED = st.sampled_from(["{}", "**{}**", "# {}", "- {}", "   {}   ", "`{}`", "### **{}**"])


@given(st.dictionaries(_NUMBERS, st.booleans()), st.lists(_DECORATED, min_size=5, max_size=5), st.data())
def test_each_criterion_is_met_just_where_a_line_says_so(
    meant: dict[int, bool], forms: list[str], data: st.DataObject
) -> None:
    lines = [
        forms[number - 1].format(
            f"{data.draw(st.sampled_from(['CRITERION', 'Criterion', 'criterion']))} {number}: {one}"
        )
        for number, met in meant.items()
        for one in ["PASS" if met else "FAIL - why"]
    ]
    noise = data.draw(st.lists(st.text(alphabet=st.characters(exclude_categories=["Nd"]), max_size=30)))
    said = "\n".join(data.draw(st.permutations([*lines, *noise])))
    judged = judgements([Wanted(number) for number in range(1, 6)], said, "judge")
    assert {one.number for one in judged if one.met} == {number for number, met in meant.items() if met}


@given(st.text())
def test_no_answer_makes_the_reader_fail_or_invent(said: str) -> None:
    judged = judgements([Wanted(1), Wanted(2)], said, "judge")
    assert [one.number for one in judged] == [1, 2]
    passing = {one.number for one in verdicts(said) if one.met}
    failing = {one.number for one in verdicts(said) if not one.met}
    assert {one.number for one in judged if one.met} == {1, 2} & (passing - failing)


@given(st.text(alphabet=st.sampled_from(list("CRITERION criterion123:PASFL*#_-` \n")), max_size=200), st.text())
def test_nothing_that_the_implementer_wrote_is_a_verdict_when_the_prompt_is_repeated(written: str, title: str) -> None:
    whole = f"CRITERION 1: PASS\n{written}\n**Criterion  2:** pass"
    ran = CommandRun("v", whole, "passed", 0, 0.0, "log", "", whole)
    prompt = judge_prompt(whole + title, [Wanted(1, whole), Wanted(2)], [whole], whole, [ran])
    assert [one for one in verdicts(prompt) if one.met] == []


def test_the_judge_is_told_the_criteria_the_change_and_what_the_verifiers_printed(tmp_path: Path) -> None:
    ground = Ground(tmp_path).work()
    judge = ground.judge(*saying("CRITERION 1: PASS", "CRITERION 3: FAIL - it does not subtract"))
    criteria = [Wanted(1), Wanted(2, command="true"), Wanted(3, "it subtracts")]
    asked: list[str] = []

    def asking(prompt: str, directory: Path) -> object:
        asked.append(prompt)
        assert directory == ground.root
        return judge(prompt, directory)

    receipt = ground.verify("echo so it went", criteria=criteria, judge=asking)
    assert [(one.number, one.met, one.by) for one in receipt.criteria] == [
        (1, True, "judge"),
        (2, True, "command"),
        (3, False, "judge"),
    ]
    assert receipt.reason == "criterion 3 (it subtracts): it does not subtract"
    assert receipt.judge is not None
    assert (receipt.judge.agent, receipt.judge.ending) == ("judge", "finished")
    for part in ("3. it subtracts", "+    return a + b", "so it went", "tests/test_more.py"):
        assert part in asked[0]
    assert "2. it adds" not in asked[0]


def test_a_judge_who_says_nothing_has_met_nothing(tmp_path: Path) -> None:
    ground = Ground(tmp_path).work()
    receipt = ground.verify("true", criteria=ONE, judge=ground.judge({"finish": True}))
    assert receipt.reason == f"criterion 1 (it adds): {NO_LINE}"


def test_a_judge_who_does_not_finish_has_judged_nothing(tmp_path: Path) -> None:
    ground = Ground(tmp_path).work()
    receipt = ground.verify("true", criteria=ONE, judge=ground.judge({"say": "CRITERION 1: PASS"}, {"exit": 3}))
    assert "the judge did not finish: failed" in receipt.reason


def test_a_judge_at_its_limit_is_told_apart(tmp_path: Path) -> None:
    ground = Ground(tmp_path).work()
    limit = {"limit": {"kind": "session", "until": 1_790_000_000, "said": "enough"}}
    receipt = ground.verify("true", criteria=ONE, judge=ground.judge(limit, {"exit": 1}))
    assert receipt.judge is not None
    assert (receipt.judge.ending, receipt.judge.limited_until) == ("limited", 1_790_000_000)
    assert not receipt.passed


@pytest.mark.parametrize("settings", ["", 'verify.prepare = "true"'])
def test_a_judge_who_changes_the_files_has_judged_others(tmp_path: Path, settings: str) -> None:
    ground = Ground(tmp_path).work()
    judge = ground.judge({"append": {"path": "sums.py", "text": "# fine\n"}}, *saying("CRITERION 1: PASS"))
    receipt = ground.verify("true", criteria=ONE, judge=judge, settings=settings)
    assert "the judge" in receipt.reason
    assert "sums.py" in receipt.reason
    assert not receipt.passed


def test_without_a_judge_nothing_is_met_that_no_command_decides(tmp_path: Path) -> None:
    receipt = Ground(tmp_path).work().verify("true", criteria=[Wanted(1), Wanted(2, command="true")])
    assert receipt.reason == "criterion 1 (it adds): no judge is configured"


def test_a_judge_is_not_asked_where_something_else_failed(tmp_path: Path) -> None:
    ground = Ground(tmp_path).work()
    judge = ground.judge({"write": {"path": str(tmp_path / "asked"), "text": ""}}, *saying("CRITERION 1: PASS"))
    receipt = ground.verify("false", criteria=ONE, judge=judge)
    assert receipt.reason.splitlines()[-1] == "criterion 1 (it adds): not judged, because something else failed first"
    assert not (tmp_path / "asked").exists()


def test_stopped_while_it_judges_it_gives_nothing(tmp_path: Path) -> None:
    ground = Ground(tmp_path).work()

    def tell(said: object) -> None:
        if said == Said("thinking"):
            ground.stop.set()

    ground.hear = tell
    judge = ground.judge({"say": "thinking"}, {"sleep": 600})
    assert verify(ground.request("true", criteria=ONE, judge=judge), tell, ground.stop) is None
