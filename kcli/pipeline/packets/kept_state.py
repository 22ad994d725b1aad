"""The files of connections that are open at the end of a run. Each task writes the file of its share.

They are Parquet files with one row for each connection. If the next run has the same number of shares, each task reads
only the file of its share; otherwise it searches all files for the buckets of its share.
"""

import io
import pickle
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kcli.errors import InputError
from kcli.file_kinds import PARQUET
from kcli.pipeline.entry import Entry
from kcli.pipeline.packets.open_connections import Carried
from kcli.pipeline.storage import StoragePath
from kcli.pipeline.writing import WrittenFile
from kcli.tables.arrays import batch_of_rows

SUFFIX = ".open"  # the end of the files' names, which begin with the share's number
SHARES = "shares"  # the key in a run's stats of its number of shares
IPV4 = 4
BUCKET = 40  # the bits of a connection's hash from here on are its bucket, see `share_of`


@dataclass(frozen=True, slots=True)
class Kept:
    """The open connections of a share, with which a task continues. uris: the files that contain them, maybe among
    others. without: the hash of a connection to leave out; alone: the hash of the only connection wanted.
    """

    uris: tuple[str, ...] = ()
    share: int = 0
    shares: int = 1
    without: int | None = None
    alone: int | None = None

    def read(self) -> list[Carried]:
        """Read the kept connections. Raises InputError if a file is damaged."""
        return [flow for uri in self.uris for flow in self.among(uri) if self.includes(flow)]

    def includes(self, flow: Carried) -> bool:
        """Return whether a connection belongs to the share, by its hash."""
        from kcli.core.capture.packet_shuffle import hash_of

        found = hash_of(flow[0])
        right = found != self.without if self.alone is None else found == self.alone
        return right and (found >> BUCKET) % self.shares == self.share

    def connections(self) -> set[str]:
        """Return the connections as "server-client" (or "client-server" while that is unknown). Raises InputError if a
        file is damaged.
        """
        return {connection for uri in self.uris for connection in connections_in(uri)}

    def among(self, uri: str) -> list[Carried]:
        """Read the connections of a file that are in the share's buckets. Raises InputError if it is damaged."""
        import pyarrow.parquet

        with StoragePath(uri).open() as file:
            if bytes(file.read(len(PARQUET))) != PARQUET:  # written by an older kcli: one file for all
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
        if bytes(file.read(len(PARQUET))) != PARQUET:  # by an older kcli
            return [text_of(flow) for flow in unpack(StoragePath(uri).read())]
        try:
            found = pyarrow.parquet.ParquetFile(file).read(["connection"]).column(0)
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(f"not what kcli pipeline kept: {error}", file=uri) from None
    return [text for text in found.to_pylist() if text is not None]  # an older kcli left some out


WHOLE = Kept()


def kept_by(entry: Entry | None, output: StoragePath) -> Kept:
    """Return all open connections that a run has kept."""
    return WHOLE if entry is None else Kept(tuple((output / path).uri for path in entry.carry))


def of_shares(kept: Kept, before: int | None, count: int) -> list[Kept]:
    """Return the open connections for each of `count` shares. before: the number of shares when they were kept."""
    made = [replace(kept, share=share, shares=count) for share in range(count)]
    if before != count:
        return made
    return [replace(each, uris=tuple(uri for uri in kept.uris if share_in(uri) == each.share)) for each in made]


def share_in(uri: str) -> int:
    """Return the share's number from the URI of a published file of `write`."""
    return int(uri.rpartition("/")[2].split("-")[1])


def write(folder: str, name: str, flows: Sequence[Carried]) -> list[WrittenFile]:
    """Write the connections into a file in a run's folder; if there are none, no file. name: begins with the share's
    number.
    """
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
    """Return "server-client" of an open connection; None while it is not known to be Kafka."""
    state = flow[6]
    return None if state is None or state[4] is None else state[4]["link"]


def text_of(flow: Carried) -> str:
    """Return "server-client" of an open connection; its ends in any order while it is not known to be Kafka."""
    return link_of(flow) or "-".join(end_texts(flow[0]))


def end_texts(ends: bytes) -> tuple[str, str]:
    """Return the addresses of both ends. ends: as the core has them (kc_ends and kc_put_end in packets.h)."""
    *halves, first, second, version, _ = struct.unpack("=4Q4H", ends)
    hosts = []
    for high, low in (halves[:2], halves[2:]):
        if version == IPV4:
            hosts.append(socket.inet_ntop(socket.AF_INET, struct.pack(">I", low)))
        else:
            hosts.append(f"[{socket.inet_ntop(socket.AF_INET6, struct.pack('>2Q', high, low))}]")
    return f"{hosts[0]}:{first}", f"{hosts[1]}:{second}"


def untouched(before: Sequence[Carried], after: Sequence[Carried]) -> set[str]:
    """Return the connections ("server-client") that were open both before and after a run, and had no packet in it."""
    last = {flow[0]: flow[2] for flow in before}
    same = (link_of(flow) for flow in after if flow[0] in last and last[flow[0]] == flow[2])
    return {link for link in same if link is not None}


def last_times(carried: Sequence[Carried]) -> dict[str, int]:
    """Return the time (ns) of each connection's last packet, by its two ends in either order."""
    ends = [(*end_texts(flow[0]), flow[2]) for flow in carried]
    return {text: last for one, other, last in ends for text in (f"{one}-{other}", f"{other}-{one}")}


def pack(carried: Sequence[Carried]) -> bytes:
    """Pack connections into bytes."""
    return pickle.dumps(list(carried), protocol=4)


class PlainUnpickler(pickle.Unpickler):
    """An unpickler of lists, dicts, numbers and bytes only, so that a file in an output folder can run no code."""

    def find_class(self, module: str, name: str) -> Any:
        raise InputError(f"not what kcli pipeline kept: it names {module}.{name}")


def unpack(data: bytes) -> list[Carried]:
    """Unpack connections. Raises InputError if `pack` can't have written the bytes."""
    try:
        return list(PlainUnpickler(io.BytesIO(data)).load())
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError) as error:
        raise InputError(f"not what kcli pipeline kept: {error}") from None
