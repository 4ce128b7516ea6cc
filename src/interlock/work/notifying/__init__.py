"""Notifications: a person is needed, something is stuck, done, or over its budget.

    news        PURE: what of the journal is worth telling, entry by entry
    wording     a piece of news as a notice, in the words of whoever asks how things stand
    outbox      one channel: what waits for it, sent once, tried again with patience, dropped when it is old
    delivery    the way out of the journal to somebody elsewhere; traces use it, too
    channels    the channels that the settings name
    sending     threads beside a driver or a server, one a channel; nothing waits for them

It reads the journal after the commit and moves nothing. It may import `journal`, `world` and below.
"""
