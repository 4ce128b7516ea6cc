"""Setting up agents: registers our server and hooks in a repository, and takes them out again.

`agents` says what is registered where; `entries`, `targets` and `plan` are pure and make new texts of old ones;
`surroundings`, `proposal` and `apply` see and change the world; `agent_tools` says what a run must be given where
nobody set anything up; `claude_plugin` is all of it as a plugin for Claude Code. It imports `world`, and nothing of the
journal.
"""

from __future__ import annotations

from interlock.work.setup.agents import SetupTarget
from interlock.work.setup.apply import carry_out
from interlock.work.setup.proposal import FileChange, Proposal, propose, propose_undo

__all__ = ["FileChange", "Proposal", "SetupTarget", "carry_out", "propose", "propose_undo"]
