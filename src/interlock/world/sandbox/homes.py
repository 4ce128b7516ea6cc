"""The private directories of each agent, and what of the person's they begin with.

An agent gets directories of its own for what it keeps about itself. What it changes there is gone after the run, so it
leaves no hook, server or plugin for the next one. Its logins are put in their places by `logins`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from interlock.world.sandbox import login_files
from interlock.world.sandbox.login_files import LoginFile

__all__ = ["HOMES", "OTHER", "AgentHome", "PrivateDirectory", "agent_home", "logins"]


class PrivateDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """A writable directory for one run that begins with copies from one of the person's.

    A name that is too large to copy is shown read-only by a link.
    """

    name: str
    """The name of the directory inside; empty where no variable moves it, so that it covers the person's."""
    variable: str = ""
    """The variable that names it."""
    source: str
    """The person's directory below their home, unless the variable names another."""
    copied: tuple[str, ...] = ()
    """The names in it that are copied, files and directories."""
    besides: tuple[tuple[str, str], ...] = ()
    """Files below the home that are copied if the variable is not set, each with its name in the directory."""
    logins: tuple[LoginFile, ...] = ()
    """The files in it that hold a login."""
    is_linked: bool = False
    """True if everything else in it is shown read-only by links."""

    @property
    def is_filled(self) -> bool:
        """True if anything of the person's directory is needed."""
        return bool(self.copied or self.logins or self.is_linked)

    def source_in(self, home: Path, environment: Mapping[str, str]) -> Path:
        """Return the person's own directory."""
        return Path(environment[self.variable]) if self._is_moved(environment) else home / self.source

    def files_in(self, home: Path, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the files from elsewhere, by their names in the directory."""
        return {} if self._is_moved(environment) else {name: str(home / path) for path, name in self.besides}

    def _is_moved(self, environment: Mapping[str, str]) -> bool:
        return environment.get(self.variable, "").startswith("/")


class AgentHome(msgspec.Struct, frozen=True):
    """The directories of one agent, and the variables that it needs."""

    directories: tuple[PrivateDirectory, ...] = ()
    names: frozenset[str] = frozenset()


def _xdg(
    *,
    config: tuple[str, ...] = (),
    data: tuple[str, ...] = (),
    cache: tuple[str, ...] = (),
    logins: tuple[LoginFile, ...] = (),
) -> tuple[PrivateDirectory, ...]:
    """The four directories of the XDG specification."""
    return (
        PrivateDirectory(name="config", variable="XDG_CONFIG_HOME", source=".config", copied=config, is_linked=True),
        PrivateDirectory(
            name="data", variable="XDG_DATA_HOME", source=".local/share", copied=data, logins=logins, is_linked=True
        ),
        PrivateDirectory(name="state", variable="XDG_STATE_HOME", source=".local/state"),
        PrivateDirectory(name="cache", variable="XDG_CACHE_HOME", source=".cache", copied=cache),
    )


_CLAUDE: Final = PrivateDirectory(
    name="claude",
    variable="CLAUDE_CONFIG_DIR",
    source=".claude",
    copied=(
        *(".claude.json", "settings.json", "CLAUDE.md"),
        *("agents", "commands", "hooks", "output-styles", "plugins", "rules", "skills", "workflows"),
    ),
    besides=((".claude.json", ".claude.json"),),
    logins=(login_files.CLAUDE,),
)
_CODEX: Final = PrivateDirectory(
    name="codex",
    variable="CODEX_HOME",
    source=".codex",
    copied=(
        *("config.toml", "AGENTS.md", "AGENTS.override.md", "hooks.json", "version.json", "models_cache.json"),
        *("agents", "hooks", "prompts", "rules", "skills"),
    ),
    logins=(login_files.CODEX,),
)
_GEMINI: Final = PrivateDirectory(
    name="",
    source=".gemini",
    copied=("settings.json", "GEMINI.md", "google_accounts.json", "installation_id", "commands", "extensions"),
    logins=(login_files.GEMINI, login_files.ENVIRONMENT),
)
_QWEN: Final = PrivateDirectory(
    name="",
    source=".qwen",
    copied=("settings.json", "QWEN.md", "installation_id", "agents", "commands", "extensions", "skills"),
    logins=(login_files.QWEN, login_files.ENVIRONMENT),
)
_MODELS: Final = frozenset(
    """
    ANTHROPIC_* AZURE_OPENAI_* CEREBRAS_API_KEY DEEPSEEK_API_KEY GEMINI_* GOOGLE_API_KEY GOOGLE_GENAI_*
    GOOGLE_GENERATIVE_AI_API_KEY GROQ_API_KEY MISTRAL_API_KEY MOONSHOT_API_KEY OLLAMA_HOST OPENAI_* OPENROUTER_API_KEY
    TOGETHER_API_KEY XAI_API_KEY
    """.split()
)
"""What providers of models are asked with."""

OTHER: Final = AgentHome(_xdg())
"""What a command gets that is none of the agents we know: it keeps nothing, and no login comes along."""
HOMES: Final[Mapping[str, AgentHome]] = {
    "claude": AgentHome(
        (*_xdg(), _CLAUDE),
        frozenset("ANTHROPIC_* API_TIMEOUT_MS BASH_* CLAUDE_* DISABLE_* ENABLE_* MAX_* MCP_*".split()),
    ),
    "codex": AgentHome((*_xdg(), _CODEX), frozenset("AZURE_OPENAI_* CODEX_* OPENAI_*".split())),
    "opencode": AgentHome(
        _xdg(config=("opencode",), logins=(login_files.OPENCODE, login_files.OPENCODE_MCP), cache=("opencode",)),
        _MODELS | {"OPENCODE_*"},
    ),
    "gemini": AgentHome((*_xdg(), _GEMINI), frozenset("GEMINI_* GOOGLE_API_KEY GOOGLE_GENAI_*".split())),
    "qwen": AgentHome((*_xdg(), _QWEN), frozenset("DASHSCOPE_* OPENAI_* QWEN_*".split())),
}


def logins(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return the files with the logins of all agents we know; they need not be there."""
    known = {one for agent in HOMES.values() for one in agent.directories}
    return [one.source_in(home, environment) / login.name for one in known for login in one.logins]


def agent_home(name: str) -> AgentHome:
    """Return the directories of an agent by its name; those of any other command where it is not known."""
    return HOMES.get(name, OTHER)
