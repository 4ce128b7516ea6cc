"""`ralph doctor`: is everything here that Interlock needs?"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
from msgspec.structs import asdict

from interlock import __version__
from interlock.errors import InterlockError, Tampered
from interlock.faces.cli.command import CommandCall, Verb
from interlock.faces.cli.output import columns
from interlock.faces.cli.place import DATABASE_URL, journal_path, opened, readable
from interlock.machine import SHIPPED, load_shipped
from interlock.work.settings.journal_trust import UNTRUSTED, is_trusted
from interlock.world.machines import OVERRIDE, cache_directory, find_machine
from interlock.world.repository import state_directory

if TYPE_CHECKING:
    from interlock.journal import Journal
    from interlock.work.settings.values import Settings
    from interlock.world.sandbox.policy import Network

__all__ = ["VERBS"]

_PASTA = "because pasta is missing or does not work; install the package `passt`"
_MARKS = {"ok": "✓", "note": "·", "fault": "✗"}


class _Finding(msgspec.Struct, frozen=True):
    check: str
    status: str
    detail: str


def _doctor(call: CommandCall) -> None:
    findings = list(_examine(call))
    faults = [one for one in findings if one.status == "fault"]
    rows = [(_MARKS[one.status], one.check, one.detail) for one in findings]
    if not call.output.json:
        call.output.text(columns(rows, call.output.width))
    data = [asdict(one) for one in findings]
    if faults:
        names = ", ".join(one.check for one in faults)
        hint = "Mend what is marked ✗, then run it again."
        raise InterlockError("unhealthy", f"Something does not work: {names}.", hint, {"checks": data})
    call.output.result(data, lambda: None)


def _examine(call: CommandCall) -> Iterator[_Finding]:
    checks: tuple[tuple[str, Callable[[CommandCall], tuple[str, str]]], ...] = (
        ("interlock", lambda call: ("ok", f"{__version__} on Python {platform.python_version()}")),
        ("command", _command),
        ("system", _system),
        ("git", _git),
        ("sqlite", _sqlite),
        ("postgresql", _postgresql),
        ("machines", _machines),
        ("cache", _cache),
        ("journal", _journal),
        ("tickets", _tickets),
        ("gates", _gates),
        ("agents", _agents),
        ("sandbox", _sandbox),
        ("network", _network),
        ("limits", _limits),
        ("verifiers", _verifiers),
    )
    for name, check in checks:
        try:
            status, detail = check(call)
        except InterlockError as error:
            status, detail = "fault", f"{error.message} {error.hint}"
        yield _Finding(name, status, detail)


def _command(call: CommandCall) -> tuple[str, str]:
    """The `ralph` that a shell and the hooks of agents find: several tools have that name."""
    found = shutil.which("ralph", path=call.environment.get("PATH", ""))
    if found is None:
        return "note", "`ralph` is not on your PATH; agents are given this one by its path"
    if _is_ours(Path(found)):
        return "ok", found
    ours = Path(sys.prefix) / "bin"
    return "fault", f"{found} is another tool; put {ours} before it in PATH, or type `interlock` instead of `ralph`"


def _is_ours(program: Path) -> bool:
    try:
        with program.open("rb") as file:
            return b"interlock.faces" in file.read(4096)
    except OSError:
        return False


def _system(call: CommandCall) -> tuple[str, str]:
    detail = f"{platform.system()} {platform.release()} {platform.machine()}"
    return ("ok" if sys.platform == "linux" else "note"), detail


def _git(call: CommandCall) -> tuple[str, str]:
    if not shutil.which("git"):
        return "fault", "git is not installed; install it with your system's package manager."
    done = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=10, check=False)
    return "ok", done.stdout.strip()


def _sqlite(call: CommandCall) -> tuple[str, str]:
    import apsw

    return "ok", f"SQLite {apsw.sqlite_lib_version()}, bundled with apsw {apsw.apsw_version()}"


def _postgresql(call: CommandCall) -> tuple[str, str]:
    if find_spec("psycopg") is None:
        from interlock.extras import how_to_install

        status = "fault" if call.environment.get(DATABASE_URL) else "note"
        return (
            status,
            "psycopg is not installed, and only needed where several hosts share a journal; "
            f"`{how_to_install('postgres')}` brings it",
        )
    return "ok", f"psycopg is there; {DATABASE_URL} is {'set' if call.environment.get(DATABASE_URL) else 'not set'}"


def _machines(call: CommandCall) -> tuple[str, str]:
    loaded = [find_machine(name, call.environment) for name in SHIPPED]
    overridden = f", the ticket machine from {call.environment[OVERRIDE]}" if call.environment.get(OVERRIDE) else ""
    shipped = sum(load_shipped(machine.name).digest == machine.digest for machine in loaded)
    return "ok", f"{len(loaded)} load, {shipped} as shipped{overridden}"


def _cache(call: CommandCall) -> tuple[str, str]:
    return "ok", str(cache_directory(call.environment))


def _journal(call: CommandCall) -> tuple[str, str]:
    try:
        path = journal_path(call)
    except InterlockError as error:
        if not call.environment.get(DATABASE_URL):
            return "note", f"{error.message} {error.hint}"
        path = Path(os.devnull)
    with opened(call, warns=False) as journal:
        if journal is None:
            return "note", f"none yet; {path} is made by the first command that writes"
        counted = f"{journal.head()} entries, {len(journal.instances())} instances"
        if not is_trusted(journal, state_directory(call.directory), call.environment):
            return "fault", f"{counted}. {UNTRUSTED}; `ralph config accept` asks you"
        return "ok", counted


def _tickets(call: CommandCall) -> tuple[str, str]:
    """Tickets that wait for each other, so that none of them is ever offered."""
    from interlock.work.tickets.circles import circles
    from interlock.work.tickets.ticket_table import TICKETS

    try:
        with opened(call, warns=False) as journal:
            if journal is None:
                return "note", "none yet"
            with journal.projected(TICKETS) as sql:
                found = circles(sql)
                [(count,)] = sql.rows("SELECT count(*) FROM tickets WHERE outcome IS NULL")
    except Tampered:
        raise
    except InterlockError:  # the journal's own check says why
        return "note", "the journal cannot be read"
    if found:
        return "fault", "; ".join(f"{one.message}: `{one.way_out}`" for one in found)
    return "ok", f"{count} open, and none waits for itself"


def _gates(call: CommandCall) -> tuple[str, str]:
    """Whether gates can be signed here, and by what."""
    from interlock.work.gates.trust import trust_of
    from interlock.world.ssh import Guard, is_installed

    try:
        with opened(call, warns=False) as journal:
            keys = trust_of(journal).enrolled if journal else []
    except Tampered:
        raise
    except InterlockError:  # the journal's own check says why
        keys = []
    if not is_installed():
        detail = "ssh-keygen is not installed, and signatures can be neither made nor checked; install OpenSSH's client"
        return ("fault" if keys else "note"), detail
    if not keys:
        return "note", "no key signs at the gates; `ralph gate enroll KEY.pub` enrolls one"
    forgeable = [key.fingerprint for key in keys if key.guard is Guard.NONE]
    if forgeable:
        return "note", f"{len(keys)} enrolled, of which nothing guards {', '.join(forgeable)}"
    return "ok", f"{len(keys)} enrolled"


def _agents(call: CommandCall) -> tuple[str, str]:
    """Which agents are here, and whether the repository's files tell them of us."""
    from interlock.work.setup import propose
    from interlock.work.setup.surroundings import find_agents, work_tree

    try:
        found = find_agents(work_tree(call.directory), call.environment)
        proposal = propose(call.directory, list(found), call.environment) if found else None
    except InterlockError as error:
        return ("note" if error.code == "no_repository" else "fault"), f"{error.message} {error.hint}"
    if proposal is None:
        return "note", "none found; `ralph init --agent NAME` sets one up"
    names = ", ".join(found)
    return ("note", f"{names}; `ralph init` sets them up here") if proposal.is_needed else ("ok", f"{names}, set up")


def _sandbox(call: CommandCall) -> tuple[str, str]:
    """The sandbox that works here; the settings say whether it is used."""
    from interlock.world.sandbox.choosing import choose
    from interlock.world.sandbox.consent import consent_file, has_agreed
    from interlock.world.sandbox.unconfined import Unavailable, Unconfined

    found = choose("auto")
    if isinstance(found, Unconfined | Unavailable):
        missing = found if isinstance(found, Unavailable) else found.instead
        assert missing is not None  # `auto` says why there is none
        agreed = has_agreed(call.environment)
        without = (
            f"You agreed to go without; remove {consent_file(call.environment)} to be asked again." if agreed else ""
        )
        return "note" if agreed else "fault", f"{missing.why} {missing.how} {without}".rstrip()
    works = f"{found.name} {found.version}".rstrip()
    return "ok", f"{works} works; agents and verifiers run in it unless agent.sandbox or verify.sandbox says otherwise"


def _network(call: CommandCall) -> tuple[str, str]:
    """The networks of agents and verifiers, and what they expose."""
    from interlock.world.sandbox.choosing import choose, has_direct_network
    from interlock.world.sandbox.describing import network_text
    from interlock.world.sandbox.unconfined import Unavailable, Unconfined

    try:
        with opened(call, warns=False) as journal:
            settings = _in_force(call, journal)
    except Tampered:
        raise
    except InterlockError:  # the journal's own check says why
        return "note", "not known without a journal that opens"
    sandbox = choose("auto")
    found: dict[str, list[str]] = {}
    networks: list[Network] = []
    for who in ("agent", "verify"):
        is_confined = settings.sandbox(f"{who}.sandbox") != "none"
        network = cast("Network", settings.text_or_texts(f"{who}.network") if is_confined else "host")
        networks.append(network)
        name = f"{who}.network" if is_confined else f"{who}.sandbox is none"
        found.setdefault(network_text(network), []).append(name)
    lines = [f"{', '.join(names)}: {text}" for text, names in found.items()]
    if any("open" in one for one in networks) and not isinstance(sandbox, Unconfined | Unavailable):
        by_pasta = "pasta connects it" if has_direct_network(sandbox) else f"only for HTTP and HTTPS, {_PASTA}"
        lines.append(f"open works here: {by_pasta}")
    return ("note" if "host" in networks else "ok"), "; ".join(lines)


def _in_force(call: CommandCall, journal: Journal | None) -> Settings:
    """The settings in force, without a second warning about a journal that is not trusted."""
    from interlock.work.settings.accepted import settings_status
    from interlock.work.settings.values import Settings

    if journal is None:
        return Settings()
    is_own = is_trusted(journal, state_directory(call.directory), call.environment)
    return settings_status(journal, None, is_trusted=is_own).settings


def _limits(call: CommandCall) -> tuple[str, str]:
    """The limits of a run on this machine."""
    from interlock.world.sandbox.describing import limits_text

    if sys.platform != "linux":
        return "note", "processes and memory of a run are not limited here; agent.max_disk_mib is"
    return (
        "ok",
        f"agent.max_processes, agent.max_memory_mib, agent.max_disk_mib: {limits_text(is_root=os.geteuid() == 0)}",
    )


def _verifiers(call: CommandCall) -> tuple[str, str]:
    """The verifiers, by the definition that preflight and the loops use."""
    from interlock.work.verification.request import plan_of
    from interlock.work.verification.verifiers import missing_verifiers, story_tests, uncarried, verifiers_of

    try:
        with readable(call, warns=False) as place:
            settings, root = place.settings, place.work_tree
    except Tampered:
        raise
    except InterlockError:  # the journal's own check says why
        return "note", "not known without a journal that opens"
    plan = plan_of(settings)
    commands = tuple(dict.fromkeys((*verifiers_of(plan), *story_tests(settings))))
    if not commands:
        return "note", "none configured; without verify.commands in ralph.toml, each spec must bring its own"
    if root is None:
        return "note", f"{len(commands)} configured"
    lost = missing_verifiers(plan, (), root, call.environment)
    wrong = [*(f"cannot be found: {one}" for one in lost), *uncarried(plan, root)]
    return ("fault", "; ".join(wrong)) if wrong else ("ok", ", ".join(commands))


VERBS = (Verb("", "look at everything Interlock needs, and say what is missing", _doctor),)
