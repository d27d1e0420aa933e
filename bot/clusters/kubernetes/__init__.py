"""A real Kubernetes cluster behind the port of `bot.clusters.base`.

Watches fill a mirror in memory; the loop reads what changed from it and never waits for the
API server. Decisions become writes that go out behind it, in parallel, each of which may be
sent twice.
"""
