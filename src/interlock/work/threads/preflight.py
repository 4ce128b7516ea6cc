"""Preflight: every prerequisite is looked at, also after one has failed, and each failure is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import to_builtins
from msgspec.structs import asdict

from interlock.errors import InterlockError, Refusal
from interlock.journal import Instance, Journal, Transaction
from interlock.machine import Event, Evidence
from interlock.machine.states import shipped_state
from interlock.work.driver.agent_run import DRIVER
from interlock.work.driver.agent_sandbox import confined_command
from interlock.work.driver.agent_tree import first_of, remove_finished_trees, uncommitted
from interlock.work.driver.readiness import missing_program, nameless
from interlock.work.driver.system import NoEvent, StepResult
from interlock.work.formats.hashing import sha256_of
from interlock.work.threads.driver_step import ThreadStep, branch_of
from interlock.work.threads.record import Thread
from interlock.work.threads.spec import faults, parse_spec
from interlock.work.verification.request import Criterion, Request, VerificationPlan, plan_of
from interlock.work.verification.verifiers import (
    NO_VERIFIER,
    is_found,
    missing_verifiers,
    story_tests,
    uncarried,
    verifiers_of,
)
from interlock.world.ancestry import host
from interlock.world.git import StartingPoint, WorkTreeStatus
from interlock.world.place import Place

__all__ = ["check_owner", "preflight"]

MACHINE = "thread"


class Check(msgspec.Struct, frozen=True):
    """One prerequisite: whether it holds, and if not, what to do."""

    name: str
    label: str
    passed: bool
    message: str = ""


def preflight(step: ThreadStep) -> StepResult:
    """Look at everything; where all holds, the branch is made and the thread owns its work tree."""
    checks = list(_checks(step))
    plan = plan_of(step.context.settings)
    if plan.is_apart and all(one.passed for one in checks):  # it costs time, so everything else is looked at first
        rehearsed = _rehearsed(step, plan)
        if rehearsed is None:
            return NoEvent.STOP
        checks.append(rehearsed)
    told = [asdict(one) for one in checks]
    failed = [one for one in checks if not one.passed]
    if failed:
        labels = ", ".join(one.label for one in failed)
        lines = "\n".join(f"- {one.label}: {one.message}" for one in failed)
        return step.event(
            "checks_failed", f"{len(failed)} of {len(checks)} checks failed: {labels}\n{lines}", checks=told
        )
    try:
        remove_finished_trees(step.context)
        place = _begin(step)
        guarded = step.context.git.fingerprint_of_settings(step.context.root)
    except InterlockError as error:
        told.append(asdict(Check("branch", "Thread Branch", passed=False, message=error.message)))
        return step.event("checks_failed", f"Thread Branch: {error.message} {error.hint}", checks=told)
    branch = branch_of(step.thread.id)
    config = msgspec.json.decode(msgspec.json.encode(step.config))
    where = _place(step, place)
    data = {"checks": told, "branch": branch, "place": to_builtins(where), "guarded": guarded, "config": config}
    limit: dict[str, int | str] = {"iteration.limit": step.config.iterations}
    owned = _place(step, step.context.root) if step.config.follows_checkout else where
    evidence = Evidence(data=data, settings=limit, names=(_owner_name(_owner_paths(step, owned)[0]),))
    return Event("checks_passed", DRIVER, evidence=evidence)


def _begin(step: ThreadStep) -> Path:
    """Note where the work begins, then make its branch and its tree; called again after a crash, it finds them."""
    thread, git, root, branch = step.thread, step.context.git, step.context.root, branch_of(step.thread.id)
    follows = step.config.follows_checkout
    is_there = git.checked_out(root) == branch
    is_begun = step.tree.is_made or is_there
    base = _begun_at(thread, branch) if is_begun else git.baseline(root)
    if thread.baseline is None or (base.branch, base.commit) != (thread.baseline.branch, thread.baseline.commit):
        step.note("baseline", branch=base.branch, commit=base.commit)
    if follows and (not is_there or git.state(root).head == base.commit):  # also to end what a death left half done
        git.begin_branch(root, branch, base.commit)
    tree = step.tree
    tree.make()
    return tree.files


def _begun_at(thread: Thread, branch: str) -> StartingPoint:
    """Where a branch began that is there: as it was noted, or before the reset that was undone since."""
    known = thread.baseline or thread.before_reset
    if known is None:
        message = f"The branch {branch!r} is checked out, and this thread did not make it."
        raise Refusal("git_branch_exists", message, "Switch to your own branch, and remove that one.")
    return StartingPoint(known.branch, known.commit)


# The checks


def _checks(step: ThreadStep) -> Iterator[Check]:
    root = step.context.root
    follows = step.config.follows_checkout
    try:
        there = step.context.git.state(root)
    except InterlockError as error:
        yield Check("git_state", "Git Working Tree", passed=False, message=f"{error.message} {error.hint}")
        return
    yield _clean(step, there)
    yield _baseline(step)
    yield from _spec(step)
    yield _models(step)
    yield _verifiers(step)
    yield _identity(step)
    yield _alone(step, there, follows=follows)
    yield _bounded(step)


def _clean(step: ThreadStep, there: WorkTreeStatus) -> Check:
    """The person's checkout: clean if it is to be brought along; else what is not committed there is only named."""
    name, label = "git_state", "Git Working Tree"
    follows = step.config.follows_checkout
    if follows and (there.operation is not None or there.conflicts):
        what = there.operation or f"a conflict in {there.conflicts[0]!r}"
        return Check(name, label, passed=False, message=f"There is {what} under way. End it first.")
    changed = there.changed
    if not changed or there.branch == branch_of(step.thread.id):
        return Check(name, label, passed=True)
    if follows:
        message = f"Working tree has uncommitted changes ({first_of(changed)}). Commit or stash before running."
        return Check(name, label, passed=False, message=message)
    message = uncommitted(changed)
    step.context.report(message)
    return Check(name, label, passed=True, message=message)


def _baseline(step: ThreadStep) -> Check:
    name, label = "baseline_capturable", "Git Baseline"
    try:
        step.context.git.baseline(step.context.root)
    except InterlockError as error:
        return Check(name, label, passed=False, message=f"{error.message} {error.hint}")
    return Check(name, label, passed=True)


def _spec(step: ThreadStep) -> Iterator[Check]:
    revision = step.thread.revision
    spec = parse_spec(revision.text) if revision is not None else None
    has_promise, has_criteria = spec is not None and spec.promise is not None, spec is not None and bool(spec.criteria)
    missing = "No spec saved for this thread" if spec is None else "Spec is missing <promise>...</promise> tag"
    others = [] if spec is None else faults(spec)
    none = "No completion criteria found in spec" + (f": {' '.join(others)}" if others and not has_criteria else "")
    yield Check("spec_has_promise", "Spec Promise", has_promise, "" if has_promise else missing)
    yield Check("criteria_parseable", "Completion Criteria", has_criteria, "" if has_criteria else none)


def _bounded(step: ThreadStep) -> Check:
    message = "Without a limit of iterations a budget must be set: thread.budget_usd, _minutes or _tokens in ralph.toml"
    is_bounded = step.config.is_bounded
    return Check("loop_bounded", "Iteration Limit", is_bounded, "" if is_bounded else message)


def _models(step: ThreadStep) -> Check:
    name, label = "models_available", "Model Availability"
    context, config = step.context, step.config
    missing, roles = [], dict[str, str]()
    try:
        if config.driver == "orchestrator" and config.agents:
            from interlock.work.threads.orchestrator_driver import roles_for

            roles = roles_for(step)
    except InterlockError as error:
        missing.append(f"{error.message} {error.hint}")
    for agent in dict.fromkeys((*config.agents, *((config.judge,) if config.judge else ()), *roles.values())):
        try:
            program = missing_program(context, context.agent(agent))
        except InterlockError as error:
            missing.append(f"{agent}: {error.message} {error.hint}")
            continue
        if program is not None:
            missing.append(f"{agent}: the program {program!r} is not there")
    if not config.agents:
        missing.append("No models configured. Set agent.name in ralph.toml")
    return Check(name, label, not missing, "; ".join(missing))


def _verifiers(step: ThreadStep) -> Check:
    name, label = "verifiers_available", "Required Verifiers"
    context, plan, criteria = step.context, plan_of(step.context.settings), _criteria(step)
    if not verifiers_of(plan, criteria):
        return Check(name, label, passed=False, message=NO_VERIFIER)
    root, environment = context.root, context.environment
    lost = [*missing_verifiers(plan, criteria, root, environment)]
    if step.config.driver == "story":
        tests = story_tests(context.settings, criteria)
        lost += [one for one in tests if not is_found(one, root, environment.get("PATH")) and one not in lost]
    wrong = [*([f"Missing verifiers: {', '.join(lost)}"] if lost else []), *uncarried(plan, root)]
    return Check(name, label, not wrong, ". ".join(wrong))


def _criteria(step: ThreadStep) -> tuple[Criterion, ...]:
    revision = step.thread.revision
    return parse_spec(revision.text).criteria if revision is not None else ()


def _identity(step: ThreadStep) -> Check:
    why = nameless(step.context)
    return Check("git_identity", "Git Identity", why is None, why or "")


def _rehearsed(step: ThreadStep, plan: VerificationPlan) -> Check | None:
    """Verification made ready on the untouched baseline; None where it was stopped."""
    name, label, context = "verification_rehearsed", "Verification Setup", step.context
    request = Request(
        root=context.root,
        spec="",
        baseline=context.git.baseline(context.root).commit,
        criteria=_criteria(step),
        plan=plan,
        logs=step.log_of("preflight").parent,
        environment=context.environment,
        marker=step.thread.id,
        confine=lambda place: confined_command(context, place),
    )
    found = context.ports.verification.rehearse(request, context.report, context.stop)
    return None if found is None else Check(name, label, not found, "; ".join(found))


def _alone(step: ThreadStep, there: WorkTreeStatus, *, follows: bool) -> Check:
    name, label = "no_concurrent_run", "Concurrent Runs"
    if not follows:
        return Check(name, label, passed=True)
    other = _owner(step.context.journal, step, _place(step, step.context.root))
    if other is not None:
        message = f"Thread {other.id} has this work tree ({other.state}). {_ISOLATION}"
        return Check(name, label, passed=False, message=message)
    branch = there.branch or ""
    if branch.startswith("ralf/") and branch != branch_of(step.thread.id):
        message = f"HEAD is on {branch}, the branch of another thread. Switch to your own branch first. {_ISOLATION}"
        return Check(name, label, passed=False, message=message)
    return Check(name, label, passed=True)


_ISOLATION = 'Only one thread can be shown in a checkout; with isolation = "own" several run at once.'


def _place(step: ThreadStep, directory: Path) -> Place:
    base = step.thread.baseline
    return Place.at(step.context.base, directory, host(), branch_of(step.thread.id), base.commit if base else "")


def _owner_name(path: str) -> str:
    return f"work-tree:{sha256_of(path)[:32]}"


def _owner_paths(step: ThreadStep, place: Place) -> tuple[str, ...]:
    """The paths by which a place is known, the one of new entries first; earlier versions used absolute ones.

    Clones that share a journal on a server are told apart by their absolute paths.
    """
    absolute = str(place.directory(step.context.base))
    return (place.path, absolute) if step.context.journal.url is None else (absolute,)


def _owner(reader: Journal | Transaction, step: ThreadStep, place: Place) -> Instance | None:
    """The other thread that has a place to itself."""
    for path in _owner_paths(step, place):
        other = reader.named(MACHINE, _owner_name(path))
        if other is not None and other.id != step.thread.id and _owns_tree(other):
            return other
    return None


def check_owner(transaction: Transaction, step: ThreadStep) -> None:
    """Refuse if another thread has the person's checkout: looked at in the very transaction that would take it."""
    follows = step.config.follows_checkout
    other = _owner(transaction, step, _place(step, step.context.root)) if follows else None
    if other is not None:
        raise Refusal("work_tree_taken", f"Thread {other.id} has taken the work tree meanwhile.", _ISOLATION)


def _owns_tree(thread: Instance) -> bool:
    """True while a thread has its work tree to itself."""
    return thread.outcome is None and shipped_state(MACHINE, thread.state).tree is not None
