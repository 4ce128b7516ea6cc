"""Sending beside whoever writes: a thread a channel, which reads what is committed. Nothing waits for it.

At the end each channel has one more turn, and a few seconds for it; what is left stays in the outbox for the next.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from interlock.errors import InterlockError
from interlock.work.notifying.delivery import Sender

__all__ = ["begin", "sending"]

log = logging.getLogger("interlock.notify")

_LOOK_SECONDS: Final = 0.25


def begin(posts: Sequence[Sender]) -> None:
    """Let new channels begin with what happens from now on."""
    for post in posts:
        try:
            post.begin()
        except InterlockError as error:
            log.debug("the channel %s cannot begin: %s", post.name, error.code)


@contextmanager
def sending(posts: Sequence[Sender], *, grace: float | None = None) -> Iterator[None]:
    """Send what is due while something else goes on, and once more when it has ended: each has its grace for it."""
    ending = threading.Event()
    begin(posts)
    threads = [
        threading.Thread(target=_work, args=(post, ending), name=f"notify-{post.name}", daemon=True) for post in posts
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ending.set()
        now = time.monotonic()
        for post, thread in zip(posts, threads, strict=True):
            until = now + (post.grace if grace is None else grace)
            thread.join(max(0.0, until - time.monotonic()))


def _work(post: Sender, ending: threading.Event) -> None:
    """Look again and again; the last time after the end."""
    while True:
        is_last = ending.is_set()
        try:
            post.turn()
        except InterlockError as error:  # the journal is away, or another sender took over
            log.debug("the channel %s could not be served: %s", post.name, error.code)
        except Exception:  # the edge of a thread: what it cannot do, it says, and the driver goes on
            log.exception("the channel %s failed", post.name)
        if is_last:
            return
        ending.wait(_LOOK_SECONDS)
