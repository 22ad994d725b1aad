"""`decode pcap --format parquet`: a row for each exchange and event."""

from __future__ import annotations

from typing import Any, BinaryIO, Self

from kcli.capture.events import Event, Exchange, error_codes
from kcli.errors import UsageError
from kcli.jsontext import loads
from kcli.schemas.errors import error_name

__all__ = ["COLUMNS", "Writer"]

ROWS = 10_000  # in a row group

# Times are microseconds, UTC; request and response are JSON text in kcli's form.
COLUMNS = {
    "timestamp": "timestamp", "connection": "string", "server": "string", "client": "string", "client_id": "string",
    "api_key": "int16", "api_version": "int16", "api": "string", "correlation_id": "int32",
    "request": "string", "response": "string", "request_bytes": "int64", "response_bytes": "int64",
    "latency_ms": "float64", "errors": "strings", "event": "string",
    "offset": "int64", "bytes": "int64", "reason": "string",
}  # fmt: skip


class Writer:
    """A context: rows go out in groups, so that memory does not grow with the capture."""

    def __init__(self, out: BinaryIO) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise UsageError("--format parquet needs pyarrow (pip install 'kcli-kafka[parquet]')") from None
        types = {"timestamp": pyarrow.timestamp("us", "UTC"), "strings": pyarrow.list_(pyarrow.string())}
        fields = [(name, types.get(kind) or getattr(pyarrow, kind)()) for name, kind in COLUMNS.items()]
        self.arrow = pyarrow
        self.schema = pyarrow.schema(fields)
        self.out = out
        self.file: Any = None  # made with the first rows: a capture that can't be read at all gives no file
        self.rows: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        if self.rows or failed is None:
            self.flush()
        if self.file is not None:
            self.file.close()

    def add(self, item: Exchange | Event) -> None:
        self.rows.append(exchange_row(item) if isinstance(item, Exchange) else event_row(item))
        if len(self.rows) >= ROWS:
            self.flush()

    def flush(self) -> None:
        if self.file is None:
            self.file = self.arrow.parquet.ParquetWriter(self.out, self.schema, compression="zstd")
        self.file.write_table(self.arrow.Table.from_pylist(self.rows, schema=self.schema))
        self.rows = []


def exchange_row(exchange: Exchange) -> dict[str, Any]:
    header, request, response = exchange.texts()
    return {
        "timestamp": exchange.request_ns // 1000,
        "connection": exchange.connection,
        "server": exchange.link.server,
        "client": exchange.link.client,
        "client_id": loads(header)["clientId"],
        "api_key": exchange.api_key,
        "api_version": exchange.api_version,
        "api": exchange.bodies.name(exchange.api_key),
        "correlation_id": exchange.correlation_id,
        "request": request.decode(),
        "response": response.decode() if exchange.response_frame is not None else None,
        "request_bytes": exchange.request_bytes,
        "response_bytes": exchange.response_bytes,
        "latency_ms": exchange.latency_ms,
        "errors": list(dict.fromkeys(error_name(code) for code in error_codes(exchange.response or {}))),
    }


def event_row(event: Event) -> dict[str, Any]:
    return {
        "timestamp": event.ns // 1000,
        "connection": event.connection,
        "event": event.kind,
        "offset": event.offset,
        "bytes": event.size,
        "reason": event.reason,
    }
