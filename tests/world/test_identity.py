"""Processes of other pid namespaces, machines and starts: a process is called gone only where that is certain."""

from __future__ import annotations

import json
import os
import select
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlock.errors import LeaseHeld
from interlock.journal import Journal, open_journal
from interlock.work.driver.lease_holders import is_present, process_holder
from interlock.world.ancestry import INITIAL_NAMESPACE, name_of, names_above, namespace
from interlock.world.processes import Process, installation_id, is_alive, this_process
from patience import SECONDS
from world.namespaces import UNSHARE, needs_namespaces

_DRIVER = """
import json, os, sys
from pathlib import Path
from interlock.journal import open_journal
from interlock.work.driver.lease_holders import is_present, process_holder
holder = process_holder()
journal = open_journal(Path(sys.argv[1]))
journal.acquire("thread:1", holder, 3600, is_present)
print(json.dumps([holder.host, holder.boot, holder.pid, holder.started, holder.namespace, holder.machine]), flush=True)
sys.stdin.read()
"""


@contextmanager
def _driver(journal: Path, *before: str, **environment: str) -> Iterator[Process]:
    """A driver that holds the lease of thread 1 until it is ended."""
    with subprocess.Popen(
        [*before, sys.executable, "-c", _DRIVER, str(journal)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as driver:
        try:
            assert driver.stdout is not None
            assert select.select([driver.stdout], [], [], SECONDS)[0], "the driver says nothing"
            yield Process(*json.loads(driver.stdout.readline()))
        finally:
            driver.kill()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = open_journal(tmp_path / "journal.db")
    yield journal
    journal.close()


@needs_namespaces
def test_a_driver_in_another_pid_namespace_is_not_taken_over(journal: Journal, tmp_path: Path) -> None:
    with _driver(tmp_path / "journal.db", *UNSHARE) as driver:
        mine = this_process()
        assert (driver.host, driver.boot) == (mine.host, mine.boot)
        assert driver.namespace != mine.namespace
        assert is_alive(driver) is None
        with pytest.raises(LeaseHeld) as refused:
            journal.acquire("thread:1", process_holder(), 60, is_present)
        assert refused.value.code == "lease_held"
        assert "cannot be seen from here" in refused.value.message
        assert journal.held("thread:1", is_present) is not None
        assert journal.lost("thread:", is_present) == []


@needs_namespaces
def test_a_driver_outside_is_not_taken_over_from_within_a_pid_namespace(tmp_path: Path) -> None:
    open_journal(tmp_path / "journal.db").close()
    tries = (
        "import sys; from pathlib import Path; from interlock.errors import LeaseHeld\n"
        "from interlock.journal import open_journal\n"
        "from interlock.work.driver.lease_holders import is_present, process_holder\n"
        "try:\n"
        "    open_journal(Path(sys.argv[1])).acquire('thread:1', process_holder(), 60, is_present)\n"
        "except LeaseHeld as error:\n"
        "    print(error.code)\n"
    )
    with _driver(tmp_path / "journal.db"):
        inside = [*UNSHARE, sys.executable, "-c", tries, str(tmp_path / "journal.db")]
        done = subprocess.run(inside, capture_output=True, text=True, timeout=SECONDS, check=True)
    assert done.stdout == "lease_held\n"


@needs_namespaces
def test_processes_of_two_pid_namespaces_have_other_names(tmp_path: Path) -> None:
    open_journal(tmp_path / "journal.db").close()
    with _driver(tmp_path / "journal.db", *UNSHARE) as driver:
        assert driver.name != Process(driver.host, driver.boot, driver.pid, driver.started, namespace()).name
        assert driver.name.split(":")[3] == str(driver.pid)


def test_another_installation_cannot_be_seen(tmp_path: Path) -> None:
    open_journal(tmp_path / "journal.db").close()
    with _driver(tmp_path / "journal.db", XDG_STATE_HOME=str(tmp_path / "elsewhere")) as driver:
        assert driver.machine != this_process().machine
        assert is_alive(driver) is None


def test_a_holder_that_an_older_version_wrote_is_gone_only_by_time(journal: Journal) -> None:
    mine = this_process()
    old: dict[str, Any] = {"namespace": "", "machine": ""}
    assert is_alive(msgspec.structs.replace(mine, **old)) is True
    assert is_alive(msgspec.structs.replace(mine, **old, started="1")) is None
    assert is_alive(msgspec.structs.replace(mine, **old, boot="before")) is None
    assert is_alive(msgspec.structs.replace(mine, **old, host="elsewhere")) is None


def test_a_restart_ends_every_process_of_the_machine_and_of_no_container() -> None:
    mine = msgspec.structs.replace(this_process(), namespace=INITIAL_NAMESPACE)
    earlier = msgspec.structs.replace(mine, boot="before")
    is_initial = namespace() == INITIAL_NAMESPACE
    assert is_alive(earlier) is (False if is_initial else None)
    assert is_alive(msgspec.structs.replace(earlier, machine="another")) is None
    assert is_alive(msgspec.structs.replace(earlier, namespace="4026532178")) is None


def test_a_process_that_is_hidden_is_not_called_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = msgspec.structs.replace(this_process(), pid=2**21 + 1, started="1")

    def refuse(pid: int, number: int) -> None:
        raise PermissionError

    assert is_alive(hidden) is False
    monkeypatch.setattr(os, "kill", refuse)  # as the kernel answers for the process of another user
    assert is_alive(hidden) is None


def test_the_names_in_the_initial_namespace_are_those_of_older_journals() -> None:
    mine = this_process()
    if mine.namespace == INITIAL_NAMESPACE:
        assert mine.name == f"process:{mine.host}:{mine.boot}:{mine.pid}:{mine.started}"
    assert mine.name == name_of(mine.pid, mine.started)
    assert all(len(name.split(":")) == 5 for name in names_above())


# The id of an installation


def test_an_installation_has_one_random_id_that_only_its_user_reads(tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    made = installation_id(environment)
    file = tmp_path / "interlock" / "installation"
    assert len(made) == 32
    assert installation_id(environment) == made == file.read_text().strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert installation_id({"XDG_STATE_HOME": str(tmp_path / "other")}) != made
    assert list(file.parent.iterdir()) == [file]


def test_installations_begun_at_once_agree_on_one_id(tmp_path: Path) -> None:
    program = (
        "import os, sys; from interlock.world.processes import installation_id; "
        "sys.stdin.read(); print(installation_id(os.environ))"
    )
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(4)
    ]
    assert len({one.communicate("", timeout=SECONDS)[0] for one in both}) == 1


def test_where_no_id_can_be_kept_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "interlock").write_text("a file in the place of the directory")
    assert installation_id({"XDG_STATE_HOME": str(tmp_path)}) == ""
    (tmp_path / "damaged" / "interlock").mkdir(parents=True)
    (tmp_path / "damaged" / "interlock" / "installation").write_text("\0 no id")
    assert installation_id({"XDG_STATE_HOME": str(tmp_path / "damaged")}) == ""
