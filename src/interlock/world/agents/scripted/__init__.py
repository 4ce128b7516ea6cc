"""A deterministic agent that plays a script, as a real process: for demos, trials and tests.

    python -m interlock.world.agents.scripted SCRIPT.json

The script is an object. `iterations` is a list of lists of steps: the n-th run plays the n-th list, and every run
after the last list plays that again. Which run it is, is counted in the file that `state` names (beside the script,
where the name is relative; `RALPH_SCRIPT_STATE` overrides it), so that it goes on after a restart.
Without a state, every run is the first.

A step is an object with one key:

    {"say": "text"}                          says it
    {"lie": true}                            says that all tests pass
    {"promise": "COMPLETED"}                 says the promise
    {"echo": true}                           prints the prompt back, as it came
    {"print": "text"}                        prints a line that is none of its words
    {"complain": "text"}                     prints a line on stderr
    {"tool": {"name": "Bash", "about": ""}}  says that it used a tool
    {"usage": {"input": 1, "output": 1, "cached": 0}}, {"cost": 0.1}, {"context": 81}
    {"limit": {"kind": "session", "until": 1790000000, "said": ""}}   says that a limit stops it
    {"finish": true}                         says that it has finished; false, that it failed
    {"write": {"path": "a", "text": ""}}, {"append": {"path": "a", "text": ""}}, {"delete": "a"}
                                             where `text` may also be a list of lines
    {"run": ["make", "test"]}                runs a command, and prints what that prints
    {"commit": "message"}                    commits everything with git
    {"sleep": 0.5}                           waits so many seconds, 600 at the most
    {"wait": "path"}                         waits until the file is there, 600 seconds at the most
    {"ignore": ["SIGTERM"]}                  ignores signals
    {"fork": {"count": 1, "ignore": ["SIGTERM"], "detach": false, "quiet": false, "pids": "path"}}
                                             leaves processes behind; detached ones leave the group and the parent
    {"bytes": 1000}                          prints so many bytes without an end of line
    {"flood": 1000000}                       prints lines, so many bytes in all
    {"close": true}                          closes stdout and stderr
    {"exit": 3}                              exits; without it, a run exits with 0

Paths are relative to the working directory. A step that fails ends the run with the status 70, a script that cannot
be read with 64.
"""
