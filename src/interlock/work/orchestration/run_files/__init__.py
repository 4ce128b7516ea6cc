"""PURE. The files of a session as texts: what is so, rendered; what a file says, parsed.

    progress      progress.md: where the steps of planning and the tasks stand
    tasks         tasks.md: what the tasks are
    plan          plan.md
    questions     plan.questions.md
    reports       tasks.<TASK_ID>-report[-rN].md
    instructions  <SESSION_ID>.instructions.md
    transitions   transitions.jsonl
    names         the ids of sessions, and what is called how
    outline       lists, and what people wrote between our lines
    text          texts as parts of a file, and out of it again

Rendered and parsed again, values are the same, whatever texts they hold. A parser takes any text and never raises.
"""
