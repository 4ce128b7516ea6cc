"""From a machine file to a machine: find it, read it, and have it compiled."""

# Annotations are not postponed here: msgspec would compile each of them when the type is first decoded.

from functools import cache
from pathlib import Path

import msgspec

from interlock.decoding import convert, decode
from interlock.errors import InvalidMachine, NotFound
from interlock.machine.compile import compile_machine
from interlock.machine.form import MachineForm
from interlock.machine.hashing import sha256_hex
from interlock.machine.model import Machine

__all__ = [
    "FORMS",
    "INTERNAL",
    "SHIPPED",
    "ShippedForm",
    "compile_machine",
    "definition_path",
    "load_file",
    "load_shipped",
    "parse",
    "read_text",
    "shipped_forms",
]

SHIPPED = ("ticket", "thread", "story", "orchestrator", "session")
"""The machines that come with Interlock, the outermost first."""
INTERNAL = ("trust",)
"""Those that carry no work: what people vouch for in a repository."""

FORMS = Path(__file__).parent / "definitions" / "forms.json"
"""The shipped definitions as JSON."""
_MAX_BYTES = 8 * 1024 * 1024


def definition_path(name: str) -> Path:
    """Where the definition of a shipped machine lies."""
    if name not in SHIPPED + INTERNAL:
        raise NotFound(
            "unknown_machine", f"There is no machine {name[:80]!r}.", f"The machines are {', '.join(SHIPPED)}."
        )
    return Path(__file__).parent / "definitions" / f"{name}.toml"


@cache
def load_shipped(name: str) -> Machine:
    """A machine that comes with Interlock, by name.

    Its definition was also written as JSON by `make generate`, which is read in a hundredth of the time. That counts
    only if it was made of this very definition.
    """
    text = read_text(definition_path(name))
    made = _shipped_form(name)
    if made is not None and made.sha256 == sha256_hex(text.encode()):
        return compile_machine(made.form, is_known=True)
    return compile_machine(parse(text, where=str(definition_path(name))))


class ShippedForm(msgspec.Struct, frozen=True):
    """A definition as JSON, with the hash of the text that it was made of."""

    sha256: str
    form: MachineForm


def _shipped_form(name: str) -> ShippedForm | None:
    written = _written_forms().get(name)
    try:
        return None if written is None else decode(written, ShippedForm)
    except msgspec.MsgspecError:
        return None


@cache
def _written_forms() -> dict[str, msgspec.Raw]:
    """What `FORMS` holds, each as it is written: a command needs a few of them."""
    try:
        return decode(FORMS.read_bytes(), dict[str, msgspec.Raw])
    except (OSError, msgspec.MsgspecError):
        return {}


def shipped_forms() -> dict[str, ShippedForm]:
    """What `make generate` writes into `FORMS`."""
    texts = {name: read_text(definition_path(name)) for name in SHIPPED + INTERNAL}
    return {name: ShippedForm(sha256_hex(text.encode()), parse(text)) for name, text in texts.items()}


def load_file(path: Path) -> Machine:
    """Load a machine from a TOML file."""
    return compile_machine(parse(read_text(path), where=str(path)))


def read_text(path: Path) -> str:
    """The text of a machine's file, refused where it is unreadable or far too large."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise InvalidMachine(
            "machine_unreadable", f"{path}: {error.strerror}.", "Give the path of a machine's file."
        ) from None
    if len(content) > _MAX_BYTES:
        raise InvalidMachine("machine_unreadable", f"{path} is larger than 8 MiB.", "A machine file is a table.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidMachine("machine_unreadable", f"{path} is not UTF-8: {error}.", "Save it as UTF-8.") from None


def parse(text: str, where: str = "the machine") -> MachineForm:
    """Read TOML text as the form of a machine file."""
    import tomllib

    try:
        read = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of too many digits is no error of TOML's
        raise InvalidMachine("machine_unreadable", f"{where} is no TOML: {error}.", "Mend the line it names.") from None
    try:
        return convert(read, MachineForm)
    except msgspec.ValidationError as error:
        raise InvalidMachine(
            "machine_invalid",
            f"{where} is no machine: {error}.",
            "`ralph machine schema` prints the JSON Schema of a machine file.",
        ) from None
