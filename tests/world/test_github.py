"""The board on GitHub against a server that plays it: what each verb does, and that it is done once whatever fails.

`tests/node/test_github.py` runs all of this again with every request and answer held against GitHub's schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial

import msgspec
import pytest

from interlock.errors import TrackerError
from interlock.world.github import (
    Board,
    BoardAddress,
    BoardItem,
    Field,
    GitHub,
    Option,
    SetUp,
    connect,
    documents,
    place,
)
from interlock.world.github.transport import Transport
from world.github_lines import connected
from world.github_server import FAULTS, TOKEN, Check, Fault, GitHubServer
from world.github_state import US, GitHubState

PLACE = BoardAddress("acme", "rocket", "acme", 7)
STATE, BACKLOG, DONE = "Workflow State", "Backlog", "Done"
FIELDS = (
    Field(STATE, (Option(BACKLOG, "GRAY", "Not begun"), Option("In Progress", "ORANGE"), Option(DONE, "GREEN"))),
    Field("Priority", (Option("P0", "RED"), Option("P1", "ORANGE"))),
)
MARKER = "<!-- ralph: 01J-create -->"
NOTE = "<!-- ralph: 01J-note -->"
COMMENT = f"Moved to **Done**.\n\n{NOTE}"


class Waits(msgspec.Struct):
    """Sleeps without sleeping, and keeps for how long."""

    seconds: list[float]

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def check() -> Check | None:
    """What holds the requests against GitHub's schema; nothing here."""
    return None


@pytest.fixture
def waits() -> Waits:
    return Waits([])


@pytest.fixture
def served(check: Check | None) -> Iterator[Callable[[GitHubState], GitHubServer]]:
    """Starts servers, and stops them in the end; no request may have been against the schema."""
    servers: list[GitHubServer] = []

    def serve(state: GitHubState) -> GitHubServer:
        servers.append(GitHubServer(check=check, state=state).__enter__())
        return servers[-1]

    yield serve
    for server in servers:
        server.__exit__()
    assert [one for server in servers for one in server.violations] == []


@pytest.fixture
def server(served: Callable[[GitHubState], GitHubServer]) -> GitHubServer:
    return served(_prepared())


@pytest.fixture
def transport(waits: Waits) -> Iterator[Callable[..., Transport]]:
    """Opens connections to a server, and closes them in the end."""
    opened: list[Transport] = []

    def to(server: GitHubServer, **arguments: object) -> Transport:
        given: dict[str, object] = {"sleep": waits, "now": lambda: 1000.0, "chance": lambda: 0.5}
        opened.append(connected(server, **{**given, **arguments}))
        return opened[-1]

    yield to
    for one in opened:
        one.close()


@pytest.fixture
def board(server: GitHubServer, transport: Callable[..., Transport]) -> GitHub:
    return GitHub(transport(server), PLACE)


def _prepared(page: int = 100) -> GitHubState:
    """A board on which people have worked: #1 is open, #2 is closed, #3 has a comment of ours twice."""
    state = GitHubState(page=page)
    state.add_field(STATE, (BACKLOG, "In Progress", DONE, "Somebody's own"))
    state.add_issue("First", "One", labels=("bug", "urgent"), assignees=("ada",))
    state.add_issue("Second")
    state.issue(2).state, state.issue(2).reason = "CLOSED", "NOT_PLANNED"
    state.add_issue("Third")
    for author, body in (("ada", "Hello"), (US, COMMENT), ("ada", "Thanks"), (US, COMMENT)):
        state.comment(3, author, body)
    state.move(1, STATE, BACKLOG)
    return state


def _item(state: GitHubState, number: int) -> BoardItem:
    """An item as somebody read it earlier."""
    issue, card = state.issue(number), state.card(number)
    return BoardItem(card.id, issue.id, number, issue.title, issue.body, "", issue.state == "OPEN", {}, (), (), "")


def _fails(code: str, call: Callable[[], object]) -> TrackerError:
    with pytest.raises(TrackerError) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.hint
    assert TOKEN not in f"{caught.value} {caught.value.hint} {caught.value.details}"
    return caught.value


# The verbs


def test_setting_up_makes_the_fields_that_are_missing(
    served: Callable[..., GitHubServer], transport: Callable[..., Transport]
) -> None:
    server = served(GitHubState())
    board = GitHub(transport(server), PLACE)
    assert board.set_up(FIELDS) == SetUp("https://github.com/orgs/acme/projects/7", (STATE, "Priority"), {})
    made = [(one["name"], one["color"], one["description"]) for one in server.state.select(STATE).options or ()]
    assert made == [(BACKLOG, "GRAY", "Not begun"), ("In Progress", "ORANGE", ""), (DONE, "GREEN", "")]
    assert board.set_up(FIELDS) == SetUp("https://github.com/orgs/acme/projects/7", (), {})


def test_setting_up_adds_options_and_keeps_the_ids_the_values_and_those_of_others(
    server: GitHubServer, board: GitHub
) -> None:
    server.state.delete_option(STATE, DONE)
    before = [dict(one) for one in server.state.select(STATE).options or ()]
    done = board.set_up(FIELDS)
    assert (done.created, done.added) == (("Priority",), {STATE: (DONE,)})
    after = server.state.select(STATE).options or []
    assert after[:-1] == before
    assert after[-1]["name"] == DONE
    assert "Somebody's own" in [one["name"] for one in after]
    assert server.state.value(1, STATE) == BACKLOG


def test_setting_up_leaves_a_field_of_another_kind_alone(server: GitHubServer, board: GitHub) -> None:
    server.state.add_field("Priority", None)
    assert "'Priority'" in _fails("tracker_failed", partial(board.set_up, FIELDS)).message


def test_the_items_are_the_issues_of_the_repository_on_the_board(server: GitHubServer, board: GitHub) -> None:
    for kind in ("DRAFT_ISSUE", "PULL_REQUEST", "REDACTED"):
        server.state.add_other(kind)
    server.state.add_issue("Of another repository", elsewhere=True)
    server.state.add_issue("On no board", on_board=False)
    first, second, third = board.items()
    assert (first.number, first.title, first.body, first.is_open) == (1, "First", "One", True)
    assert (first.labels, first.assignees, first.fields) == (("bug", "urgent"), ("ada",), {STATE: BACKLOG})
    assert first.url == "https://github.com/acme/rocket/issues/1"
    assert first.updated == server.state.card(1).updated > server.state.issue(1).updated
    assert (second.number, second.is_open, second.fields, third.number) == (2, False, {}, 3)


@pytest.mark.parametrize("page", [1, 2, 3, 100])
def test_everything_is_read_to_its_last_page(
    page: int, served: Callable[..., GitHubServer], transport: Callable[..., Transport]
) -> None:
    server = served(_prepared(page))
    board = GitHub(transport(server), PLACE)
    board.set_up(FIELDS)
    assert [one.number for one in board.items()] == [1, 2, 3]
    assert board.item(server.state.issue(2).id) is not None
    board.comment(_item(server.state, 3), COMMENT, NOTE)
    assert [one.body for one in server.state.issue(3).comments] == ["Hello", COMMENT, "Thanks"]
    server.state.add_issue("Fourth", MARKER)
    server.state.add_issue("Fifth")
    assert board.create("Mine", "", MARKER).number == 4


def test_a_page_that_comes_again_is_not_turned_for_ever(server: GitHubServer, board: GitHub) -> None:
    pages = b'{"data": {"node": {"items": {"nodes": [], "pageInfo": {"hasNextPage": true, "endCursor": "1"}}}}}'
    server.fail("Items", *[Fault(body=pages)] * 5)
    _fails("tracker_failed", board.items)
    assert server.operations.count("Items") == 2


def test_one_item_is_found_by_its_issue(server: GitHubServer, board: GitHub) -> None:
    found = board.item(server.state.issue(1).id)
    assert found is not None
    assert (found, found.id) == (board.items()[0], server.state.card(1).id)
    assert board.item("I_gone") is None
    assert board.item(server.state.add_issue("Not on it", on_board=False).id) is None
    assert board.item(server.state.add_issue("Elsewhere", elsewhere=True).id) is None


@pytest.mark.parametrize("kind", ["User", "Organization"])
def test_a_project_belongs_to_a_user_or_an_organisation(
    kind: str, served: Callable[..., GitHubServer], transport: Callable[..., Transport]
) -> None:
    server = served(GitHubState(owner_type=kind))
    assert GitHub(transport(server), PLACE).items() == []


@pytest.mark.parametrize(
    "wrong",
    [
        BoardAddress("acme", "gone", "acme", 7),
        BoardAddress("acme", "rocket", "nobody", 7),
        BoardAddress("acme", "rocket", "acme", 8),
    ],
)
def test_a_place_that_is_not_there_is_named(
    wrong: BoardAddress, server: GitHubServer, transport: Callable[..., Transport]
) -> None:
    said = _fails("tracker_failed", GitHub(transport(server), wrong).items).message
    assert any(name in said for name in ("gone", "nobody", "8"))


def test_an_issue_is_made_once_and_put_on_the_board(server: GitHubServer, board: GitHub) -> None:
    made = board.create("Fourth", "The text", MARKER)
    assert (made.number, made.title, made.body, made.is_open) == (4, "Fourth", f"The text\n\n{MARKER}", True)
    assert made.id == server.state.card(4).id
    assert board.create("Fourth", "The text", MARKER) == made
    assert [one.title for one in server.state.issues] == ["First", "Second", "Third", "Fourth"]


def test_an_issue_that_was_made_and_not_put_on_the_board_is_put_there(server: GitHubServer, board: GitHub) -> None:
    server.state.add_issue("Fourth", f"The text\r\n\r\n{MARKER}", author=US, on_board=False)
    assert board.create("Fourth", "The text", MARKER).number == 4
    assert server.operations.count("CreateIssue") == 0


@pytest.mark.parametrize("page", [2, 100])
def test_of_two_issues_with_the_marker_it_is_the_older_one(
    page: int, served: Callable[..., GitHubServer], transport: Callable[..., Transport]
) -> None:
    server = served(_prepared(page))
    board = GitHub(transport(server), PLACE)
    server.state.issue(1).body = MARKER
    assert board.create("First", "", MARKER).number == 1
    for title in ("Fourth", "Fifth", "Sixth"):
        server.state.add_issue(title, MARKER, author=US)
    assert board.create("First", "", MARKER).number == 1


def test_a_strangers_issue_with_the_marker_is_not_taken_for_ours(server: GitHubServer, board: GitHub) -> None:
    server.state.add_issue("Do as I say", MARKER, author="mallory")
    assert board.create("Fifth", "", MARKER).number == 5
    assert server.state.add_issue("A colleague's", NOTE, author="ada").number == 6
    assert board.create("Seventh", "", NOTE).number == 6


def test_issues_that_were_looked_at_are_not_read_again(
    served: Callable[..., GitHubServer], transport: Callable[..., Transport]
) -> None:
    server = served(_prepared(page=2))
    for number in range(20):
        server.state.add_issue(f"Old {number}")
    board = GitHub(transport(server), PLACE)
    board.create("One", "", MARKER)
    before = server.operations.count("Issues")
    board.create("Two", "", NOTE)
    assert before == 12
    assert server.operations.count("Issues") - before <= 2


def test_issues_that_could_not_all_be_looked_at_are_read_again(
    served: Callable[..., GitHubServer], transport: Callable[..., Transport]
) -> None:
    server = served(_prepared(page=2))
    server.state.issue(1).body = MARKER
    server.fail("Issues", Fault("yes"), "garbage")
    board = GitHub(transport(server), PLACE)
    _fails("tracker_failed", partial(board.create, "First", "", MARKER))
    assert board.create("First", "", MARKER).number == 1


@pytest.mark.parametrize("wrong", ["", "no comment", "<!-- two\nlines -->", "<!-- one --> and more"])
def test_a_marker_is_one_line_and_an_html_comment(wrong: str, server: GitHubServer, board: GitHub) -> None:
    with pytest.raises(ValueError, match="marker"):
        board.create("Title", "", wrong)
    with pytest.raises(ValueError, match="marker"):
        board.comment(_item(server.state, 1), f"Text\n{wrong}", wrong)
    with pytest.raises(ValueError, match="marker"):
        board.comment(_item(server.state, 1), "Text", NOTE)


def test_a_field_is_set_and_cleared(server: GitHubServer, board: GitHub) -> None:
    item = _item(server.state, 1)
    board.set(item, STATE, DONE)
    assert server.state.value(1, STATE) == DONE
    board.set(item, STATE, None)
    board.set(item, STATE, None)
    assert server.state.value(1, STATE) is None
    assert server.operations.count("Fields") == 1


def test_an_option_that_was_made_anew_is_looked_up_again(server: GitHubServer, board: GitHub) -> None:
    board.set(_item(server.state, 1), STATE, DONE)
    server.state.remake_option(STATE, DONE)
    assert server.state.value(1, STATE) is None
    board.set(_item(server.state, 1), STATE, DONE)
    assert server.state.value(1, STATE) == DONE


def test_an_option_whose_name_another_one_has_now_is_looked_up_again(server: GitHubServer, board: GitHub) -> None:
    board.set(_item(server.state, 1), STATE, DONE)
    server.state.rename_option(STATE, DONE, "Shipped")
    server.state.rename_option(STATE, BACKLOG, DONE)
    board.set(_item(server.state, 1), STATE, DONE)
    assert server.state.value(1, STATE) == DONE


@pytest.mark.parametrize("change", ["deleted", "renamed"])
@pytest.mark.parametrize("is_known", [True, False])
def test_an_option_that_is_gone_is_named(change: str, is_known: bool, server: GitHubServer, board: GitHub) -> None:
    if is_known:
        board.set(_item(server.state, 1), STATE, DONE)
    if change == "deleted":
        server.state.delete_option(STATE, DONE)
    else:
        server.state.rename_option(STATE, DONE, "Shipped")
    error = _fails("tracker_failed", partial(board.set, _item(server.state, 1), STATE, DONE))
    assert f"'{STATE}'" in error.message
    assert f"'{DONE}'" in error.message
    assert "ralph ticket sync --setup" in error.hint


def test_a_field_that_is_not_there_is_named(server: GitHubServer, board: GitHub) -> None:
    error = _fails("tracker_failed", partial(board.set, _item(server.state, 1), "Estimate", None))
    assert "'Estimate'" in error.message


def test_a_card_that_is_gone_is_told_in_githubs_words(server: GitHubServer, board: GitHub) -> None:
    item = _item(server.state, 1)
    server.state.cards.clear()
    assert item.id in _fails("tracker_failed", partial(board.set, item, STATE, DONE)).message


def test_an_issue_is_edited_in_what_is_given_and_nothing_else(server: GitHubServer, board: GitHub) -> None:
    item = _item(server.state, 1)
    board.edit(item)
    assert server.operations == []
    board.edit(item, title="New")
    board.edit(item, body="")
    assert (server.state.issue(1).title, server.state.issue(1).body) == ("New", "")


def test_a_comment_is_posted_once(server: GitHubServer, board: GitHub) -> None:
    item = _item(server.state, 1)
    address = board.comment(item, COMMENT, NOTE)
    assert address == board.comment(item, COMMENT, NOTE)
    [posted] = server.state.issue(1).comments
    assert (posted.body, posted.author) == (COMMENT, US)
    assert address.endswith(posted.id)


def test_our_later_doubles_of_a_comment_are_taken_away_and_nobody_elses(server: GitHubServer, board: GitHub) -> None:
    quoted = server.state.comment(3, "ada", COMMENT)
    text = server.state.comment(3, US, f"It says {NOTE} there.")
    board.comment(_item(server.state, 3), COMMENT, NOTE)
    bodies = [one.body for one in server.state.issue(3).comments]
    assert bodies == ["Hello", COMMENT, "Thanks", quoted.body, text.body]


def test_a_strangers_comment_with_the_marker_is_not_taken_for_ours(server: GitHubServer, board: GitHub) -> None:
    server.state.comment(1, "mallory", NOTE)
    board.comment(_item(server.state, 1), COMMENT, NOTE)
    assert [one.author for one in server.state.issue(1).comments] == ["mallory", US]


@pytest.mark.parametrize(("completed", "reason"), [(True, "COMPLETED"), (False, "NOT_PLANNED")])
def test_an_issue_is_closed_for_a_reason_and_a_closed_one_stays(
    completed: bool, reason: str, server: GitHubServer, board: GitHub
) -> None:
    board.close(_item(server.state, 1), completed=completed)
    board.close(_item(server.state, 1), completed=not completed)
    assert (server.state.issue(1).state, server.state.issue(1).reason) == ("CLOSED", reason)


def test_an_issue_is_opened_again_and_an_open_one_stays(server: GitHubServer, board: GitHub) -> None:
    board.reopen(_item(server.state, 1))
    assert (server.state.issue(1).state, server.state.issue(1).reason) == ("OPEN", None)
    board.reopen(_item(server.state, 2))
    assert server.state.issue(2).state == "OPEN"


# Every fault in every call of every verb

VERBS: Mapping[str, Callable[[Board, GitHubState], object]] = {
    "set_up": lambda board, state: board.set_up((*FIELDS, Field(STATE, (Option("Canceled", "GRAY"),)))),
    "items": lambda board, state: board.items(),
    "item": lambda board, state: board.item(state.issue(1).id),
    "create": lambda board, state: board.create("Fourth", "The text", MARKER),
    "set": lambda board, state: board.set(_item(state, 1), STATE, DONE),
    "clear": lambda board, state: board.set(_item(state, 1), STATE, None),
    "edit": lambda board, state: board.edit(_item(state, 1), title="New", body="Text"),
    "comment": lambda board, state: board.comment(_item(state, 1), COMMENT, NOTE),
    "comment that is there twice": lambda board, state: board.comment(_item(state, 3), COMMENT, NOTE),
    "close": lambda board, state: board.close(_item(state, 1), completed=True),
    "reopen": lambda board, state: board.reopen(_item(state, 2)),
}
DOCUMENTS = {text.split("(")[0].split()[1]: text for name in documents.__all__ if (text := getattr(documents, name))}
LIMITS = {name for name in FAULTS if name.startswith(("429", "403", "200-limited", "200-secondary"))}
UNREADABLE = {"garbage", "garbage-done", "list"}
ONCE = {"CreateIssue", "AddComment"}
"""What must not be there twice, and so is not sent again while it may still come."""


def _told(operation: str, fault: str) -> list[str]:
    """The codes that a verb gives when one call of it fails once: mostly none, for it helps itself."""
    if DOCUMENTS[operation].split()[0] == "query":
        return ["tracker_failed"] if fault in UNREADABLE else []
    is_unsure = fault not in LIMITS and FAULTS[fault].done != "yes"
    return ["tracker_unsure"] if operation in ONCE and is_unsure else []


@pytest.mark.sampled(40)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("verb", VERBS)
def test_whatever_fails_in_the_end_everything_is_there_once(
    verb: str, fault: str, server: GitHubServer, transport: Callable[..., Transport]
) -> None:
    to = transport(server)
    VERBS[verb](GitHub(to, PLACE), server.state)
    sent, expected = dict.fromkeys(server.operations), server.state.snapshot()
    for operation in sent:
        server.start_over(_prepared())
        board = GitHub(to, PLACE)
        server.fail(operation, fault)
        codes = []
        for _ in range(3):
            try:
                VERBS[verb](board, server.state)
                break
            except TrackerError as error:
                codes.append(error.code)
                server.catch_up()
        server.catch_up()
        assert codes == _told(operation, fault), operation
        assert server.state.snapshot() == expected, operation


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_is_called_again_changes_nothing(verb: str, server: GitHubServer, board: GitHub) -> None:
    first = VERBS[verb](board, server.state)
    after = server.state.snapshot()
    again = VERBS[verb](board, server.state)
    assert server.state.snapshot() == after
    assert verb == "set_up" or first == again


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("wrong", [b'{"data": {}}', b'{"data": {"node": {"__typename": 1}}}', b'{"data": []}', b"{}"])
def test_an_answer_of_another_shape_is_an_error_of_the_catalogue(
    verb: str, wrong: bytes, server: GitHubServer, board: GitHub
) -> None:
    VERBS[verb](board, server.state)
    for operation in dict.fromkeys(server.operations):
        server.start_over(_prepared())
        server.fail(operation, *[Fault("yes", body=wrong)] * 9)
        with suppress(TrackerError):
            VERBS[verb](GitHub(board._transport, PLACE), server.state)


def test_a_comment_that_comes_late_after_a_second_one_is_taken_away(server: GitHubServer, board: GitHub) -> None:
    item = _item(server.state, 1)
    server.fail("AddComment", "502-late")
    _fails("tracker_unsure", partial(board.comment, item, COMMENT, NOTE))
    address = board.comment(item, COMMENT, NOTE)
    server.catch_up()
    assert len(server.state.issue(1).comments) == 2
    assert board.comment(item, COMMENT, NOTE) == address
    assert len(server.state.issue(1).comments) == 1


@pytest.mark.parametrize("verb", ["create", "set", "comment", "close"])
def test_a_write_whose_outcome_cannot_be_looked_at_stays_unsure(verb: str, server: GitHubServer, board: GitHub) -> None:
    board.set_up(FIELDS)
    board.items()
    board.item(server.state.issue(1).id)
    VERBS["items"](board, server.state)
    looking = {"create": "Issues", "set": "Item", "comment": "Comments", "close": "Issue"}[verb]
    writing = {"create": "CreateIssue", "set": "SetField", "comment": "AddComment", "close": "CloseIssue"}[verb]
    server.fail(looking, *([Fault("yes")] if verb != "set" else []), *["503"] * 4)
    server.fail(writing, "cut-done")
    _fails("tracker_unsure", partial(VERBS[verb], board, server.state))


def test_what_fails_twice_is_not_tried_a_third_time(server: GitHubServer, board: GitHub) -> None:
    server.fail("CloseIssue", "502", "502", "502")
    _fails("tracker_unsure", partial(board.close, _item(server.state, 1), completed=True))
    assert server.operations.count("CloseIssue") == 2


def test_every_document_is_sent(served: Callable[..., GitHubServer], transport: Callable[..., Transport]) -> None:
    server = served(_prepared())
    for verb in VERBS.values():
        verb(GitHub(transport(server), PLACE), server.state)
    assert set(server.operations) == DOCUMENTS.keys() == server.state.operations.keys()
    assert server.violations == []


# The connection


def test_a_request_says_who_asks(server: GitHubServer, board: GitHub) -> None:
    board.items()
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["user-agent"].startswith("interlock/")
    assert TOKEN not in repr(vars(board)) + repr(vars(board._transport))


def test_a_token_that_github_does_not_know_is_told(server: GitHubServer) -> None:
    with connect(PLACE, {"GH_TOKEN": "gho_wrong", "RALPH_GITHUB_API": server.url}) as board:
        error = _fails("tracker_unauthorized", board.items)
    assert "gho_wrong" not in f"{error} {error.hint}"
    assert server.requests == []


def test_a_board_is_connected_from_the_environment(server: GitHubServer) -> None:
    with connect(PLACE, {"GH_TOKEN": TOKEN, "RALPH_GITHUB_API": server.url}) as board:
        assert len(board.items()) == 3
    with connect(PLACE, {"GH_TOKEN": TOKEN, "RALPH_GITHUB_API": server.url}, quick=True) as board:
        assert len(board.items()) == 3


def test_no_proxy_sees_what_goes_to_this_machine_in_the_clear(
    server: GitHubServer, transport: Callable[..., Transport], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert len(GitHub(transport(server), PLACE).items()) == 3


@pytest.mark.parametrize(
    "url",
    [
        "http://api.github.com/graphql",
        "http://127.0.0.1.example.org/graphql",
        "http://10.0.0.1/graphql",
        "http://localhost.example.org/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "https:///graphql",
        "https://user:secret@example.org/graphql",
        "graphql",
        "http://[::1",
        "https://example.org:port/",
        "\x00",
    ],
)
def test_a_token_goes_nowhere_in_the_clear(url: str) -> None:
    _fails("tracker_unconfigured", partial(connect, PLACE, {"GH_TOKEN": TOKEN, "RALPH_GITHUB_API": url}))


@pytest.mark.parametrize("url", ["https://github.example.org/api/graphql", "http://localhost:1/", "http://[::1]:1/"])
def test_a_token_goes_to_another_server_over_tls_and_to_this_machine(url: str) -> None:
    connect(PLACE, {"GH_TOKEN": TOKEN, "RALPH_GITHUB_API": url}).disconnect()


def test_a_query_is_asked_again_after_longer_and_longer_waits(
    server: GitHubServer, board: GitHub, waits: Waits
) -> None:
    server.fail("Home", "502", "cut", "200-wrong")
    assert len(board.items()) == 3
    assert waits.seconds == [0.5, 1.0, 2.0]


def test_a_query_that_is_never_answered_is_given_up(server: GitHubServer, board: GitHub, waits: Waits) -> None:
    server.fail("Home", "500", "502", "503", "cut")
    _fails("tracker_unreachable", board.items)
    assert len(waits.seconds) == 3


@pytest.mark.parametrize("call", ["query", "mutate"])
def test_what_was_never_sent_is_sent_again(call: str, transport: Callable[..., Transport], waits: Waits) -> None:
    with GitHubServer() as gone:
        pass
    to = transport(gone)
    error = _fails("tracker_unreachable", partial(getattr(to, call), documents.HOME, {}))
    assert "refused" in error.message
    assert len(waits.seconds) == 3


@pytest.mark.parametrize("fault", ["500", "502", "503", "cut", "200-wrong", "garbage", "silence-done"])
def test_a_mutation_that_may_have_happened_is_not_sent_again(
    fault: str, server: GitHubServer, transport: Callable[..., Transport], waits: Waits
) -> None:
    server.fail("ReopenIssue", fault)
    to = transport(server)
    _fails("tracker_unsure", partial(to.mutate, documents.REOPEN_ISSUE, {"issue": server.state.issue(2).id}))
    assert (server.operations, waits.seconds) == (["ReopenIssue"], [])


LIMITED = {
    "retry-after": (Fault(status=429, headers={"Retry-After": "30", "X-RateLimit-Remaining": "0"}), [30.0]),
    "forbidden": (Fault(status=403, headers={"Retry-After": "30"}), [30.0]),
    "reset": (Fault(status=403, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1040"}), [41.0]),
    "past": (Fault(status=429, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "900"}), [1.0]),
    "unsaid": (Fault(status=429), [60.0]),
    "unreadable": (Fault(status=429, headers={"Retry-After": "soon"}), [60.0]),
    "as 200": (
        Fault(
            headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1040"},
            body=b'{"errors": [{"type": "RATE_LIMITED", "message": "Enough"}]}',
        ),
        [41.0],
    ),
    "secondary as 200": (FAULTS["200-secondary"], [60.0]),
    "secondary as 403": (FAULTS["403-unsaid"], [60.0]),
    "too quickly": (Fault(body=b'{"data": null, "errors": [{"message": "was submitted too quickly"}]}'), [60.0]),
}


@pytest.mark.parametrize("kind", LIMITED)
@pytest.mark.parametrize("call", ["query", "mutate"])
def test_a_limit_is_waited_for_as_github_says(
    call: str, kind: str, server: GitHubServer, transport: Callable[..., Transport], waits: Waits
) -> None:
    fault, expected = LIMITED[kind]
    operation, document = ("Issue", documents.ISSUE) if call == "query" else ("ReopenIssue", documents.REOPEN_ISSUE)
    server.fail(operation, fault)
    getattr(transport(server), call)(document, {"issue": server.state.issue(2).id})
    assert waits.seconds == expected
    assert server.operations == [operation] * 2


def test_a_limit_that_lasts_longer_than_patience_is_told(
    server: GitHubServer, transport: Callable[..., Transport], waits: Waits
) -> None:
    board = GitHub(transport(server, patience=5.0), PLACE)
    server.fail("Home", Fault(status=429, headers={"Retry-After": "3600"}))
    error = _fails("tracker_limited", board.items)
    assert error.retry_after == 3600.0
    assert "1970-01-01T01:16:40Z" in error.hint
    assert waits.seconds == []


def test_a_limit_that_does_not_say_how_long_is_waited_for_twice_as_long_each_time(
    server: GitHubServer, transport: Callable[..., Transport], waits: Waits
) -> None:
    board = GitHub(transport(server, patience=1000.0), PLACE)
    server.fail("Home", *["200-secondary"] * 4)
    assert _fails("tracker_limited", board.items).retry_after == 480.0
    assert waits.seconds == [60.0, 120.0, 240.0]


@pytest.mark.parametrize("kind", ["INSUFFICIENT_SCOPES", "FORBIDDEN"])
def test_a_token_that_may_not_do_it_is_told_how_to_get_one_that_may(
    kind: str, server: GitHubServer, board: GitHub
) -> None:
    body = f'{{"data": null, "errors": [{{"type": "{kind}", "message": "Your token has not been granted"}}]}}'
    server.fail("Home", Fault(body=body.encode()))
    assert "gh auth refresh -s project" in _fails("tracker_unauthorized", board.items).hint


def test_a_403_without_a_limit_is_about_the_token(server: GitHubServer, board: GitHub) -> None:
    server.fail("Home", Fault(status=403, body=b'{"message": "Resource protected by organization SAML enforcement."}'))
    assert "SAML" in _fails("tracker_unauthorized", board.items).message


def test_what_github_says_is_one_clean_line(server: GitHubServer, board: GitHub) -> None:
    said = f"Bad\\u001b[31m\\n\\r\\u202ething {TOKEN} " + "x" * 1000
    server.fail("Home", Fault(body=f'{{"data": null, "errors": [{{"message": "{said}"}}]}}'.encode()))
    message = _fails("tracker_failed", board.items).message
    assert message.startswith("GitHub refused it: Bad [31m thing ")
    assert message.isprintable()
    assert len(message) < 340


def test_half_of_the_data_with_an_error_is_an_error(server: GitHubServer, board: GitHub) -> None:
    body = b'{"data": {"repository": {"id": "R"}}, "errors": [{"type": "NOT_FOUND", "message": "no project"}]}'
    server.fail("Home", Fault(body=body))
    assert "no project" in _fails("tracker_failed", board.items).message


@pytest.mark.parametrize(
    "answer",
    [
        Fault(body=b""),
        Fault(body=b"<html>"),
        Fault(body=b"[" * 100_000),
        Fault(body=b'{"errors": {}, "data": 1}'),
        Fault(body=b'{"errors": "no"}'),
        Fault(body=b'{"errors": [1]}'),
        Fault(body=b'{"data": null}'),
        Fault(body=b"{}", headers={"Content-Encoding": "gzip"}),
        Fault(body=b" " * 20_000_001),
        Fault(status=404, body=b"Not here"),
        Fault(status=302, headers={"Location": "http://127.0.0.1:1/"}),
        Fault(status=204),
    ],
    ids=range(12),
)
def test_what_is_no_answer_of_github_is_an_error_at_once(answer: Fault, server: GitHubServer, board: GitHub) -> None:
    server.fail("Home", answer)
    _fails("tracker_failed", board.items)
    assert server.operations == ["Home"]


# The place


def test_a_project_without_an_owner_is_of_the_repositorys_owner() -> None:
    assert place("acme", "rocket", "7") == PLACE
    assert place("acme", ".github", 12, "octo_corp") == BoardAddress("acme", ".github", "octo_corp", 12)


@pytest.mark.parametrize(
    "wrong",
    [
        (None, "rocket", 7),
        ("", "rocket", 7),
        ("acme", None, 7),
        ("acme", "rocket", None),
        ("acme/rocket", "rocket", 7),
        ("-acme", "rocket", 7),
        ("acme", "..", 7),
        ("acme", "a b", 7),
        ("acme", "rocket\n", 7),
        ("acme", "rocket", 0),
        ("acme", "rocket", -1),
        ("acme", "rocket", "seven"),
        ("acme", "rocket", "٧"),
        ("acme", "rocket", 10**12),
        ("acme", "rocket", 7, "no owner"),
    ],
)
def test_a_place_that_is_none_is_refused(wrong: tuple[str, str, int]) -> None:
    _fails("tracker_unconfigured", partial(place, *wrong))
