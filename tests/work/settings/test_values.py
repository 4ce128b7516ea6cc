"""The settings of a repository: one table makes the file, its checks and the docs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InterlockError
from interlock.work.settings.table import SETTINGS
from interlock.work.settings.values import FILE, Settings, read, read_file, template


def test_a_new_file_sets_every_setting_to_its_default() -> None:
    assert read(template()) == {setting.key: setting.default for setting in SETTINGS}


def test_a_text_sets_what_it_names_and_the_rest_is_as_ever() -> None:
    assert Settings.of("") == Settings.of(template()) == Settings()
    found = Settings.of('[session]\nenforcement = "strict"\ntimeout_minutes = 5\n')
    assert (found.text("session.enforcement"), found.number("session.timeout_minutes")) == ("strict", 5)
    assert found.text("ticket.plan_review") == "human"


def test_a_network_is_a_word_or_a_list_of_hosts() -> None:
    found = Settings.of("[agent]\nnetwork = ['*.example.org', 'open', 'localhost:8080']\n[verify]\nnetwork = 'none'\n")
    assert found.text_or_texts("agent.network") == ("*.example.org", "open", "localhost:8080")
    assert found.text_or_texts("verify.network") == "none"
    assert Settings().text_or_texts("agent.network") == "open"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[session]\nenforcment = 'strict'", "session.enforcement"),
        ("[session]\nenforcement = 'lax'", "observe or strict"),
        ("[session]\nenforcement = 1", "observe or strict"),
        ("[session]\ntimeout_minutes = 0", "from 1"),
        ("[session]\ntimeout_minutes = true", "from 1"),
        ("[session]\ntimeout_minutes = '60'", "from 1"),
        ("session = 1", "session.enforcement"),
        ("[sessions]", "session.enforcement"),
        ("[session", "line"),
        ("[session]\nenforcement = { a = 1 }", "observe or strict"),
        ("[agent]\nnetwork = 'all'", "open or none or host or a list of hosts"),
        ("[agent]\nnetwork = ['https://example.org']", "'https://example.org' is not a host"),
        ("[verify]\nnetwork = ['localhost']", "needs a port from 1024"),
        ("[verify]\nnetwork = [1]", "Hosts are texts"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_what_is_right(text: str, named: str) -> None:
    with pytest.raises(InterlockError) as caught:
        read(text)
    assert caught.value.code == "settings_invalid"
    assert named in f"{caught.value.message} {caught.value.hint}"


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InterlockError) as caught:
        read_file(tmp_path)
    assert caught.value.code == "settings_invalid"


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    given, code = {}, "settings_invalid"
    try:
        given = read(text)
    except InterlockError as error:
        code = error.code
    assert code == "settings_invalid"
    assert given.keys() <= {setting.key for setting in SETTINGS}


def test_flags_are_for_the_agent_they_were_written_for() -> None:
    settings = Settings.of('[agent]\nname = "claude"\narguments = ["--verbose"]\n')
    assert settings.arguments_of("claude") == settings.arguments_of("claude:haiku") == ("--verbose",)
    assert settings.arguments_of("codex") == settings.arguments_of("codex:opus") == ()
