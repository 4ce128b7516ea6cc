"""A card of the board, read from what GitHub answers."""

from __future__ import annotations

from interlock.world.github.answers import ResponseObject
from interlock.world.github.board import BoardItem

__all__ = ["read_item"]


def read_item(node: ResponseObject, repository: str) -> BoardItem | None:
    """An item of the project; None where it was archived, is no issue, or one of another repository."""
    if node.flag("isArchived"):
        return None
    issue = node.maybe("content")
    if issue is None or issue.text("__typename") != "Issue" or issue.node("repository").text("id") != repository:
        return None
    return BoardItem(
        id=node.text("id"),
        issue=issue.text("id"),
        number=issue.number("number"),
        title=issue.text("title"),
        body=issue.text("body"),
        url=issue.text("url"),
        is_open=issue.text("state") == "OPEN",
        fields=dict(_selected(node)),
        labels=_names(issue, "labels", "name"),
        assignees=_names(issue, "assignees", "login"),
        is_planned=issue.members.get("stateReason") != "NOT_PLANNED",
        updated=max(node.text("updatedAt"), issue.text("updatedAt")),
    )


def _selected(node: ResponseObject) -> list[tuple[str, str]]:
    values = node.node("fieldValues").each("nodes")
    chosen = (one for one in values if one.text("__typename") == "ProjectV2ItemFieldSingleSelectValue")
    return [(one.node("field").text("name"), one.text("name")) for one in chosen if one.members.get("name") is not None]


def _names(issue: ResponseObject, connection: str, name: str) -> tuple[str, ...]:
    found = issue.maybe(connection)
    return () if found is None else tuple(one.text(name) for one in found.each("nodes"))
