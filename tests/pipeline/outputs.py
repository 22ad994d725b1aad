"""What the pipeline's tests share: runs without Spark, rows of the tables, and what `kcli decode pcap` says."""

from __future__ import annotations

import contextlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from deltalake import DeltaTable

from kcli.capture.io.files import FOREVER
from kcli.errors import InputError
from kcli.pipeline import run, stages
from kcli.pipeline.context import Options
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.local_engine import LocalEngine
from kcli.pipeline.packets.reading import START, Reading
from kcli.pipeline.packets.shuffle_files import Slice
from kcli.pipeline.packets.windows import Heavy, Window
from kcli.pipeline.rows.row_source import Opened
from kcli.pipeline.tables import TABLES
from tests.capture.decoding import as_lines

__all__ = [
    "Here",
    "assert_decoded",
    "cut_at",
    "decoded_lines",
    "events_of",
    "exchange_lines",
    "filled",
    "named",
    "rows_of",
    "run_here",
    "slices_of",
    "unaccounted",
    "window_count",
]


class Here(LocalEngine):
    """Runs tasks in this process, as many at a time as is said; makes no tables that look across connections."""

    def __init__(self, cores: int = 2) -> None:
        super().__init__()
        self.cores = cores

    def derive(self, *_: Any) -> list[Any]:
        """Leave these tables out."""
        return []


def run_here(inputs: Sequence[Path], output: Path, **options: Any) -> run.Summary:
    """A run in this process; the tables that look across connections are left out."""
    return run.run_pipeline(Here(), [str(path) for path in inputs], Options(str(output), **options))


def slices_of(*paths: Path) -> Opened:
    """Captures as if they were staged."""
    return partial(Reading, slices=[Slice(str(path)) for path in paths])


def rows_of(output: Path, table: str) -> list[dict[str, Any]]:
    """Return a table's rows as they are made of captures: without where they come from."""
    folder = output / "_kcli" / "facts" / table if table in FACTS else output / table
    if not folder.exists():
        return []
    if (folder / "_delta_log").is_dir():
        return list(DeltaTable(folder).to_pyarrow_table(columns=TABLES[table].names).to_pylist())
    written = pyarrow.dataset.dataset(str(folder), format="parquet", exclude_invalid_files=False)
    return list(written.to_table(columns=(TABLES | FACTS)[table].names).to_pylist())


def decoded_lines(captures: Sequence[Path], key_logs: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The lines of `kcli decode pcap --format jsonl`."""
    out = io.BytesIO()
    source = as_lines([str(path) for path in captures], key_logs=key_logs)
    with contextlib.suppress(InputError):  # a damaged file's lines are there all the same
        source.sink.write = out.write
        for _ in source.read():
            pass
    return [json.loads(line) for line in out.getvalue().splitlines()]


def exchange_lines(output: Path) -> Counter[str]:
    """The table's rows in the form of those lines."""
    made = []
    for row in rows_of(output, "exchanges"):
        line = {
            "timestamp": time_text(row["timestamp"]), "connection": row["connection"],
            "requestHeader": json.loads(row["request_header"]), "request": json.loads(row["request"] or "null"),
            "response": json.loads(row["response"] or "null"), "requestBytes": row["request_bytes"],
            "responseBytes": row["response_bytes"], "latencyMs": row["latency_ms"],
            "errors": None if row["errors"] is None else list(row["errors"]),
        }  # fmt: skip
        made.append(json.dumps(line, sort_keys=True))
    return Counter(made)


def events_of(output: Path) -> Counter[tuple[Any, ...]]:
    return Counter(
        (row["event"], row["connection"], time_text(row["timestamp"]), row["offset"], row["bytes"], row["reason"])
        for row in rows_of(output, "undecodable")
    )


def assert_decoded(output: Path, captures: Sequence[Path], key_logs: Sequence[str] = ()) -> None:
    """Exchanges and events are those of `kcli decode pcap`, row for row."""
    lines = decoded_lines(captures, key_logs)
    assert exchange_lines(output) == Counter(json.dumps(row, sort_keys=True) for row in lines if "event" not in row)
    events = [row for row in lines if "event" in row]
    names = ("event", "connection", "timestamp", "offset", "bytes", "reason")
    assert events_of(output) == Counter(tuple(row[name] for name in names) for row in events)
    assert lines


def named(table: str, rows: Any) -> list[dict[str, Any]]:
    """Rows of a table as dicts."""
    return [dict(zip(TABLES[table].names, row, strict=True)) for row in rows]


def time_text(when: Any) -> str:
    return f"{when:%Y-%m-%dT%H:%M:%S.%f}Z"


def unaccounted(output: Path) -> int:
    """Bytes of TCP's that are nowhere: 0, or there is a bug. Packets have to be the same on both sides, too."""
    rows = rows_of(output, "lineage")
    shares = [row for row in rows if row["scope"] != "file"]
    files = [row for row in rows if row["scope"] == "file"]
    assert sum(row["tcp_packets"] for row in files) == sum(row["packets"] for row in shares)
    assert sum(row["payload_bytes"] for row in files) == sum(row["payload_bytes"] for row in shares)
    assert sum(row["exchanges"] for row in shares) == len(rows_of(output, "exchanges"))
    assert sum(row["events"] for row in rows) == len(rows_of(output, "undecodable"))
    first, last = min(row["first"] for row in files if row["packets"]), max(row["last"] for row in files)
    timed = [row for row in shares if row["first"] is not None]
    assert timed and all(first <= row["first"] <= row["last"] <= last for row in timed)
    assert all(row["packets"] == 0 or row["name"] == "outside the sample" for row in shares if row["last"] is None)
    known = ("exchange_bytes", "event_bytes", "duplicate_bytes", "stray_bytes", "tls_bytes", "carried_bytes")
    return int(sum(row["payload_bytes"] - sum(row[name] for name in known) for row in shares))


def cut_at(monkeypatch: pytest.MonkeyPatch, edges: Iterable[int]) -> None:
    """Let connections be cut at these moments (ns), as far as they are in step behind them."""

    def aim(heavy: Heavy, _window_bytes: int) -> list[Window]:
        moments = [START, *sorted(set(edges))]
        return [heavy.window(number, after, FOREVER) for number, after in enumerate(moments)]

    monkeypatch.setattr(stages, "aim", aim)


def window_count(output: Path) -> int:
    """How many windows connections were cut into."""
    return sum(row["scope"] == "share" and "window" in row["name"] for row in rows_of(output, "lineage"))


def filled(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table with these values, and as little as may be in the others."""
    least = {"string": "", "strings": [], "binary": b""}
    blank = {each.name: None if each.nullable else least.get(each.kind, 0) for each in TABLES[table].columns}
    return blank | dict(row)


# What TCP says that takes more than one packet: a run that ends between these hides it.
SPANNING = ("retransmissions", "holes", "out_of_order", "duplicate_acks", "zero_window", "rtt_")


def settled(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without the columns about TCP that depend on where a run ends."""
    return {name: value for name, value in row.items() if not spans(name)}


def spans(column: str) -> bool:
    end, _, what = column.partition("_")
    return column in ("syn_ms", "ack_ms") or (end in ("client", "server") and what.startswith(SPANNING))
