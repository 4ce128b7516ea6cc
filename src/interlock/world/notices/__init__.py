"""Telling people what happened, on the channels that they chose.

    notice      what is told, and what a channel is
    desktop     notify-send and osascript
    terminal    a bell, OSC 9 or OSC 777, to the terminal that controls this process
    posting     one POST over HTTP: only with TLS or to this machine, no redirects, bounded in time
    slack       an incoming webhook of Slack
    webhook     any address, signed
    command     any command, with the notice as JSON on its stdin

A channel sends once and says what came of it; trying again is the business of whoever calls.
"""
