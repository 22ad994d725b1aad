"""The pipeline's readers on damaged files, as its tasks call them, without Spark."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kcli.errors import InputError
from tests.fuzz.samples import Round, on_samples

__all__ = ["READERS", "installed", "reader"]

CAPTURES, LOGS, SNAPSHOTS = "*.pcap*", "orders-0/*.log", "__cluster_metadata-0/*.checkpoint"


def whole(path: Path, _rng: random.Random) -> None:
    """A task that reads a capture as it is: a row for each exchange and what is in it, in Parquet files."""
    from kcli.pipeline.packets.decoding import DecodingOptions
    from kcli.pipeline.packets.direct_decode import DirectDecode
    from kcli.pipeline.storage import StoredFile

    file = StoredFile(str(path), path.stat().st_size, 0)
    DirectDecode((file,)).decode(str(path.parent / "out"), DecodingOptions())


def packets(path: Path, rng: random.Random) -> None:
    """Ranges of a capture: each finds its first packet by itself."""
    from kcli.pipeline.sources.source_captures import PacketSource

    exhaust(PacketSource({"path": str(path), "rangeBytes": str(rng.choice((1000, 9000, 1 << 20)))}))


def exchanges(path: Path, rng: random.Random) -> None:
    """Packets dealt out to shares, staged in files, and put together again."""
    from kcli.pipeline.sources.table_source import sources_of_tables

    source = next(each for each in sources_of_tables() if each.name() == "kcli.exchanges")
    exhaust(source({"path": str(path), "shares": str(rng.choice((1, 2, 5)))}))


def segments(path: Path, _rng: random.Random) -> None:
    from kcli.pipeline.sources.source_logs import SegmentSource

    exhaust(SegmentSource({"path": str(path)}))


def snapshots(path: Path, _rng: random.Random) -> None:
    from kcli.pipeline.sources.source_logs import SnapshotSource

    exhaust(SnapshotSource({"path": str(path)}))


def exhaust(source: Any) -> None:
    """Every row, as the Arrow batches that Spark gets."""
    from kcli.pipeline.sources.file_source import FileReader

    made = FileReader(source, [name for name, _ in source.chosen()])
    for part in made.partitions():
        for _ in made.read(part):
            pass


READERS: dict[str, tuple[str, Callable[[Path, random.Random], None]]] = {
    "pipeline whole": (CAPTURES, whole),
    "pipeline packets": (CAPTURES, packets),
    "pipeline exchanges": (CAPTURES, exchanges),
    "pipeline segments": (LOGS, segments),
    "pipeline snapshots": (SNAPSHOTS, snapshots),
}


def reader(name: str) -> Round:
    """One round of a reader: a sample, damaged; an InputError says what is wrong with the file."""
    pattern, read = READERS[name]

    def run(file: Path, rng: random.Random) -> None:
        try:
            read(file, rng)
        except InputError as error:
            assert file.name in str(error), f"{error} does not name the file"

    return on_samples(pattern, run)


def installed() -> Iterator[str]:
    """The readers, where what they need is there."""
    if all(importlib.util.find_spec(name) for name in ("pyspark", "pyarrow", "numpy")):
        yield from READERS
