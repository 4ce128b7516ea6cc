"""Hostile input over stdio: each line gets one clear answer, the server lives, and a refusal leaves no trace."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from .hostile import ACCEPTED, BROKEN, ID, REFUSED, call
from .servers import ERAS, MODERN, Era, Peer, dump, entries, peer, problems, refusal_of


class Place(msgspec.Struct, frozen=True):
    """A server, whom it serves, and a session in it."""

    peer: Peer
    repository: Path
    session: str
    era: Era


@pytest.fixture(scope="module", params=ERAS)
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, home: dict[str, str]
) -> Iterator[Place]:
    """One server for all that is sent to it: it has to live through everything."""
    directory = tmp_path_factory.mktemp("hostile") / "repository"
    subprocess.run(["git", "init", "-q", directory], env=home, check=True, timeout=60)
    with peer(directory, home, request.param) as found:
        session = _text(found.call("create_ralph_session", {}))["sessionId"]
        yield Place(found, directory, session, request.param)
        assert problems(directory) == []
        ended = found.end()
        assert (ended.code, ended.out) == (0, "")
        assert all(line.startswith("ralph mcp: dropped ") for line in ended.err.splitlines()), ended.err


def _text(answer: dict[str, Any]) -> Any:
    result = answer["result"]
    assert not result["isError"], result
    return json.loads(result["content"][0]["text"])


def _lives(place: Place) -> None:
    """The next request is answered, and nothing else was said in between."""
    assert _text(place.peer.call("get_session_state", {"sessionId": place.session}))["currentState"] == "idle"


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_request_is_answered_with_an_error(place: Place, name: str) -> None:
    case = BROKEN[name]
    before = dump(place.repository)
    place.peer.send(case.line)
    answer = place.peer.next()
    assert answer.keys() == {"jsonrpc", "id", "error"}
    assert answer["id"] == case.id
    assert answer["error"]["code"] in case.codes
    assert 0 < len(answer["error"]["message"]) < 1000
    _lives(place)
    assert dump(place.repository) == before


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_are_wrong_are_refused_in_words_for_the_model(place: Place, name: str) -> None:
    before = dump(place.repository)
    place.peer.send(call(REFUSED[name](place.session), place.era))
    answer = place.peer.next()
    assert answer["id"] == ID
    assert answer["result"]["isError"] is True
    assert "structuredContent" not in answer["result"]
    refused = refusal_of(answer["result"]["content"][0]["text"])
    assert refused.code in ("invalid_argument", "unknown_session")
    assert refused.text.replace("\n", "").isprintable(), "nothing of it can harm whoever shows it"
    _lives(place)
    assert dump(place.repository) == before


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_unusual_and_right_is_kept_as_it_is(place: Place, name: str) -> None:
    arguments = ACCEPTED[name](place.session)
    place.peer.send(call(arguments, place.era))
    told = _text(place.peer.next())
    kept = entries(place.repository, place.session)[-1]
    assert kept.seq == told["eventId"]
    assert kept.decoded_evidence().data == (json.loads(arguments)["data"] or {}) | {"type": "thinking"}
    _lives(place)


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf8\x88\x80\x80\x80"])
def test_bytes_that_are_no_utf8_are_kept_as_replacement_characters(place: Place, raw: bytes) -> None:
    arguments = b'{"sessionId":"%s","type":"error","data":{"error":"%s"}}' % (place.session.encode(), raw)
    place.peer.send(call(arguments, place.era))
    _text(place.peer.next())
    kept = entries(place.repository, place.session)[-1].decoded_evidence().data["error"]
    assert set(kept) == {"\ufffd"}
    _lives(place)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
        b'{"jsonrpc":"2.0","method":"notifications/nope","params":{"a":[1]}}',
        b'{"jsonrpc":"2.0","id":77,"result":{}}',
        b'{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"no"}}',
    ],
)
def test_what_wants_no_answer_gets_none_and_does_no_harm(place: Place, line: bytes) -> None:
    before = dump(place.repository)
    place.peer.send(line)
    _lives(place)
    assert dump(place.repository) == before


def test_an_id_of_any_size_comes_back_as_it_was_sent(place: Place) -> None:
    for id_ in (0, -1, 1 << 70, "", "x" * 5000, "\u202e", "' OR 1=1"):
        request = json.loads(call(b"{}", place.era, "get_session_state")) | {"id": id_}
        place.peer.send(json.dumps(request).encode())
        answer = place.peer.next()
        assert answer["id"] == id_
        assert answer["result"]["isError"] is True


def test_a_name_of_a_client_that_is_hostile_is_made_harmless(repository: Path, environment: dict[str, str]) -> None:
    with peer(repository, environment, MODERN) as found:
        for name in ("\x1b[31mred", "\u202eevil", "x" * 5000, "", "\n"):
            request = json.loads(call(b"{}", MODERN, "create_ralph_session"))
            request["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = name
            found.send(json.dumps(request).encode())
            session = _text(found.next())["sessionId"]
            kept = entries(repository, session)[0].actor_id
            assert 0 < len(kept) <= 100
            assert kept.isprintable()


def test_many_requests_in_one_breath_are_all_answered(place: Place) -> None:
    lines = []
    for number in range(200):
        request = json.loads(call(json.dumps({"sessionId": place.session}).encode(), place.era, "get_session_state"))
        lines.append(json.dumps(request | {"id": f"many {number}"}).encode())
    place.peer.send(b"\n".join(lines))
    answered = [place.peer.next() for _ in lines]
    assert {one["id"] for one in answered} == {f"many {number}" for number in range(200)}
    assert all(not one["result"]["isError"] for one in answered)
