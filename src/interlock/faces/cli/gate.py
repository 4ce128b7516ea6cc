"""`ralph gate`: the keys that sign at the gates, and what happened there."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.output import Output, columns, one_line
from interlock.faces.cli.place import opened, writable
from interlock.world.repository import state_directory

if TYPE_CHECKING:
    from interlock.journal import Journal
    from interlock.work.gates.overview import GatesOverview
    from interlock.work.gates.presence import Presence
    from interlock.work.gates.trust import Key

__all__ = ["VERBS", "enrolled"]

_SHOWN = 10
_FORGEABLE = "forgeable: it signs for every program that runs as you; give it a passphrase, or take it out of the agent"


def _enroll(call: CommandCall) -> None:
    with writable(call) as place:
        key = enrolled(call, place.journal, call.arguments.key)
    said = f"✓ {key.fingerprint} signs at the gates from now on; what guards it: {key.guard}."
    call.output.result(_key_data(key), lambda: call.output.text(said))
    _warn(call.output, key)


def enrolled(call: CommandCall, journal: Journal, file: Path) -> Key:
    """Enroll a key for the person who calls."""
    from interlock.work.gates.enrolling import enroll
    from interlock.work.settings.journal_trust import remember_key

    key = enroll(journal, _person(call, journal, is_enrolling=True), file.expanduser(), call.environment)
    remember_key(journal, state_directory(call.directory), call.environment)
    return key


def _person(call: CommandCall, journal: Journal, *, is_enrolling: bool = False) -> Presence:
    """The person who calls, before anything else is looked at; whoever is none has tried, and that is kept."""
    from interlock.work.gates.presence import present
    from interlock.work.gates.trust import trust_instance

    trust = trust_instance(journal)
    return present(journal, trust, "key", call.environment, call.directory, is_enrolling=is_enrolling)


def _warn(output: Output, key: Key) -> None:
    from interlock.world.ssh import Guard

    if key.guard is Guard.NONE and not output.json:
        output.message(f"⚠ {key.fingerprint} is {_FORGEABLE}.")


def _revoke(call: CommandCall) -> None:
    from interlock.work.gates.enrolling import revoke

    with writable(call) as place:
        presence = _person(call, place.journal)
        key = revoke(place.journal, presence, call.arguments.fingerprint)
    said = f"✓ {key.fingerprint} signs at no gate any more; what it signed before still holds."
    call.output.result(_key_data(key), lambda: call.output.text(said))


def _list(call: CommandCall) -> None:
    from interlock.work.gates.overview import GatesOverview, overview
    from interlock.work.gates.trust import Trust

    with opened(call) as journal:
        seen = overview(journal) if journal else GatesOverview(Trust(), [], [])
    data = {
        "keys": [_key_data(key) for key in seen.trust.keys.values()],
        "passed": [asdict(one) for one in seen.passed],
        "refused": [asdict(one) for one in seen.refused],
    }
    call.output.result(data, lambda: _show(call.output, seen))


def _key_data(key: Key) -> dict[str, Any]:
    """What is told of a key."""
    return {
        "fingerprint": key.fingerprint,
        "kind": key.public.kind,
        "comment": key.public.comment,
        "presence": str(key.guard),
        "forgeable": key.guard == "none",
        "person": key.person,
        "channel": key.channel,
        "enrolled": key.time,
        "revoked": key.revoked,
    }


def _show(output: Output, seen: GatesOverview) -> None:
    keys = [
        (
            f"  {key.fingerprint}",
            "revoked" if key.revoked else f"{key.guard}{' (forgeable)' if key.guard == 'none' else ''}",
            f"{one_line(key.person)} ({key.channel})",
            f"{key.time}  {one_line(key.public.comment)}".rstrip(),
        )
        for key in seen.trust.keys.values()
    ]
    output.text("Keys\n" + (columns(keys) or "  none; a person at a terminal passes the gates without a signature\n"))
    passed = [
        (
            f"  {one.time}",
            f"{one.machine} {one.instance[-6:]}",
            one.event,
            f"{one_line(one.who)} ({one.channel})",
            one.key or "unsigned",
        )
        for one in seen.passed[-_SHOWN:]
    ]
    output.text(_headed("Passed", len(seen.passed)) + (columns(passed) or "  none\n"))
    refused = [
        (
            f"  {one.time}",
            f"{one.machine} {one.instance[-6:]}",
            one_line(one.gate),
            f"{one.kind} {one_line(one.who)} ({one.channel})",
            one_line(one.why),
        )
        for one in seen.refused[-_SHOWN:]
    ]
    output.text(_headed("Refused", len(seen.refused)) + (columns(refused) or "  none\n"))


def _headed(title: str, count: int) -> str:
    return f"{title}, the last {_SHOWN} of {count}\n" if count > _SHOWN else f"{title}\n"


def _key_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", type=Path, metavar="KEY.pub", help="a public key; its private half lies beside it")


def _fingerprint_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("fingerprint", metavar="FINGERPRINT", help="SHA256:…, as `ralph gate list` shows it")


VERBS = (
    Verb(
        "enroll",
        "have an SSH key sign at the gates",
        _enroll,
        _key_argument,
    ),
    Verb("list", "the keys, who passed a gate, and who was refused", _list),
    Verb(
        "revoke",
        "have a key sign at no gate any more",
        _revoke,
        _fingerprint_argument,
    ),
)
