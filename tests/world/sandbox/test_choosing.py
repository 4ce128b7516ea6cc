"""Which sandbox works here, why one does not, and what is said of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.world.sandbox.bubblewrap import Bubblewrap
from interlock.world.sandbox.choosing import choose, explain, try_sandbox
from interlock.world.sandbox.describing import describe
from interlock.world.sandbox.environment import allowed
from interlock.world.sandbox.homes import agent_home
from interlock.world.sandbox.policy import SandboxPolicy
from interlock.world.sandbox.seatbelt import Seatbelt, profile
from interlock.world.sandbox.unconfined import Unavailable, Unconfined
from world.sandbox.places import bubblewrap, started

_APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"


@pytest.mark.parametrize(
    ("said", "settings", "why", "how"),
    [
        ("bwrap: setting up uid map: Permission denied", {_APPARMOR: "1"}, "AppArmor", "apparmor_restrict"),
        ("bwrap: No permissions", {"/proc/sys/kernel/unprivileged_userns_clone": "0"}, "off", "userns_clone=1"),
        ("bwrap: No permissions", {"/proc/sys/user/max_user_namespaces": "0"}, "off", "max_user_namespaces="),
        ("bwrap: Creating new namespace failed: (ENOSPC)", {}, "No more", "max_user_namespaces"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", {}, "/proc", "unmasked"),
        ("bwrap: Creating new namespace failed: Operation not permitted", {}, "does not allow", "seccomp"),
        ("bwrap: something else", {}, "something else", "bwrap"),
    ],
)
def test_what_keeps_bubblewrap_from_working_is_named(said: str, settings: dict[str, str], why: str, how: str) -> None:
    found = explain(said, lambda path: settings.get(path))
    assert why in found.why
    assert how in found.how


def test_a_sandbox_that_does_not_start_says_why() -> None:
    assert "nowhere" in (try_sandbox(Bubblewrap("/nowhere/bwrap")) or "")


_CHOOSE = "from interlock.world.sandbox.choosing import choose; print(choose('bubblewrap').why)"


@pytest.mark.parametrize(("most", "why"), [("0", "User namespaces are off."), ("1", "No more user namespaces")])
def test_a_system_without_user_namespaces_is_recognized(most: str, why: str) -> None:
    """In a user namespace, which has a setting of its own."""
    bubblewrap()
    setting = f"echo {most} > /proc/sys/user/max_user_namespaces"
    command = ("unshare", "-Ur", "sh", "-c", f'{setting} || exit 75; exec "$0" -c "$1"', sys.executable, _CHOOSE)
    done = started(command, os.environ, Path("/"))
    if done.returncode == 75 or "unshare" in done.stderr:
        pytest.skip("not run: the setting cannot be changed here")
    assert done.stdout.startswith(why), done.stderr


def test_none_is_no_sandbox_and_says_so(tmp_path: Path) -> None:
    found = choose("none")
    assert isinstance(found, Unconfined)
    environment = {"PATH": "/bin", "RALPH_DATABASE_URL": "postgresql://x", "TOKEN": "stays"}
    policy = SandboxPolicy(tree=tmp_path, shown_at=tmp_path, home=tmp_path, state=tmp_path, environment=environment)
    with found.confine(("true",), policy) as confined:
        assert confined.argv == ("true",)
        assert "RALPH_DATABASE_URL" not in confined.environment
        assert confined.environment["TOKEN"] == "stays"
        assert confined.directory == tmp_path
    assert any("not protected" in line for line in describe(found))


def test_auto_is_what_works_or_says_what_does_not() -> None:
    found = choose("auto")
    assert not isinstance(found, Unavailable)
    if isinstance(found, Unconfined):
        assert found.instead is not None
        assert found.instead.why in "\n".join(describe(found))
    assert choose("auto") is found


def test_seatbelt_is_only_for_macos() -> None:
    assert isinstance(choose("seatbelt"), Unavailable) is (sys.platform != "darwin")


@pytest.mark.parametrize(("is_root", "expected"), [(True, "user: root, without its rights"), (False, "user: yours")])
def test_the_description_says_what_is_not_protected(is_root: bool, expected: str) -> None:
    lines = describe(Bubblewrap("bwrap", "0.8.0", is_root=is_root))
    assert lines[0] == "sandbox: bubblewrap 0.8.0"
    assert any(line.startswith(expected) for line in lines)
    assert "network: everything but this machine" in lines
    assert any(line.startswith("network: not protected") for line in describe(Bubblewrap("bwrap", "0.8.0"), "host"))
    assert "network: its own, which reaches example.org" in describe(Bubblewrap("bwrap", "0.8.0"), ("example.org",))
    assert "network: none but its own" in describe(Bubblewrap("bwrap", "0.8.0"), "none")


# The rest of what is pure


def test_variables_of_an_agent_are_named_by_their_beginning() -> None:
    environment = {"ANTHROPIC_API_KEY": "1", "CLAUDE_CODE_X": "2", "OPENAI_API_KEY": "3", "STRIPE_API_KEY": "4"}
    assert allowed(environment, agent_home("claude").names).keys() == {"ANTHROPIC_API_KEY", "CLAUDE_CODE_X"}
    assert allowed(environment, ("STRIPE_API_KEY",)).keys() == {"STRIPE_API_KEY"}
    assert allowed(environment, ("*",)) == {}


def _policy(tmp_path: Path) -> SandboxPolicy:
    home = tmp_path / 'ho"me'
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / ".credentials.json").write_text("login")
    (home / ".claude" / "settings.json").write_text("{}")
    return SandboxPolicy(
        tree=tmp_path / "tree",
        shown_at=tmp_path / "root",
        home=home,
        state=tmp_path / "state",
        environment={"PATH": "/bin"},
        agent=agent_home("claude"),
    )


def test_the_profile_of_macos_quotes_paths_and_ends_with_what_may_be_written(tmp_path: Path) -> None:
    """Only the text is tested: there is no macOS here."""
    policy = _policy(tmp_path)
    lines = profile(policy, tmp_path / "private").splitlines()
    quoted = str((policy.home / ".ssh").resolve()).replace('"', '\\"')
    covered = lines.index(f'(deny file-read* file-write* network-outbound (subpath "{quoted}"))')
    assert covered < lines.index(f'(allow file-read* file-write* (subpath "{policy.tree.resolve()}"))')


def test_the_profile_of_macos_opens_the_network_of_the_machine_or_single_ports(tmp_path: Path) -> None:
    policy = replace(_policy(tmp_path), network=("example.org", "localhost:8080"))
    lines = profile(policy, tmp_path / "private", (4000, 8080)).splitlines()
    assert lines.index("(deny network*)") < lines.index('(allow network-outbound (remote ip "localhost:8080"))')
    assert "(deny network*)" not in profile(replace(policy, network="host"), tmp_path / "private")


def test_the_directory_of_a_run_of_macos_is_filled_and_removed_whatever_is_in_it(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    with Seatbelt().confine(("true",), policy) as confined:
        private = Path(confined.environment["CLAUDE_CONFIG_DIR"])
        assert (private / "settings.json").read_text() == "{}"
        assert (private / ".credentials.json").read_text() == "login"
        assert private.parent.stat().st_mode & 0o077 == 0
        (private / "closed" / "deeper").mkdir(parents=True)
        (private / "closed").chmod(0)
    assert list((policy.state / "private").iterdir()) == []
    with pytest.raises(KeyError), Seatbelt().confine(("true",), policy):
        raise KeyError
    assert list((policy.state / "private").iterdir()) == []
    assert (policy.home / ".claude" / ".credentials.json").read_text() == "login"
