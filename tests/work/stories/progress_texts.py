"""Texts of `progress.txt` as people write them, and values that it can hold."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from interlock.work.stories.progress import SHOWN, IterationStatus, LoopMetrics, Progress, StoryProgress, StoryStatus

SPEC: Final = """\
# progress.txt
workflow: ralph-bmad-integration
project: faith-meats
iteration: 47
last_updated: 2026-02-08T14:30:00Z

stories:
  - id: story-1-1
    status: complete
    tasks_completed: 5
    tasks_total: 5
    last_commit: abc123

  # the one that matters
  - id: story-2-1
    status: in_progress      # since Monday
    current_task: task-3
    retry_count: 1
    last_action: implement
    owner: sabir             # a key of our own

  - id: story-2-2
    status: blocked
    blocker_reason: "No test framework: `vitest` is missing"
    blocker_type: permanent
    blocker_logged_to_neo4j: true
    neo4j_event_id: evt-99
    requires_human: true

  - id: story-2-3
    status: not_started

current_iteration:
  ralph_instance_id: ralph-47
  start_time: 2026-02-08T14:00:00Z
  brooks_context_window_used: 45%
  neo4j_connected: true
  pending_neo4j_logs: 2

metrics:
  tasks_completed_this_session: 3
  blockers_encountered: 1
  avg_iteration_time_ms: 180000

# What the team keeps here
retrospective:
    - went: well
    - [1, {two: 2}]
"""

STYLES: Final = {
    "the specification's own": SPEC,
    "CRLF": SPEC.replace("\n", "\r\n"),
    "CR": SPEC.replace("\n", "\r"),
    "a byte order mark": "\ufeff" + SPEC,
    "no new line at the end": SPEC.rstrip("\n"),
    "a document's start and end": f"---\n{SPEC}...\n",
    "a list that is not indented": "stories:\n- id: a\n  status: not_started\n# between\n- id: b\n"
    "  status: not_started\n",
    "a list that is indented a lot": "stories:\n      -   id: a\n          status: not_started\n\n\n",
    "a dash alone": "stories:\n  -\n    id: a\n    status: not_started\n  - # said of b\n    id: b\n"
    "    status: complete\n",
    "one line": "{stories: [{id: a, status: not_started}, {id: b, status: complete}]}\n",
    "JSON": '{"project": "p", "stories": [{"id":"a","status":"in_progress","current_task":"1"}], "metrics": {}}',
    "JSON on lines": '{\n  "stories": [\n    {"id": "a", "status": "not_started"},\n'
    '    {"id": "b", "status": "complete"}\n  ],\n  "iteration": 3\n}\n',
    "a story in braces": "stories:\n  - {id: a, status: not_started, mine: [1, 2]}  # short\n  - id: b\n"
    "    status: complete\n",
    "no stories yet": "project: new\nstories: []  # none yet\n",
    "quotes": "\"project\": 'it''s'\n'stories':\n  - \"id\": 'a'\n    'status': \"not_started\"\n",
    "values on lines of their own": "project:\n  new\nstories:\n  - id:\n      a\n    status:\n      not_started\n",
    "long texts": "stories:\n  - id: a\n    status: blocked\n    blocker_reason: |\n      one\n\n      two\n\n"
    "    blocker_type: >-\n      transient\n  - id: b\n    status: blocked\n    blocker_reason: >+\n      it\n"
    "      broke\n\n",
    "a long text at the end": "stories:\n  - id: a\n    status: blocked\n    blocker_reason: |\n      one",
    "a text over lines": 'stories:\n- id: a\n  status: blocked\n  blocker_reason: "one\n    two\\\n    three"\n'
    '- id: b\n  status: complete\n',
    "nothing after the colon": "project:\nlast_updated:   # soon\nstories:\n  - id: a\n    status: not_started\n"
    "    file:\nmetrics:\ncurrent_iteration: ~\n",
    "blocker first": "stories:\n  - blocker_reason: why  # so\n    # its name\n    id: a\n"
    "    blocker_type: transient\n    status: blocked\n",
    "fields of another status": "stories:\n  - id: a\n    status: in_progress\n    retry_count: 0\n"
    "    current_task: '1'\n    blocker_reason: forgotten\n    last_commit: [odd]\n",
    "other people's words": "project: Café ☕ 日本\nstories:\n  - id: größe-1\n    status: not_started\n"
    "    note: naïve 🎈\n",
    "spaces at the end": "stories:   \n  - id: a   \n    status: not_started  \n   \n  - id: b\n"
    "    status: complete \n",
    "space before the colon": "project : p\nstories :\n- id : a\n  status : not_started\n",
    "comments everywhere": "# 1\nstories: # 2\n  # 3\n  - id: a # 4\n    # 5\n    status: not_started # 6\n"
    "  # 7\n# 8\nmetrics: # 9\n  # 10\n  blockers_encountered: 1 # 11\n# 12",
    "numbers as ids": "stories:\n  - id: 1.10\n    status: not_started\n  - id: 007\n    status: not_started\n",
    "unfinished lists of their own": "stories:\n  - id: a\n    status: not_started\n    todo:\n      -\n"
    "      - x\n      -\n  # b\n  - id: b\n    status: complete\n",
}  # fmt: skip

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
texts = words.filter(bool)
counts = st.integers(0, 2**31 - 1)
ids = st.one_of(
    st.sampled_from(["a", "b", "story-2-1", "1.10", "true", "null", "n", "größe-1", "# x", "x: y", "- x", "'", '"']),
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8),
)
_FIELDS: Final = {
    "file": st.none() | texts,
    "current_task": texts,
    "retry_count": counts,
    "last_action": st.none() | words,
    "tasks_completed": st.none() | counts,
    "tasks_total": st.none() | counts,
    "last_commit": st.none() | words,
    "blocker_reason": texts,
    "blocker_type": st.none() | st.sampled_from(["transient", "permanent"]) | words,
    "blocker_logged_to_neo4j": st.none() | st.booleans(),
    "neo4j_event_id": st.none() | words,
    "requires_human": st.none() | st.booleans(),
}


def _story_of(status: StoryStatus) -> st.SearchStrategy[StoryProgress]:
    fields = {name: _FIELDS[name] for name in SHOWN[status] if name in _FIELDS}
    return st.builds(StoryProgress, id=ids, status=st.just(status), **fields)


stories = st.sampled_from(StoryStatus).flatmap(_story_of)
progresses = st.builds(
    Progress,
    project=words,
    iteration=counts,
    last_updated=st.none() | words | st.just("2026-02-08T14:30:00Z"),
    workflow=words,
    stories=st.lists(stories, max_size=5, unique_by=lambda one: one.id).map(tuple),
    current_iteration=st.builds(
        IterationStatus,
        ralph_instance_id=st.none() | words,
        start_time=st.none() | words,
        brooks_context_window_used=st.none() | words | st.just("45%"),
        neo4j_connected=st.none() | st.booleans(),
        pending_neo4j_logs=counts,
    ),
    metrics=st.builds(
        LoopMetrics,
        tasks_completed_this_session=counts,
        blockers_encountered=counts,
        avg_iteration_time_ms=counts,
    ),
)
"""What `progress.txt` can say: each story with the fields of its status."""
