"""Keys in, keys out: each needs a person, and once a key is enrolled the signature of one that is."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from interlock.decoding import convert
from interlock.errors import InterlockError, Refusal
from interlock.journal import Journal
from interlock.machine import Event, Evidence
from interlock.work.gates.approval import approval, refused_attempt
from interlock.work.gates.presence import Presence
from interlock.work.gates.statement import Approval, digest_of
from interlock.work.gates.trust import ENROLLED, REVOKED, Key, Trust, known_key, trust_instance, trust_of
from interlock.world.git import user_signing_key
from interlock.world.ssh import Guard, PublicKey, guard_of, is_signed, private_half_of, read_public_key

__all__ = ["enroll", "enroll_first", "key_of_git", "revoke"]

_GUARDED = {
    Guard.NONE: "FORGEABLE: it signs for any program that runs as you, without asking anybody",
    Guard.PASSPHRASE: "it signs after its passphrase was typed",
    Guard.TOUCH: "it signs after it was touched",
}


def enroll(journal: Journal, presence: Presence, file: Path, environment: Mapping[str, str]) -> Key:
    """Have a key sign at the gates from now on. It signs its own enrolling, and so does one that is enrolled already.

    What guards it is tried out and kept with it.
    """
    presence.enter(journal)
    return enroll_first(journal, presence, file, environment)


def enroll_first(journal: Journal, presence: Presence, file: Path, environment: Mapping[str, str]) -> Key:
    """The same for somebody who is on his way in, and has no key yet."""
    public = read_public_key(file)
    trust = trust_of(journal)
    _refuse_known(trust, public)
    guard = guard_of(public, file, environment)
    instance = trust_instance(journal)
    new = Key(public, guard, file.absolute(), presence.actor.id, str(presence.actor.channel), "", 0)
    given = approval(
        journal,
        presence,
        instance,
        "key",
        digest_of(public.line),
        trust=trust if trust.enrolled else Trust(instance, {new.fingerprint: new}),
        event=ENROLLED,
        shown=_shown(new, trust),
        choice=guard,
        subject="key",
        word="enroll",
    )
    possession = given["signature"] if not trust.enrolled else _possession(journal, presence, new, given)
    data = {
        "key": public.line,
        "comment": public.comment,
        "presence": str(guard),
        "file": str(file.absolute()),
        "possession": possession,
        "approval": given,
    }
    journal.append(instance, Event(ENROLLED, presence.actor, evidence=Evidence(data=data)))
    return known_key(trust_of(journal), public.fingerprint)


def _shown(new: Key, trust: Trust) -> str:
    vouching = ", ".join(key.fingerprint for key in trust.enrolled) or "none yet; this is the first"
    return (
        f"A key that signs at the gates of this repository\n\n"
        f"  {new.fingerprint}\n  {_described(new)}\n  {_GUARDED[new.guard]}\n\n"
        f"Enrolled so far: {vouching}\nFrom now on no gate opens without a signature."
    )


def _described(key: Key) -> str:
    return f"{key.public.kind} {key.public.comment}".strip()


def _refuse_known(trust: Trust, public: PublicKey) -> None:
    known = trust.keys.get(public.fingerprint)
    if known is None:
        return
    if known.revoked is not None:
        message = f"The key {public.fingerprint} was revoked at {known.revoked}."
        raise Refusal("key_revoked", message, "Make a new key with `ssh-keygen -t ed25519`.")
    message = f"The key {public.fingerprint} is enrolled already."
    raise Refusal("key_enrolled", message, "`ralph gate list` shows it.")


def _possession(journal: Journal, presence: Presence, new: Key, given: dict[str, object]) -> str:
    """The new key's own signature: whoever enrolls a key must have it."""
    statement = convert(given, Approval).statement.canonical()
    made = presence.sign(statement, [new])
    if made is None or not is_signed(statement, made.text, new.public):
        refused_attempt(journal, trust_instance(journal), presence.actor, "key", "the new key did not sign")
        message = f"The key {new.fingerprint} was not enrolled: it did not sign itself."
        raise Refusal("signature_required", message, "Unlock it, then try again.")
    return made.text


def key_of_git(directory: Path, environment: Mapping[str, str]) -> Path | None:
    """The public half of the key that the user has git sign with, where it lies in a file with the private one."""
    named = user_signing_key(directory)
    if named is None:
        return None
    home = Path(environment.get("HOME") or "/")
    if named.removeprefix("key::").startswith(("ssh-", "ecdsa-", "sk-")):
        wanted = named.removeprefix("key::").split()[1:2]
        files = sorted((home / ".ssh").glob("*.pub"))
    else:
        path = home / named[2:] if named.startswith("~/") else directory / named
        wanted, files = [], [path if path.suffix == ".pub" else path.with_name(path.name + ".pub")]
    for file in files:
        with suppress(InterlockError, OSError):
            key = read_public_key(file)
            if private_half_of(file).exists() and key.content in (wanted or [key.content]):
                return file
    return None


def revoke(journal: Journal, presence: Presence, fingerprint: str) -> Key:
    """Have a key sign at no gate any more. What it signed before still holds."""
    presence.enter(journal)
    trust = trust_of(journal)
    key = known_key(trust, fingerprint)
    if len(trust.enrolled) == 1:
        message = "It is the only key, and a repository that has had one never opens a gate without a signature again."
        raise Refusal("key_needed", message, "Enroll another key first, then revoke this one.")
    instance = trust_instance(journal)
    given = approval(
        journal,
        presence,
        instance,
        "key",
        key.fingerprint,
        trust=trust,
        event=REVOKED,
        shown=f"This key will sign at no gate any more\n\n  {key.fingerprint}\n  {_described(key)}",
        subject="fingerprint",
        word="revoke",
    )
    data = {"fingerprint": key.fingerprint, "approval": given}
    journal.append(instance, Event(REVOKED, presence.actor, evidence=Evidence(data=data)))
    return key
