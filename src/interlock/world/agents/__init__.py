"""One coding agent, run once: started, followed, bounded in time and memory, and ended with all that it started.

    running       `run`: one run, for any agent of `catalogue`; `pipes`, `tree`, `adopting` care for processes
    interactive   one run of an agent that a person speaks with, at their terminal or through pipes
    starting      the files and the sandbox of a run, as both start it
    assignment    what a run is given; `result` how it ended; `happenings` what happens in between
    agent         the seam: a command line, and a reader of what it prints
    claude, codex, gemini, opencode, acp, command, scripted
                  the adapters, which are pure; `wire`, `lines` and `own` help them read
    hearing       what is printed, taken in; `account` adds it up, `transcript` keeps it
    limits        the usage limits that agents tell of; `promise` how they say that an iteration ended
    registration  our server and our hook, as each agent wants them written down

It may import what `world` may. Nothing is imported here, so that the scripted agent starts fast.
"""
