"""What a GitHub that is played knows, what it does with each of our operations, and what people do on it meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

__all__ = ["PROJECT", "US", "Card", "Comment", "Data", "GitHubState", "Issue", "Refused", "Select"]

US = "ralph"
"""Who the token belongs to."""
HERE, ELSEWHERE = "R_here", "R_elsewhere"
PROJECT = "PVT_board"
INSIDERS = {US: "OWNER", "ada": "COLLABORATOR"}

Data = dict[str, Any]


class Refused(Exception):
    """An error that GitHub answers, with its type."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Comment(msgspec.Struct):
    id: str
    author: str
    body: str


class Issue(msgspec.Struct):
    id: str
    number: int
    title: str
    body: str
    author: str
    repository: str
    updated: str
    state: str = "OPEN"
    reason: str | None = None
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    comments: list[Comment] = msgspec.field(default_factory=list)


class Select(msgspec.Struct):
    """A field of the project; one without options is no single-select field."""

    id: str
    name: str
    options: list[dict[str, str]] | None


class Card(msgspec.Struct):
    id: str
    kind: str
    content: Issue | None
    updated: str
    values: dict[str, str] = msgspec.field(default_factory=dict)
    """Ids of fields, and of the options they are set to."""
    is_archived: bool = False


class GitHubState:
    """A repository `acme/rocket` and project 7 of `acme`, a user or an organisation."""

    def __init__(self, *, owner_type: str = "Organization", page: int = 100) -> None:
        self.owner_type = owner_type
        self.page = page
        self.issues: list[Issue] = []
        self.fields: list[Select] = [Select("F_title", "Title", None)]
        self.cards: list[Card] = []
        self._made = 0
        self.operations: Mapping[str, Callable[[Data], Data]] = {
            "Home": self._home,
            "Fields": self._read_fields,
            "CreateField": self._create_field,
            "UpdateField": self._update_field,
            "Items": self._items,
            "Item": self._item,
            "AddItem": self._add_item,
            "SetField": self._set_field,
            "ClearField": self._clear_field,
            "Issues": self._issues,
            "Issue": self._issue_state,
            "CreateIssue": self._create_issue,
            "UpdateIssue": self._update_issue,
            "CloseIssue": self._close_issue,
            "ReopenIssue": self._reopen_issue,
            "Comments": self._comments,
            "AddComment": self._add_comment,
            "DeleteComment": self._delete_comment,
        }

    # What people do on it, and what a test wants to see

    def add_issue(
        self,
        title: str,
        body: str = "",
        *,
        author: str = "ada",
        elsewhere: bool = False,
        on_board: bool = True,
        labels: tuple[str, ...] = (),
        assignees: tuple[str, ...] = (),
    ) -> Issue:
        issue = Issue(
            self._new("I"),
            max((one.number for one in self.issues), default=0) + 1,
            title,
            body,
            author,
            ELSEWHERE if elsewhere else HERE,
            self._now(),
            labels=labels,
            assignees=assignees,
        )
        self.issues.append(issue)
        if on_board:
            self.cards.append(Card(self._new("PVTI"), "ISSUE", issue, self._now()))
        return issue

    def add_other(self, kind: str) -> None:
        """A card that is no issue: DRAFT_ISSUE, PULL_REQUEST or REDACTED."""
        self.cards.append(Card(self._new("PVTI"), kind, None, self._now()))

    def add_field(self, name: str, options: Sequence[str] | None) -> Select:
        made = None if options is None else [self._option({"name": one, "color": "GRAY"}) for one in options]
        self.fields.append(Select(self._new("F"), name, made))
        return self.fields[-1]

    def issue(self, number: int) -> Issue:
        return next(one for one in self.issues if one.number == number)

    def card(self, number: int) -> Card:
        return next(one for one in self.cards if one.content is not None and one.content.number == number)

    def select(self, name: str) -> Select:
        return next(one for one in self.fields if one.name == name)

    def move(self, number: int, name: str, option: str) -> None:
        chosen = self.select(name)
        self.card(number).values[chosen.id] = next(o["id"] for o in chosen.options or () if o["name"] == option)
        self.card(number).updated = self._now()

    def value(self, number: int, name: str) -> str | None:
        """The option that a card stands under."""
        return self._values(self.card(number)).get(name)

    def close(self, number: int, reason: str = "COMPLETED") -> None:
        self.issue(number).state, self.issue(number).reason = "CLOSED", reason

    def reopen(self, number: int) -> None:
        self.issue(number).state, self.issue(number).reason = "OPEN", "REOPENED"

    def take_off(self, number: int) -> None:
        """Take an issue's card off the board."""
        self.cards.remove(self.card(number))

    def delete(self, number: int) -> None:
        """Delete an issue, and its card with it."""
        self.take_off(number)
        self.issues.remove(self.issue(number))

    def clear(self, number: int, name: str) -> None:
        self.card(number).values.pop(self.select(name).id, None)

    def comment(self, number: int, author: str, body: str) -> Comment:
        made = Comment(self._new("IC"), author, body)
        self.issue(number).comments.append(made)
        return made

    def rename_option(self, name: str, old: str, new: str) -> None:
        next(one for one in self.select(name).options or () if one["name"] == old)["name"] = new

    def delete_option(self, name: str, option: str) -> None:
        chosen = self.select(name)
        self._replace(chosen, [one for one in chosen.options or () if one["name"] != option])

    def remake_option(self, name: str, option: str) -> None:
        """Delete an option and make it anew: it has its name, and another id."""
        color = next(one["color"] for one in self.select(name).options or () if one["name"] == option)
        self.delete_option(name, option)
        (self.select(name).options or []).append(self._option({"name": option, "color": color}))

    def snapshot(self) -> Data:
        """All there is, but for the ids and times."""
        return {
            "issues": [
                (one.title, one.body, one.state, one.reason, [(c.author, c.body) for c in one.comments])
                for one in self.issues
            ],
            "cards": [(card.content and card.content.title, self._values(card)) for card in self.cards],
            "fields": [
                (one.name, [(o["name"], o["color"], o["description"]) for o in one.options or ()])
                for one in self.fields
            ],
        }

    # The operations

    def _home(self, given: Data) -> Data:
        if (given["owner"], given["repo"]) != ("acme", "rocket"):
            raise Refused("NOT_FOUND", f"Could not resolve to a Repository with the name '{given['repo']}'.")
        if given["projectOwner"] != "acme":
            return {"repository": {"id": HERE}, "repositoryOwner": None}
        if given["project"] != 7:
            raise Refused("NOT_FOUND", f"Could not resolve to a ProjectV2 with the number {given['project']}.")
        project = {"id": PROJECT, "url": "https://github.com/orgs/acme/projects/7"}
        owner = {"__typename": self.owner_type, "projectV2": project}
        return {"repository": {"id": HERE}, "repositoryOwner": owner}

    def _read_fields(self, given: Data) -> Data:
        self._known(given["project"], PROJECT)
        nodes: list[Data] = [
            {"__typename": "ProjectV2Field", "id": one.id, "name": one.name}
            if one.options is None
            else {"__typename": "ProjectV2SingleSelectField", "id": one.id, "name": one.name, "options": one.options}
            for one in self.fields
        ]
        return {"node": {"__typename": "ProjectV2", "fields": self._cut(nodes, given)}}

    def _create_field(self, given: Data) -> Data:
        self._known(given["project"], PROJECT)
        if any(one.name == given["name"] for one in self.fields):
            raise Refused("UNPROCESSABLE", "Name has already been taken")
        self.fields.append(Select(self._new("F"), given["name"], [self._option(one) for one in given["options"]]))
        return {"createProjectV2Field": {}}

    def _update_field(self, given: Data) -> Data:
        """As GitHub does it: what comes without an id is a new option, and what does not come is lost."""
        chosen = next(one for one in self.fields if one.id == given["field"])
        self._replace(chosen, [one if "id" in one else self._option(one) for one in given["options"]])
        return {"updateProjectV2Field": {}}

    def _items(self, given: Data) -> Data:
        self._known(given["project"], PROJECT)
        nodes = [self._card_data(card) for card in self.cards]
        return {"node": {"__typename": "ProjectV2", "items": self._cut(nodes, given)}}

    def _item(self, given: Data) -> Data:
        issue = self._issue(given["issue"])
        others = [{**self._card_data(Card("PVTI_other", "ISSUE", issue, "")), "project": {"id": "PVT_other"}}]
        ours = [card for card in self.cards if card.content is issue and not card.is_archived]
        nodes = [self._card_data(card) for card in ours]
        return {"node": {"__typename": "Issue", "projectItems": self._cut(others + nodes, given)}}

    def _add_item(self, given: Data) -> Data:
        self._known(given["project"], PROJECT)
        issue = self._issue(given["issue"])
        card = next((one for one in self.cards if one.content is issue), None)
        if card is None:
            card = Card(self._new("PVTI"), "ISSUE", issue, self._now())
            self.cards.append(card)
        return {"addProjectV2ItemById": {"item": self._card_data(card)}}

    def _set_field(self, given: Data) -> Data:
        card, chosen = self._card_and_field(given)
        if not any(one["id"] == given["option"] for one in chosen.options or ()):
            raise Refused("VALIDATION", "The single select option Id does not belong to the field")
        card.values[chosen.id] = given["option"]
        card.updated = self._now()
        value = self._value_data(given["name"], self._values(card)[given["name"]])
        return {"updateProjectV2ItemFieldValue": {"projectV2Item": {"fieldValueByName": value}}}

    def _clear_field(self, given: Data) -> Data:
        card, chosen = self._card_and_field(given)
        card.values.pop(chosen.id, None)
        card.updated = self._now()
        return {"clearProjectV2ItemFieldValue": {}}

    def _issues(self, given: Data) -> Data:
        self._known(given["repository"], HERE)
        ours = [self._issue_data(one) for one in reversed(self.issues) if one.repository == HERE]
        return {"node": {"__typename": "Repository", "issues": self._cut(ours, given)}}

    def _issue_state(self, given: Data) -> Data:
        return {"node": self._issue_data(self._issue(given["issue"]))}

    def _create_issue(self, given: Data) -> Data:
        self._known(given["repository"], HERE)
        _not_too_long(given["body"])
        issue = self.add_issue(given["title"], given["body"], author=US, on_board=False)
        return {"createIssue": {"issue": self._issue_data(issue)}}

    def _update_issue(self, given: Data) -> Data:
        issue = self._issue(given["input"]["id"])
        _not_too_long(given["input"].get("body", ""))
        issue.title = given["input"].get("title", issue.title)
        issue.body = given["input"].get("body", issue.body)
        issue.updated = self._now()
        return {"updateIssue": {}}

    def _close_issue(self, given: Data) -> Data:
        issue = self._issue(given["issue"])
        issue.state, issue.reason, issue.updated = "CLOSED", given["reason"], self._now()
        return {"closeIssue": {}}

    def _reopen_issue(self, given: Data) -> Data:
        issue = self._issue(given["issue"])
        issue.state, issue.reason, issue.updated = "OPEN", "REOPENED", self._now()
        return {"reopenIssue": {}}

    def _comments(self, given: Data) -> Data:
        issue = self._issue(given["issue"])
        nodes = [
            {"id": one.id, "url": self._url(issue, one), "body": one.body, **_authorship(one.author)}
            for one in issue.comments
        ]
        return {"node": {"__typename": "Issue", "comments": self._cut(nodes, given)}}

    def _add_comment(self, given: Data) -> Data:
        issue = self._issue(given["issue"])
        _not_too_long(given["body"])
        made = self.comment(issue.number, US, given["body"])
        return {"addComment": {"commentEdge": {"node": {"id": made.id, "url": self._url(issue, made)}}}}

    def _delete_comment(self, given: Data) -> Data:
        for issue in self.issues:
            kept = [one for one in issue.comments if one.id != given["comment"]]
            if len(kept) < len(issue.comments):
                issue.comments = kept
                return {"deleteIssueComment": {}}
        raise _unresolved(given["comment"])

    # What they are made of

    def _card_data(self, card: Card) -> Data:
        contents: Mapping[str, Data | None] = {
            "DRAFT_ISSUE": {"__typename": "DraftIssue"},
            "PULL_REQUEST": {"__typename": "PullRequest"},
            "REDACTED": None,
        }
        values = [self._value_data(name, option) for name, option in self._values(card).items()]
        return {
            "id": card.id,
            "updatedAt": card.updated,
            "isArchived": card.is_archived,
            "project": {"id": PROJECT},
            "fieldValues": {"nodes": [{"__typename": "ProjectV2ItemFieldTextValue"}, *values]},
            "content": contents[card.kind] if card.content is None else self._issue_data(card.content),
        }

    def _value_data(self, name: str, option: str) -> Data:
        field = {"__typename": "ProjectV2SingleSelectField", "name": name}
        return {"__typename": "ProjectV2ItemFieldSingleSelectValue", "name": option, "field": field}

    def _issue_data(self, issue: Issue) -> Data:
        return {
            "__typename": "Issue",
            "id": issue.id,
            "number": issue.number,
            "title": issue.title,
            "body": issue.body,
            "url": f"https://github.com/acme/rocket/issues/{issue.number}",
            "state": issue.state,
            "stateReason": issue.reason,
            "updatedAt": issue.updated,
            "repository": {"id": issue.repository},
            "labels": {"nodes": [{"name": one} for one in issue.labels]},
            "assignees": {"nodes": [{"login": one} for one in issue.assignees]},
            **_authorship(issue.author),
        }

    def _values(self, card: Card) -> dict[str, str]:
        return dict(self._named(card))

    def _named(self, card: Card) -> Iterator[tuple[str, str]]:
        for one in self.fields:
            for option in one.options or ():
                if card.values.get(one.id) == option["id"]:
                    yield one.name, option["name"]

    def _replace(self, chosen: Select, options: list[dict[str, str]]) -> None:
        chosen.options = options
        kept = {one["id"] for one in options}
        for card in self.cards:
            if card.values.get(chosen.id, "") not in kept:
                card.values.pop(chosen.id, None)

    def _option(self, given: Mapping[str, str]) -> dict[str, str]:
        return {"id": self._new("o"), "description": "", **given}

    def _card_and_field(self, given: Data) -> tuple[Card, Select]:
        self._known(given["project"], PROJECT)
        card = next((one for one in self.cards if one.id == given["item"]), None)
        chosen = next((one for one in self.fields if one.id == given["field"]), None)
        if card is None or chosen is None:
            raise _unresolved(given["item"] if card is None else given["field"])
        return card, chosen

    def _issue(self, node: str) -> Issue:
        found = next((one for one in self.issues if one.id == node), None)
        if found is None:
            raise _unresolved(node)
        return found

    def _known(self, node: str, expected: str) -> None:
        if node != expected:
            raise _unresolved(node)

    def _cut(self, nodes: Sequence[Data], given: Data) -> Data:
        """The page that was asked for."""
        start = int(given.get("after") or 0)
        end = start + self.page
        return {"nodes": nodes[start:end], "pageInfo": {"hasNextPage": end < len(nodes), "endCursor": str(end)}}

    def _url(self, issue: Issue, comment: Comment) -> str:
        return f"https://github.com/acme/rocket/issues/{issue.number}#issuecomment-{comment.id}"

    def _new(self, prefix: str) -> str:
        return f"{prefix}_{self._next()}"

    def _now(self) -> str:
        seconds = self._next()
        return f"2026-01-01T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}Z"

    def _next(self) -> int:
        self._made += 1
        return self._made


def _authorship(author: str) -> Data:
    return {"viewerDidAuthor": author == US, "authorAssociation": INSIDERS.get(author, "NONE")}


def _not_too_long(body: str) -> None:
    if len(body) > 65_536:
        raise Refused("UNPROCESSABLE", "Body is too long (maximum is 65536 characters)")


def _unresolved(node: str) -> Refused:
    return Refused("NOT_FOUND", f"Could not resolve to a node with the global id of '{node}'")
