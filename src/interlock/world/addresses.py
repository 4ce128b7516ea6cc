"""Addresses that something secret may be sent to: with TLS, or to this machine."""

from __future__ import annotations

import ipaddress

import httpx

__all__ = ["safe_address"]


def safe_address(address: str) -> httpx.URL | None:
    """The address, if what is sent there is seen by nobody else: with TLS, or to this machine; else None."""
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, TypeError, ValueError):
        return None
    has_tls = url.scheme == "https"
    is_safe = url.host and not url.userinfo and (has_tls or (url.scheme == "http" and _is_loopback(url.host)))
    return url if is_safe else None


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
