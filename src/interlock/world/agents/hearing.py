"""What a run prints, taken in: lines for the reader, text for the log, happenings for whoever watches."""

from __future__ import annotations

import codecs
from collections.abc import Callable

from interlock.world.agents.account import Account
from interlock.world.agents.agent import Reader, Reply
from interlock.world.agents.happenings import Finished, Happening, Warned, without_secrets
from interlock.world.agents.lines import LONGEST, Lines
from interlock.world.agents.pipes import Pipes, Stream
from interlock.world.agents.transcript import Stretch, Transcript

__all__ = ["Hearing"]


class Hearing:
    """Takes in the streams of one run."""

    def __init__(
        self,
        reader: Reader,
        account: Account,
        transcript: Transcript,
        pipes: Pipes,
        on: Callable[[Happening], None],
        longest: int = LONGEST,
    ) -> None:
        self._reader = reader
        self._account = account
        self._transcript = transcript
        self._pipes = pipes
        self._on = on
        self._streams = {Stream.OUT: _Heard(longest), Stream.ERR: _Heard(longest)}
        self._longest = longest
        self._warned: set[str] = set()
        self.size = 0
        """How many bytes were heard."""

    def take(self, stream: Stream, data: bytes) -> None:
        """What came on a stream."""
        heard = self._streams[stream]
        self.size += len(data)
        self._log(heard, data)
        for line in heard.lines.feed(data):
            self._line(stream, line)
        if heard.lines.cut:
            self._warn(f"A line of more than {self._longest} bytes was cut; all of it is in the log alone.")

    def end(self, exit_code: int | None) -> None:
        """What was printed last, and what the reader only knows now."""
        for stream, heard in self._streams.items():
            for line in heard.lines.end():
                self._line(stream, line)
            self._log(heard, b"", final=True)
        for happening in self._reader.end(exit_code):
            self._tell(happening)

    def _log(self, heard: _Heard, data: bytes, *, final: bool = False) -> None:
        if not self._transcript.is_full:
            self._transcript.write(heard.text(data, final=final))
        if self._transcript.trouble:
            self._warn(self._transcript.trouble)

    def _line(self, stream: Stream, line: bytes) -> None:
        if stream is Stream.ERR:
            self._account.complained(line)
            return
        self._account.printed(line)
        for happening in self._reader.read(line):
            if isinstance(happening, Reply):
                self._pipes.send(happening.data)
            else:
                self._tell(happening)

    def _tell(self, happening: Happening) -> None:
        told = without_secrets(happening)
        self._account.take(told)
        if isinstance(told, Finished):
            self._pipes.close_input()
        self._on(told)

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._tell(Warned(text))


class _Heard:
    """One stream: as lines, and as text without secrets."""

    def __init__(self, longest: int) -> None:
        self.lines = Lines(longest)
        self._stretch = Stretch()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def text(self, data: bytes, *, final: bool = False) -> str:
        shown = self._stretch.feed(self._decoder.decode(data, final))
        return shown + self._stretch.end() if final else shown
