"""PURE. The receipt: what was seen of one tree, and whether that is enough.

Whether it passed is not written down in it: it follows from what is, so the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from interlock.decoding import convert
from interlock.machine.hashing import sha256_hex

__all__ = [
    "COMMAND",
    "MOST",
    "Carried",
    "CheckoutKind",
    "CommandRun",
    "Counted",
    "How",
    "JudgeRun",
    "Judged",
    "ProtectedEdit",
    "Receipt",
    "bounded",
    "from_data",
    "losses",
]

MOST: Final = 128 * 1024
"""How many bytes a receipt has at the most as JSON: an entry of the journal holds twice as much."""
_CUTS: Final = (1500, 500, 100, 0)
COMMAND: Final = "command"
"""The `by` of a criterion that its own command decides."""

How = Literal["passed", "failed", "missing", "timed_out", "killed", "lost"]
CheckoutKind = Literal["checkout", "work tree"]


class CommandRun(msgspec.Struct, frozen=True):
    """One command that we ran, and our own account of it."""

    name: str
    command: str
    how: How
    exit: int | None
    seconds: float
    log: str
    """The file with all that it printed."""
    log_sha256: str
    output: str
    """The end of what it printed."""
    why: str = ""
    """What went wrong, in a few words; empty where nothing did."""

    @property
    def passed(self) -> bool:
        return self.how == "passed"


class Judged(msgspec.Struct, frozen=True):
    """One criterion, whether it is met, and who says so."""

    number: int
    text: str
    met: bool
    why: str
    by: str
    """`command`, or the agent that judged; empty where nobody did."""
    ran: CommandRun | None = None


class JudgeRun(msgspec.Struct, frozen=True):
    """The run of the agent that judged."""

    agent: str
    ending: str
    """As the runner has it: `finished`, or why it is no judgement; `limited` is nobody's failure."""
    seconds: float = 0.0
    cost_usd: float | None = None
    tokens: int = 0
    limited_until: float | None = None
    log: str = ""
    log_sha256: str = ""
    why: str = ""


class ProtectedEdit(msgspec.Struct, frozen=True):
    """A protected path that is not as it was at the baseline."""

    path: str
    how: str
    """`added`, `changed` or `deleted`."""
    because: str
    """What protects it."""


class Carried(msgspec.Struct, frozen=True):
    """An ignored path that was taken along into the checkout, as it was."""

    path: str
    sha256: str
    files: int
    bytes: int


class Counted(msgspec.Struct, frozen=True):
    """What became of the tests that were there at the baseline."""

    deleted: tuple[str, ...] = ()
    """Test files that are not where they were."""
    edited: tuple[str, ...] = ()
    """Test files that were there and are not as they were; no failure by itself."""
    added: tuple[str, ...] = ()
    before: int = 0
    after: int = 0
    """How many tests the files that differ had, and have."""
    skips_before: int = 0
    skips_after: int = 0
    skipped: tuple[str, ...] = ()
    """Where something is skipped that was not."""
    lost: tuple[str, ...] = ()
    """Checks of the baseline's tests that no test makes any more."""


class Receipt(msgspec.Struct, frozen=True):
    """What was seen of one tree: the only key to Implemented, and void as soon as the tree is another."""

    tree: str
    spec: str
    """The hash of the revision of the spec."""
    baseline: str
    place: CheckoutKind
    verifiers: tuple[CommandRun, ...]
    criteria: tuple[Judged, ...]
    tree_after: str
    """The tree's hash when all was done."""
    protected: tuple[ProtectedEdit, ...] = ()
    tests: Counted = Counted()
    prepare: CommandRun | None = None
    carried: tuple[Carried, ...] = ()
    judge: JudgeRun | None = None
    meddled: tuple[str, ...] = ()
    """What kept the files from being the tree's while it was verified, a sentence each."""
    troubles: tuple[str, ...] = ()
    """What else kept it from being verified, a sentence each."""
    ignored: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Files beside the tree that are ignored by rules that the baseline did not have."""
    version: int = 1

    @property
    def passed(self) -> bool:
        """Whether all that was claimed is proven."""
        return not self.failures

    @property
    def reason(self) -> str:
        """What failed, a line each: for the next iteration's prompt, and for people."""
        return "\n".join(self.failures)

    @property
    def failures(self) -> tuple[str, ...]:
        """Everything that keeps it from passing."""
        return tuple(_failures(self))

    @property
    def json(self) -> bytes:
        """The receipt as it is hashed and kept; the same receipt is always the same bytes."""
        return msgspec.json.encode(self, order="deterministic")

    @property
    def sha256(self) -> str:
        return sha256_hex(self.json)

    @property
    def data(self) -> dict[str, Any]:
        """The receipt as an entry of the journal holds it."""
        found: dict[str, Any] = msgspec.json.decode(self.json)
        return found


def from_data(data: object) -> Receipt:
    """A receipt out of an entry; raises `msgspec.ValidationError` where it is none."""
    return convert(data, Receipt)


def _failures(one: Receipt) -> Iterator[str]:
    yield from one.meddled
    if one.tree_after != one.tree and not one.meddled:
        yield f"the tree changed while it was verified: it was {one.tree[:12]} and is {one.tree_after[:12]}"
    yield from one.troubles
    if one.prepare is not None and not one.prepare.passed:
        yield f"prepare: {one.prepare.why}"
    for edited in one.protected:
        yield f"{edited.path} was {edited.how}, and must not be: {edited.because}"
    yield from losses(one.tests)
    is_decided = any(criterion.by == COMMAND for criterion in one.criteria)
    if not one.verifiers and not is_decided and not one.troubles and (one.prepare is None or one.prepare.passed):
        yield "no verifier is configured"
    yield from (f"verifier {ran.name}: {ran.why}" for ran in one.verifiers if not ran.passed)
    if not one.criteria:
        yield "the spec has no criteria"
    yield from (
        f"criterion {criterion.number} ({criterion.text}): {criterion.why}"
        for criterion in one.criteria
        if not criterion.met
    )


def losses(tests: Counted) -> Iterator[str]:
    """What tests that were there prove no more, a sentence each."""
    yield from (f"the test file {path} is gone" for path in tests.deleted)
    yield from (f"a test is skipped that was not: {where}" for where in tests.skipped)
    yield from (f"a test checks less than it did: {check}" for check in tests.lost)


def bounded(receipt: Receipt, most: int = MOST) -> Receipt:
    """The receipt with its texts cut until it fits; all output is in the logs, which it names by hash."""
    if len(receipt.json) <= most:
        return receipt
    for cut in _CUTS:
        receipt = _cut(receipt, cut)
        if len(receipt.json) <= most:
            break
    return receipt


def _cut(one: Receipt, most: int) -> Receipt:
    return replace(
        one,
        verifiers=tuple(_cut_run(ran, most) for ran in one.verifiers),
        criteria=tuple(_cut_judged(judged, most) for judged in one.criteria),
        prepare=one.prepare and _cut_run(one.prepare, most),
        protected=tuple(replace(edited, path=edited.path[: max(most, 100)]) for edited in one.protected),
    )


def _cut_run(one: CommandRun, most: int) -> CommandRun:
    output = one.output[len(one.output) - min(most, len(one.output)) :]
    return replace(one, output=output, command=one.command[: max(most, 100)])


def _cut_judged(one: Judged, most: int) -> Judged:
    least = max(most, 20)
    ran = _cut_run(one.ran, most) if one.ran and most else None
    return replace(one, text=one.text[:least], why=one.why[:least], ran=ran)
