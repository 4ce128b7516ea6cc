"""The tree in which an agent prepares a ticket. Only the documents that its command creates are committed from it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from msgspec.structs import replace

from interlock.journal import Instance
from interlock.machine import Machine
from interlock.machine.commands import normalise_command
from interlock.work.driver.context import DriverContext
from interlock.work.driver.target_branch import TargetBranch, beginning_of, ended_trees, require_branch, target_of
from interlock.work.views.ticket import ticket_view

__all__ = ["creates_documents", "document_tree", "is_document"]

_MACHINE = "ticket"


def creates_documents(machine: Machine, command: str) -> bool:
    """True if a command writes files; the agent of any other only reads."""
    return bool(_patterns(machine, command))


def is_document(machine: Machine, command: str, path: str, attached: Collection[str] = ()) -> bool:
    """True if a path is where a command puts its documents, or a Markdown file in a directory that was attached.

    Files at the top and hidden ones are never meant: the instructions of agents are among them.
    """
    one = PurePosixPath(path)
    if (one.parent, one.suffix) in {(pattern.parent, pattern.suffix) for pattern in _patterns(machine, command)}:
        return True
    is_hidden = any(part.startswith(".") for part in one.parts)
    return path in attached and one.suffix == ".md" and len(one.parts) > 1 and not is_hidden


def _patterns(machine: Machine, command: str) -> list[PurePosixPath]:
    form = machine.form
    created = form.commands[normalise_command(command)].creates
    return [PurePosixPath(form.artifacts[name].pattern) for name in created if name in form.artifacts]


@contextmanager
def document_tree(context: DriverContext, ticket: Instance, number: int, command: str) -> Iterator[DriverContext]:
    """Give the context with a tree for the agent as its root, on what the person has committed.

    Afterwards the documents in it are committed, and the person's branch follows. If it cannot, the tree stays for the
    next command. Everything else that was written is kept under a ref and reported.
    """
    require_branch(context)
    start = beginning_of(context)
    assert start is not None  # there is a branch with a commit
    for name in ended_trees(context, _MACHINE):
        target_of(context, name, start).end(_kept(name))
    target = target_of(context, ticket.id, start)
    target.tree.make()
    with context.git.opened(target.tree.files) as repository:
        target.take_commits(repository)
    yield replace(context, root=target.tree.files)
    _commit(context, target, context.journal.machine_of(ticket), number, command)
    if not target.is_behind:
        target.end(_kept(ticket.id))


def _commit(context: DriverContext, target: TargetBranch, machine: Machine, number: int, command: str) -> None:
    tree = target.tree
    with context.git.opened(tree.files) as repository:
        attached = {one.path for one in ticket_view(context.journal, number, comments=0).artifacts}
        changed = context.git.state(repository).changed if creates_documents(machine, command) else ()
        documents = [path for path in changed if is_document(machine, command, path, attached)]
        if documents:
            message = f"Add the {command} document of #{number}"
            tree.commit(repository, message, f"tickets/{tree.id}/commits", paths=documents)
    target.forward()


def _kept(ticket: str) -> str:
    return f"tickets/{ticket}/rest"
