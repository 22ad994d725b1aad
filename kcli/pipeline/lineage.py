"""The table `lineage`: accounts for every packet and byte of a run, by file and by share of connections."""

from collections.abc import Sequence
from typing import Any

from kcli.capture.kafka.events import Event
from kcli.pipeline.context import RunContext
from kcli.pipeline.packets.decoding import Decoded, events_only
from kcli.pipeline.packets.shuffle import ShuffledRange
from kcli.pipeline.writing import TableWriter


def put_lineage(context: RunContext, scattered: Sequence[ShuffledRange], decoded: Sequence[Decoded]) -> None:
    """Write the run's lineage, and the damage that the first stage found in files."""
    entry = context.entry
    writer = TableWriter(context.folder, "lineage")
    damage: list[Event] = [event for each in scattered for event in each.events]
    events_only(damage, writer.put)
    for row in lineage_rows(entry.run, scattered, decoded):
        writer.put("lineage", row)
    entry.add(writer.close())
    ends = TableWriter(context.folder, "lineage-open")
    for row in open_rows(entry.run, decoded):
        ends.put("lineage", row)
    entry.add(ends.close(), passing=True)


def lineage_rows(run: int, scattered: Sequence[ShuffledRange], decoded: Sequence[Decoded]) -> list[tuple[Any, ...]]:
    """Return one row for each file, and one for each share."""
    files: dict[str, list[ShuffledRange]] = {}
    for each in scattered:
        files.setdefault(each.part.uri, []).append(each)
    rows = [file_row(run, uri, parts) for uri, parts in files.items()] + [share_row(run, each) for each in decoded]
    outside = [each for each in scattered if each.outside]
    return [*rows, outside_row(run, outside)] if outside else rows


def outside_row(run: int, parts: Sequence[ShuffledRange]) -> tuple[Any, ...]:
    """Return the row of packets in no share, because their connections are outside of the sample."""
    packets, strays = sum(each.outside for each in parts), sum(each.outside_bytes for each in parts)
    counts = (packets, packets, 0, 0, 0, 0, strays, 0, 0, 0, strays, 0, 0, 0, 0)
    return (run, "share", "outside the sample", None, *counts, None, None)


def file_row(run: int, uri: str, parts: Sequence[ShuffledRange]) -> tuple[Any, ...]:
    names = ("packets", "tcp", "others", "cuts", "fragments", "unknown_links", "payload")
    counts = [sum(getattr(each, name) for each in parts) for name in names]
    first = min((each.first_ns for each in parts if each.first_ns), default=0)
    last = max((each.last_ns for each in parts), default=0)
    nothing = (None,) * 6
    events = sum(len(each.events) for each in parts)
    return (run, "file", uri, parts[0].part.size, *counts, *nothing, None, events, *times(first, last))


def share_row(run: int, each: Decoded) -> tuple[Any, ...]:
    counts = (each.packets, each.packets, 0, 0, 0, 0, each.payload)
    bytes_ = (each.exchange_bytes, each.event_bytes, each.duplicates, each.strays, each.tls_bytes, each.carried)
    return (
        run,
        "share",
        str(each.share) if each.window is None else f"{each.share}, window {each.window}",
        None,
        *counts,
        *bytes_,
        each.exchanges,
        each.events,
        *times(each.first_ns, each.last_ns),
    )


def times(first_ns: int, last_ns: int) -> tuple[int, int] | tuple[None, None]:
    """Return the times (us) of the first packet and the last; (None, None) if there was none."""
    return (first_ns // 1000, last_ns // 1000) if first_ns else (None, None)


def open_rows(run: int, decoded: Sequence[Decoded]) -> list[tuple[Any, ...]]:
    """Return lineage rows of connections that are still open, without their carried bytes. The next run replaces
    them.
    """
    rows: list[tuple[Any, ...]] = []
    for each in decoded:
        exchange_bytes, event_bytes, tls_bytes = each.open_bytes
        exchanges, events = each.open_rows
        if any((*each.open_bytes, exchanges, events)):
            bytes_ = (exchange_bytes, event_bytes, 0, 0, tls_bytes, -exchange_bytes - event_bytes - tls_bytes)
            rows.append(
                (run, "open", str(each.share), None, *(0,) * 7, *bytes_, exchanges, events, None, each.last_ns // 1000)
            )
    return rows
