"""`thread.json`: the seed's schema to the letter, every phase, older and newer versions, and what is corrupt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InterlockError
from interlock.machine import load_shipped
from interlock.work.threads.phases import (
    MIGRATIONS,
    SCHEMA_VERSION,
    Diagnosed,
    DiagnosisView,
    Iterated,
    Mode,
    Phase,
    Reasoned,
    RunConfig,
    ThreadFile,
    carried,
    check_id,
    load,
    written,
)

from .views import COMMIT, PHASES, view

SEED = """\
{
  "schema_version": 1,
  "id": "abc123",
  "title": "Add feature X",
  "phase": {"type": "Running", "data": {"iteration": 3}},
  "current_run_id": "run-001",
  "baseline": {"branch": "main", "commit_sha": "%s", "captured_at": "2026-01-02T03:04:05.123456789Z"},
  "created_at": "2026-01-02T03:04:05+01:00",
  "updated_at": "2026-01-02T03:04:05Z"
}
"""
"""The seed's example, with something for its dots."""


def _raw(**changes: Any) -> dict[str, Any]:
    raw: dict[str, Any] = json.loads(written(view()))
    return {name: value for name, value in (raw | changes).items() if value is not ...}


def _refused(text: str | bytes, **options: Any) -> InterlockError:
    with pytest.raises(InterlockError) as refused:
        load(text, "threads/abc123/thread.json", **options)
    assert refused.value.hint
    return refused.value


# What is written


@pytest.mark.requirement("thread:files:schema")
def test_the_seeds_example_loads() -> None:
    seen = load(SEED % COMMIT)
    assert (seen.id, seen.title, seen.phase) == ("abc123", "Add feature X", Phase("Running", Iterated(3)))
    assert (seen.current_run_id, seen.current_spec_revision, seen.run_config) == ("run-001", 1, None)
    assert (seen.mode, seen.extra) == (Mode.METHODICAL, {})
    assert seen.baseline is not None
    assert (seen.baseline.branch, seen.baseline.commit_sha) == ("main", COMMIT)


def test_the_file_has_the_fields_of_the_schema_in_their_order_and_ours_behind_them() -> None:
    assert json.loads(written(view(phase=Phase("Running", Iterated(3))))) == {
        "schema_version": 1,
        "id": "abc123",
        "title": "Add feature X",
        "created_at": "2026-11-14T08:00:00.000Z",
        "updated_at": "2026-11-15T09:30:00.500Z",
        "phase": {"type": "Running", "data": {"iteration": 3}},
        "current_spec_revision": 2,
        "current_run_id": "run-001",
        "mode": "Quick",
        "run_config": {"max_iterations": 7, "models": ["claude", "codex"]},
        "baseline": {"branch": "main", "commit_sha": COMMIT, "captured_at": "2026-11-15T09:00:00.000Z"},
        "ticket": 12,
        "receipt": None,
    }
    assert next(iter(json.loads(written(view())))) == "schema_version"
    assert list(json.loads(written(view())))[-2:] == ["ticket", "receipt"]


def test_the_file_that_the_docs_show_is_one_of_ours() -> None:
    text = (Path(__file__).parents[3] / "docs" / "threads.md").read_text(encoding="utf-8")
    shown = text.partition("```json\n")[2].partition("```\n")[0].replace("…", COMMIT)
    assert json.loads(written(load(shown))) == json.loads(shown)


@pytest.mark.requirement("thread:files:tagged-phases")
@pytest.mark.parametrize("phase", PHASES, ids=lambda one: one.type)
def test_every_phase_is_written_with_its_tag_and_read_again(phase: Phase) -> None:
    text = written(view(phase=phase))
    assert load(text) == view(phase=phase)
    tagged = json.loads(text)["phase"]
    assert tagged.keys() == ({"type"} if phase.data is None else {"type", "data"})
    assert written(load(text)) == text


def test_the_phases_are_those_of_the_machine_with_what_they_carry() -> None:
    states = load_shipped("thread").form.states
    assert {name: tuple(state.carries) for name, state in states.items()} == {
        name: () if shape is None else shape.__struct_fields__ for name, shape in carried().items()
    }
    assert {one.type for one in PHASES} == carried().keys()
    assert len(PHASES) == 17


def test_a_diagnosis_is_said_in_the_source_systems_words() -> None:
    assert str(DiagnosisView(5, ("claude",), 2, 3)) == "2/3 criteria (5 iterations)"
    assert str(DiagnosisView(1, (), 0, 1)) == "0/1 criteria (1 iteration)"


_TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
_COUNT = st.integers(0, (1 << 32) - 1)
_DATA = st.one_of(
    st.tuples(st.sampled_from(["Running", "Paused", "Verifying"]), _COUNT.map(Iterated)),
    st.tuples(st.sampled_from(["PreflightFailed", "Abandoned"]), _TEXT.map(Reasoned)),
    st.tuples(
        st.just("Stuck"),
        st.builds(DiagnosisView, _COUNT, st.lists(_TEXT, max_size=3).map(tuple), _COUNT, _COUNT, st.none() | _TEXT).map(
            Diagnosed
        ),
    ),
    st.tuples(st.sampled_from([name for name, shape in carried().items() if shape is None]), st.none()),
)
_OTHER = st.dictionaries(_TEXT.filter(lambda one: one not in _raw()), st.none() | _TEXT | _COUNT, max_size=3)
_VIEWS = st.builds(
    view,
    st.from_regex(r"[A-Za-z0-9_-]{1,128}", fullmatch=True),
    _DATA.map(lambda pair: Phase(*pair)),
    title=_TEXT,
    current_spec_revision=st.integers(1, (1 << 32) - 1),
    current_run_id=st.none() | st.from_regex(r"[A-Za-z0-9_-]{1,128}", fullmatch=True),
    mode=st.sampled_from(Mode),
    run_config=st.none() | st.builds(RunConfig, _COUNT, st.lists(_TEXT, max_size=3).map(tuple)),
    extra=_OTHER,
)


@given(_VIEWS)
def test_whatever_is_written_is_read_again(one: ThreadFile) -> None:
    assert load(written(one)) == one


def test_keys_of_others_are_kept_and_may_not_be_those_of_the_schema() -> None:
    text = json.dumps(_raw(extra={"deep": [1]}, **{"x-editor": "someone's"}))
    assert load(text).extra == {"ticket": 12, "receipt": None, "extra": {"deep": [1]}, "x-editor": "someone's"}
    assert load(written(load(text))) == load(text)
    with pytest.raises(InterlockError, match="`phase` is given twice"):
        written(view(extra={"phase": "Done"}))


# Versions


def test_a_newer_version_is_refused_with_what_to_do() -> None:
    error = _refused(json.dumps(_raw(schema_version=2, phase="of another kind")))
    assert error.code == "thread_newer"
    assert "version 2" in error.message
    assert "Update" in error.hint


@pytest.mark.parametrize("version", [..., None, "1", 1.5, True, 0, -1, [1]])
def test_what_never_was_a_version_is_corrupt(version: Any) -> None:
    raw = _raw(schema_version=...) if version is ... else _raw() | {"schema_version": version}
    error = _refused(json.dumps(raw))
    assert error.code == "thread_corrupt"
    assert "schema" in error.message


@pytest.mark.requirement("thread:files:migration")
def test_older_versions_are_migrated_one_step_each() -> None:
    def named(raw: dict[str, Any]) -> dict[str, Any]:
        return {**{key: value for key, value in raw.items() if key != "name"}, "title": raw["name"]}

    def tagged(raw: dict[str, Any]) -> dict[str, Any]:
        return raw | {"phase": {"type": raw["phase"]}}

    oldest = _raw(schema_version=-1, title=..., name="Old", phase="Drafting")
    steps = {-1: named, 0: tagged}
    assert load(json.dumps(oldest), migrations=steps) == view(title="Old")
    assert load(json.dumps(_raw(schema_version=0, phase="Drafting")), migrations=steps) == view()
    assert load(json.dumps(_raw()), migrations=steps) == view()
    assert _refused(json.dumps(oldest), migrations={-1: named}).code == "thread_corrupt"
    later = load(json.dumps(_raw()), current=3, migrations={1: lambda raw: raw | {"title": "2"}, 2: lambda raw: raw})
    assert later.title == "2"
    assert MIGRATIONS.keys() == set(range(1, SCHEMA_VERSION)), "each released version but the last has its migration"


# What is corrupt


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '"x"', "{}", b"\xff\xfe", "\x00" * 10, "[" * 100_000, '{"a": 1} {"b": 2}', "NaN"]
)
def test_what_is_no_thread_is_corrupt(text: str | bytes) -> None:
    error = _refused(text)
    assert error.code == "thread_corrupt"
    assert error.message.startswith("threads/abc123/thread.json: ")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"id": ...}, "`id`"),
        ({"id": 7}, "`id`: expected"),
        ({"title": ...}, "`title`"),
        ({"title": None}, "`title`: expected"),
        ({"created_at": "yesterday"}, "`created_at` is no time"),
        ({"updated_at": "2026-01-02T03:04:05"}, "`updated_at` is no time"),
        ({"mode": "Slow"}, "Slow"),
        ({"run_config": {"max_iterations": "5"}}, "max_iterations"),
        ({"run_config": {"max_iterations": -1}}, "`run_config.max_iterations` is -1"),
        ({"current_spec_revision": 0}, "`current_spec_revision` is 0"),
        ({"current_spec_revision": 1 << 32}, "`current_spec_revision` is"),
        ({"baseline": {"branch": "main", "captured_at": "2026-01-02T03:04:05Z"}}, "`commit_sha`"),
        (
            {"baseline": {"branch": "main", "commit_sha": "--force", "captured_at": "2026-01-02T03:04:05Z"}},
            "`baseline.commit_sha` is no commit",
        ),
        ({"baseline": {"branch": "main", "commit_sha": COMMIT, "captured_at": "now"}}, "`baseline.captured_at`"),
        ({"phase": ...}, "`phase` is missing"),
        ({"phase": "Drafting"}, "`phase` is no object"),
        ({"phase": {"type": 7}}, "`phase` is no object"),
        ({"phase": {"type": "Sleeping"}}, "'Sleeping' is no phase"),
        ({"phase": {"type": "Drafting", "data": {"iteration": 1}}}, "Drafting has no `data`"),
        ({"phase": {"type": "Running"}}, "phase Running"),
        ({"phase": {"type": "Running", "data": {"iteration": "3"}}}, "phase Running"),
        ({"phase": {"type": "Running", "data": {"iteration": -1}}}, "`phase.data.iteration` is -1"),
        ({"phase": {"type": "Abandoned", "data": {}}}, "`reason`"),
        ({"phase": {"type": "Stuck", "data": {"diagnosis": {}}}}, "iterations_attempted"),
        ({"phase": {"type": "Done", "data": {"commit_sha": "HEAD"}}}, "`phase.data.commit_sha` is no commit"),
    ],
)
def test_the_error_says_what_is_corrupt(changes: dict[str, Any], says: str) -> None:
    error = _refused(json.dumps(_raw(**changes)))
    assert error.code == "thread_corrupt"
    assert re.search(says, error.message)


def test_a_commit_may_have_a_longer_hash() -> None:
    assert load(json.dumps(_raw(phase={"type": "Done", "data": {"commit_sha": "a" * 64}}))).phase.type == "Done"


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | _TEXT, lambda one: st.lists(one) | st.dictionaries(_TEXT, one)
    )
)
def test_no_value_of_any_field_is_more_than_corrupt(value: Any) -> None:
    for name in _raw():
        assert _outcome(json.dumps(_raw() | {name: value})) in (
            *("loaded", "thread_corrupt", "thread_newer", "invalid_argument"),
        )


def _outcome(text: str) -> str:
    try:
        load(text)
    except InterlockError as error:
        return error.code
    return "loaded"


@pytest.mark.parametrize(
    "id_", ["", ".", "..", "a/b", "../a", "a\\b", "a.b", "a b", "a\n", "ä", "\x00", "a" * 129, "a\u2028", "C:"]
)
def test_an_id_is_a_name_in_a_directory_and_nothing_else(id_: str) -> None:
    for call in (
        lambda: check_id(id_),
        lambda: load(json.dumps(_raw(id=id_))),
        lambda: load(json.dumps(_raw(current_run_id=id_))),
    ):
        with pytest.raises(InterlockError) as refused:
            call()
        assert refused.value.code == "invalid_argument"


def test_a_phase_cannot_be_written_with_what_it_does_not_carry() -> None:
    for phase in (Phase("Drafting", Iterated(1)), Phase("Running"), Phase("Running", Reasoned("x")), Phase("Sleeping")):
        with pytest.raises(InterlockError) as refused:
            written(view(phase=phase))
        assert refused.value.code == "thread_corrupt"
