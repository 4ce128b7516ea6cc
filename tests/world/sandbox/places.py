"""A person's home, repository and an agent's tree in it; and commands in a sandbox there, as root and as another."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from interlock.world.git import make_own_tree
from interlock.world.repository import exclude_state, own_tree, state_directory
from interlock.world.sandbox.bubblewrap import Bubblewrap
from interlock.world.sandbox.choosing import choose
from interlock.world.sandbox.policy import Limits, SandboxPolicy
from interlock.world.sandbox.unconfined import Unavailable
from patience import SECONDS
from world.git.repositories import git, made

__all__ = ["ANOTHER", "LOGIN", "SECRET", "Place", "as_user", "bubblewrap", "made_place", "run", "started", "users"]

ANOTHER = 4242
"""An ordinary user, who need not be in /etc/passwd."""
SECRET = "do-not-read-me"
LOGIN = '{"claudeAiOauth": {"accessToken": "access", "refreshToken": "do-not-read-me", "expiresAt": 4102444800000}}'
"""The login of Claude Code, whose token expires in 2100."""
_PYTHON = "/usr/bin/python3"
_MIB = 1 << 20
_SECRETS = (".ssh/id_ed25519", ".gnupg/private-keys-v1.d/key", ".aws/credentials", ".netrc", ".config/gh/hosts.yml")


class Place(msgspec.Struct, frozen=True):
    """Where everything of a test is, and who it belongs to."""

    directory: Path
    user: int

    @property
    def home(self) -> Path:
        return self.directory / "home"

    @property
    def state(self) -> Path:
        return self.home / ".local" / "state" / "interlock"

    @property
    def root(self) -> Path:
        return self.home / "repository"

    @property
    def tree(self) -> Path:
        return own_tree(self.root / ".ralf", "01jb")

    @property
    def objects(self) -> Path:
        return self.state / "objects" / "01jb"

    @property
    def policy(self) -> SandboxPolicy:
        return SandboxPolicy(
            tree=self.tree,
            shown_at=self.root,
            home=self.home,
            state=self.state,
            objects=((self.root / ".git" / "objects", self.objects),),
            environment=self.environment,
            network="host",  # another user cannot ask a driver of root for a network; `networks` has what can
            limits=Limits(temporary=2 * _MIB, shared_memory=2 * _MIB),
        )

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the person, with where everything is for the scripts of the tests."""
        return {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.home), "LC_ALL": "C.UTF-8"}

    @property
    def sandbox(self) -> Bubblewrap:
        return replace(bubblewrap(), is_root=self.user == 0, python=_PYTHON if self.user == ANOTHER else "")

    @contextmanager
    def sockets(self) -> Iterator[Path]:
        """Give the directory of one run; whoever calls this must be the user."""
        directory = Path(tempfile.mkdtemp(prefix="run-", dir=self.state))
        yield directory
        directory.rmdir()

    def contents(self) -> dict[str, bytes]:
        """All that the agent must not change: everything but its tree."""
        found = {}
        for path in self.directory.rglob("*"):
            if not path.is_relative_to(self.tree):
                name = str(path.relative_to(self.directory))
                found[name] = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        return found


def bubblewrap() -> Bubblewrap:
    """The sandbox of this machine; the test is not run where there is none."""
    found = choose("bubblewrap")
    if isinstance(found, Unavailable):
        pytest.skip(f"not run: {found.why}")
    assert isinstance(found, Bubblewrap)
    return found


def users() -> list[int]:
    """Whom the tests run as: whoever runs them, and for root an ordinary user as well."""
    return [0, ANOTHER] if os.geteuid() == 0 else [os.geteuid()]


def as_user(user: int, command: Sequence[str]) -> tuple[str, ...]:
    """A command that runs as a user."""
    if user == os.geteuid():
        return tuple(command)
    return ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--", *command)


@contextmanager
def made_place(user: int) -> Iterator[Place]:
    """A home with secrets, a repository with an agent's tree, and what a person has not committed."""
    bubblewrap()
    if user != os.geteuid() and not (shutil.which("setpriv") and Path(_PYTHON).exists()):
        pytest.skip("not run: setpriv or the system's Python is missing")
    directory = Path(tempfile.mkdtemp(prefix="ralph-sandbox-test-")).resolve()
    try:
        place = Place(directory, user)
        _fill(place)
        if user != os.geteuid():
            if not all(one.stat().st_mode & 0o001 for one in directory.parents):
                pytest.skip("not run: another user cannot enter the directory for temporary files")
            subprocess.run(("chown", "-hR", f"{user}:{user}", str(directory)), check=True, timeout=SECONDS)
        yield place
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _fill(place: Place) -> None:
    place.root.mkdir(parents=True)
    made(place.root, {"README.md": "Hello.\n", "src/one.py": "print('one')\n"})
    base = git("rev-parse", "HEAD", cwd=place.root)
    exclude_state(place.root)
    make_own_tree(place.root, own_tree(state_directory(place.root), "01jb"), "ralf/01jb", base, place.objects)
    git("config", "http.extraHeader", SECRET, cwd=place.root)
    told = dict.fromkeys(_SECRETS, SECRET)
    told |= {"repository/notes.txt": SECRET, "repository/.ralf/journal.db": SECRET}
    told |= {".local/state/interlock/trusted/one": SECRET, ".bashrc": "export A=1\n", ".gitconfig": _GITCONFIG}
    told |= {".claude/settings.json": '{"model": "x"}', ".claude/.credentials.json": LOGIN, ".claude.json": "{}"}
    for name, text in told.items():
        path = place.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


_GITCONFIG = "[user]\n\tname = A Person\n\temail = person@example.com\n"


def run(
    place: Place,
    command: Sequence[str] | str,
    policy: SandboxPolicy | None = None,
    sandbox: Bubblewrap | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a command, or the text of a script, in a sandbox of the place, as its user."""
    words = ("sh", "-c", command) if isinstance(command, str) else command
    with (sandbox or place.sandbox).confine(words, policy or place.policy) as confined:
        return started(as_user(place.user, confined.argv), confined.environment, confined.directory, **options)


def started(
    argv: Sequence[str], environment: Mapping[str, str], directory: Path, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with pipes."""
    return subprocess.run(
        argv,
        env=environment,
        cwd=directory,
        **{"stdin": subprocess.DEVNULL, **options},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
        start_new_session=True,
    )
