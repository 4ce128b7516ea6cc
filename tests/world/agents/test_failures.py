"""Failures of agents: the whole corpus is read as it should be, and times are understood."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.world.agents import failures
from interlock.world.agents.account import Account
from interlock.world.agents.agent import Reply
from interlock.world.agents.assignment import Assignment
from interlock.world.agents.catalogue import find_agent
from interlock.world.agents.happenings import Cure, FailureKind, Happening
from interlock.world.agents.resources import EXCESSES
from interlock.world.agents.result import Ending
from world.agents.runs import NOW

ENDINGS = {Cure.WAIT: Ending.LIMITED, Cure.PERSON: Ending.NEEDS_PERSON, Cure.NONE: Ending.FAILED}
SAMPLES: list[dict[str, Any]] = failures.corpus()["samples"]


def _id(sample: dict[str, Any]) -> str:
    return f"{sample['agent']}-{sample['kind']}-{sample['from']}"


@pytest.mark.parametrize("sample", SAMPLES, ids=_id)
def test_a_sample_is_the_failure_that_it_is(sample: dict[str, Any]) -> None:
    now = sample.get("now", NOW)
    account = Account(lambda: now)
    agent = find_agent(sample["agent"], {"command": "agent"})
    reader = agent.reader(Assignment("Do it.", Path("/"), Path("/log"), {}), lambda: now)
    code = sample.get("exit", 1)
    for line in sample.get("err", ()):
        account.complained(line.encode())
    told: list[Happening | Reply] = []
    for line in sample.get("out", ()):
        account.printed(line.encode())
        told += reader.read(line.encode())
    for happening in [*told, *reader.end(code)]:
        assert not isinstance(happening, Reply)
        account.take(happening)
    ending = account.conclude(code)
    if sample["kind"] == "none":
        assert account.failure is None
        assert ending is (Ending.FINISHED if code == 0 else Ending.FAILED)
        return
    assert ending is ENDINGS[failures.cure_of(FailureKind(sample["kind"]))]
    assert account.failure is not None
    assert account.failure.kind == sample["kind"]
    until = sample.get("until")
    assert account.failure.until == (until.timestamp() if until else None)


def test_the_corpus_is_versioned_and_has_every_kind() -> None:
    corpus = failures.corpus()
    seen = set(FailureKind) - {FailureKind.IDLE, *EXCESSES}  # of these, an agent says nothing
    assert corpus["version"] == 2
    assert {sample["kind"] for sample in SAMPLES} == {*seen, "none"}
    assert {banner["kind"] for banner in corpus["banners"]} == seen
    assert len({_id(sample) + str(sample.get("out")) for sample in SAMPLES}) == len(SAMPLES) >= 40


def test_every_kind_says_what_ends_it_and_what_to_do_in_plain_words() -> None:
    corpus = failures.corpus()
    assert set(corpus["kinds"]) == set(FailureKind)
    assert {*corpus["codes"].values(), *corpus["statuses"].values()} <= set(FailureKind)
    for kind in FailureKind:
        said, do = failures.told("claude", kind)
        assert said.startswith("claude ")
        assert do[0].isupper()
        assert "{" not in said + do


def test_every_banner_is_held_by_a_sample() -> None:
    lines = [
        " ".join(line.replace("\u2019", "'").split())
        for sample in SAMPLES
        if sample["kind"] != "none"
        for text in (*sample.get("out", ()), *sample.get("err", ()))
        for line in _texts(text)
    ]
    unused = [
        banner["line"]
        for banner in failures.corpus()["banners"]
        if not any(re.fullmatch(banner["line"], line, re.IGNORECASE) for line in lines)
    ]
    assert unused == []


def _texts(text: str) -> list[str]:
    """Every line of every text in a line of JSON, or the line itself."""

    def inner(value: Any) -> list[str]:
        if isinstance(value, str):
            return value.splitlines()
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return [line for one in values for line in inner(one)]

    return inner(json.loads(text)) if text.startswith("{") else [text]


# Times

BERLIN = datetime(2026, 11, 15, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("resets 3:45pm", "2026-11-15T15:45:00+01:00"),
        ("resets 11:30am", "2026-11-15T11:30:00+01:00"),  # half an hour ago: it is over, and not tomorrow's
        ("resets 9am", "2026-11-16T09:00:00+01:00"),
        ("resets 12am", "2026-11-16T00:00:00+01:00"),
        ("resets 12pm", "2026-11-15T12:00:00+01:00"),
        ("resets 15:45", "2026-11-15T15:45:00+01:00"),
        ("resets 7pm (Asia/Tokyo)", "2026-11-16T19:00:00+09:00"),
        ("resets Jan 2, 3am", "2027-01-02T03:00:00+01:00"),
        ("try again at Nov 20th, 2026 3:31 PM.", "2026-11-20T15:31:00+01:00"),
        ("resets in 4hr 29min", "2026-11-15T16:29:00+01:00"),
        ("try again in 1 day 2 hours and 3 minutes", "2026-11-16T14:03:00+01:00"),
        ("Please try again in 1.5s", "2026-11-15T12:00:01.500000+01:00"),
        ("Please retry in 250ms", "2026-11-15T12:00:00.250000+01:00"),
        ("reached|1790000000", "2026-09-21T14:13:20+00:00"),
    ],
)
def test_a_time_is_understood_as_it_was_meant(text: str, moment: str) -> None:
    until = failures.until(text, BERLIN)
    assert until is not None
    assert datetime.fromtimestamp(until, BERLIN.tzinfo) == datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    "text", ["", "resets soon", "resets 25:99pm", "resets 3pm (Mars/Olympus)", "resets Foo 3, 4pm", "again in a while"]
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert failures.until(text, BERLIN) is None


@given(st.text(st.sampled_from("resets again in at 0123456789:apm.|()/,JanFebst"), max_size=80))
def test_no_text_is_an_error(text: str) -> None:
    failures.until(text, BERLIN)
    failures.banner(text, BERLIN)
    failures.failure_of(text, BERLIN, status=429)
