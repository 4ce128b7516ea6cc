"""One encoder: a view by the names of its fields for `--json`, and by those of the seeds for MCP."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from interlock.work.threads.choices import PersonNeed
from interlock.work.views.encoding import as_data
from interlock.work.views.values import InstanceView


class _Kind(StrEnum):
    SMALL = "small"


class _Part(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    is_open: bool
    held_by: str | None = None
    labels: list[str] = []
    amount: float = 0.0


class _View(InstanceView, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    state: str = msgspec.field(name="workflowState")
    parts: tuple[_Part, ...] = ()
    counts: dict[_Kind, int] = msgspec.field(default_factory=dict)
    place: Path | None = None


def _view(*parts: _Part) -> _View:
    return _View(
        id="1",
        machine="ticket",
        title="t",
        state="Done",
        label="Done",
        outcome=None,
        updated_at="now",
        parts=parts,
    )


def test_json_has_the_names_of_the_fields_and_mcp_those_of_the_seeds() -> None:
    view = _view(_Part(True, held_by="wiggum"))
    assert as_data(view)["state"] == msgspec.to_builtins(view)["workflowState"] == "Done"
    assert as_data(view)["parts"] == [{"is_open": True, "held_by": "wiggum"}]
    assert list(msgspec.to_builtins(view)["parts"]) == [{"isOpen": True, "heldBy": "wiggum"}]


def test_enums_and_paths_are_plain() -> None:
    told = as_data(msgspec.structs.replace(_view(), counts={_Kind.SMALL: 1}, place=Path("/tmp/x")))
    assert (told["counts"], told["place"]) == ({"small": 1}, "/tmp/x")
    assert as_data([PersonNeed.GATE]) == ["gate"]
    assert as_data({"kind": _Kind.SMALL, "views": (_Part(False),)}) == {"kind": "small", "views": [{"is_open": False}]}


@given(
    st.builds(
        _Part,
        st.booleans(),
        st.none() | st.text(),
        st.lists(st.text()),
        st.floats(allow_nan=False, allow_infinity=False) | st.just(0.0),
    )
)
def test_what_one_leaves_out_the_other_does_too(part: _Part) -> None:
    names = dict(zip(_Part.__struct_encode_fields__, _Part.__struct_fields__, strict=True))
    assert as_data(part) == {names[name]: one for name, one in msgspec.to_builtins(part).items()}
