"""Where a loop begins: one at a time, and without a trace where there is nothing to do."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from interlock.work.stories.loop import begin
from patience import SECONDS
from work.stories.yards import Ground


def test_a_loop_over_stories_that_are_done_writes_and_commits_nothing(tmp_path: Path) -> None:
    ground = Ground(tmp_path).made()
    ground.drive()
    before, made = ground.progress_file.read_bytes(), ground.commits()
    assert ground.drive().loop.outcome == "all_complete"
    assert ground.commits() == made
    assert ground.progress_file.read_bytes() == before
    assert ground.is_clean()


def test_many_who_begin_at_once_begin_one_loop(tmp_path: Path) -> None:
    ground = Ground(tmp_path, uses_clock=False).made()
    barrier = threading.Barrier(4)

    def one(_: int) -> str:
        journal = ground.journal()
        try:
            context = ground.context(journal)
            barrier.wait(SECONDS)
            return begin(context)
        finally:
            journal.close()

    with ThreadPoolExecutor(4) as pool:
        loops = set(pool.map(one, range(4)))
    journal = ground.journal()
    assert [one.id for one in journal.instances("story")] == sorted(loops)
    journal.close()
    assert len(loops) == 1
