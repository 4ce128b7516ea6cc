"""A board of issues: the values it is made of, and the verbs that tickets are kept in step with it by."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from interlock.errors import TrackerError

__all__ = ["Board", "BoardAddress", "BoardItem", "Field", "Option", "SetUp", "place"]

_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}")
_REPO = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_PROJECT = re.compile(r"[1-9][0-9]{0,8}")


class Option(msgspec.Struct, frozen=True):
    """A value that a field may have; its colour is one of GitHub's: GRAY, BLUE, GREEN, YELLOW and so on."""

    name: str
    color: str
    description: str = ""


class Field(msgspec.Struct, frozen=True):
    """A single-select field of a board, as it should be."""

    name: str
    options: tuple[Option, ...]


class BoardItem(msgspec.Struct, frozen=True):
    """One issue on the board, as it was when it was read."""

    id: str
    issue: str
    """The node id of the issue, which it keeps on every board."""
    number: int
    title: str
    body: str
    url: str
    is_open: bool
    fields: Mapping[str, str]
    """The names of the single-select fields that are set, and of the options they are set to."""
    labels: tuple[str, ...]
    assignees: tuple[str, ...]
    updated: str
    """When the issue or its card last changed."""
    is_planned: bool = True
    """Whether it was not closed as not planned."""


class BoardAddress(msgspec.Struct, frozen=True):
    """A repository, and a project of a user or an organisation, on GitHub."""

    owner: str
    repo: str
    project_owner: str
    project: int


class SetUp(msgspec.Struct, frozen=True):
    """What setting up changed: the fields that were made, and the options that others got besides theirs."""

    project_url: str
    created: tuple[str, ...]
    added: Mapping[str, tuple[str, ...]]


class Board(Protocol):
    """A board. Every verb may be called again after any failure, and leads to the same end.

    Where GitHub does not say what came of a write, a verb looks for itself; it raises `tracker_unsure` only where it
    cannot know. A marker is one line of text, an HTML comment, that nothing else on the board has.
    """

    def set_up(self, fields: Sequence[Field]) -> SetUp:
        """Make the fields and options that are missing. What people added, and every value of an item, stays."""

    def items(self) -> list[BoardItem]:
        """The issues of the repository on the board; nothing archived, no drafts or pull requests, nothing hidden."""

    def item(self, issue: str) -> BoardItem | None:
        """One issue by its node id, as it stands on the board; None if it is not on it, or gone."""

    def create(self, title: str, body: str, marker: str) -> BoardItem:
        """Make an issue that ends in the marker, unless there is one, and put it on the board."""

    def add(self, issue: str) -> BoardItem | None:
        """Put an issue on the board, unless it is there; None where there is no such issue any more."""

    def set(self, item: BoardItem, field: str, option: str | None) -> None:
        """Set a field of an item to an option; None clears it."""

    def edit(self, item: BoardItem, *, title: str | None = None, body: str | None = None) -> None:
        """Replace the title, the whole body, or both."""

    def comment(self, item: BoardItem, body: str, marker: str) -> str:
        """Post a comment that has the marker as one of its lines, unless there is one; the comment's address."""

    def close(self, item: BoardItem, *, completed: bool) -> None:
        """Close the issue as completed or as not planned; one that is closed stays as it is."""

    def reopen(self, item: BoardItem) -> None:
        """Open the issue again; one that is open stays as it is."""


def place(
    owner: str | None, repo: str | None, project: int | str | None, project_owner: str | None = None
) -> BoardAddress:
    """The place that the settings name; a project without an owner is of the repository's owner."""
    checked = (
        _checked("owner", owner, _OWNER),
        _checked("repository", repo, _REPO),
        _checked("owner of the project", project_owner or owner, _OWNER),
    )
    return BoardAddress(*checked, int(_checked("number of the project", project, _PROJECT)))


def _checked(what: str, value: int | str | None, pattern: re.Pattern[str]) -> str:
    text = "" if value is None else str(value)
    if pattern.fullmatch(text):
        return text
    problem = f"{text[:100]!r} is none" if text else "is not set"
    message = f"The {what} on GitHub {problem}."
    hint = "Give the repository as OWNER/NAME and the number that the project has in its address, …/projects/NUMBER."
    raise TrackerError("tracker_unconfigured", message, hint)
