"""One coding agent, run once: started, followed, bounded in time and memory, and ended with all that it started.

`running.run` does it, for any agent of `catalogue`. An adapter is pure: a command line, and a reader that turns what
the agent prints into happenings. All care for processes is in `running`, `pipes` and `tree`, and there alone.
It may import what `world` may. Nothing is imported here, so that the scripted agent starts fast.
"""
