"""The processes above a caller: read to the top of the machine, or it is said why not; who hides is no person."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from interlock.world.ancestry import INITIAL_NAMESPACE, ancestors, namespace
from interlock.world.lineage import Reach, is_proc_genuine, lineage
from patience import SECONDS
from world.callers import ask_presence, deep, driver
from world.namespaces import UNSHARE, needs_namespaces

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these are the processes of Linux")

_COVER = """
driver=$(awk '{print $4}' /proc/$$/stat)
sed 's/ralph-driver/bash/' /proc/$driver/stat > "$0"
mount --bind "$0" /proc/$driver/stat
"$@"
exit $?
"""
_COVER_ALL = """
driver=$(awk '{print $4}' /proc/$$/stat)
mkdir -p "$0"
for pid in 1 $$ $driver; do mkdir -p "$0/$pid"; echo "$pid (sh) S 1 $(seq -s ' ' 40)" > "$0/$pid/stat"; done
echo "1 (init) S 0 $(seq -s ' ' 40)" > "$0/1/stat"
mkdir -p "$0/$$/ns"
ln -s "pid:[4026531836]" "$0/$$/ns/pid"
ln -s $$ "$0/self"
mount --bind "$0" /proc
exec "$@"
"""
_ENTER = """
unshare --pid --fork --kill-child --mount-proc sh -c 'echo; read line' < "$0" > "$0.out" & made=$!
read line < "$0.out"
inside=$(cat /proc/$made/task/$made/children)
nsenter -t ${inside% } -p -m "$@"
kill -KILL ${inside% }
"""


# Real callers, in a terminal of their own


def test_a_person_at_a_terminal_is_one_where_the_whole_machine_is_seen() -> None:
    found = ask_presence()
    assert found["code"] == ""
    assert bool(found["doubt"]) is (namespace() != INITIAL_NAMESPACE)


@pytest.mark.parametrize("below", [[], [deep(100)]], ids=["at once", "a hundred processes below"])
def test_an_agent_is_found_however_far_up_its_driver_is(below: Sequence[list[str]]) -> None:
    found = ask_presence(driver(), *below)
    assert found["code"] == "person_needed"
    assert "under an agent" in found["message"]


@needs_namespaces
def test_a_pid_namespace_of_ones_own_proves_nobody() -> None:
    found = ask_presence(driver(), UNSHARE)
    assert "pid namespace" in found["doubt"]


@needs_namespaces
def test_a_pid_namespace_without_its_own_proc_is_refused() -> None:
    found = ask_presence(driver(), UNSHARE[:-1])
    assert found["code"] == "person_needed"
    assert found["kind"] == "agent", "for other commands it counts as one, too"
    assert "cannot be read to the top" in found["message"]


@needs_namespaces
def test_who_was_put_into_a_namespace_from_outside_is_not_proven(tmp_path: Path) -> None:
    for name in ("pipe", "pipe.out"):
        os.mkfifo(tmp_path / name)
    holds_open = os.open(tmp_path / "pipe", os.O_RDWR)
    try:
        found = ask_presence(driver(), ["sh", "-c", _ENTER, str(tmp_path / "pipe")])
    finally:
        os.close(holds_open)
    assert "from outside its container" in found["doubt"]


@needs_namespaces
@pytest.mark.parametrize("script", [_COVER, _COVER_ALL], ids=["one file", "all of /proc"])
def test_files_that_cover_proc_are_not_believed(script: str, tmp_path: Path) -> None:
    found = ask_presence(driver(), ["unshare", "--mount", "sh", "-c", script, str(tmp_path / "covered")])
    assert found["code"] == "person_needed"
    assert "cannot be read to the top" in found["message"]


# Every kind of link


def _proc(root: Path, own: int, links: dict[int, int | str]) -> str:
    """A directory as `/proc` is: processes with their parents, or with what stands in the place of their fields."""
    for pid, parent in links.items():
        (root / str(pid)).mkdir(parents=True)
        fields = f"{pid} (p) {pid}) S {parent} {' '.join(map(str, range(5, 30)))}\n"
        (root / str(pid) / "stat").write_text(fields if isinstance(parent, int) else parent)
    (root / "self").symlink_to(str(own))
    return str(root)


def test_a_chain_is_read_to_its_end_however_long_it_is(tmp_path: Path) -> None:
    line = lineage(1001, _proc(tmp_path, 1001, {pid: pid - 1 for pid in range(1, 1002)}))
    assert len(line.above) == 999
    assert line.above[0] == (1000, "22", "p) 1000")
    assert line.reach is Reach.BORDER, "these directories are in no initial namespace"


def test_a_parent_of_zero_is_not_a_top(tmp_path: Path) -> None:
    line = lineage(7, _proc(tmp_path, 7, {7: 6, 6: 0}))
    assert line.reach is Reach.BORDER
    assert "nsenter" in line.why


@pytest.mark.parametrize(
    "links",
    [
        {7: 6, 6: 5, 5: 7},
        {7: 7},
        {7: 6, 6: "no fields"},
        {7: 6, 6: "8 (other) S 1 " + "1 " * 30},
        {7: 6, 6: ""},
        {7: 1, 1: 9},
        {7: 2**21 + 1},
        {8: 1, 1: 0},
    ],
    ids=["loop", "own parent", "no fields", "another's fields", "empty", "no first", "vanished", "not shown itself"],
)
def test_what_no_system_says_is_no_chain(links: dict[int, int | str], tmp_path: Path) -> None:
    line = lineage(7, _proc(tmp_path, 7, links))
    assert line.reach is Reach.BROKEN
    assert line.why


def test_a_process_that_is_there_and_not_shown_is_a_border(tmp_path: Path) -> None:
    line = lineage(7, _proc(tmp_path, 7, {7: os.getpid()}))
    assert line.reach is Reach.BORDER
    assert "hides" in line.why


def test_a_directory_that_shows_another_namespace_is_not_believed(tmp_path: Path) -> None:
    assert lineage(7, _proc(tmp_path, 8, {7: 1, 1: 0})).reach is Reach.BROKEN
    assert lineage(7, str(tmp_path / "nothing")).reach is Reach.BROKEN


def test_what_the_hook_walks_is_what_the_decision_reads() -> None:
    assert list(lineage().above) == ancestors(os.getpid())
    assert is_proc_genuine()


def test_a_parent_that_ends_meanwhile_is_read_again() -> None:
    program = (
        "import os\n"
        "from interlock.world.lineage import Reach, lineage\n"
        "if os.fork() == 0:\n"
        "    parent = os.getppid()\n"
        "    while os.getppid() == parent:\n"
        "        assert lineage().reach is not Reach.BROKEN\n"
        "    assert parent not in [one[0] for one in lineage().above]\n"
        "    print('read')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS, check=True)
    assert done.stdout == "read\n", done.stderr
