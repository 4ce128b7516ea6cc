"""What the story loop remembers between agents: the seed's wisdom layer.

    memory      the questions, the events and the nodes; `once_more` is the seed's retry
    neo4j       a server that speaks Bolt, with the official driver
    embedded    the same without a server, over events that its owner keeps

It may import what its layer may: `errors` and `machine`. The driver is imported when a server is asked.
"""

from interlock.world.memory.embedded import EmbeddedMemory
from interlock.world.memory.memory import EventType, Memory, MemoryEvent, MemoryNode, node_of, once_more
from interlock.world.memory.neo4j import Neo4jMemory, connect

__all__ = [
    "EmbeddedMemory",
    "EventType",
    "Memory",
    "MemoryEvent",
    "MemoryNode",
    "Neo4jMemory",
    "connect",
    "node_of",
    "once_more",
]
