"""The settings of a repository.

table          every setting: key, default, meaning
values         the values that a text sets, checked against the table
accepted       the settings in force: those that a person accepted
journal_trust  the journals that this user trusts
sandbox_consent  whether agents may run without a sandbox where none works
"""
