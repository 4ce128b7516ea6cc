"""An agent that plays every command of the pipeline and builds the thread: killed and asked again, it does it again.

    python player.py RALPH

It goes by its prompt alone, and by what is there already.
"""

from __future__ import annotations

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

<promise>COMPLETE</promise>
"""


def main(ralph: str) -> None:
    def hand(command: str, *asked: str) -> None:
        subprocess.run([ralph, "ticket", "handoff", "1", "--command", command, *asked, "--reason", "done"], check=True)

    prompt = sys.stdin.read()
    if "# ralph-triage" in prompt:
        hand("triage", "--to-state", "Research Needed")
    elif "# ralph-research" in prompt:
        hand("research", "--intent", "lock")
        hand("research", "--intent", "complete")
    elif "# ralph-plan" in prompt:
        hand("plan", "--intent", "lock")
        _plan(ralph)
        hand("plan", "--intent", "complete")
    else:
        Path("greeting.txt").write_text("hello\n")
        sys.stdout.write("All of it is there.\n<promise>COMPLETE</promise>\n")


def _plan(ralph: str) -> None:
    Path(PLAN).parent.mkdir(parents=True, exist_ok=True)
    Path(PLAN).write_text(SPEC)
    subprocess.run(["git", "add", PLAN], check=True)
    subprocess.run(["git", "commit", "-qm", "plan"], check=False, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"})
    subprocess.run([ralph, "ticket", "edit", "1", "--artifact", f"plan={PLAN}"], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
