"""Code that stands in a command: does its text show that it only computes and prints?

The names in it are looked at, not its meaning. What imports no module that writes, and has no name by which something
is written, started, or looked up by a text, passes, like a script of which only the name is known. All else may write.
"""

from __future__ import annotations

import re

__all__ = ["MOST_CODE", "may_write"]

MOST_CODE = 8_000
_PYTHON = frozenset("python pypy ipython".split())
_NODE = frozenset("node nodejs bun".split())

_PYTHON_TOKENS = (
    r"(?s)(?P<prefix>[fFrRbBuUtT]{0,2})(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")|#[^\n]*"
)
_NODE_TOKENS = r"(?s)(?P<prefix>)(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")|//[^\n]*|/\*.*?\*/"
_MODULES = frozenset(
    "__future__ abc argparse array ast asyncio base64 bisect calendar cmath collections colorsys contextlib copy csv "
    "dataclasses datetime decimal difflib enum fnmatch fractions functools glob graphlib hashlib heapq hmac html "
    "importlib inspect io ipaddress itertools json keyword locale math mimetypes numbers os pathlib pkgutil platform "
    "pprint random re secrets shlex site statistics string struct sys sysconfig textwrap time token tokenize tomllib "
    "traceback types typing unicodedata urllib uuid warnings weakref xml zlib zoneinfo".split()
)
"""Modules of Python's library that write only by the names below."""
_NODE_MODULES = frozenset("child_process cluster inspector module net repl sqlite vm worker_threads".split())
"""Modules of Node.js that start or evaluate something."""
_NAMES = re.compile(
    r"(?:write|save|append_?file|copy_?(?:file|tree|2)|rm|mk|exec|spawn|popen|fork|extract|symlink|hardlink|chmod|chown|"
    r"f?truncate|utime|unlink|install|system|tofile|create_?(?:write|subprocess)|output_?file|ensure_?(?:dir|file|link)|"
    r"urlretrieve|pwrite|sendfile|posix)\w*"
    r"|\w*(?:rmtree|subprocess|child_process)\w*"
    r"|to_(?:csv|excel|feather|hdf|html|json|latex|markdown|orc|parquet|pickle|sql|stata|xml)"
    r"|f_(?:builtins|globals|locals)|__(?!(?:all|annotations|class|code|defaults|doc|file|init|len|main|module|mro|name|"
    r"path|qualname|repr|signature|slots|spec|str|version|wrapped)__)\w*__"
    r"|_getframe|attrgetter|basicconfig|binding|breakpoint|builtins|call_command|cffi|compile|connect|constructor|copy2|"
    r"cp|cpsync|ctypes|dbm|delattr|dlopen|dump|eval|execa|filehandler|fileinput|fileio|function|getattr|globals|"
    r"globalthis|help|input|kill|link|link_to|linksync|locals|marshal|memmap|methodcaller|modules|move|movesync|nt|patch|"
    r"pickle|pty|putenv|reflect|remove|removedirs|removesync|rename|renames|renamesync|rimraf|runpy|setattr|shelve|"
    r"shutil|startfile|tarfile|tempfile|touch|vars|worker|zipfile",
    re.IGNORECASE,
)
"""Names with which something is written or started, or looked up by a text."""
_OF_OS = frozenset(
    "access cpu_count curdir environ fspath get_terminal_size getcwd getenv getpid getppid getuid linesep listdir "
    "lstat name path pathsep readlink scandir sep stat uname walk".split()
)
_OF_FS = frozenset(
    "access accessSync constants existsSync lstatSync readFile readFileSync readdirSync readlinkSync realpathSync stat "
    "statSync".split()
)
_STANDARD = re.compile(r"\b(?:sys|process)\s*\.\s*std(?:out|err)\s*\.\s*write\b")
_ONLY_READS = re.compile(
    r"\(\s*[^(),*=]*(?:\([^()]*\)[^(),*=]*)?(?:,\s*(?:mode\s*=\s*)?R\s*)?(?:,\s*(?:encoding|errors)\s*=\s*\w+\s*)*\)"
)
"""The arguments of an `open` that only reads."""


def may_write(program: str, code: str) -> bool:
    """True unless code in the language of a program shows that it writes nothing itself."""
    if len(code) > MOST_CODE or not code.strip():
        return True
    if program in _PYTHON:
        return _python_may_write(code)
    return program not in _NODE or _node_may_write(code)


def _bare(code: str, tokens: str) -> str:
    """The code without comments, and with a letter for each text: R and W for modes of files, S for all others."""

    def letter(found: re.Match[str]) -> str:
        text, prefix = found.group(), found.group("prefix")
        if prefix is None or text[:1] == "/":
            return ""
        if "f" in prefix.lower() or "t" in prefix.lower():
            # A text that is cut into pieces by the quotes in its own code stays unreadable.
            inside = " ".join(re.findall(r"\{([^{}]*)\}", text))
            return f" S {re.sub(tokens, letter, inside)} " if text.count("{") == text.count("}") else "'"
        content = text[len(prefix) :].strip("'\"")
        return "R" if re.fullmatch(r"r[bt]?", content) else "W" if re.fullmatch(r"[rwxabt+]{1,3}", content) else "S"

    return _STANDARD.sub("print", re.sub(tokens, letter, code))


def _python_may_write(code: str) -> bool:
    bare = _bare(code, _PYTHON_TOKENS)
    loaded = re.findall(r"import_module\(\s*(['\"])([\w.]+)\1\s*\)", code)
    if re.search(r"['\"\\]|\.\s*os\b", bare) or len(loaded) != bare.count("import_module"):
        return True
    brought = re.findall(r"(?m)(?:^|[;:])\s*from\s+([\w.]+)\s+import\s+\(?([^;\n)]+)", bare)
    whole = ",".join(re.findall(r"(?m)(?:^|[;:])\s*import\s+([^;\n]+)", bare)).split(",")
    modules = [*(one.split()[0] for one in whole if one.strip()), *(name for name, _ in brought)]
    modules += [name for _, name in loaded]
    if any(map(_is_unsafe, modules)) or any("*" in names or "os" in names.split() for _, names in brought):
        return True
    if any(name == "os" and not set(re.findall(r"\w+", names)) <= _OF_OS for name, names in brought):
        return True
    rest = re.sub(r"(?m)((?:^|[;:])\s*)(?:from\s+os\s+)?import\s+[^;\n]+", r"\1", bare)
    if "os as" in " ".join(bare.split()) or not set(re.findall(r"(?<![\w.])os\b(?:\s*\.\s*(\w+))?", rest)) <= _OF_OS:
        return True
    return _has_writing_name(rest) or re.search(r"[\])]\s*\(", rest) is not None


def _is_unsafe(module: str) -> bool:
    """True if a module belongs to Python's library, and is not known to write nothing."""
    from sys import stdlib_module_names

    top = module.partition(".")[0]
    return top in stdlib_module_names and top not in _MODULES


def _node_may_write(code: str) -> bool:
    bare = _bare(code, _NODE_TOKENS)
    required = re.findall(r"\brequire(?:\.resolve)?\(\s*(['\"])([^'\"\\]+)\1\s*\)", code)
    if re.search(r"['\"\\/]|\bimport\b|\bBun\b", bare) or len(required) != len(re.findall(r"\brequire\b", bare)):
        return True
    names = {name.removeprefix("node:").partition("/")[0] for _, name in required}
    if not names.isdisjoint(_NODE_MODULES):
        return True
    if "fs" in names:
        used = re.findall(r"(?:\bfs|require\([SRW]\))\s*\.\s*(\w+)", bare)
        taken = re.findall(r"(\{[^{}=]*\}|\w+)\s*=\s*require\([SRW]\)(?!\s*\.)", bare)
        if any(one not in _OF_FS for one in used) or re.search(r"\bfs\b(?!\s*[.=])", bare):
            return True
        if any(one != "fs" and not set(re.findall(r"\w+", one)) <= _OF_FS for one in taken):
            return True
    return _has_writing_name(bare) or re.search(r"\]\s*(?:\?\.)?\s*\(", bare) is not None


def _has_writing_name(bare: str) -> bool:
    """True if a name says that something is written. A `replace` with two arguments is that of a text."""
    if not bare.isascii() or any(map(_NAMES.fullmatch, re.findall(r"[A-Za-z_]\w*", bare))):
        return True
    for found in re.finditer(r"(\.\s*)?\bopen(?:Sync)?\b", bare):
        arguments = _ONLY_READS.match(bare, found.end())
        if arguments is None or "W" in arguments.group():
            return True
        if found.group(1) and not re.match(r"\(\s*[SR]?\s*[,)]", arguments.group()):
            return True
    return any(not re.match(r"\([^(),]*,", bare[one.end() :]) for one in re.finditer(r"\.\s*replace\b", bare))
