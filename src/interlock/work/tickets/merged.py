"""Handing a ticket on with what the repository says: whether its commit is in the target branch.

An agent's word does not say that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.journal import Journal, Transaction
from interlock.work.formats.times import seconds_of
from interlock.work.sessions.verbs import Caller
from interlock.work.settings.values import Settings
from interlock.work.tickets.handoff import Handed, handoff
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.ticket_table import TICKETS, card_of
from interlock.world import git

if TYPE_CHECKING:
    from interlock.work.driver.ports import Git

__all__ = ["handoff_here", "merged_commit"]

_MERGES = frozenset({"merge", "ralph_merge"})


def handoff_here(
    journal: Journal,
    settings: Settings,
    work_tree: Path | None,
    caller: Caller,
    called: str | int,
    *,
    reason: str,
    command: str | None = None,
    intent: str | None = None,
    to: str | None = None,
    present: bool = True,
    key: str | None = None,
) -> Callable[[Transaction], Handed]:
    """Hand a ticket on, by the settings of this repository; a merge counts if the target branch has its commit."""
    merged = None
    if command in _MERGES:
        merged = merged_commit(journal, git, called, work_tree, settings.text("ticket.target_branch"))
    return handoff(
        caller,
        called,
        reason=reason,
        command=command,
        intent=intent,
        to=to,
        plan_review=settings.text("ticket.plan_review"),
        merged=merged,
        present=present,
        timeout=settings.number("session.timeout_minutes") * 60.0,
        key=key,
    )


def merged_commit(journal: Journal, git: Git, called: str | int, root: Path | None, branch: str) -> str | None:
    """Return the newest commit written on a ticket that the branch has; one older than the ticket proves nothing."""
    ticket = known_ticket(journal, called)
    with journal.projected(TICKETS) as sql:
        commits = card_of(sql, ticket.id).commits
    begun = int(seconds_of(ticket.created))  # git counts in seconds
    for commit in reversed(commits):
        made = None if root is None else git.merged_at(root, commit, branch)
        if made is not None and made >= begun:
            return commit
    return None
