"""The commands that prove a piece of work: one definition for preflight, receipts, loops, runs and `ralph doctor`."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from interlock.errors import InterlockError
from interlock.work.settings.values import Settings
from interlock.work.verification.request import Criterion, VerificationPlan, plan_of

__all__ = [
    "NO_VERIFIER",
    "is_found",
    "missing_verifiers",
    "require_tests",
    "require_verifiers",
    "story_tests",
    "uncarried",
    "verifiers_of",
]

NO_VERIFIER: Final = "No verifier is configured, so nothing could be proven. Set verify.commands in ralph.toml"
_BUILT_IN: Final = frozenset(
    """
    ! . : [ [[ { ( alias builtin case cd command declare echo eval exec exit export false fg for function hash if let
    local popd pushd read readonly return set shift shopt source test time times trap true type typeset ulimit umask
    unalias unset until wait while
    """.split()
)
"""Words that a shell itself knows."""


def verifiers_of(plan: VerificationPlan, criteria: Iterable[Criterion] = ()) -> tuple[str, ...]:
    """Return every command that proves the work: the configured ones, then those that decide a criterion."""
    configured = (one.command for one in plan.verifiers)
    deciding = (one.command for one in criteria if one.command)
    return tuple(dict.fromkeys((*configured, *deciding)))


def story_tests(settings: Settings, criteria: Iterable[Criterion] = ()) -> tuple[str, ...]:
    """Return the commands that a story loop runs before a task is judged: its own, or else the work's verifiers."""
    return settings.texts("story.tests") or verifiers_of(plan_of(settings), criteria)


def missing_verifiers(
    plan: VerificationPlan,
    criteria: Sequence[Criterion],
    root: Path,
    environment: Mapping[str, str],
    *,
    is_prepared: bool = False,
) -> tuple[str, ...]:
    """Return the verifiers whose program no agent could bring.

    A criterion may be decided by a program that the work is to make, so one with a path is not looked for. A verifier
    with a path that `verify.prepare` makes is looked for once that has run: `is_prepared`, with the checkout as root.
    """
    path = environment.get("PATH")
    waits = plan.is_apart and not is_prepared
    configured = [one.command for one in plan.verifiers if not (waits and _has_path(one.command))]
    deciding = [one.command for one in criteria if one.command and not _has_path(one.command)]
    return tuple(one for one in dict.fromkeys((*configured, *deciding)) if not is_found(one, root, path))


def uncarried(plan: VerificationPlan, root: Path) -> Iterator[str]:
    """Yield a sentence for each path of `verify.carry` that is not there."""
    for path in plan.carry:
        if not (root / path).exists():
            yield f"verify.carry names {path}, which is not there. Make it, or take it out of ralph.toml"


def is_found(command: str, root: Path, path: str | None) -> bool:
    """True if the first program of a command can be found; what only a shell can tell counts as found."""
    word = _program(command)
    if word is None:
        return True
    return (root / word).is_file() if "/" in word else shutil.which(word, path=path) is not None


def _has_path(command: str) -> bool:
    word = _program(command)
    return word is not None and "/" in word and not Path(word).is_absolute()


def _program(command: str) -> str | None:
    """The program that a command line starts; None where only a shell can tell."""
    try:
        words = [one for one in shlex.split(command) if "=" not in one.partition("/")[0]]
    except ValueError:
        return None
    if not words or words[0] in _BUILT_IN or words[0][0] in "~#" or any(sign in words[0] for sign in "$`(){}<>|&;*"):
        return None
    return words[0]


def require_verifiers(commands: Sequence[str], lost: Sequence[str], setting: str) -> None:
    """Refuse with `verifiers_missing`, before an agent is started, where nothing could prove its work."""
    if not commands:
        message = "No verifier is configured, so nothing could be proven; no agent was started."
        hint = f"Set {setting} in ralph.toml to the commands that must pass, then run the same command again."
        raise InterlockError("verifiers_missing", message, hint)
    if lost:
        message = f"A verifier cannot be found: {', '.join(lost)}. No agent was started."
        hint = f"Install it or correct {setting} in ralph.toml, then run the same command again."
        raise InterlockError("verifiers_missing", message, hint)


def require_tests(tests: Sequence[str], root: Path, environment: Mapping[str, str]) -> None:
    """The same for a story loop."""
    lost = [one for one in tests if not is_found(one, root, environment.get("PATH"))]
    require_verifiers(tests, lost, "story.tests or verify.commands")
