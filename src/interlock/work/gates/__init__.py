"""Gates: what only a person may pass, and how anybody can see afterwards that a person did.

    presence      the caller who decides, and how they prove that they are a person at a terminal
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
