"""What is to be verified, and how: the plan that the settings and the spec make."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from interlock.errors import UsageError
from interlock.work.settings.values import Settings
from interlock.work.verification.receipt import JudgeRun
from interlock.world.agents.confinement import Confinement

__all__ = ["Criterion", "Judge", "JudgeAnswer", "Request", "VerificationPlan", "Verifier", "name_of", "plan_of"]

_NAMED: Final = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9 _.-]{0,39}):\s+(?P<command>\S.*)", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,30}")
_ASSIGNED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*")
_CARRIERS: Final = frozenset("bunx env npx pipx pnpx poetry sh bash uv uvx time nice".split())
"""What only starts another program: a verifier is not called after it."""
_RUNS_SCRIPTS: Final = frozenset(
    "bun cargo composer deno dotnet go gradle just make mix mvn npm pnpm rake yarn".split()
)
"""What is told apart by its second word."""


class Verifier(msgspec.Struct, frozen=True):
    """A command that must exit with 0."""

    name: str
    command: str
    seconds: float
    """How long it may take; 0 is no limit."""


class Criterion(Protocol):
    """What has to be true; the spec's own type is one."""

    @property
    def number(self) -> int: ...

    @property
    def text(self) -> str: ...

    @property
    def command(self) -> str | None:
        """What decides it: exit 0 is met. Without one, the judge does."""


class JudgeAnswer(msgspec.Struct, frozen=True):
    """What a judge said in its own words, and how its run went."""

    said: str
    heard: JudgeRun


Judge = Callable[[str, Path], JudgeAnswer | None]
"""Asks a second agent: the prompt, and the directory it looks at; None where it was stopped."""


class VerificationPlan(msgspec.Struct, frozen=True):
    """How this repository is verified."""

    verifiers: tuple[Verifier, ...] = ()
    prepare: str = ""
    carry: tuple[str, ...] = ()
    seconds: float = 1800.0
    """How long prepare, and each command of a criterion, may take; 0 is no limit."""
    protected: tuple[str, ...] = ()
    """Globs of what must be as it is at the baseline, and of what must not be added."""
    named: tuple[str, ...] = ()
    """The same, but what is not there at the baseline may be added."""
    allowed: tuple[str, ...] = ()
    """Globs of what may be changed even so, tests included."""
    tests: tuple[str, ...] = ()
    """Globs of the files that hold tests."""

    @property
    def is_apart(self) -> bool:
        """Whether it is done in a checkout of the exact tree, and not in the work tree."""
        return bool(self.prepare or self.carry)


class Request(msgspec.Struct, frozen=True):
    """One verification."""

    root: Path
    """The work tree, or the repository that has `tree`."""
    spec: str
    """The hash of the revision of the spec."""
    baseline: str
    """The commit that the work began on."""
    criteria: Sequence[Criterion]
    plan: VerificationPlan
    logs: Path
    """The directory for the logs of this verification; nothing else is written there."""
    environment: Mapping[str, str]
    """All of what the commands are given; nothing is taken from our own."""
    marker: str
    """What the processes are known by, also to whoever comes after a crash: the thread's id."""
    confine: Callable[[Path], Confinement | None]
    """Gives the sandbox of the commands that run in a place; None for none."""
    judge: Judge | None = None
    title: str = ""
    tree: str | None = None
    """The tree to verify, in a checkout of it; None verifies the files of the work tree as they are."""
    left_out: Sequence[str] = ()
    """Files that the tree cannot hold."""
    ignored: Sequence[str] = ()
    """Files that are ignored and would not have been at the baseline, for the person to know."""
    own_tree: Path | None = None
    """The repository's own work tree, where `root` is another one: ignored paths are carried from there, too."""
    vouched: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Protected paths that a person has accepted as they are now: the SHA-256 of the content of each."""

    @property
    def is_apart(self) -> bool:
        """True if it is done in a checkout of the exact tree, and not in the work tree."""
        return self.tree is not None or self.plan.is_apart


def plan_of(
    settings: Settings,
    *,
    commands: Sequence[str] = (),
    protected: Sequence[str] = (),
    named: Sequence[str] = (),
) -> VerificationPlan:
    """The plan of the settings, and of what a spec adds to them.

    The settings must be those that a person accepted, not whatever `ralph.toml` says now: an agent could have written
    that.
    """
    seconds = settings.number("verify.minutes") * 60.0
    verifiers: list[Verifier] = []
    for line in dict.fromkeys((*settings.texts("verify.commands"), *commands)):
        name, command = _named(line)
        taken = {one.name for one in verifiers}
        free = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 3)))
        verifiers.append(Verifier(next(one for one in free if one not in taken), command, seconds))
    return VerificationPlan(
        verifiers=tuple(verifiers),
        prepare=settings.text("verify.prepare"),
        carry=tuple(_inside(path) for path in settings.texts("verify.carry")),
        seconds=seconds,
        protected=(*settings.texts("verify.protected"), *protected),
        named=tuple(named),
        allowed=settings.texts("verify.allowed"),
        tests=settings.texts("verify.tests"),
    )


def _named(line: str) -> tuple[str, str]:
    found = _NAMED.fullmatch(line.strip())
    return (found["name"], found["command"]) if found else (name_of(line), line.strip())


def name_of(command: str) -> str:
    """What a verifier is called that nobody named: the program that it runs, `make check` and the like with both."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quote that does not end; the shell will say so
        words = command.split()
    words = [word for word in words if not _ASSIGNED.fullmatch(word)]
    while words and (Path(words[0]).name in _CARRIERS or words[0].startswith("-") or words[0] == "run"):
        words = words[1:]
    if not words:
        return "verifier"
    program = Path(words[0]).name
    if program.startswith("python") and words[1:2] == ["-m"] and len(words) > 2:
        return words[2][:40]
    second = words[1] if len(words) > 1 and program in _RUNS_SCRIPTS and _WORD.fullmatch(words[1]) else ""
    name = f"{program} {second}".strip()
    return "".join(one for one in name if one.isprintable())[:40] or "verifier"


def _inside(path: str) -> str:
    parts = Path(path).parts
    if Path(path).is_absolute() or ".." in parts or not parts or parts[0] in (".git", ".ralf", ".ralph-sessions"):
        message = f"verify.carry cannot hold {path[:80]!r}."
        raise UsageError("settings_invalid", message, "Name an ignored path inside of the repository, such as .venv.")
    return "/".join(parts)
