"""PURE. The files of a session as texts, over one keyed model: `render_*` makes a text, `parse_*` reads any text.

    document      the model: blocks with keys, what people wrote beside them, and the edits between two texts
    items         list items, and the labelled fields in them
    text          values as parts of a file, and back
    names         the names of sessions and of their files

    progress      progress.md: where the steps of planning and the tasks stand
    tasks         tasks.md: what the tasks are
    questions     plan.questions.md
    plan          plan.md, and <SESSION_ID>.instructions.md
    reports       tasks.<TASK_ID>-report[-rN].md
    transitions   transitions.jsonl

A file is a sequence of `Block`s: a heading, a task, a question, each with a key and its lines. Its module makes the
blocks of values, and says of each heading and list item of a text whether it is one of them; the model does the rest:

    render(blocks, beside)      the text: our blocks, and after each what people wrote beside it
    read(text, key_of, take)    what people wrote beside our blocks, by their keys; `take` collects the blocks
    diff(projected, found)      the edits: blocks that were added, changed, repeated or removed

Rendered and parsed, values stay the same, whatever texts they hold. A parser never raises.
"""
