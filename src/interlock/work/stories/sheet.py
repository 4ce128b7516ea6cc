"""PURE. `progress.txt` from one step to the next: a change of it costs as much as changes, however many stories.

What a text says is known while it is the same. It is cut before each story. What is written is then written in a text
with only those stories that change, by the same code that writes a whole one, and put in their places.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from interlock.work.stories.progress import Progress, StoryProgress, progress_of, written
from interlock.work.stories.simple import read
from interlock.work.stories.yaml_tree import Items, YamlMapping

__all__ = ["Sheet"]


class _Cut(msgspec.Struct, frozen=True):
    """A text, cut: what comes before the first story, each story with what follows it, and what comes after."""

    head: str
    stories: tuple[str, ...]
    tail: str
    keys: tuple[str, ...]


class Sheet(msgspec.Struct):
    """The text that was read or written last."""

    _text: str | None = None
    _says: Progress = msgspec.field(default_factory=Progress)
    """What that text says."""
    _meant: Progress = msgspec.field(default_factory=Progress)
    """What it was written for: a text shows less of a story than is known."""
    _cut: _Cut | None = None

    def parse(self, text: str) -> Progress:
        """What a text says, or `progress_invalid` with the line that is wrong."""
        if text != self._text:
            document = read(text)
            says = progress_of(document)
            self._text, self._says, self._meant, self._cut = text, says, says, _cut(text, document)
        return self._says

    def written(self, text: str, progress: Progress) -> str:
        """What `written` gives."""
        if text == self._text and progress == self._meant:
            return text
        before = self.parse(text)
        changed = self._changed(progress.stories)
        made = None if changed is None or self._cut is None else self._amended(self._cut, before, progress, changed)
        if made is None:
            made = written(text, progress)
            self.parse(made)
        self._meant = progress
        return made

    def _changed(self, stories: Sequence[StoryProgress]) -> list[int] | None:
        """The places of the stories that differ; None where others are there, or in another order."""
        before = self._meant.stories
        if len(stories) != len(before) or not stories:
            return None
        pairs = enumerate(zip(before, stories, strict=True))
        changed = [place for place, (old, new) in pairs if old is not new and old != new]
        return None if any(before[place].id != stories[place].id for place in changed) else changed or [0]

    def _amended(self, cut: _Cut, before: Progress, progress: Progress, changed: Sequence[int]) -> str | None:
        """The text with these stories changed; None where the whole of it must be looked at."""
        part = cut.head + "".join(cut.stories[place] for place in changed) + cut.tail
        made = written(part, replace(progress, stories=tuple(progress.stories[place] for place in changed)))
        document = read(made)
        new = _cut(made, document)
        if new is None or len(new.stories) != len(changed) or new.keys != cut.keys:
            return None
        pieces, stories, says = list(cut.stories), list(before.stories), progress_of(document)
        for place, piece, story in zip(changed, new.stories, says.stories, strict=True):
            pieces[place], stories[place] = piece, story
        self._cut = _Cut(new.head, tuple(pieces), new.tail, new.keys)
        self._says = replace(says, stories=tuple(stories))
        self._text = new.head + "".join(pieces) + new.tail
        return self._text


def _cut(text: str, document: YamlMapping) -> _Cut | None:
    """A text cut before each story; None where its stories do not stand one below the other, each from its line on."""
    stories = document.get("stories")
    if document.flow or not isinstance(stories, Items) or stories.flow or not text.endswith("\n"):
        return None
    begins = [text.rfind("\n", 0, one.start) + 1 for one in stories.items]
    if not begins or any(text[at : one.start].strip() != "-" for at, one in zip(begins, stories.items, strict=True)):
        return None
    keys = tuple(document.entries)
    after = keys[keys.index("stories") + 1 :]
    end = document.entries[after[0]].key.start if after else len(text)
    ends = [*begins[1:], end]
    pieces = tuple(text[start:stop] for start, stop in zip(begins, ends, strict=True))
    return _Cut(text[: begins[0]], pieces, text[end:], keys)
