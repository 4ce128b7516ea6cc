"""Interlock: the control plane between a ticket and a reviewed commit.

The layers, each importing only what stands below it:

    faces     how people and agents reach it: the command line, MCP, hooks, the web
    work      the five systems: tickets, threads, stories, orchestration, sessions
    world     effects behind Protocols: processes, git, agents, the clock
    journal   the one truth: append-only, hash-chained
    machine   what a machine is, one step of it, what is true of it; pure

`errors` is the catalogue that all of them share.
"""

__version__ = "0.1.0"
