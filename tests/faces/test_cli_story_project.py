"""A small real project, from the command line to the end: real pytest, an agent that fails first, real commits."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faces.journals import settle
from faces.programs import SECONDS, Result, run

STORIES = {
    "1-1-counting": ("Counting", ("Count words", "Count letters")),
    "1-2-showing": ("Showing", ("Show a count", "Show a total")),
}
RED = {
    "words": "from counts import words\n\n\ndef test_words() -> None:\n    assert words('a b') == 2\n",
    "letters": "from counts import letters\n\n\ndef test_letters() -> None:\n    assert letters('a b') == 2\n",
    "shown": "from show import shown\n\n\ndef test_shown() -> None:\n    assert shown('words', 2) == 'words: 2'\n",
    "total": "from show import total\n\n\ndef test_total() -> None:\n    assert total([1, 2]) == 'total: 3'\n",
}
WORDS = "def words(text: str) -> int:\n    return len(text.split())\n"
LETTERS = "\n\ndef letters(text: str) -> int:\n    return {}\n"
SHOWN = "def shown(name: str, count: int) -> str:\n    return f'{name}: {count}'\n"
TOTAL = "\n\ndef total(counts: list[int]) -> str:\n    return f'total: {sum(counts)}'\n"


def _wrote(*files: tuple[str, str]) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = [{"write": {"path": path, "text": text}} for path, text in files]
    return [*steps, {"usage": {"input": 100, "output": 10, "cached": 0}}, {"cost": 0.1}, {"finish": True}]


RIGHT = WORDS + LETTERS.format("sum(one.isalpha() for one in text)")
AGENT = [
    _wrote(("test_words.py", RED["words"])),  # red, and no more
    _wrote(("counts.py", WORDS)),
    _wrote(("test_letters.py", RED["letters"]), ("counts.py", WORDS + LETTERS.format("len(text)"))),
    [{"say": "there is nothing to do"}, {"finish": True}],
    _wrote(("counts.py", RIGHT)),
    _wrote(("test_shown.py", RED["shown"]), ("show.py", SHOWN)),
    _wrote(("test_total.py", RED["total"])),
    _wrote(("show.py", SHOWN + TOTAL)),
]
PYTEST = ["env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
"""Without the plugins of whoever runs these tests: they take most of its time."""
JUDGED = [{"say": f"AC-{n}: it - ✓ test of {n}"} for n in (1, 2)]
PROGRESS = """\
workflow: ralph-bmad-integration
project: "repository"
iteration: 8
last_updated: TIME

stories:
  - id: story-1-1
    status: complete
    file: stories/1-1-counting.md
    tasks_completed: 2
    tasks_total: 2
    last_commit: HASH
  - id: story-1-2
    status: complete
    file: stories/1-2-showing.md
    tasks_completed: 2
    tasks_total: 2
    last_commit: HASH

current_iteration:
  ralph_instance_id: ralph-8
  start_time: TIME
  brooks_context_window_used: null
  neo4j_connected: false
  pending_neo4j_logs: 0

metrics:
  tasks_completed_this_session: 4
  blockers_encountered: 0
  avg_iteration_time_ms: NUMBER
"""


def _story(title: str, tasks: tuple[str, ...]) -> str:
    criteria = "\n".join(f"{n}. {task}" for n, task in enumerate(tasks, 1))
    boxes = "\n".join(f"- [ ] Task {n}: {task} (AC: {n})" for n, task in enumerate(tasks, 1))
    return f"# Story: {title}\n\n## Acceptance Criteria\n\n{criteria}\n\n## Tasks / Subtasks\n\n{boxes}\n"


class Project:
    """The project, and what can be asked of it."""

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        self.root, self.environment = root, environment

    def __call__(self, *words: str) -> Result:
        return run(*words, cwd=self.root, env=self.environment, seconds=300)

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=self.environment, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout


@pytest.fixture
def project(repository: Path, environment: dict[str, str]) -> Project:
    """Two stories of two subtasks each, and nothing of the code."""
    project = Project(repository, environment)
    for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        project.git("config", key, value)
    (repository / "stories").mkdir()
    for name, (title, tasks) in STORIES.items():
        (repository / "stories" / f"{name}.md").write_text(_story(title, tasks))
    (repository / ".gitignore").write_text("__pycache__/\n")
    scripts = repository.parent / "scripts"
    scripts.mkdir()
    (scripts / "agent.json").write_text(json.dumps({"state": "agent.state", "iterations": AGENT}))
    (scripts / "judge.json").write_text(json.dumps({"iterations": [[*JUDGED, {"finish": True}]]}))
    tests = shlex.join(PYTEST)
    scripted = '[agent]\nsandbox = "none"\nscript = "../scripts/agent.json"\njudge_script = "../scripts/judge.json"\n'
    settle(repository, f"{scripted}[story]\ntests = [{json.dumps(tests)}]\n")
    assert project("story", "init").code == 0
    project.git("add", "-A")
    project.git("commit", "-qm", "start")
    return project


def test_a_project_is_built_story_by_story_and_everything_about_it_can_be_proven(project: Project) -> None:
    result = project("story", "run", "--agent", "scripted")
    assert result.code == 0, result
    assert "Summary:\n- Stories completed: 2\n- Total iterations: 8\n" in result.out
    assert result.out.count("<promise>READY_FOR_NEXT_TASK</promise>") == 4
    assert "1 failed" in result.out, "what pytest said"
    _commits_are_right(project)
    _progress_is_right(project)
    assert project.git("status", "--porcelain") == ""
    verified = project("journal", "verify", "--json")
    assert verified.code == 0, verified
    status = project("--status", "--json").data
    assert (status["outcome"], status["spent"]["usd"], status["spent"]["tokens"]) == ("all_complete", 0.7, 770)


def _commits_are_right(project: Project) -> None:
    """One for each subtask, with its ids; its own files, its box and `progress.txt`; and the tests are green in it."""
    made = project.git("log", "--reverse", "--format=%H %s").splitlines()[1:]
    assert [line.partition(" ")[2] for line in made] == [
        "story-1-1 task 1: Count words",
        "story-1-1 task 2: Count letters",
        "story-1-2 task 1: Show a count",
        "story-1-2 task 2: Show a total",
        "progress: the loop ends after 8 iterations",
    ]
    held = [set(project.git("show", "--format=", "--name-only", line.split()[0]).split()) for line in made]
    first, second = (f"stories/{name}.md" for name in STORIES)
    assert held == [
        {"test_words.py", "counts.py", "progress.txt", first},
        {"test_letters.py", "counts.py", "progress.txt", first},
        {"test_shown.py", "show.py", "progress.txt", second},
        {"test_total.py", "show.py", "progress.txt", second},
        {"progress.txt"},
    ]
    for number, line in enumerate(made[:4], 1):
        place = project.root.parent / f"at-{number}"
        project.git("worktree", "add", "-q", "--detach", str(place), line.split()[0])
        environment = project.environment
        done = subprocess.run(PYTEST, cwd=place, env=environment, capture_output=True, text=True, timeout=SECONDS)
        assert (done.returncode, f"{number} passed" in done.stdout) == (0, True), done


def _progress_is_right(project: Project) -> None:
    text = (project.root / "progress.txt").read_text()
    last = {
        story: project.git("log", "-1", "--format=%H", f"--grep=^{story} task 2").strip()
        for story in ("story-1-1", "story-1-2")
    }
    assert re.findall(r'last_commit: "?(\w+)"?', text) == [*last.values()]
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", re.sub(r'"?[0-9a-f]{40}"?', "HASH", text))
    text = re.sub(r"(?<=time_ms: )\d+", "NUMBER", text)
    assert "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#")) == PROGRESS
