"""The marker with which a test says which requirement of a seed it holds."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "requirement(id): the requirement in requirements.toml that the test holds")
