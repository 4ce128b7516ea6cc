"""Whatever comes back from the address of GitHub, it means something, or is an error of the catalogue."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import TrackerError
from interlock.world.github.answers import InvalidResponse, Limited, ResponseObject, Unwell, meaning
from world.documents import VALUES

HEADERS = st.dictionaries(
    st.sampled_from(["retry-after", "x-ratelimit-remaining", "x-ratelimit-reset"]),
    st.sampled_from(["0", "1", "60", "99999999999999999999", "-1", "1e9", "²", "soon", ""]),
)
ERRORS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["NOT_FOUND", "RATE_LIMITED", "FORBIDDEN"]) | VALUES,
            "message": st.sampled_from(["secondary rate limit", "Something went wrong while executing your query"])
            | VALUES,
        },
    )
    | VALUES,
    max_size=3,
)
BODIES = st.fixed_dictionaries({}, optional={"data": VALUES, "errors": ERRORS | VALUES, "message": VALUES})
CONTENTS = st.binary(max_size=40) | (BODIES | VALUES).map(lambda value: json.dumps(value).encode())


@given(st.sampled_from([200, 201, 301, 400, 401, 403, 404, 429, 500, 502, 599]), HEADERS, CONTENTS)
def test_every_answer_means_something(status: int, headers: dict[str, str], content: bytes) -> None:
    match meaning(status, headers, content, 1_700_000_000.0):
        case ResponseObject():
            assert status == 200
        case Limited(seconds):
            assert seconds is None or 0 <= seconds < 10**11
        case Unwell(why) | InvalidResponse(why):
            assert why.isprintable()
        case TrackerError() as error:
            assert error.code in ("tracker_failed", "tracker_unauthorized")
            assert error.message.isprintable()
            assert len(error.message) < 400


@given(st.dictionaries(st.sampled_from("abc"), VALUES), st.sampled_from(["text", "number", "flag", "node", "each"]))
def test_what_is_asked_of_an_answer_has_the_type_or_is_an_error(members: dict[str, object], kind: str) -> None:
    expected = {"text": str, "number": int, "flag": bool, "node": ResponseObject, "each": list}[kind]
    for name in "abc":
        try:
            assert isinstance(getattr(ResponseObject(members), kind)(name), expected)
        except TrackerError as error:
            code = error.code
            assert code == "tracker_failed"
