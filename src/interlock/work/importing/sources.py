"""The files that a path names: found, and read with care. A link is not followed, and no file is read beyond a size."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

from interlock.errors import UsageError
from interlock.work.importing.forms import FORMS, Form, form_of
from interlock.work.importing.imported import SourceFile, invalid
from interlock.world.folder import Folder

__all__ = ["MOST_BYTES", "sources_of"]

MOST_BYTES: Final = 10 * 1024 * 1024
_MOST_FILES: Final = 5_000


def sources_of(path: Path, wanted: str | None) -> tuple[Form, list[SourceFile]]:
    """The form of what a path names, and its files; `wanted` is the form where somebody said so."""
    kind = _kind(path)
    if stat.S_ISDIR(kind):
        return _in_directory(path, wanted)
    source = _read(path)
    return (FORMS[wanted] if wanted else form_of(path.name, source)), [source]


def _kind(path: Path) -> int:
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise invalid(str(path), f"it cannot be read: {said}", "Name a file or a directory that is there.") from None
    if stat.S_ISLNK(mode):
        raise invalid(str(path), "it is a link, and was not followed", "Name the file that it leads to.")
    return mode


def _read(path: Path) -> SourceFile:
    mode = _kind(path)
    if not stat.S_ISREG(mode):
        raise invalid(str(path), "it is no file", "Name a file, or a directory with something known in it.")
    if path.lstat().st_size > MOST_BYTES:
        raise invalid(str(path), f"it has more than {MOST_BYTES // 1024 // 1024} MB", "Import it in parts.")
    place = path.parent.resolve()
    content = Folder(place).read(path.name, MOST_BYTES) or b""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise invalid(f"{path}, line {line}", "this is no text in UTF-8", "Save it as UTF-8.") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise invalid(f"{path}, line {line}", "this is no text", "Name a file with text in it.")
    return SourceFile(str(path), place.name, text)


def _in_directory(path: Path, wanted: str | None) -> tuple[Form, list[SourceFile]]:
    """The one known thing in a directory; several are told apart by `--as`, or by naming the file."""
    forms = [FORMS[wanted]] if wanted else list(FORMS.values())
    found = {form.name: files for form in forms if (files := _files(path, form))}
    if not found:
        looked = ", ".join(dict.fromkeys(pattern for form in forms for pattern in form.files))
        message = f"There is nothing in {path} that is known here."
        raise UsageError("import_unclear", message, f"Name the file. Looked for: {looked}.")
    if len(found) > 1:
        ways = ", ".join(f"--as {name} ({_relative(path, files[0])})" for name, files in found.items())
        message = f"There is more than one thing in {path} that is known here."
        raise UsageError("import_unclear", message, f"Say which, or name the file: {ways}.")
    [(name, files)] = found.items()
    if len(files) > 1 and not FORMS[name].is_many:
        several = ", ".join(_relative(path, file) for file in files)
        message = f"There is more than one {FORMS[name].title} in {path}."
        raise UsageError("import_unclear", message, f"Name one of them: {several}.")
    return FORMS[name], [_read(file) for file in files]


def _files(path: Path, form: Form) -> list[Path]:
    found: list[Path] = []
    for pattern in form.files:
        some = sorted(path.glob(pattern))
        found += [one for one in some if not (one.is_dir() and not one.is_symlink())]
    found = list(dict.fromkeys(found))
    if len(found) > _MOST_FILES:
        raise invalid(str(path), f"it has more than {_MOST_FILES} files", "Import it in parts.")
    # A feature's tasks.md and a backlog's tasks can lie in any project under other names of directories.
    return [one for one in found if form.name != "backlog" or one.name.lower() != "readme.md"]


def _relative(path: Path, file: Path) -> str:
    return str(file.relative_to(path))
