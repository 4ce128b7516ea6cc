"""A repository with a person, threads that wait at each gate, and an agent in a loop that tries to pass them."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from exhaustive import EXHAUSTIVE
from faces.forking import real_starts
from faces.journals import opened, settle
from faces.programs import HOOK, RALPH, SECONDS, clean_environment, run, run_here, run_in_terminal
from interlock.machine.model import NOTED
from interlock.work.gates.approval import REFUSED
from interlock.work.threads.reading import read_thread
from interlock.world.repository import own_tree
from interlock.world.ssh import read_public_key
from interlock.world.user_state import user_state_directory
from work.threads.benches import DONE, IDLE, PASS, SPEC

from .escapes import EVIL, PROGRAM
from .machine import Outcome

__all__ = ["FAR", "KEPT", "MODES", "NAMED", "NOTHING", "TRACE", "UNSEEN", "Arena", "Seen", "fought"]

MODES = ("sandbox", "none", "open", "passphrase")
"""How the gates are guarded: by the terminal alone, with the agent in a sandbox and without; by a key that signs by
itself; by one that needs a passphrase."""
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
CONFINED = """\
[agent]
name = "command"
command = "sh {root}/attack/run.sh"
judge = "scripted"
script = "{root}/.ralf/script.json"
judge_script = "{root}/.ralf/judge.json"
sandbox = "bubblewrap"
[verify]
commands = ["true"]
sandbox = "bubblewrap"
[thread]
iterations = 1
"""
RUN = """\
mkdir -p .ralf /tmp/forging && cp "$PWD/attack/plan.json" /tmp/forging
{python} "$PWD/attack/forging/attacker.py" /tmp/forging/plan.json
echo hello > greeting.txt
echo '<promise>COMPLETE</promise>'
"""
UNSEEN, TRACE, NAMED, KEPT, NOTHING, FAR = "unseen", "trace only", "named", "refused", "no effect", "out of reach"
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
            return KEPT if self.attempts else FAR if "lacks" in self.told else NOTHING
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
    listening: dict[str, socket.socket] = msgspec.field(default_factory=dict)
    """The sockets of the person's programs."""
    reached: list[str] = msgspec.field(default_factory=list)
    """Those to which somebody connected."""
    before: dict[str, bytes] = msgspec.field(default_factory=dict)
    after: dict[str, bytes] = msgspec.field(default_factory=dict)
    """What is the person's, before and after the fight."""
    terminal: int = -1

    def __post_init__(self) -> None:
        self.root = self.place / "repository"
        self.home = self.place / "home"
        self.home.mkdir(parents=True)
        self.environment = clean_environment(self.home)
        self.key = self.home / ".ssh" / "id_ed25519.pub"

    # The person

    def person(self, *words: str, code: int = 0, seconds: float = SECONDS) -> str:
        """Somebody at a terminal does something, and types what they are asked for."""
        asked = words[1] if words[1] in ("enroll", "finalize", "approve", "commit") else None
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
        exclude.write_text(".ralf/\n__pycache__/\n")
        for words in (["add", "-A"], ["commit", "-qm", "start"]):
            subprocess.run(["git", "-C", str(self.root), *words], env=self.environment, check=True, timeout=SECONDS)
        if self.has_key:
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
    def has_key(self) -> bool:
        return self.mode in ("open", "passphrase")

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
        with self._server() as victim, self._programs():
            self.plan.write_text(json.dumps(self._told_to_agent(victim)))
            if self.mode == "sandbox":
                self._fight_in_sandbox()
            else:
                self._fight_outside()

    def _told_to_agent(self, victim: int) -> dict[str, Any]:
        return {
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
            "server": str(self._pipe),
            "told": ".ralf/told.jsonl" if self.mode == "sandbox" else str(self.place / "told.jsonl"),
            "state": user_state_directory(self.environment),
            "victim": victim,
            "terminal": os.ttyname(self.terminal),
        }

    def _fight_outside(self) -> None:
        self._script("script", [[{"run": [*PROGRAM, str(self.plan)]}, {"finish": True}]])
        thread = self.new("attack", "--quick")
        self._look_before()
        killed = self.place / "killed.told"
        os.mkfifo(killed)
        told = os.open(killed, os.O_RDONLY | os.O_NONBLOCK)
        # The last thing that the agent does is to end who drives it.
        self.person("thread", "finalize", thread, code=-9, seconds=10 * SECONDS)
        assert select.select([told], [], [], SECONDS)[0], "nobody told what came of it"
        os.close(told)

    def _look_before(self) -> None:
        with opened(self.root) as journal:
            self.head = journal.head()
        self.before = self.persons()

    def _fight_in_sandbox(self) -> None:
        """Its program and what it knows are in its tree, where it sees them; there it writes what came of it, too."""
        tests = Path(__file__).parents[1]
        attack = self.root / "attack"
        shutil.copytree(tests / "forging", attack / "forging", ignore=shutil.ignore_patterns("__pycache__"))
        (attack / "world").mkdir()
        shutil.copy(tests / "world" / "callers.py", attack / "world")
        shutil.copy(tests / "patience.py", attack)
        (attack / "run.sh").write_text(RUN.format(python=sys.executable))
        shutil.copy(self.plan, attack)
        settle(self.root, CONFINED.format(root=self.root))
        for words in (["add", "-A"], ["commit", "-qm", "what the agent knows"]):
            subprocess.run(["git", "-C", str(self.root), *words], env=self.environment, check=True, timeout=SECONDS)
        thread = self.new("attack", "--quick")
        self._look_before()
        self.person("thread", "finalize", thread, seconds=10 * SECONDS)

    @contextmanager
    def _programs(self) -> Iterator[None]:
        """What a person has running: sockets at which programs listen, a tmux, a terminal; and files with secrets."""
        for name in (".ssh/id_rsa", ".netrc", ".bash_history", ".config/gh/hosts.yml"):
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("PERSONS_SECRET\n")
        for name in (".bashrc", ".profile", ".gitconfig", ".claude/settings.json"):
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        tmux = ["tmux", "-S", str(self.home / "tmux"), "-f", "/dev/null"]
        with ExitStack() as stack:
            for address in (f"{self.home}/bus", f"{self.home}/agent", f"\0{self.home}/abstract"):
                listening = stack.enter_context(socket.socket(socket.AF_UNIX))
                listening.bind(address)
                listening.listen()
                self.listening[address] = listening
            ours, self.terminal = pty.openpty()
            stack.callback(os.close, ours)
            stack.callback(os.close, self.terminal)
            if shutil.which("tmux"):
                subprocess.run([*tmux, "new-session", "-d", "sh"], env=self.environment, check=True, timeout=SECONDS)
                stack.callback(subprocess.run, [*tmux, "kill-server"], env=self.environment, timeout=SECONDS)
            yield
            self.after = self.persons()
            state = Path(user_state_directory(self.environment))
            for path in (state / "evil", state / "trusted" / "evil"):
                path.unlink(missing_ok=True)
            self.reached = [name for name, one in self.listening.items() if select.select([one], [], [], 0)[0]]

    def persons(self) -> dict[str, bytes]:
        """What is the person's: their home, their checkout, and what git reads of the repository."""
        state = Path(user_state_directory(self.environment))
        places = [self.home, state / "trusted", self.root / ".git" / "hooks", self.root / ".git" / "info"]
        files = [path for place in places for path in place.rglob("*") if path.is_file() and not path.is_symlink()]
        files += [self.root / name for name in (".git/config", ".git/HEAD", "README", "ralph.toml")]
        return {str(path): path.read_bytes() for path in files if "/cache/" not in str(path)}

    @contextmanager
    def _server(self) -> Iterator[int]:
        os.mkfifo(self._pipe)
        words = [*PROGRAM, "--serve", str(self._pipe)]
        env = {name: self.environment[name] for name in ("PATH", "HOME", "LANG", "XDG_STATE_HOME")}
        env |= {"PERSONS_TOKEN": "1"}
        process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            yield process.pid
        finally:
            process.kill()
            process.wait(SECONDS)
            self._pipe.unlink()

    @property
    def _pipe(self) -> Path:
        """A pipe in the checkout of the tests, which a sandbox shows: /tmp and /dev/shm inside are its own."""
        return Path(__file__).parents[2] / f".orders-{os.getpid()}-{self.mode}"

    # What came of it

    def seen(self) -> dict[str, Seen]:
        lines = [json.loads(line) for line in self._told.read_text().splitlines()]
        return {one["way"]: self._judged(one) for one in lines if "broken" in one or one["tried"] or "later" in one}

    @property
    def _told(self) -> Path:
        if self.mode == "sandbox":
            return own_tree(self.root / ".ralf", self.threads["attack"]) / ".ralf" / "told.jsonl"
        return self.place / "told.jsonl"

    def machine(self) -> dict[str, Outcome]:
        """What came of the attempts at the machine; what an agent wrote counts if the person has it."""
        lines = self._told.with_name("machine.jsonl").read_text().splitlines()
        found = [msgspec.json.decode(line, type=Outcome) for line in lines]
        changed = {path for path, content in self.after.items() if self.before.get(path) != content}
        return {
            one.attempt: replace(one, is_reached=bool(changed & {os.path.realpath(path) for path in one.written}))
            if one.written and self.mode == "sandbox"
            else one
            for one in found
        }

    def _judged(self, told: dict[str, Any]) -> Seen:
        assert "broken" not in told, told["broken"]
        if self.mode == "sandbox":  # the agent knows no number and has no other place
            told = {**told, "place": str(self.root), "after": self.head, "until": sys.maxsize}
            told.setdefault("thread", self.threads["drafting"])
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

    def finish(self) -> None:
        """The person approves what the agent made, and commits it; the journal holds."""
        thread = self.threads["attack"]
        self.person("thread", "approve", thread)
        self.person("thread", "commit", thread)
        with opened(self.root) as journal:
            assert journal.instance(thread).snapshot.state == "Done"
            assert journal.verify() == []

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
