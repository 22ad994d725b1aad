"""The totals of a run, which `--fail-if` is about."""

from collections.abc import Sequence
from typing import Any

from kcli.capture.captured_time import CapturedTime
from kcli.pipeline.context import RunContext
from kcli.pipeline.packets.decoding import Decoded
from kcli.pipeline.packets.shuffle import ShuffledRange
from kcli.pipeline.storage import StoragePath
from kcli.tables.definition import columns

TOTALS = columns("""
captures       int64    files that the run has read
packets        int64    packets in these files
cut_packets    int64    packets truncated within their headers
seconds        float64  captured time: from the first packet to the last, without the time between files
sample         float64  share of the connections that was read; 1 is all
bytes          int64    captured bytes of TCP
lost_bytes     int64    bytes of TCP that are in no capture: in gaps, or cut off by the snapshot length
undecoded_bytes int64   captured bytes that are in no exchange: those in rows of `undecodable`
duplicate_bytes int64   bytes sent or captured more than once
stray_bytes    int64    bytes after the end of their connection, on other ports, or outside the sample
connections    int64    connections of Kafka
exchanges      int64    rows of `exchanges`
errors         int64    exchanges whose response has an error
unanswered     int64    exchanges without a response
request_bytes  int64    bytes of all requests
response_bytes int64
events         int64    rows of `undecodable`
findings       int64    rows of `findings`, which cover all captures of the folder
warnings       int64    findings of severity `warning`
critical       int64    findings of severity `critical`
""")
LOSSES = ("gap", "truncated")  # events that may be about bytes which were not captured


def totals_of(context: RunContext, scattered: Sequence[ShuffledRange], decoded: Sequence[Decoded]) -> dict[str, Any]:
    """Return the totals of a run that has written its files, by name."""
    made: dict[str, Any] = {
        "captures": len(context.entry.inputs),
        "sample": 1.0 if context.options.sample is None else context.options.sample,
        "packets": sum(each.packets for each in scattered),
        "cut_packets": sum(each.cuts for each in scattered),
        "seconds": captured(scattered).seconds(),
        "bytes": sum(each.payload for each in scattered),
        "undecoded_bytes": sum(each.event_bytes + each.open_bytes[1] for each in decoded),
        "duplicate_bytes": sum(each.duplicates for each in decoded),
        "stray_bytes": sum(each.strays for each in decoded) + sum(each.outside_bytes for each in scattered),
        "exchanges": sum(each.exchanges + each.open_rows[0] for each in decoded),
    }
    return made | of_connections(context) | of_events(context) | of_findings(context)


def captured(scattered: Sequence[ShuffledRange]) -> CapturedTime:
    """Return the time of the files that ranges are of."""
    spans: dict[str, tuple[int, int]] = {}
    for each in scattered:
        if each.first_ns:
            first, last = spans.get(each.part.uri, (each.first_ns, each.last_ns))
            spans[each.part.uri] = min(first, each.first_ns), max(last, each.last_ns)
    return CapturedTime.of_files(spans.values())


def of_connections(context: RunContext) -> dict[str, Any]:
    """Return the sums of the run's connections."""
    sums = {"errors": "with_errors"} | {each: each for each in ("unanswered", "request_bytes", "response_bytes")}
    rows = own_rows(context, "connection_sums", ["connection", *sums.values()])
    return {"connections": len(set(rows.pop("connection")))} | {name: sum(rows[each]) for name, each in sums.items()}


def of_events(context: RunContext) -> dict[str, Any]:
    """Return how many events there are, and how many bytes they say are missing."""
    rows = own_rows(context, "undecodable", ["event", "captured", "bytes"])
    lost = sum(size for event, captured, size in zip(*rows.values(), strict=True) if event in LOSSES and not captured)
    return {"events": len(rows["event"]), "lost_bytes": lost}


def of_findings(context: RunContext) -> dict[str, Any]:
    """Return how many findings there are, and how grave they are."""
    found = own_rows(context, "findings", ["severity"])["severity"]
    return {"findings": len(found), "warnings": found.count("warning"), "critical": found.count("critical")}


def own_rows(context: RunContext, table: str, names: list[str]) -> dict[str, list[Any]]:
    """Return columns of the rows that this run has written for a table."""
    import pyarrow.parquet

    rows: dict[str, list[Any]] = {name: [] for name in names}
    for uri in context.own_files(table):
        with StoragePath(uri).open() as file:
            read = pyarrow.parquet.ParquetFile(file).read(names).to_pydict()
        for name in names:
            rows[name] += read[name]
    return rows
