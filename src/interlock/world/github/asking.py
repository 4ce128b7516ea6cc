"""How the verbs ask: page by page, and again where a write was left unanswered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from interlock.errors import TrackerError
from interlock.world.github.answers import ResponseObject
from interlock.world.github.transport import Transport

__all__ = ["is_from_here", "pages", "settled"]

_INSIDERS = {"OWNER", "MEMBER", "COLLABORATOR"}

T = TypeVar("T")


def pages(
    transport: Transport, document: str, variables: Mapping[str, object], name: str
) -> Iterator[list[ResponseObject]]:
    """The pages of a connection of the node that a document asks for, each as the nodes on it.

    There are none where the node is null or of a kind that has no such connection.
    """
    after: str | None = None
    while True:
        node = transport.query(document, {**variables, "after": after}).maybe("node")
        connection = None if node is None else node.maybe(name)
        if connection is None:
            return
        yield connection.each("nodes")
        page = connection.node("pageInfo")
        if not page.flag("hasNextPage"):
            return
        before, after = after, page.text("endCursor")
        if after == before:
            raise TrackerError("tracker_failed", f"GitHub gives the same page of {name} again.", "Try again later.")


def settled(write: Callable[[], T], look: Callable[[], T | None], *, is_repeatable: bool = True) -> T:
    """What a write leads to. Where GitHub does not say, look; where it is not there, write once more.

    What must not be there twice is not repeatable: not to be seen yet does not mean that it will never come.
    """
    try:
        return write()
    except TrackerError as error:
        if error.code != "tracker_unsure":
            raise
        unsure = error
    try:
        found = look()
    except TrackerError as blind:
        raise unsure from blind
    if found is not None:
        return found
    if not is_repeatable:
        raise unsure
    return write()


def is_from_here(node: ResponseObject) -> bool:
    """Whether we or people of the repository wrote it: on a public one, strangers can write our markers too."""
    return node.flag("viewerDidAuthor") or node.text("authorAssociation") in _INSIDERS
