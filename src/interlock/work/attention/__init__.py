"""What waits for a person, who is at work, what does not move, and what today cost: one look over the whole journal.

    values    what is told (PURE)
    next_step what anything waits for, and the command that comes next
    waiting   what waits for a person, as a list
    working   who is at work, and what does not move though it should
    tree      everything that is under way, as a tree
    overview  all of it, in one look at the journal, and what today cost

Every face that tells people what is going on asks here. It changes nothing but the locks of holders that are gone,
which it ends first. It is flat: each list has an end, and says how much more there is.
"""
