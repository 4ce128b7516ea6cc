"""Paths that are carried into a checkout of what an agent wrote."""

from __future__ import annotations

import threading
from pathlib import Path

from interlock.work.verification.carrying import carry


def test_a_link_of_the_agent_leads_nothing_out_of_the_checkout(tmp_path: Path) -> None:
    root, place, outside = (tmp_path / name for name in ("root", "place", "outside"))
    for directory in (root / "vendor" / "cache", place, outside):
        directory.mkdir(parents=True)
    (root / "vendor" / "cache" / "library").write_text("mine")
    (place / "vendor").symlink_to(outside)
    said = carry(root, "vendor/cache", place, threading.Event())
    assert said == "vendor/cache cannot be carried: a link in the tree leads out of it"
    assert list(outside.iterdir()) == []
