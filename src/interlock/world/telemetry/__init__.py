"""Traces as OpenTelemetry has them: what a span is, its form on the wire, and one collector that takes them.

It imports nothing of `work` and below it only `errors`; nothing imports it where traces are off.
"""
