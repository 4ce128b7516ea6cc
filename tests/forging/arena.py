"""A repository with a person, threads that wait at each gate, and an agent in a loop that tries to pass them."""

from __future__ import annotations

import json
import os
import select
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from exhaustive import EXHAUSTIVE
from faces.forking import real_starts
from faces.journals import opened, settle
from faces.programs import HOOK, RALPH, SECONDS, clean_environment, run, run_here, run_in_terminal
from interlock.machine.model import NOTED
from interlock.work.gates.approval import REFUSED
from interlock.work.threads.reading import read_thread
from interlock.world.ssh import read_public_key
from work.threads.benches import DONE, IDLE, PASS, SPEC

from .escapes import EVIL, PROGRAM

__all__ = ["KEPT", "MODES", "NAMED", "NOTHING", "TRACE", "UNSEEN", "Arena", "Seen", "fought"]

MODES = ("none", "open", "passphrase")
"""How the gates are guarded: by the terminal alone, by a key that signs by itself, by one that needs a passphrase."""
PASSPHRASE = "correct horse"
SETTINGS = """\
[agent]
name = "scripted"
sandbox = "none"
script = ".ralf/script.json"
judge_script = ".ralf/judge.json"
[verify]
commands = ["true"]
[thread]
iterations = 1
isolation = "worktree"
"""
UNSEEN, TRACE, NAMED, KEPT, NOTHING = "unseen", "trace only", "named", "refused", "no effect"
"""What can become of a way; the docs say what each means."""


class Seen(msgspec.Struct, frozen=True):
    """What became of one way: what the agent told of it, and what the journal shows."""

    told: dict[str, Any]
    passed: bool
    attempts: list[str]
    """Why it was refused, as the journal keeps it."""
    named: list[str]
    """The codes of what `ralph journal verify` finds wrong there."""

    @property
    def outcome(self) -> str:
        if not self.passed:
            return KEPT if self.attempts else NOTHING
        return NAMED if self.named else UNSEEN if self.told.keys() & {"spec", "gone"} else TRACE


class Arena(msgspec.Struct):
    """The place of one fight."""

    place: Path
    mode: str
    threads: dict[str, str] = msgspec.field(default_factory=dict)
    fingerprint: str = ""
    head: int = 0
    """The newest entry before the agent began."""
    _found: dict[Path, list[dict[str, Any]]] = msgspec.field(default_factory=dict)
    """What `ralph journal verify` finds wrong after the fight, by the place."""
    root: Path = Path()
    home: Path = Path()
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    key: Path = Path()

    def __post_init__(self) -> None:
        self.root = self.place / "repository"
        self.home = self.place / "home"
        self.home.mkdir(parents=True)
        self.environment = clean_environment(self.home)
        self.key = self.home / ".ssh" / "id_ed25519.pub"

    # The person

    def person(self, *words: str, code: int = 0, seconds: float = SECONDS) -> str:
        """Somebody at a terminal does something, and types what they are asked for."""
        asked = {"enroll": "enroll", "finalize": "finalize", "approve": "approve"}.get(words[1])
        answers: list[tuple[str, str | Callable[[], str]]] = []
        answers += [(f"Type {asked} and press Enter", f"{asked}\n")] if asked else []
        if asked and self.mode == "passphrase":
            answers.append(("Enter passphrase", f"{PASSPHRASE}\n"))
        done, screen = run_in_terminal(*words, cwd=self.root, env=self.environment, answers=answers, seconds=seconds)
        assert done == code, screen
        return screen

    def new(self, name: str, *flags: str) -> str:
        (self.place / "spec.md").write_text(SPEC)
        file = str(self.place / "spec.md")
        made = run("thread", "new", name, "--file", file, "--json", *flags, cwd=self.root, env=self.environment)
        self.threads[name] = str(made.data["id"])
        return self.threads[name]

    def begin(self) -> None:
        """A repository with its settings accepted, a key where there is one, and an agent that does its work."""
        git = ["git", "-c", "init.defaultBranch=main"]
        for words in (
            [*git, "init", "-q", str(self.root)],
            [*git, "-C", str(self.root), "config", "user.email", "ann@example.org"],
            [*git, "-C", str(self.root), "config", "user.name", "Ann"],
        ):
            subprocess.run(words, env=self.environment, check=True, timeout=SECONDS)
        (self.root / "README").write_text("a project\n")
        # A story loop in a work tree of its own finds its script only by a whole path.
        settle(self.root, SETTINGS.replace('".ralf/', f'"{self.root}/.ralf/'))
        exclude = self.root / ".git" / "info" / "exclude"
        exclude.write_text(".ralf/\n")
        for words in (["add", "-A"], ["commit", "-qm", "start"]):
            subprocess.run(["git", "-C", str(self.root), *words], env=self.environment, check=True, timeout=SECONDS)
        if self.mode != "none":
            self._enroll()
        self._script("judge", [PASS])
        self._script("script", [DONE, DONE, IDLE])

    def prepare(self) -> None:
        """A thread at every gate, each brought there as a person does it."""
        self.begin()
        self.new("drafting", "--quick")
        self.person("thread", "finalize", self.new("review", "--quick"))
        self.person("thread", "finalize", self.new("ready", "--quick"))
        self.person("thread", "approve", self.threads["ready"])
        self.person("thread", "finalize", self.new("stuck", "--quick"), code=5)
        self.person("thread", "finalize", self.new("finalized"))
        self.new("abandoned")
        self._stick_a_loop()
        self._escalate_a_ticket()
        self._keep_a_copy()
        self.person("thread", "abandon", self.threads["abandoned"])

    def _stick_a_loop(self) -> None:
        """A thread that a story loop drove, and that is stuck."""
        thread = self.new("child", "--quick")
        self.person("thread", "configure", thread, "--driver", "story")
        self.person("thread", "finalize", thread, code=5)
        with opened(self.root) as journal:
            known = read_thread(journal, thread)
        assert known.state == "Stuck"
        self.threads |= {"loop": str(known.child), "loop tree": str(known.directory(self.root, self.root))}

    def _escalate_a_ticket(self) -> None:
        self.person("ticket", "create", "Greet people")
        self.person("ticket", "handoff", "1", "--to-state", "Human Needed", "--reason", "decide")
        with opened(self.root) as journal:
            self.threads["ticket"] = journal.instances("ticket")[0].id

    @property
    def plan(self) -> Path:
        return self.place / "plan.json"

    def _enroll(self) -> None:
        self.key.parent.mkdir()
        secret = PASSPHRASE if self.mode == "passphrase" else ""
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-C", "ann", "-N", secret, "-f", str(self.key.with_suffix(""))]
        subprocess.run(command, check=True, timeout=SECONDS, capture_output=True)
        self.person("gate", "enroll", str(self.key))
        self.fingerprint = read_public_key(self.key).fingerprint

    def _script(self, name: str, iterations: list[Any]) -> None:
        (self.root / ".ralf" / f"{name}.count").unlink(missing_ok=True)
        text = json.dumps({"state": f"{name}.count", "iterations": iterations})
        (self.root / ".ralf" / f"{name}.json").write_text(text)

    def _keep_a_copy(self) -> None:
        older = self.place / "older.db"
        database = sqlite3.connect(self.root / ".ralf" / "journal.db")
        database.execute("VACUUM INTO ?", (str(older),))
        database.close()
        self.threads["older"] = str(older)

    # The fight

    def fight(self) -> None:
        """Let the agent loose: a person starts a thread, and its loop runs it."""
        plan = {
            "root": str(self.root),
            "ralph": str(RALPH),
            "hook": str(HOOK),
            "mode": self.mode,
            "home": str(self.home),
            "path": self.environment["PATH"],
            "threads": self.threads,
            "fingerprint": self.fingerprint or "SHA256:none",
            "key": str(self.key),
            "has_all_ways": EXHAUSTIVE,
            "server": str(self.place / "server"),
        }
        self.plan.write_text(json.dumps(plan))
        self._script("script", [[{"run": [*PROGRAM, str(self.plan)]}, {"finish": True}]])
        thread = self.new("attack", "--quick")
        with opened(self.root) as journal:
            self.head = journal.head()
        killed = self.place / "killed.told"
        os.mkfifo(killed)
        told = os.open(killed, os.O_RDONLY | os.O_NONBLOCK)
        with self._server():
            # The last thing that the agent does is to end who drives it.
            self.person("thread", "finalize", thread, code=-9, seconds=10 * SECONDS)
            assert select.select([told], [], [], SECONDS)[0], "nobody told what came of it"
        os.close(told)

    @contextmanager
    def _server(self) -> Iterator[None]:
        os.mkfifo(self.place / "server")
        words = [*PROGRAM, "--serve", str(self.place / "server")]
        env = {name: self.environment[name] for name in ("PATH", "HOME", "LANG", "XDG_STATE_HOME")}
        process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            yield
        finally:
            process.kill()
            process.wait(SECONDS)

    # What came of it

    def seen(self) -> dict[str, Seen]:
        lines = [json.loads(line) for line in (self.place / "told.jsonl").read_text().splitlines()]
        return {one["way"]: self._judged(one) for one in lines if "broken" in one or one["tried"] or "later" in one}

    def _judged(self, told: dict[str, Any]) -> Seen:
        assert "broken" not in told, told["broken"]
        place = Path(told["place"])
        with opened(place) as journal:
            id_ = journal.instances("trust")[0].id if told["thread"] == "trust" else told["thread"]
            until = told.get("until", sys.maxsize) if place == self.root else sys.maxsize
            entries = [one for one in journal.history(id_) if told["after"] < one.seq <= until or "gone" in told]
            notes = [one.decoded_evidence().data for one in entries if one.event == NOTED]
            attempts = [str(one["why"]) for one in notes if one.get("type") == REFUSED]
            if "spec" in told:
                found = read_thread(journal, id_).revision
                passed = found is not None and EVIL in found.text
            elif "gone" in told:
                passed = all(one.event != told["gone"] for one in entries)
            else:
                moved = [one for one in entries if one.event not in (NOTED, "created")]
                last = journal.history(id_)[-1].to_state
                passed = bool(moved) or journal.instance(id_).snapshot.state != last
        return Seen(told, passed, attempts, self._named(place, [one.seq for one in entries]))

    def _named(self, place: Path, entries: list[int]) -> list[str]:
        """What the person finds with the key that is theirs; in a place of its own, all of it is of that way."""
        if place not in self._found:
            words = ["--key", self.fingerprint] if self.fingerprint else []
            result = run_here("journal", "verify", *words, "--json", cwd=place, env=self.environment)
            self._found[place] = result.error["details"]["problems"] if result.code else []
        return [str(one["code"]) for one in self._found[place] if place != self.root or one.get("seq") in entries]

    def refused(self) -> list[dict[str, Any]]:
        """What `ralph gate list` shows."""
        listed: list[dict[str, Any]] = run("gate", "list", "--json", cwd=self.root, env=self.environment).data[
            "refused"
        ]
        return [one for one in listed if one["seq"] > self.head]


def fought(place: Path, mode: str) -> Arena:
    """A fight from its beginning to its end; what is looked at by who is above it is really started."""
    arena = Arena(place, mode)
    arena.prepare()
    with real_starts():
        arena.fight()
    return arena
