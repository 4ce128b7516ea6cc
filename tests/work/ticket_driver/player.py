"""An agent that plays every command of the pipeline, and every role of each driver: killed and asked again, it does it
again.

    python -I -S player.py RALPH LOG

It goes by its prompt alone, and by what is there already. Each run leaves the name of its part in LOG before anything
else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PLAN = "thoughts/shared/plans/2026-01-31-GH-1-greet.md"
SPEC = """# Greet

## Goal

People are greeted.

## Completion Criteria

- [ ] greeting.txt says hello
  - verify: `grep -q hello greeting.txt`
- [ ] it is polite

<promise>COMPLETE</promise>
"""
TASK = {"id": "task-1", "description": "greet", "criteria": ["it greets"], "depends_on": []}
MET = {"criterion": "it greets", "met": True, "evidence": "greeting.txt:1"}
PARTS = {
    "# ralph-triage": "triage",
    "# ralph-research": "research",
    "# ralph-plan": "plan",
    "# Judge whether this is done": "judge",
    "# Judge the acceptance criteria": "story judge",
    "# Story ": "story worker",
    "ATTEMPT_NUMBER: ": "executor",
    "REPORT_PATH: ": "reviewer",
    "MODE: SESSION_REVIEW": "reviewer of all",
    "MODE: ": "planner",
}
"""By what a prompt has in one of its lines, the first that is found; whatever has none of it is for an implementer."""
ANSWERS = {
    "judge": "CRITERION 1: PASS\nCRITERION 2: PASS",
    "story judge": "AC-1: greeting.txt says hello - ✓ greeting.txt:1\nAC-2: it is polite - ✓ greeting.txt:1",
    "story worker": "It greets.",
    "planner": json.dumps({"status": "completed", "goal": "Greet", "plan": "# Plan\n\nGreet.", "tasks": [TASK]}),
    "executor": json.dumps(
        {
            "status": "completed",
            "task_id": "task-1",
            "success_criteria_met": True,
            "criteria_status": [MET],
            "summary_of_changes": "it greets",
        }
    ),
    "reviewer": json.dumps(
        {
            "status": "completed",
            "task_id": "task-1",
            "verdict": "Qualified",
            "criteria_results": [{**MET, "finding": "looked"}],
            "reasoning": "I looked",
            "feedback": "",
        }
    ),
    "reviewer of all": json.dumps({"met": True, "summary": "It greets.", "gaps": []}),
    "implementer": "All of it is there.\n<promise>COMPLETE</promise>",
}
WRITERS = ("implementer", "story worker", "executor")


def main(ralph: str, log: str) -> None:
    def hand(command: str, *asked: str) -> None:
        subprocess.run([ralph, "ticket", "handoff", "1", "--command", command, *asked, "--reason", "done"], check=True)

    lines = sys.stdin.read().splitlines()
    if not lines:
        sys.exit("Nobody said what to do: whoever was to say it was killed.")
    part = next((name for sign, name in PARTS.items() if any(one.startswith(sign) for one in lines)), "implementer")
    with Path(log).open("a") as file:
        file.write(f"{part}\n")
    match part:
        case "triage":
            hand("triage", "--to-state", "Research Needed")
        case "research":
            hand("research", "--intent", "lock")
            hand("research", "--intent", "complete")
        case "plan":
            hand("plan", "--intent", "lock")
            _plan(ralph)
            hand("plan", "--intent", "complete")
    if part in WRITERS:
        Path("greeting.txt").write_text("hello\n")
    sys.stdout.write(f"{ANSWERS.get(part, '')}\n")


def _plan(ralph: str) -> None:
    Path(PLAN).parent.mkdir(parents=True, exist_ok=True)
    Path(PLAN).write_text(SPEC)
    subprocess.run(["git", "add", PLAN], check=True)
    subprocess.run(["git", "commit", "-qm", "plan"], check=False, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"})
    subprocess.run([ralph, "ticket", "edit", "1", "--artifact", f"plan={PLAN}"], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
