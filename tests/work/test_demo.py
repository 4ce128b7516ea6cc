"""The demo from inside, scene by scene; `faces.test_cli_demo` plays it from outside, and looks at what it leaves."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from faces.journals import journal_file, trusting
from interlock.journal import open_journal
from interlock.work.demo import Project, Saw, SceneMove, SceneRefusal, play
from interlock.work.gates.stage import stage, staged


@pytest.mark.sampled(0)  # in `make test`: what it leaves behind, in faces.test_cli_demo
def test_every_move_is_in_the_journal_when_it_is_told_and_what_is_refused_moves_nothing(tmp_path: Path) -> None:
    root = stage(tmp_path / "repository")
    project = Project(root)
    project.make()
    (root / ".git" / "info" / "exclude").write_text(".ralf/\n")
    (root / ".ralf").mkdir()
    with (
        closing(open_journal(journal_file(root), created=trusting(root))) as journal,
        closing(open_journal(journal_file(root))) as other,
    ):
        codes, seen, head = set(), [], 0
        for scene in play(journal, project, lambda session, tool, given: None, staged(root, "demo")):
            if isinstance(scene, SceneMove):
                entry = scene.recorded.entry
                assert other.entries(entry.seq - 1)[0] == entry
            elif isinstance(scene, SceneRefusal):
                codes.add(scene.error.code)
                noted = other.entries(head)[: other.head() - head]
                assert all(one.event == "noted" for one in noted), "an attempt at a gate is kept, and moves nothing"
            elif isinstance(scene, Saw):
                seen.append(scene)
            head = journal.head()
    assert codes == {"target_not_allowed", "lock_held", "refused_by_rule", "person_needed", "proof_required"}
    keys, verdicts = ([one.text for one in seen if one.who == who] for who in ("key", "verifier"))
    assert len(keys) == (1 if shutil.which("ssh-keygen") else 0), "a key to be thrown away is named as such"
    assert "exit 1" in verdicts[0]
    assert "skip" in verdicts[1]
