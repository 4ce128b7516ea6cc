"""Values are read into types from many threads at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from patience import SECONDS

PROGRAM = """
from __future__ import annotations
import sys, threading, types
import msgspec
from interlock import decoding

sys.setswitchinterval(1e-6)  # a thread may stop after every instruction
source = "from __future__ import annotations\\nimport msgspec\\n"
for number in range(60):
    inner = f"    inner: Struct{number + 1} | None = None\\n" if number < 59 else ""
    source += f"class Struct{number}(msgspec.Struct):\\n    a: int = 0\\n    b: dict[str, list[int]] = {{}}\\n{inner}"
made = sys.modules["made"] = types.ModuleType("made")
exec(source, made.__dict__)
value: object = {"a": 1}
for _ in range(8):
    value = {"a": 1, "b": {"x": [1]}, "inner": value}
together = threading.Barrier(8)

def read(number):
    together.wait()
    if number % 2:
        decoding.convert(value, made.Struct0)
    else:
        decoding.decode(msgspec.json.encode(value), made.Struct3)

threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("attempt", range(3))
def test_threads_that_use_a_type_for_the_first_time_at_once_all_read_it(attempt: int) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], timeout=SECONDS, check=False, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
