"""The result of reading a command: what it writes, and how certain that is."""

from __future__ import annotations

__all__ = ["Reading"]


class Reading:
    """A command that was read: why it counts as writing, what it writes and what it removes."""

    __slots__ = (
        "directories",
        "is_certain",
        "is_exhausted",
        "is_loose",
        "named",
        "only_reads",
        "patches",
        "paths",
        "removed",
        "why",
    )

    def __init__(self) -> None:
        self.why: str | None = None
        self.is_certain = False
        """True if the text shows that it writes; False if that is not known, or it does not."""
        self.only_reads = True
        """True if all its programs are known to look only; of others only the name is known."""
        self.paths: list[str] = []
        self.removed: list[str] = []
        self.named: list[str] = []
        """Paths that programs which are not known take for their output."""
        self.patches: list[str] = []
        """Files with patches that it applies; `-` is what stands in the command."""
        self.directories: list[str] = []
        """Directories that it changes to; a path may be relative to any of them."""
        self.is_loose = False
        """True if what it writes may be named anywhere in the text."""
        self.is_exhausted = False
        """True if it is too long or too deep to be read in time: what it writes is not known."""
