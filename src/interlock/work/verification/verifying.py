"""One verification: the tree's hash, what differs from the baseline, the commands, the criteria, the hash again.

    hash → compare with the baseline → prepare → verifiers → criteria by command → criteria by the judge → hash

All verifiers are run, and everything that fails is named. The judge is asked only where all else is well: it costs
money, and what does not pass its tests is not done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.work.formats.quoting import shown
from interlock.work.verification.carrying import carry
from interlock.work.verification.commands import Runner
from interlock.work.verification.counting import counted
from interlock.work.verification.judging import judge_prompt, judgements
from interlock.work.verification.places import Snapshot, checkout, committed, snapshot, sweep
from interlock.work.verification.protecting import Touched, edited, is_of_interest
from interlock.work.verification.receipt import Carried, CheckoutKind, CommandRun, Judged, JudgeRun, Receipt, bounded
from interlock.work.verification.request import Criterion, Request
from interlock.work.verification.verifiers import missing_verifiers, verifiers_of
from interlock.world.agents.running import StopSignal
from interlock.world.agents.tree import end_marked
from interlock.world.git import Repository, changed_between, contents, diff, opened, state, tree_hash

__all__ = ["committed", "make_ready", "rehearse", "require_found", "verify"]

_NAMED = 10
_MOST_IGNORED = 50
_MOST_CRITERIA = 200
_MOST_VERIFIERS = 50
_Found = TypeVar("_Found")
_NOT_JUDGED = "not judged, because something else failed first"


class _Stopped(Exception):
    """It is to end now; nothing came of it."""


def verify(request: Request, tell: Callable[[object], None], stop: StopSignal) -> Receipt | None:
    """Verify the work as it is now, and say what was seen; None where it was stopped.

    What an earlier one that died left of itself is ended and removed first: processes with the same marker, and
    checkouts. When it returns or raises, no
    process of it is left and no checkout. Raises only what git raises.
    """
    end_marked(request.marker)
    sweep()
    try:
        return bounded(_Verification(request, tell, stop).receipt())
    except _Stopped:
        return None


def rehearse(request: Request, tell: Callable[[object], None], stop: StopSignal) -> tuple[str, ...] | None:
    """Make a checkout of the untouched baseline ready, and say what fails there; None where it was stopped.

    What fails before anybody has worked is not the agents' to fix. Without a checkout there is nothing to make ready.
    """
    if not request.is_apart:
        return ()
    end_marked(request.marker)
    sweep()
    try:
        return tuple(_Verification(request, tell, stop).rehearsed())
    except _Stopped:
        return None


def make_ready(request: Request, place: Path, tell: Callable[[object], None], stop: StopSignal) -> tuple[str, ...]:
    """Carry and prepare what git ignores in a directory where an agent is to work; return what fails."""
    verification = _Verification(request, tell, stop)
    try:
        verification.carried(place)
        prepare = verification.prepared(Runner(request, place, tell, stop)) if not verification.troubles else None
    except _Stopped:
        return ("it was stopped",)
    failed = (f"`{prepare.command}`: {prepare.why}",) if prepare is not None and not prepare.passed else ()
    return (*verification.troubles, *failed)


def require_found(request: Request, receipt: Receipt, tell: Callable[[object], None], stop: StopSignal) -> None:
    """Refuse with `verifiers_missing` where a configured verifier is missing now, and was before anybody worked.

    Agents can restore a verifier that the baseline has; only a person can install any other.
    """
    lost = [one.command for one in receipt.verifiers if one.how == "missing"]
    if not lost:
        return
    try:
        at_baseline = tuple(_Verification(request, tell, stop).missing_at_baseline(lost))
    except _Stopped:
        return
    if at_baseline:
        message = f"A verifier cannot be found, and could not before the work began: {', '.join(at_baseline)}."
        hint = "Install it or correct verify.commands in ralph.toml, then run the same command again."
        raise InterlockError("verifiers_missing", message, hint)


class _Verification(msgspec.Struct):
    """One verification under way."""

    request: Request
    tell: Callable[[object], None]
    stop: StopSignal
    troubles: list[str] = msgspec.field(default_factory=list)
    meddled: list[str] = msgspec.field(default_factory=list)

    def receipt(self) -> Receipt:
        request = self.request
        with opened(request.root) as repository:  # until something else is let run
            tree = request.tree or tree_hash(repository)
            touched = self._touched(repository, tree)
            is_feasible = self._is_feasible(repository)
        blank = Receipt(tree, request.spec, request.baseline, self._place, (), self._unjudged(""), tree)
        deciding = [one.command for one in request.criteria if one.command]
        compared = replace(
            blank,
            protected=edited(touched, request.plan, deciding, request.vouched),
            tests=counted(touched, request.plan.tests, request.plan.allowed),
            ignored=_first(request.ignored) or msgspec.UNSET,
        )
        if not is_feasible:
            return replace(compared, criteria=self._unjudged(_NOT_JUDGED), troubles=tuple(self.troubles))
        with self._opened(tree) as place:
            seen = self._verified(compared, place, touched)
        return replace(seen, troubles=tuple(self.troubles), meddled=tuple(self.meddled))

    def missing_at_baseline(self, commands: list[str]) -> Iterator[str]:
        """Those of the commands that a shell does not find in a checkout of the baseline either."""
        with checkout(self.request.root, self.request.baseline) as place:
            self.carried(place)
            runner = Runner(self.request, place, self.tell, self.stop, number=90)
            self.prepared(runner)
            for command in commands:
                if _or_stop(runner.run("baseline", command, self.request.plan.seconds)).how == "missing":
                    yield command

    def rehearsed(self) -> Iterator[str]:
        """Yield the problems of carrying and preparing in a checkout of the baseline."""
        request = self.request
        with checkout(request.root, request.baseline) as place:
            self.carried(place)
            yield from self.troubles
            prepare = self.prepared(Runner(request, place, self.tell, self.stop)) if not self.troubles else None
            if prepare is not None and not prepare.passed:
                last = next((line for line in reversed(prepare.output.splitlines()) if line.strip()), "")
                said = f": {last[:200]}" if last else ""
                yield f"`{prepare.command}` fails on the untouched baseline ({prepare.why}{said})"
            elif not self.troubles:
                lost = missing_verifiers(request.plan, request.criteria, place, request.environment, is_prepared=True)
                yield from (f"the verifier cannot be found: {one}" for one in lost)

    @property
    def _place(self) -> CheckoutKind:
        return "checkout" if self.request.is_apart else "work tree"

    def _is_feasible(self, repository: Repository) -> bool:
        """Whether there is anything that could pass; what is in the way is told."""
        if not self.request.is_apart:
            self.troubles += _outside_the_tree(repository)
        if self.request.left_out:
            self.troubles.append(f"git cannot hold these files in a tree: {_few([*self.request.left_out])}")
        if len(self.request.criteria) > _MOST_CRITERIA:
            self.troubles.append(f"the spec has more than {_MOST_CRITERIA} criteria")
        if len(self.request.plan.verifiers) > _MOST_VERIFIERS:
            self.troubles.append(f"there are more than {_MOST_VERIFIERS} verifiers")
        return not self.troubles and bool(verifiers_of(self.request.plan, self.request.criteria))

    def _touched(self, repository: Repository, tree: str) -> list[Touched]:
        """What differs from the baseline, with its content where that has to be looked at."""
        baseline, plan = self.request.baseline, self.request.plan
        changes = changed_between(repository, baseline, tree)
        wanted = [one.path for one in changes if is_of_interest(one.path, plan) or one.path in self.request.vouched]
        before, after = contents(repository, baseline, wanted), contents(repository, tree, wanted)
        return [Touched(one.path, one.status, before.get(one.path), after.get(one.path)) for one in changes]

    @contextmanager
    def _opened(self, tree: str) -> Iterator[Path]:
        if not self.request.is_apart:
            yield self.request.root
            return
        with checkout(self.request.root, tree) as place:
            yield place

    def _verified(self, blank: Receipt, place: Path, touched: list[Touched]) -> Receipt:
        watch = _Watch(self.request, place, blank.tree, snapshot(place) if self.request.is_apart else {})
        carried = self.carried(place)
        runner = Runner(self.request, place, self.tell, self.stop)
        prepare = self.prepared(runner) if not self.troubles else None
        if self.troubles or (prepare and not prepare.passed):
            criteria = self._unjudged(_NOT_JUDGED)
            return replace(blank, criteria=criteria, carried=carried, prepare=prepare)
        verifiers = tuple(
            _or_stop(runner.run(one.name, one.command, one.seconds)) for one in self.request.plan.verifiers
        )
        decided = tuple(_or_stop(runner.decide(one, one.command)) for one in self.request.criteria if one.command)
        self.meddled += watch.changes("the verifiers")
        seen = replace(blank, verifiers=verifiers, criteria=decided, carried=carried, prepare=prepare)
        others = tuple(one for one in self.request.criteria if not one.command)
        judged, heard = self._judged(seen, others, place, touched)
        if heard is not None and not self.meddled:
            self.meddled += watch.changes("the judge")
        criteria = tuple(sorted((*decided, *judged), key=lambda one: one.number))
        return replace(seen, criteria=criteria, judge=heard, tree_after=watch.tree)

    def carried(self, place: Path) -> tuple[Carried, ...]:
        found: list[Carried] = []
        for path in self.request.plan.carry:
            one = carry(self._source(path), path, place, self.stop)
            if one is None:
                raise _Stopped
            if isinstance(one, str):
                self.troubles.append(one)
            else:
                found.append(one)
        return tuple(found)

    def _source(self, path: str) -> Path:
        """Return the tree to carry a path from: this work tree, or else the repository's own."""
        here, own = self.request.root, self.request.own_tree
        return own if own is not None and not (here / path).exists() else here

    def prepared(self, runner: Runner) -> CommandRun | None:
        plan = self.request.plan
        return _or_stop(runner.run("prepare", plan.prepare, plan.seconds)) if plan.prepare else None

    def _judged(
        self, seen: Receipt, criteria: tuple[Criterion, ...], place: Path, touched: list[Touched]
    ) -> tuple[tuple[Judged, ...], JudgeRun | None]:
        """The criteria that no command decides."""
        if not criteria:
            return (), None
        if self.meddled or replace(seen, criteria=(*seen.criteria, _MET)).failures:
            return self._unjudged(_NOT_JUDGED, criteria), None
        if self.request.judge is None:
            return self._unjudged("no judge is configured", criteria), None
        if self.stop.is_set():
            raise _Stopped
        files = sorted(shown(one.path) for one in touched)
        patch = diff(self.request.root, self.request.baseline, seen.tree).text
        prompt = judge_prompt(self.request.title, criteria, files, patch, seen.verifiers)
        answer = _or_stop(self.request.judge(prompt, place))
        if answer.heard.ending != "finished":
            return self._unjudged(answer.heard.why or "the judge did not finish", criteria), answer.heard
        judged = judgements(criteria, answer.said, answer.heard.agent)
        for one in judged:
            self.tell(f"criterion {one.number}: {'met' if one.met else f'not met: {one.why}'}")
        return judged, answer.heard

    def _unjudged(self, why: str, criteria: tuple[Criterion, ...] | None = None) -> tuple[Judged, ...]:
        wanted = self.request.criteria if criteria is None else criteria
        return tuple(Judged(one.number, one.text, False, why, "") for one in wanted[:_MOST_CRITERIA])


_MET = Judged(0, "", True, "", "")
"""Stands for the criteria that are yet to be judged, where it is asked whether all else is well."""


class _Watch(msgspec.Struct):
    """Sees whether the files are still those of the tree."""

    request: Request
    place: Path
    before: str
    files: Snapshot
    """Those of the checkout, where it is one."""
    tree: str = ""

    def changes(self, who: str) -> list[str]:
        """What is not as it was, a sentence each."""
        found: list[str] = []
        if self.request.tree is not None:
            self.tree = self.before  # it is an object, and only the checkout can change
            return found + self._changed_files(who)
        with opened(self.request.root) as repository:
            self.tree = tree_hash(repository)
            if self.tree != self.before:
                paths = [one.path for one in changed_between(repository, self.before, self.tree)]
                found.append(f"the tree changed while {who} ran, so nothing of it counts: {_few(paths)}")
            if self.place == self.request.root and not found:
                found += _outside_the_tree(repository)
        return found + self._changed_files(who)

    def _changed_files(self, who: str) -> list[str]:
        now = snapshot(self.place, self.files) if self.files else {}
        paths = [path for path, known in self.files.items() if now[path] != known]
        why = f"{who} changed files of the checkout, so it is not the tree any more: {_few(paths)}"
        return [why] if paths else []


def _outside_the_tree(repository: Repository) -> list[str]:
    """Files of the work tree that a verifier would see and that no hash of the tree covers, a sentence each kind."""
    now = state(repository)
    found = []
    if now.hidden:
        found.append(
            f"git was told not to look at files that are changed, so they are not of the tree: {_few([*now.hidden])}; "
            "`git update-index --no-skip-worktree --no-assume-unchanged` shows them"
        )
    if now.nested:
        found.append(f"other repositories lie in the work tree, which are not of the tree: {_few([*now.nested])}")
    return [f"{one}; with verify.prepare a checkout of the tree alone is verified" for one in found]


def _first(paths: Sequence[str]) -> tuple[str, ...]:
    more = (f"… and {len(paths) - _MOST_IGNORED} more",) if len(paths) > _MOST_IGNORED else ()
    return (*(shown(path, 200) for path in paths[:_MOST_IGNORED]), *more)


def _few(paths: list[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(shown(path, 200) for path in sorted(paths)[:_NAMED]) + more


def _or_stop(found: _Found | None) -> _Found:
    """What came of a part of it; where that is nothing, it was stopped."""
    if found is None:
        raise _Stopped
    return found
