"""The orchestrator: a planner, a questioner, an executor and a reviewer, until the goal is met.

    values       the plan, its tasks with their marks, questions, reports: what goes into the journal (PURE)
    contracts    what each role is given, and what it must answer, with the schemas of it (PURE)
    examples     one answer of each role (PURE)
    shapes       whether a value has the shape of an answer; every fault with its place (PURE)
    planning     what a planner's answer makes of a plan (PURE)
    rules        what else an answer must be (PURE)
    answers      an answer, found in what an agent said, checked, or complained about (PURE)
    roles        who the four are: Markdown files, a person's own before the shipped ones
    prompts      all that one invocation is told (PURE)
    order        which task is next, which wait for which, where a session goes on (PURE)
    run_files    the session's files as texts, over one keyed model: rendered, parsed, compared (PURE)
    session      all that the files say, as one value, whoever wrote them (PURE)
    edits        what a person's edits of them mean (PURE)
      task_edits   those of the tasks
      changes      what counts of them, as values
    store        the directories of the sessions: read, compared, written
    projecting   the files of one session as its driver keeps them; people's edits read back
    record       a run as its entries tell it; `replay` folds them (PURE), `reading` finds them
    beginning    how a run comes to be: for a goal, after another one, on a directory that was found
    loop         driving a run: read where it stands, do the next step, write down what came of it
      steps        what is done in each state; `proving` asks our own verifiers
      driver_step  a run in one state, and how a role is asked
      run_cache    what is kept from one step to the next
    verbs        what people do with a run: begin it, add to it, stop it, go on with it
    tally        what is counted of a run, entry by entry (PURE)
    metrics      what that comes to: of a run, a session, everything (PURE)
    trends       the same by the day (PURE)
    metrics_text the same as Prometheus reads it (PURE)
    ledger       the tallies of all runs, as a projection of the journal
    needs        what a run that failed needs of a person (PURE)
    news         what happens in a run, in words (PURE)

An agent writes none of the session's files: it answers, and what it answered is checked, journaled and projected.
"""
