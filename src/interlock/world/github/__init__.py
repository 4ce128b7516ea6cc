"""GitHub as a tracker: the issues of a repository on a board of Projects V2.

    board         the values and the verbs; what the sync is written against
    client        the verbs over GitHub, each safe to call again; `fields`, `cards` and `asking` help it
    transport     one POST a call, repeated where that is safe; `answers` says what came back
    documents     the GraphQL
    credentials   the token

Like its layer it may import `errors` and `machine`; it knows nothing of tickets or the journal.
"""

from interlock.world.github.board import Board, BoardAddress, BoardItem, Field, Option, SetUp, place
from interlock.world.github.client import GitHub, connect

__all__ = ["Board", "BoardAddress", "BoardItem", "Field", "GitHub", "Option", "SetUp", "connect", "place"]
