"""How an agent is told to report: the section for its prompt, made from the machine's table."""

from __future__ import annotations

from interlock.machine import Machine, load_shipped
from interlock.work.sessions.record import UPDATE

__all__ = ["phase_table", "progress_reporting", "reported_states"]

_BEFORE = """## Progress Reporting

As you work, call `update_session_state` to report your progress. This enables real-time visibility for the person
you work for, and the hooks of this repository hold you to it: files can be written in the states that allow it.

"""
_AFTER = """
Begin with `create_ralph_session` (with the ticket's id), unless you were given a session id. Report the state when you
enter it, not afterwards. Give `metadata.testResults` (passed, failed, skipped) when you ran tests. When the work has
ended, call `complete_ralph_session`: `success` only if the work is done and its tests pass, otherwise `failure` with an
`errorMessage`. Call it before your last message, which ends as you were asked to end it: nothing comes after that.
When a call is refused, its reply says what is allowed instead.

**Example:**
After reading the ticket spec:

    I'll update my state to show I'm analyzing the requirements.
    <call update_session_state with state="analyzing">

After understanding the task and ready to code:

    Now I understand the task. Moving to implementation.
    <call update_session_state with state="implementing">
"""


def reported_states(machine: Machine) -> list[str]:
    """The states that an agent can report, in the order of the machine's file."""
    targets = machine.targets.get(UPDATE, ())
    return [name for name in machine.states if name in targets]


def phase_table(machine: Machine) -> str:
    """The phases that an agent reports, and when: a table in Markdown."""
    rows = [("Phase", "When to Call")]
    rows += [(f"`{name}`", machine.states[name].entry_criteria or "") for name in reported_states(machine)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"| {row[0]:<{widths[0]}} | {row[1]:<{widths[1]}} |" for row in rows]
    lines.insert(1, f"| {'-' * widths[0]} | {'-' * widths[1]} |")
    return "\n".join(lines)


def progress_reporting(machine: Machine | None = None, session: str | None = None) -> str:
    """The Progress Reporting section of an agent's prompt."""
    yours = f"\nYour session id is `{session}`.\n" if session else ""
    return _BEFORE + phase_table(machine or load_shipped("session")) + "\n" + yours + _AFTER
