"""What other tools write, one sample of each form."""

from __future__ import annotations

from interlock.work.importing.imported import SourceFile

__all__ = ["SAMPLES", "sample"]

SAMPLES = {
    "prd": """\
{"project": "Shop", "branchName": "ralph/cart", "userStories": [
  {"id": "US-002", "title": "Show the cart", "description": "As a buyer I see it.",
   "acceptanceCriteria": ["It lists the items", "Typecheck passes"], "priority": 2, "passes": false, "notes": "ask"},
  {"id": "US-001", "title": "Store the cart", "acceptanceCriteria": ["A table"], "priority": 1, "passes": true},
  {"id": "US-003", "title": "Empty it", "acceptanceCriteria": ["None is left"], "priority": 3, "passes": false}]}
""",
    "fix-plan": """\
# Fix plan

## High Priority
- [ ] Set up the build
  - [ ] it builds on CI
  With a cache.
- [x] Write the README

## Priority 3: Later
- [ ] Faster start
- [ ] Set up the build

## Optional
<!-- - [ ] not this -->
- [ ] Colours

## Completed
- [ ] Project made

## Notes
- no box
""",
    "spec-kit": """\
# Tasks: Albums

## Phase 1: Setup (Shared Infrastructure)

- [x] T001 Create the project
- [ ] T002 [P] Configure linting

## Phase 2: Foundational (Blocking Prerequisites)

- [ ] T003 Make the schema in src/db.py

## Phase 3: User Story 1 - Make an album (Priority: P1)

**Goal**: albums can be made

**Independent Test**: make one, and see it

- [ ] T004 [P] [US1] Album model in src/album.py
- [ ] T005 [US1] Album service in src/service.py (depends on T004)

## Phase 4: Polish

- [ ] T006 Write the docs
- [ ] TXXX Clean up

## Dependencies & Execution Order

- Setup comes first
""",
    "backlog": """\
---
id: task-12
title: 'Parse dates: all of them'
status: To Do
assignee: [@ann]
labels:
  - parser
dependencies: []
priority: high
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Dates come in three forms.
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [ ] #1 ISO dates are read
- [x] #2 Others are refused
<!-- AC:END -->

## Implementation Plan

1. Read them.
""",
    "beads": """\
{"id":"bd-1","title":"Dates","description":"All","status":"open","priority":0,"issue_type":"epic"}
{"id":"bd-1.1","title":"Leap years","status":"in_progress","priority":4,"issue_type":"bug","labels":["parser"],\
"acceptance_criteria":"- works\\n- tested","assignee":"ann","dependencies":[\
{"issue_id":"bd-1.1","depends_on_id":"bd-1","type":"parent-child"},\
{"issue_id":"bd-1.1","depends_on_id":"bd-3","type":"blocks"},\
{"issue_id":"bd-1.1","depends_on_id":"bd-9","type":"related"}]}
{"id":"bd-2","title":"Old","status":"closed","priority":2,"issue_type":"task"}
{"id":"bd-3","title":"Calendars","status":"open","priority":2,"issue_type":"task"}
{"id":"bd-4","title":"Gone","status":"tombstone","priority":2}
{"_type":"memory","key":"x","value":"y"}
""",
    "github": """\
[{"number": 13, "title": "Faster", "body": "", "labels": [], "state": "CLOSED", "assignees": [],
  "url": "https://github.com/acme/rocket/issues/13"},
 {"number": 12, "title": "Crash on start", "body": "## Steps\\r\\n\\r\\nStart it.",
  "labels": [{"name": "bug"}, {"name": "priority: high"}], "state": "OPEN", "assignees": [{"login": "ann"}],
  "url": "https://github.com/acme/rocket/issues/12"}]
""",
}


def sample(form: str) -> SourceFile:
    """A sample as a file that was read."""
    return SourceFile(form, "001-albums", SAMPLES[form])
