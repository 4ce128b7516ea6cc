"""What Interlock costs, as ratios measured side by side in one run: `python -m bench`.

    timing      interleaved rounds, and the comparison they add up to; `beside` for a driver's steps
    project     the repository that drivers are measured on
    workload    the moves that are appended, the same for every subject
    durable, steps, startup, agents, sandbox, tickets, trees, stories, threads, orchestrations, dashboard, growth,
    postgres, peers
                one benchmark each; all give lines of one shape
    served, browser, pixels
                what `dashboard` needs: a server with a long journal, a page in a browser, and when something is seen
    bare_stream, empty_server, listeners, talkative
                programs of their own that are measured, or are measured against
    host        the machine that they were measured on
    report      the machine and the table, as text, as Markdown or as JSON

A ratio compares two things that ran by turns on the same machine; it never fails, it only says what was aimed at.
"""
