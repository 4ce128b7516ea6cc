"""SSH keys: what is one and what is none, what guards it, and that a signature holds for nothing else."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhaustive import examples
from interlock.errors import InterlockError, UsageError
from interlock.world.ssh import (
    Guard,
    PublicKey,
    guard_of,
    is_signed,
    make_key,
    parse_public_key,
    private_half_of,
    read_public_key,
    sign,
)

needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="not run: OpenSSH's client is missing")


def ssh_keygen(file: Path, *arguments: str, passphrase: str = "") -> Path:
    command = ["ssh-keygen", "-q", "-N", passphrase, "-C", "ada@example.org", "-f", str(file), *arguments]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    return file.with_name(file.name + ".pub")


def failed(code: str, text: str) -> None:
    with pytest.raises(InterlockError) as caught:
        parse_public_key(text)
    assert caught.value.code == code


# Public keys


@needs_ssh
@pytest.mark.parametrize("kind", [("-t", "ed25519"), ("-t", "rsa", "-b", "2048"), ("-t", "ecdsa", "-b", "384")])
def test_a_key_is_read_and_has_the_fingerprint_that_openssh_gives_it(tmp_path: Path, kind: tuple[str, ...]) -> None:
    public = ssh_keygen(tmp_path / "key", *kind)
    told = subprocess.run(["ssh-keygen", "-l", "-f", public], check=True, timeout=60, capture_output=True, text=True)
    key = read_public_key(public)
    assert key.fingerprint == told.stdout.split()[1]
    assert key.comment == "ada@example.org"
    assert not key.is_hardware


def _blob(*parts: bytes) -> str:
    return base64.b64encode(b"".join(len(part).to_bytes(4) + part for part in parts)).decode()


def test_a_key_in_hardware_is_known_as_one() -> None:
    kind = "sk-ssh-ed25519@openssh.com"
    key = parse_public_key(f"{kind} {_blob(kind.encode(), b'x' * 32, b'ssh:')} on my desk")
    assert (key.is_hardware, key.comment) == (True, "on my desk")


GARBAGE = {
    "nothing": "",
    "one word": "ssh-ed25519",
    "another kind": "ssh-dss AAAAB3NzaC1kc3M=",
    "a certificate": f"ssh-ed25519-cert-v01@openssh.com {_blob(b'ssh-ed25519-cert-v01@openssh.com', b'x' * 32)}",
    "no base64": "ssh-ed25519 !!!!",
    "cut off": f"ssh-ed25519 {_blob(b'ssh-ed25519', b'x' * 32)[:-12]}",
    "a kind that its content denies": f"ssh-ed25519 {_blob(b'ssh-rsa', b'x' * 32)}",
    "a part too many": f"ssh-ed25519 {_blob(b'ssh-ed25519', b'x' * 32, b'y')}",
    "an empty part": f"ssh-ed25519 {_blob(b'ssh-ed25519', b'')}",
    "two keys": f"ssh-ed25519 {_blob(b'ssh-ed25519', b'x' * 32)}\nssh-ed25519 {_blob(b'ssh-ed25519', b'y' * 32)}",
    "a weak one": f"ssh-rsa {_blob(b'ssh-rsa', b'e', b'n' * 128)}",
    "options before it": f'command="x" ssh-ed25519 {_blob(b"ssh-ed25519", b"x" * 32)}',
}


@pytest.mark.parametrize("text", GARBAGE.values(), ids=GARBAGE.keys())
def test_what_is_no_public_key_is_refused(text: str) -> None:
    failed("key_invalid", text)


@given(text=st.text(max_size=200) | st.binary(max_size=200).map(lambda blob: f"ssh-ed25519 {base64.b64encode(blob)!r}"))
@settings(max_examples=examples(300))
def test_no_text_makes_the_reader_fail_otherwise(text: str) -> None:
    try:
        key = parse_public_key(text)
    except UsageError:
        return
    assert parse_public_key(key.line).fingerprint == key.fingerprint


@needs_ssh
def test_a_private_key_is_refused_and_nothing_of_it_is_repeated(tmp_path: Path) -> None:
    ssh_keygen(tmp_path / "key", "-t", "ed25519")
    with pytest.raises(InterlockError) as caught:
        read_public_key(tmp_path / "key")
    assert caught.value.code == "key_invalid"
    assert "private key" in caught.value.message
    secret = (tmp_path / "key").read_text().splitlines()[1]
    assert secret not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("make", ["missing", "directory", "large"])
def test_a_file_that_cannot_be_a_key_is_refused(tmp_path: Path, make: str) -> None:
    file = tmp_path / "key.pub"
    if make == "directory":
        file.mkdir()
    elif make == "large":
        file.write_bytes(b"x" * 100_000)
    with pytest.raises(InterlockError) as caught:
        read_public_key(file)
    assert caught.value.code == "key_invalid"


def test_the_private_half_lies_beside_the_public_one() -> None:
    assert private_half_of(Path("/a/key.pub")) == Path("/a/key")
    assert private_half_of(Path("/a/my.key.pub")) == Path("/a/my.key")


# Signatures


@pytest.fixture
def key(tmp_path: Path) -> tuple[PublicKey, Path]:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("not run: OpenSSH's client is missing")
    return make_key(tmp_path / "key"), tmp_path / "key.pub"


def test_a_signature_holds_for_its_statement_and_its_key_alone(key: tuple[PublicKey, Path], tmp_path: Path) -> None:
    public, file = key
    signature = sign(b"approve tree 1", public, file)
    assert signature.key == public.fingerprint
    assert is_signed(b"approve tree 1", signature.text, public)
    assert not is_signed(b"approve tree 2", signature.text, public)
    assert not is_signed(b"approve tree 1", signature.text, make_key(tmp_path / "other"))


def test_a_signature_that_was_made_for_something_else_does_not_hold(key: tuple[PublicKey, Path]) -> None:
    """Git's own signatures are in the namespace `git`: none of them passes a gate."""
    public, file = key
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", str(file)]
    made = subprocess.run(command, input=b"approve", check=True, capture_output=True, timeout=60).stdout.decode()
    assert not is_signed(b"approve", made, public)


@pytest.mark.parametrize("text", ["", "x", "-----BEGIN SSH SIGNATURE-----\n", "ü", "A" * 100_000])
def test_what_is_no_signature_does_not_hold(key: tuple[PublicKey, Path], text: str) -> None:
    assert not is_signed(b"approve", text, key[0])


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> tuple[PublicKey, list[str]]:
    """A key, and the lines of a signature with it: the same for all examples, as Hypothesis wants it."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("not run: OpenSSH's client is missing")
    directory = tmp_path_factory.mktemp("keys")
    public = make_key(directory / "key")
    return public, sign(b"approve", public, directory / "key.pub").text.splitlines()


@given(data=st.data())
@settings(max_examples=examples(60))
def test_a_signature_in_which_one_character_was_changed_does_not_hold(
    signed: tuple[PublicKey, list[str]], data: st.DataObject
) -> None:
    public, lines = signed
    body = "".join(lines[1:-1])
    at = data.draw(st.integers(0, len(body) - 4), label="where")  # the last ones may be filling
    other = data.draw(st.sampled_from([one for one in "ABCxyz019+/" if one != body[at]]), label="what")
    text = "\n".join((lines[0], body[:at] + other + body[at + 1 :], lines[-1]))
    assert not is_signed(b"approve", text, public)


def test_a_key_whose_private_half_is_gone_does_not_sign(key: tuple[PublicKey, Path]) -> None:
    public, file = key
    private_half_of(file).unlink()
    for call in (lambda: sign(b"approve", public, file), lambda: guard_of(public, file, os.environ)):
        with pytest.raises(InterlockError) as caught:
            call()
        assert caught.value.code == "key_unusable"


def test_without_openssh_the_error_says_what_to_install(
    key: tuple[PublicKey, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InterlockError) as caught:
        is_signed(b"approve", "x", key[0])
    assert caught.value.code == "ssh_missing"
    assert "openssh-client" in caught.value.hint


# What guards a key


def test_a_key_without_a_passphrase_is_guarded_by_nothing(key: tuple[PublicKey, Path]) -> None:
    assert guard_of(key[0], key[1], os.environ) is Guard.NONE


@needs_ssh
@pytest.mark.parametrize("kind", [("-t", "ed25519"), ("-t", "rsa", "-b", "2048", "-m", "PEM")])
def test_a_key_with_a_passphrase_is_guarded_by_it(tmp_path: Path, kind: tuple[str, ...]) -> None:
    public = ssh_keygen(tmp_path / "key", *kind, passphrase="correct horse")
    asking = {**os.environ, "SSH_ASKPASS": "/bin/echo", "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
    assert guard_of(read_public_key(public), public, asking) is Guard.PASSPHRASE


@needs_ssh
@pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="not run: there is no ssh-agent")
def test_a_key_that_the_ssh_agent_holds_is_guarded_by_nothing(tmp_path: Path) -> None:
    """It signs for every program of the user, passphrase or not."""
    public = ssh_keygen(tmp_path / "key", "-t", "ed25519", passphrase="correct horse")
    script = tmp_path / "ask"
    script.write_text("#!/bin/sh\necho correct horse\n")
    script.chmod(0o700)
    socket = str(tmp_path / "agent")
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert agent.stdout is not None
        agent.stdout.readline()  # it says where it listens, once it does
        environment = {**os.environ, "SSH_AUTH_SOCK": socket}
        assert guard_of(read_public_key(public), public, environment) is Guard.PASSPHRASE
        asking = {**environment, "SSH_ASKPASS": str(script), "SSH_ASKPASS_REQUIRE": "force"}
        adding = ["ssh-add", "-q", str(tmp_path / "key")]
        subprocess.run(adding, env=asking, check=True, timeout=60, stdin=subprocess.DEVNULL, capture_output=True)
        assert guard_of(read_public_key(public), public, environment) is Guard.NONE
    finally:
        agent.terminate()
        agent.communicate(timeout=60)
