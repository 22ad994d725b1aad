"""Rows of the table `tcp`, out of what the core counts."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence
from typing import Any

from kcli.core.capture.tcp_facts import SENDER, TALK
from kcli.pipeline.writing import stored_schema
from kcli.tables.arrays import Among, column_of, integers, texts

MS = 1_000_000
UNKNOWN = -1
# Columns of one end: (of the core, divided by; None: a time, 0: never).
COUNTS = ("segments", "bytes", "data_segments", "resent", "holes", "out_of_order", "duplicate_acks", "zero_windows")


def tcp_batch(
    ends: Sequence[tuple[str, str, str]], data: bytes, servers: Container[str] = (), ports: Collection[int] = ()
) -> Any:
    """Return a record batch of what `TcpFacts.take` gives. servers: ends that Kafka's requests were sent to. ports:
    connections without one of them are left out, if there are any.
    """
    import numpy
    import pyarrow

    width = len(TALK) + 2 * len(SENDER)
    rows = numpy.frombuffer(data, numpy.int64).reshape(-1, width)
    if ports:
        kept = [any(port_of(end) in ports for end in each[:2]) for each in ends]
        ends, rows = [each for each, keep in zip(ends, kept, strict=True) if keep], rows[numpy.array(kept, bool)]
    talk = dict(zip(TALK, rows.T[: len(TALK)], strict=True))
    both = [dict(zip(SENDER, part, strict=True)) for part in numpy.split(rows.T[len(TALK) :], 2)]
    client = talk["client"].copy()
    for row in numpy.flatnonzero(client == UNKNOWN).tolist():
        client[row] = guessed_client(*ends[row][:2], servers)
    of_client, of_server = (
        {name: numpy.where(client == end, both[0][name], both[1][name]) for name in SENDER} for end in (0, 1)
    )
    # What tells a connection from others of the same ends stands behind the client's, as in exchanges.
    servers_of = [each[1 - end] for each, end in zip(ends, client.tolist(), strict=True)]
    clients = [each[end] + each[2] for each, end in zip(ends, client.tolist(), strict=True)]
    schema = stored_schema("tcp")
    connections = [f"{server}-{other}" for server, other in zip(servers_of, clients, strict=True)]
    opened = talk["syns"] > 0
    accepted = talk["answered"] > 0
    through = accepted & (talk["established_ns"] > 0)
    arrays = [
        *(
            column_of(values, schema.field(name).type) for name, values in (
                ("connection", connections), ("server", servers_of), ("client", clients),
            )
        ),
        integers(talk["first_ns"], "int64"), integers(talk["last_ns"], "int64"), integers(opened, "bool"),
        integers(talk["syns"], "int32"), integers(accepted, "bool"),
        milliseconds(of_server["syn_ns"] - of_client["syn_ns"], ~(opened & accepted)),
        milliseconds(talk["established_ns"] - of_server["syn_ns"], ~through),
        *columns_of(of_client, schema), *columns_of(of_server, schema),
    ]  # fmt: skip
    return pyarrow.record_batch(arrays, schema=schema)


def port_of(end: str) -> int:
    return int(end.rpartition(":")[2])


def guessed_client(first: str, second: str, servers: Container[str]) -> int:
    """Return the end that connected, where that was not captured: it is no server, or has the higher port, as ephemeral
    ones are.
    """

    def rank(end: str) -> tuple[bool, int]:
        return end not in servers, port_of(end)

    return int(rank(second) > rank(first))


def columns_of(by: dict[str, Any], schema: Any) -> Iterator[Any]:
    """Yield the columns of one end, in the order of the table."""
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


def hexadecimal(numbers: Any) -> Among:
    """Return 64 bits each as text: few differ."""
    import numpy

    different, places = numpy.unique(numbers, return_inverse=True)
    return Among(texts(f"{each & (1 << 64) - 1:016x}" for each in different.tolist()), places)


def milliseconds(ns: Any, missing: Any = None) -> Any:
    return integers(ns / MS, "double", missing)
