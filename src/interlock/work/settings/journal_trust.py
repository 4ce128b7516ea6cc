"""Trust in a journal: a person says yes to it at a terminal, once for each user and path.

The journal that this user's own `ralph` makes is trusted from its first moment. Every other one came from elsewhere:
with a clone, an archive, a copy or a shared database. Until a person trusts it, its settings are not in force and
nothing that it says is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from interlock.errors import InterlockError, Refusal, UsageError
from interlock.work.settings.accepted import SettingsStatus, settings_status
from interlock.work.settings.values import Settings
from interlock.world import trusted

if TYPE_CHECKING:
    from pathlib import Path

    from interlock.journal import Journal
    from interlock.work.gates.presence import Presence

__all__ = ["UNTRUSTED", "ask_to_trust", "is_trusted", "remember_key", "remembered_key", "truster", "untrusted"]

UNTRUSTED = "You have not trusted this journal, so its settings are not in force and nothing it says is run"
_HINT = "In a terminal, `ralph config accept` shows it and asks you."


def is_trusted(journal: Journal, state_directory: Path, environment: Mapping[str, str]) -> bool:
    """True if this user trusts a journal at this path."""
    return trusted.is_trusted(environment, str(state_directory), journal.id)


def truster(state_directory: Path, environment: Mapping[str, str]) -> Callable[[str], None]:
    """Return the function that trusts a journal by its id, for one that is just being made."""

    def trust(id_: str) -> None:
        try:
            trusted.trust(environment, str(state_directory), id_)
        except OSError as error:
            raise _unwritable(error) from None

    return trust


def untrusted(state_directory: Path) -> Refusal:
    """Return the refusal of an untrusted journal."""
    return Refusal("journal_untrusted", f"{UNTRUSTED}: {state_directory}.", _HINT)


def ask_to_trust(
    journal: Journal, presence: Presence, state_directory: Path, environment: Mapping[str, str], root: Path | None
) -> None:
    """Have a person trust a journal after reading what it would run; refuse if they do not."""
    question = "Trust this journal only if you know who wrote it."
    if not presence.confirm(_shown(journal, state_directory, root), question, "trust"):
        raise untrusted(state_directory)
    truster(state_directory, environment)(journal.id)
    remember_key(journal, state_directory, environment)


def remember_key(journal: Journal, state_directory: Path, environment: Mapping[str, str]) -> None:
    """Remember the first key of a journal, which vouches for all others; `remembered_key` gives it."""
    from interlock.work.gates.trust import trust_of

    first = next(iter(trust_of(journal).keys), None)
    if first is None:
        return
    try:
        trusted.remember_key(environment, str(state_directory), journal.id, first)
    except OSError as error:
        raise _unwritable(error) from None


def remembered_key(journal: Journal, state_directory: Path, environment: Mapping[str, str]) -> str | None:
    """Return the key by which a person knows a journal that was made anew by somebody else."""
    return trusted.remembered_key(environment, str(state_directory), journal.id)


def _unwritable(error: OSError) -> InterlockError:
    message = f"{error.filename} cannot be written, so your trust in the journal is lost: {error.strerror}."
    hint = "Make it writable for you, or set XDG_STATE_HOME to a directory that is."
    return InterlockError("user_state_unwritable", message, hint)


def _shown(journal: Journal, state_directory: Path, root: Path | None) -> str:
    first = journal.entries(most=1)
    since = f", the first of {first[0].time}" if first else ""
    from interlock.work.gates.trust import trust_of

    keys = [f"  {key.fingerprint} of {key.person}" for key in trust_of(journal).enrolled] or ["  none"]
    lines = [
        f"You have not used the journal in {state_directory} before. It has {journal.head()} entries{since}.",
        "It may have come with a clone or a copy. If you trust it, these settings of it are in force:",
        *(_settings(settings_status(journal, root)) or ["  the defaults"]),
        "and these keys sign at its gates:",
        *keys,
    ]
    return "\n".join(lines)


def _settings(found: SettingsStatus) -> list[str]:
    """The accepted settings that differ from the defaults; the whole text if it cannot be read."""
    try:
        values, defaults = found.settings.values, Settings().values
    except UsageError:
        return [f"  {line}" for line in (found.accepted or "").splitlines()]
    return [f"  {key} = {value!r}" for key, value in values.items() if value != defaults[key]]
