"""`ralph`: nouns and verbs, results on stdout, messages on stderr, one envelope with `--json`.

Only the noun that was named is imported, and what is heavy is imported where it is used: the program starts
before every step an agent takes.
"""

from interlock.faces.cli.main import main

__all__ = ["main"]
