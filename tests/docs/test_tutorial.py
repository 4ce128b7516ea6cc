"""The tutorial, followed to the letter by a reader at a terminal: it ends where it says."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from pathlib import Path

import httpx2
from consoles import surroundings
from documents import DOCS
from readers import follow
from shells import Shell, shell

from faces.programs import SECONDS
from interlock.journal import open_journal


def test_the_tutorial_ends_where_it_says(tmp_path: Path) -> None:
    environment = surroundings(tmp_path)
    environment["PATH"] = environment["PATH"].partition(":")[2]  # the page itself has `ralph` put on it
    clone = tmp_path / "interlock"
    clone.mkdir()
    (clone / ".venv").symlink_to(sys.prefix)  # which `make demo` makes
    with shell(clone, environment) as reader:
        follow(DOCS / "tutorial.md", reader, _look_at_the_dashboard)
    assert reader.directory == tmp_path / "home" / "slugs"
    with closing(open_journal(reader.directory / ".ralf" / "journal.db")) as journal:
        [ticket], [thread] = journal.instances("ticket"), journal.instances("thread")
        assert (ticket.state, ticket.outcome, thread.outcome) == ("Done", "success", "success")
        gates = [one for one in journal.history(thread.id) if one.event in ("finalize", "approve", "commit")]
        assert [(one.actor_kind, one.channel) for one in gates] == [("human", "cli")] * 3
        assert journal.verify() == []


def _look_at_the_dashboard(reader: Shell) -> None:
    """Open the address that the page tells its reader to open."""
    reader.see(re.compile(r"To act from a browser: .*\n"))
    address = reader.see(re.compile(r"Serving (http://\S+)"))[1]
    url = address.partition("/?")[0]
    with httpx2.Client(base_url=url, headers={"accept": "text/html"}, verify=False, timeout=SECONDS) as browser:
        assert 'href="/board"' in browser.get(address, follow_redirects=True).raise_for_status().text
        assert "Keep accented letters" in browser.get("/board").raise_for_status().text
