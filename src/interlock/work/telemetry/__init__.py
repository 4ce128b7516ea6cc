"""Telemetry: traces for an OpenTelemetry collector, and metrics for a Prometheus server; both off until they are set.

    spans       PURE: the spans of an instance that has ended, from its entries
    tools       PURE: the calls of tools among them
    words       PURE: what of others' words they may hold
    exporting   the outbox of traces: what has ended is sent once, with ids that follow from the journal
    counters    what entries add up to, as a projection
    exposition  PURE: Prometheus' text form
    metrics     the counters and how things stand now, in Prometheus' text form

It reads the journal after the commit and moves nothing. It may import `journal`, `world` and below.
"""
