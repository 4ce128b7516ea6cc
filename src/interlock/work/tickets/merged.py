"""Whether a ticket's commit is in the target branch: what an agent's word does not say."""

from __future__ import annotations

from pathlib import Path

from interlock.journal import Journal
from interlock.work.formats.times import seconds_of
from interlock.work.tickets.numbers import known_ticket
from interlock.work.tickets.ticket_table import TICKETS, card_of
from interlock.world.git import merged_at

__all__ = ["merged_commit"]


def merged_commit(journal: Journal, called: str | int, root: Path | None, branch: str) -> str | None:
    """The newest commit written on a ticket that the branch has; one that is older than the ticket proves nothing."""
    ticket = known_ticket(journal, called)
    with journal.projected(TICKETS) as sql:
        commits = card_of(sql, ticket.id).commits
    begun = int(seconds_of(ticket.created))  # git counts in seconds
    for commit in reversed(commits):
        made = None if root is None else merged_at(root, commit, branch)
        if made is not None and made >= begun:
            return commit
    return None
