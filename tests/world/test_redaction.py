"""Secrets are taken out of every text, ordinary text stays, and no text takes longer than its length."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhaustive import EXHAUSTIVE
from interlock.world.redaction import redacted, redacted_data
from patience import SECONDS

BODY = "aB3" * 30
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY}\n-----END RSA PRIVATE KEY-----"
SECRETS = {
    "ghp_" + BODY[:36]: "github",
    "gho_" + BODY[:40]: "github",
    "ghu_" + BODY[:36]: "github",
    "ghs_" + BODY[:36]: "github",
    "ghr_" + BODY[:36]: "github",
    "github_pat_" + BODY[:22]: "github",
    "github_pat_11A_" + BODY[:70]: "github",
    "glpat-" + BODY[:20]: "gitlab",
    "glpat-a_b-" + BODY[:20]: "gitlab",
    "AKIA" + "A1B2" * 4: "aws",
    "ASIA" + "A1B2" * 4: "aws",
    "sk-ant-api03-" + BODY[:40]: "anthropic",
    "sk-proj-" + BODY[:40]: "openai",
    "sk-svcacct-" + BODY[:40]: "openai",
    "sk-admin-" + BODY[:40]: "openai",
    "sk-" + BODY[:48]: "openai",
    "AIza" + BODY[:35]: "google",
    "xoxb-1234567890-abc": "slack",
    "xoxp-1234567890-abc": "slack",
    "xoxa-1234567890": "slack",
    "xoxr-1234567890": "slack",
    "xoxs-1234567890": "slack",
    "xapp-1-A1B2C3D4E5-f6": "slack",
    "hooks.slack.com/services/T0/B0/abcDEF123": "slack",
    "sk_live_" + BODY[:24]: "stripe",
    "sk_test_" + BODY[:24]: "stripe",
    "rk_live_" + BODY[:16]: "stripe",
    "npm_" + BODY[:36]: "npm",
    "pypi-AgEI" + BODY[:60]: "pypi",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123": "jwt",
    PEM: "private-key",
    PEM.replace("RSA ", ""): "private-key",
    PEM.replace("RSA", "OPENSSH"): "private-key",
    PEM.replace("\n", "\\n"): "private-key",
    PEM.replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,A1\n\n", 1): "private-key",
    PEM.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"): "private-key",
    PEM.partition("\n-----END")[0]: "private-key",
}
LABELLED = {
    "Authorization: Bearer abc.def-123": ("abc.def-123", "authorization"),
    "authorization: basic dXNlcjpwYXNz": ("dXNlcjpwYXNz", "authorization"),
    "AUTHORIZATION:Bearer  abc123": ("abc123", "authorization"),
    'headers = {"Authorization": "Bearer abc123"}': ("abc123", "authorization"),
    "Authorization: Bearer " + "ghp_" + BODY[:36]: ("ghp_" + BODY[:36], "authorization"),
    "https://user:hunter2@example.org/x": ("user:hunter2", "password"),
    "postgresql://me:p@ss-word@db/x": ("p@ss-word", "password"),
    "redis://:hunter2@cache": ("hunter2", "password"),
    "git clone https://x-access-token:abc@github.com/a/b": ("abc@", "password"),
    "password=hunter2hunter2": ("hunter2hunter2", "named"),
    "password: hunter2hunter2": ("hunter2hunter2", "named"),
    "passwd = hunter2hunter2": ("hunter2hunter2", "named"),
    'password="hunter2 hunter2"': ("hunter2 hunter2", "named"),
    "password='hunter2 hunter2'": ("hunter2 hunter2", "named"),
    '{"password": "hunter2hunter2"}': ("hunter2hunter2", "named"),
    '"api_key": "abcdefgh1234"': ("abcdefgh1234", "named"),
    "X-Api-Key: abcdefgh1234": ("abcdefgh1234", "named"),
    "export AWS_SECRET_ACCESS_KEY=abcdefgh/1234+x": ("abcdefgh/1234+x", "named"),
    "SIGNING_KEY=abcdefgh1234": ("abcdefgh1234", "named"),
    "SSH_PRIVATE_KEY=abcdefgh1234": ("abcdefgh1234", "named"),
    "MY_TOKEN=abcdefgh1234 npm publish": ("abcdefgh1234", "named"),
    "--client-secret=abcdefgh1234": ("abcdefgh1234", "named"),
    "DB_CREDENTIALS=abcdefgh1234": ("abcdefgh1234", "named"),
}
ORDINARY = [
    "",
    "The quick brown fox jumps over the lazy dog.",
    "Added a test for the token bucket; secrets are out of scope.",
    "max_tokens: 100000000",
    "total tokens = 123456789",
    "password: required",
    "See https://example.org:8080/a/b?c=d and http://localhost:3000",
    "git@github.com:owner/repository.git",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "sha256:" + "0123456789abcdef" * 4,
    "01m7fjjxz49fqk7m40f51yqbng",
    "550e8400-e29b-41d4-a716-446655440000",
    "task-admin-dashboard-redesign-of-2026",
    "risk-proj-analysis-of-the-second-quarter",
    "src/interlock/work/sessions/policy.py:120: error: Name is not defined",
    "primary_key=customer_identifier",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "ASIATIC and AKIAK are words",
    "eyJ is how a JWT begins, and gh p_ is nothing",
    "def test_a_secret_is_kept_nowhere(agent): ...",
    "pytest -q --maxfail=3 tests/test_tokens.py",
    "añb ☃ 漢字 \N{PILE OF POO}",
]


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: f"{SECRETS[secret]} {secret[:12]!r}")
@pytest.mark.parametrize("around", ["{}", "it says {} here", '"{}"', "<{}>", "x={};y", "({}),\n{}", "https://a/?q={}"])
def test_a_secret_is_gone_and_its_kind_is_said(around: str, secret: str) -> None:
    shown = redacted(around.replace("{}", secret))
    assert secret not in shown
    assert BODY not in shown
    assert f"[redacted:{SECRETS[secret]}]" in shown or "[redacted:named]" in shown


@pytest.mark.parametrize("text", LABELLED)
def test_what_is_called_a_secret_is_gone(text: str) -> None:
    secret, kind = LABELLED[text]
    shown = redacted(text)
    assert secret not in shown
    assert f"[redacted:{kind}]" in shown


def test_the_name_of_a_secret_stays() -> None:
    assert redacted("GITHUB_TOKEN=abcdefgh1234 make") == "GITHUB_TOKEN=[redacted:named] make"
    assert redacted("https://user:hunter2@example.org") == "https://[redacted:password]@example.org"


def test_the_text_around_a_key_stays() -> None:
    assert redacted(f"before\n{PEM}\nafter") == "before\n[redacted:private-key]\nafter"
    assert redacted(f"{PEM}\n---\nand {PEM}") == "[redacted:private-key]\n---\nand [redacted:private-key]"


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("text", [*SECRETS, *LABELLED], ids=lambda text: text[:20])
def test_what_was_redacted_stays_as_it_is(text: str) -> None:
    once = redacted(text)
    assert redacted(once) == once


def test_data_is_redacted_wherever_a_text_stands() -> None:
    secret = "ghp_" + BODY[:36]
    given = {"a": secret, "b": [secret, {"c": f"x {secret}"}], "d": 5, "e": None, "f": True, "g": 1.5, "h": {}}
    kept = redacted_data(given)
    assert secret not in json.dumps(kept)
    assert (kept["d"], kept["e"], kept["f"], kept["g"], kept["h"]) == (5, None, True, 1.5, {})
    assert given["a"] == secret, "what was given is left alone"


@pytest.mark.parametrize("name", ["password", "api_key", "apiKey", "GITHUB_TOKEN", "client_secret", "credentials"])
def test_a_value_whose_name_says_that_it_is_a_secret_is_gone(name: str) -> None:
    assert redacted_data({name: "correct horse"}) == {name: "[redacted:named]"}
    assert redacted_data({name: "short"}) == {name: "short"}
    assert redacted_data({name: 5}) == {name: 5}


def test_a_secret_of_the_environment_is_gone_wherever_it_stands() -> None:
    program = "import sys; from interlock.world.redaction import redacted; print(redacted(sys.argv[1]))"
    environment = {
        **os.environ,
        "SOME_API_KEY": "correct horse battery",
        "MY_PASSWORD": "hunter2!",
        "LONGER_TOKEN": "hunter2!hunter2!",
        "SHORT_SECRET": "short",
        "KEYRING_CONTROL": "/run/user/1000/keyring",
        "ORDINARY": "an ordinary value",
    }
    text = "correct horse battery, hunter2! hunter2!hunter2! short /run/user/1000/keyring an ordinary value"
    done = subprocess.run(
        [sys.executable, "-c", program, text],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    hidden = "[redacted:environment]"
    assert done.stdout == f"{hidden}, {hidden} {hidden} short /run/user/1000/keyring an ordinary value\n"


@given(st.text(max_size=200), st.sampled_from(sorted(SECRETS)), st.text(max_size=200))
def test_whatever_stands_around_it_a_secret_is_gone(before: str, secret: str, after: str) -> None:
    shown = redacted(f"{before} {secret} {after}")
    assert secret not in shown


@given(
    st.recursive(
        st.text(max_size=20) | st.integers() | st.none(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)
    )
)
def test_no_data_makes_it_fail(data: object) -> None:
    json.dumps(redacted_data(data))


SIZE = 10_000_000 if EXHAUSTIVE else 1_000_000
"""Large enough that reading it in quadratic time would take hours."""
HOSTILE = {
    "one letter": "a",
    "beginnings of a JWT": "eyJ",
    "parts of a JWT": "eyJaaaaaaaaaaaa.",
    "beginnings of a key": "-----BEGIN PRIVATE KEY-----",
    "half of a beginning": "-----BEGIN ",
    "dashes": "-",
    "addresses": "://a:",
    "at signs": "://:@",
    "names": "token=",
    "open quotes": "token='",
    "open quotes and words": 'token="a ',
    "secrets": "secret",
    "keys": "KEY_",
    "prefixes": "sk-",
    "prefixes of two": "sk-ant-",
    "headers": "authorization: bearer ",
    "blanks": "authorization          ",
    "lines": "password: x\n",
    "upper case": "A_",
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("part", HOSTILE.values(), ids=HOSTILE)
def test_megabytes_are_read_to_their_end(part: str) -> None:
    redacted(part * (SIZE // len(part)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "before", ["token='", "-----BEGIN ", "authorization", "password=", "-----BEGIN PRIVATE KEY-----"]
)
def test_a_beginning_before_megabytes_is_read_to_its_end(before: str) -> None:
    redacted(before + "A" * SIZE)
    redacted(before + " " * SIZE)
    redacted(before + "1" * SIZE)


@pytest.mark.parametrize(
    "said",
    [
        'ran grep "API_KEY=abcdefgh12" in it',
        "token=abcdefgh12\\",
        "password=C:\\dir\\secret",
        "password: hunter2hunter2\nand more",
        "curl http://localhost:8000",
    ],
)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_json_with_a_secret_in_a_text_is_still_json(said: str, separators: tuple[str, str]) -> None:
    text = json.dumps({"said": said, "to": "ann@example.org"}, separators=separators)
    read = json.loads(redacted(text))
    assert read.keys() == {"said", "to"}
    assert read["to"] == "ann@example.org"
    assert not any(secret in read["said"] for secret in ("abcdefgh12", "hunter2hunter2"))
