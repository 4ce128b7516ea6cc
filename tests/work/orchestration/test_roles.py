"""Roles: files that people can replace, and that say where they are wrong."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InterlockError, UsageError
from interlock.work.orchestration.contracts import ANSWERS, ExecutorStatus, PlannerStatus, Role, RoleMode
from interlock.work.orchestration.roles import RoleFile, parse_role, role_file, role_name, shipped_role
from interlock.work.settings.values import Settings
from interlock.world.folder import Folder

OWN = """\
---
name: My-Planner
description: "Plans: as we like it"
tools: ['read', 'search']
model: small-one
agent: codex
argument-hint: none of ours
---

Plan, but briefly.
"""


def put(root: Path, text: str | bytes, role: Role = Role.PLANNER, directory: str = ".github/agents") -> Path:
    path = root / directory / role_name(role)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("role", Role)
def test_every_role_is_shipped(role: Role, tmp_path: Path) -> None:
    shipped = role_file(role, Folder(tmp_path))
    assert shipped == shipped_role(role) == role_file(role)
    assert shipped.where == "shipped"
    assert shipped.name == f"Ralph-{role.performer.capitalize()}"
    assert shipped.description
    assert "read" in shipped.tools
    assert (shipped.model, shipped.agent) == (None, None)


def test_only_the_executor_may_write() -> None:
    assert [role for role in Role if "edit" in shipped_role(role).tools] == [Role.EXECUTOR]


def test_the_shipped_texts_name_what_they_are_asked_for() -> None:
    planner, executor = shipped_role(Role.PLANNER).prompt, shipped_role(Role.EXECUTOR).prompt
    modes = (RoleMode.INITIALIZE, RoleMode.UPDATE, RoleMode.TASK_BREAKDOWN, RoleMode.QA_COORDINATE)
    for word in (*modes, *(f"`{one}`" for one in PlannerStatus), "`closes`", "`depends_on`", "`inherits`"):
        assert word in planner
    for word in (*(f"`{one}`" for one in ExecutorStatus), "TASK_ID", "ATTEMPT_NUMBER", "`success_criteria_met`"):
        assert word in executor
    for word in ("BRAINSTORM", "RESEARCH", *(f"{one}" for one in ("Technical", "Constraints", "Risks"))):
        assert word in shipped_role(Role.QUESTIONER).prompt
    for word in ("TASK_REVIEW", "SESSION_REVIEW", "`Qualified`", "`Failed`", "`gaps`", "`met`"):
        assert word in shipped_role(Role.REVIEWER).prompt


@pytest.mark.parametrize("role", Role)
def test_what_a_shipped_text_marks_as_a_field_is_one(role: Role) -> None:
    """Names with an underscore are fields of the answers and nothing else."""
    fields = {name for kind in ANSWERS.values() for name in kind.__struct_fields__} | {"depends_on"}
    words = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", shipped_role(role).prompt))
    assert words - fields <= set(PlannerStatus)


def test_a_persons_own_file_replaces_the_shipped_one(tmp_path: Path) -> None:
    put(tmp_path, OWN)
    assert role_file(Role.PLANNER, Folder(tmp_path)) == RoleFile(
        role=Role.PLANNER,
        name="My-Planner",
        description="Plans: as we like it",
        tools=("read", "search"),
        prompt="Plan, but briefly.",
        model="small-one",
        agent="codex",
        where=".github/agents/ralph-planner.agent.md",
        sha256=hashlib.sha256(OWN.encode()).hexdigest(),
    )
    assert role_file(Role.EXECUTOR, Folder(tmp_path)).where == "shipped"


def test_the_directory_is_a_setting(tmp_path: Path) -> None:
    directory = Settings.of('[orchestrate]\nroles = "team/roles"').text("orchestrate.roles")
    put(tmp_path, OWN, Role.REVIEWER, directory)
    assert role_file(Role.HOLISTIC, Folder(tmp_path), directory).name == "My-Planner"
    assert role_file(Role.HOLISTIC, Folder(tmp_path), Settings().text("orchestrate.roles")).where == "shipped"


@pytest.mark.parametrize("outside", ["/etc", "..", "a/../..", "a/", "", "~/x", "./a"])
def test_the_directory_is_in_the_repository(outside: str) -> None:
    with pytest.raises(UsageError) as caught:
        Settings.of(f'[orchestrate]\nroles = "{outside}"')
    assert caught.value.code == "settings_invalid"


def test_other_files_mean_nothing(tmp_path: Path) -> None:
    put(tmp_path, OWN).rename(tmp_path / ".github/agents/planner.agent.md")
    assert role_file(Role.PLANNER, Folder(tmp_path)).where == "shipped"


@pytest.mark.parametrize(
    ("tools", "wanted"),
    [
        ("[read, 'my server/*']", ("read", "my server/*")),
        ("Read, Grep", ("Read", "Grep")),
        ("\n  - read\n  - edit", ("read", "edit")),
        ("[]", ()),
        ("", ()),
    ],
)
def test_tools_as_people_write_them(tools: str, wanted: tuple[str, ...]) -> None:
    assert parse_role(Role.PLANNER, f"---\nname: x\ntools: {tools}\n---\nGo.\n", "f").tools == wanted


def test_front_matter_may_be_empty_and_lines_may_end_as_elsewhere() -> None:
    made = parse_role(Role.REVIEWER, "\ufeff---\r\n---\r\nGo.\r\nOn.\r\n", "f")
    assert (made.name, made.prompt, made.tools) == ("Ralph-Reviewer", "Go.\nOn.", ())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "line 1: it does not begin with front matter"),
        ("Plan.\n", "line 1: it does not begin with front matter"),
        ("---\nname: x\nPlan.\n", "line 1: the front matter is never closed"),
        ("---\nname: x\n---\n\n \n", "line 4: it has no prompt"),
        ("---\nname: x\ntools: [read\n---\nGo.\n", "line 4: the front matter is not valid YAML"),
        ("---\nname: x\n\tmodel: y\n---\nGo.\n", "line 3: the front matter is not valid YAML"),
        ("---\n- name\n---\nGo.\n", "line 2: the front matter is not a list of keys and values"),
        ("---\nname: x\nmodel: [a, b]\n---\nGo.\n", "line 3: `model` is not a text"),
        ("---\nname: x\n\nagent: Claude Code\n---\nGo.\n", "line 4: `agent` cannot be 'Claude Code'"),
        ("---\nname: x\ntools: {a: b}\n---\nGo.\n", "line 3: `tools` is not a list of names"),
        ("---\nname: x\ntools: [a, [b]]\n---\nGo.\n", "line 3: `tools` is not a list of names"),
        ("---\nname: x\nname: y\n---\nGo.\n", "line 3: "),
        (b"---\nname: x\n---\nGo \xff.\n", "line 4: it is not UTF-8"),
        ("---\nname: x\n---\n" + "x" * 70_000, "line 1: it has more than 65536 bytes"),
        ("---\nname: &a [*a]\n---\nGo.\n", "line 2: "),
        ("---\nname: " + "[" * 500 + "\n---\nGo.\n", "the front matter is not valid YAML"),
    ],
)
def test_a_broken_file_is_an_error_that_names_the_line(text: str | bytes, wanted: str, tmp_path: Path) -> None:
    put(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        role_file(Role.PLANNER, Folder(tmp_path))
    assert caught.value.code == "role_invalid"
    assert str(caught.value).startswith(".github/agents/ralph-planner.agent.md, line ")
    assert wanted in str(caught.value)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(OWN)
    path = put(tmp_path, "")
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InterlockError) as caught:
        role_file(Role.PLANNER, Folder(tmp_path))
    assert caught.value.code == "file_unsafe"


@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_a_file_holds_it_is_a_role_or_an_error_of_its_own(front: str, body: str) -> None:
    text = f"---\n{front}\n---\n{body}"
    try:
        made = parse_role(Role.PLANNER, text, "f")
    except UsageError as error:
        told = str(error)
    else:
        assert made.prompt
        assert made.name
        return
    assert told.startswith("f, line ")
    assert 1 <= int(told.removeprefix("f, line ").partition(":")[0]) <= len(text.splitlines()) + 1
