"""One view of each thing: frozen values that `--json`, MCP, the pages and the terminal only format.

values    what views share: the base of those of instances, what was spent, drivers
encoding  a view as plain data, named as in Python; MCP's names are the struct's own
ticket    a ticket with everything on it
session   an agent's session, with its history and what was seen
thread    a thread: its spec, place, proof, tries, gates, and what a person can do
gate      what a person is asked before a move of a thread, or before a plan is built
loop      a loop over stories
run       a run of the orchestrator
failure   the error, and so the exit status, that driving something ends with
"""
