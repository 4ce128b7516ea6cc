"""The text of a shell command, read as a shell reads it. Nothing is run, and no file is looked at.

Quotes, escapes, expansions, substitutions, here-documents, functions and loops: every simple command that stands
in a text is found, however deep, once and from left to right.
"""

from __future__ import annotations

import re

from interlock.work.sessions.shell_words import CERTAIN, UNKNOWN, delimiter, escaped, said

__all__ = ["ASSIGNMENT", "KEYWORDS", "UNKNOWN", "Budget", "Exhausted", "ShellReader", "Simple", "UnreadableShell"]

KEYWORDS = frozenset("! coproc do elif else if then until while { }".split())
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")

_MAX_DEPTH = 20
_STEPS = 200_000
"""Steps of work for one tool call, each of about a microsecond: a fraction of a second in all."""
_CHARACTERS = 100
"""Characters that are copied or searched in the time of a step."""
_BREAKS = " \t\r\n;&|<>()"
_PLAIN = re.compile(r"[^ \t\r\n'\"\\$`;&|<>()}]+|\}")
_OPERATOR = re.compile(r"&>>?|<<<|<<-?|<>|<&|>>|>\||>&|[<>]\(|[<>]|\|\||\|&|&&|;;&|;;|;&|[;&|]")
_BY_CUSTOM = {name: name.lower() for name in "CARGO GIT GO MAKE NODE NPM PIP PYTEST PYTHON PYTHON3 RUBY UV".split()}
_BY_CUSTOM["PY"] = "python"
_VARIABLE = re.compile(r"\{?([A-Za-z_][A-Za-z0-9_]*)|[@*#?!$0-9-]")


class UnreadableShell(Exception):
    """A text that no shell would read to its end, or that is nested too deep."""


class Exhausted(Exception):
    """More work than one call is worth: nobody waits for the answer, so what it does cannot be told."""


class Budget:
    """The steps that are left for one call, however deep its texts are nested."""

    __slots__ = ("left",)

    def __init__(self, steps: int = _STEPS) -> None:
        self.left = steps

    def spend(self, steps: int = 1, characters: int = 0) -> None:
        """Pay for work before it is done."""
        self.left -= steps + characters // _CHARACTERS
        if self.left < 0:
            raise Exhausted


class Simple:
    """One command: its words, where its output goes, what text or file it is given, and the operator after it."""

    __slots__ = ("after", "compares", "given", "into", "may_vanish", "read", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.into: list[str] = []
        self.given: list[str] = []
        self.read: list[str] = []
        self.after = ""
        self.may_vanish = False
        """True if its first word is a variable, which may be empty: then the next word is the command."""
        self.compares: bool | None = None
        """True inside of `[[ … ]]`, where operators compare; None as long as only keywords were read."""

    def add(self, word: str) -> None:
        self.words.append(word)
        if self.compares is None and word not in KEYWORDS:
            self.compares = word == "[["
        elif word == "]]":
            self.compares = False


class ShellReader:
    """Reads a text; `found` are its simple commands, and those of the texts inside of it."""

    def __init__(
        self, text: str, above: ShellReader | None = None, budget: Budget | None = None, *, is_inside: bool = True
    ) -> None:
        """Read a text inside of another; it has the variables of that only where the same shell reads it."""
        self.text = text
        self.budget: Budget = above.budget if above else budget or Budget()
        self.budget.spend(1, len(text))
        self.at = 0
        self.found: list[Simple] = above.found if above else []
        self.depth: int = above.depth + 1 if above else 0
        self._values: dict[str, str] = above._values if above and is_inside else {}
        self._names: dict[str, int] = above._names if above and is_inside else _names(text)
        self._now = Simple()
        self._word: list[str] | None = None
        self._waiting: list[tuple[str, bool, bool, Simple]] = []
        if self.depth > _MAX_DEPTH or UNKNOWN in text:
            raise UnreadableShell

    def commands(self, end: str = "") -> None:
        """Read commands up to a closing bracket, or to the end of the text."""
        level = 0
        while self.at < len(self.text):
            self.budget.spend()
            one = self.text[self.at]
            if one == "#" and self._word is None:
                self.at = (self.text.find("\n", self.at) + 1 or len(self.text) + 1) - 1
            elif one in " \t\r\n)":
                self.at += 1
                self._end_word()
                if one == "\n":
                    self._end(one)
                    self._bodies()
                elif one == ")":
                    self._end(one)
                    if level == 0 and end:
                        return
                    level = max(0, level - 1)
            elif one == "(":
                level += self._open()
            elif one in ";&|<>":
                self._operate()
            else:
                self._segment()
        self._end("")
        if end:
            raise UnreadableShell

    def _open(self) -> int:
        """A bracket: arithmetic where two close together, else a group, a function or a list. How many are open."""
        end = self._arithmetic() if self._word is None else -1
        self._end("(")
        self.at = self.at + 1 if end < 0 else end
        return 1 if end < 0 else 0

    def _arithmetic(self) -> int:
        """Where arithmetic ends that begins here; less than nothing where it is none."""
        found = re.compile(r"\(\((?:[^()'\"`$\\]|\$(?!\()|\([^()'\"`$\\]*\))*\)\)").match(self.text, self.at)
        return found.end() if found is not None else -1

    def _operate(self) -> None:
        found = _OPERATOR.match(self.text, self.at)
        assert found is not None  # every character that leads here is an operator by itself
        operator = found.group()
        self.at = found.end()
        if operator in ("<(", ">("):
            self._nested()
            self._add("/dev/fd/63")
        elif self._compares():
            self._add(operator)
        elif operator[0] in "<>" or operator.startswith("&>"):
            if self._word is not None and re.fullmatch(r"\d+|\{\w+\}", "".join(self._word)):
                self._word = None
            self._end_word()
            self._redirect(operator)
        else:
            self._end(operator)

    def _compares(self) -> bool:
        return self._now.compares is True and self._word != ["]]"]

    def _redirect(self, operator: str) -> None:
        if operator in ("<<", "<<-"):
            self._skip_blanks()
            self.at, ends, is_literal = delimiter(self.text, self.at)  # nothing is expanded in it
            self._waiting.append((ends, is_literal, operator == "<<-", self._now))
            return
        target = self._next_word()
        if operator == "<<<":
            self._now.given.append(target)
        elif operator == "<":
            self._now.read.append(target)
        elif operator != "<&" and not (operator == ">&" and re.fullmatch(r"\d+-?|-", target)):
            self._now.into.append(target)

    def _skip_blanks(self) -> None:
        blank = re.compile(r"(?:[ \t\r]|\\\n)*").match(self.text, self.at)
        self.at = blank.end() if blank else self.at

    def _next_word(self) -> str:
        self._skip_blanks()
        self._word = []
        if self.text.startswith(("<(", ">("), self.at):
            self._operate()
        while self.at < len(self.text) and self.text[self.at] not in _BREAKS:
            self._segment()
        found, self._word = "".join(self._word or ()), None
        return found

    def _bodies(self) -> None:
        """The here-documents that were announced in the line before."""
        waiting, self._waiting = self._waiting, []
        for ends, is_literal, has_tabs, command in waiting:
            start = end = self.at
            while self.at < len(self.text):
                self.budget.spend()
                stop = self.text.find("\n", self.at)
                line = self.text[self.at : stop if stop >= 0 else None]
                self.at = stop + 1 if stop >= 0 else len(self.text)
                if (line.lstrip("\t") if has_tabs else line) == ends:
                    break
                end = self.at
            command.given.append(self.text[start:end])
            if not is_literal:
                ShellReader(self.text[start:end], self)._quoted("")

    # Words

    def _segment(self) -> None:
        """The next part of a word: plain, quoted, escaped or put in by the shell."""
        self.budget.spend()
        one, after = self.text[self.at], self.text[self.at + 1 : self.at + 2]
        if one == "'":
            self._add(self._matched(r"'([^']*)'"))
        elif one == '"':
            self.at += 1
            self._add("")
            self._quoted('"')
        elif one == "\\":
            self.at += 2
            if after != "\n":
                self._add(after)
        elif one in "$`":
            self._expand(is_quoted=False)
        else:
            self._add(self._matched(f"({_PLAIN.pattern})"))

    def _quoted(self, end: str) -> None:
        """What stands in double quotes; without an end, a here-document."""
        while self.at < len(self.text):
            self.budget.spend()
            one, after = self.text[self.at], self.text[self.at + 1 : self.at + 2]
            if one == end:
                self.at += 1
                return
            if one == "\\":
                self.at += 2
                self._add("" if after == "\n" else after if after in '$`"\\' else f"\\{after}")
            elif one in "$`":
                self._expand(is_quoted=True)
            else:
                self._add(self._matched(r'([^"\\$`]+|")'))
        if end:
            raise UnreadableShell

    def _expand(self, is_quoted: bool) -> None:
        """What the shell puts in: a variable, or what commands say, which are read as well."""
        if self.text[self.at] == "`":
            inner, first = self._matched(r"`((?:[^`\\]|\\.)*)`"), len(self.found)
            ShellReader(re.sub(r"\\([`$\\])", r"\1", inner), self).commands()
            self._add(said(self.found[first:]))
            return
        self.at += 1
        variable = _VARIABLE.match(self.text, self.at)
        if self.text.startswith("(", self.at):
            end, first = self._arithmetic(), len(self.found)
            self.at = end if end >= 0 else self.at + 1
            if end < 0:
                self._nested()
            self._add(UNKNOWN if end >= 0 else said(self.found[first:]))
        elif self.text.startswith("'", self.at) and not is_quoted:
            self._add(escaped(self._matched(r"'((?:[^'\\]|\\.)*)'")))
        elif self.text.startswith("{", self.at) and not (variable and self.text.startswith("}", variable.end())):
            self._parameter()
        elif variable is not None:
            self.at = variable.end() + (self.text[self.at] == "{")
            self._add(self._value(variable.group(1) or ""))
        elif not self.text.startswith('"', self.at) or is_quoted:
            self._add("$")

    def _value(self, name: str) -> str:
        """What a variable stands for, if that is certain; some name a program by custom, where a command begins."""
        known = {"HOME": "~", "PWD": "."}.get(name) or self._values.get(name)
        if not any(self._word or ()) and all(map(ASSIGNMENT.match, self._now.words)):
            if known is None and name not in self._names:
                known = _BY_CUSTOM.get(name)
            self._now.may_vanish = known is not None
        return UNKNOWN if known is None else known

    def _assign(self, words: list[str]) -> None:
        """Keep the values of variables that the text names only once, apart from where it puts them in."""
        for word in words:
            found = ASSIGNMENT.match(word)
            if found and re.fullmatch(CERTAIN, word[found.end() :]) and self._names.get(found.group(1)) == 1:
                self._values[found.group(1)] = word[found.end() :]

    def _parameter(self) -> None:
        """`${…}` with more than a name in it: read for the commands that stand there."""
        kept, self._word = self._word, None
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != "}":
            if self.text[self.at] in _BREAKS:
                self.at += 1
            else:
                self._segment()
        if self.at >= len(self.text):
            raise UnreadableShell
        self.at += 1
        self._word = kept
        self._add(UNKNOWN)

    def _nested(self) -> None:
        """Commands in brackets, whose output becomes part of a word."""
        kept = self._now, self._word
        self._now, self._word = Simple(), None
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise UnreadableShell
        self.commands(")")
        self.depth -= 1
        self._now, self._word = kept

    def _matched(self, pattern: str) -> str:
        found = re.compile(pattern, re.DOTALL).match(self.text, self.at)
        if found is None:
            raise UnreadableShell
        self.at = found.end()
        return found.group(1)

    def _add(self, part: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(part)

    def _end_word(self) -> None:
        if self._word is not None:
            self._now.add("".join(self._word))
            self._word = None

    def _end(self, operator: str) -> None:
        """A simple command is read."""
        self._end_word()
        now, self._now = self._now, Simple()
        now.after = operator
        if now.words and all(map(ASSIGNMENT.match, now.words)):
            self._assign(now.words)
        if self.depth > 0 and next((word for word in now.words if word not in KEYWORDS), "") == "case":
            raise UnreadableShell  # its brackets close nothing
        if now.words or now.into or now.given or now.read:
            self.found.append(now)
        elif self.found and operator in ("|", "|&", "||", "&&", "&"):
            self.found[-1].after = operator


def _names(text: str) -> dict[str, int]:
    """How often names stand in a text, apart from where their values are put in."""
    found: dict[str, int] = {}
    for name in re.findall(r"(?<![\w$\{])[A-Za-z_]\w*", text):
        found[name] = found.get(name, 0) + 1
    return found
