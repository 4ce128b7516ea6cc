"""`ralph thread new` and `ralph thread spec`: an idea, and the spec that comes of it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.errors import NotFound, UsageError
from interlock.faces.cli.command import CommandCall
from interlock.faces.cli.driver_session import open_driver_session
from interlock.faces.cli.output import clean, one_line
from interlock.faces.cli.place import Workspace, caller_of
from interlock.faces.cli.thread_place import listen, tell_thread, which_thread

if TYPE_CHECKING:
    from interlock.work.threads.record import Thread

__all__ = ["new", "spec"]

_MAX_FILE = 1024 * 1024


def new(call: CommandCall) -> None:
    from interlock.work.threads.verbs import new_thread, revise_spec

    given = call.arguments
    text = _read(given.file) if given.file else None
    with open_driver_session(call) as here:
        place, context = here.place, here.context
        actor = caller_of(call, place).actor
        mode = "quick" if given.quick else place.settings.text("thread.mode")
        thread = new_thread(context, actor, _title(place, given.title, given.ticket), mode, given.ticket)
        if text is not None:
            revise_spec(context, thread.id, actor, text)
        tell_thread(call, place, thread.id)


def _title(place: Workspace, title: str | None, ticket: str | None) -> str:
    from interlock.work.views.ticket import ticket_view

    if title is not None:
        return title
    if ticket is None:
        raise UsageError("invalid_argument", "A thread has a title.", 'Such as `ralph thread new "Greet in French"`.')
    return ticket_view(place.journal, ticket, comments=0, with_group=False).title


def spec(call: CommandCall) -> None:
    """Show the spec, write it, or talk about it."""
    from interlock.work.threads.dialogue import say
    from interlock.work.threads.reading import read_thread
    from interlock.work.threads.spec import template
    from interlock.work.threads.verbs import revise_spec
    from interlock.world.agents.adopting import adopting

    given = call.arguments
    writes = bool(given.file or given.edit or given.say)
    with open_driver_session(call, writes=writes, starts_agents=bool(given.say)) as here:
        place, context = here.place, here.context
        if given.template:
            text = template(given.template)
            call.output.result({"text": text}, lambda: call.output.text(text))
            return
        id_ = which_thread(call, place, looks=not writes)
        thread = read_thread(place.journal, id_)
        actor = caller_of(call, place).actor
        if given.say:
            listen(here, id_)
            with adopting():
                thread = say(context, id_, actor, given.say, given.agent)
        elif given.file:
            thread = revise_spec(context, id_, actor, _read(given.file))
        elif given.edit:
            thread = revise_spec(context, id_, actor, _edited(call, thread))
        _show_spec(call, thread, given.revision)


def _show_spec(call: CommandCall, thread: Thread, number: int | None) -> None:
    from interlock.work.threads.spec import faults, parse_spec

    found = [one for one in thread.revisions if number in (None, one.number)]
    if not found:
        message = f"There is no revision {number} of the spec." if number else "There is no spec yet."
        raise NotFound("spec_missing", message, "`ralph thread spec --edit` writes one.")
    one = found[-1]
    wrong = faults(parse_spec(one.text))
    data = {"revision": one.number, "sha256": one.sha256, "text": one.text, "faults": wrong, "by": one.by, "at": one.at}

    def show() -> None:
        call.output.text(clean(one.text))
        call.output.message(f"revision {one.number} of {len(thread.revisions)}, by {one_line(one.by)}")
        for fault in wrong:
            call.output.message(f"! {clean(fault)}")

    call.output.result(data, show)


def _edited(call: CommandCall, thread: Thread) -> str:
    """What a person makes of the spec in their editor."""
    import subprocess
    import tempfile

    from interlock.work.threads.spec import template

    editor = call.environment.get("VISUAL") or call.environment.get("EDITOR")
    if not editor or not sys.stdin.isatty():
        message = "There is no editor here." if editor else "Neither VISUAL nor EDITOR is set."
        raise UsageError("invalid_argument", message, "Give the spec with --file FILE, or --file - on stdin.")
    text = thread.revision.text if thread.revision else template(thread.title)
    with tempfile.TemporaryDirectory(prefix="ralph-spec-") as directory:
        path = Path(directory) / "spec.md"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run([*shlex.split(editor), str(path)], check=False)
        if done.returncode:
            raise UsageError("invalid_argument", f"{editor} exited {done.returncode}.", "Nothing was changed.")
        return path.read_text(encoding="utf-8")


def _read(name: str) -> str:
    try:
        text = sys.stdin.read(_MAX_FILE + 1) if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UsageError("invalid_argument", f"{name} cannot be read: {error}.", "Name a text file.") from None
    if len(text) > _MAX_FILE:
        raise UsageError("invalid_argument", f"{name} is too long.", "Make it shorter.")
    return text
