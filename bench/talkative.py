"""`python -m bench.talkative DIRECTORY BYTES`: drive a loop whose agent prints so much; print our peak of memory."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from bench.stories import Field

__all__: list[str] = []

_KILOBYTE = 1024 if sys.platform != "darwin" else 1


def main() -> None:
    directory, size = Path(sys.argv[1]), int(sys.argv[2])
    line = "x" * 1000
    field = Field(directory, stories=1, iterations=1, agent=f"yes {line} | head -c {size}; echo 1 > work.txt")
    field.drive(lambda loop: None)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KILOBYTE)


if __name__ == "__main__":
    main()
