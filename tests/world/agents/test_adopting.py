"""What an agent leaves behind stays below the driver, and ends with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.world.ancestry import DRIVER, started
from patience import SECONDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not run: only Linux has it")

LEAVES = """
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
above = os.getppid()
while os.getppid() == above and above != {driver}:
    time.sleep(0.01)
from interlock.world.processes import calling_agent
agent = calling_agent({{}})
with open({told!r} + ".new", "w") as file:
    file.write(f"{{os.getpid()}} {{os.getppid()}} {{agent and agent.name}}")
os.rename({told!r} + ".new", {told!r})
time.sleep(600)
"""

DRIVES = """
import json, os, subprocess, sys, time
from interlock.world.agents.adopting import adopting
leaves = {leaves!r}
name = lambda: open("/proc/self/comm").read().strip()
before = name()
mine = subprocess.Popen(["sleep", "600"])
with adopting():
    subprocess.run(["env", "-i", sys.executable, "-c", leaves.replace("{{driver}}", str(os.getpid()))], check=True)
    while not os.path.exists({told!r}):
        time.sleep(0.01)
    pid, above, agent = open({told!r}).read().split()
    during = name()
found = mine.poll()
mine.kill()
mine.wait()
print(json.dumps([os.getpid(), int(pid), int(above), agent, before, during, name(), found]))
"""


def test_a_process_that_forks_twice_is_left_to_the_driver_known_as_an_agents_and_ended(tmp_path: Path) -> None:
    told = str(tmp_path / "told")
    leaves = LEAVES.replace("{told!r}", repr(told)).replace("{{", "{").replace("}}", "}")
    program = DRIVES.format(leaves=leaves, told=told)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS, check=True)
    driver, pid, above, agent, before, during, after, mine = json.loads(done.stdout)
    assert above == driver, "its parent is gone, and the driver took it"
    assert agent == "agent", "whatever it took out of its environment"
    assert started(pid) is None, "it ended with what drove it"
    assert (during, after) == (DRIVER, before)
    assert mine is None, "a child that was there before is spared"
