"""The files of connections that are open at the end of a run: each task writes those of its share, and reads them.

They are Parquet files with a row for each connection. A run with as many shares as the one before reads of each share
the one file; with another number, a task looks through the buckets of all.
"""

from __future__ import annotations

import io
import pickle
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kcli.errors import InputError
from kcli.pipeline.entry import Entry
from kcli.pipeline.packets.open_connections import Carried
from kcli.pipeline.storage import StoragePath
from kcli.pipeline.writing import WrittenFile
from kcli.tables.arrays import batch_of_rows

SUFFIX = ".open"  # of the files' names, which begin with the share's number
SHARES = "shares"  # in a run's stats: how many it has dealt the connections into
MAGIC = b"PAR1"
IPV4 = 4
BUCKET = 40  # bits of a connection's hash below those of its bucket: see `share_of`


@dataclass(frozen=True, slots=True)
class Kept:
    """The open connections that a task goes on with: those of a share. uris: of files that they are among. without:
    the hash of one that is left out; alone: of the only one wanted.
    """

    uris: tuple[str, ...] = ()
    share: int = 0
    shares: int = 1
    without: int | None = None
    alone: int | None = None

    def read(self) -> list[Carried]:
        """Read the kept connections. Raises InputError if a file is damaged."""
        return [flow for uri in self.uris for flow in self.among(uri) if self.takes(flow)]

    def takes(self, flow: Carried) -> bool:
        """Return whether a connection is wanted."""
        from kcli.core.capture.packet_shuffle import hash_of

        found = hash_of(flow[0])
        right = found != self.without if self.alone is None else found == self.alone
        return right and (found >> BUCKET) % self.shares == self.share

    def connections(self) -> set[str]:
        """Return the connections, as "server-client", or the other way round. Raises InputError if a file is
        damaged.
        """
        return {connection for uri in self.uris for connection in connections_in(uri)}

    def among(self, uri: str) -> list[Carried]:
        """Read the connections of a file that are in the share's buckets. Raises InputError."""
        import pyarrow.parquet

        with StoragePath(uri).open() as file:
            if bytes(file.read(len(MAGIC))) != MAGIC:  # by an older kcli, one file for all
                return unpack(StoragePath(uri).read())
            try:
                source = pyarrow.parquet.ParquetFile(file)
                buckets = source.read(["bucket"]).column(0).to_pylist()
                places = [place for place, bucket in enumerate(buckets) if bucket % self.shares == self.share]
                states = source.read(["state"]).column(0) if places else []
            except (pyarrow.ArrowException, OSError) as error:
                raise InputError(f"not what kcli pipeline kept: {error}", file=uri) from None
        return [flow for place in places for flow in unpack(states[place].as_py())]


def connections_in(uri: str) -> list[str]:
    """Return the connections of a file. Raises InputError if it is damaged."""
    import pyarrow.parquet

    with StoragePath(uri).open() as file:
        if bytes(file.read(len(MAGIC))) != MAGIC:  # by an older kcli
            return [text_of(flow) for flow in unpack(StoragePath(uri).read())]
        try:
            found = pyarrow.parquet.ParquetFile(file).read(["connection"]).column(0)
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(f"not what kcli pipeline kept: {error}", file=uri) from None
    return [text for text in found.to_pylist() if text is not None]  # an older kcli left out those not yet Kafka's


WHOLE = Kept()


def kept_by(entry: Entry | None, output: StoragePath) -> Kept:
    """Return all that a run has kept."""
    return WHOLE if entry is None else Kept(tuple((output / path).uri for path in entry.carry))


def of_shares(kept: Kept, before: int | None, count: int) -> list[Kept]:
    """Return the state that each of `count` shares continues from. before: the number of shares when it was kept."""
    made = [replace(kept, share=share, shares=count) for share in range(count)]
    if before != count:
        return made
    return [replace(each, uris=tuple(uri for uri in kept.uris if share_in(uri) == each.share)) for each in made]


def share_in(uri: str) -> int:
    """Return the share that a published file of `write` is of."""
    return int(uri.rpartition("/")[2].split("-")[1])


def write(folder: str, name: str, flows: Sequence[Carried]) -> list[WrittenFile]:
    """Write the connections into a file below a run's folder; none for none. name: begins with the share's number."""
    import pyarrow
    import pyarrow.parquet

    from kcli.core.capture.packet_shuffle import hash_of

    if not flows:
        return []
    kinds = {"bucket": pyarrow.int64(), "connection": pyarrow.string(), "last_ns": pyarrow.int64()}
    schema = pyarrow.schema([*kinds.items(), ("state", pyarrow.binary())])
    rows = [(hash_of(flow[0]) >> BUCKET, text_of(flow), flow[2], pack([flow])) for flow in flows]
    with (StoragePath(folder) / f"{name}{SUFFIX}").create() as file:
        made = pyarrow.Table.from_batches([batch_of_rows(rows, schema)])
        pyarrow.parquet.write_table(made, file, compression="zstd")
    return [WrittenFile("", None, f"{name}{SUFFIX}", len(rows))]


def link_of(flow: Carried) -> str | None:
    """Return "server-client" of an open connection; None while it is not one of Kafka's."""
    state = flow[6]
    return None if state is None or state[4] is None else state[4]["link"]


def text_of(flow: Carried) -> str:
    """Return "server-client" of an open connection; its ends in any order while it is not one of Kafka's."""
    return link_of(flow) or "-".join(end_texts(flow[0]))


def end_texts(ends: bytes) -> tuple[str, str]:
    """Return the texts of two ends as the core has them (kc_ends and kc_put_end in packets.h)."""
    *halves, first, second, version, _ = struct.unpack("=4Q4H", ends)
    hosts = []
    for high, low in (halves[:2], halves[2:]):
        if version == IPV4:
            hosts.append(socket.inet_ntop(socket.AF_INET, struct.pack(">I", low)))
        else:
            hosts.append(f"[{socket.inet_ntop(socket.AF_INET6, struct.pack('>2Q', high, low))}]")
    return f"{hosts[0]}:{first}", f"{hosts[1]}:{second}"


def untouched(before: Sequence[Carried], after: Sequence[Carried]) -> set[str]:
    """Return the connections ("server-client") that were open before a run and after it, and had no packet in it."""
    last = {flow[0]: flow[2] for flow in before}
    same = (link_of(flow) for flow in after if flow[0] in last and last[flow[0]] == flow[2])
    return {link for link in same if link is not None}


def pack(carried: Sequence[Carried]) -> bytes:
    """Pack connections into bytes."""
    return pickle.dumps(list(carried), protocol=4)


class PlainUnpickler(pickle.Unpickler):
    """Lists, dicts, numbers, bytes: a file in an output folder can name no code."""

    def find_class(self, module: str, name: str) -> Any:
        raise InputError(f"not what kcli pipeline kept: it names {module}.{name}")


def unpack(data: bytes) -> list[Carried]:
    """Unpack connections. Raises InputError for other bytes than those of `pack`."""
    try:
        return list(PlainUnpickler(io.BytesIO(data)).load())
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError) as error:
        raise InputError(f"not what kcli pipeline kept: {error}") from None
