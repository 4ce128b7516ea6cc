"""How agents reach Interlock: an MCP server, the same over stdio and HTTP.

    session_tools, ticket_tools
                the tools; `tool` says what one is
    session_shapes, ticket_shapes
                what the tools are given and what they give
    arguments   what a tool may be given, checked before anything else looks at it
    server_context  the journal and the caller, for the tools
    resources   what can be read: sessions, their journal, the machines and their diagrams
    prompts     how to report progress, and each ticket command as a text to follow
    wording     the tools' names in hints that name commands
    server      the SDK's server, with these in it; the table `TOOLS`
    stdio       the server over stdio

Everything over MCP is an agent's, and a refusal reaches the model as a result that it can act on.
"""
