"""Effects: what Interlock sees of the machine it runs on and does to it.

It may import `errors` and `machine`, and neither `journal` nor anything above.
"""
