"""PURE. Prometheus' text exposition format, version 0.0.4: families of samples, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

__all__ = ["CONTENT_TYPE", "Labels", "by", "family", "sample", "single", "text"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]


def text(lines: Iterable[str]) -> str:
    """All lines as what a server scrapes."""
    return "".join(f"{line}\n" for line in lines)


def family(name: str, type_: str, said: str, samples: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    """What a metric is, and its samples."""
    yield f"# HELP {name} {_escaped(said)}"
    yield f"# TYPE {name} {type_}"
    for labels, value in samples:
        yield sample(name, labels, value)


def single(name: str, type_: str, said: str, value: float) -> Iterator[str]:
    """A metric without labels."""
    yield from family(name, type_, said, [({}, value)])


def by(label: str, values: Mapping[str, float]) -> list[tuple[Labels, float]]:
    """Samples that one label tells apart."""
    return [({label: name}, value) for name, value in values.items()]


def sample(name: str, labels: Labels, value: float) -> str:
    """One line."""
    pairs = ",".join(f'{label}="{_quoted(given)}"' for label, given in labels.items())
    return f"{name}{{{pairs}}} {value!r}" if pairs else f"{name} {value!r}"


def _escaped(given: str) -> str:
    return given.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(given: str) -> str:
    return _escaped(given).replace('"', '\\"')
