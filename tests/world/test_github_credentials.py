"""Where the token comes from, and that it never shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.errors import TrackerError
from interlock.world.github import credentials
from interlock.world.github.credentials import find_token

NAMES = ["RALPH_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A directory to find programs in, with none in it."""
    return str(tmp_path)


def _gh(path: str, *lines: str) -> None:
    """A program `gh` that does what the lines say."""
    program = Path(path) / "gh"
    program.write_text("\n".join(("#!/bin/sh", *lines, "")))
    program.chmod(0o755)


def _refused(environment: dict[str, str]) -> TrackerError:
    with pytest.raises(TrackerError) as caught:
        find_token(environment)
    assert caught.value.code == "tracker_unauthorized"
    for part in ("gh auth login", "gh auth refresh -s project", "GH_TOKEN"):
        assert part in caught.value.hint
    return caught.value


@pytest.mark.parametrize("first", range(len(NAMES)))
def test_the_first_name_that_is_set_counts(first: int, path: str) -> None:
    environment = {name: f"token-of-{name}" for name in NAMES[first:]}
    assert find_token({**environment, "PATH": path}) == f"token-of-{NAMES[first]}"


@pytest.mark.parametrize("unset", ["", "  ", "${GH_TOKEN}", "${}", " ${RALPH_GITHUB_TOKEN} "])
def test_what_is_blank_or_was_never_filled_in_counts_as_unset(unset: str, path: str) -> None:
    assert find_token({"RALPH_GITHUB_TOKEN": unset, "GH_TOKEN": unset, "GITHUB_TOKEN": " right\n"}) == "right"
    _refused({**dict.fromkeys(NAMES, unset), "PATH": path})


def test_gh_is_asked_for_the_token_of_the_host_and_not_to_ask_back(path: str) -> None:
    _gh(path, 'echo "$*/$GH_PROMPT_DISABLED" | tr " " "_"')
    assert find_token({"PATH": path + ":/usr/bin:/bin"}) == "auth_token_--hostname_github.com/1"
    assert find_token({"PATH": path + ":/usr/bin:/bin"}, "ghe.example.org") == "auth_token_--hostname_ghe.example.org/1"


def test_without_gh_and_without_a_login_the_way_to_one_is_told(path: str) -> None:
    assert "github.com" in _refused({"PATH": path}).message
    _gh(path, "echo 'no oauth token found' >&2", "exit 1")
    _refused({"PATH": path})
    _gh(path, "exit 0")
    _refused({"PATH": path})


def test_a_gh_that_hangs_is_not_waited_for(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "_SECONDS", 0.1)
    _gh(path, "exec sleep 60")
    _refused({"PATH": path + ":/usr/bin:/bin"})


@pytest.mark.parametrize("wrong", ["two words", "line\nbreak", "naïve", "\x1b[31m", "x" * 2000])
def test_what_no_header_may_hold_is_refused_and_not_shown(wrong: str, path: str) -> None:
    error = _refused({"GH_TOKEN": wrong, "PATH": path})
    assert "GH_TOKEN" in error.message
    assert wrong not in error.message
    _gh(path, f"printf '%s' '{wrong}'")
    assert wrong not in _refused({"PATH": path}).message
