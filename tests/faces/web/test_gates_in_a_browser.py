"""The gates in a real browser, which decides itself what it sends: with the keyboard only, with script and without."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .persons import in_terminal
from .test_acting import attempts, state

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.mark.parametrize("scripted", [True, False])
def test_a_person_logs_in_and_passes_a_gate_with_the_keyboard_only(
    browser: Browser, scripted: bool, tmp_path: Path
) -> None:
    from forging.arena import Arena

    arena = Arena(tmp_path, "none")
    arena.begin()
    thread = arena.new("Greet")
    with (
        in_terminal(arena.root, arena.environment) as terminal,
        browser.new_context(java_script_enabled=scripted) as context,
    ):
        page = context.new_page()
        troubles: list[str] = []
        page.on("console", lambda told: troubles.append(told.text) if told.type == "error" else None)
        page.goto(f"{terminal.url}/login")
        page.locator("input:focus").wait_for()  # the page puts it there
        page.keyboard.type(terminal.login_code())
        page.keyboard.press("Enter")
        page.wait_for_url(f"{terminal.url}/")
        page.goto(f"{terminal.url}/thread/{thread}/gate/finalize")
        assert page.locator("#code").count() == 0, "no code is printed by looking"
        after = len(terminal.screen)
        page.get_by_role("button", name="Print a code on the terminal").focus()
        page.keyboard.press("Enter")
        code = terminal.gate_code("finalize", after)
        page.get_by_label("Code from the terminal").wait_for()
        assert "People are greeted." in page.locator("#shown").inner_text()
        page.locator("input:focus").wait_for()
        page.keyboard.type("2222-2222")
        page.keyboard.press("Enter")
        page.locator("#told", has_text="the code is wrong").wait_for()
        assert state(arena, thread) == "Drafting"
        page.locator("input:focus").wait_for()
        page.keyboard.type(code)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{terminal.url}/thread/{thread}")
        assert state(arena, thread) == "Finalized"
    assert len(attempts(arena, thread)) == 1
    assert not [one for one in troubles if "Content Security Policy" in one], troubles
