"""PURE. The forms that can be imported, by name, and which of them a file has."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from interlock.errors import UsageError
from interlock.work.formats.front_matter import FRONT
from interlock.work.importing import backlog, beads, fix_plan, github, prd, spec_kit
from interlock.work.importing.imported import Batch, SourceFile, plain

__all__ = ["FORMS", "Form", "form_of", "parsed"]


class Form(msgspec.Struct, frozen=True):
    """Something that people have their work in."""

    name: str
    title: str
    """What people call it."""
    parse: Callable[[SourceFile], Batch]
    files: tuple[str, ...]
    """Where it lies in a project, as patterns."""
    is_markdown: bool = False
    is_many: bool = False
    """Whether several files of it belong together."""


FORMS: Final = {
    form.name: form
    for form in (
        Form("prd", "prd.json", prd.parse, ("prd.json", "plans/prd.json", "scripts/ralph/prd.json")),
        Form(
            "fix-plan",
            "fix_plan.md",
            fix_plan.parse,
            ("fix_plan.md", "@fix_plan.md", ".ralph/fix_plan.md", ".ralph/@fix_plan.md"),
            is_markdown=True,
        ),
        Form(
            "spec-kit",
            "spec-kit's tasks.md",
            spec_kit.parse,
            ("tasks.md", "specs/*/tasks.md"),
            is_markdown=True,
            is_many=True,
        ),
        Form(
            "backlog",
            "Backlog.md",
            backlog.parse,
            tuple(f"{place}{kind}/*.md" for place in ("backlog/", "") for kind in ("tasks", backlog.COMPLETED)),
            is_markdown=True,
            is_many=True,
        ),
        Form(
            "beads",
            "beads",
            beads.parse,
            (".beads/issues.jsonl", ".beads/beads.jsonl", "issues.jsonl", "beads.jsonl"),
        ),
        Form("github", "GitHub issues", github.parse, ("issues.json",)),
    )
}
_TASK_FIELDS: Final = re.compile(r"(?m)^(?:id|title|status)[ \t]*:")


def parsed(form: Form, sources: Sequence[SourceFile]) -> Batch:
    """What all files of a form hold together."""
    for source in sources:
        if form.is_markdown:
            plain(source.text, source.where)
    batches = [form.parse(source) for source in sources]
    return Batch(
        tuple(item for batch in batches for item in batch.items), tuple(one for batch in batches for one in batch.left)
    )


def form_of(name: str, source: SourceFile) -> Form:
    """The one form that a file has, by what it holds, and by its name where that could be several."""
    found = [FORMS[one] for one in _likely(source.text)]
    named = [form for form in found if any(pattern.rpartition("/")[2] == name for pattern in form.files)]
    if len(named or found) == 1:
        return (named or found)[0]
    every = ", ".join(FORMS)
    if not found:
        message = f"{source.where} is nothing that is known here."
        raise UsageError("import_unclear", message, f"Say what it is with --as, one of: {every}.")
    ways = " or ".join(f"--as {form.name}" for form in found)
    message = f"{source.where} could be {' or '.join(form.title for form in found)}."
    raise UsageError("import_unclear", message, f"Say which it is: {ways}.")


def _likely(text: str) -> list[str]:
    """The forms that a text could have."""
    start = text.lstrip("\ufeff \t\r\n")
    if start[:1] in ("{", "["):
        return _likely_json(start)
    front = FRONT.match(text.replace("\r\n", "\n"))
    if front is not None and len({found[0] for found in _TASK_FIELDS.finditer(front["fields"])}) == 3:
        return ["backlog"]
    lines = text.splitlines()
    if any(spec_kit.TASK.fullmatch(line.rstrip()) for line in lines):
        return ["spec-kit"]
    return ["fix-plan", "spec-kit"] if any(fix_plan.BOX.fullmatch(line.rstrip()) for line in lines) else []


def _likely_json(text: str) -> list[str]:
    """By the names of the first fields; broken JSON is told by the reader of the form that it would be."""
    first = text.partition("\n")[0]
    try:
        one = json.loads(first)
    except (ValueError, RecursionError):
        one = None
    if isinstance(one, dict) and "id" in one and "userStories" not in one:
        return ["beads"]
    if '"userStories"' in text:
        return ["prd"]
    if text[0] == "[":
        names = [("github", '"number"'), ("prd", '"steps"')]
        return [form for form, field in names if field in text]
    return ["beads"] if '"issue_type"' in first else []
