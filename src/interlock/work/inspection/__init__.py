"""Explanations of an instance, for people.

references   what an instance is called
causes       why an instance is where it is, and what can come next
time_travel  an instance as it was after any of its entries
alignment    two instances of one machine, step by step
comparison   two texts, line by line
record_caches  the records of instances that were looked at, kept for the next look
"""
