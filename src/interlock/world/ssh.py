"""SSH keys that sign for a person: read them, sign with them, and see whether a signature holds.

Signing and checking is done by `ssh-keygen -Y`, as git does it, so that keys with a passphrase, hardware keys and the
SSH agent work as their owner knows them. Only public keys are ever read here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import subprocess
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

import msgspec

from interlock.errors import InterlockError, UsageError

__all__ = [
    "Guard",
    "PublicKey",
    "Signature",
    "guard_of",
    "is_installed",
    "is_signed",
    "make_key",
    "parse_public_key",
    "private_half_of",
    "read_public_key",
    "sign",
]

_NAMESPACE = "interlock"
"""What a signature is for: one made for git or for a file proves nothing here."""
_PARTS = {
    "ssh-ed25519": 2,
    "ssh-rsa": 3,
    "ecdsa-sha2-nistp256": 3,
    "ecdsa-sha2-nistp384": 3,
    "ecdsa-sha2-nistp521": 3,
    "sk-ssh-ed25519@openssh.com": 3,
    "sk-ecdsa-sha2-nistp256@openssh.com": 4,
}
"""The kinds of keys, each with the number of parts it has."""
_LEAST_RSA_BYTES = 256
_MOST = 16 * 1024
_PERSON_SECONDS = 300.0
_SECONDS = 20.0
_TOUCH_SECONDS = 4.0
_ASKING = ("DISPLAY", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "SSH_AUTH_SOCK", "WAYLAND_DISPLAY")
_INSTALL = "Install the OpenSSH client (Debian and Ubuntu: openssh-client), version 8.2 or newer."


class Guard(StrEnum):
    """What stands between a private key and whoever runs as the same user."""

    NONE = "none"
    PASSPHRASE = "passphrase"
    TOUCH = "touch"


class PublicKey(msgspec.Struct, frozen=True):
    """The public half of a key: its kind, its content as in the file, and what its owner wrote beside it."""

    kind: str
    content: str
    comment: str = ""

    @property
    def line(self) -> str:
        """The key without its comment, as it is kept and compared."""
        return f"{self.kind} {self.content}"

    @property
    def fingerprint(self) -> str:
        """SHA256:…, as `ssh-keygen -l` prints it."""
        digest = hashlib.sha256(base64.b64decode(self.content)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")

    @property
    def is_hardware(self) -> bool:
        return self.kind.startswith("sk-")


class Signature(msgspec.Struct, frozen=True):
    """A signature, and the fingerprint of the key that made it."""

    key: str
    text: str


def is_installed() -> bool:
    """Whether there is a program to sign and to check with."""
    from shutil import which

    return which("ssh-keygen") is not None


# Public keys


def read_public_key(path: Path) -> PublicKey:
    """The key in a file such as `~/.ssh/id_ed25519.pub`."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST + 1)
    except OSError as error:
        raise _invalid(f"{path} cannot be read: {error.strerror}") from None
    if len(content) > _MOST:
        raise _invalid(f"{path} is too large for a key")
    return parse_public_key(content.decode("utf-8", "replace"), str(path))


def parse_public_key(text: str, where: str = "The text") -> PublicKey:
    """The key in a line such as `ssh-ed25519 AAAA… comment`; refused with the reason where it is none."""
    if "PRIVATE KEY-----" in text:
        hint = "Name the file that ends in .pub; the private half never leaves its place."
        raise UsageError("key_invalid", f"{where} is a private key.", hint)
    words = text.split(maxsplit=2)
    if len(words) < 2 or "\n" in text.strip():
        raise _invalid(f"{where} holds no public key")
    if words[0] not in _PARTS:
        raise _invalid(f"{where} holds a key of the kind {words[0][:40]!r}")
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (binascii.Error, ValueError):
        raise _invalid(f"{where} holds a damaged key") from None
    parts = _parts(blob)
    if parts is None or len(parts) != _PARTS[words[0]] or parts[0] != words[0].encode() or not all(parts):
        raise _invalid(f"{where} holds a damaged key")
    if words[0] == "ssh-rsa" and len(parts[2].lstrip(b"\0")) < _LEAST_RSA_BYTES:
        raise _invalid(f"{where} holds an RSA key of less than 2048 bits")
    comment = "".join(one for one in (words[2] if len(words) > 2 else "").strip() if one.isprintable())
    return PublicKey(words[0], base64.b64encode(blob).decode(), comment[:200])


def _parts(blob: bytes) -> list[bytes] | None:
    """The length-prefixed parts of a key; None where they do not add up."""
    found = []
    while blob:
        size = int.from_bytes(blob[:4])
        if len(blob) < 4 + size:
            return None
        found.append(blob[4 : 4 + size])
        blob = blob[4 + size :]
    return found


def _invalid(why: str) -> UsageError:
    hint = f"Give a public key of your own, such as ~/.ssh/id_ed25519.pub; kinds: {', '.join(_PARTS)}."
    return UsageError("key_invalid", f"{why}.", hint)


def private_half_of(public_file: Path) -> Path:
    """Where the private half of a key lies: beside the public one, without `.pub`."""
    return public_file.with_suffix("") if public_file.suffix == ".pub" else public_file


# Signing


def sign(
    statement: bytes,
    key: PublicKey,
    file: Path | None,
    *,
    seconds: float = _PERSON_SECONDS,
    by_agent: bool = True,
) -> Signature:
    """Sign with a key whose public half is in `file`, or without one with a key that only the SSH agent has.

    The program keeps our terminal, so that it can ask for a passphrase or a touch. An SSH agent signs without either;
    it is left out where it may not.
    """
    from tempfile import TemporaryDirectory

    environment = {name: value for name, value in os.environ.items() if by_agent or name != "SSH_AUTH_SOCK"}
    with TemporaryDirectory(prefix="ralph-") as scratch, _terminal_kept():
        named = file
        if named is None:
            named = Path(scratch) / "key.pub"
            named.write_text(key.line + "\n", encoding="ascii")
        done = _run(_signing("sign", "-q", "-f", str(named.absolute())), statement, environment, seconds, is_shown=True)
    text = done.stdout.decode("ascii", "replace").strip()
    if done.returncode != 0 or not text:
        message = f"The key {key.fingerprint} did not sign."
        hint = "Its private half must lie beside its public one or be in the SSH agent; then try again."
        raise InterlockError("key_unusable", message, hint)
    return Signature(key.fingerprint, text)


def guard_of(key: PublicKey, file: Path, environment: Mapping[str, str]) -> Guard:
    """What a program has to overcome that wants a signature of this key: it is tried, with nobody there to help.

    A key that the SSH agent holds signs for every program of the user, so nothing guards it.
    """
    alone = {name: value for name, value in environment.items() if name not in _ASKING}
    alone["SSH_ASKPASS_REQUIRE"] = "never"
    said = _try_to_sign(key, file, alone)
    if said is None:
        return Guard.NONE
    agent = environment.get("SSH_AUTH_SOCK")
    if agent and _try_to_sign(key, file, alone | {"SSH_AUTH_SOCK": agent}) is None:
        return Guard.NONE
    if key.is_hardware:
        return Guard.TOUCH
    if "passphrase" in said:
        return Guard.PASSPHRASE
    message = f"The key {key.fingerprint} cannot sign: {said[-200:] or 'its program gave no reason'}."
    hint = "Put the private half beside the public one, without `.pub`, readable by you alone."
    raise InterlockError("key_unusable", message, hint)


def _try_to_sign(key: PublicKey, file: Path, environment: Mapping[str, str]) -> str | None:
    """None where a signature was made without a person; else what the program said."""
    seconds = _TOUCH_SECONDS if key.is_hardware else _SECONDS
    command = _signing("sign", "-f", str(file.absolute()))
    try:
        done = _run(command, b"a trial, which approves nothing", environment, seconds, is_alone=True)
    except InterlockError as error:
        if error.code != "ssh_failed" or not key.is_hardware:
            raise
        return "it waits for a touch"
    said = " ".join(done.stderr.decode("utf-8", "replace").split())
    return said if done.returncode else None


def make_key(file: Path) -> PublicKey:
    """A new key without a passphrase, to be thrown away; its public half is beside it, with `.pub`."""
    command = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "staged", "-f", str(file))
    done = _run(command, b"", os.environ, _SECONDS, is_alone=True)
    if done.returncode != 0:
        raise _failed(done.stderr.decode("utf-8", "replace").strip()[-200:])
    return read_public_key(file.with_name(file.name + ".pub"))


# Checking


def is_signed(statement: bytes, signature: str, key: PublicKey) -> bool:
    """Whether the key made the signature for exactly this statement, and for us. Needs only the public half."""
    from tempfile import TemporaryDirectory

    if not signature.isascii() or len(signature) > _MOST:
        return False
    with TemporaryDirectory(prefix="ralph-") as scratch:
        signers, written = Path(scratch) / "signers", Path(scratch) / "signature"
        signers.write_text(f'person namespaces="{_NAMESPACE}" {key.line}\n', encoding="ascii")
        written.write_text(signature + "\n", encoding="ascii")
        command = _signing("verify", "-f", str(signers), "-I", "person", "-s", str(written))
        return _run(command, statement, os.environ, _SECONDS, is_alone=True).returncode == 0


# The one place where ssh-keygen is started


def _signing(verb: str, *arguments: str) -> tuple[str, ...]:
    """The command that signs or verifies in our namespace."""
    return ("ssh-keygen", "-Y", verb, "-n", _NAMESPACE, *arguments)


def _run(
    command: tuple[str, ...],
    feed: bytes,
    environment: Mapping[str, str],
    seconds: float,
    *,
    is_alone: bool = False,
    is_shown: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end: alone in a session without a terminal, or shown on ours."""
    try:
        return subprocess.run(
            command,
            input=feed,
            stdout=subprocess.PIPE,
            stderr=None if is_shown else subprocess.PIPE,
            env=dict(environment),
            timeout=seconds,
            start_new_session=is_alone,
            check=False,
        )
    except FileNotFoundError:
        raise InterlockError("ssh_missing", "There is no ssh-keygen to sign or to check with.", _INSTALL) from None
    except subprocess.TimeoutExpired:
        raise _failed(f"it took longer than {seconds:g} s") from None
    except OSError as error:
        raise _failed(str(error.strerror)) from None


def _failed(why: str) -> InterlockError:
    return InterlockError("ssh_failed", f"ssh-keygen did not finish: {why}.", "Try again.")


@contextmanager
def _terminal_kept() -> Iterator[None]:
    """The terminal is afterwards as it was: a program that is ended while it asks leaves the echo switched off."""
    try:
        before = termios.tcgetattr(0)
    except (termios.error, OSError):
        yield
        return
    try:
        yield
    finally:
        with suppress(termios.error, OSError):
            termios.tcsetattr(0, termios.TCSADRAIN, before)
