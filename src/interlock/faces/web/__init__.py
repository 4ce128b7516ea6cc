"""How people and programs reach Interlock over HTTP: the MCP server at /mcp, and a live stream of what happens."""
