"""A thread as its files show it: what the journal says of it, in the words of `thread.json` and its neighbours."""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from interlock.errors import InterlockError
from interlock.work.driver.context import DriverContext
from interlock.work.formats.hashing import sha256_of
from interlock.work.formats.times import seconds_of, text_of
from interlock.work.threads.conversation import ConversationHeader, Message, Speaker, title_of
from interlock.work.threads.phases import (
    BaselineView,
    Committed,
    Data,
    Diagnosed,
    DiagnosisView,
    Iterated,
    Mode,
    Phase,
    Reasoned,
    RunConfig,
    ThreadFile,
    carried,
    written,
)
from interlock.work.threads.projection import ThreadProjection, project_active
from interlock.work.threads.projection import project as write_files
from interlock.work.threads.reading import named_thread
from interlock.work.threads.record import Thread
from interlock.work.threads.replay import take
from interlock.work.threads.runs import RunFile, RunIteration, written_run
from interlock.work.threads.store import ThreadFiles

__all__ = ["project", "view_of"]


def project(context: DriverContext, thread: Thread, *, is_chosen: bool = False) -> None:
    """Write the state of a thread to its files; edits of others are set aside and reported.

    `is_chosen` says that the thread has just become the active one.
    """
    view, run = view_of(thread), _run_of(thread)
    conversation = _conversation_of(thread) if thread.messages else None
    known = context.projected
    wanted = ThreadProjection(
        view=view,
        specs={one.number: one.text for one in thread.revisions},
        runs=[run] if run is not None else [],
        conversation=conversation,
        ours=lambda sha256: sha256 in known or sha256 in _all_ours(context, thread.id),
    )
    files = ThreadFiles(context.ports.folder(context.state_directory))
    for failed in write_files(files, [wanted], lambda edited: context.report(edited.message)):
        context.report(f"the files of {failed.id} are not up to date: {failed.error.message}")
    active = named_thread(context.journal)
    if active is not None:
        try:
            project_active(files, active.id, context.report, is_chosen=is_chosen)
        except InterlockError as error:
            context.report(f"the file that names the active thread is not up to date: {error.message}")
    known.add(sha256_of(written(view)))
    if run is not None:
        known.add(sha256_of(written_run(run)))


def _all_ours(context: DriverContext, id_: str) -> set[str]:
    """The hashes of everything that the files of a thread ever said because of us."""
    thread, found = Thread(), set()
    for entry in context.journal.history(id_):
        take(thread, entry)
        with suppress(InterlockError):  # what is half way between two states was never written
            found.add(sha256_of(written(view_of(thread))))
        run = _run_of(thread)
        if run is not None:
            found |= {sha256_of(written_run(one)) for one in (run, _earlier_form(run, thread))}
    return found


def view_of(thread: Thread) -> ThreadFile:
    """What `thread.json` says."""
    config, base = thread.config, thread.baseline
    return ThreadFile(
        id=thread.id,
        title=thread.title,
        created_at=thread.created,
        updated_at=thread.updated,
        phase=Phase(thread.state, _carried(thread)),
        current_spec_revision=thread.revision.number if thread.revision else 1,
        current_run_id=thread.run,
        mode=Mode.QUICK if thread.mode == "quick" else Mode.METHODICAL,
        run_config=RunConfig(config.iterations, config.agents) if config else None,
        baseline=BaselineView(base.branch, base.commit, base.at) if base else None,
    )


def _carried(thread: Thread) -> Data | None:
    shape, known = carried().get(thread.state), thread.diagnosis
    if shape is Iterated:
        return Iterated(thread.iteration)
    if shape is Reasoned:
        return Reasoned(thread.reason)
    if shape is Committed:
        return Committed(thread.commit or "")
    if shape is None or known is None:
        return None
    return Diagnosed(
        DiagnosisView(
            iterations_attempted=known.iterations_attempted,
            models_tried=known.models_tried,
            best_criteria_passed=known.best_criteria_passed,
            total_criteria=known.total_criteria,
            last_error=known.reason or None,
        )
    )


def _run_of(thread: Thread) -> RunFile | None:
    """What `run.json` says of the run that is under way, or was last."""
    if thread.run is None or thread.run_started is None:
        return None
    own = [one for one in thread.iterations if one.run == thread.run and one.role == "implementer"]
    status, ended = thread.run_ended or (thread.state, None)
    seconds, dollars, tokens = thread.spent_in_run
    return RunFile(
        id=thread.run,
        thread_id=thread.id,
        spec_revision=thread.run_revision,
        started_at=thread.run_started,
        status=status,
        ended_at=ended,
        models=tuple(dict.fromkeys(one.agent for one in own)),
        iterations=tuple(
            RunIteration(
                number=one.number,
                agent=one.agent,
                started_at=text_of(seconds_of(one.at) - one.seconds),
                ended_at=one.at,
                ending=one.ending,
                promised=one.promised,
                verified=one.verified,
                criteria_passed=one.criteria_passed,
            )
            for one in own
        ),
        data={"seconds": round(seconds, 3), "usd": round(dollars, 6), "tokens": tokens},
    )


def _earlier_form(run: RunFile, thread: Thread) -> RunFile:
    """The same run as earlier versions wrote it, to tell their files from edits."""
    own = [one for one in thread.iterations if one.run == thread.run and one.role == "implementer"]
    plain = {"verified": None, "criteria_passed": None}
    return replace(
        run,
        spec_revision=thread.revision.number if thread.revision else 1,
        status=thread.state,
        ended_at=None,
        iterations=tuple(replace(one, started_at=one.ended_at, **plain) for one in run.iterations),
        data={
            "seconds": round(sum(one.seconds for one in own), 3),
            "usd": round(sum(one.cost_usd for one in own), 6),
            "tokens": sum(one.tokens for one in own),
        },
    )


def _conversation_of(thread: Thread) -> tuple[ConversationHeader, list[Message]]:
    said = [Message(Speaker(one.role), one.content, one.at, one.agent) for one in thread.messages]
    return ConversationHeader(thread.id, title_of(said), thread.created, thread.messages[0].at), said
