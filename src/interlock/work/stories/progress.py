"""PURE. The values that `progress.txt` holds: the stories with their status, the iteration, the counts of the loop."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

__all__ = ["FILE", "SHOWN", "IterationStatus", "LoopMetrics", "Progress", "StoryProgress", "StoryStatus"]

FILE: Final = "progress.txt"


class StoryStatus(StrEnum):
    """The status of a story."""

    NOT_STARTED = "not_started"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    COMPLETE = "complete"


class StoryProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """One story. Which fields it has depends on its status: `SHOWN`."""

    id: str
    status: StoryStatus
    file: str | None = None
    current_task: str | None = None
    retry_count: int = 0
    last_action: str | None = None
    tasks_completed: int | None = None
    tasks_total: int | None = None
    last_commit: str | None = None
    blocker_reason: str | None = None
    blocker_type: str | None = None
    blocker_logged_to_neo4j: bool | None = None
    neo4j_event_id: str | None = None
    requires_human: bool | None = None


class IterationStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """The current iteration, or the last one."""

    ralph_instance_id: str | None = None
    start_time: str | None = None
    brooks_context_window_used: str | None = None
    neo4j_connected: bool | None = None
    pending_neo4j_logs: int = 0


class LoopMetrics(msgspec.Struct, frozen=True, omit_defaults=True):
    """The counts of the loop."""

    tasks_completed_this_session: int = 0
    blockers_encountered: int = 0
    avg_iteration_time_ms: int = 0


class Progress(msgspec.Struct, frozen=True, omit_defaults=True):
    """The whole of the file."""

    project: str = ""
    iteration: int = 0
    last_updated: str | None = None
    workflow: str = "ralph-bmad-integration"
    stories: tuple[StoryProgress, ...] = ()
    current_iteration: IterationStatus = IterationStatus()
    metrics: LoopMetrics = LoopMetrics()

    def story(self, id_: str) -> StoryProgress | None:
        """Return the story with an id."""
        return next((one for one in self.stories if one.id == id_), None)


_WORK: Final = ("current_task", "retry_count", "last_action", "tasks_completed", "tasks_total")
SHOWN: Final[Mapping[StoryStatus, tuple[str, ...]]] = {
    StoryStatus.NOT_STARTED: ("id", "status", "file"),
    StoryStatus.IN_PROGRESS: ("id", "status", "file", *_WORK),
    StoryStatus.BLOCKED: (
        *("id", "status", "file", *_WORK, "blocker_reason", "blocker_type"),
        *("blocker_logged_to_neo4j", "neo4j_event_id", "requires_human"),
    ),
    StoryStatus.COMPLETE: ("id", "status", "file", "tasks_completed", "tasks_total", "last_commit"),
}
"""The fields that a story of each status has, in their order. Others of ours are not read, and are taken out when the
story is written next; what is not ours stays."""
