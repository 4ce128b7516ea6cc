"""Variables of the environment by which a program is told to run something, or to write a file."""

from __future__ import annotations

import re

__all__ = ["variable_does"]

_VARIABLES = (
    r"(?P<command>GIT_(?:ASKPASS|\w*EDITOR|EXTERNAL_DIFF|PAGER|SSH|\w+_COMMAND)|LESSOPEN|LESSCLOSE|PAGER|MANPAGER|EDITOR|"
    r"VISUAL|BROWSER|SSH_ASKPASS|SUDO_ASKPASS|PROMPT_COMMAND|PS[0-4])=."
    r"|(?P<file>GIT_TRACE\w*|LD_DEBUG_OUTPUT|MALLOC_TRACE|GIT_REDIRECT_STD(?:OUT|ERR))=[^0-9A-Za-z]"
    r"|(?P<directory>GIT_WORK_TREE)="
    r"|(?P<setting>GIT_CONFIG_KEY_\d+)="
    r"|(?P<option>PERL5OPT|RUBYOPT|NODE_OPTIONS|MAKEFLAGS|GNUMAKEFLAGS|JAVA_TOOL_OPTIONS)="
    r"|(?P<other>GIT_(?:ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|CONFIG(?:_GLOBAL|_SYSTEM)?(?==(?!/dev/null))|"
    r"CONFIG_PARAMETERS|EXEC_PATH|INDEX_FILE|OBJECT_DIRECTORY|TEMPLATE_DIR)|BASH_ENV|SHELLOPTS|BASHOPTS|"
    r"LD_(?:PRELOAD|AUDIT)|DYLD_INSERT_LIBRARIES|GCONV_PATH|PYTHONSTARTUP|PYTHONHOME|PERL5DB|TAR_OPTIONS|"
    r"RIPGREP_CONFIG_PATH|GREP_OPTIONS)=."
)
"""Variables that name a program or a file, or have options in them."""
_OPTION_RUNS = (
    r"(?:^|\s)(?:--(?:require|import|loader|experimental-loader|eval|env-file)|-(?:javaagent|agent)|-[rMmeEdI](?!a))"
)


def variable_does(word: str) -> tuple[str, str]:
    """What an assignment has a program do (`command`, `file`, `directory` or `other`; or nothing), and its value."""
    if "=" not in word or not word[0].isupper():
        return "", ""
    found = re.match(_VARIABLES, word)
    kind, value = (found.lastgroup or "", word.partition("=")[2]) if found else ("", "")
    if kind == "option":
        return ("other", value) if re.search(_OPTION_RUNS, value) else ("", value)
    if kind == "setting":
        from interlock.work.sessions.git_calls import can_run

        return ("other", value) if can_run(value) else ("", value)
    return kind, value
