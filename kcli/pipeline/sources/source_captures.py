"""Captures as a data source of undecoded packets."""

import contextlib
import ipaddress
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from kcli.errors import InputError
from kcli.pipeline.packets.ranges import Range, RangeSource, cut
from kcli.pipeline.sources.file_source import KcliSource
from kcli.pipeline.storage import StoredFile

LARGEST = 1 << 62
LARGEST_INT = (1 << 31) - 1  # Spark's; a damaged header may have a larger length


class PacketSource(KcliSource):
    """A row for each packet, of any kind. `connection` has the lower end first; it is null without TCP."""

    columns = (
        ("timestamp", "timestamp"), ("ns", "bigint"), ("file", "string"), ("link", "int"), ("length", "int"),
        ("connection", "string"), ("data", "binary"),
    )  # fmt: skip

    @classmethod
    def name(cls) -> str:
        return "kcli.packets"

    def inputs(self) -> list[Any]:
        return self.ranges(self.files())

    def tasks_of_new(self, uris: Sequence[str]) -> list[Any]:
        return self.ranges(super().tasks_of_new(uris))

    def ranges(self, files: Sequence[StoredFile]) -> list[Any]:
        """Return the ranges of files, one for each task."""
        size = int(self.options.get("rangeBytes", 128 << 20))
        return [part for file in files for part in cut(file, size)]

    def rows(self, task: Range, wanted: frozenset[str]) -> Iterator[tuple[Any, ...]]:
        from kcli.core.capture.packet_shuffle import Scatter

        with contextlib.closing(RangeSource(task, Scatter(1, lambda *_: None))) as source:
            yield from self.packets(source, task, wanted)

    def packets(self, source: RangeSource, task: Range, wanted: frozenset[str]) -> Iterator[tuple[Any, ...]]:
        """Yield a row for each packet of a range."""
        file, reader = source.file, source.reader
        shown = "data" in wanted
        named = "connection" in wanted
        while True:
            left = file.offset + LARGEST if task.end is None else task.end - file.offset
            used, packets = reader.rows(file.data)
            for at, ns, link, length, ends, data in packets:
                if at >= left:
                    return
                name = connection_text(ends) if named and ends else None
                yield ns // 1000, ns, task.uri, link, min(length, LARGEST_INT), name, data if shown else None
            problem = reader.problem
            file.use(used)
            if problem:
                self.damaged(task.uri, f"{problem} at {file.offset:#x}")
                file.use(reader.resume(file.data))
            elif (task.end is not None and file.offset >= task.end) or not file.fill():
                return

    def damaged(self, uri: str, why: str) -> None:
        """Raise InputError if the option `damage` is "fail"."""
        if self.options.get("damage") == "fail":
            raise InputError(why, file=uri)


def connection_text(key: bytes) -> str:
    """Return "address:port-address:port" for the core's key: two addresses of 16 bytes in native words, two ports, and
    4 or 6.
    """
    a_high, a_low, b_high, b_low, a_port, b_port, version = struct.unpack_from("=QQQQHHH", key)
    return f"{end_text(a_high, a_low, a_port, version)}-{end_text(b_high, b_low, b_port, version)}"


def end_text(high: int, low: int, port: int, version: int) -> str:
    if version == 4:
        return f"{ipaddress.IPv4Address(low)}:{port}"
    return f"[{ipaddress.IPv6Address(high << 64 | low)}]:{port}"
