"""The layers: imports point downwards only, the machine is pure, and each module says what it is and what it offers."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module

import pytest
from jinja2 import Environment, nodes

from interlock.machine import SHIPPED, load_shipped
from sources import SOURCE, nodes_of, tree_of

MODULES = {
    ".".join(("interlock", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}
BELOW: dict[str, set[str]] = {
    "interlock": set(),
    "decoding": set(),
    "errors": set(),
    "extras": set(),
    "machine": {"decoding", "errors"},
    "journal": {"decoding", "errors", "extras", "machine", "interlock"},
    "world": {"decoding", "errors", "extras", "machine", "interlock"},
    "work": {"decoding", "errors", "machine", "journal", "world", "interlock"},
    "faces": {"decoding", "errors", "extras", "machine", "journal", "world", "work", "interlock"},
    "__main__": {"faces"},
}
"""What each layer may import besides itself; `interlock` stands for the version and nothing else."""
PURE = {
    "__future__",
    "ast",
    "bisect",
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "graphlib",
    "_sha2",
    "_sha256",
    "hashlib",
    "heapq",
    "html",
    "itertools",
    "json",
    "math",
    "msgspec",
    "operator",
    "re",
    "statistics",
    "string",
    "textwrap",
    "tomllib",
    "types",
    "typing",
    "unicodedata",
}
"""What the machine may import of others: nothing that reads a clock, a file, a socket or randomness."""
FILES = {"pathlib", "importlib"}
READERS = {"load.py", "override.py"}
"""The modules of the machine that may touch files, and what with."""


def _tree(name: str) -> ast.Module:
    return tree_of(MODULES[name])


def _nodes(name: str) -> tuple[ast.AST, ...]:
    return nodes_of(MODULES[name])


@cache
def _imports(name: str) -> list[tuple[str, int]]:
    """Every module that a module imports: at its top, in functions, and for types only."""
    found: list[tuple[str, int]] = []
    for node in _nodes(name):
        if isinstance(node, ast.Import):
            found += ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno} imports by a relative path"
            assert node.module is not None
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.append((whole if whole in MODULES else node.module, node.lineno))
    return found


def _layer(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "interlock"


def test_the_layers_are_those_of_the_design() -> None:
    assert {_layer(name) for name in MODULES} == BELOW.keys()
    assert len(MODULES) > 40


def test_imports_point_downwards_only() -> None:
    upwards = [
        f"{name}:{line}: {module}"
        for name in MODULES
        for module, line in _imports(name)
        if module.split(".")[0] == "interlock" and _layer(module) not in {_layer(name), *BELOW[_layer(name)]}
    ]
    assert upwards == []


def test_the_search_sees_imports_in_functions_and_for_types() -> None:
    assert "interlock.journal" in {module for module, _ in _imports("interlock.faces.cli.place")}
    assert "interlock.world.machines" in {module for module, _ in _imports("interlock.faces.cli.machine")}
    assert "rich.console" in {module for module, _ in _imports("interlock.faces.cli.output")}


def test_nothing_is_imported_by_a_computed_name_but_the_nouns() -> None:
    computing = [
        name for name in MODULES if re.search(r"\b(import_module|__import__)\(", MODULES[name].read_text("utf-8"))
    ]
    assert computing == ["interlock.faces.cli.main", "interlock.journal", "interlock.world.git"]


def test_the_hook_imports_only_what_is_made_to_be_light() -> None:
    ours = {module for module, _ in _imports("interlock.faces.hook") if module.startswith("interlock")}
    light = {
        "interlock.journal.peek",
        "interlock.work.sessions.policy",
        "interlock.work.tickets.policy",
        "interlock.world.ancestry",
        "interlock.world.inbox",
        "interlock.world.journal_address",
        "interlock.world.relay",
        "interlock.world.repository",
        "interlock.world.trusted",
    }
    assert ours - light == {"interlock.work.sessions.upkeep"}, "once a session, to bind it to its agent's process"
    beneath = (
        "interlock.work.sessions.carriers",
        "interlock.work.sessions.git_calls",
        "interlock.work.sessions.inline_code",
        "interlock.work.sessions.options",
        "interlock.work.sessions.programs",
        "interlock.work.sessions.protected_paths",
        "interlock.work.sessions.reading",
        "interlock.work.sessions.scripts",
        "interlock.work.sessions.shell",
        "interlock.work.sessions.shell_words",
        "interlock.work.sessions.special_programs",
        "interlock.work.sessions.variables",
        "interlock.work.sessions.writers",
        "interlock.world.agents.own",
        "interlock.world.user_state",
    )
    for name in (*light, *beneath):
        top = {node.lineno for node in _tree(name).body if isinstance(node, ast.Import | ast.ImportFrom)}
        loaded = {module.split(".")[0] for module, line in _imports(name) if line in top} - {"interlock"}
        assert loaded <= {"__future__", "binascii", "json", "os", "re", "shlex", "stat", "time"}, name


def _loads(name: str) -> set[str]:
    """Our modules that are loaded with a module; what a function imports when it is called is none of them."""
    top = {node.lineno for node in _tree(name).body if isinstance(node, ast.Import | ast.ImportFrom)}
    return {module for module, line in _imports(name) if line in top and module in MODULES} - {name}


def test_a_thread_loads_the_other_systems_only_where_they_drive_it() -> None:
    """They are half of what a command would import."""
    loaded, left = set[str](), {"interlock.work.threads.loop", "interlock.work.threads.verbs"}
    while left:
        loaded |= left
        left = {module for name in left for module in _loads(name)} - loaded
    assert "interlock.work.threads.children" in loaded
    assert [
        name for name in loaded if name.startswith(("interlock.work.orchestration.", "interlock.work.stories."))
    ] == []


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """While they are loaded, that is; what a function imports when it is called comes too late to matter."""
    assert set(TopologicalSorter({name: _loads(name) for name in MODULES}).static_order()) == set(MODULES)


# The machine is pure

MACHINE = [name for name in MODULES if _layer(name) == "machine"]


def test_the_machine_imports_nothing_that_reads_or_changes_the_world() -> None:
    for name in MACHINE:
        allowed = PURE | (FILES if MODULES[name].name in READERS else set())
        others = {module.split(".")[0] for module, _ in _imports(name)} - {"interlock"}
        assert others - allowed == set(), name


def test_the_machine_calls_nothing_that_reads_or_writes() -> None:
    for name in MACHINE:
        called = [node.func for node in _nodes(name) if isinstance(node, ast.Call)]
        names = {one.id for one in called if isinstance(one, ast.Name)}
        assert names & {"open", "print", "input", "exec", "eval", "compile", "breakpoint", "__import__"} == set(), name
        if MODULES[name].name not in READERS:
            methods = {one.attr for one in called if isinstance(one, ast.Attribute)}
            written = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "unlink", "mkdir"}
            assert methods & written == set(), name


def test_values_are_read_into_types_only_where_that_is_safe_in_threads() -> None:
    found = {name: calls for name in MODULES if (calls := _typed_reads(_nodes(name)))}
    assert found.keys() == {"interlock.decoding"}


def _typed_reads(nodes: tuple[ast.AST, ...]) -> list[str]:
    """The calls of msgspec that compile a type."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    named = [(ast.unparse(call.func), {one.arg for one in call.keywords}) for call in calls]
    return [
        name
        for name, given in named
        if name.startswith("msgspec.") and (name.endswith((".convert", ".Decoder")) or {"type"} & given)
    ]


def test_the_search_sees_every_way_to_read_into_a_type() -> None:
    for call in ("msgspec.convert(a, B)", "msgspec.json.Decoder(B)", "msgspec.json.decode(a, type=B)"):
        assert _typed_reads(tuple(ast.walk(ast.parse(call)))) == [call.partition("(")[0]]
    assert _typed_reads(tuple(ast.walk(ast.parse("msgspec.json.decode(a)")))) == []


def test_only_the_journal_and_the_faces_touch_a_database() -> None:
    users = {
        _layer(name) for name in MODULES for module, _ in _imports(name) if module.split(".")[0] in ("apsw", "psycopg")
    }
    assert users <= {"journal", "faces"}
    assert "journal" in users


# Faces decide nothing

FACES = [name for name in MODULES if _layer(name) == "faces"]
TEMPLATES = sorted((SOURCE / "faces").rglob("*.html"))
AMBIGUOUS = {
    "error": "a kind of event that a session tells of",
    "failed": "how agents and tasks end, and a mark of statistics",
    "pause": "a verb of every driven system, and so a word of the page's forms",
    "resume": "the same, and how a hook is told that a session begins",
    "run": "a verb, a kind of tool, and a thing",
}
"""Words that name a state or an event, and are compared in a face for something else."""


def _names() -> frozenset[str]:
    """The states and events of the shipped machines, without the ambiguous words."""
    machines = [load_shipped(one) for one in SHIPPED]
    states = {name for machine in machines for name in machine.states}
    events = {row.on for machine in machines for row in machine.transitions}
    assert AMBIGUOUS.keys() <= states | events
    return frozenset(states | events) - AMBIGUOUS.keys()


def _words(node: ast.AST | None) -> Iterator[str]:
    """The texts in a literal: alone, in a collection, or as the keys of a dict."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.Dict(keys=parts):
            for part in parts:
                yield from _words(part)
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "tuple"), args=parts):
            for part in parts:
                yield from _words(part)


def _compared(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every text that a module compares with, matches, or looks up a computed key among; and its line."""
    named = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        sides: list[ast.expr] = []
        match node:
            case ast.Compare(left=left, comparators=right):
                sides = [left, *right]
            case ast.MatchValue(value=value):
                sides = [value]
            case ast.Subscript(value=value, slice=key) if not isinstance(key, ast.Constant):
                sides = [value]
            case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[key, *_]) if not isinstance(
                key, ast.Constant
            ):
                sides = [value]
        for side in sides:
            known = named.get(side.id, side) if isinstance(side, ast.Name) else side
            yield from ((side.lineno, word) for word in _words(known))


def _compared_in_template(text: str) -> Iterator[tuple[int, str]]:
    """The same of a template: comparisons, tests such as `selectattr("state", "equalto", …)`, and lookups."""
    tree = Environment().parse(text)
    for compared in tree.find_all(nodes.Compare):
        for side in (compared.expr, *(one.expr for one in compared.ops)):
            yield from _texts(side)
    for filtered in tree.find_all((nodes.Filter, nodes.Test)):
        for argument in filtered.args:
            yield from _texts(argument)
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Getattr) and call.node.attr == "get" and isinstance(call.node.node, nodes.Dict):
            yield from _texts(call.node.node)


def _texts(node: nodes.Node) -> Iterator[tuple[int, str]]:
    match node:
        case nodes.Const(value=str() as text):
            yield node.lineno, text
        case nodes.Tuple(items=parts) | nodes.List(items=parts):
            for part in parts:
                yield from _texts(part)
        case nodes.Dict(items=pairs):
            for pair in pairs:
                yield from _texts(pair.key)


def test_faces_compare_no_states_or_events() -> None:
    """What a state means is decided in `work`: a face that asks for one by its name decides something itself."""
    found = [(name, *each) for name in FACES for each in _compared(_tree(name))]
    found += [(page.name, *each) for page in TEMPLATES for each in _compared_in_template(page.read_text("utf-8"))]
    names = _names()
    assert [f"{place}:{line}: {word}" for place, line, word in found if word in names] == []
    assert {word for *_, word in found} >= AMBIGUOUS.keys(), "a word that no face compares is not on the list"
    assert TEMPLATES


def test_the_search_sees_every_way_of_comparing() -> None:
    python = """
_ENDS = frozenset({"Done", "Stuck"})
_NEXT = {"Running": 1}
def decide(one):
    if one.state == "Paused" or one.state in _ENDS or "Verifying" != one.state:
        return _NEXT[one.state], {"Polishing": 1}.get(one.state)
    match one.event:
        case "abandon":
            return _NEXT["Drafting"], print("Finalized")
"""
    assert sorted(word for _, word in _compared(ast.parse(python))) == [
        *("Done", "Paused", "Polishing", "Running", "Stuck", "Verifying", "abandon")
    ]
    page = """
{% if one.state in ("Done", "Stuck") or one.state == "Paused" %}{{ "Finalized" }}{% endif %}
{{ {"Running": "x"}.get(one.state) }}{{ all|selectattr("state", "equalto", "Verifying") }}
"""
    assert {word for _, word in _compared_in_template(page)} & _names() == {
        *("Done", "Stuck", "Paused", "Running", "Verifying")
    }


# What every module says of itself


def test_every_module_says_what_it_is() -> None:
    for name in MODULES:
        said = ast.get_docstring(_tree(name))
        assert said, name
        assert said.splitlines()[0].endswith((".", ":", "?")), name


def test_every_package_of_the_systems_names_its_modules() -> None:
    for package, path in MODULES.items():
        if path.name != "__init__.py" or not package.startswith("interlock.work"):
            continue
        words = set(re.findall(r"\w+", ast.get_docstring(_tree(package)) or ""))
        inside = {name.rpartition(".")[2] for name in MODULES if name.rpartition(".")[0] == package}
        assert inside <= words, f"{package} does not name {sorted(inside - words)}"


@pytest.mark.parametrize("name", ["machine", "journal", "world", "work", "faces"])
def test_every_layer_says_what_it_may_import(name: str) -> None:
    said = ast.get_docstring(_tree(f"interlock.{name}")) or ""
    assert re.search(r"\bimport", said)


@cache
def _offered(name: str) -> list[str] | None:
    for node in _tree(name).body:
        if isinstance(node, ast.Assign) and any(
            isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets
        ):
            found: list[str] = ast.literal_eval(node.value)
            return found
    return None


def _order(name: str) -> tuple[int, list[str | int]]:
    """The order of ruff's RUF022: constants, then classes, then the rest; numbers by their value."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def test_every_module_with_something_to_offer_says_so() -> None:
    silent = [name for name in MODULES if _offered(name) is None]
    assert {name for name in silent if MODULES[name].name not in ("__init__.py", "__main__.py")} == set()


def test_what_a_module_offers_is_sorted_and_there() -> None:
    for name in MODULES:
        offered = _offered(name)
        if offered is None:
            continue
        assert offered == sorted(set(offered), key=_order), name
        module = import_module(name)
        assert [one for one in offered if not hasattr(module, one)] == [], name
        assert not [one for one in offered if one.startswith("_")], name


def _taken(name: str) -> Iterator[tuple[str, str]]:
    """Every name that a module takes from another of ours, and from which."""
    for node in _nodes(name):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            names = [alias.name for alias in node.names if f"{node.module}.{alias.name}" not in MODULES]
            yield from ((node.module, one) for one in names)


def test_what_a_module_takes_from_another_is_offered_there() -> None:
    hidden = [
        f"{name}: {module}.{one}"
        for name in MODULES
        for module, one in _taken(name)
        if one not in (_offered(module) or [one])
    ]
    assert hidden == []


DRIVERS = ("driver", "threads", "stories", "orchestration", "ticket_driver")
EFFECTS: dict[str, Callable[[str], bool]] = {
    "interlock.world.git": lambda name: name[0].islower(),
    "interlock.world.agents.running": lambda name: name == "run",
    "interlock.world.agents.tree": lambda name: True,
    "interlock.world.commands": lambda name: name == "run_command",
    "interlock.world.files": lambda name: name[0].islower(),
    "interlock.world.folder": lambda name: True,
    "interlock.world.inbox": lambda name: True,
    "interlock.world.journal_address": lambda name: name[0].islower(),
    "interlock.work.sessions.upkeep": lambda name: True,
    "interlock.work.setup.agent_tools": lambda name: True,
    "interlock.work.verification.verifying": lambda name: True,
    **dict.fromkeys(("random", "secrets", "shutil", "subprocess", "tempfile", "time"), lambda name: True),
}
"""What a driver does to the world only through its ports: modules, and which of their names."""
FILE_CALLS = frozenset(
    "exists glob is_dir is_file iterdir lstat mkdir open read_bytes read_text rename rglob rmdir stat symlink_to "
    "touch unlink write_bytes write_text".split()
)
"""The methods of a path that touch a file; those of the port `files` have names of their own, or are called on it."""
PURE_OS = frozenset({"fsdecode", "fsencode", "fspath"})
BESIDE_DRIVERS = {
    "interlock.work.driver.ports": "the ports themselves",
    "interlock.work.driver.agent_failures": "the local time in a sentence for people",
    "interlock.work.driver.interrupts": "the signals of a context, which is given them",
    "interlock.work.driver.spawn": "starts a driver as a process of its own, on behalf of a person",
    "interlock.work.driver.transcripts": "what a person is shown",
    "interlock.work.orchestration.contracts": "reads a file that we ship",
    "interlock.work.orchestration.roles": "reads files that we ship",
    **dict.fromkeys(
        (f"interlock.work.stories.{one}" for one in ("context", "files", "opening", "steps", "testing")),
        "the files of stories, which are not behind the ports yet",
    ),
    "interlock.work.threads.reading": "what a person is shown",
    "interlock.work.threads.showing": "what a person is shown",
}


def _effects(tree: ast.Module) -> list[str]:
    """The effects that a module imports, other than for types, or calls."""
    types = {
        id(inside)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inside in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        match node:
            case _ if id(node) in types:
                continue
            case ast.Import():
                found += [one.name for one in node.names if one.name in EFFECTS]
            case ast.ImportFrom(module=str() as module):
                whole = [(module, one.name) for one in node.names]
                found += [f"{a}.{b}" for a, b in whole if a in EFFECTS and EFFECTS[a](b)]
                found += [f"{a}.{b}" for a, b in whole if f"{a}.{b}" in EFFECTS]
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr=called)) if called not in PURE_OS:
                found.append(f"os.{called}")
            case ast.Call(func=ast.Attribute(value=ast.Name(id="datetime"), attr="now" | "today" as called)):
                found.append(f"datetime.{called}")
            case ast.Call(func=ast.Attribute(value=value, attr=called)) if called in FILE_CALLS:
                if not ast.unparse(value).endswith("files"):
                    found.append(f"{ast.unparse(value)}.{called}")
            case ast.Call(func=ast.Name(id="open")):
                found.append("open")
    return found


def test_stories_write_their_files_through_the_ports() -> None:
    direct = {"interlock.world.files", "interlock.world.folder"}
    stories = [name for name in MODULES if name.startswith("interlock.work.stories.")]
    imports = [(name, node) for name in stories for node in _nodes(name)]
    assert [name for name, node in imports if isinstance(node, ast.ImportFrom) and node.module in direct] == []


def test_drivers_reach_the_world_through_their_ports() -> None:
    drivers = [name for name in MODULES if name.startswith(tuple(f"interlock.work.{one}." for one in DRIVERS))]
    effects = {name: found for name in drivers if (found := _effects(_tree(name)))}
    assert {name: found for name, found in effects.items() if name not in BESIDE_DRIVERS} == {}
    assert BESIDE_DRIVERS.keys() <= effects.keys(), "an exception that is not needed"


def test_the_search_sees_every_kind_of_effect() -> None:
    python = """
import os, time
from interlock.world import git
from interlock.world.folder import Folder
from interlock.world.files import FILE_CLOCK_LAG, write_bytes
if TYPE_CHECKING:
    from interlock.world.git import state
def drive(context, path):
    context.ports.files.write_bytes(path, b"")
    (path / "x").write_bytes(os.fsencode("x"))
    os.replace(path, path.with_name("y"))
    return open(path), datetime.now(UTC), datetime.fromisoformat("2026-01-01"), "a".replace("a", "b")
"""
    assert sorted(_effects(ast.parse(python))) == [
        *("datetime.now", "interlock.world.files.write_bytes"),
        *("interlock.world.folder.Folder", "interlock.world.git", "open", "os.replace"),
        *("path / 'x'.write_bytes", "time"),
    ]
