"""A board that is a project on GitHub, Projects V2."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from interlock.errors import TrackerError
from interlock.world.github import documents
from interlock.world.github.answers import ResponseObject
from interlock.world.github.asking import is_from_here, pages, settled
from interlock.world.github.board import BoardAddress, BoardItem, Field, SetUp
from interlock.world.github.cards import read_item
from interlock.world.github.credentials import HOST, find_token
from interlock.world.github.fields import Ids, ProjectFields
from interlock.world.github.transport import QUICK, URL, Transport, safe

__all__ = ["GitHub", "connect"]

_API_HOST = "api.github.com"
_MARKER = re.compile(r"<!--[^\r\n]+-->")


def connect(place: BoardAddress, environment: Mapping[str, str], *, quick: bool = False) -> GitHub:
    """The board at a place, with the token that the environment or `gh` gives.

    A quick one gives up at once where GitHub does not answer. The address is the environment's too (RALPH_GITHUB_API),
    and never a file's of the repository: the token goes there.
    """
    address = environment.get("RALPH_GITHUB_API") or URL
    host = safe(address).host
    host = HOST if host == _API_HOST else host
    token = find_token(environment, host)
    if quick:
        return GitHub(Transport(token, url=address, patience=0.0, attempts=1, time_outs=QUICK), place)
    return GitHub(Transport(token, url=address), place)


class _Home(msgspec.Struct, frozen=True):
    """What GitHub calls the repository and the project of a place."""

    repository: str
    project: str
    project_url: str


class _Comment(msgspec.Struct, frozen=True):
    id: str
    url: str
    is_ours: bool


class GitHub:
    """The board over a connection, which it closes in the end. For one thread at a time."""

    def __init__(self, transport: Transport, place: BoardAddress) -> None:
        self._transport = transport
        self._place = place
        self._found: tuple[_Home, ProjectFields] | None = None
        self._marked: dict[str, tuple[int, str]] = {}
        self._newest = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    def disconnect(self) -> None:
        """Let go of the connection; `close` is a verb."""
        self._transport.close()

    def set_up(self, fields: Sequence[Field]) -> SetUp:
        home, known = self._home()
        created, added = known.set_up(fields)
        return SetUp(home.project_url, created, added)

    def items(self) -> list[BoardItem]:
        home, _ = self._home()
        every = pages(self._transport, documents.ITEMS, {"project": home.project}, "items")
        found = (read_item(node, home.repository) for page in every for node in page)
        # A card that somebody moves while we turn the pages can be on two of them.
        return list({item.id: item for item in found if item is not None}.values())

    def item(self, issue: str) -> BoardItem | None:
        home, _ = self._home()
        try:
            for page in pages(self._transport, documents.ITEM, {"issue": issue}, "projectItems"):
                for node in page:
                    if node.node("project").text("id") == home.project:
                        return read_item(node, home.repository)
        except TrackerError as error:
            if not _is_missing(error):
                raise
        return None

    def create(self, title: str, body: str, marker: str) -> BoardItem:
        home, _ = self._home()
        text = f"{body}\n\n{_checked(marker)}"
        issue = self._find_issue(marker) or settled(
            lambda: self._create_issue(title, text),
            lambda: self._find_issue(marker),
            is_repeatable=False,
        )
        item = self.add(issue)
        if item is None:
            message = f"The issue {title!r} was made, and is not there any more."
            raise TrackerError("tracker_failed", message, f"Look at {home.project_url}, and call again.")
        return item

    def add(self, issue: str) -> BoardItem | None:
        home, _ = self._home()
        try:
            item = settled(lambda: self._add(issue), lambda: self.item(issue))
        except TrackerError as error:
            if not _is_missing(error):
                raise
            return None
        if item is None:
            message = "The issue was put on the board, and GitHub does not show it there: its card may be archived."
            raise TrackerError("tracker_failed", message, f"Look at {home.project_url}, and call again.")
        return item

    def set(self, item: BoardItem, field: str, option: str | None) -> None:
        _, fields = self._home()
        ids, failure = fields.ids(field, option), None
        try:
            if self._put(item, field, option, ids):
                return
        except TrackerError as error:
            if error.code != "tracker_failed":
                raise
            failure = error
        # Since its id was read, the option may have been made anew (the id is refused), or been renamed (it is taken,
        # and the card now stands under another name).
        again = fields.ids(field, option, is_fresh=True)
        if again != ids:
            self._put(item, field, option, again)
        elif failure is not None:
            raise failure

    def edit(self, item: BoardItem, *, title: str | None = None, body: str | None = None) -> None:
        changes = {name: value for name, value in (("title", title), ("body", body)) if value is not None}
        if not changes:
            return
        variables = {"input": {"id": item.issue, **changes}}

        def look() -> bool | None:
            issue = self._issue(item)
            return all(issue.text(name) == value for name, value in changes.items()) or None

        settled(lambda: self._did(documents.UPDATE_ISSUE, variables), look)

    def comment(self, item: BoardItem, body: str, marker: str) -> str:
        if _checked(marker) not in body.splitlines():
            raise ValueError("the marker is no line of the comment")
        found = self._comments(item, marker) or settled(
            lambda: [self._post(item, body)],
            lambda: self._comments(item, marker) or None,
            is_repeatable=False,
        )
        for double in found[1:]:
            if double.is_ours:
                self._delete(item, marker, double)
        return found[0].url

    def close(self, item: BoardItem, *, completed: bool) -> None:
        variables = {"issue": item.issue, "reason": "COMPLETED" if completed else "NOT_PLANNED"}
        if self._is_open(item):
            settled(lambda: self._did(documents.CLOSE_ISSUE, variables), lambda: not self._is_open(item) or None)

    def reopen(self, item: BoardItem) -> None:
        if not self._is_open(item):
            settled(
                lambda: self._did(documents.REOPEN_ISSUE, {"issue": item.issue}), lambda: self._is_open(item) or None
            )

    def _home(self) -> tuple[_Home, ProjectFields]:
        if self._found is None:
            home = self._look_up()
            self._found = home, ProjectFields(self._transport, home.project)
        return self._found

    def _look_up(self) -> _Home:
        at = self._place
        variables = {"owner": at.owner, "repo": at.repo, "projectOwner": at.project_owner, "project": at.project}
        answer = self._transport.query(documents.HOME, variables)
        owner = answer.maybe("repositoryOwner")
        project = None if owner is None else owner.maybe("projectV2")
        if project is None:
            message = f"GitHub has no project {at.project} of {at.project_owner}, or the token may not see it."
            hint = "Look for its number on GitHub, or run `gh auth refresh -s project`."
            raise TrackerError("tracker_failed", message, hint)
        return _Home(answer.node("repository").text("id"), project.text("id"), project.text("url"))

    def _find_issue(self, marker: str) -> str | None:
        """The oldest issue of the repository that has the marker.

        GitHub's search lags behind, so issues are read themselves, newest first: all of them once, and afterwards
        until a page has nothing new.
        """
        home, _ = self._home()
        newest = self._newest
        for page in pages(self._transport, documents.ISSUES, {"repository": home.repository}, "issues"):
            for node in page:
                self._remember(node)
            newest = max([newest, *(node.number("number") for node in page)])
            if all(node.number("number") <= self._newest for node in page):
                break
        self._newest = newest
        return self._marked[marker][1] if marker in self._marked else None

    def _remember(self, issue: ResponseObject) -> None:
        if is_from_here(issue):
            this = issue.number("number"), issue.text("id")
            for line in filter(_MARKER.fullmatch, _lines(issue)):
                self._marked[line] = min(self._marked.get(line, this), this)

    def _create_issue(self, title: str, body: str) -> str:
        home, _ = self._home()
        variables = {"repository": home.repository, "title": title, "body": body}
        answer = self._transport.mutate(documents.CREATE_ISSUE, variables)
        return answer.node("createIssue").node("issue").text("id")

    def _add(self, issue: str) -> BoardItem | None:
        """Put an issue on the board; GitHub gives the card that is there already, if one is."""
        home, _ = self._home()
        answer = self._transport.mutate(documents.ADD_ITEM, {"project": home.project, "issue": issue})
        return read_item(answer.node("addProjectV2ItemById").node("item"), home.repository)

    def _put(self, item: BoardItem, field: str, option: str | None, ids: Ids) -> bool:
        """Set or clear a field; whether GitHub then shows the option under its name."""
        home, _ = self._home()
        variables = {"project": home.project, "item": item.id, "field": ids.field}

        def write() -> bool:
            if ids.option is None:
                return self._did(documents.CLEAR_FIELD, variables)
            answer = self._transport.mutate(documents.SET_FIELD, {**variables, "option": ids.option, "name": field})
            shown = answer.node("updateProjectV2ItemFieldValue").node("projectV2Item").maybe("fieldValueByName")
            return shown is not None and shown.members.get("name") == option

        def look() -> bool | None:
            now = self.item(item.issue)
            return (now is not None and now.fields.get(field) == option) or None

        return settled(write, look)

    def _did(self, document: str, variables: Mapping[str, object]) -> bool:
        """Make a mutation whose answer says nothing but that it was made."""
        self._transport.mutate(document, variables)
        return True

    def _issue(self, item: BoardItem) -> ResponseObject:
        return self._transport.query(documents.ISSUE, {"issue": item.issue}).node("node")

    def _is_open(self, item: BoardItem) -> bool:
        return self._issue(item).text("state") == "OPEN"

    def _comments(self, item: BoardItem, marker: str) -> list[_Comment]:
        """The comments of an issue that have the marker, oldest first."""
        every = pages(self._transport, documents.COMMENTS, {"issue": item.issue}, "comments")
        return [
            _Comment(node.text("id"), node.text("url"), node.flag("viewerDidAuthor"))
            for page in every
            for node in page
            if is_from_here(node) and marker in _lines(node)
        ]

    def _post(self, item: BoardItem, body: str) -> _Comment:
        answer = self._transport.mutate(documents.ADD_COMMENT, {"issue": item.issue, "body": body})
        node = answer.node("addComment").node("commentEdge").node("node")
        return _Comment(node.text("id"), node.text("url"), is_ours=True)

    def _delete(self, item: BoardItem, marker: str, comment: _Comment) -> None:
        def look() -> bool | None:
            return all(one.id != comment.id for one in self._comments(item, marker)) or None

        try:
            settled(lambda: self._did(documents.DELETE_COMMENT, {"comment": comment.id}), look)
        except TrackerError as error:
            if not _is_missing(error):
                raise


def _checked(marker: str) -> str:
    if not _MARKER.fullmatch(marker):
        raise ValueError("a marker is one line, an HTML comment")
    return marker


def _lines(node: ResponseObject) -> list[str]:
    return [line.strip() for line in node.text("body").splitlines()]


def _is_missing(error: TrackerError) -> bool:
    return "NOT_FOUND" in error.details.get("types", ())
