"""PURE. What became of the tests that were there: files that are gone, tests that are skipped, checks that are lost.

It is read from the text of the test files that differ, in the languages whose runners are known; what a runner is told
elsewhere to leave out, `protecting` sees. A check may move to another test file, or be made more often; one that is
nowhere any more is lost, and so is one that was changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from interlock.work.formats.quoting import shown
from interlock.work.verification.protecting import Touched, matching
from interlock.work.verification.receipt import Counted

__all__ = ["checks", "counted", "number_of_tests", "skips"]

_LISTED: Final = 20
_LINE: Final = 200
_SKIPS: Final = re.compile(
    r"""
      \b(?:pytest\.)?mark\.(?:skip(?:if)?|xfail)\b | \bpytest\.(?:skip|xfail|importorskip)\s*\(
    | \bunittest\.(?:skip(?:If|Unless)?|expectedFailure)\b | \b(?:self\.)?skipTest\s*\( | @skip(?:If|Unless)?\b
    | \bSkipTest\b | \b__test__\s*=\s*False | \bcollect_ignore(?:_glob)?\b
    | \bpytest_(?:collection_modifyitems|ignore_collect|runtest_protocol|runtest_makereport|pyfunc_call)\b
    | \bpytest_(?:sessionfinish|cmdline_main|unconfigure)\b | \bos\._exit\s*\(
    | \b(?:it|test|describe|context|suite|specify)\.(?:concurrent\.)?(?:skip|todo|fails|only)\b
    | \b(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe)\s*\( | \bthis\.skip\s*\(
    | \bt\.Skip(?:f|Now)?\s*\( | \btesting\.Short\s*\( | //go:build\s+ignore | \+build\s+ignore
    | \#\[\s*ignore\b | \#\[\s*cfg_attr\([^)]*,\s*ignore
    | @(?:Ignore|Disabled\w*)\b | \[\s*(?:Ignore|Fact\s*\(\s*Skip|Theory\s*\(\s*Skip) | \bmarkTestSkipped\s*\(
    | \bGTEST_SKIP\b | \bDISABLED_\w+
    """,
    re.VERBOSE,
)
"""What takes a test, or all of them, out of what is run or counted."""
_TESTS: Final = re.compile(
    r"""
      ^\s*(?:async\s+)?def\s+test\w*\s*\( | ^\s*(?:it|test|specify)(?:\.\w+)*\s*[(`] | ^\s*func\s+(?:Test|Fuzz)\w*\s*\(
    | ^\s*\#\[\s*(?:\w+::)*test\b | ^\s*@(?:Test|ParameterizedTest)\b | ^\s*\[\s*(?:Fact|Theory|Test|TestMethod)\b
    | ^\s*(?:it|specify)\s+["'] | ^\s*(?:public\s+)?function\s+test\w*\s*\( | ^\s*TEST(?:_F|_P)?\s*\(
    """,
    re.VERBOSE | re.MULTILINE,
)
_CHECKS: Final = re.compile(
    r"""
      ^\s*assert\b | \bassert\w*!?\s*[(.] | \bself\.(?:assert|fail)\w*\s*\( | \bexpect\w*\s*[({] | \braises\s*\(
    | \.should\b | \bt\.(?:Error|Fatal|Fail)\w*\s*\( | \brequire\.\w+\( | \bassert\.\w+\( | \b(?:EXPECT|ASSERT)_\w+\s*\(
    | \bAssert\.\w+\s*\( | \bshould_panic\b
    """,
    re.VERBOSE,
)
_IDLE: Final = re.compile(r"#(?!\[)|//|/?\*|import\b|from\b|use\b|const\b.*\brequire\(")
"""How a line begins that checks nothing: a comment, an import."""


def skips(text: str) -> int:
    """How often a text takes tests out of what is run or counted."""
    return len(_SKIPS.findall(text))


def number_of_tests(text: str) -> int:
    """How many tests a text has."""
    return len(_TESTS.findall(text))


def checks(text: str) -> Counter[str]:
    """The lines of a text in which something is checked, without their indentation."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return Counter(line for line in lines if _CHECKS.search(line) and not _IDLE.match(line))


def counted(touched: Iterable[Touched], globs: tuple[str, ...], allowed: tuple[str, ...]) -> Counted:
    """What became of the tests, from the paths that differ."""
    files = [one for one in touched if matching(one.path, globs) and not matching(one.path, allowed)]
    texts = [(one, _text(one.before), _text(one.after)) for one in sorted(files, key=lambda one: one.path)]
    before: Counter[str] = sum((checks(old) for _, old, _ in texts), Counter())
    after: Counter[str] = sum((checks(new) for _, _, new in texts), Counter())
    return Counted(
        deleted=_paths(one for one in files if one.status == "D"),
        edited=_paths(one for one in files if one.status in "MT"),
        added=_paths(one for one in files if one.status == "A"),
        before=sum(number_of_tests(old) for _, old, _ in texts),
        after=sum(number_of_tests(new) for _, _, new in texts),
        skips_before=sum(skips(old) for _, old, _ in texts),
        skips_after=sum(skips(new) for _, _, new in texts),
        skipped=tuple(_skipped(texts)),
        lost=tuple(_few(list((before - after).elements()))),
    )


def _skipped(texts: list[tuple[Touched, str, str]]) -> Iterator[str]:
    """Each file that skips more than it did; a new one too, because it stands for a check that is not made."""
    more = [
        (shown(one.path), [line for line in new.splitlines() if _SKIPS.search(line)])
        for one, old, new in texts
        if skips(new) > skips(old)
    ]
    return _few([f"{path}: {lines[0].strip() if lines else ''}" for path, lines in more])


def _few(found: list[str]) -> Iterator[str]:
    for one in found[:_LISTED]:
        yield shown(one, _LINE)
    if len(found) > _LISTED:
        yield f"… and {len(found) - _LISTED} more"


def _paths(files: Iterable[Touched]) -> tuple[str, ...]:
    return tuple(_few(sorted(shown(one.path) for one in files)))


def _text(content: bytes | None) -> str:
    return "" if content is None else content.decode("utf-8", "replace")
