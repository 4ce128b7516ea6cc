"""PURE. What must be as it was at the baseline, and is not.

    the spec's and `verify.protected`   every change, and what is added
    tests that the spec names           every change of what was there
    settings of runners                 see `runners`

`verify.allowed` lets a path change even so, and a person may vouch for a content.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache

import msgspec

from interlock.work.formats.quoting import shown
from interlock.work.verification import runners
from interlock.work.verification.receipt import ProtectedEdit
from interlock.work.verification.request import VerificationPlan

__all__ = ["Touched", "edited", "is_of_interest", "matching"]

_LISTED = 50
_WHY = 200
_HOW = {"A": "added", "D": "deleted"}


class Touched(msgspec.Struct, frozen=True):
    """A path that differs from the baseline, with what it held and holds; None where there is no file."""

    path: str
    status: str
    """As git has it: `A`, `M`, `D` or `T`."""
    before: bytes | None
    after: bytes | None


def is_of_interest(path: str, plan: VerificationPlan) -> bool:
    """Whether the content of a path that differs has to be looked at."""
    return runners.has_parts(path) or matching(path, plan.tests) is not None


def edited(
    touched: Collection[Touched], plan: VerificationPlan, criteria: Collection[str], vouched: Mapping[str, str]
) -> tuple[ProtectedEdit, ...]:
    """Every protected path among those that differ; `criteria` are the commands that decide some of them."""
    used = tuple(_used(plan, criteria))
    found = []
    for one in sorted(touched, key=lambda one: one.path):
        why = None if matching(one.path, plan.allowed) else next(_reasons(one, plan, used), None)
        if why is not None and not _is_vouched(one, vouched):
            found.append(ProtectedEdit(shown(one.path), _HOW.get(one.status, "changed"), shown(why, _WHY)))
    more = (ProtectedEdit(f"… and {len(found) - _LISTED} more", "changed", "they are protected"),)
    return (*found[:_LISTED], *(more if len(found) > _LISTED else ()))


def _used(plan: VerificationPlan, criteria: Collection[str]) -> Iterator[tuple[str, str]]:
    """What commands run, each with the command.

    A criterion's command often runs the very work that it is about, so of those only tests count, and the files of
    `make` and its like.
    """
    verifying = [one.command for one in plan.verifiers] + ([plan.prepare] if plan.prepare else [])
    for command in verifying:
        yield from ((glob, command) for glob in runners.used_by(command))
    for command in (*verifying, *criteria):
        tests = (path for path in runners.named_in(command) if matching(path, plan.tests))
        globs = (glob for glob in runners.used_by(command) if "*" in glob)
        yield from ((one, command) for one in (*tests, *globs))


def _reasons(one: Touched, plan: VerificationPlan, used: tuple[tuple[str, str], ...]) -> Iterator[str]:
    if glob := matching(one.path, plan.protected):
        yield f"{glob} is protected"
    if one.status != "A" and (glob := matching(one.path, plan.named)):
        yield f"the spec names {glob}"
    if matching(one.path, runners.SETTINGS):
        yield "it says how work is verified"
    is_new_test = one.status == "A" and matching(one.path, plan.tests)
    if not is_new_test and (command := next((by for glob, by in used if _means(glob, one.path)), None)):
        yield f"`{command}` runs it"
    if runners.has_parts(one.path) and (part := runners.part_that_differs(one.path, one.before, one.after)):
        yield f"{part} in it says how work is verified"


def _means(glob: str, path: str) -> bool:
    """Whether something that a command runs is a path; a directory that it names is not what is below it."""
    return path == glob or ("*" in glob and matching(path, (glob,)) is not None)


def _is_vouched(one: Touched, vouched: Mapping[str, str]) -> bool:
    return one.after is not None and vouched.get(one.path) == hashlib.sha256(one.after).hexdigest()


def matching(path: str, globs: Iterable[str]) -> str | None:
    """The first of the globs that means a path, if one does.

    `*` stands for a part of a name, `**` crosses directories, and a plain path also means what is below it.
    """
    return next((glob for glob in globs if _pattern(glob).fullmatch(path)), None)


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    whole = glob.strip().removeprefix("./").rstrip("/")
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", whole)
    meant = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meant.get(part, re.escape(part)) for part in parts) + "(?:/.*)?", re.DOTALL)
