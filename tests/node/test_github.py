"""The tests of the board on GitHub once more, with every request and answer held against GitHub's published schema."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interlock.world.github import documents
from node.schema import Schema
from world.github_server import Check
from world.github_state import GitHubState
from world.test_github import *  # noqa: F403 - they are collected here again, and take the fixtures from here

pytestmark = pytest.mark.node


@pytest.fixture(scope="session")
def schema() -> Iterator[Schema]:
    with Schema() as schema:
        yield schema


@pytest.fixture(name="check")
def check_against(schema: Schema) -> Check:
    """What holds the requests against GitHub's schema."""
    return schema


HOME = {"owner": "acme", "repo": "rocket", "projectOwner": "acme", "project": 7}


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"document": documents.HOME.replace("url", "address")}, 'Cannot query field "address" on type "ProjectV2".'),
        ({"variables": {**HOME, "project": "7"}}, "Int cannot represent non-integer value"),
        ({"variables": {}}, 'Variable "$owner" of required type "String!" was not provided.'),
        ({"data": {"repository": {"id": None}}}, "Cannot return null for non-nullable field Repository.id."),
        ({"data": {"repositoryOwner": {"__typename": "Issue"}}}, "is not a possible type"),
    ],
)
def test_what_is_against_the_schema_is_told(request_: dict[str, object], said: str, schema: Schema) -> None:
    data = GitHubState().operations["Home"](HOME)
    sound = {"document": documents.HOME, "operationName": "Home", "variables": HOME, "data": data}
    assert schema(sound)["errors"] == []
    assert said in schema({**sound, **request_})["errors"][0]
