"""The tree of a running sandbox, made read-only or writable from outside.

The mounts of a sandbox belong to a user namespace in which none of its processes is, so none of them can change one
back. A child enters that namespace: this file, run by its path with `-I -S`. Its arguments are a descriptor of the
sandbox's mount namespace, the path there, the device and inode that must be found at it, and what to do.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "remount"]

_OWNER_OF = 0xB701
_NEW_NS, _NEW_USER = 0x20000, 0x10000000
_MOUNT_SETATTR, _EMPTY_PATH, _READ_ONLY = 442, 0x1000, 1
_SECONDS = 10.0
_REFUSED = 1


def remount(root: int, shown_at: str, tree: str, *, is_read_only: bool, python: str = "") -> int:
    """Change the tree of the sandbox that a process, its first one, has made; give 0, or the number of an error.

    `EBUSY` means that a file there is open for writing, and `ESRCH` that the sandbox has ended. Only the mount of that
    very tree is changed, so a process number that is used again does no harm.
    """
    import subprocess

    try:
        namespace = _namespace(root)
    except FileNotFoundError:
        return errno.ESRCH
    except OSError as error:
        return error.errno or _REFUSED
    try:
        there = os.stat(tree)
        what = "read-only" if is_read_only else "writable"
        done = subprocess.run(
            (
                *(python or sys.executable, "-I", "-S", "-B", __file__),
                *(str(namespace), shown_at, str(there.st_dev), str(there.st_ino), what),
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(namespace,),
            cwd="/",
            env={},
            timeout=_SECONDS,
            check=False,
        )
        return done.returncode
    except OSError as error:
        return error.errno or _REFUSED
    except subprocess.TimeoutExpired:
        return errno.ETIMEDOUT
    finally:
        os.close(namespace)


def _namespace(root: int) -> int:
    """Open the mount namespace of the only child of a process: bubblewrap itself stays outside."""
    with open(f"/proc/{root}/task/{root}/children", encoding="ascii") as file:
        child = (file.read().split() or ["gone"])[0]
    return os.open(f"/proc/{child}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)


def main(words: Sequence[str]) -> int:
    """Enter the namespaces and change the mount; give 0, or the number of an error."""
    namespace, path, device, inode, what = int(words[0]), words[1], int(words[2]), int(words[3]), words[4]
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        owner = fcntl.ioctl(namespace, _OWNER_OF)
        if libc.setns(owner, _NEW_USER) or libc.setns(namespace, _NEW_NS):
            return ctypes.get_errno()
        place = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        found = os.fstat(place)
    except OSError as error:
        return error.errno or _REFUSED
    if (found.st_dev, found.st_ino) != (device, inode):
        return errno.ESTALE
    given = (_READ_ONLY, 0) if what == "read-only" else (0, _READ_ONLY)
    changed = (ctypes.c_uint64 * 4)(*given, 0, 0)
    if libc.syscall(_MOUNT_SETATTR, place, b"", _EMPTY_PATH, ctypes.byref(changed), ctypes.c_size_t(32)):
        return ctypes.get_errno()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
