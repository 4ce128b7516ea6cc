"""The single-select fields of a project: their ids, remembered until GitHub disagrees, and their setting up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from interlock.errors import TrackerError
from interlock.world.github import documents
from interlock.world.github.answers import ResponseObject
from interlock.world.github.asking import pages, settled
from interlock.world.github.board import Field, Option
from interlock.world.github.transport import Transport

__all__ = ["Ids", "ProjectFields"]

_SETUP = "Run `ralph ticket sync --setup`, or give it its name back on GitHub."


class Ids(msgspec.Struct, frozen=True):
    """What GitHub calls a field, and an option of it where one is meant."""

    field: str
    option: str | None


class _Known(msgspec.Struct, frozen=True):
    """A field as GitHub has it: its options as it takes them back, by name; None where it is no single-select field."""

    id: str
    options: Mapping[str, Mapping[str, str]] | None


class ProjectFields:
    """The fields of one project."""

    def __init__(self, transport: Transport, project: str) -> None:
        self._transport = transport
        self._project = project
        self._known: Mapping[str, _Known] = {}

    def ids(self, field: str, option: str | None, *, is_fresh: bool = False) -> Ids:
        """The ids of a field and its option, as remembered, or asked for where they are not or must be `fresh`."""
        found = None if is_fresh else self._find(field, option)
        if found is None:
            self._known = self._read()
            found = self._find(field, option)
        if found is not None:
            return found
        what = f"The project has no single-select field {field!r}"
        if option is not None:
            what += f" with an option {option!r}"
        raise TrackerError("tracker_failed", f"{what}.", _SETUP)

    def set_up(self, fields: Sequence[Field]) -> tuple[tuple[str, ...], Mapping[str, tuple[str, ...]]]:
        """Make what is missing: the names of the new fields, and of the options that others got."""
        self._known = self._read()
        created, added = [], {}
        for field in fields:
            known = self._known.get(field.name)
            if known is None:
                created.append(field.name)
                self._create(field)
            elif known.options is None:
                message = f"The project has a field {field.name!r} that is no single-select field."
                raise TrackerError("tracker_failed", message, "Rename it on GitHub, and set up again.")
            elif missing := [one for one in field.options if one.name not in known.options]:
                added[field.name] = tuple(one.name for one in missing)
                self._extend(field, known.id, [*known.options.values(), *map(_input, missing)])
        self._known = {}
        return tuple(created), added

    def _create(self, field: Field) -> None:
        options = [_input(one) for one in field.options]
        variables = {"project": self._project, "name": field.name, "options": options}
        # Sent twice it makes no second one: names are unique in a project, and GitHub refuses it.
        settled(
            lambda: self._transport.mutate(documents.CREATE_FIELD, variables).members,
            lambda: self._complete(field),
        )

    def _extend(self, field: Field, field_id: str, options: Sequence[Mapping[str, str]]) -> None:
        """Give a field more options.

        GitHub replaces the whole list. An option that is sent with its id stays the same one, and so do the values
        of items; one that somebody adds between our reading and our writing is lost, for GitHub has no compare and
        set. A server too old to know ids here refuses the call, and changes nothing.
        """
        variables = {"field": field_id, "options": options}
        settled(
            lambda: self._transport.mutate(documents.UPDATE_FIELD, variables).members,
            lambda: self._complete(field),
        )

    def _complete(self, field: Field) -> Mapping[str, object] | None:
        """The options that a field has now, if none is missing."""
        known = self._read().get(field.name)
        has = known.options if known is not None and known.options is not None else {}
        return has if all(one.name in has for one in field.options) else None

    def _find(self, field: str, option: str | None) -> Ids | None:
        known = self._known.get(field)
        if known is None or known.options is None:
            return None
        if option is None:
            return Ids(known.id, None)
        found = known.options.get(option)
        return None if found is None else Ids(known.id, found["id"])

    def _read(self) -> Mapping[str, _Known]:
        every = pages(self._transport, documents.FIELDS, {"project": self._project}, "fields")
        return {node.text("name"): _known(node) for page in every for node in page}


def _known(node: ResponseObject) -> _Known:
    if node.text("__typename") != "ProjectV2SingleSelectField":
        return _Known(node.text("id"), None)
    names = ("id", "name", "color", "description")
    options = {one.text("name"): {name: one.text(name) for name in names} for one in node.each("options")}
    return _Known(node.text("id"), options)


def _input(option: Option) -> Mapping[str, str]:
    return {"name": option.name, "color": option.color, "description": option.description}
