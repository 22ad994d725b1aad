"""Chooses a record's partition: by the hash of its key, else in turn, batch by batch (KIP-480, KIP-794)."""

MASK = 0xFFFFFFFF
SEED = 0x9747B28C
MULTIPLIER = 0x5BD1E995


def murmur2(data: bytes) -> int:
    """Return the 32-bit hash of Kafka's Utils.murmur2, unsigned."""
    length = len(data)
    h = SEED ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * MULTIPLIER & MASK
        k = (k ^ k >> 24) * MULTIPLIER & MASK
        h = (h * MULTIPLIER & MASK) ^ k
    if length > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * MULTIPLIER & MASK
    h = (h ^ h >> 13) * MULTIPLIER & MASK
    return h ^ h >> 15


class Partitioner:
    """Chooses partitions. partitions: their number in the topic. Records without a key go to the sticky partition,
    which changes after `stay` bytes, and by `turn` when a batch is full."""

    def __init__(self, partitions: int, stay: int) -> None:
        self.partitions, self.stay = partitions, stay
        self.sticky = self.bytes = 0

    def choose(self, key: bytes | None) -> int:
        """Return the partition of a record: by the hash of its key (murmur2, as in Java's), or the sticky one."""
        if key is None:
            return self.sticky
        return (murmur2(key) & 0x7FFFFFFF) % self.partitions

    def count_sticky(self, size: int) -> None:
        """Count the bytes of a record without a key; after enough of them the next partition is the sticky one."""
        self.bytes += size
        if self.bytes >= self.stay:
            self.turn()

    def turn(self) -> None:
        """Make the next partition the sticky one."""
        self.bytes = 0
        self.sticky = (self.sticky + 1) % self.partitions
