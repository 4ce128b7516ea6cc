"""Run as a program: a journal on a disk that fills up and is emptied again. Prints what was seen, as JSON.

unshare -Urm python full_disk.py DIRECTORY     a tmpfs of its own, really full
python full_disk.py DIRECTORY --limit          where that is not permitted: a limit on the size of files
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from interlock.errors import InterlockError
from interlock.journal import Journal, Transaction, open_journal
from interlock.machine import Evidence
from journal.databases import dump
from journal.histories import AGENT, created, reports

SIZE = 8 * 1024 * 1024


class FullDisk:
    """A directory in which there is room, or not."""

    def __init__(self, directory: Path, limited: bool) -> None:
        self.directory = directory
        self._limited = limited
        self._ballast = directory / "ballast"
        if not limited:
            options = ["-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs"]
            subprocess.run(["mount", *options, str(directory)], check=True)

    def fill(self, but: int = 0) -> None:
        """Leave no room but for so many bytes."""
        if self._limited:
            largest = max(file.stat().st_size for file in self.directory.iterdir())
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest + but, resource.RLIM_INFINITY))
            return
        with self._ballast.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        os.truncate(self._ballast, max(0, self._ballast.stat().st_size - but))

    def make_room(self) -> None:
        if self._limited:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        else:
            self._ballast.unlink(missing_ok=True)


def said(work: Callable[[], object]) -> dict[str, str]:
    """What came of some work: nothing, or an error with its code and hint."""
    try:
        work()
    except InterlockError as error:
        return {"code": error.code, "hint": error.hint}
    return {}


def large(number: int) -> Evidence:
    return Evidence(data={"text": chr(97 + number % 26) * 60_000})


def one_by_one(disk: FullDisk, journal: Journal, path: Path, id_: str) -> dict[str, Any]:
    """Append until there is no room, try again, make room, and try again."""
    disk.fill(but=300_000)
    answers: list[dict[str, str]] = []
    while len(answers) < 100 and not (answers and answers[-1]):
        before = dump(path)
        answers.append(said(lambda: journal.append(id_, reports("testing", large(len(answers))))))
    untouched = dump(path) == before
    again = said(lambda: journal.append(id_, reports("testing", large(0))))
    disk.make_room()
    return {
        "answers": answers,
        "untouched": untouched and bool(again) and dump(path) == before,
        "afterwards": said(lambda: journal.append(id_, reports("testing", large(0)))),
        "written": len(journal.history(id_)),
        "problems": len(journal.verify()),
    }


def together(disk: FullDisk, journal: Journal) -> dict[str, Any]:
    """Forty threads append to instances of their own while there is room for some of them."""
    ids = [journal.create("session", created(AGENT)).entry.instance for _ in range(40)]
    disk.fill(but=400_000)
    with ThreadPoolExecutor(40) as pool:
        work = [lambda id_=id_: journal.append(id_, reports("testing", large(1))) for id_ in ids]
        answers = list(pool.map(said, work))
    versions = [journal.instance(id_).version for id_ in ids]
    disk.make_room()
    return {
        "answers": answers,
        "kept": versions == [1 if answer else 2 for answer in answers],
        "afterwards": [said(lambda: journal.append(ids[0], reports("testing", large(1))))],
        "problems": len(journal.verify()),
    }


def hidden(disk: FullDisk, journal: Journal, path: Path) -> dict[str, Any]:
    """Work that hides that there was no room, and goes on."""
    one, two = (journal.create("session", created(AGENT)).entry.instance for _ in range(2))
    disk.fill(but=300_000)
    before = dump(path)
    failures: list[dict[str, str]] = []

    def work(transaction: Transaction) -> None:
        failures.extend(said(lambda: transaction.append(one, reports("testing", large(1)))) for _ in range(100))
        transaction.append(two, reports("testing"))

    answer = said(lambda: journal.transact(work))
    untouched = dump(path) == before
    disk.make_room()
    return {
        "failures": [failure for failure in failures if failure],
        "answer": answer,
        "untouched": untouched,
        "afterwards": said(lambda: journal.append(two, reports("testing"))),
        "problems": len(journal.verify()),
    }


def opened(disk: FullDisk) -> dict[str, Any]:
    """Open a new journal where there is no room, make room, and open it again."""
    disk.fill()
    path = disk.directory / "new.db"
    refused = said(lambda: open_journal(path))
    disk.make_room()
    journal = open_journal(path)
    written = journal.create("session", created(AGENT)).entry.seq
    journal.close()
    return {"refused": refused, "written": written}


def main(directory: Path, limited: bool) -> None:
    disk = FullDisk(directory, limited)
    path = directory / "journal.db"
    journal = open_journal(path)
    id_ = journal.create("session", created(AGENT)).entry.instance
    seen = {"one by one": one_by_one(disk, journal, path, id_), "together": together(disk, journal)}
    seen["hidden"] = hidden(disk, journal, path)
    journal.close()
    print(json.dumps({**seen, "opened": opened(disk)}))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--limit" in sys.argv)
