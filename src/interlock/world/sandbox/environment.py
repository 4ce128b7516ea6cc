"""The variables of a confined run: those that are known to be harmless, those of its agent, and those that are named.

A list of what is allowed, because the environment of a person holds tokens under any name, and addresses of sockets
that lead out of the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from interlock.world.child_environment import child_environment
from interlock.world.journal_address import DATABASE_URL

__all__ = ["allowed", "is_of_the_loader"]

_NAMES: Final = frozenset(
    """
    PATH HOME USER LOGNAME SHELL TERM COLORTERM TZ TZDIR LANG LANGUAGE LC_* CI NO_COLOR FORCE_COLOR CLICOLOR
    SOURCE_DATE_EPOCH COLUMNS LINES PAGER GIT_PAGER
    HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY FTP_PROXY http_proxy https_proxy all_proxy no_proxy ftp_proxy
    SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS PIP_CERT
    GIT_SSL_CAINFO GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
    VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_ROOT PYENV_VERSION PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED
    PYTHONPATH PYTHONHASHSEED PIP_INDEX_URL PIP_NO_INDEX PIP_FIND_LINKS PIP_DISABLE_PIP_VERSION_CHECK
    UV_PYTHON UV_OFFLINE
    NODE_ENV NODE_PATH NVM_DIR NVM_BIN FNM_DIR VOLTA_HOME PNPM_HOME BUN_INSTALL DENO_DIR ASDF_DIR ASDF_DATA_DIR
    MISE_DATA_DIR CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS RUST_BACKTRACE GOPATH GOROOT GOPROXY GOFLAGS
    JAVA_HOME GRADLE_OPTS MAVEN_OPTS JDK_HOME ANDROID_HOME DOTNET_ROOT GEM_HOME GEM_PATH RBENV_ROOT BUNDLE_PATH
    CC CXX CFLAGS CXXFLAGS LDFLAGS PKG_CONFIG_PATH MAKEFLAGS LD_LIBRARY_PATH NIX_PATH NIX_PROFILES
    IS_SANDBOX RALPH_RUN RALPH_SESSION_ID RALPH_ROOT
    """.split()
)
"""Nothing that loads code into each process (LD_PRELOAD), and no address of a socket (SSH_AUTH_SOCK, DISPLAY)."""
_REFUSED: Final = frozenset(
    f"{DATABASE_URL} RALPH_JOURNAL LD_PRELOAD LD_AUDIT SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DISPLAY XAUTHORITY "
    "WAYLAND_DISPLAY WAYLAND_SOCKET DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS TMUX TMUX_PANE STY "
    "XDG_RUNTIME_DIR".split()
)
"""What no policy can let through."""


def allowed(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the variables that may be known inside, with those that are named; never one that opens the journal."""
    known = _NAMES.union(names)
    prefixes = tuple(name[:-1] for name in known if name.endswith("*") and name != "*")
    return {
        name: value
        for name, value in child_environment(environment).items()
        if (name in known or name.startswith(prefixes)) and name not in _REFUSED
    }


def is_of_the_loader(name: str) -> bool:
    """True for a variable by which code gets into each program, so that it must not be set before the sandbox is.

    An empty part of LD_LIBRARY_PATH is the current directory, where an agent can put a library.
    """
    return name.startswith("LD_") or name in ("GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH")
