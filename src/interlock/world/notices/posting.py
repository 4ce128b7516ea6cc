"""One POST over HTTP. What is sent is seen by the other side alone, and it is not waited for without an end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import anyio
import httpx

from interlock import __version__
from interlock.world.addresses import safe_address
from interlock.world.notices.notice import DeliveryFailure

__all__ = ["SECONDS", "exchange", "post"]

SECONDS: Final = 10.0
"""How long a POST may take, all in all."""
_ASKING: Final = frozenset({429, 503})
"""The statuses with which another side may say when to come back."""


def post(
    address: str, content: bytes, headers: Mapping[str, str], now: float, *, seconds: float = SECONDS
) -> DeliveryFailure | None:
    """Send JSON to an address; None where it was taken. Addresses are often secrets, and are in no trouble's text."""
    answer = exchange(address, content, headers, now, seconds=seconds)
    return answer if isinstance(answer, DeliveryFailure) else None


def exchange(
    address: str, content: bytes, headers: Mapping[str, str], now: float, *, seconds: float = SECONDS, reads: int = 0
) -> DeliveryFailure | bytes:
    """Send JSON to an address; so many bytes of the answer at the most, where it was taken."""
    url = safe_address(address)
    if url is None:
        return DeliveryFailure("its address is neither https nor on this machine, so nothing is sent there")
    try:
        given = {**headers, "Content-Type": "application/json"}
        return anyio.run(_exchange, url, content, given, now, seconds, reads)
    except TimeoutError:
        return DeliveryFailure(f"no answer within {seconds:g} s")
    except (httpx.HTTPError, httpx.StreamError, OSError, ValueError) as error:
        return DeliveryFailure(f"it cannot be reached: {type(error).__name__}")


async def _exchange(
    url: httpx.URL, content: bytes, headers: Mapping[str, str], now: float, seconds: float, reads: int
) -> DeliveryFailure | bytes:
    has_tls = url.scheme == "https"
    sent = {**headers, "User-Agent": f"interlock/{__version__}", "Accept-Encoding": "identity"}
    # Without TLS a proxy in the environment would see all of it, and there are no certificates to load.
    with anyio.fail_after(seconds):
        async with (
            httpx.AsyncClient(timeout=seconds, follow_redirects=False, trust_env=has_tls, verify=has_tls) as client,
            client.stream("POST", url, content=content, headers=sent) as response,
        ):
            status, again = response.status_code, response.headers.get("Retry-After", "")
            if 200 <= status < 300:
                return await _beginning(response, reads)  # no more of its body is read than is wanted
    if status in _ASKING:
        return DeliveryFailure(f"it answers {status}", _seconds(again, now), status)
    followed = ", and no redirect is followed" if 300 <= status < 400 else ""
    return DeliveryFailure(f"it answers {status}{followed}", status=status)


async def _beginning(response: httpx.Response, most: int) -> bytes:
    found = b""
    if most:
        async for piece in response.aiter_raw():
            found += piece
            if len(found) >= most:
                break
    return found[:most]


def _seconds(text: str, now: float) -> float | None:
    """What `Retry-After` says, a number of seconds or a date; None where it says nothing that can be read."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    at = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.fromtimestamp(now, UTC)).total_seconds())
