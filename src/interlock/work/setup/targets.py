"""PURE. The files that `ralph init` edits, and how each is edited and restored."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any, Protocol

import msgspec

from interlock.work.setup import entries
from interlock.work.setup.agents import EVENTS, SetupTarget, Supplies, handler, plugin, server, server_block
from interlock.work.setup.entries import Foreign, SetupFault
from interlock.world import blocks, jsonc
from interlock.world.blocks import Fence
from interlock.world.jsonc import Trail

__all__ = ["Target", "Trace", "all_targets", "directories", "targets"]

VERSION = 1
"""The version of our blocks; a block of an older one is replaced."""
_GUIDE = "AGENTS.md"
_MEMORY = "CLAUDE.md"
_REFERS = re.compile(r"(?:^|(?<=\s))@(?:\./)?AGENTS\.md\b", re.MULTILINE)


class Trace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a file was before we came."""

    created: bool
    containers: dict[str, str | None] = {}
    """Objects and lists that we put something in: how each was written if it was empty, None if there was none."""
    digest: str = ""
    """The SHA-256 of the file if all of it is ours."""


class Target(Protocol):
    """A file, and our part in it."""

    @property
    def file(self) -> str:
        """Its path in the repository."""

    def put(self, text: str | None, old: Trace | None) -> str:
        """The file's text with our part; None stands for no file, and the trace is that of an earlier time."""

    def take(self, text: str, trace: Trace | None) -> str | None:
        """The file's text without our part; None if no file is left. Without a trace, nothing empty is left."""

    def traced(self, text: str | None, old: Trace | None) -> Trace | None:
        """How the file is before our part is put in; None if it is in already and nobody knows."""


class Whole(msgspec.Struct, frozen=True):
    """A file that we make, and that is a person's once they changed it."""

    file: str
    template: str
    renewed: bool = False
    """Whether it follows its template for as long as nobody changed it."""

    def put(self, text: str | None, old: Trace | None) -> str:
        return self.template if text is None or (self.renewed and _is_untouched(text, old)) else text

    def take(self, text: str, trace: Trace | None) -> str | None:
        if trace is None:
            return None if text == self.template else text
        return None if _is_untouched(text, trace) else text

    def traced(self, text: str | None, old: Trace | None) -> Trace:
        if text is None or (self.renewed and _is_untouched(text, old)):
            return Trace(created=True, digest=_digest(self.template))
        return old or Trace(created=False)


def _is_untouched(text: str, trace: Trace | None) -> bool:
    """Whether a file is as we made it."""
    return trace is not None and trace.created and trace.digest == _digest(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Fenced(msgspec.Struct, frozen=True):
    """A block in a text of others."""

    file: str
    fence: Fence
    body: str
    unless: re.Pattern[str] | None = None
    """What makes the block needless if the text has it already."""
    alone: bool = False
    """Whether the file is ours as a whole."""

    def put(self, text: str | None, old: Trace | None) -> str:
        text = text or ""
        found = _block(text, self.fence)
        if found is None and self.unless and self.unless.search(text):
            return text
        if found is None and self.alone and text.strip("\ufeff \t\r\n"):
            raise Foreign("it is there and is not ours")
        return blocks.put(text, self.fence, VERSION, self.body)

    def take(self, text: str, trace: Trace | None) -> str | None:
        if _block(text, self.fence, newest=None) is None:
            return text
        return _left(blocks.take(text, self.fence), trace)

    def traced(self, text: str | None, old: Trace | None) -> Trace | None:
        if text is not None and _block(text, self.fence) is not None:
            return old
        return Trace(created=text is None)


def _block(text: str, fence: Fence, newest: int | None = VERSION) -> blocks.FencedBlock | None:
    try:
        found = blocks.find(text, fence)
    except blocks.BlockFault as fault:
        raise SetupFault(str(fault)) from None
    if found and newest is not None and found.version > newest:
        raise SetupFault(f"our block is of version {found.version}, and this Interlock knows version {newest}")
    return found


def _left(text: str, trace: Trace | None) -> str | None:
    is_blank = not text.strip("\ufeff \t\r\n")
    return None if is_blank and (trace is None or trace.created) else text


class FencedTable(msgspec.Struct, frozen=True):
    """A block in TOML that is one table, at the end."""

    file: str
    body: str

    def put(self, text: str | None, old: Trace | None) -> str:
        text = text or ""
        found = self._checked(text)
        if found and found.version == VERSION and _holds(_ralph(_toml(found.body)), _ralph(_toml(self.body))):
            return text
        edited = blocks.put(text, Fence.HASH, VERSION, self.body)
        try:
            tomllib.loads(edited.removeprefix("\ufeff"))
        except tomllib.TOMLDecodeError:
            raise SetupFault("mcp_servers is written so that no table can be added to it") from None
        return edited

    def take(self, text: str, trace: Trace | None) -> str | None:
        if self._checked(text, newest=None) is None:
            return text
        return _left(blocks.take(text, Fence.HASH), trace)

    def traced(self, text: str | None, old: Trace | None) -> Trace | None:
        if text is not None and _block(text, Fence.HASH) is not None:
            return old
        return Trace(created=text is None)

    def _checked(self, text: str, newest: int | None = VERSION) -> blocks.FencedBlock | None:
        """Our block, if it stands for itself and nobody else has our name."""
        found = _block(text, Fence.HASH, newest)
        if found is None:
            other = _ralph(_toml(text))
            if other is not None:
                said = " ".join(entries.words_of(other))[:80]
                raise Foreign(f"mcp_servers.ralph is there and is not ours: it runs `{said}`")
        elif _ralph(_toml(text)) != _ralph(_toml(found.body)):
            raise SetupFault("the table of our block goes on outside of it")
        return found


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SetupFault(f"it is no TOML: {str(error)[:200]}") from None


def _ralph(table: dict[str, Any]) -> object:
    servers = table.get("mcp_servers", {})
    if not isinstance(servers, dict):
        raise SetupFault("mcp_servers is no table")
    return servers.get("ralph")


def _holds(found: object, wanted: object) -> bool:
    return isinstance(found, dict) and isinstance(wanted, dict) and wanted.items() <= {**found}.items()


class Json(msgspec.Struct, frozen=True):
    """JSON in which a server or hooks are ours."""

    file: str
    trail: Trail = ()
    server: dict[str, Any] = msgspec.field(default_factory=dict)
    hooks: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    new: str = "{}\n"
    """What the file begins as."""

    def put(self, text: str | None, old: Trace | None) -> str:
        text = self.new if text is None else text
        try:
            self._check(text)
            if self.server:
                text = entries.put_server(text, self.trail, self.server)
            return entries.put_hooks(text, self.hooks)
        except jsonc.JsonFault as fault:
            raise SetupFault(_lowered(fault)) from None

    def _check(self, text: str) -> None:
        if not text.strip("\ufeff \t\r\n"):
            raise SetupFault("it is empty, and so no JSON")
        if not isinstance(jsonc.get(text), dict):
            raise SetupFault("it is no JSON object")

    def take(self, text: str, trace: Trace | None) -> str | None:
        try:
            self._check(text)
            edited, emptied = self._without(text)
            if not emptied:
                return text
            for trail in (*emptied, ()):
                edited = _tidied(edited, trail, trace)
            is_bare = jsonc.get(edited) in ({}, jsonc.get(self.new)) and not jsonc.comments(edited)
        except jsonc.JsonFault as fault:
            raise SetupFault(_lowered(fault)) from None
        return None if is_bare and (trace is None or trace.created) else edited

    def _without(self, text: str) -> tuple[str, list[Trail]]:
        if self.server:
            return entries.take_server(text, self.trail)
        return entries.take_hooks(text)

    def traced(self, text: str | None, old: Trace | None) -> Trace | None:
        start = self.new if text is None else text
        is_in = text is not None and (entries.has_server(text, self.trail) if self.server else entries.has_hooks(text))
        if is_in and old is None:
            return None
        found = {"/".join(map(str, trail)): jsonc.raw(start, trail) for trail in self._containers(start)}
        kept = old.containers if is_in and old else {}
        return Trace(created=old.created if is_in and old else text is None, containers={**found, **kept})

    def _containers(self, text: str) -> Iterator[Trail]:
        """The objects and lists that we put something in and that are empty or not there."""
        inner: list[Trail] = [self.trail[:-1]] if self.server else [("hooks",), *(("hooks", one) for one in self.hooks)]
        for trail in [(), *inner]:
            if jsonc.get(text, trail) in (jsonc.MISSING, {}, []):
                yield trail


def _tidied(text: str, trail: Trail, trace: Trace | None) -> str:
    """The text with a container as it was before we came, if nothing is left in it."""
    here = jsonc.raw(text, trail)
    if here is None or jsonc.get(text, trail) not in ({}, []):
        return text
    name = "/".join(map(str, trail))
    if trace is not None and name not in trace.containers:
        return text
    before = trace.containers[name] if trace is not None else None
    if before is None:
        return jsonc.remove(text, trail) if trail and not jsonc.comments(here) else text
    if jsonc.comments(before) != jsonc.comments(here) or not _is_empty(before):
        return text
    return jsonc.paste(text, trail, before)


def _is_empty(written: str) -> bool:
    """Whether this is an empty container; the record is a file, and anybody can write to it."""
    try:
        return jsonc.get(written) in ({}, [])
    except jsonc.JsonFault:
        return False


def _lowered(fault: jsonc.JsonFault) -> str:
    said = str(fault)
    return said[:1].lower() + said[1:]


# Which files for whom

_CLAUDES = re.compile(r"\.claude/(?:skills/ralph-[a-z0-9-]+/SKILL|agents/ralph-[a-z0-9-]+)\.md")
_OPENCODE = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'


def targets(agents: Collection[SetupTarget], supplies: Supplies, has: Collection[str]) -> list[Target]:
    """The files to edit for these agents; `has` are those that are there."""
    found: list[Target] = [Whole("ralph.toml", supplies.settings), Fenced(_GUIDE, Fence.MARKDOWN, supplies.guide)]
    if SetupTarget.CLAUDE in agents:
        found += _claude(supplies)
    if SetupTarget.CODEX in agents:
        found += _codex(supplies)
    if SetupTarget.OPENCODE in agents:
        is_other = "opencode.jsonc" in has and "opencode.json" not in has
        found += _opencode(supplies, "opencode.jsonc" if is_other else "opencode.json")
    return found


def all_targets(supplies: Supplies, recorded: Collection[str] = ()) -> list[Target]:
    """Every file that may have something of ours; those recorded may be of a machine that is no longer in force."""
    other = _opencode(supplies, "opencode.jsonc")[:1]
    earlier = [one for one in recorded if _CLAUDES.fullmatch(one) and one not in supplies.claude]
    return [*targets(list(SetupTarget), supplies, ()), *other, *(Whole(file, "") for file in earlier)]


def directories(wanted: Iterable[Target]) -> list[str]:
    """The directories that the files of targets lie in, the outer ones first."""
    return sorted({str(above) for target in wanted for above in PurePosixPath(target.file).parents} - {"."})


def _claude(supplies: Supplies) -> list[Target]:
    return [
        Fenced(_MEMORY, Fence.MARKDOWN, f"@{_GUIDE}", unless=_REFERS),
        Json(".mcp.json", ("mcpServers", "ralph"), server(SetupTarget.CLAUDE, supplies)),
        Json(".claude/settings.json", hooks=_handlers(SetupTarget.CLAUDE, supplies)),
        *(Whole(file, text, renewed=True) for file, text in supplies.claude.items()),
    ]


def _codex(supplies: Supplies) -> list[Target]:
    return [
        FencedTable(".codex/config.toml", server_block(supplies)),
        Json(".codex/hooks.json", hooks=_handlers(SetupTarget.CODEX, supplies)),
    ]


def _opencode(supplies: Supplies, file: str) -> list[Target]:
    return [
        Json(file, ("mcp", "ralph"), server(SetupTarget.OPENCODE, supplies), new=_OPENCODE),
        Fenced(".opencode/plugins/ralph.js", Fence.SLASHES, plugin(supplies), alone=True),
    ]


def _handlers(agent: SetupTarget, supplies: Supplies) -> dict[str, dict[str, Any]]:
    return {event: handler(agent, event, supplies) for event in EVENTS[agent]}
