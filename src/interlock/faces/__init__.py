"""How people and agents reach Interlock: the command line and the hook; later MCP and the web.

Everything below may be imported here; nothing below imports this.
"""
