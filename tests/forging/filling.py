"""What an agent does to use up the machine: scripts for `sh` that would go on forever, or much too far.

They run in a sandbox only, with limits far below what any machine has.
"""

from __future__ import annotations

__all__ = ["FLOODS", "LIMITS"]

LIMITS = {"agent.max_processes": 60, "agent.max_memory_mib": 128, "agent.max_disk_mib": 48}


def _python(code: str) -> str:
    return f"\"$PYTHON\" -IS - <<'END'\n{code}\nEND"


_SMALL_FILES = """
import os, time
for _ in range(40):
    os.mkdir("d")
    os.chdir("d")
    for name in range(500):
        open(str(name), "w").close()
time.sleep(1000)
"""
_THREADS = """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(1000,)).start()
"""
_SOCKET = """
import os, socket
held = []
for number in range(300):
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(1)
    try:
        one.connect(os.environ["RALPH_SOCKET"])
        one.sendall(b'{"program": "mcp", "words": []}\\n' + b"x" * 100000 if number % 3 == 0 else b"")
        held.append(one)
    except OSError:
        pass
"""

FLOODS: dict[str, tuple[str, str]] = {
    "fill the disk": ("n=0; while :; do head -c 4M /dev/zero > fill$n; n=$((n+1)); done", "agent.max_disk_mib"),
    "fill the disk with small files": (_python(_SMALL_FILES), "agent.max_disk_mib"),
    "fill the disk with holes": ("for n in 1 2 3 4; do truncate -s 40M hole$n; done", "agent.max_disk_mib"),
    "fill the memory": (
        _python("held = []\nwhile True:\n    held.append(bytearray(b'x' * (4 << 20)))"),
        "agent.max_memory_mib",
    ),
    "fill the memory with files": (
        "n=0; while head -c 4M /dev/zero > /tmp/fill$n; do n=$((n+1)); done; sleep 1000",
        "agent.max_memory_mib",
    ),
    "fill the process table": ("while :; do sleep 1000 & done", "agent.max_processes"),
    "fill the process table with threads": (_python(_THREADS), "agent.max_processes"),
    "fill its socket, and start all programs behind it": (_python(_SOCKET), ""),
}
"""Each with the setting that its run is ended by; without one, the thread is finished all the same."""
