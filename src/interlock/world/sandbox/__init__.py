"""Confinement of what an agent runs: it writes to its own tree and to nothing else of the machine.

    policy        the description of one confined run, and what is started for it
    homes         the private directories of each agent, and what of the person's they begin with
    login_files   what of a login an agent gets; `logins` brings it in, and has it refreshed outside
    environment   the variables that come along
    hidden        the paths that are covered: secrets, sockets, and what only root may read
    mounts        the arguments of bubblewrap, with each cover before what lies deeper
    bubblewrap    Linux; `container` is podman, with the same mounts
    seatbelt      macOS, untested; `unconfined` is no sandbox at all
    inside        the first program of a run: fills the private directories, sets the limits, becomes the agent
    remount       the tree of a running sandbox, made read-only or writable from outside
    network       what a network reaches; `connecting` makes it, by `pasta` (`attach`) or by `forwarder` (`upstream`)
    choosing      which of them works on this machine, found by trying; `describing` says what it protects

It may import what its layer may: `errors` and `machine`.
"""
