"""`ralph gate` as a person uses it, in a real terminal with real keys, and as nobody else can."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faces.journals import opened, tampered
from faces.programs import RALPH, SECONDS, run, run_here, run_in_terminal
from interlock.journal import Entry
from interlock.machine import Event, Evidence
from interlock.work.gates.audit import audit
from interlock.world.ssh import read_public_key
from world.namespaces import UNSHARE, needs_namespaces

pytestmark = [
    pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="not run: OpenSSH's client is missing"),
    pytest.mark.usefixtures("real_starts"),
]

SECRET = "correct horse"
QUESTION = "Type enroll and press Enter"
PASSPHRASE = "Enter passphrase"


def make(file: Path, passphrase: str = "") -> Path:
    """A new key; its public half."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-C", "ada", "-N", passphrase, "-f", str(file)]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    return file.with_name(file.name + ".pub")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="module")
def key(keys: Path) -> Path:
    return make(keys / "plain")


@pytest.fixture(scope="module")
def locked(keys: Path) -> Path:
    return make(keys / "locked", SECRET)


def listed(repository: Path, environment: dict[str, str]) -> Any:
    return run_here("gate", "list", "--json", cwd=repository, env=environment).data


# A person


def test_a_person_enrolls_a_key_and_it_vouches_for_the_journal(
    key: Path, repository: Path, environment: dict[str, str]
) -> None:
    answers = [(QUESTION, "enroll\n")]
    code, screen = run_in_terminal("gate", "enroll", key, cwd=repository, env=environment, answers=answers)
    assert code == 0, screen
    fingerprint = read_public_key(key).fingerprint
    assert fingerprint in screen
    assert "FORGEABLE" in screen
    assert "forgeable: it signs for every program" in screen
    [told] = listed(repository, environment)["keys"]
    assert (told["fingerprint"], told["presence"], told["forgeable"]) == (fingerprint, "none", True)
    assert told["channel"] == "cli"
    found = {one["check"]: one for one in run_here("doctor", "--json", cwd=repository, env=environment).data}
    assert (found["gates"]["status"], fingerprint in found["gates"]["detail"]) == ("note", True)
    verified = run("journal", "verify", "--key", fingerprint, "--json", cwd=repository, env=environment).data
    assert (verified["gates"], verified["signed"]) == (1, 1)
    assert fingerprint in run_here("journal", "verify", "--key", fingerprint, cwd=repository, env=environment).out
    assert fingerprint in run_here("journal", "verify", cwd=repository, env=environment).out, "it is remembered"
    stranger = {**environment, "XDG_STATE_HOME": str(repository.parent / "state-of-another")}
    assert fingerprint not in run_here("journal", "verify", cwd=repository, env=stranger).out


def test_a_key_with_a_passphrase_signs_after_it_was_typed(
    locked: Path, repository: Path, environment: dict[str, str]
) -> None:
    answers = [(QUESTION, "enroll\n"), (PASSPHRASE, f"{SECRET}\n")]
    code, screen = run_in_terminal("gate", "enroll", locked, cwd=repository, env=environment, answers=answers)
    assert code == 0, screen
    assert SECRET not in screen
    assert "FORGEABLE" not in screen
    [told] = listed(repository, environment)["keys"]
    assert (told["presence"], told["forgeable"]) == ("passphrase", False)


def test_a_wrong_passphrase_enrolls_nothing_and_is_kept(
    locked: Path, repository: Path, environment: dict[str, str]
) -> None:
    answers = [(QUESTION, "enroll\n"), (PASSPHRASE, "wrong\n")]
    code, screen = run_in_terminal("gate", "enroll", locked, cwd=repository, env=environment, answers=answers)
    assert (code, "[signature_required]" in screen) == (5, True), screen
    assert listed(repository, environment)["keys"] == []
    [attempt] = listed(repository, environment)["refused"]
    assert (attempt["gate"], attempt["why"]) == ("key", "no enrolled key signed")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("typed", ["yes\n", "\n", "Enroll\n", " enroll\n", "\x04"])
def test_anything_but_the_word_is_no(typed: str, key: Path, repository: Path, environment: dict[str, str]) -> None:
    answers = [(QUESTION, typed)]
    code, screen = run_in_terminal("gate", "enroll", key, cwd=repository, env=environment, answers=answers)
    assert (code, "[gate_declined]" in screen) == (5, True), screen
    assert listed(repository, environment)["keys"] == []
    assert len(listed(repository, environment)["refused"]) == 1


def test_what_was_typed_before_the_question_is_no_answer(
    key: Path, repository: Path, environment: dict[str, str]
) -> None:
    """Keys that somebody put into the terminal in advance pass nothing."""
    answers = [(QUESTION, "\x04")]
    code, _ = run_in_terminal("gate", "enroll", key, cwd=repository, env=environment, typed="enroll\n", answers=answers)
    assert code == 5


def test_the_second_key_needs_the_first_and_the_first_can_then_be_revoked(
    key: Path, locked: Path, repository: Path, environment: dict[str, str]
) -> None:
    first = [(QUESTION, "enroll\n"), (PASSPHRASE, f"{SECRET}\n")]
    assert run_in_terminal("gate", "enroll", locked, cwd=repository, env=environment, answers=first)[0] == 0
    code, screen = run_in_terminal(
        "gate", "enroll", key, cwd=repository, env=environment, answers=[(QUESTION, "enroll\n"), (PASSPHRASE, "\n")]
    )
    assert (code, "[signature_required]" in screen) == (5, True), screen
    assert run_in_terminal("gate", "enroll", key, cwd=repository, env=environment, answers=first)[0] == 0
    name = read_public_key(locked).fingerprint
    answers = [("Type revoke and press Enter", "revoke\n"), (PASSPHRASE, f"{SECRET}\n")]
    assert run_in_terminal("gate", "revoke", name, cwd=repository, env=environment, answers=answers)[0] == 0
    told = {one["fingerprint"]: one["revoked"] for one in listed(repository, environment)["keys"]}
    assert told[name] is not None
    assert told[read_public_key(key).fingerprint] is None
    assert run_here("journal", "verify", "--key", name, cwd=repository, env=environment).code == 0


# What the person is shown


def asked(shown: str, seconds: float, answers: list[tuple[str, str]], place: Path, env: dict[str, str]) -> str:
    """Ask for the word `approve` in a real terminal; everything that the person saw, and what came of it."""
    program = f"""if True:
        from interlock.machine import Actor, ActorKind, Channel
        from interlock.work.gates.presence import AtTerminal
        person = AtTerminal(Actor(ActorKind.HUMAN, "ada", Channel.CLI), {{}}, {seconds})
        print("passed:", person.confirm({shown!r}, "tree 5f0c", "approve"))
    """
    code, screen = run_in_terminal(
        "-c", program, cwd=place, env=env, answers=answers, columns=200, program=Path(sys.executable)
    )
    assert code == 0, screen
    return screen


def test_the_word_passes_and_silence_does_not(outside: Path, environment: dict[str, str]) -> None:
    answers = [("Type approve and press Enter", "approve\n")]
    assert "passed: True" in asked("all of it", 60, answers, outside, environment)
    assert "passed: False" in asked("all of it", 0, [], outside, environment)


def test_what_is_shown_can_neither_draw_nor_hide_and_is_complete(outside: Path, environment: dict[str, str]) -> None:
    text = "\x1b[2J\x1b]0;title\x07a\u202eb\r" + "x" * 1000 + "\u3164end\n" + "line\n" * 1000
    answers = [("48 of 1008 lines", "\n"), ("96 of 1008 lines", "all\n"), ("Type approve", "no\n")]
    screen = asked(text, 60, answers, outside, environment)
    assert "passed: False" in screen
    assert "\x1b" not in screen
    assert "\u202e" not in screen
    assert screen.count("x") == 1000
    assert "⟦U+3164⟧end" in screen
    assert screen.count("line\r\n") == 1000
    assert "tree 5f0c" in screen


def test_whoever_does_not_read_to_the_end_is_not_asked(outside: Path, environment: dict[str, str]) -> None:
    screen = asked("line\n" * 100, 60, [("48 of 102 lines", "q\n")], outside, environment)
    assert "passed: False" in screen
    assert "Type approve" not in screen


# The key that git signs with


def signing(environment: dict[str, str], value: str) -> None:
    settings = f'[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = "{value}"\n'
    Path(environment["HOME"], ".gitconfig").write_text(settings)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("named", ["public", "private", "literal"])
def test_init_offers_the_key_that_git_signs_with(named: str, repository: Path, environment: dict[str, str]) -> None:
    directory = Path(environment["HOME"], ".ssh")
    directory.mkdir()
    file = make(directory / "id_ed25519")
    values = {"public": "~/.ssh/id_ed25519.pub", "private": str(file.with_suffix("")), "literal": file.read_text()}
    signing(environment, values[named].strip())
    answers = [("Write these changes?", "y\n"), (QUESTION, "enroll\n")]
    code, screen = run_in_terminal("init", "--agent", "claude", cwd=repository, env=environment, answers=answers)
    assert code == 0, screen
    [told] = listed(repository, environment)["keys"]
    assert told["fingerprint"] == read_public_key(file).fingerprint
    code, screen = run_in_terminal("init", "--agent", "claude", cwd=repository, env=environment)
    assert (code, QUESTION in screen) == (0, False), "it is enrolled already"


def test_init_without_a_person_only_says_how(key: Path, repository: Path, environment: dict[str, str]) -> None:
    signing(environment, str(key))
    done = run("init", "--agent", "claude", "--yes", cwd=repository, env=environment)
    assert done.code == 0
    assert "ralph gate enroll" in done.err
    assert listed(repository, environment) == {"keys": [], "passed": [], "refused": []}


def test_init_stands_when_the_person_does_not_want_the_key(
    key: Path, repository: Path, environment: dict[str, str]
) -> None:
    signing(environment, str(key))
    answers = [("Write these changes?", "y\n"), (QUESTION, "no\n")]
    code, screen = run_in_terminal("init", "--agent", "claude", cwd=repository, env=environment, answers=answers)
    assert (code, "It was not enrolled" in screen) == (0, True), screen
    assert (repository / ".mcp.json").exists()
    assert listed(repository, environment)["keys"] == []


def test_a_repository_has_no_say_in_which_key_is_offered(
    key: Path, repository: Path, environment: dict[str, str]
) -> None:
    settings = f'[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = "{key}"\n'
    with (repository / ".git" / "config").open("a") as file:
        file.write(settings)
    done = run_here("init", "--agent", "claude", "--yes", cwd=repository, env=environment)
    assert (done.code, "ralph gate enroll" in done.err) == (0, False)


# Nobody


WAYS = ["piped", "empty", "foreign terminal", "marker"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("words", [("enroll",), ("revoke", "SHA256:x")], ids=["enroll", "revoke"])
def test_nobody_else_enrolls_or_revokes_and_the_attempt_is_shown(
    way: str, words: tuple[str, ...], key: Path, repository: Path, environment: dict[str, str]
) -> None:
    whole = [*words, str(key)] if words == ("enroll",) else list(words)
    if way == "marker":
        code, screen = run_in_terminal("gate", *whole, cwd=repository, env={**environment, "CLAUDECODE": "1"})
        assert "[person_needed]" in screen
    elif way == "foreign terminal":
        code = _in_a_foreign_terminal(["gate", *whole], repository, environment)
    else:
        stdin = b"enroll\n" if way == "piped" else b""
        result = run("gate", *whole, "--json", cwd=repository, env=environment, stdin=stdin)
        assert result.error["code"] == "person_needed"
        code = result.code
    assert code == 5
    told = listed(repository, environment)
    assert told["keys"] == []
    [attempt] = told["refused"]
    assert attempt["gate"] == "key"
    assert attempt["kind"] == ("agent" if way == "marker" else "human")
    assert attempt["why"]
    shown = run_here("gate", "list", cwd=repository, env=environment).out
    assert attempt["why"] in shown


def _in_a_foreign_terminal(words: list[str], cwd: Path, env: dict[str, str]) -> int:
    """With stdin on a terminal that does not control the process, as when an agent opens somebody's device."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"enroll\n")
        command = [str(RALPH), *words]
        return subprocess.run(
            command, cwd=cwd, env=env, stdin=theirs, capture_output=True, start_new_session=True, timeout=SECONDS
        ).returncode
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_program_under_an_agents_process_is_refused_with_a_cleared_environment(
    key: Path, repository: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """A process under the name of an agent, in a terminal of its own, with nothing in the environment."""
    program = tmp_path / "try.py"
    program.write_text(f"import subprocess; raise SystemExit(subprocess.call(['{RALPH}', 'gate', 'enroll', '{key}']))")
    name = f"import ctypes; ctypes.CDLL(None).prctl(15, b'claude', 0, 0, 0); exec(open('{program}').read())"
    code, screen = run_in_terminal("-c", name, cwd=repository, env=environment, program=Path(sys.executable))
    assert (code, "[person_needed]" in screen) == (5, True), screen
    [attempt] = listed(repository, environment)["refused"]
    assert (attempt["kind"], attempt["who"]) == ("agent", "claude")


# Bad input


def test_what_is_no_public_key_is_refused(key: Path, repository: Path, environment: dict[str, str]) -> None:
    (repository / "garbage.pub").write_text("ssh-ed25519 nonsense\n")
    for file in (key.with_suffix(""), repository / "garbage.pub", repository / "missing.pub", repository):
        code, screen = run_in_terminal("gate", "enroll", file, cwd=repository, env=environment)
        assert (code, "[key_invalid]" in screen) == (64, True), screen


def test_a_key_is_enrolled_once_and_an_unknown_one_cannot_be_revoked(
    key: Path, repository: Path, environment: dict[str, str]
) -> None:
    answers = [(QUESTION, "enroll\n")]
    assert run_in_terminal("gate", "enroll", key, cwd=repository, env=environment, answers=answers)[0] == 0
    code, screen = run_in_terminal("gate", "enroll", key, cwd=repository, env=environment)
    assert (code, "[key_enrolled]" in screen) == (3, True)
    code, screen = run_in_terminal("gate", "revoke", "SHA256:x", cwd=repository, env=environment)
    assert (code, "[unknown_key]" in screen) == (1, True)
    name = read_public_key(key).fingerprint
    code, screen = run_in_terminal("gate", "revoke", name, cwd=repository, env=environment)
    assert (code, "[key_needed]" in screen) == (3, True)


def test_without_openssh_enrolling_says_what_to_install(
    key: Path, repository: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    found = shutil.which("git")
    assert found is not None
    (tools / "git").symlink_to(found)
    environment = {**environment, "PATH": str(tools)}
    code, screen = run_in_terminal("gate", "enroll", key, cwd=repository, env=environment)
    assert (code, "[ssh_missing]" in screen) == (1, True), screen
    assert "openssh-client" in screen
    checks = {one["check"]: one for one in run_here("doctor", "--json", cwd=repository, env=environment).data}
    assert "OpenSSH's client" in checks["gates"]["detail"]


def test_a_repository_without_a_journal_has_no_keys_and_none_is_made(
    repository: Path, environment: dict[str, str]
) -> None:
    assert listed(repository, environment) == {"keys": [], "passed": [], "refused": []}
    assert not (repository / ".ralf").exists()
    failed = run_here("journal", "verify", "--key", "SHA256:x", "--json", cwd=repository, env=environment)
    assert (failed.code, failed.error["code"]) == (7, "approval_invalid")


# The journal, behind our back


def test_verify_names_a_gate_that_was_passed_without_an_approval(
    key: Path, repository: Path, environment: dict[str, str]
) -> None:
    answers = [(QUESTION, "enroll\n")]
    assert run_in_terminal("gate", "enroll", key, cwd=repository, env=environment, answers=answers)[0] == 0
    with opened(repository) as journal:
        person = journal.entries()[-1].as_event(journal.machine_of(journal.instances("trust")[0])).actor
        thread = journal.create("thread", Event("created", person)).entry.instance
        evidence = Evidence(subjects={"spec": "5" * 40})
        seq = journal.append(thread, Event("finalize", person, evidence=evidence)).entry.seq
    failed = run("journal", "verify", "--json", cwd=repository, env=environment)
    assert (failed.code, failed.error["code"]) == (7, "approval_invalid")
    assert [(one["code"], one["seq"]) for one in failed.error["details"]["problems"]] == [("approval_missing", seq)]
    assert f"entry {seq}" in run_here("journal", "verify", cwd=repository, env=environment).out


def test_verify_names_a_key_that_was_swapped_in_the_journal(
    key: Path, tmp_path: Path, repository: Path, environment: dict[str, str]
) -> None:
    answers = [(QUESTION, "enroll\n")]
    assert run_in_terminal("gate", "enroll", key, cwd=repository, env=environment, answers=answers)[0] == 0
    mine, other = read_public_key(key), read_public_key(make(tmp_path / "other"))
    tampered(repository, "UPDATE entries SET evidence = replace(evidence, ?, ?)", mine.content, other.content)
    with opened(repository) as journal:
        [entry] = [one for one in journal.entries() if one.event == "key_enrolled"]
    tampered(repository, "UPDATE entries SET hash = ? WHERE event = 'key_enrolled'", _hash(entry))
    for words in (("--key", mine.fingerprint), ()):  # the key that was enrolled here is known without being named
        failed = run_here("journal", "verify", *words, "--json", cwd=repository, env=environment)
        assert (failed.code, failed.error["code"]) == (7, "approval_invalid")
        assert {one["code"] for one in failed.error["details"]["problems"]} >= {"signature_invalid", "key_unknown"}
    with opened(repository) as journal:
        assert journal.verify() == []
        assert audit(journal) != []


def _hash(entry: Entry) -> str:
    return entry.computed_hash()


# In a pid namespace of its own, as containers have it and as an agent can build it


def in_namespace(
    *words: str | Path, cwd: Path, env: dict[str, str], answers: list[tuple[str, str]] | None = None
) -> tuple[int, str]:
    unshare = Path(shutil.which("unshare") or "unshare")
    return run_in_terminal(*UNSHARE[1:], RALPH, *words, cwd=cwd, env=env, answers=answers or [], program=unshare)


@needs_namespaces
def test_a_namespace_enrolls_no_first_key_and_accepts_no_settings(
    key: Path, locked: Path, repository: Path, environment: dict[str, str]
) -> None:
    (repository / "ralph.toml").write_text('[verify]\ncommands = ["true"]\n')
    for words in (("gate", "enroll", key), ("gate", "enroll", locked), ("config", "accept")):
        code, screen = in_namespace(*words, cwd=repository, env=environment)
        assert code == 5, screen
        assert "a key with a passphrase or a touch" in screen.lower().replace("\r\n", " ")
        assert "Type " not in screen, "nobody is asked"
    told = listed(repository, environment)
    assert told["keys"] == []
    assert len(told["refused"]) == 3, "what was tried is kept"


@needs_namespaces
def test_a_guarded_key_proves_a_person_in_a_namespace_and_no_other_does(
    key: Path, locked: Path, repository: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    answers = [(QUESTION, "enroll\n"), (PASSPHRASE, f"{SECRET}\n")]
    assert run_in_terminal("gate", "enroll", locked, cwd=repository, env=environment, answers=answers)[0] == 0
    code, screen = in_namespace("gate", "enroll", key, cwd=repository, env=environment, answers=answers)
    assert (code, "[signature_required]" in screen) == (5, True), screen
    assert len(listed(repository, environment)["keys"]) == 1, "a key without a guard is not enrolled here"
    other = make(tmp_path / "other", "another secret")
    both = [*answers, (PASSPHRASE, "another secret\n")]
    code, screen = in_namespace("gate", "enroll", other, cwd=repository, env=environment, answers=both)
    assert code == 0, screen
    assert len(listed(repository, environment)["keys"]) == 2
    with opened(repository) as journal:
        assert audit(journal, read_public_key(locked).fingerprint) == []


@needs_namespaces
def test_a_key_without_a_guard_proves_nobody_in_a_namespace(
    key: Path, locked: Path, repository: Path, environment: dict[str, str]
) -> None:
    answers = [(QUESTION, "enroll\n")]
    assert run_in_terminal("gate", "enroll", key, cwd=repository, env=environment, answers=answers)[0] == 0
    code, screen = in_namespace("gate", "enroll", locked, cwd=repository, env=environment)
    assert code == 5, screen
    assert len(listed(repository, environment)["keys"]) == 1


@needs_namespaces
def test_a_persons_move_in_a_namespace_is_signed_for(
    locked: Path, repository: Path, environment: dict[str, str]
) -> None:
    made = run_here("thread", "new", "Greet", "--json", cwd=repository, env=environment).data["id"]
    code, screen = in_namespace("thread", "context", "be evil", "--thread", made, cwd=repository, env=environment)
    assert code == 5, screen
    answers = [(QUESTION, "enroll\n"), (PASSPHRASE, f"{SECRET}\n")]
    assert run_in_terminal("gate", "enroll", locked, cwd=repository, env=environment, answers=answers)[0] == 0
    signed = [(PASSPHRASE, f"{SECRET}\n")]
    words = ("thread", "context", "be kind", "--thread", made)
    code, screen = in_namespace(*words, cwd=repository, env=environment, answers=signed)
    assert code == 0, screen
    with opened(repository) as journal:
        told = [entry.decoded_evidence().data for entry in journal.history(made)]
    assert [one["text"] for one in told if one.get("type") == "context_added"] == ["be kind"]
