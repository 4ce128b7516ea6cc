"""Where the user's own state lies."""

from __future__ import annotations

import pytest

from interlock.world.user_state import user_state_directory


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "/home/ann"}, "/home/ann/.local/state/interlock"),
        ({"HOME": "/home/ann", "XDG_STATE_HOME": "/var/ann"}, "/var/ann/interlock"),
        ({"HOME": "/home/ann", "XDG_STATE_HOME": "relative"}, "/home/ann/.local/state/interlock"),
        ({"HOME": "/home/ann", "XDG_STATE_HOME": ""}, "/home/ann/.local/state/interlock"),
    ],
)
def test_it_follows_the_xdg_variable_only_where_that_is_absolute(environment: dict[str, str], expected: str) -> None:
    assert user_state_directory(environment) == expected
