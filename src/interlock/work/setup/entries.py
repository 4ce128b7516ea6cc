"""PURE. Our entries in the JSON of others: find them, put them in, take them out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from interlock.world import jsonc
from interlock.world.jsonc import Trail

__all__ = [
    "Foreign",
    "SetupFault",
    "has_hooks",
    "has_server",
    "hook_trails",
    "is_server",
    "put_hooks",
    "put_server",
    "take_hooks",
    "take_server",
    "words_of",
]


class SetupFault(Exception):
    """Why a file cannot be edited safely: the end of a sentence that begins with its name."""


class Foreign(SetupFault):
    """Something of somebody else is where ours would be."""


# The server


def put_server(text: str, trail: Trail, wanted: Mapping[str, Any]) -> str:
    """The text with our server at the trail. What people added to it stays; another server is a fault."""
    found = jsonc.get(text, trail)
    if found is jsonc.MISSING:
        return jsonc.put(text, trail, dict(wanted))
    words = words_of(found)
    if not _is_ours(words, "ralph", "mcp"):
        name = ".".join(str(step) for step in trail)
        raise Foreign(f"{name} is there and is not ours: {_described(found, words)}")
    if _is_wrapped(words):
        return text
    return _updated(text, trail, wanted)


def is_server(entry: object) -> bool:
    """Whether what is registered as a server is ours."""
    return _is_ours(words_of(entry), "ralph", "mcp")


def has_server(text: str, trail: Trail) -> bool:
    """Whether our server is registered."""
    try:
        return is_server(jsonc.get(text, trail))
    except jsonc.JsonFault:
        jsonc.get(text)  # no JSON at all is a fault; a value of another kind on the way is not ours
        return False


def take_server(text: str, trail: Trail) -> tuple[str, list[Trail]]:
    """The text without our server, and the containers it was in, from the inside out."""
    if not has_server(text, trail):
        return text, []
    return jsonc.remove(text, trail), [trail[:-1]]


def words_of(entry: object) -> list[str]:
    """The command line of a server or a hook; nothing if it is none."""
    if not isinstance(entry, dict):
        return []
    command, more = entry.get("command"), entry.get("args", [])
    words = [*(command if isinstance(command, list) else [command]), *(more if isinstance(more, list) else [more])]
    return [word for word in words if isinstance(word, str)] if words and isinstance(words[0], str) else []


def _is_ours(words: list[str], program: str, *first: str) -> bool:
    """Whether a command line calls our program, by name, by path, or through another such as `uvx`."""
    names = [PurePath(word).name.removesuffix(".exe") for word in words]
    return any(
        name == program
        and (index == 0 or names[0] in _WRAPPERS)
        and words[index + 1 : index + 1 + len(first)] == [*first]
        for index, name in enumerate(names)
    )


_WRAPPERS = frozenset({"uvx", "uv", "pipx", "env", "direnv", "mise", "nix"})


def _is_wrapped(words: list[str]) -> bool:
    """A command line of somebody who calls us in a way of their own; it is left alone."""
    return PurePath(words[0]).name in _WRAPPERS


def _described(entry: object, words: list[str]) -> str:
    if words:
        return f"it runs `{' '.join(words)[:80]}`"
    if isinstance(entry, dict) and isinstance(entry.get("url"), str):
        return f"it is at {entry['url'][:80]}"
    return "it runs nothing that we know"


def _updated(text: str, trail: Trail, wanted: Mapping[str, Any]) -> str:
    for key, value in wanted.items():
        text = jsonc.put(text, (*trail, key), value)
    return text


# The hooks


def put_hooks(text: str, wanted: Mapping[str, Mapping[str, Any]]) -> str:
    """The text with our hook in the list of each event; an older one is brought up to date in its place."""
    for event, ours in wanted.items():
        _events(text)
        found = [trail for trail, _ in _ours(text) if trail[1] == event]
        for trail in found:
            entry = jsonc.get(text, trail)
            if not _is_wrapped(_hook_words(entry)):
                text = _updated(text, trail, ours)
                text = text if "args" in ours else jsonc.remove(text, (*trail, "args"))
        if not found:
            text = jsonc.append(text, ("hooks", event), {"hooks": [dict(ours)]})
    return text


def has_hooks(text: str) -> bool:
    """Whether any hook is ours."""
    return next(_ours(text), None) is not None


def hook_trails(text: str) -> list[Trail]:
    """Where each hook is that is ours."""
    return [trail for trail, _ in _ours(text)]


def take_hooks(text: str) -> tuple[str, list[Trail]]:
    """The text without our hooks, and the containers they were in, from the inside out."""
    events: dict[str, None] = {}
    while found := next(_ours(text), None):
        trail, group = found
        events[str(trail[1])] = None
        is_last = len(group["hooks"]) == 1 and group.keys() <= {"hooks", "matcher"}
        text = jsonc.remove(text, trail[:3] if is_last else trail)
    return text, [*(("hooks", event) for event in events), ("hooks",)] if events else []


def _ours(text: str) -> Iterator[tuple[Trail, dict[str, Any]]]:
    """Each hook that is ours, and the group it is in. What has another shape is not."""
    for event, groups in _events(text).items():
        for number, group in enumerate(groups if isinstance(groups, list) else []):
            handlers = group.get("hooks") if isinstance(group, dict) else None
            for index, entry in enumerate(handlers if isinstance(handlers, list) else []):
                if _is_ours(_hook_words(entry), "ralph-hook"):
                    yield ("hooks", event, number, "hooks", index), group


def _events(text: str) -> dict[str, Any]:
    found = jsonc.get(text, ("hooks",))
    if found is jsonc.MISSING:
        return {}
    if not isinstance(found, dict):
        raise SetupFault("hooks is no object")
    return found


def _hook_words(entry: object) -> list[str]:
    """The command line of a hook; without `args`, it is one for a shell."""
    words = words_of(entry)
    if len(words) == 1 and isinstance(entry, dict) and "args" not in entry:
        try:
            return shlex.split(words[0])
        except ValueError:
            return []
    return words
