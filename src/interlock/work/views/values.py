"""PURE. What views of different things have in common."""

from __future__ import annotations

import msgspec

__all__ = ["InstanceView"]


class InstanceView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of each view of one instance of a machine."""

    id: str
    machine: str
    title: str
    state: str
    label: str
    """The state as people read it."""
    outcome: str | None
    updated_at: str
