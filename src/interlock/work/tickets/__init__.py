"""Tickets: the pieces of work that everything else is done for.

So far only what a session needs: a ticket's number from 1, and the text that others call it by.
"""
