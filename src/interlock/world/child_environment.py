"""The environment of what Interlock starts: agents, verifiers, prepare and notify commands.

They get nothing that opens the journal or speaks in our name. `world/agents/running` applies it to every one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from interlock.world.journal_address import BY_SESSION, DATABASE_URL, MARK

__all__ = ["child_environment", "complete_address"]

_SECRETS: Final = frozenset(
    {
        DATABASE_URL,
        "NEO4J_PASSWORD",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
        "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
        "RALPH_GITHUB_TOKEN",
        "RALPH_SERVE_TOKEN",
        "RALPH_SLACK_WEBHOOK",
        "RALPH_WEBHOOK_SECRET",
    }
)
_LIBPQ: Final[Mapping[str, str]] = {
    "PGDATABASE": "dbname",
    "PGHOST": "host",
    "PGHOSTADDR": "hostaddr",
    "PGOPTIONS": "options",
    "PGPASSFILE": "passfile",
    "PGPASSWORD": "password",
    "PGPORT": "port",
    "PGSERVICE": "service",
    "PGSSLCERT": "sslcert",
    "PGSSLKEY": "sslkey",
    "PGSSLMODE": "sslmode",
    "PGSSLROOTCERT": "sslrootcert",
    "PGUSER": "user",
}
"""The part of an address that libpq takes from each variable where the address does not give it."""
_WITH: Final[Mapping[str, str]] = {"hostaddr": "host", "passfile": "password"}
"""The parts that count for nothing where another is given."""


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without secrets of ours, and with a mark where the journal is on a server.

    The project's own variables for PostgreSQL stay, unless the journal's connection is made with them.
    """
    url = environment.get(DATABASE_URL)
    left_out = _SECRETS | (_used(url, environment).keys() if url else set())
    kept = {name: value for name, value in environment.items() if name not in left_out}
    return kept | ({MARK: BY_SESSION} if url else {})


def complete_address(url: str, environment: Mapping[str, str]) -> str:
    """Return the address with every part that libpq would take from the environment."""
    used = _used(url, environment)
    # libpq reads a plus sign as a plus sign, and never as a space.
    added = urlencode({_LIBPQ[name]: value for name, value in used.items()}, quote_via=quote)
    return f"{url}{'&' if '?' in url else '?'}{added}" if added else url


def _used(url: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that complete an address."""
    given = _parts(url)
    wanted = [name for name, part in _LIBPQ.items() if part not in given and _WITH.get(part) not in given]
    return {name: environment[name] for name in wanted if environment.get(name)}


def _parts(url: str) -> set[str]:
    """The parts that an address contains."""
    split = urlsplit(url)
    user, _, where = split.netloc.rpartition("@")  # of several hosts, which `urlsplit` does not know
    named = {
        "user": user.partition(":")[0],
        "password": user.partition(":")[2],
        "host": where.partition(":")[0],
        "port": where.rpartition("]")[2].partition(":")[2],
        "dbname": split.path.strip("/"),
    }
    return {part for part, value in named.items() if value} | parse_qs(split.query).keys()
