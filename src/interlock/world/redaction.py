"""Secrets taken out of what agents and tools say, before it is kept or shown.

Every pattern takes a time that grows with the text and no faster: what is looked at may be anybody's.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any

__all__ = ["redacted", "redacted_data"]

_KINDS = (
    (
        "private-key",
        "PRIVATE KEY",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]*+(?:-(?!----)[^-]*+)*+"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    (
        "authorization",
        "authorization",
        r"(?i:authorization[\"']?\s{0,5}[:=]\s{0,5}[\"']?(?:bearer|basic)\s{1,5})[A-Za-z0-9._~+/=-]+",
    ),
    ("password", "://", r"(?<=://)[^/\s:@\"]{0,100}:[^/\s\"]{1,200}(?=@)"),
    ("github", "gh", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("github", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
    ("gitlab", "glpat-", r"glpat-[A-Za-z0-9_-]{20,}"),
    ("aws", "A", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("anthropic", "sk-ant-", r"(?<![A-Za-z0-9])sk-ant-[A-Za-z0-9_-]{20,}"),
    ("openai", "sk-", r"(?<![A-Za-z0-9])sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{40,})"),
    ("google", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    ("slack", "xox", r"xox[abprs]-[A-Za-z0-9-]{10,}"),
    ("slack", "xapp-", r"xapp-[A-Za-z0-9-]{10,}"),
    ("slack", "hooks.slack.com", r"hooks\.slack\.com/services/[A-Za-z0-9/]+"),
    ("stripe", "k_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("npm", "npm_", r"npm_[A-Za-z0-9]{36}"),
    ("pypi", "pypi-", r"pypi-[A-Za-z0-9_-]{50,}"),
    # It begins where a word begins: a long text of beginnings would else be read from each of them to its end.
    ("jwt", "eyJ", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]+"),
)
"""Each kind of secret, a part that none of it is without, and how it looks; what may hold another one first."""

_PLAIN = r"(?!\[redacted:)(?!\d+(?!\w))(?:[^\s'\"\\]|\\[^\s'\"]){8,}"
"""A word. A backslash goes with what stands behind it, and one before a quote is none of it: in JSON it is the quote's,
and without it nobody could read the text again."""
_NAMED = (
    r"((?:(?i:(?:api|access|private|secret)[_-]?key|token|secret|passwo?r?d|credential)s?"
    r"|(?:KEY|TOKEN|SECRET|PASSW|CREDENTIAL)[A-Z0-9_]{0,40}+(?==))[\"']?\s{0,5}(?:(=)|:)\s{0,5})"
    rf"(?:\"[^\"\n]{{8,}}\"|'[^'\n]{{8,}}'|(?(2){_PLAIN}|(?=[^\s'\"]{{0,100}}\d){_PLAIN}))"
)
"""What is called a secret, and what stands behind it; behind a colon a word without a digit is only a word."""
_SECRET_NAME = r"(?i)(?:api_?key|token|secret|passw(?:or)?d|credential|private_?key)s?$"
_WORDS = ("key", "token", "secret", "passw", "credential")
_SHORTEST = 8
_HIDDEN = "[redacted:named]"


def redacted(text: str) -> str:
    """A text without what looks like a secret; in its place stands what kind it was."""
    for value in _known():
        text = text.replace(value, "[redacted:environment]")
    lowered = text.lower()
    for kind, part, pattern in _KINDS:
        if part in text or part in lowered:
            text = re.sub(pattern, f"[redacted:{kind}]", text)
    return re.sub(_NAMED, rf"\1{_HIDDEN}", text) if any(word in lowered for word in _WORDS) else text


@cache
def _known() -> tuple[str, ...]:
    """The secrets that this process was given in its environment, the longest first; a path is none."""
    named = (*_WORDS, "webhook")  # whoever knows the address of one can speak in our name
    found = {value for name, value in os.environ.items() if any(word in name.lower() for word in named)}
    return tuple(sorted((one for one in found if len(one) >= _SHORTEST and one[0] != "/"), key=len, reverse=True))


def redacted_data(value: Any) -> Any:
    """JSON data with every text in it redacted, and so is what is called a secret; names stay as they are."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {key: _HIDDEN if _is_secret(key, inner) else redacted_data(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [redacted_data(inner) for inner in value]
    return value


def _is_secret(name: object, value: object) -> bool:
    is_named = isinstance(name, str) and re.search(_SECRET_NAME, name) is not None
    return is_named and isinstance(value, str) and len(value) >= _SHORTEST
