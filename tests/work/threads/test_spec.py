"""Specs: read as people write them, whatever they write."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.work.threads.spec import Spec, SpecCriterion, faults, parse_spec, template

GREET = """\
# Greet by name

## Goal

- This is a goal and no criterion.

## Requirements

- Names of any length
* Names with accents
• No network

## Completion Criteria

- [ ] `greet Ann` prints "Hello, Ann"
  - verify: `pytest tests/test_greet.py::test_ann -q`
- [x] The help says so,
  in one line

### Later

1. Nothing else changes:
   - no other command
   - no setting

## Protected

- `Makefile`
- `ci/`, `./tests/data//names.txt`
- setup.cfg because it says how tests run

## Notes

- Not this one.

<promise>COMPLETE</promise>
"""


def _spec(body: str) -> Spec:
    return parse_spec(f"# T\n\n## Completion Criteria\n\n{body}\n\n## Notes\n\n<promise>COMPLETE</promise>\n")


def _texts(body: str) -> list[str]:
    return [one.text for one in _spec(body).criteria]


@pytest.mark.requirement("thread:spec:parseable")
def test_a_spec_says_what_has_to_be_true() -> None:
    spec = parse_spec(GREET)
    assert spec.title == "Greet by name"
    assert (spec.promise, spec.claim) == ("COMPLETE", "COMPLETE")
    assert spec.criteria == (
        SpecCriterion(1, "Names of any length"),
        SpecCriterion(2, "Names with accents"),
        SpecCriterion(3, "No network"),
        SpecCriterion(4, '`greet Ann` prints "Hello, Ann"', "pytest tests/test_greet.py::test_ann -q"),
        SpecCriterion(5, "The help says so, in one line"),
        SpecCriterion(6, "Nothing else changes: no other command; no setting"),
    )
    assert spec.protected == ("Makefile", "ci/", "tests/data/names.txt", "setup.cfg", "tests/test_greet.py")
    assert spec.named == ("tests/test_greet.py",)
    assert spec.sha256 == hashlib.sha256(GREET.encode()).hexdigest()
    assert faults(spec) == []


def test_the_spec_that_the_docs_show_has_no_faults() -> None:
    text = (Path(__file__).parents[3] / "docs" / "threads.md").read_text(encoding="utf-8")
    spec = parse_spec(text.partition("```markdown\n")[2].partition("```\n")[0])
    assert (spec.title, len(spec.criteria), faults(spec)) == ("Greet by name", 2, [])
    assert spec.protected == ("ci/", "Makefile", "tests/test_greet.py")


# Criteria


@pytest.mark.parametrize(
    "heading",
    [
        *("## Requirements", "## Acceptance", "## Completion Criteria", "## How: VERIFICATION ##", "##  Criterias"),
        *("  ## Definition of completion", "##\tRequirement"),
    ],
)
def test_a_heading_of_the_second_level_opens_a_section(heading: str) -> None:
    assert parse_spec(f"{heading}\n- one").criteria == (SpecCriterion(1, "one"),)


@pytest.mark.parametrize(
    "heading",
    ["# Requirements", "### Requirements", "##Requirements", "**Requirements**", "## Goal", "    ## Criteria"],
)
def test_no_other_heading_does(heading: str) -> None:
    assert parse_spec(f"{heading}\n- one").criteria == ()


@pytest.mark.parametrize("heading", ["# Another", "## Another"])
def test_the_next_heading_of_that_level_or_above_ends_it(heading: str) -> None:
    assert _texts(f"- one\n\n{heading}\n\n- two") == ["one"]


def test_deeper_headings_divide_a_section_and_do_not_end_it() -> None:
    assert _texts("- one\n### More\nprose\n- two\n###### Still\n- three") == ["one", "two", "three"]


@pytest.mark.parametrize("marker", ["- [ ]", "- [x]", "- [X]", "-", "*", "+", "•", "1.", "12)", "* [ ]"])
def test_every_kind_of_item_is_a_criterion(marker: str) -> None:
    assert _texts(f"{marker} one\n{marker} two") == ["one", "two"]


@pytest.mark.parametrize(
    "body", ["prose", "-", "- [ ]", "- [x]  ", "---", "* * *", "-one", "<!-- - one -->", "```\n- one\n```"]
)
def test_what_says_nothing_is_no_criterion(body: str) -> None:
    assert _texts(body) == []


def test_prose_behind_a_gap_is_nobodys_and_an_indented_line_belongs_to_the_item() -> None:
    assert _texts("- one\nstill one\n\n  and this\n\nprose\n  more prose\n- two") == ["one still one and this", "two"]


def test_a_block_of_code_in_an_item_is_left_out() -> None:
    assert _texts("- prints\n  ```\n  - no item\n  ```\n- two") == ["prints", "two"]


# Commands


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("  - verify: `make check`", "make check"),
        ("  - Verify : ``echo `id` ``", "echo `id`"),
        ("\t* [ ] verify: `a && b`", "a && b"),
        ("- verify: `make check`", "make check"),
        ("  verify: `make check`", "make check"),
    ],
)
def test_a_line_below_a_criterion_names_its_command(line: str, command: str) -> None:
    assert _spec(f"- one\n{line}\n- two").criteria == (SpecCriterion(1, "one", command), SpecCriterion(2, "two"))


def test_a_command_alone_is_a_criterion_by_itself() -> None:
    spec = _spec("- verify: `make check`\n- verify: `make test`")
    assert spec.criteria == (
        SpecCriterion(1, "`make check` passes", "make check"),
        SpecCriterion(2, "`make test` passes", "make test"),
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("- one\n  - verify: make check", "written in code"),
        ("- one\n  - verify: `a` and `b`", "written in code"),
        ("- one\n  - verify: ``", "written in code"),
        ("- one\n  - verify: `echo <!-- no -->`", "without comments"),
        ("- verify: by looking", "written in code"),
        ("- one\n  - verify: `a`\n  - verify: `b`", "Join the two"),
    ],
)
def test_a_command_that_cannot_be_understood_is_a_fault_and_is_not_run(body: str, why: str) -> None:
    spec = _spec(body)
    assert [one.command for one in spec.criteria] in ([None], ["a"], [])
    assert any(fault.startswith("Line ") and why in fault for fault in faults(spec))


# The promise


@pytest.mark.parametrize(
    ("text", "promise", "claim"),
    [
        ("<promise>COMPLETE</promise>", "COMPLETE", "COMPLETE"),
        ("say `<promise>all done</promise>` then", "all done", "ALL_DONE"),
        ("<PROMISE>\n Done\n</PROMISE>", "Done", "DONE"),
        ("<promise>A</promise> <promise>A</promise>", "A", "A"),
    ],
)
def test_the_promise_is_what_an_agent_will_be_heard_to_say(text: str, promise: str, claim: str) -> None:
    spec = parse_spec(f"## Criteria\n- one\n\n{text}")
    assert (spec.promise, spec.claim, faults(spec)) == (promise, claim, [])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has no promise"),
        ("```\n<promise>COMPLETE</promise>\n```", "has no promise"),
        ("<!-- <promise>COMPLETE</promise> -->", "has no promise"),
        ("<promise>COMPLETE", "has no promise"),
        ("<promise></promise>", "No agent could say"),
        ("<promise>all of it, really!</promise>", "No agent could say"),
        ("<promise>A</promise><promise>B</promise>", "promises 'A' and 'B'"),
    ],
)
def test_a_promise_that_cannot_be_kept_is_a_fault(text: str, why: str) -> None:
    [fault] = faults(parse_spec(f"## Criteria\n- one\n\n{text}"))
    assert why in fault
    assert "Write" in fault or "Keep" in fault


def test_a_spec_without_criteria_is_told_what_to_write() -> None:
    assert ["completion criteria" in fault for fault in faults(parse_spec("<promise>A</promise>"))] == [True]
    assert len(faults(parse_spec(""))) == 2


# Protected paths


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../b", "~/x", ".git/hooks", ".", "a\\b", "x" * 501])
def test_a_protected_path_lies_in_the_repository(path: str) -> None:
    spec = parse_spec(f"## Protected\n- `{path}`\n## Criteria\n- one\n<promise>A</promise>")
    assert spec.protected == ()
    assert ["is no path in the repository" in fault for fault in faults(spec)] == [True]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("`tests/test_x.py::test_a` passes", ["tests/test_x.py"]),
        (
            "all of web/src/app.spec.ts, e2e/login.ts and x_test.go:12.",
            ["web/src/app.spec.ts", "e2e/login.ts", "x_test.go"],
        ),
        ("`make test` passes in tests/ and in /tests/test_x.py", []),
        ("the tests pass, ../test_x.py too", []),
        ("src/app.py is tested", []),
    ],
)
def test_test_files_that_a_criterion_names_are_protected(text: str, named: list[str]) -> None:
    spec = _spec(f"- {text}")
    assert (list(spec.protected), list(spec.named), faults(spec)) == (named, named, [])


# The template


def test_a_template_lacks_nothing_but_a_criterion() -> None:
    empty = template("Greet  by\nname")
    assert ["no completion criteria" in fault for fault in faults(parse_spec(empty))] == [True]
    assert parse_spec(empty).title == "Greet by name"
    spec = parse_spec(empty.replace("- [ ]\n", "- [ ] It greets\n"))
    assert (spec.criteria, faults(spec)) == ((SpecCriterion(1, "It greets"),), [])


@given(st.text(max_size=60))
def test_a_template_of_any_title_can_be_filled_in(title: str) -> None:
    spec = parse_spec(template(title).replace("\n- [ ]\n", "\n- [ ] It greets\n"))
    assert "It greets" in [one.text for one in spec.criteria]


# Whatever is written

_PIECES = st.sampled_from(
    [
        *("# T", "## Requirements", "## Protected", "### x", "- ", "* [ ] ", "• ", "1. ", "verify: ", "`a b`", "``"),
        *(
            "<promise>",
            "</promise>",
            "<!--",
            "-->",
            "```",
            "~~~",
            "\n",
            "\r\n",
            "\r",
            "\n  ",
            "\n\n",
            "tests/test_x.py",
        ),
        *("word ", "\t", "\u2028", "\x00", "\ud800", "---", ".."),
    ]
)


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join)))
def test_no_text_is_an_error_and_the_numbers_are_in_order(text: str) -> None:
    spec = parse_spec(text)
    assert [one.number for one in spec.criteria] == list(range(1, len(spec.criteria) + 1))
    assert all(one.text.strip() == one.text and one.text for one in spec.criteria)
    assert all(one.command is None or one.command.strip() for one in spec.criteria)
    assert set(spec.named) <= set(spec.protected)
    assert all(not path.startswith("/") and ".." not in path.split("/") for path in spec.protected)
    assert all(fault.endswith(".") for fault in faults(spec))
    assert parse_spec(text) == spec


_QUARTER = 1 << 18
"""Of a megabyte: quadratic work on it takes minutes, linear work less than a second."""
_SECONDS = 60
_LONG = [
    *(
        "- [ ] a\n",
        "  - b\n",
        "## Criteria\n- a\n",
        "<promise>",
        "<promise>A</promise>",
        "`",
        "- `",
        "- verify: `",
        "<!--",
    ),
    *(
        "<!-- -->",
        "```\n",
        "~~~ `\n",
        "- - ",
        "* ",
        "tests/",
        "test_",
        "_test.",
        " ",
        "\t",
        "#",
        "## Protected\n- `a`\n",
    ),
    *("- verify: `a`\n", "a;\n", "1. ", "### x\n", "-->", "x"),
]


@pytest.fixture
def _bounded() -> Iterator[None]:
    """Processor time of this process, so that a busy machine does not matter."""

    def too_long(*_: object) -> None:
        pytest.fail(f"it took more than {_SECONDS} seconds of processor time")

    before = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.sampled(8)
@pytest.mark.usefixtures("_bounded")
@pytest.mark.parametrize("piece", [*_LONG, pytest.param("".join(_LONG) * 4, id="all")])
def test_a_text_that_goes_on_and_on_is_read_step_by_step(piece: str) -> None:
    head = "# T\n\n## Criteria\n\n- a\n"
    spec = parse_spec(head + piece * (_QUARTER // len(piece)))
    assert spec.title == "T"
    faults(spec)


@pytest.mark.usefixtures("_bounded")
def test_a_megabyte_of_criteria_is_read() -> None:
    count = (1 << 20) // len("- [ ] a\n")
    assert len(parse_spec("## Criteria\n" + "- [ ] a\n" * count).criteria) == count
