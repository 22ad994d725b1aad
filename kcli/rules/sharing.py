"""SQL about processes that share a client id: many use the default of their library or deployment."""

# The number of requests of one process, from the connections of a client id to one broker (first_ns, last_ns,
# requests), grouped by both. A process has one connection to a broker at a time. If several are open at once, the
# busiest connection stands for one process.
OF_ONE = """CASE WHEN sum(last_ns - first_ns) < 1.5 * greatest(max(last_ns) - min(first_ns), 1) THEN sum(requests)
            ELSE max(requests) END"""
