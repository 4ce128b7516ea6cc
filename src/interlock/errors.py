"""Everything Interlock can refuse or fail with, in one catalogue.

    InterlockError
    ├── UsageError          the call itself is wrong
    ├── NotFound            what was named does not exist
    ├── InvalidMachine      a machine file that the loader refuses
    ├── Refusal             a machine refused the move
    ├── TrackerError        the tracker could not do it
    └── JournalError        the journal could not do it
        ├── Conflict        somebody else moved the instance first
        ├── LeaseHeld       somebody else drives the instance
        └── Tampered        the journal is not what was written

Each error has a stable code, a sentence that says what happened to what, and a hint that says what to do
next. The code decides the exit status; the command line, MCP, HTTP and the journal all show the same three.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

__all__ = [
    "CODES",
    "Conflict",
    "Exit",
    "InterlockError",
    "InvalidMachine",
    "JournalError",
    "LeaseHeld",
    "NotFound",
    "Refusal",
    "Tampered",
    "TrackerError",
    "UsageError",
]


class Exit(IntEnum):
    """The exit statuses of `ralph`. It never exits 2: that is how a hook blocks."""

    OK = 0
    FAILURE = 1
    REFUSED = 3
    AUTHENTICATION = 4
    PERSON_NEEDED = 5
    HELD = 6
    VERIFICATION_FAILED = 7
    USAGE = 64
    TRY_AGAIN = 75
    INTERRUPTED = 130


CODES: Final[dict[str, tuple[Exit, str]]] = {
    # The call
    "usage": (Exit.USAGE, "The command line does not parse."),
    "invalid_argument": (Exit.USAGE, "An argument has the wrong form: too long, control characters, a path."),
    "no_repository": (Exit.FAILURE, "The command needs a git repository and there is none here."),
    "internal_error": (Exit.FAILURE, "A fault in Interlock itself. Nothing was acknowledged."),
    "git_failed": (Exit.FAILURE, "Git could not do what it was asked."),
    "git_unsafe": (Exit.FAILURE, "A setting of the repository would have to run a program, and it is not run."),
    "git_conflict": (Exit.FAILURE, "A merge or the like is under way, or other work is in the way."),
    "git_detached": (Exit.FAILURE, "No branch is checked out, so there is none to commit on."),
    "git_branch_exists": (Exit.FAILURE, "A branch of that name is there already, and it is never taken over."),
    "setup_conflict": (Exit.FAILURE, "A file that `ralph init` must edit cannot be edited safely."),
    "setup_declined": (Exit.FAILURE, "Nothing was written, because nobody said yes."),
    "import_declined": (Exit.FAILURE, "Nothing was imported, because nobody said yes."),
    "import_invalid": (Exit.USAGE, "What is to be imported cannot be used as it is. Nothing was written."),
    "import_unclear": (Exit.USAGE, "What is to be imported is nothing known, or could be several things."),
    "settings_invalid": (Exit.USAGE, "`ralph.toml` has a key or a value that is not known."),
    "journal_untrusted": (Exit.PERSON_NEEDED, "This user has not trusted the journal, so nothing it says is run."),
    "state_tracked": (Exit.REFUSED, "Git tracks the state directory: the repository brings its own journal."),
    "user_state_unwritable": (Exit.FAILURE, "The user's own state directory cannot be written."),
    "settings_waiting": (Exit.PERSON_NEEDED, "No agent is started while settings wait to be accepted."),
    "settings_missing": (Exit.FAILURE, "There is no `ralph.toml` to accept."),
    "address_refused": (Exit.USAGE, "`ralph serve` would be reachable from elsewhere, and has no token."),
    "address_in_use": (Exit.FAILURE, "Another program listens at the address."),
    "git_missing": (Exit.FAILURE, "Git is not installed."),
    "output_failed": (Exit.FAILURE, "The result cannot be written to stdout."),
    "unhealthy": (Exit.FAILURE, "`ralph doctor` found something that does not work."),
    "file_exists": (Exit.FAILURE, "The file to be written exists already."),
    "file_unreadable": (Exit.FAILURE, "A file of ours cannot be read, or is much too long."),
    "file_unsafe": (Exit.FAILURE, "A link, or something that is no file, stands where a file of ours should be."),
    "file_unwritable": (Exit.FAILURE, "A file of ours cannot be written."),
    "interrupted": (Exit.INTERRUPTED, "Stopped by a signal."),
    # What was named does not exist
    "unknown_machine": (Exit.FAILURE, "No machine has that name."),
    "unknown_instance": (Exit.FAILURE, "No instance has that id."),
    "ambiguous_instance": (Exit.FAILURE, "More than one instance ends in that suffix."),
    "unknown_state": (Exit.REFUSED, "The machine has no such state."),
    "unknown_event": (Exit.REFUSED, "The machine knows no such event."),
    "unknown_actor": (Exit.REFUSED, "Actors are human, agent and system."),
    "unknown_command": (Exit.REFUSED, "The machine has no such command."),
    "unknown_intent": (Exit.REFUSED, "The machine has no such intent."),
    "unknown_session": (Exit.FAILURE, "No session has that id."),
    "unknown_ticket": (Exit.FAILURE, "No ticket has that number, and none is known by that text."),
    "agent_unknown": (Exit.USAGE, "No agent has that name."),
    "unknown_resource": (Exit.FAILURE, "There is nothing to read at that address."),
    "unknown_key": (Exit.FAILURE, "No key that is enrolled has that fingerprint."),
    # A machine file
    "machine_unreadable": (Exit.VERIFICATION_FAILED, "The machine file cannot be read or is no TOML."),
    "machine_invalid": (Exit.VERIFICATION_FAILED, "The machine file does not describe a machine."),
    "machine_unsound": (Exit.VERIFICATION_FAILED, "The checker found faults in the machine."),
    # A machine refused the move
    "terminal": (Exit.REFUSED, "The instance has ended; nothing moves it again."),
    "not_allowed": (Exit.REFUSED, "The event is not in the table for this state."),
    "target_not_allowed": (Exit.REFUSED, "The event does not lead from this state to that one."),
    "target_required": (Exit.REFUSED, "The event must name the state it leads to."),
    "actor_not_allowed": (Exit.REFUSED, "This kind of actor may not fire the event here."),
    "person_needed": (Exit.PERSON_NEEDED, "Only a person may fire the event here."),
    "condition_unmet": (Exit.REFUSED, "The table's condition for the event does not hold now."),
    "refused_by_rule": (Exit.REFUSED, "The table refuses the event in this situation, and says why."),
    "fact_required": (Exit.REFUSED, "The event must bring a fact that it did not bring."),
    "fact_invalid": (Exit.REFUSED, "The event brought a fact, or a value of one, that the machine does not know."),
    "evidence_required": (Exit.REFUSED, "The event must bring evidence that it did not bring."),
    "evidence_invalid": (Exit.REFUSED, "The event's evidence has the wrong shape."),
    "proof_required": (Exit.REFUSED, "A gate or receipt that the move needs was never given, or a change voided it."),
    "setting_invalid": (Exit.REFUSED, "A setting or limit of the machine has no such name or value."),
    "lock_held": (Exit.HELD, "Another holds the lock that this state is."),
    "lock_unclaimed": (Exit.REFUSED, "Nobody holds this lock state yet; claim it before leaving it."),
    "effect_pending": (Exit.REFUSED, "An effect was begun and its outcome is not known yet."),
    "effect_unknown": (Exit.REFUSED, "No pending effect has that key."),
    "command_required": (Exit.REFUSED, "An agent's move must name the command that makes it."),
    "command_not_allowed": (Exit.REFUSED, "The command does not make this move."),
    "intent_ambiguous": (Exit.REFUSED, "The command has several ways to do that; name the state."),
    "intent_unmapped": (Exit.REFUSED, "The command has no such intent."),
    "session_completed": (Exit.REFUSED, "The session has ended; it takes no more reports."),
    "session_open": (Exit.REFUSED, "The ticket has an open session already, and its agent is alive."),
    "nothing_outside": (
        Exit.FAILURE,
        "The tracker's board shows the ticket as it is here.",
    ),
    "relation_refused": (Exit.REFUSED, "The tickets are not linked so, or are linked otherwise already."),
    "dependency_cycle": (Exit.REFUSED, "Tickets would wait for each other, or be parts of each other."),
    "unknown_loop": (Exit.FAILURE, "There is no loop here, or it has ended."),
    "unknown_story": (Exit.FAILURE, "The loop has no such story."),
    "loop_blocked": (Exit.PERSON_NEEDED, "Only blocked stories are left; a person has to mend what each needs."),
    "loop_paused": (Exit.PERSON_NEEDED, "The loop paused by itself: a budget is used up, or it gets nowhere."),
    "budget_exhausted": (Exit.PERSON_NEEDED, "What all work of a day may use is used up; no agent was started."),
    "setup_required": (Exit.PERSON_NEEDED, "The loop cannot begin: something that it needs is missing."),
    "agent_unusable": (Exit.PERSON_NEEDED, "An agent needs a person: its login, credit, model or setup is wrong."),
    "agent_unavailable": (Exit.TRY_AGAIN, "An agent's provider did not come back while it was waited for."),
    "agent_missing": (Exit.FAILURE, "The agent's program cannot be started."),
    "progress_invalid": (Exit.PERSON_NEEDED, "`progress.txt` does not say where the stories stand."),
    "role_invalid": (Exit.USAGE, "A file that should say who a role of the orchestrator is cannot be used as it is."),
    "story_invalid": (Exit.PERSON_NEEDED, "A story file or `prd.json` cannot be worked on as it is."),
    # A gate
    "gate_declined": (Exit.PERSON_NEEDED, "The person at the terminal did not type the word that passes the gate."),
    "code_refused": (Exit.PERSON_NEEDED, "A one-time code was wrong, used, too old, or made for something else."),
    "code_limited": (Exit.TRY_AGAIN, "Too many one-time codes were asked for in a short time."),
    "login_needed": (Exit.PERSON_NEEDED, "The dashboard does not know that the browser is the person's."),
    "body_too_large": (Exit.USAGE, "A form that was sent to the dashboard is larger than it takes."),
    "signature_required": (Exit.PERSON_NEEDED, "Keys are enrolled for the gates, and none of them has signed."),
    "key_invalid": (Exit.USAGE, "The file holds no public key that could sign at a gate."),
    "key_unusable": (Exit.FAILURE, "The private half of a key cannot be used here, or its owner did not unlock it."),
    "key_enrolled": (Exit.REFUSED, "The key is enrolled already."),
    "key_revoked": (Exit.REFUSED, "The key was revoked, and is not enrolled again."),
    "key_needed": (Exit.REFUSED, "The last key cannot be revoked: enroll another one first."),
    "ssh_missing": (Exit.FAILURE, "OpenSSH's `ssh-keygen` is not installed, so nothing can be signed or checked."),
    "ssh_failed": (Exit.FAILURE, "`ssh-keygen` did not finish."),
    "approval_invalid": (Exit.VERIFICATION_FAILED, "A gate was passed without an approval that holds."),
    "thread_corrupt": (Exit.FAILURE, "A file of a thread does not say what it has to say; the others still work."),
    "thread_newer": (Exit.FAILURE, "A file of a thread was written by a newer version."),
    "unknown_run": (Exit.FAILURE, "There is no run of the orchestrator here."),
    "session_unreadable": (Exit.FAILURE, "The files of a session say what cannot be; nobody goes on with it."),
    "run_open": (Exit.HELD, "A run of the orchestrator is under way already."),
    "run_rests": (Exit.PERSON_NEEDED, "The run rests by itself, and says why; a person lets it go on."),
    "run_failed": (Exit.PERSON_NEEDED, "The run could not meet its goal; it says what it needs."),
    "unknown_thread": (Exit.FAILURE, "There is no thread here."),
    "ambiguous_thread": (Exit.REFUSED, "More than one thread can be meant; the message lists them. Name one."),
    "spec_missing": (Exit.PERSON_NEEDED, "The thread has no such spec."),
    "spec_invalid": (Exit.PERSON_NEEDED, "The spec lacks what it needs to be built from."),
    "verifiers_missing": (Exit.PERSON_NEEDED, "Nothing could prove the work: no verifier is configured, or found."),
    "run_not_ready": (Exit.FAILURE, "Something is missing that `ralph run` needs. Nothing was started."),
    "sandbox_unavailable": (Exit.PERSON_NEEDED, "The sandbox that the settings ask for does not work here."),
    "preflight_failed": (Exit.PERSON_NEEDED, "A prerequisite of the implementation is not met; each is named."),
    "thread_stuck": (Exit.PERSON_NEEDED, "The loop could not complete the task; a person decides how to go on."),
    "work_tree_taken": (Exit.HELD, "Another thread has the work tree to itself."),
    "wrong_branch": (Exit.REFUSED, "Another branch is checked out than the one that the thread works on."),
    "driven_by_thread": (Exit.REFUSED, "A thread drives the loop or run; the thread's own verbs steer it."),
    "nothing_kept": (Exit.FAILURE, "Nothing was put away that could be brought back."),
    "agent_failed": (Exit.FAILURE, "The agent did not finish what it was asked."),
    # The journal
    "conflict": (Exit.TRY_AGAIN, "The instance moved on since it was read."),
    "parent_refused": (Exit.REFUSED, "The instance above does not come along, and the move would leave it behind."),
    "key_reused": (Exit.REFUSED, "The idempotency key was used for another event."),
    "lease_held": (Exit.HELD, "Somebody else holds the lease."),
    "lease_lost": (Exit.HELD, "The lease was taken over; this driver must stop."),
    "busy": (Exit.TRY_AGAIN, "The journal was locked by others for too long."),
    "disk_full": (Exit.FAILURE, "There is no room to write the journal."),
    "journal_readonly": (Exit.FAILURE, "The journal or its directory may not be written."),
    "journal_unopenable": (Exit.FAILURE, "The journal file cannot be opened."),
    "journal_closed": (Exit.FAILURE, "The journal was closed; nothing can be read or written through it any more."),
    "journal_unreachable": (Exit.TRY_AGAIN, "The database server does not answer."),
    "outcome_unknown": (Exit.TRY_AGAIN, "The connection broke during the commit; it may or may not be written."),
    "not_a_journal": (Exit.FAILURE, "The file is no journal."),
    "journal_newer": (Exit.FAILURE, "The journal was written by a newer version."),
    "journal_io": (Exit.FAILURE, "The disk failed to read or write the journal."),
    "journal_tampered": (Exit.VERIFICATION_FAILED, "The journal's chain or rules do not hold."),
    "database_url_invalid": (Exit.USAGE, "RALPH_DATABASE_URL is no address of a journal."),
    # The memory
    "memory_unreachable": (Exit.TRY_AGAIN, "The memory's server does not answer, or its driver is not installed."),
    "memory_refused": (Exit.AUTHENTICATION, "The memory's server refused the user, the password or the question."),
    # Telling people
    "notify_off": (Exit.USAGE, "No channel is set on which people could be told, or not the one that was named."),
    "telemetry_off": (Exit.USAGE, "No traces are sent: the settings or the environment switch them off."),
    "telemetry_failed": (Exit.TRY_AGAIN, "The collector did not take the spans that it was sent; they wait."),
    "notify_failed": (Exit.TRY_AGAIN, "A channel did not take what it was to tell; it waits in the outbox."),
    # A tracker
    "tracker_unconfigured": (Exit.USAGE, "No repository or project is named, or the address of the API is refused."),
    "tracker_unauthorized": (Exit.AUTHENTICATION, "There is no token for the tracker, or it may not do this."),
    "tracker_limited": (Exit.TRY_AGAIN, "The tracker takes no more calls for now, and says for how long."),
    "tracker_unreachable": (Exit.TRY_AGAIN, "The tracker does not answer, or only that it is unwell."),
    "tracker_unsure": (Exit.TRY_AGAIN, "The tracker did not say what came of a write; it may have happened or not."),
    "tracker_failed": (Exit.FAILURE, "The tracker refused, or answered what cannot be understood."),
}
"""Every code with its exit status and its meaning; the docs and the tests are made from it."""


class InterlockError(Exception):
    """A failure with a stable code, a sentence, what to do next, and what else a program may want to know."""

    def __init__(self, code: str, message: str, hint: str = "", details: Mapping[str, Any] | None = None) -> None:
        if code not in CODES:
            raise LookupError(f"{code!r} is not in the catalogue of errors")
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = details or {}

    @property
    def exit(self) -> Exit:
        return CODES[self.code][0]

    def __reduce__(self) -> tuple[type[InterlockError], tuple[str, str, str, Mapping[str, Any]]]:
        return type(self), (self.code, self.message, self.hint, self.details)  # so that it can cross processes


class UsageError(InterlockError):
    """The call itself is wrong."""


class NotFound(InterlockError):
    """What was named does not exist."""


class InvalidMachine(InterlockError):
    """A machine file that the loader refuses."""


class Refusal(InterlockError):
    """A machine refused the move; nothing was written. Its details hold every event that is `allowed` instead."""


class TrackerError(InterlockError):
    """The tracker could not do it."""

    def __init__(
        self,
        code: str,
        message: str,
        hint: str = "",
        details: Mapping[str, Any] | None = None,
        *,
        retry_after: float | None = None,
    ) -> None:
        told = {} if retry_after is None else {"retry_after": retry_after}
        super().__init__(code, message, hint, {**(details or {}), **told})

    @property
    def retry_after(self) -> float | None:
        """How many seconds to leave it alone, where the tracker said so."""
        seconds: float | None = self.details.get("retry_after")
        return seconds


class JournalError(InterlockError):
    """The journal could not do it."""


class Conflict(JournalError):
    """Somebody else moved the instance first."""


class LeaseHeld(JournalError):
    """Somebody else drives the instance."""


class Tampered(JournalError):
    """The journal is not what was written."""
