"""What is made from the code is current, and leaves nothing out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from documents import DOCS, ROOT, anchors, columns, commands, findings, generate, keys, markdown, meanings, text_of

from interlock.errors import CODES, Exit
from interlock.machine import SHIPPED, load_shipped
from interlock.machine.check import FINDINGS
from interlock.machine.model import BUILTIN
from interlock.world.memory import EventType
from patience import SECONDS


def test_every_generated_file_is_current() -> None:
    """As `make generate` makes them, in a process of its own: the name of a union depends on what is imported first."""
    words = [sys.executable, "-m", "docs.generate", "--check"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_check_names_what_is_out_of_date_and_writes_nothing(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tree / "docs" / "machines" / "thread.md"
    page.write_text("old", encoding="utf-8")
    (tree / "docs" / "machines" / "story.svg").unlink()
    assert generate.main(["--check"], tree) == 1
    named = capsys.readouterr().out.splitlines()
    assert named == ["out of date: docs/machines/thread.md", "out of date: docs/machines/story.svg"]
    assert page.read_text(encoding="utf-8") == "old"


def test_what_is_out_of_date_is_written_once(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "docs" / "machines" / "thread.md").unlink()
    assert generate.main([], tree) == 0
    assert capsys.readouterr().out == "written: docs/machines/thread.md\n"
    assert generate.main(["--check"], tree) == 0
    assert capsys.readouterr().out == ""


@pytest.fixture
def tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The docs and the definitions, current, in a place where they may be changed."""
    for path, _ in generate.texts():
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    generate.main([], tmp_path)
    capsys.readouterr()
    return tmp_path


def test_every_key_of_every_table_has_a_row_and_one_meaning() -> None:
    page = text_of(DOCS / "machines.md")
    for struct in keys.structs():
        said = keys.meanings(struct)
        section = page.partition(f"### {meanings.TABLES[struct.__name__]}\n")[2].partition("\n### ")[0]
        for field in msgspec.structs.fields(struct):
            assert said[field.name], f"{struct.__name__}.{field.name} has no meaning"
            assert f"| `{field.encode_name}` |" in section


def test_every_meaning_of_our_own_is_of_a_key_without_a_docstring() -> None:
    shown = {f"{one.__name__}.{name}": text for one in keys.structs() for name, text in keys.meanings(one).items()}
    assert meanings.MEANINGS.items() <= shown.items(), "a key is gone, or has a docstring now: delete our own words"


def test_every_error_code_has_a_heading() -> None:
    assert anchors(DOCS / "errors.md") >= CODES.keys()


def test_every_finding_has_a_heading() -> None:
    assert tuple(findings.meanings()) == FINDINGS
    assert findings.MENDING.keys() == set(FINDINGS)
    assert anchors(DOCS / "checking.md") >= set(FINDINGS)


def test_every_command_has_a_heading() -> None:
    assert anchors(DOCS / "commands.md") >= {title.replace(" ", "-") for title in commands.titles()}


def test_every_exit_status_has_a_row() -> None:
    page = text_of(DOCS / "commands.md")
    for status in Exit:
        assert f"| `{int(status)}` |" in page


def test_the_shown_help_is_what_the_command_prints() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "interlock", "log", "--help"],
        env={"PATH": ""},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert f"\n\n```text\n{done.stdout}```\n" in text_of(DOCS / "commands.md")


def test_every_environment_name_in_the_code_has_a_row() -> None:
    page = text_of(DOCS / "commands.md")
    code = "".join(text_of(path) for path in (ROOT / "src").rglob("*.py"))
    names = {word.strip("`'\",.;:(){}[]") for word in code.split() if "RALPH_" in word}
    found = {name for name in names if name.isupper() and name.startswith("RALPH_")} - set(EventType)
    assert found
    for name in found:
        assert f"| `{name}` |" in page


def test_every_column_has_a_meaning() -> None:
    named = {f"{table}.{column}" for table, found in columns.schema().items() for column, _ in found}
    assert named == columns.COLUMNS.keys()


def test_every_builtin_event_has_a_row() -> None:
    page = text_of(DOCS / "machines.md")
    for event in BUILTIN:
        assert f"| `{event}` |" in page


@pytest.mark.parametrize("name", SHIPPED)
def test_a_machines_page_has_a_row_for_everything_in_its_definition(name: str) -> None:
    machine, page = load_shipped(name), text_of(DOCS / "machines" / f"{name}.md")
    form = machine.form
    named: list[Iterable[str]] = [form.counters, form.gates, form.receipts, form.facts, form.settings, form.states]
    named += [form.intents, form.commands, form.promises, form.limits]
    for word in [word for words in named for word in words]:
        assert f"\n| `{word}`" in page
    for transition in machine.transitions:
        row = f"\n| `{transition.source}` | `{transition.to}` | `{transition.on}` | {', '.join(transition.by)} |"
        assert row in page
    assert page.count("**Added:**") >= sum(1 for one in machine.transitions if one.added)


def test_a_table_leaves_empty_columns_out_and_no_cell_breaks_it() -> None:
    assert (
        markdown.table([{"a": "x|y", "b": "", "c": "two\nlines"}]) == "| a | c |\n| --- | --- |\n| x\\|y | two lines |"
    )


def test_text_of_a_definition_is_shown_as_it_is() -> None:
    assert markdown.prose("`a_b` <promise> [P] *x*") == "`a_b` &lt;promise> \\[P\\] \\*x\\*"


def test_a_page_without_its_block_is_an_error() -> None:
    with pytest.raises(LookupError, match="no block 'keys'"):
        markdown.fill("# A page\n", "keys", "body")
