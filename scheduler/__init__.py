"""The admission engine: events in, decisions out.

Pure by contract: no clock, network, database, thread, logger or randomness of its own.
`now` and ids are arguments; the same events in the same order give the same decisions.
"""
