"""PURE. A receipt as people read it in a terminal: what was run, what was judged, and what keeps it from passing."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.work.verification.receipt import CommandRun, Judged, Receipt
from interlock.world.characters import marked

__all__ = ["lines", "text"]

_TAIL = 8
_MET, _UNMET, _UNJUDGED = "✓", "✗", "○"


def text(receipt: Receipt, *, output: bool = True) -> str:
    """The whole receipt; `output` also shows the end of what failed verifiers printed."""
    return "\n".join(lines(receipt, output=output)) + "\n"


def lines(receipt: Receipt, *, output: bool = True) -> Iterator[str]:
    """The receipt, line by line."""
    met = sum(one.met for one in receipt.criteria)
    yield f"{'Verified' if receipt.passed else 'Not verified'}: tree {receipt.tree[:12]}, receipt {receipt.sha256[:12]}"
    yield f"  in {'a checkout of the exact tree' if receipt.place == 'checkout' else 'the work tree'}"
    yield from (f"  with {one.path} ({one.files} files, {one.sha256[:12]})" for one in receipt.carried)
    ran = (*((receipt.prepare,) if receipt.prepare else ()), *receipt.verifiers)
    if ran:
        yield "Verifiers"
        for one in ran:
            yield from _ran(one, output=output)
    yield f"Criteria: {met}/{len(receipt.criteria)} passing"
    yield from (_line(f"  {_mark(one)} {one.number}. {one.text}{_why(one)}") for one in receipt.criteria)
    yield from _tests(receipt)
    if receipt.ignored:
        yield "Ignored since the work began, and so not part of it"
        yield from (_line(f"  {path}") for path in receipt.ignored)
    others = [one for one in receipt.failures if not one.startswith(("verifier ", "criterion ", "prepare: "))]
    if others:
        yield "What must not be"
        yield from (_line(f"  {_UNMET} {one}") for one in others)


def _ran(one: CommandRun, *, output: bool) -> Iterator[str]:
    yield _line(f"  {_MET if one.passed else _UNMET} {one.name}  {one.seconds:.1f} s  {one.why}".rstrip())
    if output and not one.passed:
        yield from (_line(f"      {line}") for line in one.output.splitlines()[-_TAIL:])


def _mark(one: Judged) -> str:
    return _MET if one.met else _UNMET if one.by else _UNJUDGED


def _why(one: Judged) -> str:
    said = f": {one.why}" if one.why else ""
    return f"  [{one.by}]{said}" if one.by else f"  {one.why}" if one.why else ""


def _tests(receipt: Receipt) -> Iterator[str]:
    tests = receipt.tests
    if tests.added or tests.edited or tests.deleted:
        files = f"{len(tests.added)} added, {len(tests.edited)} edited, {len(tests.deleted)} deleted"
        counts = f"{tests.before} → {tests.after} tests, {tests.skips_before} → {tests.skips_after} skipped"
        yield f"Test files: {files}; in them {counts}"
        yield from (_line(f"  edited: {path}") for path in tests.edited)


def _line(line: str) -> str:
    """One line, complete: at a gate, what is beyond the edge counts as well."""
    return marked(line, keep="")
