"""The tree of a running sandbox becomes read-only and writable again, and no process in it can change that."""

from __future__ import annotations

import errno
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.world.sandbox import remount as module
from patience import SECONDS
from world.sandbox.places import Place, as_user, made_place, users
from world.sandbox.players import playing


@pytest.fixture(params=users(), ids=lambda user: "root" if user == 0 else "ordinary")
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with made_place(request.param) as made:
        yield made


def changed(
    place: Place, root: int, *, is_read_only: bool = True, shown: Path | None = None, tree: Path | None = None
) -> int:
    """Change a tree as the user of a place, in a process of theirs."""
    given = [root, str(shown or place.root), str(tree or place.tree), is_read_only]
    code = (
        "import json, runpy, sys; root, shown, tree, is_read_only = json.loads(sys.argv[2]);"
        "made = runpy.run_path(sys.argv[1]);"
        "sys.exit(made['remount'](root, shown, tree, is_read_only=is_read_only, python='/usr/bin/python3'))"
    )
    words = ("/usr/bin/python3", "-c", code, str(module.__file__), json.dumps(given))
    return subprocess.run(as_user(place.user, words), cwd="/", timeout=SECONDS, check=False).returncode


def test_a_tree_becomes_read_only_and_writable_while_its_agent_runs(place: Place) -> None:
    with playing(place) as (ask, root):
        assert ask("write()") is None
        assert ask("held.setdefault('directory', os.open('.', os.O_RDONLY)) and 0") == 0
        assert changed(place, root) == 0
        for attempt in (
            "write()",
            "write('new')",
            "os.chmod('a', 0o600)",
            "os.utime('a')",
            "os.unlink('a')",
            "os.rename('a', 'b')",
            "os.mkdir('b')",
            "os.link('a', 'b')",
            "write(f'/proc/self/fd/{held[\"directory\"]}/b')",
            "os.open('b', os.O_CREAT | os.O_WRONLY, dir_fd=held['directory'])",
            "write(os.getcwd() + '/.git/b')",
            f"write('/proc/self/root{place.root}/b')",
        ):
            assert ask(attempt) == errno.EROFS, attempt
        assert ask("write('/tmp/b')") is None, "only the tree changes"
        assert changed(place, root, is_read_only=False) == 0
        assert ask("write()") is None
    assert (place.tree / "a").read_text() == "xx"


def test_the_agent_cannot_change_it_back(place: Place) -> None:
    with playing(place) as (ask, root):
        assert changed(place, root) == 0
        where = f"{str(place.root)!r}.encode()"
        assert ask(f"call(libc.mount(None, {where}, None, 0x1020, None))") == errno.EPERM
        given = "(ctypes.c_uint64 * 4)(0, 1, 0, 0)"
        assert ask(f"call(libc.syscall(442, -100, {where}, 0, {given}, 32))") == errno.EPERM
        assert ask(f"call(libc.umount2({where}, 2))") == errno.EPERM
        assert ask("call(libc.unshare(0x10000000))") == errno.ENOSPC
        # The namespace that its mounts belong to is not one that it can name or enter.
        owner = "__import__('fcntl').ioctl(os.open('/proc/self/ns/mnt', 0), 0xB701)"
        assert ask(owner) == errno.EPERM
        assert ask("call(libc.setns(os.open('/proc/self/ns/mnt', 0), 0x20000))") == errno.EPERM
        assert ask("write()") == errno.EROFS


@pytest.mark.parametrize("held", ["a file", "a mapping", "a deleted file"])
def test_a_file_that_is_open_for_writing_keeps_the_tree_writable(place: Place, held: str) -> None:
    with playing(place) as (ask, root):
        ask("write()")
        ask("held.setdefault('a', open('a', 'r+')) and 0")
        if held == "a mapping":
            ask("held.setdefault('map', __import__('mmap').mmap(held['a'].fileno(), 1)) and 0")
            ask("held.pop('a').close()")
        if held == "a deleted file":
            ask("os.unlink('a')")
        assert changed(place, root) == errno.EBUSY
        assert ask("write('b')") is None
        ask("[one.close() for one in held.values()] and 0")
        assert changed(place, root) == 0


def test_only_the_mount_of_that_tree_is_changed(place: Place) -> None:
    """Neither another directory in the sandbox, nor anything for a process that is in none."""
    with playing(place) as (ask, root):
        assert changed(place, root, tree=place.home) == errno.ESTALE
        assert changed(place, root, shown=place.root / "src", tree=place.tree / "src") == errno.EINVAL
        assert ask("write()") is None
    assert changed(place, root) == errno.ESRCH, "it has ended"
    # The child of this one is in our own namespaces, where the tree is at its own path and no mount.
    words = as_user(place.user, ("sh", "-c", "cat; exit"))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as outside:
        assert outside.stdin is not None
        assert outside.stdout is not None
        outside.stdin.write(b"there\n")
        outside.stdin.flush()
        assert outside.stdout.readline() == b"there\n"
        assert changed(place, outside.pid, shown=place.tree) in (errno.EPERM, errno.EINVAL)
        outside.communicate(timeout=SECONDS)
    (place.tree / "still").write_text("writable")
