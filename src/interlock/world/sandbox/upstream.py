"""The person's own HTTP proxy, which the forwarder of a sandbox asks as the person's programs would."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

import msgspec

__all__ = ["Upstream", "has_upstream", "upstream_for"]


class Upstream(msgspec.Struct, frozen=True):
    """A proxy, and what it is told by whom it is asked."""

    host: str
    port: int
    login: str = ""

    @property
    def headers(self) -> tuple[bytes, ...]:
        return (b"Proxy-Authorization: Basic " + b64encode(self.login.encode()),) if self.login else ()

    def connect(self, host: str, port: int) -> bytes:
        """Return the head of a request for a connection."""
        where = f"{f'[{host}]' if ':' in host else host}:{port}".encode()
        return b"\r\n".join([b"CONNECT " + where + b" HTTP/1.1", b"Host: " + where, *self.headers, b"", b""])


def has_upstream(environment: Mapping[str, str]) -> bool:
    """True if the person's environment names a proxy that can be asked."""
    return any(_proxy(scheme, environment) for scheme in ("http", "https"))


def upstream_for(scheme: str, host: str, environment: Mapping[str, str]) -> Upstream | None:
    """Return the proxy by which a host is asked for; None if it is asked itself."""
    for one in _variable("no_proxy", environment).lower().split(","):
        end = one.strip().partition(":")[0].removeprefix("*").lstrip(".")
        if one.strip() == "*" or (end and (host == end or host.endswith(f".{end}"))):
            return None
    return _proxy(scheme, environment)


def _proxy(scheme: str, environment: Mapping[str, str]) -> Upstream | None:
    text = _variable(f"{scheme}_proxy", environment) or _variable("all_proxy", environment)
    try:
        split = urlsplit(text if "://" in text else f"http://{text}")
        if not split.hostname or split.scheme != "http":
            return None
        login = f"{unquote(split.username)}:{unquote(split.password or '')}" if split.username else ""
        return Upstream(split.hostname, split.port or 80, login)
    except ValueError:
        return None


def _variable(name: str, environment: Mapping[str, str]) -> str:
    return (environment.get(name) or environment.get(name.upper()) or "").strip()
