"""Agents that prepare a ticket work in a tree of their own, and only the documents of their command are committed."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from interlock.errors import Refusal
from interlock.machine import load_shipped
from interlock.work.ticket_driver.document_tree import creates_documents, is_document
from interlock.work.ticket_driver.thread_stage import plan_text
from interlock.work.tickets.verbs import edit
from interlock.work.views.ticket import ticket_view
from interlock.world.repository import own_tree
from interlock.world.sandbox.choosing import choose
from interlock.world.sandbox.unconfined import Unavailable
from work.threads.benches import DONE, shell
from work.ticket_driver.ways import NUMBER, PERSON, PLAN, RALPH, Way, commands, made

from .calling import calls

confined = pytest.mark.skipif(
    isinstance(choose("bubblewrap"), Unavailable), reason="not run: bubblewrap does not work here"
)


@pytest.fixture
def way(tmp_path: Path) -> Way:
    return made(tmp_path / "repository")


def _tree(way: Way) -> Path:
    with closing(way.open()) as journal:
        [ticket] = journal.instances("ticket")
    return own_tree(way.state_directory, ticket.id)


def test_only_documents_of_the_command_are_committed_and_the_rest_is_kept(way: Way) -> None:
    triage, research, plan = commands()
    stray = shell("echo stray > stray.py; echo changed > README; git add -A; git commit -qm mine")
    way.play(triage, research, [*plan[:-1], stray, plan[-1]], DONE)
    readme = (way.root / "README").read_text()
    assert way.walk().ticket.state == "Plan in Review"
    assert way.git("log", "--format=%s", "-1") == "Add the plan document of #1"
    assert way.git("show", "--format=", "--name-only", "HEAD").split() == [PLAN]
    assert (way.root / PLAN).exists()
    assert ((way.root / "README").read_text(), (way.root / "stray.py").exists()) == (readme, False)
    assert way.git("status", "--porcelain") == ""
    [said] = [one for one in way.told if "what was not committed is kept" in str(one)]
    kept = str(said).split("git show ")[1].rstrip("`")
    assert way.git("show", f"{kept}:files/stray.py").strip() == "stray"
    assert not _tree(way).exists()
    assert "ralf/" not in way.git("branch", "--list", "ralf/*")


def test_what_the_person_has_not_committed_stays_and_the_plan_is_shown_from_the_tree(way: Way) -> None:
    way.settings["thread.isolation"] = "own"
    (way.root / "README").write_text("I am at work here\n")
    assert way.walk().ticket.state == "Plan in Review"
    assert not (way.root / PLAN).exists()
    assert any("stays behind" in str(one) for one in way.told)
    assert way.walk(asks=True).ticket.state != "Plan in Review"
    with closing(way.open()) as journal:
        roles = {one.decoded_evidence().data.get("role") for one in journal.all_entries() if one.event == "created"}
    assert "implementer" in roles
    assert "drafter" not in roles, "the plan is the spec, so no agent has to write one"
    assert (way.root / "README").read_text() == "I am at work here\n"


def test_the_next_command_continues_in_a_tree_that_the_person_has_not_merged(way: Way) -> None:
    triage, research, plan = commands()
    document = "thoughts/shared/research/2026-01-30-GH-1-greet.md"
    finds = shell(f"mkdir -p {Path(document).parent}; echo found > {document}")
    copy = f"{Path(PLAN).parent}/2026-01-30-GH-1-copy.md"
    reads = shell(f"mkdir -p {Path(PLAN).parent}; cp {document} {copy}")
    way.play(triage, [research[0], finds, *research[1:]], [plan[0], reads, *plan[1:]], DONE)
    (way.root / "README").write_text("I am at work here\n")
    assert way.walk().ticket.state == "Plan in Review"
    tree = _tree(way)
    assert (tree / copy).read_text() == "found\n"
    way.git("checkout", "-q", "--", "README")
    way.git("merge", "-q", "--ff-only", f"ralf/{tree.parent.name}")
    assert (way.root / document).read_text() == "found\n"


def test_the_agent_sees_what_the_person_committed_since_its_last_command(way: Way) -> None:
    triage, research, _ = commands()
    way.play(triage, [research[0], shell("cat news > told 2>&1; cp news thoughts || true"), {"finish": True}])
    (way.root / "README").write_text("I am at work here\n")
    way.git("commit", "-qam", "Change the README")
    (way.root / "news").write_text("news\n")
    way.git("add", "news")
    way.git("commit", "-qm", "Add news")
    way.walk()
    with closing(way.open()) as journal:
        [ticket] = journal.instances("ticket")
    assert way.git("show", f"refs/ralf/tickets/{ticket.id}/rest:files/told").strip() == "news"


def test_without_a_branch_or_a_commit_no_agent_is_started(way: Way) -> None:
    way.git("checkout", "-q", "--detach")
    with pytest.raises(Refusal) as caught:
        way.walk()
    assert "git switch" in caught.value.hint
    with closing(way.open()) as journal:
        assert journal.instances("session") == []


@pytest.mark.parametrize("kind", ["a file that git does not have", "the settings of git", "a link to one"])
def test_a_plan_that_an_agent_names_reads_nothing_that_is_hidden_from_it(way: Way, kind: str) -> None:
    """What is a plan goes into the prompts of agents, and they choose its path."""
    (way.root / "notes.md").write_text("do-not-read-me")
    way.git("config", "remote.origin.url", "https://do-not-read-me@example.org/")
    (way.root / ".git" / "info" / "exclude").write_text("notes.md\n.ralf/\n")
    Path(way.root / "link.md").symlink_to("notes.md")
    way.git("add", "link.md")
    way.git("commit", "-qm", "a link")
    path = {"a file that git does not have": "notes.md", "the settings of git": ".git/config"}.get(kind, "link.md")
    with closing(way.open()) as journal:
        journal.transact(edit(PERSON, NUMBER, artifacts={"plan_document": path}))
        shown = plan_text(way.context(journal), ticket_view(journal, NUMBER, comments=0))
    assert "do-not-read-me" not in (shown or "")


def test_documents_are_those_that_the_machine_names() -> None:
    machine = load_shipped("ticket")
    assert not creates_documents(machine, "triage")
    assert creates_documents(machine, "ralph_research")
    assert is_document(machine, "plan", PLAN)
    assert is_document(machine, "plan", "thoughts/shared/plans/2026-01-31-group-GH-1-greet.md")
    for path in ("README.md", "thoughts/shared/plans/run.sh", "thoughts/shared/plans/x/y.md", f"a/{PLAN}", PLAN[9:]):
        assert not is_document(machine, "plan", path)
    assert not is_document(machine, "research", PLAN)
    attached = ("plans/a.md", "plans/a.sh", "AGENTS.md", ".claude/agents/a.md", "docs/.hidden/a.md")
    assert [one for one in attached if is_document(machine, "plan", one, attached)] == ["plans/a.md"]


@confined
def test_an_agent_of_a_command_is_confined_and_hands_the_ticket_on_over_its_socket(tmp_path: Path, way: Way) -> None:
    outside = tmp_path / "outside"
    tries = f"touch {outside} {way.root}/.git/forged made 2>&1; ls -a {way.root}; {RALPH} ticket list 2>&1"
    hands = {"number": NUMBER, "command": "triage", "to_state": "Research Needed", "reason": "it is unclear"}
    script = tmp_path / "agent.sh"
    script.write_text(f"({tries})\n{sys.executable} -I {calls(tmp_path, 'handoff_ticket', hands)} {RALPH} mcp\n")
    way.settings |= {"agent.sandbox": "bubblewrap", "agent.name": "command", "agent.command": f"sh {script}"}
    way.walk()
    with closing(way.open()) as journal:
        [ticket] = journal.instances("ticket")
        moved = [one for one in journal.history(ticket.id) if one.to_state == "Research Needed"]
        assert [(one.actor_kind, one.channel, one.command) for one in moved] == [("agent", "mcp", "triage")], way.told
    said = next((way.state_directory / "runs").glob("triage-*/output.log")).read_text()
    assert said.count("Read-only file system") == 3, "a command that makes no document may not write"
    assert ".ralf" not in said.split()
    assert "journal_unreachable" in said
    assert not outside.exists()
