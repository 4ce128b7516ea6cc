"""From a form to a machine: validated; its table is made when it is first asked for."""

from __future__ import annotations

import msgspec

from interlock.errors import InvalidMachine
from interlock.machine.form import MachineForm
from interlock.machine.hashing import sha256_hex
from interlock.machine.model import Machine

__all__ = ["compile_machine"]

_SHOWN = 20


def compile_machine(form: MachineForm, *, is_known: bool = False) -> Machine:
    """Make a machine of a form, or refuse it with every problem it has; `is_known` means that it has none."""
    if not is_known:
        from interlock.machine.terms import Conditions
        from interlock.machine.validate import problems

        if found := problems(form, Conditions(form)):
            raise _invalid(form.name, found)
    limits: dict[str, int | str] = {f"{name}.limit": counter.limit for name, counter in form.counters.items()}
    return Machine(
        form=form,
        digest=sha256_hex(msgspec.json.encode(form, order="sorted")),
        proofs={**form.gates, **form.receipts},
        settings={**limits, **{name: setting.default for name, setting in form.settings.items()}},
        observes=form.enforcement == "observe",
    )


def _invalid(name: str, found: list[str]) -> InvalidMachine:
    lines = "".join(f"\n  - {problem}" for problem in found[:_SHOWN])
    rest = f"\n  - and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    message = f"The machine {name[:80]!r} does not hold together:{lines}{rest}"
    return InvalidMachine("machine_invalid", message, "Mend these rows of the file, then check it again.")
