"""Gates: what only a person may pass, and how anybody can see afterwards that a person did.

    presence      who is there: a person at a terminal
    display       what they are shown: all of it, in a frame
    stage         who is there in tests and in the demo, for repositories that they made themselves
    statement     what a person approves, byte for byte
    trust         the keys that people vouched for, from the journal
    approval      ask, sign, and give what goes into the entry; refused attempts are kept
    enrolling     keys in, keys out
    audit         every gate of a journal, checked again
    overview      what `ralph gate list` shows

It may import what its layer may: everything but `faces`.
"""

from interlock.work.gates.approval import approval, question_of, refused_attempt, vouch
from interlock.work.gates.audit import audit
from interlock.work.gates.enrolling import enroll, key_of_git, revoke
from interlock.work.gates.presence import AtTerminal, Presence, at_terminal, present
from interlock.work.gates.stage import stage, staged
from interlock.work.gates.statement import Approval, Head, Statement
from interlock.work.gates.trust import Key, Trust, trust_of

__all__ = [
    "Approval",
    "AtTerminal",
    "Head",
    "Key",
    "Presence",
    "Statement",
    "Trust",
    "approval",
    "at_terminal",
    "audit",
    "enroll",
    "key_of_git",
    "present",
    "question_of",
    "refused_attempt",
    "revoke",
    "stage",
    "staged",
    "trust_of",
    "vouch",
]
