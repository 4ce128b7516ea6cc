"""Which settings are in force: the text of `ralph.toml` that a person accepted, and not whatever the file says now.

The file lies where agents work and where a clone brings it. What it says decides which commands are run and how strict
the rules are, so a change of it is shown and waits until a person has accepted its hash.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from interlock.errors import InterlockError, Refusal, UsageError
from interlock.machine import Event, Evidence
from interlock.work.settings.values import FILE, Settings, read, read_file

if TYPE_CHECKING:
    from interlock.journal import Journal
    from interlock.work.gates.presence import Presence

__all__ = ["SettingsStatus", "accept", "settings_status", "vouched"]

ACCEPTED = "settings_accepted"
_ACCEPT = "In a terminal, `ralph config accept` shows it and asks you."


class SettingsStatus(msgspec.Struct, frozen=True):
    """What is in force in a repository, and what its file says."""

    accepted: str | None
    """The text in force; None where nobody accepted any."""
    file: str | None
    """The text of the file; None where there is none."""
    is_trusted: bool = True
    """False if this user has not trusted the journal; nothing that was accepted in it is in force then."""

    @property
    def settings(self) -> Settings:
        """The settings in force. They start no agent while the file waits or the journal is not trusted."""
        return replace(self._accepted, pending=self._pending)

    @property
    def _accepted(self) -> Settings:
        return Settings() if self.accepted is None else Settings.of(self.accepted)

    @property
    def _pending(self) -> InterlockError | None:
        """Why no agent may be started; None if one may."""
        if not self.is_trusted:
            message = "You have not trusted this journal, so no agent is started for it."
            return Refusal("journal_untrusted", message, _ACCEPT)
        if not self.is_waiting:
            return None
        try:
            read(self.file or "")
        except UsageError as error:
            message = f"No agent is started while {FILE} is invalid: {error.message}"
            return UsageError("settings_invalid", message, f"{error.hint} Fix it. {_ACCEPT}")
        message = f"No agent is started while a change of {FILE} waits to be accepted."
        return Refusal("settings_waiting", message, _ACCEPT)

    @property
    def is_waiting(self) -> bool:
        """Whether the file says something that is not in force; what `ralph init` writes says the defaults."""
        if self.file is None or self.file == self.accepted:
            return False
        try:
            return Settings.of(self.file) != self._accepted
        except UsageError:
            return True

    @property
    def change(self) -> str:
        """What accepting the file would change."""
        from difflib import unified_diff

        lines = unified_diff(_lines(self.accepted), _lines(self.file), "in force", FILE, lineterm="")
        return "\n".join(lines)

    @property
    def sha256(self) -> str | None:
        """The hash of what is in force."""
        from hashlib import sha256

        return None if self.accepted is None else sha256(self.accepted.encode()).hexdigest()


def _lines(text: str | None) -> list[str]:
    """The lines of a text, split as TOML does; `splitlines` would also split inside a comment."""
    return text.removesuffix("\n").split("\n") if text else []


def settings_status(journal: Journal, root: Path | None, *, is_trusted: bool = True) -> SettingsStatus:
    """What is in force, and what the file says."""
    accepted = _accepted(journal) if is_trusted else None
    return SettingsStatus(accepted, None if root is None else read_file(root), is_trusted)


def _accepted(journal: Journal) -> str | None:
    trust = journal.named("trust", "trust")
    texts = [
        entry.decoded_evidence().data["text"]
        for entry in (journal.history(trust.id) if trust is not None else ())
        if entry.event == ACCEPTED
    ]
    return str(texts[-1]) if texts else None


def vouched(journal: Journal) -> dict[str, str]:
    """What a person has accepted, by hash: a changed file that is in force is nobody's trick."""
    accepted = settings_status(journal, None).sha256
    return {FILE: accepted} if accepted is not None else {}


def accept(journal: Journal, presence: Presence, root: Path) -> SettingsStatus:
    """Put the file's text in force: a person has read what it changes."""
    from interlock.work.gates.approval import approval
    from interlock.work.gates.statement import digest_of
    from interlock.work.gates.trust import trust_instance

    found = settings_status(journal, root)
    if found.file is None:
        message = f"There is no {FILE} in {root}."
        raise Refusal("settings_missing", message, "`ralph init` makes one; without it the defaults are in force.")
    read(found.file)  # what cannot be used is not accepted
    if not found.is_waiting:
        return found
    given = approval(
        journal,
        presence,
        trust_instance(journal),
        "settings",
        digest_of(found.file),
        event=ACCEPTED,
        shown=found.change,
        subject="settings",
        word="accept",
    )
    data = {"text": found.file, "approval": given}
    journal.append(trust_instance(journal), Event(ACCEPTED, presence.actor, evidence=Evidence(data=data)))
    return SettingsStatus(found.file, found.file)
