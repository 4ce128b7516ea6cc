"""Any address that takes JSON, signed so that it can tell who sent it and when.

Ralph-Notice: the notice's id; the same for the same notice, however often it is sent
Ralph-Timestamp: when this was sent, in seconds since 1970
Ralph-Signature: v1=HMAC-SHA256 of "<timestamp>.<body>" with the secret, in hexadecimal digits
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from interlock.world.notices.notice import DeliveryFailure, Notice
from interlock.world.notices.posting import SECONDS, post

__all__ = ["SECRET", "Webhook", "signature"]

SECRET: Final = "RALPH_WEBHOOK_SECRET"
"""Where the secret is, in the environment."""
_SHORTEST: Final = 16


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """What `Ralph-Signature` says."""
    return f"v1={hmac.new(secret.encode(), f'{timestamp}.'.encode() + body, 'sha256').hexdigest()}"


@dataclass(frozen=True, slots=True)
class Webhook:
    """One receiver."""

    address: str
    secret: str = field(repr=False)
    now: Callable[[], float] = time.time
    seconds: float = SECONDS
    name: str = "webhook"

    @property
    def is_here(self) -> bool:
        return True

    def send(self, notice: Notice) -> DeliveryFailure | None:
        if len(self.secret) < _SHORTEST:
            return DeliveryFailure(f"{SECRET} needs {_SHORTEST} characters at least, and nothing is sent unsigned")
        body, now = msgspec.json.encode(notice), self.now()
        timestamp = str(int(now))
        headers = {
            "Ralph-Notice": notice.id,
            "Ralph-Timestamp": timestamp,
            "Ralph-Signature": signature(self.secret, timestamp, body),
        }
        return post(self.address, body, headers, now, seconds=self.seconds)
