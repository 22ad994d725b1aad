"""SQL about clients that share one client id: many have their library's default, or that of their deployment."""

from __future__ import annotations

# Of the connections of a client id to one broker (first_ns, last_ns, requests, in groups of both): the requests of one
# process. A process has one connection there at a time; where several are open at once, the busiest is of one.
OF_ONE = """CASE WHEN sum(last_ns - first_ns) < 1.5 * greatest(max(last_ns) - min(first_ns), 1) THEN sum(requests)
            ELSE max(requests) END"""
