"""Traces as OpenTelemetry has them.

    span         what a span is, and its form on the wire
    collector    one that takes them

Nothing imports it where traces are off.
"""
