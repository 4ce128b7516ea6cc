"""Scripts of sed, programs of awk and statements of SQLite: which of them write or run something.

What cannot be read counts as writing.
"""

from __future__ import annotations

import re

__all__ = ["MOST_SCRIPT", "awk_runs", "awk_writes", "sed_writes", "sql_writes"]

MOST_SCRIPT = 8_000
_ADDRESS = re.compile(r"[ \t]*(?:\d+(?:~\d+)?|\$|\+\d+|~\d+|/(?:\\.|\[\^?\]?[^\]\n]*\]|[^/\\\n])*+/[IM]*)?[ \t]*,?")
_NOWHERE = re.compile(r"[ \t]*/dev/std(?:out|err)[ \t]*(?:\n|$)")


def sed_writes(script: str) -> bool:
    """True if a script of sed writes a file or runs a command, or cannot be read."""
    if len(script) > MOST_SCRIPT:
        return True
    at = 0
    while at < len(script):
        blank = re.compile(r"(?:[\s;{}!]|#[^\n]*)+").match(script, at)
        if blank is not None:
            at = blank.end()
            continue
        address = _ADDRESS.match(script, at)
        if address is not None and address.end() > at:
            at = address.end()
            continue
        end = _sed_command(script, at)
        if end is None:
            return True
        at = end
    return False


def _sed_command(script: str, at: int) -> int | None:
    """The end of a command of sed that only looks; None for one that does not."""
    one = script[at]
    if one == "\\":  # an address with a delimiter of its own
        return _sed_delimited(script, at + 1, 1)
    if one in "sy":
        end = _sed_delimited(script, at + 1, 2, one == "s")
        if end is None or one == "y":
            return end
        flags = re.compile(r"[gpiImM0-9]*").match(script, end)
        end = flags.end() if flags else end
        if script[end : end + 1] == "w":
            nowhere = _NOWHERE.match(script, end + 1)
            return nowhere.end() if nowhere else None
        return None if script[end : end + 1] == "e" else end
    if one in "wW":
        nowhere = _NOWHERE.match(script, at + 1)
        return nowhere.end() if nowhere else None
    if one in "aic":
        text = re.compile(r"(?:\\[\s\S]|[^\\\n])*").match(script, at + 1)
        return text.end() if text else None
    if one in "rRbtT:v":
        line = re.compile(r"[^\n;]*" if one in "btT:v" else r"[^\n]*").match(script, at + 1)
        return line.end() if line else None
    if one in "dDgGhHnNpPxz=FqQlL":
        number = re.compile(r"[ \t]*\d*").match(script, at + 1)
        return number.end() if number else None
    return None


def _sed_delimited(script: str, at: int, parts: int, is_pattern: bool = True) -> int | None:
    """Past the parts of a text that its first character delimits."""
    delimiter = script[at : at + 1]
    if not delimiter or delimiter in "\\\n":
        return None
    plain = rf"(?:\\[\s\S]|BRACKETS[^\\{re.escape(delimiter)}])*+{re.escape(delimiter)}"
    at += 1
    for index in range(parts):
        # Only in a pattern, brackets keep the delimiter from ending it.
        brackets = r"\[\^?\]?[^\]\n]*\]|" if index == 0 and is_pattern else ""
        found = re.compile(plain.replace("BRACKETS", brackets)).match(script, at)
        if found is None:
            return None
        at = found.end()
    return at


_AWK_TOKENS = re.compile(
    r'"(?:[^"\\\n]|\\[\s\S])*+"|\\[\s\S]|(?<=[\s({,;!~&|])/(?:[^/\\\n]|\\.)*+/|^/(?:[^/\\\n]|\\.)*+/|#[^\n]*'
)
_AWK_RUN = re.compile(r'\bsystem\s*\(\s*"(\d+)"\s*\)|"(\d+)"\s*\|&?\s*getline|\|&?\s*"(\d+)"')


def awk_runs(program: str) -> list[str] | None:
    """The commands that a program of awk runs; None if they are not known from its text."""
    bare, texts = _awk_bare(program)
    found = [texts[int("".join(one))] for one in _AWK_RUN.findall(bare)]
    rest = _AWK_RUN.sub(" ", bare)
    is_known = len(program) <= MOST_SCRIPT and not any("\\" in one for one in found)
    return found if is_known and not re.search(r"\bsystem\b|@|(?<!\|)\|(?!\|)", rest) else None


def awk_writes(program: str) -> bool:
    """True if a program of awk writes a file, or may."""
    bare, texts = _awk_bare(program)
    for one in re.split(r"[;}\n]", bare):
        into = re.search(r'>>?\s*(?:"(\d+)")?', one.partition("print")[2])
        if into and not (into.group(1) and texts[int(into.group(1))] in ("/dev/stdout", "/dev/stderr")):
            return True
    return False


def _awk_bare(program: str) -> tuple[str, list[str]]:
    """A program without comments and patterns, with numbers instead of its texts; and the texts."""
    texts: list[str] = []

    def number(found: re.Match[str]) -> str:
        text = found.group()
        if text[0] == '"':
            texts.append(text[1:-1])
            return f'"{len(texts) - 1}"'
        # What looks like a pattern may be what stands between two divisions.
        return text if text[0] == "/" and re.search(r"print|system|getline|\|", text) else " "

    return _AWK_TOKENS.sub(number, program[:MOST_SCRIPT]), texts


_SQL_WRITES = re.compile(
    r"(?i)\b(?:insert|update|delete|replace|create|drop|alter|attach|detach|vacuum|reindex|begin|commit|writefile|edit|"
    r"load_extension|fts3_tokenizer|copy|into)\b"
)
_SQL_LOOKS = re.compile(
    r"(?i)\s*(?:select|with|values|explain|pragma\s+(?:\w+\.)?(?:table_x?info|table_list|index_list|index_info|"
    r"foreign_key_list|foreign_key_check|database_list|integrity_check|quick_check|user_version|schema_version|"
    r"compile_options|page_count|page_size|encoding)\b(?!\s*=))"
)
_DOT_LOOKS = re.compile(
    r"\.(?:schema|tables|dump|databases|indexes|indices|fullschema|headers?|mode|width|timer|stats|show|separator|print|"
    r"nullvalue|echo|bail|changes|explain|eqp|help|version|quit|exit|dbinfo|sha3sum|timeout|parameter\s+list)\b[^|]*"
)


def sql_writes(text: str) -> bool:
    """True unless all that SQLite is told only looks."""
    if len(text) > MOST_SCRIPT:
        return True
    bare = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*[\s\S]*?\*/", " x ", text)
    for statement in re.sub(r"(?m)^\s*(\..*)$", r";\1;", bare).split(";"):
        one = statement.strip()
        looks = _DOT_LOOKS.fullmatch(one) if one[:1] == "." else _SQL_LOOKS.match(one) and not _SQL_WRITES.search(one)
        if one and not looks:
            return True
    return False
