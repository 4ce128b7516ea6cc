"""The receipt: whether it passed follows from what it holds, it stays small, and people can read it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.work.verification.receipt import (
    MOST,
    Carried,
    CommandRun,
    Counted,
    Judged,
    JudgeRun,
    ProtectedEdit,
    Receipt,
    bounded,
    from_data,
)
from interlock.work.verification.showing import text

PASSED = CommandRun("pytest", "pytest -q", "passed", 0, 1.25, "01-pytest.log", "a" * 64, "2 passed")
FAILED = replace(PASSED, how="failed", exit=1, why="exit 1", output="\x1b[31mE assert\nF")
MET = Judged(1, "it adds", True, "sums.py:2", "judge")
GOOD = Receipt("1" * 40, "2" * 64, "3" * 40, "work tree", (PASSED,), (MET,), "1" * 40)


def test_what_holds_nothing_wrong_has_passed() -> None:
    assert (GOOD.passed, GOOD.reason, GOOD.failures) == (True, "", ())


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"verifiers": ()}, "no verifier is configured"),
        ({"verifiers": (PASSED, FAILED)}, "verifier pytest: exit 1"),
        ({"criteria": ()}, "the spec has no criteria"),
        ({"criteria": (MET, Judged(2, "more", False, "no", ""))}, "criterion 2 (more): no"),
        ({"prepare": FAILED}, "prepare: exit 1"),
        ({"tree_after": "4" * 40}, "the tree changed while it was verified"),
        ({"meddled": ("somebody did",)}, "somebody did"),
        ({"troubles": ("it is not there",)}, "it is not there"),
        ({"protected": (ProtectedEdit("a", "changed", "so"),)}, "a was changed, and must not be: so"),
        ({"tests": Counted(deleted=("t",))}, "the test file t is gone"),
        ({"tests": Counted(skipped=("t: skip",))}, "a test is skipped that was not: t: skip"),
        ({"tests": Counted(lost=("assert x",))}, "a test checks less than it did: assert x"),
    ],
)
def test_each_thing_that_is_wrong_keeps_it_from_passing(change: dict[str, object], named: str) -> None:
    receipt = replace(GOOD, **change)
    assert receipt.failures == (receipt.reason,)
    assert named in receipt.reason
    assert not receipt.passed
    assert named.split(":")[-1].strip().rpartition(")")[2].strip() in text(receipt)


def test_a_receipt_survives_the_journal_and_keeps_its_hash() -> None:
    whole = replace(
        GOOD,
        prepare=PASSED,
        carried=(Carried(".venv", "b" * 64, 3, 4),),
        judge=JudgeRun("judge", "finished", 1.5, 0.25, 100),
        tests=Counted(edited=("t",), before=1, after=2),
        criteria=(MET, Judged(2, "by command", True, "", "command", PASSED)),
    )
    again = from_data(msgspec.json.decode(msgspec.json.encode(whole.data)))
    assert (again, again.sha256) == (whole, whole.sha256)
    assert replace(whole, spec="5" * 64).sha256 != whole.sha256


def test_what_is_no_receipt_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        from_data({**GOOD.data, "verifiers": [{"name": "x"}]})


@given(
    st.lists(st.text(max_size=50), max_size=50),
    st.lists(st.text(max_size=50), max_size=200),
    st.sampled_from(["x", "\x00", "ä", "\N{PILE OF POO}"]),
)
def test_a_receipt_is_never_larger_than_an_entry_takes(outputs: list[str], texts: list[str], filling: str) -> None:
    ran = replace(FAILED, output=filling * 2000, command=filling * 1000)
    verifiers = tuple(replace(ran, output=one + filling * 2000) for one in outputs)
    criteria = tuple(Judged(place, one, False, filling * 500, "command", ran) for place, one in enumerate(texts))
    protected = tuple(ProtectedEdit("\ufffd" * 500, "changed", "\ufffd" * 200) for _ in texts[:51])
    receipt = bounded(replace(GOOD, verifiers=verifiers, criteria=criteria, protected=protected))
    assert len(receipt.json) <= MOST
    assert len(receipt.verifiers) == len(outputs)
    assert [one.met for one in receipt.criteria] == [False] * len(texts)


def test_people_see_what_was_run_judged_and_found() -> None:
    receipt = replace(
        GOOD,
        verifiers=(PASSED, replace(FAILED, name="mypy")),
        criteria=(MET, Judged(2, "it subtracts", False, "it does not", "judge"), Judged(3, "x", False, "later", "")),
        protected=(ProtectedEdit("Makefile", "changed", "`make` runs it"),),
        tests=Counted(edited=("tests/test_a.py",), before=3, after=4),
    )
    shown = text(receipt)
    assert shown.splitlines() == [
        f"Not verified: tree 111111111111, receipt {receipt.sha256[:12]}",
        "  in the work tree",
        "Verifiers",
        "  ✓ pytest  1.2 s",
        "  ✗ mypy  1.2 s  exit 1",
        "      ⟦U+001B⟧[31mE assert",
        "      F",
        "Criteria: 1/3 passing",
        "  ✓ 1. it adds  [judge]: sums.py:2",
        "  ✗ 2. it subtracts  [judge]: it does not",
        "  ○ 3. x  later",
        "Test files: 0 added, 1 edited, 0 deleted; in them 3 → 4 tests, 0 → 0 skipped",
        "  edited: tests/test_a.py",
        "What must not be",
        "  ✗ Makefile was changed, and must not be: `make` runs it",
    ]
    assert "E assert" not in text(receipt, output=False)
