"""The files beside a partition's log, as constructs.

The offset index, time index and transaction index are rows of entries; a producer snapshot has a header. Sources:
Kafka's OffsetIndex, TimeIndex, TransactionIndex (AbortedTxn) and ProducerStateManager.
"""

from construct import GreedyRange

from kcli.grammar.words.arrays import Array
from kcli.grammar.words.fixed import fixed_layout
from kcli.grammar.words.scalars import Primitive
from kcli.grammar.words.structs import Struct

INT16, INT32, INT64, UINT32 = (Primitive(name) for name in ("int16", "int32", "int64", "uint32"))

# Offsets are relative to the offset in the file's name. The unused rest of a preallocated index is zeros.
OFFSET_INDEX_ENTRY = Struct(relativeOffset=INT32, position=INT32)
TIME_INDEX_ENTRY = Struct(timestamp=INT64, relativeOffset=INT32)
OFFSET_INDEX, TIME_INDEX = GreedyRange(OFFSET_INDEX_ENTRY), GreedyRange(TIME_INDEX_ENTRY)

TRANSACTION_INDEX_VERSION = 0
TRANSACTION_INDEX_ENTRY = Struct(
    version=INT16, producerId=INT64, firstOffset=INT64, lastOffset=INT64, lastStableOffset=INT64
)
TRANSACTION_INDEX = GreedyRange(TRANSACTION_INDEX_ENTRY)

# The crc is a CRC-32C of all bytes after it.
PRODUCER_SNAPSHOT_VERSION = 1
PRODUCER_ENTRY = Struct(
    producerId=INT64,
    producerEpoch=INT16,
    lastSequence=INT32,
    lastOffset=INT64,
    offsetDelta=INT32,
    lastTimestamp=INT64,
    coordinatorEpoch=INT32,
    currentTxnFirstOffset=INT64,
)
PRODUCER_SNAPSHOT = Struct(version=INT16, crc=UINT32, producers=Array(PRODUCER_ENTRY))
PRODUCER_HEAD = Struct(version=INT16, crc=UINT32, count=INT32)


def producer_crc_start() -> int:
    """Return the offset at which the bytes of a producer snapshot begin that its checksum covers."""
    return fixed_layout(PRODUCER_HEAD).offsets["count"]
