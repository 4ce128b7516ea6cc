"""What a tool call needs, and whether a session's state allows it; the hook calls it before every tool.

Three kinds of need have names in the machine file: `read`, `run` and `write`. A tool that is not known here has
the kind `other`: where writing is allowed it passes, and elsewhere a person is asked. Some paths are nobody's to
write in any state: git's own files, ours, and the settings that hold the agent to the rules. Paths are looked at
as they are on disk, so that a link hides nothing; besides, a patch that a command applies is read for its paths.

Behind a sandbox the same calls do no harm, so a call of which the kind is not certain counts as running there.
"""

from __future__ import annotations

import json
import os
import re

from interlock.work.sessions.protected_paths import PATCHED, Places, charge, first_guarded, guarded_by, tree_around
from interlock.world.agents.own import is_ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from interlock.work.sessions.shell import Budget

__all__ = ["ToolNeed", "denial", "made_session", "need_of", "runs_tests", "tools_of"]

_READ = frozenset(
    "agent askuserquestion bashoutput codesearch create_goal enterplanmode exitplanmode get_goal glob grep invalid "
    "killbash killshell list list_directory list_mcp_resource_templates list_mcp_resources listmcpresourcestool ls lsp "
    "notebookread plan_exit question read read_file read_many_files read_mcp_resource readmcpresourcetool "
    "request_user_input search_file_content skill slashcommand structuredoutput task taskcreate taskget tasklist "
    "taskoutput taskstop taskupdate todoread todowrite toolsearch update_goal update_plan view_image webfetch "
    "websearch".split()
)
_RUN = frozenset("bash exec_command local_shell monitor powershell run_shell_command shell unified_exec".split())
_WRITE = frozenset(
    "apply_patch create_file edit multiedit notebookedit patch replace str_replace_editor write write_file".split()
)
_PATHS = ("file_path", "filePath", "notebook_path", "notebookPath", "path", "file", "absolute_path", "target_file")
_PATCHES = ("patch", "patchText", "input", "command", "diff")
_COMPARED = r"(?m)^(?:---|\+\+\+) (?:[ab]/)?([^\t\r\n]+)"
_TEMPORARY = ("/tmp", "/var/tmp")
_WORKDIRS = ("workdir", "cwd", "working_directory", "workingDirectory", "dir_path", "directory")
"""The directory that a tool runs a command in, as the agents call it, seen from where the agent is."""

_RUNNERS = frozenset(
    "ava ctest cypress jest mocha nextest nox phpunit playwright py.test pytest rspec tox unittest vitest".split()
)
_TOOLS = frozenset(
    "bazel bun cargo composer deno dotnet go gradle gradlew just make mix mvn mvnw node npm php pnpm rails rake "
    "swift yarn".split()
)


class ToolNeed:
    """What a tool call needs: a kind, what it is about, and for a write that the text of it shows, why it is one.

    One that is too large to be judged in time has `is_unjudged`, and is allowed nowhere. `is_guess` says that the kind
    is not certain.
    """

    __slots__ = ("about", "files", "is_guess", "is_unjudged", "kind", "protected", "why")

    def __init__(
        self, kind: str, about: str = "", why: str = "", protected: str = "", files: tuple[str, ...] = ()
    ) -> None:
        self.kind = kind
        self.about = about
        self.why = why
        self.protected = protected
        self.files = files
        self.is_guess = kind == "other"
        self.is_unjudged = False


def need_of(
    tool: str, given: dict[str, Any], directory: str, root: str | None, *, is_confined: bool = False
) -> ToolNeed:
    """What a call of a tool needs, made in a directory; `root` is the main work tree of the repository around it.

    A confined agent sees a tree of its own in the place of that repository.
    """
    from interlock.work.sessions.shell import Budget, Exhausted

    try:
        need = _need_of(tool, given, directory, Places(directory, root, is_confined), Budget())
    except Exhausted:
        need = ToolNeed("write", tool, "it is too long to be judged in time")
        need.is_guess = need.is_unjudged = True
    return _confined(need) if is_confined and need.is_guess else need


def _confined(need: ToolNeed) -> ToolNeed:
    """What a call of which the kind is not certain counts as in a sandbox: it runs something."""
    found = ToolNeed("run", need.about, need.why or "its kind is not known")
    found.is_guess = True
    return found


def _need_of(tool: str, given: dict[str, Any], directory: str, places: Places, budget: Budget) -> ToolNeed:
    name = tool.lower()
    if is_ours(name):
        return ToolNeed("read")
    starts = [directory, *_workdirs(given, directory)]
    if name in _RUN:
        need = _of_command(_command_of(given), starts, places, budget)
        # What PowerShell does is written in another language than the one that is read here.
        return ToolNeed("other", need.about) if name == "powershell" and need.kind != "write" else need
    if name in _READ:
        return ToolNeed("read")
    paths = _paths_of(given)
    guarded = first_guarded(paths, starts, places, budget)
    if name in _WRITE:
        return ToolNeed("write", ", ".join(paths[:3]), "", guarded, tuple(dict.fromkeys(paths)))
    return ToolNeed("other", guarded, "", guarded)


def _command_of(given: dict[str, Any]) -> str:
    command = given.get("command") or given.get("cmd") or ""
    if not isinstance(command, list):
        return str(command)
    import shlex

    words = [str(word) for word in command]
    return words[2] if len(words) == 3 and re.match(r"^-[a-z]*c$", words[1]) else shlex.join(words)


def _workdirs(given: dict[str, Any], directory: str) -> list[str]:
    named = [given[key] for key in _WORKDIRS if isinstance(given.get(key), str) and given[key]]
    return [os.path.join(directory, os.path.expanduser(one)) for one in named]


def _of_command(command: str, starts: list[str], places: Places, budget: Budget) -> ToolNeed:
    """What a command needs that is run where the agent is, the first of `starts`, or in a directory named with it."""
    from interlock.work.sessions.shell import Exhausted
    from interlock.work.sessions.writers import read_command

    if command.lstrip().startswith("***") and re.search(PATCHED, command):
        paths = _paths_of({"patch": command})
        guarded = first_guarded(paths, starts, places, budget)
        return ToolNeed("write", ", ".join(paths[:3]), "", guarded, tuple(dict.fromkeys(paths)))
    reading = read_command(command, _temporary(starts[0], places.root, budget), budget)
    if reading.is_exhausted:
        raise Exhausted
    if reading.why is None:
        kind = "read" if reading.only_reads else "run"
        return ToolNeed(kind, command, "", first_guarded(reading.named, starts, places, budget))
    need = ToolNeed("write", command, reading.why)
    need.is_guess = not reading.is_certain
    if not (places.is_confined and need.is_guess):
        need.protected = guarded_by(reading, command, starts, places, budget)
    return need


def _temporary(directory: str, root: str | None, budget: Budget) -> Callable[[str], bool]:
    """Tell whether a path lies in a directory for what is temporary, and not in a work tree that lies there itself."""
    trees: list[str] = []
    places: list[str] = []

    def is_temporary(path: str) -> bool:
        charge(path, budget)
        try:
            if not places:
                trees.extend(os.path.realpath(tree) for tree in (root, tree_around(directory)) if tree)
                places.extend(os.path.realpath(place) for place in _TEMPORARY)
            real = os.path.realpath(path)
        except (OSError, ValueError):
            return False
        inside = any(real.startswith(f"{place}/") for place in places)
        return inside and not any(f"{real}/".startswith(f"{tree}/") or tree.startswith(f"{real}/") for tree in trees)

    return is_temporary


def _paths_of(given: dict[str, Any]) -> list[str]:
    named = [str(given[key]) for key in _PATHS if given.get(key)]
    edits = given.get("edits")
    if isinstance(edits, list):
        named += [str(edit[key]) for edit in edits if isinstance(edit, dict) for key in _PATHS if edit.get(key)]
    for key in _PATCHES:
        if isinstance(given.get(key), str):
            named += re.findall(PATCHED, given[key]) or re.findall(_COMPARED, given[key])
    return named


# What a refusal says


def denial(
    session: str, state: str, outcome: str | None, definition: dict[str, Any], need: ToolNeed, driven: bool
) -> str:
    """Why a call is denied and the exact call that is right instead; a driver gives a driven agent its session."""
    if need.is_unjudged:
        return (
            "Interlock: this call is too long to be judged in time, so it is not made. Make it smaller: split the "
            "command into several, or write what is long to a file with your tool for that, and name the file."
        )
    about = " ".join(need.about[:200].split())
    asked = f"writing ({about})" if need.kind == "write" else f"this ({about or need.kind})"
    because = f" This command counts as writing: {need.why}." if need.why and need.kind == "write" else ""
    if need.protected:
        return (
            f"Interlock: {need.protected[:200]} is protected. Git's own files, Interlock's files and the agents' "
            f"settings are not written by an agent in any state; everything else goes on as before. "
            f"If it has to change, say so to the person you work for."
        )
    if outcome is not None:
        more = (
            "There is nothing more to do in it: stop here, and say what is left to do."
            if driven
            else 'If there is more work to do, begin a new session: create_ralph_session({"ticketId": "…"}), then '
            "report your state with update_session_state."
        )
        return f"Interlock: session {session} has ended ({outcome}), so {asked} is not allowed.{because} {more}"
    allowed = tools_of(definition, state)
    way = _way(definition, state, need.kind if need.kind != "other" else "write")
    calls = ", then ".join(f"update_session_state({json.dumps({'sessionId': session, 'state': step})})" for step in way)
    instead = f" When you are ready for it, call {calls}, and do it again." if calls else ""
    return (
        f"Interlock: session {session} is in the state `{state}`, where {asked} is not allowed; "
        f"allowed here: {', '.join(allowed) or 'nothing'}.{because}{instead}"
    )


def tools_of(definition: dict[str, Any], state: str) -> list[str]:
    """The kinds of tools that a state allows; one that says nothing of tools allows all."""
    declared = definition.get("states", {}).get(state, {}).get("tools")
    return ["read", "run", "write"] if declared is None else [str(tool) for tool in declared]


def _way(definition: dict[str, Any], state: str, kind: str) -> list[str]:
    """The shortest way over reported states to one that allows the kind."""
    reached: dict[str, list[str]] = {state: []}
    queue = [state]
    for current in queue:
        if kind in tools_of(definition, current):
            return reached[current]
        for row in definition.get("transitions", []):
            sources = row["from"] if isinstance(row["from"], list) else [row["from"]]
            to = row.get("to")
            usual = row["on"] == "update_session_state" and not row.get("off_path")
            if usual and (current in sources or "*" in sources) and isinstance(to, str) and to not in reached:
                reached[to] = [*reached[current], to]
                queue.append(to)
    return []


# What a call shows


def runs_tests(command: str) -> bool | None:
    """Whether a command's own end says how its tests went, where it runs any; None where it runs none."""
    from interlock.work.sessions.writers import commands_of

    found = commands_of(command)
    runs = [index for index, (words, _) in enumerate(found) if _is_test(words)]
    return runs[-1] == len(found) - 1 and found[-1][1] not in ("|", "|&", "||", "&") if runs else None


def _is_test(words: list[str]) -> bool:
    names = [word.rpartition("/")[2] for word in words]
    if names[:1] and re.fullmatch(r"(?:python|pypy)[\d.]*", names[0]) and "-m" in words[:3]:
        names = names[words.index("-m") + 1 :]
    if not names:
        return False
    plain = [word for word in names[1:] if not word.startswith("-")]
    verbs = plain[1:2] if plain[:1] == ["run"] else plain[:2]
    tests = any(re.match(r"(?:test|verify)(?![a-z])|tests$", verb) for verb in verbs)
    checks = names[0] not in ("cargo", "deno") and any(re.match(r"check(?![a-z])", verb) for verb in verbs)
    run = tests or checks or "--test" in words or not _RUNNERS.isdisjoint(plain[:1])
    return names[0] in _RUNNERS or (names[0] in _TOOLS and run)


def made_session(tool: str, response: object) -> str | None:
    """The id of the session that a call of `create_ralph_session` made; None for everything else."""
    if not tool.lower().endswith("create_ralph_session"):
        return None
    if isinstance(response, dict) and response.get("isError"):
        return None
    found = re.search(r'sessionId\\*"\s*:\s*\\*"([0-9a-z]{26})\b', json.dumps(response))
    return found.group(1) if found else None
