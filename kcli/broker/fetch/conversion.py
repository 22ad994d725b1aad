"""Conversion of records to an older magic for old Fetch versions (KIP-283), while the response is sent.

Fetch v0 and v1 know magic 0, v2 and v3 magic 0 and 1. Batches of such a magic are sent as they are stored. Others are
converted in chunks (`kcli.records.fetching`) of message.downconversion.chunk.bytes, a config of kcli's own. The size is
sent before the records are converted; if the converted ones are shorter, the rest is filled up. With a topic's
message.downconversion.enable=false the error is UNSUPPORTED_VERSION. zstd can't be converted.
"""

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
    """Return the slice itself if no batch has too new a magic, else the records to convert, or an error code.

    offset: of the fetch; records before it may be left out. chunk_bytes: how many bytes are converted at once.
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
    """Return whether any batch in the slice has a magic above `most`."""
    end = found.position + found.size
    places = walk(found.file, found.position, end)
    return any(found.file.read(each.position + 16, 1)[0] > most for each in places) or starts_newer(found, most)


def starts_newer(found: Slice, most: int) -> bool:
    """Return whether the slice's first batch, which may be cut off, has a magic above `most`."""
    head = found.file.read(found.position + 16, 1)
    return bool(head) and head[0] > most


def reader(found: Slice) -> Callable[[memoryview, int], int]:
    file = found.file

    def read(into: memoryview, position: int) -> int:
        data = file.read(position, len(into))
        into[: len(data)] = data
        return len(data)

    return read
