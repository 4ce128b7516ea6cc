"""Consent to run agents without a sandbox: a person says yes to it at a terminal, once on each machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from interlock.errors import InterlockError
from interlock.world.sandbox.consent import agree, consent_file

if TYPE_CHECKING:
    from interlock.work.gates.presence import Presence
    from interlock.world.sandbox.unconfined import Unavailable

__all__ = ["ask_to_go_without", "no_sandbox"]


def no_sandbox(missing: Unavailable) -> InterlockError:
    """Return the error of a sandbox that is wanted and does not work here."""
    message = f"Agents are to run in a sandbox, and none works here: {missing.why} Nothing was started."
    hint = (
        f"{missing.how} Or let agents run with all of your rights: the same command in a terminal asks you, and "
        '`agent.sandbox = "none"` in ralph.toml says it for this repository.'
    )
    return InterlockError("sandbox_unavailable", message, hint)


def ask_to_go_without(missing: Unavailable, presence: Presence, environment: Mapping[str, str]) -> None:
    """Have a person agree that agents run without a sandbox on this machine; refuse if they do not."""
    shown = "\n".join(
        (
            f"No sandbox works here: {missing.why}",
            missing.how,
            "",
            "Without one, an agent runs with all of your rights. It can read your keys, change your files and",
            "settings, and write into the journal. Only a key with a passphrase then keeps it from passing a gate.",
            "Agree only on a machine or in a container that holds nothing else of yours.",
            "",
            "Your answer holds for all repositories on this machine until a sandbox works here, or until you remove",
            f"{consent_file(environment)}.",
        )
    )
    if not presence.confirm(shown, "Run agents without a sandbox on this machine?", "unconfined"):
        raise no_sandbox(missing)
    try:
        agree(environment)
    except OSError as error:
        message = f"Your answer cannot be kept in {error.filename}: {error.strerror}."
        hint = "Make it writable for you, or set XDG_STATE_HOME to a directory that is."
        raise InterlockError("user_state_unwritable", message, hint) from None
