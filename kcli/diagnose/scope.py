"""The parts of a capture that no rule can judge, each with its remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kcli.counting import counted
from kcli.diagnose.store import FactStore

SHORT_S = 5.0  # what happens again and again, or changes, needs longer


@dataclass(frozen=True, slots=True)
class Unjudged:
    """what: in words, with counts. remedy: what to do about it."""

    what: str
    remedy: str


def unjudged_parts(store: FactStore) -> list[Unjudged]:
    """Name them, the largest first."""
    parts = encrypted, foreign, mid_stream, lost, unreadable, unknown_schemas, short
    return [each for part in parts for each in part(store)]


def encrypted(store: FactStore) -> Iterator[Unjudged]:
    for row in store.ask("""
SELECT substring(reason, 1, position(':' IN concat(reason, ':')) - 1) AS kind, count(DISTINCT connection)
       AS connections,
       array_agg(DISTINCT split_part(connection, '-', 1)) AS servers
FROM undecodable WHERE event = 'not-kafka' AND reason LIKE 'TLS%' GROUP BY 1 ORDER BY 2 DESC
"""):
        to = ", ".join(sorted(row["servers"])[:3])
        yield Unjudged(
            f"{counted(row['connections'], 'connection')} of {row['kind']} to {to}",
            "--key-log FILE with the secrets of TLS",
        )


def foreign(store: FactStore) -> Iterator[Unjudged]:
    for row in store.ask("""
SELECT count(DISTINCT connection) AS connections, array_agg(DISTINCT split_part(connection, '-', 1)) AS servers
FROM undecodable WHERE event = 'not-kafka' AND reason NOT LIKE 'TLS%' HAVING count(*) > 0
"""):
        to = ", ".join(sorted(row["servers"])[:3])
        yield Unjudged(
            f"{counted(row['connections'], 'connection')} without Kafka, to {to}",
            "--port N where it is Kafka all the same",
        )


def mid_stream(store: FactStore) -> Iterator[Unjudged]:
    for row in store.ask("""
SELECT count(*) AS connections FROM conns WHERE NOT opened AND client_id IS NOT NULL HAVING count(*) > 0
"""):
        yield Unjudged(
            f"the start of {counted(row['connections'], 'connection')}, which was before the capture: logins, "
            f"handshakes, versions",
            "a capture that begins before the clients",
        )


def lost(store: FactStore) -> Iterator[Unjudged]:
    for row in store.ask("""
SELECT sum(bytes) AS bytes, count(DISTINCT connection) AS connections FROM undecodable
WHERE event IN ('gap', 'truncated', 'undecodable') AND NOT captured AND connection IS NOT NULL HAVING sum(bytes) > 0
"""):
        yield Unjudged(
            f"{row['bytes']:,} bytes on {counted(row['connections'], 'connection')} that are not in the capture",
            "a longer snapshot length, a bigger capture buffer (tcpdump -s 0 -B)",
        )


def unreadable(store: FactStore) -> Iterator[Unjudged]:
    """Yield frames that are there whole. What began before the capture is told by `mid_stream`, and what a reset or the
    capture's end cut is no fault of the capture."""
    for row in store.ask("""
SELECT sum(bytes) AS bytes, count(DISTINCT connection) AS connections FROM undecodable
WHERE event = 'undecodable' AND captured AND reason != 'before the first whole frame' AND connection IS NOT NULL
HAVING sum(bytes) > 0
"""):
        yield Unjudged(
            f"{row['bytes']:,} bytes on {counted(row['connections'], 'connection')} that are there and do not decode",
            "kcli sql 'SELECT * FROM undecodable' says where and why",
        )


def unknown_schemas(store: FactStore) -> Iterator[Unjudged]:
    for row in store.ask("""
SELECT sum(unknown) AS payloads, array_agg(DISTINCT topic) AS topics FROM unread_payloads HAVING sum(unknown) > 0
"""):
        of = ", ".join(sorted(row["topics"])[:3])
        yield Unjudged(
            f"{counted(row['payloads'], 'key or value', 'keys and values')} of {of}, whose schema is not known",
            "--schema-registry URL, or --schemas DIR",
        )


def short(store: FactStore) -> Iterator[Unjudged]:
    for row in store.ask("SELECT seconds FROM span"):
        if row["seconds"] < SHORT_S:
            yield Unjudged(
                f"what takes longer than these {row['seconds']:.1f} s to show", "a capture of a minute or more"
            )
