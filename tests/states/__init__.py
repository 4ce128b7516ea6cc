"""State that released versions wrote, and that every later version must open, verify, rebuild and continue.

`1.tar.xz` was written by 0.1 as of November 2026, with its own commands and drivers: a repository `dates` with its
journal in SQLite, and a repository `shared` with its journal as a PostgreSQL dump.
An archive is never changed; a new version adds one.
"""
