"""`ralph serve` in a terminal of its own, the person who reads it, and a browser without script: cookies and forms."""

from __future__ import annotations

import codecs
import html
import json
import os
import pty
import re
import signal
import termios
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import msgspec

from faces.programs import AUTHORIZED, SECONDS, Process, begun

__all__ = ["Browser", "Terminal", "in_terminal"]

CODE = r"[2-9B-Z]{4}-[2-9B-Z]{4}"


class Terminal(msgspec.Struct):
    """A server in a terminal, and all that it shows there."""

    process: Process
    descriptor: int
    repository: Path
    device: str
    screen: str = ""
    browsers: list[Browser] = msgspec.field(default_factory=list)
    is_over: bool = False
    _changed: threading.Condition = msgspec.field(default_factory=threading.Condition)

    def read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may come in two chunks
        while True:
            try:
                chunk = os.read(self.descriptor, 65536)
            except OSError:
                chunk = b""
            with self._changed:
                self.screen = (self.screen + decoder.decode(chunk)).replace("\r\n", "\n")
                self.is_over = not chunk
                self._changed.notify_all()
            if not chunk:
                return

    def seen(self, pattern: str, after: int = 0) -> re.Match[str]:
        """What the terminal shows, waited for, but not forever."""
        deadline = time.monotonic() + SECONDS
        with self._changed:
            while not (found := re.compile(pattern).search(self.screen, after)):
                assert self._changed.wait(deadline - time.monotonic()), self.screen
            return found

    def answer(self, question: str, text: str) -> None:
        """Type something each time that a question appears, until the terminal is gone."""
        threading.Thread(target=self._answer, args=(question, text), daemon=True).start()

    def _answer(self, question: str, text: str) -> None:
        after = 0
        while True:
            with self._changed:
                while not (found := re.compile(question).search(self.screen, after)):
                    if self.is_over:
                        return
                    self._changed.wait()
            after = found.end()
            self.type(text)

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    @property
    def url(self) -> str:
        return self.seen(r"Serving (http://\S+),")[1]

    def login_code(self, after: int = 0) -> str:
        return self.seen(rf"/login and type, once, within ten minutes: ({CODE})\n", after)[1]

    def login_codes(self, count: int) -> list[str]:
        """All of so many codes, once they are printed."""
        printed = rf"type, once, within ten minutes: ({CODE})\n"
        self.seen(rf"(?s)(?:{printed}.*?){{{count}}}")
        return re.findall(printed, self.screen)

    def gate_code(self, event: str, after: int = 0) -> str:
        return self.seen(rf"To {event}, type this code into the page, once, within ten minutes: ({CODE})\n", after)[1]

    def browser(self) -> Browser:
        """A new browser, closed with the terminal."""
        self.browsers.append(Browser(self.url))
        return self.browsers[-1]

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(SECONDS)


@contextmanager
def in_terminal(repository: Path, env: Mapping[str, str], *words: str) -> Iterator[Terminal]:
    """`ralph serve` as a person starts it, gone afterwards."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, 200))
    typed = {**env, "TERM": "xterm-256color"}
    process = begun("serve", "--port", "0", *words, cwd=repository, env=typed, terminal=theirs)
    device = os.ttyname(theirs)
    os.close(theirs)
    terminal = Terminal(process, ours, repository, device)
    reader = threading.Thread(target=terminal.read, daemon=True)
    reader.start()
    try:
        yield terminal
    finally:
        for one in terminal.browsers:
            one.http.close()
        process.kill()
        process.wait(SECONDS)
        reader.join(SECONDS)
        os.close(ours)


class _Forms(HTMLParser):
    """The forms of a page: where each leads, and what it says if nothing is typed."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((given.get("action", ""), {}))
        elif tag == "input" and self.forms and "name" in given:
            self.forms[-1][1][given["name"]] = given.get("value", "")

    def handle_data(self, data: str) -> None:
        self.text += data


class Browser:
    """A browser without script, which sends what Chromium sends with a form."""

    def __init__(self, url: str) -> None:
        self.http = httpx2.Client(
            base_url=url, headers=AUTHORIZED, verify=False, timeout=SECONDS, follow_redirects=True
        )
        self.url = url
        self.page = ""
        self.status = 0

    def get(self, path: str) -> str:
        return self._took(self.http.get(path, headers={"accept": "text/html"}))

    def post(self, path: str, **fields: str) -> str:
        headers = {"origin": self.url, "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate"}
        return self._took(self.http.post(path, data=fields, headers=headers))

    def _took(self, answer: httpx2.Response) -> str:
        self.page, self.status, self.where = answer.text, answer.status_code, answer.url.path
        return self.text

    @property
    def text(self) -> str:
        found = _Forms()
        found.feed(self.page)
        return found.text

    def form(self, action: str, **wanted: str) -> dict[str, str]:
        """The fields of a form of the page."""
        found = _Forms()
        found.feed(self.page)
        fits = [fields for where, fields in found.forms if where == action and wanted.items() <= fields.items()]
        assert fits, found.forms
        return fits[0]

    def told(self) -> str:
        """What the last move came to, as the page says that it led to, or else the next one."""
        if 'id="told"' not in self.page:
            self.get("/login")
        found = re.search(r'id="told">(.*?)</div>', self.page, re.DOTALL)
        return "" if found is None else html.unescape(re.sub(r"<[^>]+>", " ", found[1])).strip()

    def reached(self, instance: str, state: str, after: int = 0) -> int:
        """Wait until an instance is in a state, as the stream of entries tells it; the number of that entry."""
        deadline = time.monotonic() + SECONDS
        seen: list[tuple[str, str]] = []
        with self.http.stream("GET", f"/events?instance={instance}&after={after}") as stream:
            for line in stream.iter_lines():
                assert time.monotonic() < deadline, (seen, self.told())
                if line.startswith("data: "):
                    entry = json.loads(line.removeprefix("data: "))
                    seen.append((entry["event"], entry["to_state"]))
                    if entry["to_state"] == state and entry["from_state"] != state:
                        return int(entry["seq"])
        raise AssertionError("the stream ended")

    def next_instance(self, after: int) -> str:
        """The instance of the next entry, waited for."""
        with self.http.stream("GET", f"/events?after={after}") as stream:
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    return str(json.loads(line.removeprefix("data: "))["instance"])
        raise AssertionError("the stream ended")

    def log_in(self, terminal: Terminal) -> None:
        self.get("/login")
        self.form("/login", code="")
        self.post("/login", code=terminal.login_code())
        assert self.status == 200, self.text

    def gate(self, terminal: Terminal, thread: str, event: str, code: str | None = None, **fields: str) -> str:
        """Pass a gate as a person does it: ask for the code, read it on the terminal, type it."""
        after = len(terminal.screen)
        self.post(f"/thread/{thread}/act", event=event)
        assert self.where == f"/thread/{thread}/gate/{event}", self.text
        form = {**self.form(f"/thread/{thread}/act", code=""), **fields}
        printed = terminal.gate_code(event, after)  # also where another is typed: the next one is printed after it
        return self.post(f"/thread/{thread}/act", **{**form, "code": code or printed})
