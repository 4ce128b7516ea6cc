"""What a tool call needs, what is nobody's to write, and what a refusal says. In a real repository, with real links."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.machine import load_shipped
from interlock.work.sessions.policy import ToolNeed, denial, made_session, need_of, runs_tests, tools_of
from interlock.work.sessions.protected_paths import protected
from patience import SECONDS

MACHINE = load_shipped("session")
SETTINGS = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks/guard.sh",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".mcp.json",
    ".opencode/plugins/ralph.js",
    "opencode.json",
    "opencode.jsonc",
    "ralph.toml",
)
GUARDED = (*SETTINGS, ".git/config", ".git/hooks/pre-commit", ".ralf/journal.db", ".ralf/inbox/x.json")
FREE = (
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".github/workflows/ci.yml",
    ".git-blame-ignore-revs",
    "src/ralph.toml.md",
    "src/ralph.toml",
    "docs/.mcp.json",
    "tests/fixtures/opencode.json",
    "ralph.toml.bak",
    "my.git/a",
    "git/config",
    ".claude/commands/x.md",
    ".claude/skills/x/SKILL.md",
    ".claude/worktrees/x/a.py",
    ".codexx/a",
    "AGENTS.md",
    "CLAUDE.md",
    "a.txt",
    "/tmp/a.txt",
    "/etc/hosts",
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with all that is protected in it, and links that lead there."""
    root = tmp_path_factory.mktemp("policy") / "Repo"
    subprocess.run(["git", "init", "-q", root], check=True, timeout=SECONDS)
    for name in (*GUARDED, "src/deep/a.txt", ".claude/commands/x.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "link").symlink_to(".git")
    (root / "src" / "up").symlink_to("..")
    (root / "innocent.txt").symlink_to("ralph.toml")
    (root.parent / "elsewhere").symlink_to(root)
    return root


# Paths


@pytest.mark.parametrize("name", GUARDED)
@pytest.mark.parametrize(
    "spelling",
    [
        "{}",
        "./{}",
        "{root}/{}",
        "src/../{}",
        "src/deep/../../{}",
        "src/up/{}",
        "../Repo/{}",
        "../elsewhere/{}",
        "{root}//{}",
        "{root}/./{}",
    ],
)
def test_it_is_protected_however_it_is_spelled(spelling: str, name: str, tree: Path) -> None:
    for one in (name, name.upper()):
        assert protected(spelling.replace("{root}", str(tree)).replace("{}", one), str(tree), str(tree))


@pytest.mark.parametrize("name", GUARDED)
def test_it_is_protected_from_every_directory(name: str, tree: Path) -> None:
    for directory in (tree / "src", tree / "src" / "deep", tree / "src" / "up", tree.parent / "elsewhere"):
        assert protected(os.path.relpath(tree / name, directory.resolve()), str(directory.resolve()), str(tree))
        assert protected(str(tree / name), str(directory), str(tree))


def test_who_has_a_work_tree_for_itself_writes_nowhere_else_in_the_repository(tmp_path: Path) -> None:
    root, linked = tmp_path / "repository", tmp_path / "link"
    own, other, nested = (root / one for one in (".ralf/trees/own/files", ".ralf/trees/other/files", "vendor/sub"))
    for place in (root, own, other, nested):
        (place / ".git").mkdir(parents=True)
    linked.symlink_to(root)
    for spelled in (root, linked):
        beside = f"{spelled}/.ralf/trees/other/files/a"
        for path in ("README", "src/a.py", "../../other/files/a.py", f"{spelled}/README", beside, "../git/HEAD"):
            inside = path if path.startswith(("/", "..")) else f"{spelled}/{path}"
            assert protected(inside, str(own), str(spelled)), inside
        for path in ("a.py", "src/a.py", str(own / "a.py"), ".git/config", "/tmp/elsewhere", "~/notes"):
            assert not protected(path, str(own), str(spelled)), path
        assert not protected(f"{spelled}/README", str(nested), str(spelled)), "a repository of one's own is not ours"
        assert not protected("src/a.py", str(root), str(spelled))


@pytest.mark.parametrize("name", ["link/config", "innocent.txt", "link", ".git", ".ralf", ".codex", ".claude/hooks"])
def test_a_link_and_the_directory_itself_are_protected(name: str, tree: Path) -> None:
    assert protected(name, str(tree), str(tree))


@pytest.mark.parametrize("name", FREE)
def test_what_lies_beside_it_is_not(name: str, tree: Path) -> None:
    assert not protected(name, str(tree), str(tree))


def test_what_belongs_to_the_home_is_protected(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("~/.claude/settings.json", "~/.claude.json", "~/.codex/config.toml", f"{tmp_path}/.codex/hooks.json"):
        assert protected(name, str(tree), str(tree))
    assert not protected("~/a.txt", str(tree), str(tree))


def test_a_linked_work_tree_has_settings_of_its_own(tree: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    (linked / "src").mkdir(parents=True)
    (linked / ".git").write_text(f"gitdir: {tree}/.git/worktrees/linked\n", encoding="utf-8")
    for name in (".claude/settings.json", ".mcp.json", "ralph.toml", ".git"):
        assert protected(name, str(linked), str(tree))
        assert protected(f"../{name}", str(linked / "src"), str(tree))
    assert not protected("src/a.py", str(linked), str(tree))
    assert protected(f"{tree}/ralph.toml", str(linked), str(tree))


def test_a_work_tree_inside_of_what_is_protected_can_be_worked_in(tree: Path) -> None:
    inside = tree / ".ralf" / "trees" / "one"
    inside.mkdir(parents=True, exist_ok=True)
    (inside / ".git").write_text("gitdir: x\n", encoding="utf-8")
    assert not protected("src/a.py", str(inside), str(tree))
    assert protected(".git", str(inside), str(tree))
    assert protected("../../journal.db", str(inside), str(tree))
    assert protected("ralph.toml", str(inside), str(tree))


def test_settings_on_the_way_down_to_the_agent_count(tree: Path) -> None:
    assert protected("src/.mcp.json", str(tree / "src" / "deep"), str(tree)) is False
    assert protected("../.mcp.json", str(tree / "src" / "deep"), str(tree))
    assert protected(".claude/settings.json", str(tree / "src" / "deep"), str(tree))


def test_a_path_that_no_file_can_have_is_protected(tree: Path) -> None:
    assert protected("a\0b", str(tree), str(tree))


@given(st.text(st.characters(codec="utf-8"), max_size=50))
def test_every_path_below_it_is_protected(rest: str) -> None:
    for name in (".git", ".ralf"):
        path = f"{name}/{rest}"
        if os.path.normpath(f"/x/{path}").startswith(f"/x/{name}"):
            assert protected(path, "/x", "/x")


# Tools


@pytest.mark.parametrize(
    ("tool", "given_", "kind"),
    [
        ("Write", {"file_path": "a"}, "write"),
        ("write", {"filePath": "a"}, "write"),
        ("Edit", {"file_path": "a"}, "write"),
        ("MultiEdit", {"edits": [{"file_path": "a"}, {"file_path": "b"}, 5, None]}, "write"),
        ("NotebookEdit", {"notebook_path": "a"}, "write"),
        ("apply_patch", {"input": "*** Add File: a\n"}, "write"),
        ("Write", {}, "write"),
        ("Read", {"file_path": ".git/config"}, "read"),
        ("Glob", {}, "read"),
        ("TodoWrite", {"todos": []}, "read"),
        ("Task", {"prompt": "x"}, "read"),
        ("WebFetch", {"url": "x"}, "read"),
        ("Bash", {"command": "ls"}, "read"),
        ("Bash", {"command": "make test | tail"}, "run"),
        ("Bash", {"command": "rm a"}, "write"),
        ("Bash", {}, "read"),
        ("exec_command", {"cmd": "ls"}, "read"),
        ("exec_command", {"cmd": "touch a"}, "write"),
        ("shell", {"command": ["bash", "-lc", "ls | head"]}, "read"),
        ("shell", {"command": ["bash", "-lc", "ls > a"]}, "write"),
        ("shell", {"command": ["rm", "a b"]}, "write"),
        ("shell", {"command": ["grep", "a > b", "c"]}, "read"),
        ("shell", {"command": ["bash", "-c", 'touch "$1"', "_", "a"]}, "write"),
        ("local_shell", {"command": "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"}, "write"),
        ("PowerShell", {"command": "Get-ChildItem"}, "other"),
        ("PowerShell", {"command": "Get-Date > a.txt"}, "write"),
        ("mcp__files__read_file", {"path": "a"}, "other"),
        ("SomethingNew", {}, "other"),
        ("", {}, "other"),
        ("mcp__ralph__create_ralph_session", {}, "read"),
        ("mcp__plugin_x_ralph__update_session_state", {}, "read"),
        ("ralph_update_session_state", {}, "read"),
        ("mcp__ralphs__update_session_state", {}, "other"),
        ("mcp__ralph", {}, "other"),
    ],
)
def test_what_a_tool_needs(tool: str, given_: dict[str, Any], kind: str, tree: Path) -> None:
    assert need_of(tool, given_, str(tree), str(tree)).kind == kind


@pytest.mark.parametrize(
    ("tool", "given_", "files"),
    [
        ("Write", {"file_path": "a"}, ("a",)),
        ("MultiEdit", {"file_path": "a", "edits": [{"file_path": "a"}, {"file_path": "b"}]}, ("a", "b")),
        (
            "apply_patch",
            {"command": "*** Add File: a\n  *** Update File: b c  \r\n*** Move to: d\n"},
            ("a", "b c", "d"),
        ),
        ("patch", {"diff": "--- a/x.py\n+++ b/x.py\n@@\n"}, ("x.py",)),
        ("Bash", {"command": "rm a"}, ()),
        ("Read", {"file_path": "a"}, ()),
    ],
)
def test_which_files_a_tool_writes(tool: str, given_: dict[str, Any], files: tuple[str, ...], tree: Path) -> None:
    assert need_of(tool, given_, str(tree), str(tree)).files == files


@given(
    st.sampled_from(["Write", "Edit", "MultiEdit", "apply_patch", "Bash", "shell", "mcp__x__y", "Read"]),
    st.dictionaries(
        st.sampled_from(["file_path", "path", "edits", "command", "cmd", "patch", "diff", "x"]),
        st.recursive(st.text() | st.integers() | st.none() | st.booleans(), st.lists),
    ),
)
def test_no_call_makes_it_fail(tool: str, given_: dict[str, Any]) -> None:
    need_of(tool, given_, "/x", None)
    need_of(tool, given_, "/x", "/x")


# Commands

GUARDED_COMMANDS = r"""
echo x > .git/config
echo x >> .git/config
echo x > "$PWD/.git/config"
echo x > ${PWD}/.git/config
echo x > .G\IT/config
echo x > ".git"/'config'
echo x > .gi""t/config
echo x > link/config
echo x > src/../.git/config
echo x > ../Repo/.git/config
echo x | tee .mcp.json
echo x | tee -a src/a.txt ralph.toml
rm .git/index.lock
rm -rf .git
rm -rf .claude
rm -rf ./
rm -rf ../Repo
rm -rf $PWD
rm -rf .*
rm -rf .g*
rm -rf .gi?
rm -rf *
rm -f ralph.*
rm -rf {.git,src}
rm -rf .{git,ralf}
rm -f opencode.json{,c}
rmdir .codex
mv .git x
mv .claude .claude-off
mv ralph.toml ralph.toml.bak
mv * /tmp/
cp x .mcp.json
cp /tmp/settings.json .claude/
cp -t .claude /tmp/settings.json
cp -r /tmp/.claude .
mv hooks .claude/
ln -s .git g
ln -sf /tmp/x ralph.toml
install -m 600 x .codex/config.toml
sed -i s/a/b/ ralph.toml
sed -i -e s/a/b/ src/a.txt .mcp.json
sed -n 'w .git/config' a
perl -pi -e s/a/b/ .claude/settings.json
truncate -s 0 .ralf/journal.db
chmod +w .claude/settings.json
touch .claude/hooks/x
dd if=x of=.git/config
cd .git && rm config
cd .git; echo x > config
cd src && cd ../.git && touch a
cd .claude && rm settings.json
pushd .codex; sed -i s/a/b/ config.toml
(cd .git && rm config)
git -C .git config x y
git config core.hooksPath /tmp/x
git config --global alias.x y
git rm ralph.toml
git rm -r .
git mv .mcp.json x
git checkout -- .claude/settings.json
git restore ralph.toml
git clean -fdx
git clean -fdX
git stash --all
python -c "open('.git/config','w')"
python3 -c 'import os; os.remove(".ralf/journal.db")'
python - <<< "open('.claude/settings.json','w')"
node -e "fs.rmSync('.git', {recursive: true})"
ruby -e 'File.write("ralph.toml","")'
perl -e 'unlink ".mcp.json"'
awk 'BEGIN{print "x" > ".git/config"}'
sqlite3 .ralf/journal.db 'delete from entries'
sqlite3 .ralf/journal.db
bash -c 'echo x > .git/config'
bash -c "bash -c 'rm .git/config'"
eval 'rm .git/config'
echo .git | xargs rm -rf
ls -d .git | xargs -I{} rm -rf {}
find .git -name '*.lock' -delete
find . -path './.git/*' -delete
find .git -exec rm {} +
for f in .git/config; do rm $f; done
x=.git; rm -rf $x
x=ralph.toml; echo > "$x"
f() { rm "$1"; }; f .mcp.json
tar xf a.tar .git/config
tar -C .git -xf a.tar
curl -o .git/config https://x
curl -o .mcp.json https://x
wget -O ralph.toml https://x
patch .claude/settings.json x.diff
vim .git/config
claude mcp add x -- y
claude mcp remove ralph
codex mcp add x
ralph init
ralph init --undo --yes
echo 'open .git
echo x > ~/.claude/settings.json
echo x > $HOME/.claude.json
tee ~/.codex/config.toml
cat .git/config > .git/config2
sort -o ralph.toml ralph.toml
"""
FREE_COMMANDS = r"""
echo x > a.txt
echo 'see .git and ralph.toml' > a.txt
git commit -m 'Fix .git handling, ralph.toml and .claude/settings.json'
git commit -m "$(cat .git/x)"
git add ralph.toml .mcp.json
git push
git checkout main
git stash
git clean -fd
git reset --hard
cat .git/config > /tmp/x
cp .mcp.json /tmp/x
cp ralph.toml src/
cp .claude/settings.json docs/example.json
diff ralph.toml x > out.txt
grep -r .git src > out.txt
touch .gitignore .github/x
rm -rf build src/deep
rm -rf .claude/commands
rm -rf .cache
rm -rf .[a-b]*
rm src/*
rm *.pyc
mv src/a.txt .
mv a.txt b.txt
mkdir -p .claude/commands
echo x > .claude/commands/x.md
sed -i 's/.git/x/' README.md
sed -i s#.git/config#x# README.md
find . -not -path './.git/*' -name '*.pyc' -delete
find . -path ./.git -prune -o -name '*.pyc' -delete
find . ! -path './.git/*' -type f -exec touch {} +
python -c "open('a.txt','w')"
python -c "open('.gitignore','w')"
cd src && rm a.txt
cd /tmp && touch a
tar czf /tmp/x.tgz .git
black .
npm install
touch my.git
cat > README.md << 'EOF'
"""


@pytest.mark.parametrize("command", [line for line in GUARDED_COMMANDS.splitlines() if line])
def test_a_command_that_writes_what_is_protected_is_seen_to(command: str, tree: Path) -> None:
    need = need_of("Bash", {"command": command}, str(tree), str(tree))
    assert need.kind == "write"
    assert need.protected


@pytest.mark.parametrize("command", [line for line in FREE_COMMANDS.splitlines() if line])
def test_a_command_that_writes_elsewhere_is_not(command: str, tree: Path) -> None:
    need = need_of("Bash", {"command": command}, str(tree), str(tree))
    assert need.protected == ""


def test_a_document_may_speak_of_what_is_protected(tree: Path) -> None:
    command = "cat > docs/x.md <<'EOF'\nYour settings are in ralph.toml, and .git is git's.\nEOF"
    assert need_of("Bash", {"command": command}, str(tree), str(tree)).protected == ""


def test_a_patch_in_a_shell_is_read_for_its_paths(tree: Path) -> None:
    for path, guarded in ((".mcp.json", True), ("a.txt", False)):
        command = f"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\nEOF"
        need = need_of("Bash", {"command": command}, str(tree), str(tree))
        assert need.kind == "write"
        assert bool(need.protected) is guarded


@pytest.mark.parametrize("command", ["echo x > {}/a", "touch {}/a", "cp a.txt {}/b", "mkdir {}/c", "rm -rf {}/a"])
def test_a_temporary_place_is_free_unless_the_work_tree_lies_there(command: str, tree: Path) -> None:
    def kind(place: str) -> str:
        return need_of("Bash", {"command": command.format(place)}, str(tree), str(tree)).kind

    assert kind("/tmp/interlock-no-such-directory") == "run"
    assert kind("/var/tmp/interlock-no-such-directory") == "run"
    assert kind(str(tree)) == "write"
    assert kind(f"/tmp/../{tree}") == "write"
    assert kind("/tmp/..") == "write"
    assert kind("/home/user") == "write"
    assert kind("/tmp/$x") == "write"


def test_a_link_in_a_temporary_place_hides_nothing(tree: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tree)
    assert need_of("Bash", {"command": f"echo x > {link}/a.txt"}, str(tree), str(tree)).kind == "write"
    assert need_of("Bash", {"command": f"echo x > {link}/.git/x"}, str(tree), str(tree)).protected


def test_many_paths_are_looked_at_to_their_end(tree: Path) -> None:
    words = " ".join(f"f{number}" for number in range(1_000))
    assert need_of("Bash", {"command": f"rm {words}"}, str(tree), str(tree)).protected == ""
    assert need_of("Bash", {"command": f"rm {words} .git/config"}, str(tree), str(tree)).protected == ".git/config"
    assert need_of("Bash", {"command": "rm " + "{a,b}" * 12 + " .git/x"}, str(tree), str(tree)).protected == ".git/x"
    cds = "cd src;" * 1_000
    assert need_of("Bash", {"command": f"{cds} rm a"}, str(tree), str(tree)).kind == "write"


# What a command shows


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest -q tests",
        "py.test",
        "python -m pytest",
        "python3.11 -m pytest -x",
        "python -m unittest discover",
        ".venv/bin/pytest",
        "uv run pytest",
        "uv run python -m pytest",
        "poetry run pytest",
        "tox -e py",
        "nox",
        "npm test",
        "npm run test:unit",
        "pnpm test",
        "yarn test",
        "npx jest",
        "npx vitest run",
        "node --test",
        "bun test",
        "deno test",
        "cargo test",
        "cargo nextest run",
        "go test ./...",
        "make test",
        "make -j4 check",
        "just test",
        "./gradlew test",
        "mvn -q verify",
        "dotnet test",
        "mix test",
        "swift test",
        "bundle exec rspec",
        "php artisan test",
        "ctest",
        "CI=1 timeout 60 pytest",
        "cd a && pytest",
        "ls; pytest",
    ],
)
def test_a_run_of_tests_is_one(command: str) -> None:
    assert runs_tests(command) is True


@pytest.mark.parametrize("command", ["pytest | tail", "pytest || true", "pytest; ls", "pytest && ls", "pytest &"])
def test_a_run_whose_end_is_not_its_own(command: str) -> None:
    assert runs_tests(command) is False


@pytest.mark.parametrize(
    "command",
    [
        "",
        "ls",
        "pip install pytest",
        "grep -r pytest .",
        "cat tests/test_a.py",
        "git commit -m 'pytest passes'",
        "echo npm test",
        "cargo check",
        "npm run build",
        "make",
        "make testing-ground",
        "test -f a",
        "which pytest",
        "vim tests/test_a.py",
        "echo 'pytest",
    ],
)
def test_what_only_speaks_of_tests_is_none(command: str) -> None:
    assert runs_tests(command) is None


@pytest.mark.parametrize(
    ("tool", "response", "session"),
    [
        ("mcp__ralph__create_ralph_session", '{"sessionId":"01h0000000000000000000000a"}', True),
        ("mcp__ralph__create_ralph_session", {"structuredContent": {"sessionId": "01h0000000000000000000000a"}}, True),
        ("ralph_create_ralph_session", {"content": [{"text": '{"sessionId": "01h0000000000000000000000a"}'}]}, True),
        ("mcp__ralph__create_ralph_session", {"isError": True, "sessionId": "01h0000000000000000000000a"}, False),
        ("mcp__ralph__create_ralph_session", '{"sessionId":"short"}', False),
        ("mcp__ralph__create_ralph_session", '{"sessionId":"01h0000000000000000000000abc"}', False),
        ("mcp__ralph__create_ralph_session", None, False),
        ("mcp__ralph__update_session_state", '{"sessionId":"01h0000000000000000000000a"}', False),
    ],
)
def test_which_session_a_call_made(tool: str, response: object, session: bool) -> None:
    assert made_session(tool, response) == ("01h0000000000000000000000a" if session else None)


# What a refusal says


def _definition() -> dict[str, Any]:
    """The machine as a journal keeps it."""
    found: dict[str, Any] = json.loads(msgspec.json.encode(MACHINE.form))
    return found


@pytest.mark.parametrize("state", MACHINE.states)
def test_the_tools_of_a_state_are_those_of_the_file(state: str) -> None:
    assert tools_of(_definition(), state) == list(MACHINE.states[state].tools or ())


def test_a_state_that_says_nothing_of_tools_allows_all() -> None:
    assert tools_of({"states": {"a": {}}}, "a") == ["read", "run", "write"]
    assert tools_of({}, "a") == ["read", "run", "write"]
    assert tools_of({"states": {"a": {"tools": []}}}, "a") == []


@pytest.mark.parametrize("kind", ["write", "run", "other"])
@pytest.mark.parametrize("state", MACHINE.states)
def test_a_refusal_is_one_line_that_names_the_state_and_what_is_right(kind: str, state: str) -> None:
    need = ToolNeed(kind, "a\nb\x1b[31m " + "x" * 500, "it is so")
    outcome = MACHINE.states[state].outcome if MACHINE.states[state].terminal else None
    for driven in (True, False):
        said = denial("01abc", state, outcome, _definition(), need, driven)
        assert "\n" not in said
        assert len(said) < 1000
        assert "01abc" in said
        assert (f"`{state}`" in said) == (outcome is None)
        if outcome is None and kind == "write" and "write" not in tools_of(_definition(), state):
            states = [json.loads(one)["state"] for one in re.findall(r"update_session_state\((\{.*?\})\)", said)]
            assert states
            assert "write" in tools_of(_definition(), states[-1])


def test_a_way_that_does_not_exist_is_not_named() -> None:
    definition = {"states": {"a": {"tools": ["read"]}}, "transitions": []}
    said = denial("01abc", "a", None, definition, ToolNeed("write", "x"), driven=False)
    assert "update_session_state" not in said
    assert "allowed here: read" in said


def test_a_way_does_not_lead_off_the_path() -> None:
    rows = [
        {"from": "a", "to": "c", "on": "update_session_state", "off_path": True},
        {"from": "*", "to": "b", "on": "update_session_state"},
        {"from": ["b"], "to": "c", "on": "update_session_state"},
        {"from": "a", "to": "c", "on": "complete_ralph_session"},
    ]
    states = {"a": {"tools": []}, "b": {"tools": ["read"]}, "c": {"tools": ["write"]}}
    said = denial("01abc", "a", None, {"states": states, "transitions": rows}, ToolNeed("write", "x"), driven=False)
    assert re.findall(r'"state": "(\w)"', said) == ["b", "c"]


# How much work a call is worth

SIZE = 92_000
COSTLY = {
    "targets of a copy": "cp " + " ".join(f"-t d{number} a{number}" for number in range(SIZE // 12)),
    "open braces": "rm {" + "," * SIZE,
    "braces": "rm " + "{a,b}" * (SIZE // 5),
    "one brace in a long path": "rm " + "a" * (SIZE // 2) + "{" + "b," * (SIZE // 4) + "}",
    "changes of the directory": ";".join(f"cd d; rm a{number}" for number in range(SIZE // 12)),
    "paths": "rm " + " ".join(f"a{number}" for number in range(SIZE // 6)),
    "patterns": "rm " + " ".join(f"a{number}*" for number in range(SIZE // 7)),
    "a deep path": "rm " + "a/" * (SIZE // 2),
    "a long pattern": "rm -r " + "*" * SIZE,
    "temporary files": ";".join(f"echo > /tmp/x{number}" for number in range(SIZE // 15)),
    "comparisons": "[[ " + "a < b " * (SIZE // 6),
    "keywords": "! " * (SIZE // 2) + "[[ a < b",
    "open strings of awk": "awk '" + '"' + '\\"' * (SIZE // 2) + "'",
    "open strings of awk in several": ("awk '" + '"' + '\\"' * 3_900 + "';") * 11,
    "comments of a query": ("sqlite3 a '" + "/*" * 3_900 + "';") * 11,
    "open texts of Python": ("python -c '" + '""" ' * 1_900 + "';") * 11,
    "variables by custom": "$PYTHON a;" * (SIZE // 10),
    "assignments that are used": "".join(f"a{number}=b;$a{number};" for number in range(SIZE // 20)),
    "a patch with a deep path": "git apply <<E\n--- a" + "/b" * (SIZE // 2) + "\nE",
    "files with patches": "git apply " + "x " * (SIZE // 2),
    "delimiters of sed": "sed '" + "".join(f"s{chr(0x4E00 + number)}" for number in range(1_900)) + "' x",
    "scripts of sed": "sed " + "-e 's/a/b/' " * (SIZE // 12),
    "blanks of a query": "sqlite3 db 'select " + " " * SIZE + ";;'",
    "blank lines before a patch": "***\n" + " \n" * (SIZE // 2) + "*** Add File: a",
    "blanks in a patch": "*** Begin Patch\n*** Add File: a" + " " * SIZE + "x",
    "files of a patch": "*** Begin Patch\n" + "".join(f"*** Add File: a{number}\n" for number in range(SIZE // 20)),
    "searches in searches": "find . " + "-exec find . " * (SIZE // 14),
    "an option in twenty carriers": "env " * 19 + "-S'" + "env " * 19 + '-S"' + "env " * 19 + "-Sa\"'",
    "commands": "a;" * (SIZE // 2),
    "lines": "a\n" * (SIZE // 2),
}


@pytest.fixture
def processor_time() -> Iterator[None]:
    """A limit that only something quadratic reaches; processor time, so a busy machine changes nothing."""

    def fail(*_: object) -> None:
        raise AssertionError("it takes too long")

    before = signal.signal(signal.SIGPROF, fail)
    signal.setitimer(signal.ITIMER_PROF, 10)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.mark.usefixtures("processor_time")
@pytest.mark.sampled(8)
@pytest.mark.parametrize("command", COSTLY.values(), ids=COSTLY)
def test_no_command_takes_long_to_be_judged(command: str, tree: Path) -> None:
    need = need_of("Bash", {"command": command}, str(tree), str(tree))
    assert need.kind in ("read", "run", "write")
    runs_tests(command)


@pytest.mark.usefixtures("processor_time")
def test_no_list_of_edits_takes_long_to_be_judged(tree: Path) -> None:
    edits = [{"file_path": f"a{number}"} for number in range(100_000)]
    assert need_of("MultiEdit", {"edits": edits}, str(tree), str(tree)).is_unjudged


def test_what_is_too_much_to_be_judged_is_said_to_be_so(tree: Path) -> None:
    need = need_of("Bash", {"command": "rm " + "{a,b}" * 40}, str(tree), str(tree))
    assert (need.kind, need.is_unjudged) == ("write", True)
    assert "split the command" in denial("s", "implementing", None, {}, need, driven=True)


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "rm " + " ".join(f"src/module{number}.py" for number in range(300)),
        "rm -r {a,b,c}{1,2,3}{x,y}",
        "cat > a.md <<'EOF'\n" + "One line of a document, with $dollars and `ticks`.\n" * 1_800 + "EOF",
        "cat > a.sh <<EOF\n" + 'echo "$HOME/$USER"\n' * 1_500 + "EOF",
        'git commit -m "' + "A sentence of a message. " * 400 + '"',
        ";".join(f"cd sub{number} && ls && cd .." for number in range(50)),
        "sed -i " + "-e 's/old name/new name/g' " * 50 + "a.py",
        "pytest " + " ".join(f"tests/test_{number}.py::test_it" for number in range(500)),
    ],
)
def test_what_people_write_is_judged(command: str, tree: Path) -> None:
    need = need_of("Bash", {"command": command}, str(tree), str(tree))
    assert not need.is_unjudged
    assert need.protected == ""


@pytest.mark.parametrize(
    "given_",
    [
        {"command": "rm -rf x", "workdir": ".git"},
        {"command": "echo x > config", "cwd": ".git"},
        {"command": "touch hooks/pre-commit", "working_directory": "src/../.git"},
        {"command": "echo x > settings.json", "directory": ".claude"},
        {"command": "echo x > journal.db", "dir_path": "{tree}/.ralf"},
        {"cmd": ["bash", "-lc", "rm config"], "workdir": ".codex"},
        {"command": "cd .. && rm .mcp.json", "workdir": "src"},
    ],
)
def test_the_directory_that_a_tool_runs_in_counts(given_: dict[str, Any], tree: Path) -> None:
    placed = {key: one.replace("{tree}", str(tree)) if isinstance(one, str) else one for key, one in given_.items()}
    assert need_of("Bash", placed, str(tree), str(tree)).protected
    without = {key: one for key, one in placed.items() if key in ("command", "cmd")}
    if "cd .." not in str(without):
        assert not need_of("Bash", without, str(tree), str(tree)).protected


def test_a_directory_that_is_no_text_or_leads_nowhere_changes_nothing(tree: Path) -> None:
    odds: tuple[object, ...] = (None, 1, [], "", {})
    for odd in odds:
        assert not need_of("Bash", {"command": "echo > a", "workdir": odd}, str(tree), str(tree)).protected
    assert not need_of("Bash", {"command": "echo > a", "workdir": "src"}, str(tree), str(tree)).protected
