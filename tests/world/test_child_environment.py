"""What Interlock starts finds nothing in its environment that opens the journal or speaks in our name."""

from __future__ import annotations

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from interlock.world.child_environment import child_environment, complete_address
from interlock.world.commands import How, ShellCommand, run_command
from interlock.world.journal_address import is_withheld, keep_address, kept_address, remove_address

URL = "postgresql://ralph:hunter2@db.example.org/ralph"
SECRETS = {
    "RALPH_DATABASE_URL": URL,
    "RALPH_GITHUB_TOKEN": "ghp_hunter2",
    "RALPH_SERVE_TOKEN": "hunter2",
    "RALPH_SLACK_WEBHOOK": "https://hooks.slack.com/hunter2",
    "RALPH_WEBHOOK_SECRET": "hunter2",
    "NEO4J_PASSWORD": "hunter2",
    "OTEL_EXPORTER_OTLP_HEADERS": "authorization=hunter2",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "authorization=hunter2",
}


class _Never:
    def is_set(self) -> bool:
        return False

    def wait(self, timeout: float | None = None) -> bool:
        return False


def test_secrets_of_ours_reach_no_child_and_the_rest_does() -> None:
    made = child_environment({**SECRETS, "PATH": "/bin", "GH_TOKEN": "theirs", "RALPH_ROOT": "/r"})
    assert made == {"PATH": "/bin", "GH_TOKEN": "theirs", "RALPH_ROOT": "/r", "RALPH_JOURNAL": "session"}
    assert child_environment({"PATH": "/bin"}) == {"PATH": "/bin"}, "without a server there is nothing to withhold"


def test_a_real_command_prints_no_secret(tmp_path: Path) -> None:
    call = ShellCommand("env", tmp_path, tmp_path / "log", {**SECRETS, "PGPASSWORD": "theirs", "PATH": "/bin:/usr/bin"})
    done = run_command(call, lambda happening: None, _Never())
    assert done.how is How.PASSED
    said = (tmp_path / "log").read_text()
    assert "hunter2" not in said
    assert "db.example.org" not in said
    assert "PGPASSWORD=theirs" in said, "a project's own variables stay where they do not open the journal"


@pytest.mark.parametrize(
    ("url", "variables", "withheld"),
    [
        ("postgresql:///", {"PGHOST": "h", "PGUSER": "u", "PGPASSWORD": "p", "PGDATABASE": "d", "PGPORT": "1"}, "all"),
        ("postgresql://h/d", {"PGPASSWORD": "p", "PGPASSFILE": "/f", "PGHOST": "x"}, "PGPASSWORD PGPASSFILE"),
        ("postgresql://u:p@h:1/d", {"PGPASSWORD": "x", "PGPASSFILE": "/f", "PGHOSTADDR": "1.2.3.4"}, ""),
        ("postgresql:///d?host=/run&user=u", {"PGHOST": "x", "PGUSER": "x", "PGPORT": "1"}, "PGPORT"),
        ("postgresql://a:1,b:2/d?service=s", {"PGSERVICE": "x", "PGPORT": "3"}, ""),
    ],
)
def test_variables_that_complete_the_address_are_withheld_and_kept_with_it(
    url: str, variables: dict[str, str], withheld: str
) -> None:
    made = child_environment({**variables, "RALPH_DATABASE_URL": url})
    gone = variables.keys() - made.keys()
    assert gone == (set(variables) if withheld == "all" else set(withheld.split()))
    address = complete_address(url, variables)
    assert address.startswith(url)
    assert all(value in address[len(url) :].replace("%2F", "/") for name, value in variables.items() if name in gone)
    assert (address == url) is not bool(gone)


def test_an_address_has_a_space_as_libpq_reads_it() -> None:
    variables = {"PGPASSWORD": "one two+three", "PGOPTIONS": "-c search_path=own"}
    read = conninfo_to_dict(complete_address("postgresql://ann@db/ralph", variables))
    assert (read["password"], read["options"]) == (variables["PGPASSWORD"], variables["PGOPTIONS"])


def test_an_address_is_kept_for_a_session_and_for_nobody_else(tmp_path: Path) -> None:
    inside = {"HOME": str(tmp_path), "RALPH_JOURNAL": "session", "RALPH_SESSION_ID": "01abc"}
    assert is_withheld(inside)
    assert kept_address(inside) == ""
    keep_address(inside, "01abc", URL)
    assert kept_address(inside) == URL
    [file] = (tmp_path / ".local" / "state" / "interlock" / "sessions").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    for other in ("", "01abd", "../01abc", "/etc/passwd"):
        assert kept_address({**inside, "RALPH_SESSION_ID": other}) == ""
    remove_address(inside, "01abc")
    remove_address(inside, "01abc")
    assert kept_address(inside) == ""
    assert not is_withheld({**inside, "RALPH_DATABASE_URL": URL}), "what a person has set counts"
