"""Links that an agent of a story loop puts into its tree: the driver reads and writes nothing where they lead."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.work.settings.values import Settings
from interlock.world.sandbox.choosing import choose
from interlock.world.sandbox.unconfined import Unavailable

from .yards import MET, WORK, Ground, shell

SECRET = "what only the person may read"
_IS_CONFINED = not isinstance(choose("bubblewrap"), Unavailable)
SETTINGS = Settings(
    {
        **Settings().values,
        "agent.sandbox": "bubblewrap" if _IS_CONFINED else "none",
        "driver.lease_seconds": 86_400,
    }
)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """Two subtasks, so that an agent is told what the one before it left."""
    made = Ground(tmp_path, {"1-1": ("greet", "greet again")}).made()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text(SECRET)
    return made


def _driven(ground: Ground, command: str) -> list[str]:
    """The prompts of a loop whose first agent runs a command."""
    outside = ground.directory / "outside"
    agent = ground.agent([shell(command.format(outside=outside)), *WORK], counted=False)
    judge = ground.agent(MET, name="judge", counted=False)
    ground.drive(agents=[agent], judge=judge, settings=SETTINGS)
    return [*agent.prompts, *judge.prompts]


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p .claude; ln -sf {outside}/secret.md .claude/CLAUDE.md",
        "rm -rf .claude; ln -sfn {outside} .claude",
        "ln -sf {outside}/secret.md prd.json",
        "ln -sf {outside}/secret.md stories/1-2-it.md",
        "ln -sf {outside}/secret.md progress.txt",
    ],
)
def test_what_a_link_leads_to_is_told_to_no_agent(ground: Ground, command: str) -> None:
    (ground.directory / "outside" / "CLAUDE.md").write_text(SECRET)
    prompts = _driven(ground, command)
    assert len(prompts) > 2
    assert not [one for one in prompts if SECRET in one]
    assert SECRET not in ground.git("log", "-p", "--all")


@pytest.mark.parametrize("name", ["stories/1-1-it.md", "stories"])
def test_nothing_is_written_or_taken_where_a_link_leads(ground: Ground, name: str) -> None:
    outside = ground.directory / "outside"
    (outside / "1-1-it.md").write_text("the person's own")
    _driven(ground, f"rm -rf {name}; ln -s {{outside}}{'/1-1-it.md' if '.' in name else ''} {name}")
    assert {one.name: one.read_text() for one in outside.iterdir()} == {
        "secret.md": SECRET,
        "1-1-it.md": "the person's own",
    }
    assert "greet again" in ground.story_file("1-1").read_text()
