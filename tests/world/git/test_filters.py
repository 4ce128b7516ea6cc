"""Filter programs: the person's own, run where they accepted them, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from interlock.errors import InterlockError
from interlock.world.git import (
    TreeTaking,
    accept_filters,
    commit,
    export_tree,
    put_tree,
    state,
    tree_hash,
)
from work.threads.benches import Bench, Steps, shell
from world.git.own import OwnTree, listed, made_own, taken
from world.git.repositories import ADA, git, made, write

FILTER = """#!/bin/sh
# Turns content into a pointer and back; says that it ran, and for whom.
echo "$1 $NAME" >> PLACE/ran
case $1 in
clean)
    cat > PLACE/content.$$
    sum=$(sha1sum < PLACE/content.$$ | cut -c-40)
    grep -q '^pointer ' PLACE/content.$$ && exec cat PLACE/content.$$
    mv PLACE/content.$$ PLACE/store/$sum
    echo "pointer $sum";;
smudge)
    read -r word sum
    exec cat PLACE/store/$sum;;
esac
"""
PROCESS = """
import hashlib, pathlib, sys

def packet():
    size = int(sys.stdin.buffer.read(4) or sys.exit(), 16)
    return sys.stdin.buffer.read(size - 4) if size else None

def packets():
    return list(iter(packet, None))

def say(*parts):
    for part in parts:
        sys.stdout.buffer.write(b"%04x" % (len(part) + 4) + part)
    sys.stdout.buffer.write(b"0000")
    sys.stdout.buffer.flush()

place = pathlib.Path("PLACE")
packets()
say(b"git-filter-server\\n", b"version=2\\n")
packets()
say(b"capability=clean\\n", b"capability=smudge\\n")
while True:
    command, content = packets()[0], b"".join(packets())
    name = hashlib.sha1(content).hexdigest()
    if command == b"command=smudge\\n":
        content = (place / "store" / content.decode().split()[1]).read_bytes()
    elif not content.startswith(b"pointer "):
        (place / "store" / name).write_bytes(content)
        content = f"pointer {name}\\n".encode()
    with (place / "ran").open("a") as file:
        file.write("process person\\n")
    say(b"status=success\\n")
    say(*([content] if content else []))
    say()
"""
ATTRIBUTES = "*.big filter=big -text\n*.evil filter=evil\n"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the filter keeps content; the person's configuration names it, and one that no one accepts."""
    write(tmp_path, {"filter": FILTER.replace("PLACE", str(tmp_path)), "store/none": "", "ran": ""})
    (tmp_path / "filter").chmod(0o755)
    lines = []
    for name, who in (("big", "person"), ("evil", "evil")):
        commands = [f"{one} = NAME={who} {tmp_path}/filter {one}" for one in ("clean", "smudge")]
        lines += [f'[filter "{name}"]', *commands]
    (tmp_path / "person").write_text("\n".join(lines))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "person"))
    return tmp_path


def _ran(place: Path) -> list[str]:
    found = (place / "ran").read_text().splitlines()
    (place / "ran").write_text("")
    return found


@pytest.fixture
def root(place: Path) -> Iterator[Path]:
    """A repository with a file that is stored as a pointer, as the person's own git makes it."""
    root = made(place / "r", {".gitattributes": ATTRIBUTES, "text": "1\n"})
    write(root, {"a.big": "content of a\n"})
    person = ("-c", f"filter.big.clean={place}/filter clean", "-c", f"filter.big.smudge={place}/filter smudge")
    git(*person, "add", "-A", cwd=root)
    git(*person, "commit", "-qm", "big", cwd=root)
    assert git("show", "HEAD:a.big", cwd=root).startswith("pointer ")
    _ran(place)
    yield root
    accept_filters(root, ())


@pytest.fixture
def own(root: Path) -> OwnTree:
    accept_filters(root, ["big"])
    return made_own(root)


def _refused(call: Callable[[], object]) -> str:
    with pytest.raises(InterlockError) as caught:
        call()
    assert caught.value.code == "git_unsafe"
    return str(caught.value.details["setting"])


def _pointer(own: OwnTree, tree: str, path: str) -> str:
    return git("cat-file", "blob", listed(own, tree)[path].split()[1], cwd=own.root)


def test_without_being_accepted_it_is_not_run_and_a_changed_file_is_refused(root: Path, place: Path) -> None:
    own = made_own(root)
    assert (own.files / "a.big").read_text().startswith("pointer ")
    assert taken(own) == git("rev-parse", "HEAD^{tree}", cwd=root)
    write(own.files, {"b.big": "content of b\n"})
    assert _refused(lambda: taken(own)) == "filter.big.clean"
    assert _ran(place) == []


def test_accepted_it_makes_the_files_of_an_agent_and_stores_them(own: OwnTree, place: Path) -> None:
    assert (own.files / "a.big").read_text() == "content of a\n"
    assert _ran(place) == ["smudge person"]
    taking = TreeTaking()
    assert taking.take(own.files).tree == git("rev-parse", "HEAD^{tree}", cwd=own.root)
    write(own.files, {"a.big": "changed\n", "b.big": "content of b\n", "text": "2\n"})
    found = taking.take(own.files)
    assert found == TreeTaking().take(own.files)
    assert _pointer(own, found.tree, "b.big").startswith("pointer ")
    assert {*_ran(place)} == {"clean person"}
    export_tree(own.root, found.tree, place / "out", as_stored=True)
    assert (place / "out" / "b.big").read_text() == "content of b\n"
    assert put_tree(own.root, found.tree, tree_hash(own.root))
    assert ((own.root / "a.big").read_text(), (own.root / "b.big").read_text()) == ("changed\n", "content of b\n")
    assert tree_hash(own.root) == found.tree
    assert {*_ran(place)} == {"smudge person", "clean person"}
    assert commit(own.root, "all", author=ADA) is not None
    assert state(own.root).is_clean
    assert git("show", "HEAD:b.big", cwd=own.root) == _pointer(own, found.tree, "b.big")


@pytest.mark.parametrize("where", ["agent", "repository"])
def test_a_filter_that_others_define_is_not_the_one_that_runs(own: OwnTree, place: Path, where: str) -> None:
    directory = own.files if where == "agent" else own.root
    for command in ("clean", "smudge"):
        git("config", f"filter.big.{command}", f"NAME={where} {place}/filter {command}", cwd=directory)
    write(own.files, {"b.big": "content of b\n"})
    assert _pointer(own, taken(own), "b.big").startswith("pointer ")
    assert {*_ran(place)} == {"smudge person", "clean person"}


def test_a_command_that_only_the_repository_names_is_refused(own: OwnTree, place: Path) -> None:
    git("config", "filter.big.process", f"{place}/filter process", cwd=own.root)
    write(own.files, {"b.big": "content of b\n"})
    assert _refused(lambda: taken(own)) == "filter.big.process"
    assert not [one for one in _ran(place) if "process" in one]


def test_attributes_of_an_agent_that_name_another_filter_are_refused(own: OwnTree, place: Path) -> None:
    write(own.files, {".gitattributes": "* filter=evil\n", "new": "1"})
    assert _refused(lambda: taken(own)) == "filter.evil.clean"
    assert not [one for one in _ran(place) if "evil" in one]


def test_a_filter_that_fails_stores_nothing(own: OwnTree, place: Path) -> None:
    (place / "person").write_text(f'[filter "big"]\n\tclean = false\n\tsmudge = {place}/filter smudge\n')
    write(own.files, {"b.big": "content of b\n"})
    found = TreeTaking().take(own.files)
    assert found.left_out == ("a.big", "b.big")
    assert "b.big" not in listed(own, found.tree)


def test_what_a_filter_keeps_in_the_git_directory_stays_there(root: Path, place: Path) -> None:
    """As Git LFS does, whose objects are below the directory `lfs`."""
    keeps = 'sh -c \\"mkdir -p $GIT_DIR/lfs/objects && tee $GIT_DIR/lfs/objects/kept\\"'
    (place / "person").write_text(f'[filter "lfs"]\n\tclean = "{keeps}"\n\tsmudge = cat\n')
    accept_filters(root, ["lfs"])
    own = made_own(root)
    write(own.files, {".gitattributes": "*.lfs filter=lfs\n", "a.lfs": "content\n"})
    taken(own)
    assert (root / ".git" / "lfs" / "objects" / "kept").read_text() == "content\n"


def test_a_filter_that_runs_for_many_files_is_run_as_one_process(root: Path, place: Path) -> None:
    (place / "process.py").write_text(PROCESS.replace("PLACE", str(place)))
    (place / "person").write_text(f'[filter "big"]\n\tprocess = {sys.executable} {place}/process.py\n')
    accept_filters(root, ["big"])
    own = made_own(root)
    assert (own.files / "a.big").read_text() == "content of a\n"
    write(own.files, {f"{number}.big": f"content {number}\n" for number in range(20)})
    tree = taken(own)
    assert all(_pointer(own, tree, f"{number}.big").startswith("pointer ") for number in range(20))
    export_tree(own.root, tree, place / "out")
    assert (place / "out" / "7.big").read_text() == "content 7\n"
    assert {*_ran(place)} == {"process person"}


def test_it_runs_in_the_repository_that_it_was_accepted_for_alone(own: OwnTree, place: Path) -> None:
    other = made(place / "other", {".gitattributes": ATTRIBUTES})
    write(other, {"a.big": "1"})
    assert _refused(lambda: tree_hash(other)) == "filter.big.clean"
    accept_filters(own.root, ())
    write(own.files, {"b.big": "content of b\n"})
    assert _refused(lambda: taken(own)) == "filter.big.clean"


CLAIM: Steps = [{"promise": "COMPLETE"}, {"finish": True}]


@pytest.mark.parametrize("isolation", ["own", "checkout"])
def test_a_thread_works_on_what_a_filter_makes(place: Path, isolation: str) -> None:
    bench = Bench.made(place / "repository")
    bench.settings |= {"thread.isolation": isolation, "git.filters": ("big",)}
    bench.settings["verify.commands"] = ("grep -qx more a.big", "grep -qx new b.big")
    shared = {"a.big": "content of a\n", ".gitattributes": ATTRIBUTES}
    write(bench.root, shared)
    with closing(bench.open()) as journal:
        bench.context(journal)
    commit(bench.root, "big", author=ADA)
    assert bench.git("show", "HEAD:a.big").startswith("pointer ")
    write_ = f"git config filter.big.clean 'NAME=agent {place}/filter clean'; echo more >> a.big; echo new > b.big"
    bench.play([shell(f"{write_}; git add -A; echo hello > greeting.txt"), *CLAIM])
    done = bench.act(bench.new(mode="quick"), "finalize", "approve", "commit")
    assert done.state == "Done", done.reason
    assert done.commit is not None
    stored = {path: bench.git("show", f"{done.commit}:{path}") for path in ("a.big", "b.big")}
    assert all(one.startswith("pointer ") for one in stored.values())
    kept = {path: (place / "store" / one.split()[1]).read_text() for path, one in stored.items()}
    assert kept == {"a.big": "content of a\nmore\n", "b.big": "new\n"}
    assert {path: (bench.root / path).exists() for path in kept} == {"a.big": True, "b.big": isolation != "own"}
