"""Coming from elsewhere: what other tools keep of their work becomes tickets, once.

imported     what a piece of work is that comes from elsewhere, and the errors of all readers (PURE)
prd, fix_plan, spec_kit, backlog, beads, github
             a reader for each form: a text gives pieces of work (PURE)
records      values of JSON and items of lists, for the readers (PURE)
forms        the forms by name, and which of them a text has (PURE)
sources      the files that a path names, read with care
planning     what would be made of it, against what the journal has; no id twice, no reference to nothing, no circle
writing      tickets of it, all in one transaction
"""
