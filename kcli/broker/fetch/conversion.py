"""Records in an older magic for fetches that know no newer one (KIP-283), made while they are sent.

Fetch v0 and v1 know magic 0, v2 and v3 magic 0 and 1. Batches of such a magic go out as they are stored. The rest is
converted in chunks (`kcli.records.fetching`) of message.downconversion.chunk.bytes, a config of kcli's own. Its size is
named before: so many bytes are sent, filled up where the converted records are fewer. A topic's
message.downconversion.enable=false refuses it: UNSUPPORTED_VERSION. zstd has no older form.
"""

from __future__ import annotations

from collections.abc import Callable

from kcli.broker.fetch.partition_reads import PartitionRead
from kcli.broker.response import Lazy
from kcli.broker.storage.headers import walk
from kcli.broker.storage.segment import Slice
from kcli.errors import InputError
from kcli.records.conversion import Slice as Source
from kcli.records.conversion import UnsupportedCompressionError
from kcli.records.fetching import FetchSend
from kcli.schemas.errors import error_code
from kcli.sessions.values import Result

UNSUPPORTED_VERSION, CORRUPT = error_code("UNSUPPORTED_VERSION"), error_code("CORRUPT_MESSAGE")
NEWEST_MAGIC = 2
UNSUPPORTED_COMPRESSION = error_code("UNSUPPORTED_COMPRESSION_TYPE")


def newest_magic(version: int) -> int:
    """Return the newest magic that a Fetch of this version knows."""
    return 0 if version < 2 else 1 if version < 4 else 2


def older_records(read: PartitionRead, version: int, offset: int, chunk_bytes: int) -> PartitionRead:
    """Return a partition's records in a magic that a Fetch of this version knows, or an error.

    offset, chunk_bytes: as for `convert`.
    """
    if not isinstance(read.records, Slice):
        return read
    allowed = read.partition is None or read.partition.topic.configs.down_converts
    made = convert(read.records, version, offset, allowed, chunk_bytes)
    if isinstance(made, int):
        return PartitionRead(Result(error=made), partition=read.partition)
    return read._replace(records=made)


def convert(found: Slice, version: int, offset: int, allowed: bool, chunk_bytes: int) -> Lazy | int:
    """Return the slice itself if its records are old enough, else the converted records; an error code if neither.

    offset: where the fetch begins; records before it may be left out. chunk_bytes: how much is converted at once.
    """
    most = newest_magic(version)
    if not newer_than(found, most):
        return found
    if not allowed:
        return UNSUPPORTED_VERSION
    try:
        source = Source(reader(found), found.position, found.size)
        return FetchSend(source, most, offset, chunk_bytes, forgiving=True)
    except UnsupportedCompressionError:
        return UNSUPPORTED_COMPRESSION
    except InputError:
        return CORRUPT


def newer_than(found: Slice, most: int) -> bool:
    """Return whether any batch in the slice is of a newer magic."""
    end = found.position + found.size
    places = walk(found.file, found.position, end)
    return any(found.file.read(each.position + 16, 1)[0] > most for each in places) or starts_newer(found, most)


def starts_newer(found: Slice, most: int) -> bool:
    """Return whether a first batch that is not whole in the slice is of a newer magic."""
    head = found.file.read(found.position + 16, 1)
    return bool(head) and head[0] > most


def reader(found: Slice) -> Callable[[memoryview, int], int]:
    file = found.file

    def read(into: memoryview, position: int) -> int:
        data = file.read(position, len(into))
        into[: len(data)] = data
        return len(data)

    return read
