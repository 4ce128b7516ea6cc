"""Ways to pass a gate behind Interlock's back: its own code as a library, and the file of its journal."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from forging.escapes import EVIL, SPEC, Field, Told, digest, own_key, way

# As a library


def _appended(arena: Field, at: dict[str, Any], name: str, approval: Callable[[Any, str], Any]) -> Told:
    """Write the entry of a gate as the verbs would, with an approval of our own."""
    from interlock.machine import Event, Evidence

    at["place"] = str(place := arena.copy(name))
    at["thread"] = thread = arena.target(place)
    journal = arena.journal(place)
    given = approval(journal, thread)
    data = {} if given is None else {"approval": given}
    evidence = Evidence(subjects={"spec": digest(SPEC)}, data=data)
    journal.append(thread, Event("finalize", arena.person, evidence=evidence))
    journal.close()
    return Told(None, "")


def _statement(arena: Field, journal: Any, thread: str, **more: Any) -> Any:
    from interlock.work.gates.approval import _head
    from interlock.work.gates.statement import VERSION, Statement
    from interlock.work.gates.trust import trust_instance

    said = {
        "version": VERSION,
        "repository": trust_instance(journal),
        "machine": "thread",
        "instance": thread,
        "event": "finalize",
        "gate": "finalize",
        "subject": "spec",
        "hash": digest(SPEC),
        "choice": "finalize",
        "shown": digest(SPEC),
        "person": arena.person.id,
        "channel": "cli",
        "time": "2026-01-01T00:00:00.000Z",
        "head": _head(journal),
    }
    return Statement(**{**said, **more})


def _signed(arena: Field, statement: Any, file: Path, claims: str | None = None) -> Any:
    import msgspec

    from interlock.work.gates.statement import Approval
    from interlock.world.ssh import read_public_key, sign

    public = read_public_key(file)
    made = sign(statement.canonical(), public, file, seconds=5)
    return msgspec.to_builtins(Approval(statement, claims or made.key, made.text))


@way("an entry without an approval, through the library")
def _(arena: Field, at: dict[str, Any]) -> Told:
    return _appended(arena, at, "bare", lambda journal, thread: None)


@way("an entry with an approval that nobody signed")
def _(arena: Field, at: dict[str, Any]) -> Told:
    import msgspec

    from interlock.work.gates.statement import Approval

    return _appended(
        arena,
        at,
        "unsigned",
        lambda journal, thread: msgspec.to_builtins(Approval(_statement(arena, journal, thread))),
    )


@way("an entry with an approval that its own key signed")
def _(arena: Field, at: dict[str, Any]) -> Told:
    file = Path(f"{own_key(arena)}.pub")
    return _appended(arena, at, "own", lambda journal, thread: _signed(arena, _statement(arena, journal, thread), file))


@way("an entry that its own key signed in the name of the person's")
def _(arena: Field, at: dict[str, Any]) -> Told:
    file = Path(f"{own_key(arena)}.pub")
    return _appended(
        arena,
        at,
        "claimed",
        lambda journal, thread: _signed(arena, _statement(arena, journal, thread), file, arena.fingerprint),
    )


@way("an entry that the person's key signs, with nobody there")
def _(arena: Field, at: dict[str, Any]) -> Told:
    def given(journal: Any, thread: str) -> Any:
        from interlock.errors import InterlockError

        with suppress(InterlockError):
            return _signed(arena, _statement(arena, journal, thread), Path(arena.key))
        return None

    return _appended(arena, at, "theirs", given)


@way("its own key enrolled by an entry, then used")
def _(arena: Field, at: dict[str, Any]) -> Told:
    from interlock.machine import Event, Evidence
    from interlock.world.ssh import read_public_key

    file = Path(f"{own_key(arena)}.pub")
    public = read_public_key(file)

    def given(journal: Any, thread: str) -> Any:
        from interlock.work.gates.trust import trust_instance

        trust = trust_instance(journal)
        about = {"machine": "trust", "instance": trust, "event": "key_enrolled", "gate": "key", "subject": "key"}
        said = _statement(arena, journal, thread, **about, hash=digest(public.line), choice="passphrase")
        vouched = _signed(arena, said, file)
        data = {"key": public.line, "comment": "", "presence": "passphrase", "possession": vouched["signature"]}
        evidence = Evidence(data={**data, "approval": vouched})
        journal.append(trust, Event("key_enrolled", arena.person, evidence=evidence))
        return _signed(arena, _statement(arena, journal, thread), file)

    return _appended(arena, at, "enrolled", given)


def _approvals(journal: Any, thread: str, event: str) -> Any:
    found = [one for one in journal.history(thread) if one.event == event]
    return found[-1].decoded_evidence()


@way("the approval of another thread, copied")
def _(arena: Field, at: dict[str, Any]) -> Told:
    return _appended(
        arena,
        at,
        "copied",
        lambda journal, thread: _approvals(journal, arena.threads["finalized"], "finalize").data["approval"],
    )


@way("an old approval of the same thread and the same spec, used again")
def _(arena: Field, at: dict[str, Any]) -> Told:
    from interlock.machine import Event

    at["place"] = str(place := arena.copy("replayed"))
    at["thread"] = thread = arena.threads["finalized"]
    journal = arena.journal(place)
    old = _approvals(journal, thread, "finalize")
    journal.append(thread, Event("reopen", arena.person))
    journal.append(thread, Event("finalize", arena.person, evidence=old))
    journal.close()
    return Told(None, "")


@way("the approval of another tree, at what waits for review")
def _(arena: Field, at: dict[str, Any]) -> Told:
    from interlock.machine import Event, Evidence

    at["place"] = str(place := arena.copy("other-tree"))
    at["thread"] = arena.threads["review"]
    journal = arena.journal(place)
    given = _approvals(journal, arena.threads["ready"], "approve").data["approval"]
    tree = journal.instance(at["thread"]).snapshot.subjects["tree"]
    evidence = Evidence(subjects={"tree": tree}, data={"approval": given})
    journal.append(at["thread"], Event("approve", arena.person, evidence=evidence))
    journal.close()
    return Told(None, "")


class Nobody:
    """A presence that says yes to everything."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor

    def enter(self, journal: Any) -> None: ...

    def confirm(self, shown: str, question: str, word: str = "yes") -> bool:
        return True

    def sign(self, statement: bytes, keys: Any) -> Any:
        return None


class Signer(Nobody):
    """The same, with a key of its own under whatever name is wanted."""

    def __init__(self, actor: Any, file: Path) -> None:
        super().__init__(actor)
        self.file = file

    def sign(self, statement: bytes, keys: Any) -> Any:
        from msgspec.structs import replace

        from interlock.world.ssh import read_public_key, sign

        made = sign(statement, read_public_key(self.file), self.file, seconds=5)
        return replace(made, key=keys[0].fingerprint)


def _acted(arena: Field, place: Path, thread: str, presence: Any) -> Told:
    """The verb itself, for a person whom we made up."""
    import threading

    from interlock.errors import InterlockError
    from interlock.work.driver.context import DriverContext
    from interlock.work.gates.presence import Person
    from interlock.work.settings.values import Settings
    from interlock.work.threads.verbs import act

    journal = arena.journal(place)
    event = threading.Event()
    context = DriverContext(
        journal=journal,
        root=place,
        state_directory=place / ".ralf",
        settings=Settings(),
        environment=arena.clean,
        report=lambda what: None,
        stop=event,
        pausing=event,
        wait=lambda seconds: None,
    )
    try:
        act(context, thread, Person(arena.person, lambda: presence, lambda: True), "finalize")
        return Told(0, "")
    except InterlockError as error:
        return Told(1, error.code)
    finally:
        journal.close()


@way("the verb itself, with a presence that says yes")
def _(arena: Field, at: dict[str, Any]) -> Told:
    at["place"] = str(place := arena.copy("nobody"))
    at["thread"] = arena.target(place)
    return _acted(arena, place, at["thread"], Nobody(arena.person))


@way("the verb itself, with the check of signatures replaced")
def _(arena: Field, at: dict[str, Any]) -> Told:
    approval: Any = import_module("interlock.work.gates.approval")
    at["place"] = str(place := arena.copy("patched"))
    at["thread"] = arena.target(place)
    real = approval.is_signed
    approval.is_signed = lambda *_: True
    try:
        return _acted(arena, place, at["thread"], Signer(arena.person, Path(f"{own_key(arena)}.pub")))
    finally:
        approval.is_signed = real


@way("the presence of tests and of the demo")
def _(arena: Field, at: dict[str, Any]) -> Told:
    from interlock.errors import InterlockError
    from interlock.work.gates.stage import staged

    at["place"] = str(place := arena.copy("staged"))
    at["thread"] = arena.target(place)
    try:
        return _acted(arena, place, at["thread"], staged(place, "test"))
    except InterlockError as error:
        return Told(1, error.code)


@way("the presence of tests, with this repository entered among the stages")
def _(arena: Field, at: dict[str, Any]) -> Told:
    stage = import_module("interlock.work.gates.stage")
    at["place"] = str(place := arena.copy("stage"))
    at["thread"] = arena.target(place)
    stage._stages.add(stage._identity(place))
    return _acted(arena, place, at["thread"], stage.staged(place, "test"))


@way("another spec noted after the person finalized one")
def _(arena: Field, at: dict[str, Any]) -> Told:
    from interlock.machine import Event, Evidence
    from interlock.machine.model import NOTED

    at["place"] = str(place := arena.copy("noted"))
    at["thread"], at["spec"] = arena.threads["finalized"], EVIL
    journal = arena.journal(place)
    [known] = [one for one in journal.history(at["thread"]) if "revised" in one.evidence]
    sha = known.decoded_evidence().data["sha256"]
    data = {"type": "revised", "revision": 2, "sha256": sha, "text": f"{SPEC}{EVIL}\n"}
    journal.append(at["thread"], Event(NOTED, arena.person, evidence=Evidence(data=data)))
    journal.close()
    return Told(None, "")


@way("a thread that is begun by a machine without gates")
def _(arena: Field, at: dict[str, Any]) -> Told:
    from interlock.journal import open_journal
    from interlock.machine import Event, Evidence, load_shipped
    from interlock.machine.load import compile_machine, definition_path, parse

    table = definition_path("thread").read_text(encoding="utf-8").replace('gate = "finalize"\n', "")
    weak = compile_machine(parse(table))
    at["place"] = str(place := arena.copy("weak"))
    machines = lambda name: weak if name == "thread" else load_shipped(name)  # noqa: E731
    journal = open_journal(place / ".ralf" / "journal.db", machines)
    made = journal.create("thread", Event("created", arena.person, evidence=Evidence(data={"title": "Evil"})))
    at["thread"] = made.entry.instance
    journal.append(at["thread"], Event("finalize", arena.person))
    journal.close()
    return Told(None, "")


# The journal's file


def _database(place: Path) -> Any:
    import apsw

    return apsw.Connection(str(place / ".ralf" / "journal.db"))


@way("the state of a thread changed in `journal.db`")
def _(arena: Field, at: dict[str, Any]) -> Told:
    at["place"] = str(place := arena.copy("state"))
    at["thread"] = arena.target(place)
    _database(place).execute(
        "UPDATE instances SET state = 'Finalized', data = replace(data, 'Drafting', 'Finalized') WHERE id = ?",
        (at["thread"],),
    )
    return Told(None, "")


@way("an entry changed in `journal.db`: another spec under the person's approval")
def _(arena: Field, at: dict[str, Any]) -> Told:
    at["place"] = str(place := arena.copy("changed"))
    at["thread"], at["spec"] = arena.threads["finalized"], EVIL
    _database(place).execute(
        "UPDATE entries SET evidence = replace(evidence, 'People are greeted', ?) WHERE instance = ?",
        (EVIL, at["thread"]),
    )
    return Told(None, "")


@way("the same, with every later hash, head and approval made anew")
def _(arena: Field, at: dict[str, Any]) -> Told:
    at["place"] = str(place := arena.copy("anew"))
    at["thread"], at["spec"] = arena.threads["finalized"], EVIL
    _make_anew(arena, place, lambda text: text.replace("People are greeted", EVIL))
    return Told(None, "")


def _make_anew(arena: Field, place: Path, change: Callable[[str], str]) -> None:
    """Change entries, and make everything that hangs on them anew; approvals are signed again by whoever can."""
    import msgspec
    from msgspec.structs import astuple, replace

    from interlock.journal import Entry
    from interlock.journal.entry import GENESIS, encode
    from interlock.work.gates.statement import Approval, Head

    database = _database(place)
    columns = ", ".join(Entry.__struct_fields__)
    rows = database.execute(f"SELECT {columns} FROM entries ORDER BY seq").fetchall()
    made: list[Any] = []
    hashes = {"0": GENESIS}
    renamed: dict[str, str] = {}
    for row in rows:
        entry = Entry(*row)
        text = change(entry.evidence)
        for old, new in renamed.items():
            text = text.replace(old, new)
        evidence = msgspec.json.decode(text)
        data = evidence.get("data", {})
        if data.get("type") == "revised" and data["sha256"] != digest(data["text"]):
            renamed[data["sha256"]] = data["sha256"] = digest(data["text"])
        if "approval" in data:
            given = msgspec.convert(data["approval"], Approval)
            head = Head(given.statement.head.seq, hashes.get(str(given.statement.head.seq), GENESIS))
            said = replace(given.statement, head=head)
            if given.key is None or arena.mode != "open":
                data["approval"] = msgspec.to_builtins(replace(given, statement=said))
            else:
                data["approval"] = _signed(arena, said, Path(arena.key))
                if "possession" in data:
                    data["possession"] = data["approval"]["signature"]
        previous = made[-1].hash if made else GENESIS
        entry = replace(entry, evidence=encode(evidence) if evidence else entry.evidence, previous=previous)
        entry = replace(entry, hash=entry.computed_hash())
        hashes[str(entry.seq)] = entry.hash
        made.append(entry)
    marks = ", ".join("?" * len(Entry.__struct_fields__))
    with database:
        for entry in made:
            database.execute(f"REPLACE INTO entries ({columns}) VALUES ({marks})", astuple(entry))
        for old, new in renamed.items():
            database.execute("UPDATE instances SET data = replace(data, ?, ?)", (old, new))


@way("a journal of its own in the place of the person's, with a key of its own")
def _(arena: Field, at: dict[str, Any]) -> Told:
    from interlock.machine import Actor, ActorKind, Channel
    from interlock.work.gates.enrolling import enroll

    at["place"] = str(place := arena.copy("replaced"))
    for file in (place / ".ralf").glob("journal.db*"):
        file.unlink()
    file = Path(f"{own_key(arena)}.pub")
    journal = arena.journal(place)
    if arena.mode != "none":

        class Own(Nobody):
            def sign(self, statement: bytes, keys: Any) -> Any:
                from interlock.world.ssh import read_public_key, sign

                return sign(statement, read_public_key(file), file, seconds=5)

        presence: Any = Own(Actor(ActorKind.HUMAN, "ann@example.org", Channel.CLI))
        enroll(journal, presence, file, {})
    else:
        presence = Nobody(arena.person)
    journal.close()
    at["thread"], at["after"] = arena.target(place), 0
    return _acted(arena, place, at["thread"], presence)


@way("the newest entries cut off, or an older copy put back: a decision is gone")
def _(arena: Field, at: dict[str, Any]) -> Told:
    at["place"] = str(place := arena.copy("cut"))
    at["thread"], at["gone"] = arena.threads["abandoned"], "abandon"
    journal = arena.journal(place)
    seq = next(one.seq for one in journal.history(at["thread"]) if one.event == "abandon")
    journal.close()
    older = Path(arena.threads["older"])
    for file in (place / ".ralf").glob("journal.db*"):
        file.unlink()
    shutil.copy(older, place / ".ralf" / "journal.db")
    return Told(None, f"entry {seq} is gone")
