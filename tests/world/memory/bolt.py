"""A real server that speaks Bolt: ArcadeDB, from PyPI, with its own Java."""

from __future__ import annotations

import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from neo4j import GraphDatabase
from neo4j.exceptions import DriverError, Neo4jError

from patience import SECONDS

DATABASE = "mem"


class BoltServer:
    """A server on a free port of this machine, that can be stopped, held and started again with what it has."""

    def __init__(self, place: Path) -> None:
        self._package = _package()
        self._place = place
        self._ports = _free_port(), _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.password = secrets.token_hex(16)
        self.uri = f"bolt://127.0.0.1:{self._ports[0]}"

    def start(self) -> None:
        bolt, http = self._ports
        settings = {
            "server.rootPath": self._place,
            "server.rootPassword": self.password,
            "server.httpIncomingHost": "127.0.0.1",
            "server.httpIncomingPort": http,
            "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
            "server.defaultDatabases": f"{DATABASE}[root]",
            "bolt.host": "127.0.0.1",
            "bolt.port": bolt,
        }
        java = [self._package / "jre" / "bin" / "java", "-Xmx256m", "--add-modules", "jdk.incubator.vector"]
        words = [*java, "-cp", f"{self._package}/jars/*", *(f"-Darcadedb.{key}={one}" for key, one in settings.items())]
        with (self._place / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*map(str, words), "com.arcadedb.server.ArcadeDBServer"], cwd=self._place, stdout=log, stderr=log
            )
        self._wait(self._process)

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            try:
                with GraphDatabase.driver(self.uri, auth=("root", self.password), connection_timeout=5) as driver:
                    with driver.session(database=DATABASE) as session:
                        session.run("RETURN 1").consume()
                    return
            except (DriverError, Neo4jError):
                time.sleep(0.05)  # it takes connections before it has its database
        self.stop()
        pytest.fail((self._place / "server.log").read_text(errors="replace")[-2000:])

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=SECONDS)
            self._process = None

    def hold(self) -> None:
        """Let it take connections and answer nothing."""
        self._signal(signal.SIGSTOP)

    def let_go(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)


def _package() -> Path:
    found = importlib.util.find_spec("arcadedb_embedded")
    if found is None or found.origin is None:
        pytest.skip("not run: ArcadeDB is missing; `make test-memory` installs it")
    package = Path(found.origin).parent
    if not (package / "jre" / "bin" / "java").is_file():
        pytest.skip("not run: this wheel of ArcadeDB has no Java in it")
    return package


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
