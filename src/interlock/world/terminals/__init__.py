"""A person's terminal with a program on it that must not have the terminal itself.

    escapes   what the program writes, without the sequences that act beyond the screen
    relay     bytes passed on between a person's streams and those of a process
    screen    the person's terminal: raw meanwhile, and restored whatever happens

It may import what `world` may.
"""
