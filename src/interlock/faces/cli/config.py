"""`ralph config`: which settings are in force and why, and accepting a change of them."""

from __future__ import annotations

from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.output import clean, columns
from interlock.faces.cli.place import readable, writable

__all__ = ["VERBS"]


def _show(call: CommandCall) -> None:
    from interlock.work.settings.table import SETTINGS
    from interlock.work.settings.values import read

    with readable(call) as place:
        found = place.status
    given = read(found.accepted) if found.accepted is not None else {}
    values = found.settings.values
    rows = [
        {"key": one.key, "value": values[one.key], "origin": "ralph.toml" if one.key in given else "default"}
        for one in SETTINGS
    ]
    data = {"settings": rows, "accepted": found.sha256, "waiting": found.change if found.is_waiting else None}

    def show() -> None:
        lines = [(str(row["key"]), str(row["origin"]), _said(row["value"])) for row in rows]
        call.output.text(clean(columns(lines)))
        if found.is_waiting:
            call.output.text(f"Not in force yet:\n\n{clean(found.change)}\n")

    call.output.result(data, show)


def _said(value: object) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, tuple) else str(value)


def _accept(call: CommandCall) -> None:
    """Accept what this repository says: its journal, once for each user, and the `ralph.toml` of now.

    It needs a person at a terminal, and for the settings a signature where a key is enrolled.
    """
    from interlock.work.gates.presence import present
    from interlock.work.gates.trust import trust_instance
    from interlock.work.settings.accepted import accept
    from interlock.world.repository import find_root

    with writable(call, warns=False, asks=True) as place:
        if place.is_newly_trusted and not place.status.is_waiting:
            data = {"accepted": place.status.sha256}
            call.output.result(data, lambda: call.output.text("You trust this journal; its settings are in force."))
            return
        person = present(place.journal, trust_instance(place.journal), "settings", call.environment, call.directory)
        root, _ = find_root(call.directory)
        found = accept(place.journal, person, root or call.directory)
    said = "What ralph.toml says is in force."
    call.output.result({"accepted": found.sha256}, lambda: call.output.text(said))


VERBS = (
    Verb("show", "every setting with its value and where it comes from", _show),
    Verb("accept", "gate: trust this journal and what ralph.toml says now", _accept),
)
