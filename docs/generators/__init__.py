"""One module for each part of the documentation that is made from the code; `docs.generate` calls them.

    commands, tools, errors         what can be called, set and go wrong
    machine_pages, keys, findings   the machines, what their files may hold (`meanings`), what the checker says
    columns                         the tables of the journal
    markdown                        Markdown that no cell can break

The film of the demo is made apart, by `make recording`: recording → pace → screens → film.
"""
