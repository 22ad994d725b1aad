"""Rows of the table `tcp`, made from the core's counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping
from itertools import chain
from typing import Any

from kcli.calendar import NS_IN_MS
from kcli.core.capture.tcp_facts import NAMED, SENDER, TALK, end_pairs, link_texts
from kcli.pipeline.writing import stored_schema
from kcli.tables.arrays import Among, integers, strings, texts
from kcli.tables.core_rows import turned

UNKNOWN = -1
# The counts of one end, in the order of the table's columns.
COUNTS = ("segments", "bytes", "data_segments", "resent", "holes", "out_of_order", "duplicate_acks", "zero_windows")


def tcp_batch(ends: bytes, data: bytes, servers: Container[str] = (), ports: Collection[int] = ()) -> Any:
    """Return what `TcpFacts.take` gives as a record batch. servers: ends to which Kafka requests were sent. ports: if
    not empty, leave out connections without one of these ports.
    """
    import numpy
    import pyarrow

    rows = numpy.frombuffer(data, numpy.int64).reshape(-1, len(TALK) + 2 * len(SENDER))
    named = numpy.frombuffer(ends, numpy.uint8).reshape(-1, NAMED)
    if ports:
        kept = numpy.array([any(port_of(end) in ports for end in each) for each in end_pairs(ends)], bool)
        rows, named = rows[kept], named[kept]
    columns = turned(rows)
    is_turned = numpy.zeros(len(rows), numpy.uint8)
    unknown = numpy.flatnonzero(columns[TALK.index("client")] == UNKNOWN)
    if len(unknown):
        connections = Counter(chain.from_iterable(end_pairs(named.tobytes())))
        pairs = end_pairs(named[unknown].tobytes())
        is_turned[unknown] = [guessed_client(*each, servers, connections) for each in pairs]
    ends_columns = columns[len(TALK) : len(TALK) + len(SENDER)], columns[len(TALK) + len(SENDER) :]
    swapped = numpy.flatnonzero(is_turned)
    for one, other in zip(*ends_columns, strict=True):
        one[swapped], other[swapped] = other[swapped], one[swapped]
    counts = dict(zip(TALK, columns, strict=False))
    of_client, of_server = (dict(zip(SENDER, each, strict=True)) for each in ends_columns)
    schema = stored_schema("tcp")
    accepted = counts["answered"] > 0
    opened = counts["syns"] > 0
    through = accepted & (counts["established_ns"] > 0)
    # Negative: packets were captured in another order than they were sent.
    there, back = of_server["syn_ns"] - of_client["syn_ns"], counts["established_ns"] - of_server["syn_ns"]
    arrays = [
        *(
            Among(strings((text_ends, data)), numpy.frombuffer(places, numpy.int32)).dictionary()
            for places, text_ends, data in link_texts(named.tobytes(), is_turned)
        ),
        integers(counts["first_ns"], "int64"), integers(counts["last_ns"], "int64"), integers(opened, "bool"),
        integers(counts["syns"], "int32"), integers(accepted, "bool"),
        milliseconds(there, ~(opened & accepted) | (there < 0)),
        milliseconds(back, ~through | (back < 0)),
        milliseconds(counts["back_ns"]),
        *columns_of(of_client, schema), *columns_of(of_server, schema),
    ]  # fmt: skip
    return pyarrow.record_batch(arrays, schema=schema)


def port_of(end: str) -> int:
    return int(end.rpartition(":")[2])


def guessed_client(first: str, second: str, servers: Container[str], connections: Mapping[str, int]) -> int:
    """Return which end probably connected (0 or 1), if that was not captured: the one that is not a known server, or
    has fewer connections, or the higher port, as ephemeral ports are high.
    """

    def rank(end: str) -> tuple[bool, int, int]:
        return end not in servers, -connections[end], port_of(end)

    return int(rank(second) > rank(first))


def columns_of(by: dict[str, Any], schema: Any) -> Iterator[Any]:
    """Yield the columns of one end, in the order of the table."""
    import numpy

    alive = by["unacked_ns"] > 0
    for name in COUNTS:
        yield integers(by[name], "int64")
    yield milliseconds(by["zero_window_ns"])
    for name in ("syn_ns", "fin_ns", "rst_ns"):
        yield integers(by[name], "int64", by[name] == 0)
    yield milliseconds(by["resent_wait_ns"])
    yield integers(by["unacked_ns"], "int64", ~alive)
    yield milliseconds(by["unacked_silence_ns"], ~alive)
    yield integers(by["unacked_resent"], "int64")
    yield integers(by["alert"] & 255, "int32", by["alert"] < 0)
    yield integers(by["alert_ns"], "int64", by["alert"] < 0)
    yield hexadecimal(by["first_bytes"]).array(schema.field("c_first_bytes").type)
    yield integers(by["first_size"], "int64")
    yield integers(by["first_ns"], "int64", by["first_ns"] == 0)
    yield integers(by["last_ns"], "int64", by["last_ns"] == 0)
    yield integers(by["rtt_samples"], "int64")
    for name in ("rtt_min_ns", "rtt_p50_ns", "rtt_p99_ns"):
        yield milliseconds(by[name], by[name] < 0)
    yield integers(by["sacks"], "int64")
    yield integers(by["repeats"], "int64")
    yield integers(by["early"], "int64")
    samples = by["early_samples"]
    yield milliseconds(by["early_ns"] / numpy.maximum(samples, 1), samples == 0)


def hexadecimal(numbers: Any) -> Among:
    """Return 64-bit numbers as texts: few of them differ."""
    import numpy

    different, places = numpy.unique(numbers, return_inverse=True)
    return Among(texts(f"{each & (1 << 64) - 1:016x}" for each in different.tolist()), places)


def milliseconds(ns: Any, missing: Any = None) -> Any:
    return integers(ns / NS_IN_MS, "double", missing)
