"""How people and agents reach Interlock.

    cli     `ralph`, for people, scripts and agents
    hook    `ralph-hook`, before and after the tools of a coding agent
    mcp     the tools, resources and prompts of agents, over stdio and HTTP
    web     the dashboard, and what else is served over HTTP

`amounts` has the words for times and numbers that two of them show.

They decide nothing. Everything below may be imported here; nothing below imports this.
"""
