"""Files that are read only where they may have changed: no change of one is missed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from interlock.work.driver.file_hashes import FileHashes, stamp
from interlock.work.stories.context import LoopCache, own, own_files
from interlock.work.stories.progress import Progress, StoryProgress, StoryStatus
from work.stories.yards import Ground


def _aged(path: Path) -> None:
    """Long ago, as far as it can be said: the time of the last change of all is the system's."""
    os.utime(path, ns=(1, 1))


def test_every_change_of_a_file_is_seen(tmp_path: Path) -> None:
    path, seen = tmp_path / "a", FileHashes()
    assert seen.hash(str(path)) is None
    for text in ("one", "two", "two", "six"):
        path.write_text(text)
        _aged(path)  # the same size and the same time
        for _ in range(2):
            assert seen.hash(str(path)) == hashlib.sha256(text.encode()).hexdigest()
    other = tmp_path / "b"
    other.write_text("ten")
    _aged(other)
    other.replace(path)
    assert seen.hash(str(path)) == hashlib.sha256(b"ten").hexdigest()
    path.unlink()
    path.symlink_to(tmp_path / "b")
    assert seen.hash(str(path)) is None
    path.unlink()
    path.mkdir()
    assert seen.hash(str(path)) is None


def test_a_directory_that_has_changed_just_now_bears_no_stamp(tmp_path: Path) -> None:
    assert stamp([str(tmp_path)]) is None
    assert stamp([str(tmp_path / "nowhere")]) == ((str(tmp_path / "nowhere"), None),)


def test_the_files_at_hand_are_those_that_are_there(tmp_path: Path) -> None:
    ground = Ground(tmp_path).made()
    journal = ground.journal()
    context = ground.context(journal, cache=LoopCache())
    docs = ground.root / "docs"
    progress = Progress(
        stories=(
            StoryProgress("story-1-1", StoryStatus.NOT_STARTED),
            StoryProgress("story-2-1", StoryStatus.NOT_STARTED, "docs/two.md"),
            StoryProgress("story-2-2", StoryStatus.NOT_STARTED, "../outside.md"),
            StoryProgress("story-2-3", StoryStatus.NOT_STARTED, "docs/../docs/three.md"),
            StoryProgress("story-2-4", StoryStatus.NOT_STARTED, "docs/linked.md"),
            StoryProgress("story-3-1", StoryStatus.NOT_STARTED),
        )
    )

    def found() -> set[str]:
        files = own(context, progress)
        assert files == own_files(ground.root, progress)
        return set(files) - {"progress.txt", "prd.json", "stories/1-1-it.md"}

    assert found() == set()
    docs.mkdir()
    (docs / "two.md").write_text("2")
    assert found() == {"docs/two.md"}
    (docs / "three.md").write_text("3")
    (tmp_path / "outside.md").write_text("x")
    (docs / "linked.md").symlink_to(tmp_path / "outside.md")
    assert found() == {"docs/two.md", "docs/three.md"}
    (ground.root / "stories" / "3-1-new.md").write_text("new")
    assert found() == {"docs/two.md", "docs/three.md", "stories/3-1-new.md"}
    (docs / "two.md").unlink()
    assert found() == {"docs/three.md", "stories/3-1-new.md"}
    journal.close()
