"""Which thread a verb without an id is about: the journal says it, and no file can point a decision elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from faces.journals import PERSON, journal_file, opened, trusting
from faces.programs import Result, run_here
from interlock.faces.cli.thread import VERBS
from interlock.journal import open_journal
from interlock.machine import Event, Evidence
from journal.histories import Clock

READS = {"", "list", "show", "diagnose", "spec"}
"""The verbs that change nothing without an option."""
WORDS = {"context": ["be polite"], "reject": ["--reason", "wrong"]}
"""What a verb must be given besides the thread."""


class Place:
    """A repository, and a person who types verbs."""

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        self.root, self.environment = root, environment
        self.state_directory = root / ".ralf"

    def call(self, *words: str, cwd: Path | None = None, **environment: str) -> Result:
        made = run_here("thread", *words, "--json", cwd=cwd or self.root, env={**self.environment, **environment})
        return Result(made.code, made.out.splitlines(keepends=True)[-1], made.out + made.err)

    def new(self, title: str) -> str:
        return str(self.call("new", title).data["id"])

    def phases(self) -> dict[str, str]:
        return {row["title"]: row["state"] for row in self.call("list").data if "title" in row}

    def entries(self) -> int:
        with opened(self.root) as journal:
            return journal.head()

    def made_before(self, *titles: str) -> list[str]:
        """Threads as the versions made them whose journal did not say which one is active."""

        def create(title: str) -> str:
            evidence = Evidence(settings={"mode": "methodical"}, data={"title": title})
            return journal.create("thread", Event("created", PERSON, evidence=evidence)).entry.instance

        # Ids of one millisecond are in no order, and the newest thread is told by its id.
        with closing(open_journal(journal_file(self.root), now=Clock(), created=trusting(self.root))) as journal:
            return [create(title) for title in titles]


@pytest.fixture
def place(repository: Path, environment: dict[str, str]) -> Place:
    (repository / ".ralf").mkdir()
    return Place(repository, environment)


def _torn(root: Path, mine: str, other: str) -> None:
    (root / "threads" / mine / "thread.json").write_text("{")


def _deleted(root: Path, mine: str, other: str) -> None:
    (root / "threads" / mine / "thread.json").unlink()


def _replaced(root: Path, mine: str, other: str) -> None:
    shutil.copy(root / "threads" / other / "thread.json", root / "threads" / mine / "thread.json")


def _all_gone(root: Path, mine: str, other: str) -> None:
    shutil.rmtree(root / "threads")
    (root / "active_thread").unlink()


def _unnamed(root: Path, mine: str, other: str) -> None:
    (root / "active_thread").unlink()


def _pointed(root: Path, mine: str, other: str) -> None:
    (root / "active_thread").write_text(f"{other}\n")


def _garbled(root: Path, mine: str, other: str) -> None:
    (root / "active_thread").write_bytes(b"\xff\0")


def _linked(root: Path, mine: str, other: str) -> None:
    (root / "active_thread").unlink()
    (root / "elsewhere").write_text(f"{other}\n")
    (root / "active_thread").symlink_to(root / "elsewhere")


def _directory(root: Path, mine: str, other: str) -> None:
    (root / "active_thread").unlink()
    (root / "active_thread").mkdir()


FILES = [_torn, _deleted, _replaced, _all_gone, _unnamed]
POINTERS = [_pointed, _garbled, _linked, _directory]


@pytest.mark.parametrize("damage", [*FILES, *POINTERS], ids=lambda one: one.__name__.strip("_"))
def test_a_damaged_file_redirects_no_verb(place: Place, damage: Callable[[Path, str, str], None]) -> None:
    mine, other = place.new("Mine"), place.new("Other")
    place.call("use", mine)
    damage(place.state_directory, mine, other)
    assert place.call("show").data["id"] == mine
    ended = place.call("abandon")
    assert ended.data["id"] == mine
    assert place.phases() == {"Mine": "Abandoned", "Other": "Drafting"}
    # The files say again what is so.
    assert (place.state_directory / "active_thread").read_text() == f"{mine}\n"
    assert not (place.state_directory / "active_thread").is_symlink()
    assert ("active_thread" in ended.err) == (damage in POINTERS or damage in (_unnamed, _all_gone))


def test_the_active_thread_stays_active_after_its_end(place: Place) -> None:
    place.new("Other")
    mine = place.new("Mine")
    place.call("abandon")
    assert place.call("show").data["id"] == mine
    assert place.call("abandon").error["code"] == "terminal"
    assert place.phases() == {"Mine": "Abandoned", "Other": "Drafting"}


def test_an_agent_does_not_choose_the_active_thread(place: Place) -> None:
    other, mine = place.new("Other"), place.new("Mine")
    assert place.call("use", other, CLAUDECODE="1").error["code"] == "person_needed"
    assert place.call("show").data["id"] == mine
    place.call("new", "An agent's own", CLAUDECODE="1")
    assert place.call("show").data["id"] == mine


# State of versions whose journal does not say which thread is active


def test_where_the_journal_names_none_of_several_no_verb_guesses(place: Place) -> None:
    first, second = place.made_before("One", "Two")
    (place.state_directory / "active_thread").write_text(f"{first}\n")
    before = place.entries()
    for verb in sorted({verb.name for verb in VERBS} - READS - {"new"}):
        refused = place.call(verb, *WORDS.get(verb, []))
        assert refused.error["code"] == "ambiguous_thread", verb
        assert all(id_[-8:] in refused.error["message"] for id_ in (first, second))
        assert "ralph thread use" in refused.error["hint"]
    assert place.entries() == before
    # Whoever only looks sees the thread that the file names, as before.
    assert place.call("show").data["id"] == first
    assert [row["is_active"] for row in place.call("list").data] == [False, True]


def test_writing_a_spec_is_no_look(place: Place) -> None:
    place.made_before("One", "Two")
    (place.root / "spec.md").write_text("# A spec\n")
    assert place.call("spec", "--file", "spec.md").error["code"] == "ambiguous_thread"


def test_a_choice_is_kept_by_the_journal_and_survives_a_rebuild(place: Place) -> None:
    first, second, third = place.made_before("One", "Two", "Three")
    assert place.call("show").data["id"] == third  # without a file, the newest
    assert place.call("abandon", third).data["state"] == "Abandoned"
    assert place.call("abandon").error["code"] == "ambiguous_thread"
    assert place.call("use", second).data["id"] == second
    assert place.call("abandon").data["id"] == second
    with opened(place.root) as journal:
        assert journal.verify() == []
        journal.rebuild()
        assert journal.verify() == []
    assert place.call("show").data["id"] == second
    assert place.call("use", first).data["id"] == first


def test_the_only_open_thread_is_meant_where_the_file_agrees(place: Place) -> None:
    ended, left = place.made_before("Ended", "Left")
    place.call("abandon", ended)
    file = place.state_directory / "active_thread"
    for text in ("{", f"{ended}\n", ""):
        file.write_text(text)
        assert place.call("abandon").error["code"] == "ambiguous_thread"
    file.write_text(f"{left}\n")
    assert place.call("abandon").data["id"] == left


def test_the_only_thread_there_is_needs_no_file(place: Place) -> None:
    (only,) = place.made_before("Only")
    assert place.call("abandon").data["id"] == only


# Several work trees


def test_in_the_work_tree_of_another_thread_no_verb_guesses(place: Place) -> None:
    other, mine = place.new("Other"), place.new("Mine")
    own, git = place.state_directory / "worktrees" / other, place.root / ".git" / "worktrees" / "own"
    own.mkdir(parents=True)
    git.mkdir(parents=True)
    (own / ".git").write_text(f"gitdir: {git}\n")
    (git / "commondir").write_text("../..\n")
    (git / "HEAD").write_text("ref: refs/heads/own\n")
    (git / "gitdir").write_text(f"{own / '.git'}\n")
    refused = place.call("abandon", cwd=own)
    assert refused.error["code"] == "ambiguous_thread"
    assert all(id_[-8:] in refused.error["message"] for id_ in (mine, other))
    assert place.call("abandon", other, cwd=own).data["id"] == other
    assert place.call("abandon", mine, cwd=own).data["id"] == mine
