"""One side of a comparison: a capture's facts in a store, and what is asked of them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kcli.compare.measures import KEYS, OWN_TIMES, Measure
from kcli.diagnose import Diagnosis
from kcli.diagnose.overview import SIZE, Overview
from kcli.diagnose.store import FactStore
from kcli.rules.judgement import NAMELESS
from kcli.rules.prepared import OF_CONTROLLERS
from kcli.schemas.errors import COORDINATOR_ERRORS

SHORTEST_S = 0.5  # a block: in less there are too few answers
BLOCKS, MOST_BLOCKS = 32, 2000  # of the shorter capture; of the longer, by the time that queries take
Key = tuple[str | None, ...]  # values of KEYS
STEPS = 24  # buckets of latencies while they double
# A response is slow if it is later than this share of the responses of both sides, than so many times their median, and
# than a noticeable time.
USUAL, SLOW_TIMES, NOTICEABLE_MS = 0.95, 3.0, 10.0
FEWEST_TIMES = 20  # responses to an API; with fewer of them none is called slow

ROLES = """
CREATE OR REPLACE TABLE roles AS
SELECT client_id, CASE WHEN bool_or(inner_client) THEN 'broker' WHEN bool_or(api = 'PRODUCE') THEN 'producer'
                       WHEN bool_or(api IN ('FETCH', 'SHARE_FETCH')) THEN 'consumer' ELSE 'other client' END AS role
FROM calls WHERE inside(ns) GROUP BY client_id
"""
MEMBERS = "CREATE OR REPLACE TABLE members_of AS SELECT role, count(*) AS clients FROM roles GROUP BY role"
KNOWN = {
    "api": "SELECT DISTINCT api FROM calls WHERE inside(ns)",
    "role": "SELECT DISTINCT role FROM roles",
    "topic": "SELECT DISTINCT topic FROM produced WHERE inside(ns) "
    "UNION SELECT DISTINCT topic FROM fetched WHERE inside(ns)",
    "group_id": "SELECT DISTINCT group_id FROM group_calls WHERE inside(completed_ns)",
}
ASKED_SERVERS = f"SELECT server, bool_or({OF_CONTROLLERS}) AS is_controller FROM calls WHERE inside(ns) GROUP BY server"
LOAD = "SELECT coalesce(sum(records), 0) AS records FROM batches WHERE api = 'PRODUCE' AND inside(ns)"
# Connections of clients whose first request, in which they name their software, is not in the capture.
MID_STREAM = """
SELECT count(*) AS connections FROM tcp
WHERE NOT opened AND connection IN (SELECT connection FROM calls WHERE NOT inner_client AND inside(ns))
"""
TIMES = f"""
SELECT api, CAST(ceil({STEPS} * log2(greatest(own_ms, 0.001))) AS BIGINT) AS bucket, count(*) AS answers
FROM ({OWN_TIMES}) AS o WHERE inside(ns) GROUP BY ALL
"""
SIZES = """
SELECT api, role, avg(request_bytes + coalesce(response_bytes, 0)) AS bytes
FROM calls JOIN roles USING (client_id) WHERE inside(ns) GROUP BY ALL
"""
TOPICS = "SELECT topic, sum(records) AS records FROM batches WHERE api = 'PRODUCE' AND inside(ns) GROUP BY topic"
# Errors that clients get when they start or negotiate a version; which of them occur is chance.
STARTING = f"""
(api = 'API_VERSIONS' AND error = 'UNSUPPORTED_VERSION') OR error = 'MEMBER_ID_REQUIRED'
OR (error IN {(*COORDINATOR_ERRORS, "CONCURRENT_TRANSACTIONS")} AND age_ns < 5000000000)
"""
# The contents of a capture, by kind. A change of these is listed, and not judged.
SETS = {
    "error": "SELECT concat(e.api, ': ', e.error) AS name, count(*) AS count "
    "FROM (SELECT api, unnest(errors) AS error, ns, ns - first_ns AS age_ns "
    "FROM calls LEFT JOIN clients USING (client_id)) AS e "
    f"WHERE inside(ns) AND NOT ({STARTING}) GROUP BY 1",
    "client": "SELECT client_id AS name, count(*) AS count FROM calls "
    "WHERE client_id != '' AND NOT inner_client AND inside(ns) GROUP BY 1",
    "software": "SELECT concat_ws(' ', software, software_version) AS name, 1 AS count "
    "FROM software WHERE software IS NOT NULL GROUP BY 1",
    "topic": "SELECT topic AS name, count(*) AS count FROM (SELECT topic FROM produced WHERE inside(ns) "
    "UNION ALL SELECT topic FROM fetched WHERE inside(ns)) AS t GROUP BY 1",
    "compression": "SELECT concat(compression, ' of ', topic) AS name, count(*) AS count FROM batches "
    "WHERE api = 'PRODUCE' AND inside(ns) GROUP BY 1",
}
REQUESTED_VERSIONS = """
SELECT concat(api, ' of ', role, 's') AS name, list_sort(list(DISTINCT api_version)) AS versions, count(*) AS count
FROM calls JOIN roles USING (client_id) WHERE inside(ns) GROUP BY 1 ORDER BY 3 DESC, 1
"""
OFFERS = "SELECT api, max(newest_version) AS newest FROM offers GROUP BY api ORDER BY api"
# Parts of names that differ in each run.
GENERATED = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\d+")


class Captured:
    """A diagnosed capture whose facts are in `store`, or the part of it that was diagnosed. diagnosis: with an
    overview of that part."""

    def __init__(self, store: FactStore, diagnosis: Diagnosis) -> None:
        self.store, scope = store, diagnosis.scope
        self.time = diagnosis.overview.time.within(scope.since, scope.until)
        self.seconds = self.time.seconds()
        self.blocks = 0
        self.brokers: Counter[str] = Counter()
        since, until = (0, -1) if self.time.first_ns is None else (self.time.first_ns, self.time.last_ns)
        self.execute(
            f"CREATE OR REPLACE MACRO inside(ns) AS ns BETWEEN {since} AND {until}",
            f"CREATE OR REPLACE MACRO alive(begun, ended) AS begun <= {until} AND ended >= {since}",
            ROLES,
            MEMBERS,
        )
        [size] = store.ask(f"{SIZE} WHERE inside(ns)")
        self.diagnosis = replace(diagnosis, overview=Overview(self.time, **size))
        self.known = {kind: {row[kind] for row in store.ask(sql)} for kind, sql in KNOWN.items()}
        [early] = store.ask(f"SELECT count(*) AS calls FROM calls WHERE ns < {since}")
        self.early = early["calls"] if scope.since is None else 0  # before the first packet: a clock was set back
        [mid_stream] = store.ask(MID_STREAM)
        self.mid_stream = mid_stream["connections"] > 0
        [load] = store.ask(LOAD)
        self.load = (load["records"] or size["exchanges"]) / max(self.seconds, 0.001)
        self.sizes = {(row["api"], row["role"]): row["bytes"] for row in store.ask(SIZES)}
        self.topics = {row["topic"]: row["records"] for row in store.ask(TOPICS)}

    @property
    def has_exchanges(self) -> bool:
        """Return whether there is an exchange to compare."""
        return self.diagnosis.overview.exchanges > 0

    def execute(self, *statements: str) -> None:
        """Execute statements in the capture's store, one after another."""
        for each in statements:
            self.store.provide(each)  # of several clusters no table is left
            self.store.execute(each)

    def nodes(self) -> dict[str, int]:
        """Return the node ids of brokers by address, if the capture has them."""
        return {row["server"]: row["node_id"] for row in self.store.ask("SELECT server, node_id FROM nodes")}

    def name_brokers(self, nodes: Mapping[str, int]) -> None:
        """Name brokers alike on both sides. nodes: the node ids of both sides; if both have one, that of this side."""
        rows = [*self.store.ask(ASKED_SERVERS)]
        names = {row["server"]: str(nodes.get(row["server"], row["server"])) for row in rows}
        self.make("broker_names", server=[*names], broker=[*names.values()])
        self.known["broker"] = {*names.values()}
        self.brokers = Counter(names[row["server"]] for row in rows if not row["is_controller"])

    def times(self) -> dict[str, Counter[int]]:
        """Count the responses to each API in each bucket of latencies, without the waits that requests allow."""
        found: dict[str, Counter[int]] = {}
        for row in self.store.ask(TIMES):
            found.setdefault(row["api"], Counter())[row["bucket"]] += row["answers"]
        return found

    def make(self, table: str, **columns: Sequence[Any]) -> None:
        """Make a table of columns of texts or numbers."""
        shown = ", ".join(
            f"unnest(CAST(? AS {'DOUBLE' if name == 'ms' else 'VARCHAR'}[])) AS {name}" for name in columns
        )
        self.store.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT {shown}", *columns.values())

    def cut(self, seconds: float) -> None:
        """Cut the capture into blocks of that many seconds; the rest after the last whole block is left out."""
        self.blocks = int(self.seconds / seconds)
        first, length, idle = self.time.first_ns or 0, int(seconds * 1e9), idle_sql([*self.time.delays()])
        self.execute(
            f"CREATE OR REPLACE MACRO block_of(ns) AS (ns - {first} - {idle}) // {length}",
            f"CREATE OR REPLACE MACRO minutes() AS {seconds / 60!r}",
        )

    def samples(self, measure: Measure) -> dict[Key, Any]:
        """Return the values of a measure by its key (KEYS): numpy arrays by time."""
        import numpy

        found: dict[Key, dict[int, float]] = {}
        for row in self.store.ask(measure.sql):
            if row["value"] is not None:
                found.setdefault(tuple(row.get(kind) for kind in KEYS), {})[row["block"]] = float(row["value"])
        made = {}
        for key, by_block in found.items():
            values = {
                block: value for block, value in by_block.items() if not measure.by_time or 0 <= block < self.blocks
            }
            if measure.counts:
                made[key] = numpy.array([values.get(block, 0.0) for block in range(self.blocks)])
            elif values:
                made[key] = numpy.array([values[block] for block in sorted(values)])
        return made

    def sets(self) -> Iterator[tuple[str, Counter[str]]]:
        """Yield each kind with its names, without their generated parts, and the number of each name."""
        nameless = {row["topic_id"] for row in self.store.ask(NAMELESS)} if self.store.may_be_nameless() else set()
        for kind, sql in SETS.items():
            names: Counter[str] = Counter()
            for row in self.store.ask(sql):
                name = row["name"]
                if kind == "topic" and name in nameless:
                    name = f"{name} (its id)"
                elif kind in ("client", "topic"):
                    name = GENERATED.sub("*", name)
                names[name or ""] += row["count"]
            yield kind, names

    def versions(self) -> dict[str, tuple[str, int]]:
        """Return the versions of requests and their number, by API and role."""
        rows = self.store.ask(REQUESTED_VERSIONS)
        return {row["name"]: (", ".join(map(str, row["versions"])), row["count"]) for row in rows}

    def offers(self) -> dict[str, int]:
        """Return the newest version that brokers offered, by API."""
        return {row["api"]: row["newest"] for row in self.store.ask(OFFERS)}


def idle_sql(delays: Sequence[tuple[int, int]], before: int = 0) -> str:
    """Return SQL for the idle time (ns without any packet) up to `ns`. delays: see CapturedTime; before: the idle time
    before all of them."""
    if not delays:
        return str(before)
    middle = len(delays) // 2
    at, idle = delays[middle]
    return (
        f"CASE WHEN ns < {at} THEN {idle_sql(delays[:middle], before)} ELSE {idle_sql(delays[middle + 1 :], idle)} END"
    )


def slow_limits(before: Mapping[str, Counter[int]], after: Mapping[str, Counter[int]]) -> dict[str, float]:
    """Return the ms after which an answer is slow, by API, the most frequent first. one, after: `times` of both."""
    limits = {}
    both = {api: before.get(api, Counter()) + after.get(api, Counter()) for api in {*before, *after}}
    for api, counts in sorted(both.items(), key=lambda each: (-each[1].total(), each[0])):
        if counts.total() >= FEWEST_TIMES:
            limits[api] = max(time_within(counts, USUAL), SLOW_TIMES * time_within(counts, 0.5), NOTICEABLE_MS)
    return limits


def time_within(counts: Counter[int], share: float) -> float:
    """Return the ms in which this share is answered. counts: of each bucket."""
    left = share * counts.total()
    for bucket in sorted(counts):
        left -= counts[bucket]
        if left <= 0:
            break
    return float(2 ** (bucket / STEPS))


def block_seconds(before: float, after: float) -> float:
    """Return how long blocks are for captures of so many seconds."""
    shorter, longer = sorted((before, after))
    return max(SHORTEST_S, shorter / BLOCKS * 0.999, longer / MOST_BLOCKS)
