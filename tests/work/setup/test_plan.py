"""What would be edited, from texts to texts: the same again, and back to the byte."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exhaustive import examples
from interlock.work.setup.agents import EVENTS, SetupTarget, Supplies
from interlock.work.setup.plan import PlanFault, SetupRecord, TextEdit, decoded, encoded, plan, plan_undo
from interlock.work.setup.surroundings import supplies
from interlock.work.setup.targets import all_targets, directories, targets
from interlock.world import jsonc
from world.documents import VALUES, written

MODEST = settings(max_examples=examples(120), suppress_health_check=list(HealthCheck))
OURS = supplies({"PATH": ""})
EVERYTHING = all_targets(OURS)
FILES = [target.file for target in EVERYTHING]
NOTHING: dict[str, str | None] = dict.fromkeys(FILES)

HANDLERS = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.sampled_from(["lint", "a 'b", "ralph log"])}
)
GROUPS = st.fixed_dictionaries({"hooks": st.lists(HANDLERS, max_size=2)}, optional={"matcher": st.just("Bash")})
HOOKS = st.dictionaries(st.sampled_from(["PreToolUse", "Stop", "Other"]), st.lists(GROUPS, max_size=2), max_size=3)
SERVERS = st.dictionaries(st.sampled_from(["docs", "web"]), st.just({"command": "docs"}), max_size=2)
MARKDOWN = st.text(st.sampled_from("# a\n"), max_size=8) | st.sampled_from(
    ["\ufeff", "x\r\ny\r\n", "@AGENTS.md\n", "\r\n"]
)
TOML = st.sampled_from(
    ["", "a = 1", "a = 1\r\n", '[mcp_servers.docs]\ncommand = "docs"\n', "# only a comment\n", "\ufeff"]
)


def _json(key: str, inner: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    objects = st.fixed_dictionaries({}, optional={"before": VALUES, key: inner, "after": VALUES})
    return objects.flatmap(written)


TEXTS: dict[str, st.SearchStrategy[str]] = {
    "ralph.toml": st.just("[session]\n"),
    "AGENTS.md": MARKDOWN,
    "CLAUDE.md": MARKDOWN,
    ".mcp.json": _json("mcpServers", SERVERS),
    ".claude/settings.json": _json("hooks", HOOKS),
    ".codex/config.toml": TOML,
    ".codex/hooks.json": _json("hooks", HOOKS),
    "opencode.json": _json("mcp", SERVERS),
    "opencode.jsonc": _json("mcp", SERVERS),
    ".opencode/plugins/ralph.js": st.sampled_from(["", "\n"]),
    **dict.fromkeys(OURS.claude, st.sampled_from(["", "Mine.\n"])),
}
PLACES = st.fixed_dictionaries({file: st.none() | text for file, text in TEXTS.items()})
SETS = st.sets(st.sampled_from(SetupTarget), min_size=1)


def _wanted(agents: set[SetupTarget], texts: dict[str, str | None], brought: Supplies = OURS) -> list[Any]:
    return list(targets(agents, brought, [file for file, text in texts.items() if text is not None]))


def _after(texts: dict[str, str | None], edits: list[TextEdit]) -> dict[str, str | None]:
    return {**texts, **{edit.file: edit.after for edit in edits}}


def _set_up(
    texts: dict[str, str | None], agents: set[SetupTarget], record: SetupRecord | None = None, brought: Supplies = OURS
) -> tuple[dict[str, str | None], SetupRecord]:
    edits, new = plan(_wanted(agents, texts, brought), texts, record, directories(EVERYTHING))
    kept = decoded(encoded(new))
    assert kept == new
    return _after(texts, edits), new


def _undone(texts: dict[str, str | None], record: SetupRecord | None) -> dict[str, str | None]:
    return _after(texts, plan_undo(EVERYTHING, texts, record))


@pytest.mark.exhaustive
@MODEST
@given(PLACES, SETS)
def test_setting_up_twice_is_setting_up_once(texts: dict[str, str | None], agents: set[SetupTarget]) -> None:
    first, record = _set_up(texts, agents)
    assert _set_up(first, agents, record) == (first, record)


@pytest.mark.exhaustive
@MODEST
@given(PLACES, SETS, SETS)
def test_undo_gives_every_byte_from_before(
    texts: dict[str, str | None], some: set[SetupTarget], others: set[SetupTarget]
) -> None:
    first, record = _set_up(texts, some)
    second, record = _set_up(first, others, record)
    assert _undone(second, record) == texts


@pytest.mark.exhaustive
@MODEST
@given(PLACES, SETS)
def test_undo_in_a_fresh_clone_leaves_nothing_of_ours_and_all_that_others_have(
    texts: dict[str, str | None], agents: set[SetupTarget]
) -> None:
    after, _ = _set_up(texts, agents)
    undone = _undone(after, None)
    assert not [file for file, text in undone.items() if text and "ralph:begin" in text]
    for file in (one for one in FILES if one.endswith((".json", ".jsonc"))):
        before, now = texts[file], undone[file]
        assert _filled(jsonc.get(now) if now else {}) == _filled(jsonc.get(before) if before else {})
    assert _undone(undone, None) == undone


def _filled(value: object) -> str:
    """A value without the containers in it that are empty."""
    return json.dumps(_pruned(value), sort_keys=True)


def _pruned(value: object) -> object:
    if isinstance(value, dict):
        return {key: one for key, part in value.items() if (one := _pruned(part)) not in ({}, [])}
    if isinstance(value, list):
        return [one for part in value if (one := _pruned(part)) not in ({}, [])]
    return value


@pytest.mark.exhaustive
@MODEST
@given(PLACES, SETS)
def test_another_installation_takes_our_entries_over(texts: dict[str, str | None], agents: set[SetupTarget]) -> None:
    other = {file: f"Another {text}" for file, text in OURS.claude.items()}
    elsewhere = Supplies("/opt/a b/ralph", "/opt/a b/ralph-hook", OURS.settings, "Other guide.\n", other)
    first, record = _set_up(texts, agents, brought=elsewhere)
    second, record = _set_up(first, agents, record)
    assert _set_up(texts, agents)[0].items() - second.items() <= {("ralph.toml", second["ralph.toml"])}
    assert _undone(second, record) == texts


def test_what_is_written_is_what_each_agent_reads() -> None:
    after, _ = _set_up(NOTHING, set(SetupTarget))
    claude = jsonc.get(after[".claude/settings.json"] or "")
    assert isinstance(claude, dict)
    assert claude["hooks"].keys() == EVENTS[SetupTarget.CLAUDE].keys()
    assert claude["hooks"]["PostToolUseFailure"] == [
        {"hooks": [{"type": "command", "command": OURS.hook, "args": ["post-tool-use-failure"], "timeout": 10}]}
    ]
    codex = jsonc.get(after[".codex/hooks.json"] or "")
    assert isinstance(codex, dict)
    assert "PostToolUseFailure" not in codex["hooks"]
    [group] = codex["hooks"]["SessionEnd"]
    assert group == {"hooks": [{"type": "command", "command": f"{OURS.hook} session-end", "timeout": 3}]}
    assert jsonc.get(after["opencode.json"] or "", ("mcp", "ralph")) == {
        "type": "local",
        "command": [OURS.ralph, "mcp"],
    }
    assert jsonc.get(after[".mcp.json"] or "", ("mcpServers", "ralph")) == {"command": OURS.ralph, "args": ["mcp"]}
    assert after["opencode.jsonc"] is None
    assert after["CLAUDE.md"] == "<!-- ralph:begin v1 -->\n@AGENTS.md\n<!-- ralph:end -->\n"


def test_a_path_with_spaces_is_quoted_where_a_shell_reads_it() -> None:
    brought = Supplies("/a b/ralph", "/a b/ralph-hook", OURS.settings, OURS.guide)
    after, _ = _set_up(NOTHING, set(SetupTarget), brought=brought)
    command = jsonc.get(after[".codex/hooks.json"] or "", ("hooks", "Stop", 0, "hooks", 0, "command"))
    assert shlex.split(str(command)) == ["/a b/ralph-hook", "stop"]
    assert 'const HOOK = "/a b/ralph-hook"\n' in (after[".opencode/plugins/ralph.js"] or "")


def _with(file: str, text: str) -> dict[str, str | None]:
    return {**NOTHING, file: text}


def test_what_people_added_to_our_entries_stays() -> None:
    entry = {"command": "/old/ralph", "args": ["mcp"], "env": {"A": "b"}}
    after, _ = _set_up(_with(".mcp.json", json.dumps({"mcpServers": {"ralph": entry}})), {SetupTarget.CLAUDE})
    assert jsonc.get(after[".mcp.json"] or "", ("mcpServers", "ralph")) == {**entry, "command": OURS.ralph}
    block = "# ralph:begin v1\n[mcp_servers.ralph]\n{}startup_timeout_sec = 20\n# ralph:end\n"
    ours, _ = _set_up(NOTHING, {SetupTarget.CODEX})
    inner = (ours[".codex/config.toml"] or "").split("[mcp_servers.ralph]\n")[1].split("# ralph:end")[0]
    mine = block.format(inner)
    assert _set_up(_with(".codex/config.toml", mine), {SetupTarget.CODEX})[0][".codex/config.toml"] == mine


def test_an_older_hook_is_brought_up_to_date_in_its_place() -> None:
    old = {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/old/ralph-hook stop", "statusMessage": "…"}]}]}
    }
    after, _ = _set_up(_with(".claude/settings.json", json.dumps(old)), {SetupTarget.CLAUDE})
    [group] = jsonc.get(after[".claude/settings.json"] or "", ("hooks", "Stop"))  # type: ignore[misc]
    [entry] = group["hooks"]  # type: ignore[has-type]
    assert entry == {
        "type": "command",
        "command": OURS.hook,
        "args": ["stop"],
        "timeout": 10,
        "statusMessage": "…",
    }


@pytest.mark.parametrize("command", [["uvx", "--from", "interlock", "ralph", "mcp"], ["uv", "run", "ralph", "mcp"]])
def test_who_calls_us_in_a_way_of_their_own_keeps_it(command: list[str]) -> None:
    text = json.dumps({"mcpServers": {"ralph": {"command": command[0], "args": command[1:]}}})
    after, _ = _set_up(_with(".mcp.json", text), {SetupTarget.CLAUDE})
    assert after[".mcp.json"] == text


def test_an_older_block_is_replaced_in_its_place() -> None:
    old = "# Guide\n\n<!-- ralph:begin v0 -->\nold\n<!-- ralph:end -->\n\nmore\n"
    after, _ = _set_up(_with("AGENTS.md", old), {SetupTarget.CLAUDE})
    assert after["AGENTS.md"] == f"# Guide\n\n<!-- ralph:begin v1 -->\n{OURS.guide}<!-- ralph:end -->\n\nmore\n"


@pytest.mark.parametrize("line", ["@AGENTS.md", "See @./AGENTS.md.", "a\r\n@AGENTS.md\r\n"])
def test_a_memory_that_refers_to_the_guide_is_left_alone(line: str) -> None:
    after, _ = _set_up(_with("CLAUDE.md", line), {SetupTarget.CLAUDE})
    assert after["CLAUDE.md"] == line


@pytest.mark.parametrize("line", ["me@AGENTS.md.org is an address", "AGENTS.md", "@AGENTS.mdx"])
def test_a_memory_that_only_looks_like_it_gets_the_reference(line: str) -> None:
    after, _ = _set_up(_with("CLAUDE.md", line), {SetupTarget.CLAUDE})
    assert after["CLAUDE.md"] == f"{line}\n\n<!-- ralph:begin v1 -->\n@AGENTS.md\n<!-- ralph:end -->"


def test_the_other_name_of_opencodes_file_is_used_where_it_is_there() -> None:
    after, record = _set_up(_with("opencode.jsonc", "{} // mine\n"), {SetupTarget.OPENCODE})
    assert after["opencode.json"] is None
    assert "mcp" in (after["opencode.jsonc"] or "")
    assert _undone(after, record)["opencode.jsonc"] == "{} // mine\n"


def test_what_others_add_meanwhile_stays_at_undo() -> None:
    after, record = _set_up(NOTHING, set(SetupTarget))
    after[".mcp.json"] = jsonc.put(after[".mcp.json"] or "", ("mcpServers", "docs"), {"command": "docs"})
    after["AGENTS.md"] = f"{after['AGENTS.md']}\nMine.\n"
    after["ralph.toml"] = f"{after['ralph.toml']}# mine\n"
    after["CLAUDE.md"] = f"Before.\n\n{after['CLAUDE.md']}"
    after[".claude/settings.json"] = jsonc.append(
        after[".claude/settings.json"] or "", ("hooks", "Stop", 0, "hooks"), {"type": "command", "command": "mine"}
    )
    undone = _undone(after, record)
    assert jsonc.get(undone[".mcp.json"] or "") == {"mcpServers": {"docs": {"command": "docs"}}}
    assert undone["AGENTS.md"] == "\nMine.\n"
    assert undone["ralph.toml"] == after["ralph.toml"]
    assert undone["CLAUDE.md"] == "Before.\n"
    assert jsonc.get(undone[".claude/settings.json"] or "") == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    }
    assert {file for file, text in undone.items() if text is not None} == {
        "ralph.toml",
        "AGENTS.md",
        "CLAUDE.md",
        ".mcp.json",
        ".claude/settings.json",
    }


SKILL = ".claude/skills/ralph-plan/SKILL.md"


def test_a_skill_that_nobody_changed_follows_the_machine_and_one_that_somebody_did_is_theirs() -> None:
    later = Supplies(OURS.ralph, OURS.hook, OURS.settings, OURS.guide, {SKILL: "Later.\n"})
    after, record = _set_up(NOTHING, {SetupTarget.CLAUDE})
    renewed, record_of_renewed = _set_up(after, {SetupTarget.CLAUDE}, record, later)
    assert renewed[SKILL] == "Later.\n"
    assert _undone(renewed, record_of_renewed) == NOTHING
    mine = {**after, SKILL: f"{after[SKILL]}\nMine.\n"}
    kept, record = _set_up(mine, {SetupTarget.CLAUDE}, record, later)
    assert kept[SKILL] == mine[SKILL]
    assert {file for file, text in _undone(kept, record).items() if text is not None} == {SKILL}


def test_a_skill_that_was_there_before_us_is_left_alone() -> None:
    texts = _with(SKILL, "Mine.\n")
    after, record = _set_up(texts, {SetupTarget.CLAUDE})
    assert after[SKILL] == "Mine.\n"
    assert _undone(after, record) == texts
    assert _undone(after, None) == texts


def test_a_skill_of_a_machine_that_is_no_longer_in_force_goes_with_the_rest() -> None:
    file = ".claude/skills/ralph-deploy/SKILL.md"
    other = Supplies(OURS.ralph, OURS.hook, OURS.settings, OURS.guide, {**OURS.claude, file: "Deploy.\n"})
    after, record = _set_up({**NOTHING, file: None}, {SetupTarget.CLAUDE}, brought=other)
    known = all_targets(OURS, record.files)
    assert [target.file for target in known if target.file not in FILES] == [file]
    assert _after(after, plan_undo(known, after, record)) == {**NOTHING, file: None}
    changed = {**after, file: "Mine.\n"}
    assert _after(changed, plan_undo(known, changed, record))[file] == "Mine.\n"


@pytest.mark.parametrize(
    "file", ["src/app.py", ".claude/skills/mine/SKILL.md", "../x", ".claude/skills/ralph-/../../x"]
)
def test_a_record_that_somebody_wrote_names_no_file_of_others(file: str) -> None:
    assert [target.file for target in all_targets(OURS, [file])] == FILES


def test_what_was_set_up_anew_after_somebody_took_it_out_is_undone_to_what_it_was_then() -> None:
    _, record = _set_up(NOTHING, {SetupTarget.CLAUDE})
    texts = _with(".mcp.json", '{"mcpServers": { }}')
    after, record = _set_up(texts, {SetupTarget.CLAUDE}, record)
    assert _undone(after, record) == texts


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"no JSON",
        b"[]",
        b'{"version": 2}',
        b'{"version": 1, "files": {"AGENTS.md": 1}}',
        b'{"version": 1, "more": 1}',
        b"\xff",
        None,
    ],
)
def test_a_record_that_cannot_be_read_is_none(record: bytes | None) -> None:
    assert decoded(record) is None


def test_a_record_that_somebody_wrote_cannot_put_anything_into_a_file() -> None:
    after, record = _set_up(_with(".mcp.json", "{}"), {SetupTarget.CLAUDE})
    text = encoded(record).replace(b'"": "{}"', b'"": "{\\"evil\\": 1}"')
    forged = decoded(text)
    assert forged is not None
    assert forged != record
    assert _undone(after, forged)[".mcp.json"] == "{}"


# What cannot be edited

FAULTS = {
    ".mcp.json": [
        "",
        "no JSON",
        "[]",
        '{"mcpServers": []}',
        '{"mcpServers": null}',
        '{"mcpServers": {"ralph": {"command": "wiggum"}}}',
        '{"mcpServers": {"ralph": {"type": "http", "url": "http://x"}}}',
        '{"mcpServers": {"ralph": 1}}',
        '{"mcpServers": {}, "mcpServers": {}}',
        "[" * 1000,
    ],
    ".claude/settings.json": ['{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": 1}', '"text"'],
    ".codex/hooks.json": ['{"hooks": {"Stop": null}}'],
    ".codex/config.toml": [
        "no TOML",
        '[mcp_servers.ralph]\ncommand = "other"\n',
        'mcp_servers = {docs = {command = "docs"}}\n',
        "mcp_servers = 1\n",
        "# ralph:begin v1\n",
        "# ralph:begin v1\n[mcp_servers.ralph]\n# ralph:end\nmine = 1\n",
        "# ralph:begin v2\n[mcp_servers.ralph]\n# ralph:end\n",
    ],
    "opencode.json": ['{"mcp": {"ralph": {"type": "remote", "url": "http://x"}}}', '{"mcp": 5}'],
    ".opencode/plugins/ralph.js": ["export const Mine = 1\n", "// ralph:begin v1\n"],
    "AGENTS.md": [
        "<!-- ralph:begin v1 -->\n",
        "<!-- ralph:end -->\n",
        "<!-- ralph:begin v1 -->\n<!-- ralph:end -->\n" * 2,
        "<!-- ralph:begin v2 -->\n<!-- ralph:end -->\n",
    ],
}


@pytest.mark.parametrize(("file", "text"), [(file, text) for file, texts in FAULTS.items() for text in texts])
def test_what_cannot_be_edited_safely_is_refused_by_name(file: str, text: str) -> None:
    with pytest.raises(PlanFault) as fault:
        _set_up(_with(file, text), set(SetupTarget))
    assert fault.value.file == file
    assert str(fault.value)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".mcp.json", '{"mcpServers": {"ralph": {"command": "wiggum"}}}'),
        (".opencode/plugins/ralph.js", "export const Mine = 1\n"),
        (".claude/settings.json", '{"hooks": {"Stop": {}}}'),
        ("AGENTS.md", "# Guide\n"),
        (".mcp.json", '{"mcpServers": {}}'),
    ],
)
def test_undo_leaves_alone_what_is_not_ours(file: str, text: str) -> None:
    assert _undone(_with(file, text), None) == _with(file, text)
