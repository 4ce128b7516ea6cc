"""`python -m bench.talkative DIRECTORY BYTES`: drive a loop whose agent prints so much; print our peak of memory."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.stories import Field

__all__: list[str] = []


def main() -> None:
    directory, size = Path(sys.argv[1]), int(sys.argv[2])
    line = "x" * 1000
    field = Field(directory, stories=1, iterations=1, agent=f"yes {line} | head -c {size}; echo 1 > work.txt")
    field.drive(lambda loop: None)
    print(_peak())


def _peak() -> int:
    """The most bytes of memory that this process had. What getrusage says counts that of whoever started it, too."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) * 1024


if __name__ == "__main__":
    main()
