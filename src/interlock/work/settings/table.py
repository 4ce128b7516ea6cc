"""PURE. Every setting there is: the one table that makes `ralph.toml`, its checks and the docs."""

from __future__ import annotations

import msgspec

__all__ = ["SAME_AS_AGENTS", "SETTINGS", "SettingSpec"]

SAME_AS_AGENTS = "agent"
"""The value of a setting of verifiers that stands for that of agents."""


class SettingSpec(msgspec.Struct, frozen=True):
    """One setting: its key, what it is where nothing is said, and what it means."""

    key: str
    default: str | int | tuple[str, ...]
    meaning: str
    values: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    pattern: str = ""
    """What a free text looks like."""
    takes_hosts: bool = False
    """True if it may also be a list of hosts, such as `sandbox.network` reads it."""


SETTINGS = (
    SettingSpec(
        "session.enforcement",
        "observe",
        "What becomes of a reported state that is not in the table: observe records and marks it, strict refuses it.",
        values=("observe", "strict"),
    ),
    SettingSpec(
        "session.timeout_minutes",
        60,
        "For how long a session may be silent whose agent's process is not known, before it ends as a time-out.",
        least=1,
        most=10_080,
    ),
    SettingSpec(
        "ticket.plan_review",
        "human",
        "Who may approve a plan: human means a person alone, auto also the command review.",
        values=("human", "auto"),
    ),
    SettingSpec(
        "ticket.target_branch",
        "main",
        "The branch that a ticket's commit must be in, before an agent may call the ticket done.",
        pattern=r"(?!-)[A-Za-z0-9._/-]{1,200}",
    ),
    SettingSpec(
        "ticket.wip_limit",
        5,
        "How many tickets may be in one of the states of work before the board warns; 0 is no limit.",
        least=0,
        most=10_000,
    ),
    SettingSpec(
        "ticket.tracker",
        "local",
        "Where the board is shown besides here: local is nowhere, github is a project there.",
        values=("local", "github"),
    ),
    SettingSpec(
        "github.repository",
        "",
        "The repository whose issues are the tickets, as owner/name.",
        pattern=r"|[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}",
    ),
    SettingSpec(
        "github.project_owner",
        "",
        "The user or organisation that has the project; the repository's owner where nothing is said.",
        pattern=r"|[A-Za-z0-9][A-Za-z0-9-]{0,38}",
    ),
    SettingSpec(
        "github.project", 0, "The number of the project, as its address shows it.", least=0, most=1_000_000_000
    ),
    SettingSpec(
        "github.every_seconds",
        60,
        "After how many seconds a server looks at the board again.",
        least=1,
        most=86_400,
    ),
    SettingSpec(
        "agent.name",
        "claude",
        "The agent that works: claude, codex, opencode, gemini, qwen, acp, command or scripted.",
        pattern=r"[a-z]{1,40}",
    ),
    SettingSpec(
        "agent.rotation", (), "Agents that take turns, `name` or `name:model`; without any, agent.name works alone."
    ),
    SettingSpec(
        "agent.selection",
        "round_robin",
        "Who is next in a rotation: round_robin takes turns, priority asks the first that has reached no limit.",
        values=("round_robin", "priority"),
    ),
    SettingSpec(
        "agent.judge",
        "",
        "The agent that judges the criteria; without one, agent.name does, in a run of its own.",
        pattern=r"[a-z]{0,40}",
    ),
    SettingSpec(
        "agent.sandbox",
        "auto",
        "The sandbox of agents: auto is the strongest that works here, none lets them run with all of your rights.",
        values=("auto", "bubblewrap", "seatbelt", "container", "none"),
    ),
    SettingSpec(
        "agent.network",
        "open",
        "The network in the sandbox: open is all but this machine, none is none, a list of hosts is only those, host "
        "is that of the machine with everything that listens on it.",
        values=("open", "none", "host"),
        takes_hosts=True,
    ),
    SettingSpec(
        "agent.variables",
        (),
        "Names of more environment variables that come into the sandbox, such as MY_API_KEY or MY_*.",
    ),
    SettingSpec(
        "agent.max_processes",
        4096,
        "Maximum number of processes and threads of a run, also of a verifier in a sandbox; 0 is no limit.",
        least=0,
        most=4_000_000,
    ),
    SettingSpec(
        "agent.max_memory_mib",
        16_384,
        "Maximum memory of a run in MiB, with its files in memory; 0 is no limit.",
        least=0,
        most=1 << 30,
    ),
    SettingSpec(
        "agent.max_disk_mib",
        20_480,
        "MiB that a run may write into its tree, and never more than half of what is free; 0 is no limit.",
        least=0,
        most=1 << 30,
    ),
    SettingSpec("agent.command", "", "The command line of the agents command and acp.", pattern=r"[^\0\n]{0,1000}"),
    SettingSpec("agent.arguments", (), "Flags of your own for the agent of agent.name, and for no other."),
    SettingSpec("agent.script", "", "The script of the agent scripted, in the repository.", pattern=r"[^\0\n]{0,500}"),
    SettingSpec("agent.judge_script", "", "The script of a judge that is scripted.", pattern=r"[^\0\n]{0,500}"),
    SettingSpec("agent.minutes", 60, "How long one run of an agent may take; 0 is no limit.", least=0, most=10_080),
    SettingSpec("agent.idle_minutes", 15, "How long an agent may be silent; 0 is no limit.", least=0, most=10_080),
    SettingSpec(
        "agent.wait_minutes",
        360,
        "Minutes to wait for a provider that is overloaded, cannot be reached, or names no time at which a limit ends.",
        least=0,
        most=10_080,
    ),
    SettingSpec(
        "agent.cooldown_minutes",
        15,
        "How long an agent rests that took too long, while others take its turn.",
        least=0,
        most=10_080,
    ),
    SettingSpec(
        "driver.lease_seconds",
        60,
        "Seconds after which a driver that has stopped is replaced by another host's. While it lives, it renews them.",
        least=20,
        most=86_400,
    ),
    SettingSpec(
        "thread.mode",
        "methodical",
        "How a new thread goes on: methodical waits for a person at each step, quick only at the gates.",
        values=("methodical", "quick"),
    ),
    SettingSpec(
        "thread.iterations", 5, "How many iterations a thread's loop may take; 0 is no limit.", least=0, most=10**6
    ),
    SettingSpec(
        "thread.driver",
        "plain",
        "What runs a thread's loop: plain gives an agent the spec, story and orchestrator are those loops.",
        values=("plain", "story", "orchestrator"),
    ),
    SettingSpec(
        "thread.isolation",
        "own",
        "Where a thread works: own is a tree of its own, checkout also brings yours along.",
        values=("own", "checkout", "none", "worktree"),
    ),
    SettingSpec(
        "thread.budget_minutes", 0, "How long agents may work for a thread; 0 is no limit.", least=0, most=10**6
    ),
    SettingSpec("thread.budget_usd", 0, "How many dollars a thread may cost; 0 is no limit.", least=0, most=10**6),
    SettingSpec("thread.budget_tokens", 0, "How many tokens a thread may use; 0 is no limit.", least=0, most=10**12),
    *(
        SettingSpec(
            f"budget.day_{name}",
            0,
            f"How {much} all work of a day (UTC) in this repository may {use}, whoever drives it; 0 is no limit.",
            least=0,
            most=most,
        )
        for name, much, use, most in (
            ("minutes", "many minutes of agents", "take", 10**6),
            ("tokens", "many tokens", "use", 10**12),
            ("usd", "many dollars", "cost", 10**6),
        )
    ),
    SettingSpec(
        "story.tests",
        (),
        "The commands that must pass before a subtask is judged, each run by a shell; without any, verify.commands.",
    ),
    SettingSpec(
        "story.max_iterations", 100, "How many runs of an agent a loop may take; 0 is no limit.", least=0, most=10**6
    ),
    SettingSpec("story.test_minutes", 30, "How long one test command may take; 0 is no limit.", least=0, most=10_080),
    SettingSpec(
        "story.stuck_after",
        3,
        "After how many subtasks in a row that fail in the very same way the loop pauses and says so; 0 is never.",
        least=0,
        most=10_000,
    ),
    SettingSpec(
        "story.task_minutes", 0, "How long agents may work on one subtask; 0 is no limit.", least=0, most=10**6
    ),
    SettingSpec("story.task_tokens", 0, "How many tokens one subtask may use; 0 is no limit.", least=0, most=10**12),
    SettingSpec("story.task_usd", 0, "How many dollars one subtask may cost; 0 is no limit.", least=0, most=10**6),
    SettingSpec("story.budget_minutes", 0, "How long agents may work in one loop; 0 is no limit.", least=0, most=10**6),
    SettingSpec("story.budget_tokens", 0, "How many tokens one loop may use; 0 is no limit.", least=0, most=10**12),
    SettingSpec("story.budget_usd", 0, "How many dollars one loop may cost; 0 is no limit.", least=0, most=10**6),
    SettingSpec(
        "story.day_iterations",
        0,
        "How many iterations all loops of a day (UTC) may begin; 0 is no limit.",
        least=0,
        most=10**6,
    ),
    SettingSpec(
        "story.day_minutes",
        0,
        "How long agents may work in all loops of a day (UTC); 0 is no limit.",
        least=0,
        most=10**6,
    ),
    SettingSpec(
        "story.day_tokens", 0, "How many tokens all loops of a day (UTC) may use; 0 is no limit.", least=0, most=10**12
    ),
    SettingSpec(
        "story.day_usd", 0, "How many dollars all loops of a day (UTC) may cost; 0 is no limit.", least=0, most=10**6
    ),
    SettingSpec(
        "git.filters",
        (),
        "Filters of your own git configuration that may run where .gitattributes names them, such as lfs.",
    ),
    SettingSpec(
        "verify.commands",
        (),
        "The commands that must exit with 0 before work is done, each run by a shell; `name: command` names one.",
    ),
    SettingSpec(
        "verify.prepare",
        "",
        "A command that makes a checkout of the exact tree ready; with it, the verifiers run there and not in the work "
        "tree.",
        pattern=r"[^\0\n]{0,1000}",
    ),
    SettingSpec(
        "verify.carry",
        (),
        "Ignored paths that are copied into that checkout, such as .venv or node_modules; the receipt holds their "
        "hashes.",
    ),
    SettingSpec(
        "verify.sandbox",
        SAME_AS_AGENTS,
        "The sandbox of verifiers and tests, which run what agents wrote: agent is the same as that of agents.",
        values=(SAME_AS_AGENTS, "auto", "bubblewrap", "seatbelt", "container", "none"),
    ),
    SettingSpec(
        "verify.network",
        "open",
        "The network in that sandbox, as with agent.network; a database of yours needs its address in the list.",
        values=("open", "none", "host"),
        takes_hosts=True,
    ),
    SettingSpec(
        "verify.variables",
        (),
        "Names of more environment variables that come into that sandbox, such as DATABASE_URL.",
    ),
    SettingSpec("verify.minutes", 30, "How long one command may take; 0 is no limit.", least=0, most=10_080),
    SettingSpec(
        "verify.protected",
        (),
        "Globs of what must be as it was when the work began; the settings of test runners are protected anyway.",
    ),
    SettingSpec("verify.allowed", (), "Globs of what may change even so: tests, and the settings of test runners."),
    SettingSpec(
        "verify.tests",
        (
            *("tests/**", "test/**", "**/tests/**", "**/__tests__/**", "spec/**", "e2e/**"),
            *("**/test_*.py", "**/*_test.py", "**/conftest.py", "**/*_test.go", "**/*_spec.rb"),
            *("**/*.test.*", "**/*.spec.*", "**/*Test.java", "**/*Tests.cs"),
        ),
        "Globs of the files that hold tests: none of them may go, skip more or check less than it did.",
    ),
    *(
        SettingSpec(f"orchestrate.{role}", "", f"The agent that {does}; without one, {other}.", pattern=r"[^\s]{0,100}")
        for role, does, other in (
            ("planner", "plans, `name` or `name:model`", "agent.name"),
            ("questioner", "answers the planner's questions", "agent.name"),
            ("executor", "works on tasks", "agent.name"),
            ("reviewer", "reviews", "agent.judge or agent.name"),
        )
    ),
    SettingSpec(
        "orchestrate.discoveries",
        20,
        "How many tasks that executors and reviewers find missing may be added to a plan on the way.",
        least=0,
        most=1000,
    ),
    SettingSpec(
        "orchestrate.budget_minutes", 0, "How long agents may work in a run; 0 is no limit.", least=0, most=10**6
    ),
    SettingSpec(
        "orchestrate.budget_tokens", 0, "How many tokens one run may use; 0 is no limit.", least=0, most=10**12
    ),
    SettingSpec("orchestrate.budget_usd", 0, "How many dollars one run may cost; 0 is no limit.", least=0, most=10**6),
    SettingSpec(
        "orchestrate.roles",
        ".github/agents",
        "The directory in the repository whose ralph-planner.agent.md and the like replace the shipped roles.",
        pattern=r"(?!(?:.*/)?\.{1,2}(?:/|\Z))[A-Za-z0-9._-]{1,100}(?:/[A-Za-z0-9._-]{1,100}){0,20}",
    ),
    SettingSpec(
        "notify.on",
        ("needed", "stuck", "budget", "done"),
        "What people are told: that one is needed, that something is stuck, over its budget, or done.",
        values=("needed", "stuck", "budget", "done"),
    ),
    SettingSpec(
        "notify.desktop",
        "off",
        "Whether the desktop shows it, by notify-send or osascript.",
        values=("off", "on"),
    ),
    SettingSpec(
        "notify.terminal",
        "off",
        "How the terminal of a driver shows it: a bell, or the sequence OSC 9 or OSC 777.",
        values=("off", "bell", "osc9", "osc777"),
    ),
    SettingSpec(
        "notify.slack",
        "off",
        "Whether Slack is told; the address of its webhook is RALPH_SLACK_WEBHOOK, and stands in no file.",
        values=("off", "on"),
    ),
    SettingSpec(
        "notify.webhook",
        "",
        "The address that is told, with https or on this machine; RALPH_WEBHOOK_SECRET signs it.",
        pattern=r"|https://[^\s@]{1,500}|http://(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/][^\s@]{0,500})?",
    ),
    SettingSpec(
        "notify.command",
        "",
        "A command that is told, run by a shell: it reads JSON from its stdin.",
        pattern=r"[^\0\n]{0,1000}",
    ),
    SettingSpec(
        "notify.link",
        "",
        "The address of the dashboard as its readers reach it; what is told links there.",
        pattern=r"|https?://[^\s@]{1,300}",
    ),
    SettingSpec(
        "telemetry.traces",
        "off",
        "Whether runs, iterations and calls of tools are sent to an OpenTelemetry collector.",
        values=("off", "on"),
    ),
    SettingSpec(
        "telemetry.endpoint",
        "",
        "The collector's address, OTLP over HTTP, with https or on this machine; else OTEL_EXPORTER_OTLP_ENDPOINT says "
        "it, else it is http://localhost:4318.",
        pattern=r"|https://[^\s@]{1,500}|http://(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/][^\s@]{0,500})?",
    ),
    SettingSpec(
        "telemetry.content",
        "off",
        "Whether traces say what was asked and said, what tools were called on, titles, reasons and paths.",
        values=("off", "on"),
    ),
    SettingSpec(
        "telemetry.metrics",
        "off",
        "Whether `ralph serve` shows metrics to a Prometheus server, at /metrics.",
        values=("off", "on"),
    ),
    SettingSpec(
        "memory.uri",
        "",
        "The address of a Neo4j server, such as bolt://localhost:7687; without one, the journal itself remembers.",
        pattern=r"|(?:bolt|neo4j)(?:\+s|\+ssc)?://[^\s@]{1,300}",
    ),
    SettingSpec(
        "memory.user", "neo4j", "Who the loop is there; the password is NEO4J_PASSWORD.", pattern=r"[^\s]{1,100}"
    ),
    SettingSpec("memory.database", "neo4j", "Which of the server's databases.", pattern=r"[^\s]{1,100}"),
)
"""Every setting there is."""
