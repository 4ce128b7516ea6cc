"""One-time codes: for one thing, once, for a while, for a few tries; and the secrets of browsers."""

from __future__ import annotations

import random
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

from interlock.errors import Refusal
from interlock.faces.web.browsers import Browsers, FlashMessage, Passes
from interlock.faces.web.codes import LETTERS, Codes, made_of, plain


class Seconds(msgspec.Struct):
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def codes(seconds: Seconds) -> Codes:
    return Codes(seconds, random.Random(7).randbytes, most=5)


def refused(codes: Codes, purpose: str, about: str, typed: str) -> str:
    with pytest.raises(Refusal) as caught:
        codes.take(purpose, about, typed)
    assert caught.value.code == "code_refused"
    return caught.value.message


def test_a_code_holds_once_for_what_it_was_made_for(codes: Codes) -> None:
    code = codes.issue("gate", "a tree")
    assert codes.waits("gate", "a tree")
    codes.take("gate", "a tree", code)
    assert not codes.waits("gate", "a tree")
    assert "it was used" in refused(codes, "gate", "a tree", code)


def test_a_code_may_be_typed_as_people_type(codes: Codes) -> None:
    codes.take("gate", "", f" {codes.issue('gate', '').lower().replace('-', ' ')} ")


def test_a_code_for_something_else_is_refused_and_gone(codes: Codes) -> None:
    code = codes.issue("gate", "a tree")
    assert "something else" in refused(codes, "gate", "another tree", code)
    refused(codes, "gate", "a tree", code)


def test_a_code_of_another_purpose_is_wrong(codes: Codes) -> None:
    code = codes.issue("one", "x")
    codes.issue("other", "x")
    assert "wrong" in refused(codes, "other", "x", code)
    codes.take("one", "x", code)


def test_a_new_code_voids_the_one_before(codes: Codes) -> None:
    first, second = codes.issue("gate", "x"), codes.issue("gate", "x")
    refused(codes, "gate", "x", first)
    codes.take("gate", "x", second)


def test_a_code_is_void_after_three_tries(codes: Codes) -> None:
    code = codes.issue("gate", "x")
    said = [refused(codes, "gate", "x", "2222-2222") for _ in range(3)]
    assert "2 tries are left" in said[0]
    assert "void" in said[2]
    refused(codes, "gate", "x", code)


def test_the_last_try_may_be_right(codes: Codes) -> None:
    code = codes.issue("gate", "x")
    for _ in range(2):
        refused(codes, "gate", "x", "")
    codes.take("gate", "x", code)


def test_a_code_is_void_after_ten_minutes(codes: Codes, seconds: Seconds) -> None:
    code = codes.issue("gate", "x")
    seconds.now += 600
    assert not codes.waits("gate", "x")
    refused(codes, "gate", "x", code)


def test_only_so_many_codes_are_made_in_ten_minutes(codes: Codes, seconds: Seconds) -> None:
    for one in range(5):
        codes.issue(one, "")
        seconds.now += 1
    with pytest.raises(Refusal) as caught:
        codes.issue("more", "")
    assert caught.value.code == "code_limited"
    seconds.now += 595
    codes.issue("more", "")


@given(st.text(max_size=200))
def test_nothing_but_the_code_is_the_code(typed: str) -> None:
    codes = Codes(lambda: 0.0, random.Random(1).randbytes, most=1)
    code = codes.issue("gate", "x")
    if plain(typed) == plain(code):
        codes.take("gate", "x", typed)
    else:
        refused(codes, "gate", "x", typed)


def test_all_letters_are_equally_likely() -> None:
    randomness = random.Random(3).randbytes
    found = Counter("".join(plain(made_of(randomness)) for _ in range(20_000)))
    assert found.keys() == set(LETTERS)
    assert max(found.values()) < 1.1 * min(found.values())


def test_a_browser_is_known_by_its_secret_until_it_ends(seconds: Seconds) -> None:
    browsers = Browsers(seconds, random.Random(1).randbytes)
    secret = browsers.admit()
    assert browsers.knows(secret)
    assert not browsers.knows(None)
    assert not browsers.knows("")
    assert not browsers.knows(secret[:-1])
    assert not Browsers(seconds, random.Random(2).randbytes).knows(secret)
    seconds.now += 12 * 3600
    assert not browsers.knows(secret)


def test_a_browser_that_is_forgotten_is_known_no_more(seconds: Seconds) -> None:
    browsers = Browsers(seconds, random.Random(1).randbytes)
    secret = browsers.admit()
    browsers.forget(secret)
    browsers.forget(None)
    assert not browsers.knows(secret)


def test_what_a_browser_is_told_it_is_told_once_and_nobody_else(seconds: Seconds) -> None:
    browsers = Browsers(seconds, random.Random(1).randbytes)
    one, other = browsers.admit(), browsers.admit()
    browsers.tell(one, FlashMessage("no"))
    browsers.tell("nobody", FlashMessage("lost"))
    assert browsers.told(other) is None
    assert browsers.told(None) is None
    assert browsers.told(one) == FlashMessage("no")
    assert browsers.told(one) is None


def test_browsers_are_not_remembered_without_end(seconds: Seconds) -> None:
    browsers = Browsers(seconds, random.Random(1).randbytes)
    first = browsers.admit()
    for _ in range(100):
        browsers.admit()
    assert not browsers.knows(first)


def test_a_pass_is_for_one_token_one_port_and_twelve_hours() -> None:
    now = [1_000_000.0]
    scope = {"headers": [(b"host", b"127.0.0.1:7411")]}
    passes = Passes("a token", lambda: now[0])
    answer = passes.give(Response(), scope)
    name, _, rest = answer.headers["set-cookie"].partition("=")
    cookies = {name: rest.partition(";")[0]}
    assert "a token" not in cookies[name]
    assert passes.knows(cookies, scope)
    assert Passes("a token", lambda: now[0]).knows(cookies, scope), "a server that is started again"
    assert not Passes("another", lambda: now[0]).knows(cookies, scope)
    other = {"headers": [(b"host", b"127.0.0.1:7412")]}
    assert not passes.knows({name.replace("7411", "7412"): cookies[name]}, other)
    until, _, seal = cookies[name].partition(".")
    for forged in ("", ".", f"{int(until) + 1}.{seal}", f"{until}.", f"{until}.é", f"٣.{seal}", "9" * 99 + f".{seal}"):
        assert not passes.knows({name: forged}, scope)
    now[0] += 12 * 3600 + 1
    assert not passes.knows(cookies, scope)
