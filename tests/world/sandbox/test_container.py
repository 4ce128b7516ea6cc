"""A container of podman: that it shows and hides what bubblewrap does, tried where podman works."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.world.sandbox.choosing import choose
from interlock.world.sandbox.container import Container, mounts_of
from interlock.world.sandbox.homes import agent_home
from patience import SECONDS
from world.sandbox.places import SECRET, Place, bubblewrap, made_place, started
from world.sandbox.test_attacks import ATTACKS, POWERS

_LEFT_OUT = {
    *("ask a socket in the home", "ask a socket in /tmp", "read any environment", "read the environment of the driver"),
    "make a user namespace",  # it can
    "write a setting of the kernel",  # what podman covers can be opened: it is /dev/null
}
"""Attacks that need a victim, and those that come to something else here."""
_PURE = """
test -z "$WITHOUT_BUBBLEWRAP" || mount --bind /bin/false "$WITHOUT_BUBBLEWRAP" || exit
grep -q ' - cgroup ' /proc/self/mountinfo || exec "$@"
umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"
"""
"""crun refuses to start where old and new control groups are mixed."""
_DRIVER = (sys.executable, "-c", "from world.sandbox.test_container import main; main()")


def main() -> None:
    """Run each script of the arguments in a container, as whoever this is."""
    found = choose("container")
    if not isinstance(found, Container):
        sys.exit(f"not run: {found.why}" if hasattr(found, "why") else 1)
    if "WITHOUT_BUBBLEWRAP" in os.environ:
        sys.stdout.write("container\n" if choose("auto") == found else "something else\n")
    place = Place(Path(sys.argv[1]), os.geteuid())
    policy = replace(place.policy, network=sys.argv[2], agent=agent_home("claude"))
    policy = replace(policy, environment={**place.environment, **_variables(place)}, names=frozenset(_variables(place)))
    for script in sys.argv[3:]:
        with found.confine(("sh", "-c", script), policy) as confined:
            done = started(confined.argv, confined.environment, confined.directory)
        sys.stdout.write(f"{done.stdout} [{done.returncode}]\n")
        sys.stderr.write(done.stderr)


def _variables(place: Place) -> dict[str, str]:
    return {"ROOT": str(place.root), "REAL": str(place.root), "VICTIM": str(os.getppid()), "ANSWER": SECRET}


@pytest.fixture
def place() -> Iterator[Place]:
    with made_place(os.geteuid()) as place:
        yield place


def _run(place: Place, *scripts: str, network: str = "none", **variables: str) -> str:
    command = (*_DRIVER, str(place.directory), network, *scripts)
    alone = ("unshare", "-m", "sh", "-c", _PURE, "sh") if os.geteuid() == 0 else ()
    done = subprocess.run(
        (*alone, *command),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if "not run" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_container_shows_the_tree_and_hides_secrets(place: Place) -> None:
    before = place.contents()
    script = (
        'pwd; ls -A; echo two > two.txt; cat ~/.netrc ~/.ssh/* "$ROOT/notes.txt"; cd "$CLAUDE_CONFIG_DIR"; '
        'cat settings.json; cd "$ROOT"; touch ~/new /new /usr/new; git log --format=%s; '
        "grep -hE '^(CapBnd|NoNewPrivs):' /proc/self/status; id -u; exit 7"
    )
    rights = f"CapBnd:\t{'0' * 16}\nNoNewPrivs:\t1\n{os.geteuid() or 1000}\n"
    shown = f'{place.root}\n.git\nREADME.md\nsrc\n{{"model": "x"}}first\n{rights} [7]\n'
    assert _run(place, script) == shown
    assert (place.tree / "two.txt").read_text() == "two\n"
    assert place.contents() == before


def test_a_container_reaches_a_list_of_hosts_by_the_proxy(place: Place) -> None:
    assert _run(place, 'test -n "$HTTPS_PROXY" && echo proxy', network="open") == "proxy\n [0]\n"


def test_attacks_fail_in_a_container(place: Place) -> None:
    scripts = [text for name, text in {**ATTACKS, **POWERS}.items() if name not in _LEFT_OUT]
    before = place.contents()
    said = _run(place, "\n".join(f"(cd $ROOT\n{one}\n)\necho finished" for one in scripts))
    assert said.count("finished\n") == len(scripts)
    assert SECRET not in said
    assert place.contents() == before


def test_nothing_is_left_of_a_container_when_the_agent_has_ended(place: Place) -> None:
    marker = f"ralph-test-{os.urandom(8).hex()}"
    script = f"sh -c 'sleep 1000; echo {marker}' & kill -9 $$"
    assert _run(place, script).endswith("[137]\n")
    assert marker.encode() not in b"".join(_command_lines())


def test_auto_takes_a_container_where_bubblewrap_does_not_work(place: Place) -> None:
    if os.geteuid() != 0:
        pytest.skip("not run: only root can put another program in its place")
    assert _run(place, WITHOUT_BUBBLEWRAP=bubblewrap().program) == "container\n"


def _command_lines() -> Iterator[bytes]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes()
        except OSError:
            continue


def test_a_mount_covers_what_was_at_its_place_and_nothing_is_copied_into_it(tmp_path: Path) -> None:
    (tmp_path / 'a,"b').mkdir()
    arguments = [
        *("--ro-bind", "/", "/", "--bind", str(tmp_path), "/h/x", "--perms", "0755", "--size", "9", "--tmpfs", "/h"),
        *("--symlink", str(tmp_path / 'a,"b'), "/h/link", "--ro-bind-try", "/nowhere", "/nowhere"),
        *("--remount-ro", "/h"),
    ]
    assert mounts_of(arguments, ["/usr", "/h/deeper"]) == [
        "type=tmpfs,tmpfs-size=9,tmpfs-mode=0755,notmpcopyup,ro,destination=/h",
        f'type=bind,"source={tmp_path}/a,""b",ro=true,bind-nonrecursive,destination=/h/link',
        "type=bind,source=/usr,ro=true,bind-nonrecursive,destination=/usr",
    ]
