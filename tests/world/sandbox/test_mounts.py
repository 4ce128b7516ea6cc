"""The order of mounts: which cover counts, and when it becomes read-only."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from interlock.world.sandbox.mounts import Mounts, wholes

_PLACES = [Path(one) for one in ("/a", "/a/b", "/a/b/c", "/a/bc", "/d")]
_STEPS = st.lists(st.tuples(st.sampled_from(("show", "empty", "temporary")), st.sampled_from(_PLACES)), max_size=8)


def _made(steps: list[tuple[str, Path]]) -> Mounts:
    mounts = Mounts()
    for kind, path in steps:
        if kind == "show":
            mounts.show(Path("/given"), path)
        elif kind == "empty":
            mounts.empty(path)
        else:
            mounts.temporary(path, 1, "0700")
    return mounts


@given(_STEPS, st.sampled_from([*_PLACES, Path("/a/b/c/d"), Path("/e")]))
def test_the_last_mount_at_a_path_or_above_it_counts(steps: list[tuple[str, Path]], path: Path) -> None:
    above = [kind for kind, place in steps if path.is_relative_to(place)]
    assert _made(steps).is_visible(path) is (not above or above[-1] == "show")


@given(_STEPS)
def test_a_cover_becomes_read_only_once_all_below_it_is_there_and_only_if_it_is_not_covered(
    steps: list[tuple[str, Path]],
) -> None:
    mounts = _made(steps)
    mounts.close()
    closed: list[Path] = []
    words = iter(mounts.arguments)
    for word in words:
        if word == "--remount-ro":
            closed.append(Path(next(words)))
        elif word in ("--tmpfs", "--ro-bind"):
            place = [Path(next(words)) for _ in range(1 if word == "--tmpfs" else 2)][-1]
            assert not any(one in closed for one in place.parents), "there is no place to mount it"
    last = [
        place
        for number, (kind, place) in enumerate(steps, 1)
        if kind == "empty" and not any(place.is_relative_to(later) for _, later in steps[number:])
    ]
    assert sorted(closed) == sorted(last)


def test_paths_lose_their_links_and_need_not_be_there(tmp_path: Path) -> None:
    (tmp_path / "real" / "one").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "two").symlink_to("one")
    given = ("link/one", "link/two", "link/three", "link/one/..", "nowhere/one")
    real = Path(os.path.realpath(tmp_path))
    assert wholes(tmp_path / one for one in given) == sorted(
        {real / one for one in ("real/one", "real/three", "real", "nowhere/one")}
    )
