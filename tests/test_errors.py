"""The catalogue of errors: what is raised is in it, what is in it is raised, and it exits as the design says."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from collections.abc import Iterator
from functools import cache

import pytest

import interlock.errors
from interlock.errors import CODES, Conflict, Exit, InterlockError, TrackerError
from sources import SOURCE, nodes_of

CLASSES = {
    name: one
    for name, one in vars(interlock.errors).items()
    if inspect.isclass(one) and issubclass(one, InterlockError)
}
POSITIONS = {**dict.fromkeys(CLASSES, 0), "Refused": 0, "refused": 0, "refuse": 2}
"""Where the code is among the arguments of everything that makes an error or a refusal."""


@cache
def _calls() -> list[tuple[str, ast.Call | ast.Return]]:
    """Every call and every return of the source, with its file."""
    return [
        (str(path.relative_to(SOURCE)), node)
        for path in sorted(SOURCE.rglob("*.py"))
        if path.name != "errors.py"
        for node in nodes_of(path)
        if isinstance(node, ast.Call | ast.Return)
    ]


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _literals(node: ast.expr) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def _made() -> Iterator[tuple[str, str]]:
    """Every code that some line of the source makes an error with, and that line."""
    for where, node in _calls():
        if isinstance(node, ast.Call) and _called(node) in POSITIONS and not where.startswith("work/demo"):
            position = POSITIONS[_called(node)]
            if len(node.args) > position and isinstance(node.args[position], ast.Constant | ast.IfExp):
                yield from ((code, f"{where}:{node.lineno}") for code in _literals(node.args[position]))
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and where.startswith("machine"):
            match node.value.elts:
                case [ast.Constant(value=str(code)), _, _]:
                    yield code, f"{where}:{node.lineno}"


@pytest.fixture(scope="module")
def made() -> list[tuple[str, str]]:
    return sorted(set(_made()))


def test_the_source_was_really_searched(made: list[tuple[str, str]]) -> None:
    assert len(made) > 60
    assert len({code for code, _ in made}) > 40


def test_every_code_that_is_made_is_in_the_catalogue(made: list[tuple[str, str]]) -> None:
    assert [f"{code} in {where}" for code, where in made if code not in CODES] == []


def test_every_code_of_the_catalogue_is_made_somewhere(made: list[tuple[str, str]]) -> None:
    assert CODES.keys() - {code for code, _ in made} == set()


def test_every_error_is_made_with_a_code_that_can_be_read_in_the_source() -> None:
    """A code that is computed would escape the search; only journal, advice, sync and early refusals pass one on."""
    computed = [
        f"{where}: {ast.unparse(node.args[0])}"
        for where, node in _calls()
        if isinstance(node, ast.Call) and _called(node) in CLASSES and node.args
        if not isinstance(node.args[0], ast.Constant | ast.IfExp)
    ]
    assert computed == [
        "faces/cli/thread_place.py: failure.code",
        "faces/cli/tracker.py: code",
        "journal/transaction.py: result.code",
        "work/tickets/advice.py: error.code",
        "work/views/gate.py: tried.code",
    ]


def test_every_code_has_a_sentence_and_a_name_that_reads_well() -> None:
    for code, (status, meaning) in CODES.items():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)
        assert isinstance(status, Exit)
        assert re.fullmatch(r"[A-Z`].+\.", meaning)


def test_the_exit_statuses_are_the_designs_and_2_is_none_of_them() -> None:
    assert {status.name: status.value for status in Exit} == {
        "OK": 0,
        "FAILURE": 1,
        "REFUSED": 3,
        "AUTHENTICATION": 4,
        "PERSON_NEEDED": 5,
        "HELD": 6,
        "VERIFICATION_FAILED": 7,
        "USAGE": 64,
        "TRY_AGAIN": 75,
        "INTERRUPTED": 130,
    }


@pytest.mark.parametrize(
    ("status", "codes"),
    [
        (64, ["usage", "invalid_argument"]),
        (1, ["no_repository", "internal_error", "unknown_machine", "unknown_instance"]),
        (3, ["not_allowed", "terminal", "proof_required", "key_reused"]),
        (4, ["tracker_unauthorized"]),
        (5, ["person_needed"]),
        (6, ["lock_held", "lease_held", "lease_lost"]),
        (7, ["machine_unreadable", "machine_invalid", "machine_unsound", "journal_tampered"]),
        (75, ["conflict", "busy", "journal_unreachable", "outcome_unknown", "tracker_limited", "tracker_unsure"]),
        (130, ["interrupted"]),
    ],
)
def test_a_code_exits_as_the_design_says(status: int, codes: list[str]) -> None:
    assert {code: int(CODES[code][0]) for code in codes} == dict.fromkeys(codes, status)


def test_an_error_without_a_code_of_the_catalogue_cannot_be_made() -> None:
    with pytest.raises(LookupError):
        InterlockError("no_such_code", "Something happened.")


def test_an_error_carries_all_that_every_face_shows() -> None:
    error = InterlockError("conflict", "It moved.", "Read it again.", {"version": 3})
    assert (error.code, error.message, error.hint) == ("conflict", "It moved.", "Read it again.")
    assert error.details == {"version": 3}
    assert str(error) == "It moved."
    assert error.exit is Exit.TRY_AGAIN
    assert InterlockError("conflict", "It moved.").details == {}


def test_the_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    drawn: dict[str, str] = {}
    above: list[str] = []
    for line in (interlock.errors.__doc__ or "").splitlines():
        match = re.match(r"    ((?:[│ ]   )*(?:[├└]── )?)(\w+)(?: {2,}\S.*)?$", line)
        if match and match[2] in CLASSES:
            depth = len(match[1]) // 4
            above = [*above[:depth], match[2]]
            drawn[match[2]] = above[-2] if depth else "Exception"
    assert drawn == {name: one.__bases__[0].__name__ for name, one in CLASSES.items()}


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_the_tree_says_of_each_class_what_the_class_says_of_itself(name: str) -> None:
    [said] = re.findall(rf"\b{name}\b +(.*)$", interlock.errors.__doc__ or "", re.MULTILINE) or [""]
    assert said[:20].lower() in (CLASSES[name].__doc__ or "").lower()


def test_an_error_crosses_processes_whole() -> None:
    error = pickle.loads(pickle.dumps(Conflict("conflict", "moved on", "read again", {"expected": 1})))
    assert isinstance(error, Conflict)
    assert (error.code, error.message, error.hint, error.details) == (
        "conflict",
        "moved on",
        "read again",
        {"expected": 1},
    )


def test_a_trackers_error_says_how_long_to_leave_it_alone_also_in_another_process() -> None:
    error = pickle.loads(pickle.dumps(TrackerError("tracker_limited", "too many", "wait", retry_after=30.0)))
    assert (error.retry_after, error.details) == (30.0, {"retry_after": 30.0})
    assert TrackerError("tracker_failed", "no").retry_after is None
