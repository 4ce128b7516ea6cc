"""One POST a call to GitHub's GraphQL, repeated where that is safe.

A query may be asked again whenever it was not answered. A mutation is sent again only if it certainly did not
happen: nothing was sent, or GitHub refused it for its limits. Otherwise the caller hears `tracker_unsure`.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Self

import httpx
import msgspec

from interlock import __version__
from interlock.errors import TrackerError
from interlock.world.addresses import safe_address
from interlock.world.github.answers import InvalidResponse, Limited, ResponseObject, Unwell, meaning

__all__ = ["QUICK", "URL", "Transport", "safe"]

URL = "https://api.github.com/graphql"
_TIME_OUTS = httpx.Timeout(30.0, connect=10.0)
QUICK = httpx.Timeout(5.0, connect=2.0)
"""For whoever has something else to do than to wait."""
_MOST_BYTES = 20_000_000
_BACK_OFF = 0.5
_BLIND_WAIT = 60.0
"""How long GitHub asks to wait at the least where it does not say; twice as long each time after."""
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
_UNSURE_HINT = "Call it again: what is there already is not made twice."
_UNREACHABLE_HINT = "Look at https://www.githubstatus.com and your network, then try again."


class _Setback(msgspec.Struct, frozen=True):
    """Why a call was not answered, and how long to wait before it is made again; None where it must not be."""

    error: TrackerError
    wait: float | None


class Transport:
    """A connection to GitHub for one thread. `patience` is the longest that it waits because of a limit, in seconds."""

    def __init__(
        self,
        token: str,
        *,
        url: str = URL,
        patience: float = 60.0,
        attempts: int = 4,
        time_outs: httpx.Timeout = _TIME_OUTS,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._url = safe(url)
        self._patience = patience
        self._attempts = attempts
        self._sleep = sleep
        self._now = now
        self._chance = chance
        has_tls = self._url.scheme == "https"
        self._client = httpx.Client(
            headers={
                "Authorization": f"Bearer {token}",
                "User-Agent": f"interlock/{__version__}",
                "X-Github-Next-Global-ID": "1",  # else old issues have ids of an old form, and one issue two ids
            },
            timeout=time_outs,
            follow_redirects=False,
            # Without TLS a proxy in the environment would see the token, and there are no certificates to load.
            trust_env=has_tls,
            verify=has_tls,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def query(self, document: str, variables: Mapping[str, object]) -> ResponseObject:
        """What a query answers; asked again where it was not answered."""
        return self._call(document, variables, is_write=False)

    def mutate(self, document: str, variables: Mapping[str, object]) -> ResponseObject:
        """What a mutation answers; `tracker_unsure` where it may or may not have happened."""
        return self._call(document, variables, is_write=True)

    def _call(self, document: str, variables: Mapping[str, object], *, is_write: bool) -> ResponseObject:
        content = json.dumps({"query": document, "variables": variables}).encode()
        for attempt in range(self._attempts):
            result = self._try(content, attempt, is_write)
            if isinstance(result, ResponseObject):
                return result
            if result.wait is None or attempt + 1 == self._attempts:
                raise result.error
            self._sleep(result.wait)
        raise AssertionError("the last attempt answers or raises")

    def _try(self, content: bytes, attempt: int, is_write: bool) -> ResponseObject | _Setback:
        try:
            status, headers, body = self._post(content)
        except httpx.TransportError as broken:
            # The text of any other error could quote what was sent, and the token with it.
            why = str(broken) if isinstance(broken, httpx.ConnectError) else type(broken).__name__
            return self._unanswered(why, attempt, is_write and not isinstance(broken, _UNSENT))
        except httpx.DecodingError:
            return _unreadable("its answer cannot be decoded", is_write)
        if body is None:
            return _unreadable(f"its answer has more than {_MOST_BYTES} bytes", is_write)
        match meaning(status, headers, body, self._now()):
            case ResponseObject() as answer:
                return answer
            case Limited(seconds):
                return self._limited(seconds, attempt)
            case Unwell(why):
                return self._unanswered(why, attempt, is_write)
            case InvalidResponse(why):
                return _unreadable(why, is_write)
            case TrackerError() as error:
                return _Setback(error, None)

    def _post(self, content: bytes) -> tuple[int, Mapping[str, str], bytes | None]:
        """The status, the headers and the body of the answer; no body where it is too large."""
        body = bytearray()
        headers = {"Content-Type": "application/json"}
        with self._client.stream("POST", self._url, content=content, headers=headers) as response:
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _MOST_BYTES:
                    return response.status_code, response.headers, None
        return response.status_code, response.headers, bytes(body)

    def _unanswered(self, why: str, attempt: int, is_unsure: bool) -> _Setback:
        if is_unsure:
            return _Setback(_unsure(why), None)
        error = TrackerError("tracker_unreachable", f"GitHub does not answer: {why}.", _UNREACHABLE_HINT)
        return _Setback(error, _BACK_OFF * 2**attempt * (0.5 + self._chance()))

    def _limited(self, seconds: float | None, attempt: int) -> _Setback:
        wait = _BLIND_WAIT * 2**attempt if seconds is None else seconds
        again = (datetime.fromtimestamp(self._now(), UTC) + timedelta(seconds=wait)).strftime("%Y-%m-%dT%H:%M:%SZ")
        error = TrackerError(
            "tracker_limited",
            f"GitHub takes no more calls for {wait:.0f} s.",
            f"Try again after {again}.",
            retry_after=wait,
        )
        return _Setback(error, wait if wait <= self._patience else None)


def _unreadable(why: str, is_write: bool) -> _Setback:
    error = TrackerError("tracker_failed", f"GitHub could not be understood: {why}.", "See that the address is right.")
    return _Setback(_unsure(why) if is_write else error, None)


def _unsure(why: str) -> TrackerError:
    return TrackerError("tracker_unsure", f"GitHub did not say what came of a write: {why}.", _UNSURE_HINT)


def safe(address: str) -> httpx.URL:
    """The address, if a token may be sent there: with TLS, or to this machine."""
    url = safe_address(address)
    if url is not None and not (url.query or url.fragment):
        return url
    message = "The address of GitHub's API is neither https nor on this machine; the token would go there in the clear."
    raise TrackerError("tracker_unconfigured", message, f"Unset RALPH_GITHUB_API, or set it to one like {URL}.")
