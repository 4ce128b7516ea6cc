"""The four roles: files such as `ralph-planner.agent.md`, a person's own before the shipped ones.

    ---
    name: Ralph-Planner                       how it is called
    description: Turns a goal into a plan     what it is for
    tools: [read, search]                     what it needs; the agent's own rules decide what it gets
    model: a-model                            if it should be another one than the run's
    agent: codex                              if it should be another one than the run's
    ---
    The prompt. `{{TASK_ID}}` and the other keys of its input may stand in it.

Other keys of the front matter belong to other programs and are ignored. A file that exists and cannot be used is an
error: its author relies on it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from interlock.errors import UsageError
from interlock.work.formats.front_matter import FRONT, FrontMatterFault, composed
from interlock.work.orchestration.contracts import Role

if TYPE_CHECKING:
    from interlock.world.folder import Folder

__all__ = ["RoleFile", "parse_role", "role_file", "role_name", "shipped_role"]

_SHIPPED: Final = Path(__file__).with_name("roles")
_MAX_BYTES: Final = 64 * 1024
_MAX_VALUE: Final = 1000
_MAX_TOOLS: Final = 200
_AGENT: Final = re.compile(r"[a-z]{1,40}")


class RoleFile(msgspec.Struct, frozen=True):
    """One role, as its file says it."""

    role: Role
    name: str
    description: str
    tools: tuple[str, ...]
    prompt: str
    model: str | None
    agent: str | None
    where: str
    """The file; `shipped` for ours."""
    sha256: str
    """Of the whole text: what the journal keeps, so that a change of it shows."""


def role_name(role: Role) -> str:
    """The name of a role's file."""
    return f"ralph-{role.performer}.agent.md"


def role_file(role: Role, folder: Folder | None = None, directory: str = ".github/agents") -> RoleFile:
    """Return the role in force: the file in the repository's folder if there is one, or else the shipped one."""
    where = f"{directory}/{role_name(role)}"
    content = folder.read(where) if folder is not None else None
    if content is None:
        return shipped_role(role)
    if len(content) > _MAX_BYTES:
        raise _invalid(where, 1, f"it has more than {_MAX_BYTES} bytes", "Say it in fewer words")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _invalid(where, line, "it is not UTF-8", "Save it as UTF-8") from None
    return parse_role(role, text, where)


def shipped_role(role: Role) -> RoleFile:
    """The role as we ship it."""
    return parse_role(role, (_SHIPPED / role_name(role)).read_text(encoding="utf-8"), "shipped")


def parse_role(role: Role, text: str, where: str) -> RoleFile:
    """The role in a file; raises `role_invalid` with the line if it cannot be used."""
    whole = text.replace("\r\n", "\n")
    front = FRONT.match(whole)
    if front is None:
        opens = whole.removeprefix("\ufeff").startswith("---")
        wrong = "the front matter is never closed" if opens else "it does not begin with front matter"
        raise _invalid(where, 1, wrong, "Begin it with a line `---`, lines such as `name: …`, and a line `---`")
    fields = dict(_fields(front["fields"], where))
    prompt = whole[front.end() :].strip()
    if not prompt:
        raise _invalid(
            where, whole.count("\n", 0, front.end()) + 1, "it has no prompt", "Write it below the second `---`"
        )
    agent = fields.get("agent")
    return RoleFile(
        role=role.performer,
        name=fields.get("name") or f"Ralph-{role.performer.capitalize()}",
        description=fields.get("description") or "",
        tools=fields.get("tools") or (),
        prompt=prompt,
        model=fields.get("model"),
        agent=agent,
        where=where,
        sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    )


# Front matter


def _fields(text: str, where: str) -> Iterator[tuple[str, Any]]:
    """The keys that mean something here, each read as what it must be. Its first line is the file's second."""
    node = _composed(text, where)
    if node is None:
        return
    if not isinstance(node, MappingNode):
        raise _invalid(where, 2, "the front matter is not a list of keys and values", "Write lines such as `name: …`")
    seen: set[str] = set()
    for key, value in node.value:
        name, line = str(key.value), int(key.start_mark.line) + 2
        if name not in ("name", "description", "tools", "model", "agent"):
            continue
        if name in seen:
            raise _invalid(where, line, f"`{name}` stands there twice", "Keep one of them")
        seen.add(name)
        yield name, _tools(value, where) if name == "tools" else _text(name, value, where)


def _composed(text: str, where: str) -> Node | None:
    try:
        return composed(text)
    except FrontMatterFault as fault:
        expected = "Fix the line, or quote its value" if fault.is_marked else "Write lines such as `name: …`"
        raise _invalid(where, fault.line, f"the front matter is not valid YAML: {fault.said}", expected) from None


def _text(name: str, node: Node, where: str) -> str | None:
    line = int(node.start_mark.line) + 2
    said = " ".join(node.value.split()) if isinstance(node, ScalarNode) else None
    if said is None or len(said) > _MAX_VALUE or not said.isprintable():
        raise _invalid(where, line, f"`{name}` is not a text of at most {_MAX_VALUE} characters", f"Write `{name}: …`")
    if name == "agent" and said and not _AGENT.fullmatch(said):
        raise _invalid(where, line, f"`agent` cannot be {said[:80]!r}", "Name an agent, as `agent: codex` does")
    return said or None


def _tools(node: Node, where: str) -> tuple[str, ...]:
    """A list, or words between commas."""
    line = int(node.start_mark.line) + 2
    if isinstance(node, SequenceNode):
        parts = [one.value if isinstance(one, ScalarNode) else "" for one in node.value]
    elif isinstance(node, ScalarNode):
        parts = node.value.split(",") if node.value.strip() else []
    else:
        parts = [""]
    tools = tuple(str(one).strip() for one in parts)
    if len(tools) > _MAX_TOOLS or any(not one or len(one) > 200 or not one.isprintable() for one in tools):
        raise _invalid(where, line, "`tools` is not a list of names", "Write `tools: [read, search]`")
    return tools


def _invalid(where: str, line: int, wrong: str, expected: str) -> UsageError:
    hint = f"{expected}; or move the file away, and the shipped role is used."
    return UsageError("role_invalid", f"{where}, line {line}: {wrong}.", hint)
