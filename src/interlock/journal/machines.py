"""The machines a journal was written with: kept beside the entries, so that it can always be read again."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from interlock.decoding import decode
from interlock.errors import InterlockError, Tampered
from interlock.journal.entry import Instance
from interlock.journal.store import Sql
from interlock.machine import Machine
from interlock.machine.compile import compile_machine
from interlock.machine.form import MachineForm
from interlock.machine.hashing import sha256_hex

__all__ = ["Machines", "named_version"]


class Machines:
    """Machines by name, for new instances, and by digest, for those that began with an earlier definition."""

    def __init__(self, find: Callable[[str], Machine]) -> None:
        self._find = find
        self._by_digest: dict[str, Machine] = {}

    def current(self, name: str) -> Machine:
        """The machine that a new instance is made by."""
        machine = self._find(name)
        self._by_digest[machine.digest] = machine
        return machine

    def known(self, digest: str) -> Machine | None:
        """The machine of a digest, if it was asked for before."""
        return self._by_digest.get(digest)

    def of(self, sql: Sql, instance: Instance) -> Machine:
        """The machine that an instance was made by."""
        return self.by_digest(sql, instance.digest)

    def by_digest(self, sql: Sql, digest: str) -> Machine:
        if digest not in self._by_digest:
            found = sql.rows("SELECT definition FROM machines WHERE digest = ?", (digest,))
            definition = found[0][0] if found else ""
            if sha256_hex(definition.encode()) != digest:
                message = f"The definition of the machine {digest[:12]} is missing or was changed."
                raise Tampered("journal_tampered", message, "Run `ralph journal verify`.")
            form = decode(definition, MachineForm)
            self._by_digest[digest] = self._in_order(form, digest)
        return self._by_digest[digest]

    def _in_order(self, form: MachineForm, digest: str) -> Machine:
        """The machine in the order of its own file: what is kept is sorted, and the order of the states matters."""
        try:
            machine = self._find(form.name)
        except InterlockError:  # an override that is broken is no reason not to read what was before it
            return compile_machine(form)
        return machine if machine.digest == digest else compile_machine(_ordered(form, machine.form))

    @staticmethod
    def keep(sql: Sql, machine: Machine) -> None:
        """Write the definition down with the first instance that needs it."""
        if not sql.rows("SELECT 1 FROM machines WHERE digest = ?", (machine.digest,)):
            definition = msgspec.json.encode(machine.form, order="sorted").decode()
            values = (machine.digest, machine.name, machine.form.version, definition)
            sql.rows("INSERT INTO machines (digest, name, version, definition) VALUES (?, ?, ?, ?)", values)


def _ordered(form: MachineForm, like: MachineForm) -> MachineForm:
    """The same form with its tables in the order of another one; what only this one has comes last."""
    changed = {}
    for name in form.__struct_fields__:
        table, order = getattr(form, name), getattr(like, name)
        if isinstance(table, dict):
            keys = dict.fromkeys([*(key for key in order if key in table), *table])
            changed[name] = {key: table[key] for key in keys}
    return replace(form, **changed)


def named_version(definition: str) -> tuple[str, int]:
    """The name and version that a kept definition says it is."""
    form = decode(definition, MachineForm)
    return form.name, form.version
