"""What can be asked of the journal's two tables, inside a transaction or beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from interlock.errors import InterlockError, NotFound, Tampered, UsageError
from interlock.journal.entry import Entry, Instance, instance_columns
from interlock.journal.ids import is_suffix
from interlock.journal.store import Row, Sql

__all__ = [
    "ENTRY",
    "INSTANCE",
    "asked_rows",
    "count_by_state",
    "count_states",
    "find_in_states",
    "find_instance",
    "find_instances",
    "find_machines",
    "find_named",
    "find_newest_children",
    "find_open",
    "find_open_children",
    "find_open_children_of",
    "find_recent",
    "read_begun",
    "read_entries",
    "read_first",
    "read_histories",
    "read_history",
    "unknown_instance",
]

ENTRY = ", ".join(Entry.__struct_fields__)
INSTANCE = instance_columns
_ID_LENGTH = 26
_MOST_ASKED = 500
"""Maximum number of parameters in one statement."""
_BY_ID = f"SELECT {INSTANCE} FROM instances WHERE id = ?"
_BY_SUFFIX = f"SELECT {INSTANCE} FROM instances WHERE id LIKE ? ORDER BY id LIMIT 3"
_NAMED = f"SELECT {INSTANCE} FROM instances WHERE id = (SELECT instance FROM names WHERE machine = ? AND name = ?)"


def asked_rows(sql: Sql, statement: str, asked: Sequence[str], before: Sequence[object] = ()) -> Iterator[Row]:
    """The rows for these values, some hundreds at a time; `{}` in the statement stands for them.

    `before` are the parameters ahead of them.
    """
    for start in range(0, len(asked), _MOST_ASKED):
        some = asked[start : start + _MOST_ASKED]
        yield from sql.rows(statement.format(", ".join("?" * len(some))), [*before, *some])


def read_entries(sql: Sql, after: int = 0, instance: str | None = None, most: int = -1) -> list[Entry]:
    """Entries in the order they were written, those after a sequence number."""
    whose, parameters = ("", [after]) if instance is None else (" AND instance = ?", [after, instance])
    limit = f" LIMIT {int(most)}" if most >= 0 else ""
    return _in_order(
        sql.rows(f"SELECT {ENTRY} FROM entries WHERE seq > ?{whose} ORDER BY seq{limit}", parameters), after
    )


def read_history(sql: Sql, instance: str, after: int = 0, most: int | None = None) -> list[Entry]:
    """The entries of an instance, those after one of its versions: as many are read as there are, or so many."""
    limit = "" if most is None else f" LIMIT {int(most)}"
    statement = f"SELECT {ENTRY} FROM entries WHERE instance = ? AND version > ? ORDER BY version{limit}"
    return _in_order(sql.rows(statement, (instance, after)))


def read_histories(sql: Sql, after: Mapping[str, int]) -> dict[str, list[Entry]]:
    """The entries of several instances, those after a version of each."""
    found: dict[str, list[Row]] = {id_: [] for id_ in after}
    statement = f"SELECT {ENTRY} FROM entries WHERE version > ? AND instance IN ({{}}) ORDER BY instance, version"
    for version in set(after.values()):
        for row in asked_rows(sql, statement, [id_ for id_ in after if after[id_] == version], [version]):
            found[row[1]].append(row)
    return {id_: _in_order(rows) for id_, rows in found.items()}


def _in_order(rows: list[Row], after: int = 0) -> list[Entry]:
    for row in rows:
        # A damaged file can give rows in any order, and whoever reads on from the last one would never finish.
        if type(row[0]) is not int or row[0] <= after:
            hint = "Keep a copy of it before anything else; a backup or an export has what was written."
            raise Tampered("journal_tampered", "The journal's file is damaged: its entries have no order.", hint)
        after = row[0]
    return [Entry(*row) for row in rows]


def find_instance(sql: Sql, reference: str) -> Instance:
    """An instance by its id, or by a suffix of 4 or more characters that only one has."""
    found = sql.rows(_BY_ID, (reference,)) if len(reference) == _ID_LENGTH else []
    if not found and len(reference) < _ID_LENGTH and is_suffix(reference):
        found = sql.rows(_BY_SUFFIX, (f"%{reference}",))
    if len(found) > 1:
        message = f"More than one instance ends in {reference!r}: {', '.join(row[0] for row in found)}."
        raise NotFound("ambiguous_instance", message, "Give more characters of the id.")
    if not found:
        raise unknown_instance(reference)
    return Instance(*found[0])


def find_instances(sql: Sql, ids: Sequence[str]) -> list[Instance]:
    """The instances with these ids; one that there is not is left out."""
    return [Instance(*row) for row in asked_rows(sql, f"SELECT {INSTANCE} FROM instances WHERE id IN ({{}})", ids)]


def find_named(sql: Sql, machine: str, name: str) -> Instance | None:
    """The instance of a machine that took a name last."""
    found = sql.rows(_NAMED, (machine, name))
    return Instance(*found[0]) if found else None


def find_open_children(sql: Sql, parent: str, machine: str) -> list[Instance]:
    where = "parent = ? AND machine = ? AND outcome IS NULL"
    found = sql.rows(f"SELECT {INSTANCE} FROM instances WHERE {where} ORDER BY id", (parent, machine))
    return [Instance(*row) for row in found]


def find_open_children_of(sql: Sql, parents: Sequence[str], machine: str) -> dict[str, list[Instance]]:
    """The open instances of a machine below each of several that have any, oldest first."""
    found: dict[str, list[Instance]] = {}
    statement = (
        f"SELECT {INSTANCE} FROM instances WHERE machine = ? AND outcome IS NULL AND parent IN ({{}}) ORDER BY id"
    )
    for row in asked_rows(sql, statement, parents, [machine]):
        found.setdefault(row[3], []).append(Instance(*row))
    return found


def find_newest_children(sql: Sql, parents: Sequence[str], machine: str) -> dict[str, list[Instance]]:
    """The newest instance of a machine below each of several that have any, as a list of one."""
    newest = "SELECT max(id) FROM instances WHERE machine = ? AND parent IN ({}) GROUP BY parent"
    statement = f"SELECT {INSTANCE} FROM instances WHERE id IN ({newest})"
    return {row[3]: [Instance(*row)] for row in asked_rows(sql, statement, parents, [machine])}


def find_machines(sql: Sql, ids: Sequence[str]) -> dict[str, str]:
    """The names of the machines of these instances, by their ids."""
    return dict(asked_rows(sql, "SELECT id, machine FROM instances WHERE id IN ({})", ids))


def find_open(sql: Sql, machine: str) -> list[Instance]:
    """The instances of a machine that have not ended, oldest first."""
    statement = f"SELECT {INSTANCE} FROM instances WHERE machine = ? AND outcome IS NULL ORDER BY id"
    return [Instance(*row) for row in sql.rows(statement, (machine,))]


def count_states(sql: Sql, machine: str) -> dict[str, int]:
    """The number of instances of a machine that have not ended in each state that has any."""
    statement = "SELECT state, count(*) FROM instances WHERE machine = ? AND outcome IS NULL GROUP BY state"
    return {state: int(number) for state, number in sql.rows(statement, (machine,))}


def find_in_states(sql: Sql, machine: str, states: Sequence[str], most: int) -> list[Instance]:
    """The newest instances of a machine that have not ended in one of these states."""
    one = (
        f"SELECT {INSTANCE} FROM instances WHERE machine = ? AND outcome IS NULL AND state = ? "
        f"ORDER BY id DESC LIMIT {int(most)}"
    )
    # Each state by the index, in its order: to sort what stands in all of them, all of it would be read.
    newest = [Instance(*row) for state in states for row in sql.rows(one, (machine, state))]
    return sorted(newest, key=lambda one: one.id, reverse=True)[:most]


def find_recent(
    sql: Sql, machine: str, most: int, parent: str | None = None, before: str | None = None
) -> list[Instance]:
    """The newest instances of a machine, newest first: with a parent, only its children; only those before an id."""
    wanted = {"machine = ?": machine, "parent = ?": parent, "id < ?": before}
    given = {clause: value for clause, value in wanted.items() if value is not None}
    statement = f"SELECT {INSTANCE} FROM instances WHERE {' AND '.join(given)} ORDER BY id DESC LIMIT {int(most)}"
    return [Instance(*row) for row in sql.rows(statement, list(given.values()))]


def count_by_state(sql: Sql) -> dict[str, dict[str, int]]:
    """The number of instances that have not ended in each state of each machine."""
    statement = "SELECT machine, state, count(*) FROM instances WHERE outcome IS NULL GROUP BY machine, state"
    found: dict[str, dict[str, int]] = {}
    for machine, state, number in sql.rows(statement):
        found.setdefault(machine, {})[state] = int(number)
    return found


def read_first(sql: Sql, instances: Sequence[str]) -> dict[str, Entry]:
    """The first entry of each of these instances."""
    rows = asked_rows(sql, f"SELECT {ENTRY} FROM entries WHERE version = 1 AND instance IN ({{}})", instances)
    return {one.instance: one for one in (Entry(*row) for row in rows)}


def read_begun(sql: Sql, machine: str) -> list[Row]:
    """All instances of a machine: id, state, time of the last change, data, and the evidence of the first entry."""
    return sql.rows(
        "SELECT i.id, i.state, i.updated, i.data, e.evidence FROM instances AS i CROSS JOIN entries AS e "
        "WHERE i.machine = ? AND e.instance = i.id AND e.version = 1",
        (machine,),
    )


def unknown_instance(reference: str) -> InterlockError:
    """What to raise where nothing has that id, or where it can be no id at all."""
    if not is_suffix(reference):
        message = f"{reference[:80]!r} is no id of an instance."
        return UsageError("invalid_argument", message, "Give an id, or the last 4 or more characters of one.")
    return NotFound("unknown_instance", f"There is no instance {reference!r}.", "`ralph log` shows the ids.")
