"""The orchestrator: a planner, a questioner, an executor and a reviewer, until the goal is met.

    values           the plan, its tasks with their marks, questions, reports: what goes into the journal (PURE)
    contracts        the input and the answer of each role, with schemas and examples
    shapes           check that a value has the shape of an answer; every fault with its place (PURE)
    planning         merge a planner's answer into a plan (PURE)
    rules            check what else an answer must be (PURE)
    answers          find an answer in what an agent said, and check it (PURE)
    roles            the four roles: Markdown files, a person's own before the shipped ones
    prompts          the text of one invocation (PURE)
    order            the next task, dependencies, and where a session continues (PURE)
    run_files        the session's files as texts, over one keyed model: rendered, parsed, compared (PURE)
    session          the content of all files, as one value, whoever wrote them (PURE)
    edits            the meaning of a person's edits (PURE); `task_edits` for tasks, `changes` for what counts
    store            the directories of the sessions: read, compared, written
    projected_files  the files of one session as its driver keeps them; people's edits read back
    record           a run as its entries tell it; `replay` folds them (PURE), `reading` finds them
    beginning        begin a run: for a goal, after another one, on a directory that was found
    loop             drive a run
      steps            the step of each state; `proving` asks our own verifiers
      agent_place      the tree of its agents, and what is committed of it
      driver_step      a run in one state, and how a role is asked
      run_cache        what is kept from one step to the next
    verbs            what people do with a run: begin it, add to it, stop it, resume it
    tally            what is counted of a run, entry by entry (PURE)
    metrics          what that comes to: of a run, a session, everything (PURE); `trends` by the day
    metrics_text     the same as Prometheus reads it (PURE)
    ledger           the tallies of all runs, as a projection of the journal
    needs            what a run that failed needs from a person (PURE)
    news             what happens in a run, in words (PURE)

An agent writes none of the session's files: it answers, and its answer is checked, journaled and projected.
"""
