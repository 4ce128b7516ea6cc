"""The paths of a machine that a confined agent does not see: secrets, sockets, and what only root may read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["listening", "root_only", "secrets"]

_SECRETS: Final = tuple(
    """
    .ssh .gnupg .aws .azure .config/gcloud .kube .docker .config/containers .config/op .config/sops .config/age
    .password-store .local/share/keyrings .local/share/kwalletd .config/kwalletrc .pki
    .netrc .authinfo .authinfo.gpg .git-credentials .config/git/credentials .config/gh .config/glab-cli .config/hub
    .npmrc .yarnrc.yml .pypirc .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml
    .gradle/gradle.properties .nuget/NuGet .composer/auth.json .config/composer/auth.json .terraform.d
    .terraformrc .vault-token .pgpass .my.cnf .boto .s3cfg .config/rclone .config/doctl .config/hcloud .config/fly .fly
    .config/heroku .config/netlify .config/vercel .local/share/com.vercel.cli .config/stripe
    .mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge
    .config/Signal .config/Slack .config/discord
    .codex/.credentials.json .gemini/mcp-oauth-tokens.json .qwen/mcp-oauth-tokens.json
    .Xauthority .ICEauthority .dbus .config/systemd .tmux .screen
    .bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .sqlite_history .lesshst
    .local/share/fish/fish_history
    .wine .bitcoin .ethereum
    """.split()
)
"""Where logins, keys and the history of a person are kept, below their home."""
_ROOTS: Final = ("/etc", "/var/lib", "/var/log", "/var/cache", "/var/spool", "/var/backups", "/boot", "/usr/local/etc")
_PACKAGES: Final = ("/var/lib/dpkg", "/var/lib/apt", "/var/cache/apt", "/var/lib/rpm", "/var/lib/pacman")
"""What package managers keep: locks, and thousands of public files, which take longer to look at than all the rest."""
_DEPTH: Final = 3
_MOST_ROOT_ONLY: Final = 400
_DEBUGGING: Final = ("/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/bpf")
_LISTENING: Final = 0x10000


def secrets(home: Path) -> Iterator[Path]:
    """Give the paths below a home directory at which secrets are kept; they need not be there."""
    return (home / name for name in _SECRETS)


def listening() -> Iterator[Path]:
    """Give the sockets with a path at which a program of this machine listens now."""
    try:
        lines = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[7].startswith("/") and int(fields[3], 16) & _LISTENING:
            yield Path(fields[7])


def root_only(home: Path) -> Iterator[Path]:
    """Give what root may read and other users may not. Mapping root to another user hides nothing of it."""
    yield from (Path(name) for name in _DEBUGGING)
    for place in ("/", "/home"):
        for entry in _entries(place):
            path = Path(entry.path)
            if _is_closed(entry) and not home.is_relative_to(path):
                yield path
    for top in _ROOTS:
        found = list(_closed(top, _DEPTH))
        # Each is a mount, so where there are very many, their directory is hidden as a whole.
        yield from (Path(path) for path in (found if len(found) <= _MOST_ROOT_ONLY else [top]))


def _closed(directory: str, depth: int) -> Iterator[str]:
    """Give what is closed to others in a directory."""
    if directory in _PACKAGES:
        return
    for entry in _entries(directory):
        if _is_closed(entry):
            yield entry.path
        elif depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from _closed(entry.path, depth - 1)


def _is_closed(entry: os.DirEntry[str]) -> bool:
    """True for a file or directory that others may not read or enter."""
    if entry.is_symlink():
        return False
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:
        return False
    if stat.S_ISDIR(mode):
        return mode & 0o005 != 0o005
    return stat.S_ISREG(mode) and not mode & stat.S_IROTH


def _entries(directory: str) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(directory) as entries:
        return list(entries)
    return []
