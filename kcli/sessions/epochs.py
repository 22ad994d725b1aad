"""The numbers of KIP-227: special epochs and session ids, error codes, the eviction time, the shards of a cache."""

NO_SESSION = 0
FULL_EPOCH, FINAL_EPOCH, FIRST_EPOCH, MAX_EPOCH = 0, -1, 1, 2**31 - 1
ID_NOT_FOUND, EPOCH_MISMATCH, TOPIC_ID_MISMATCH = 70, 71, 106
EVICTION_MS = 120_000
SHARDS = 8  # of a broker's cache in Kafka since 3.8


def next_epoch(epoch: int) -> int:
    """Return the epoch after this one: -1 stays -1, and 1 follows the greatest int32, because 0 means a full fetch."""
    if epoch < 0:
        return FINAL_EPOCH
    return FIRST_EPOCH if epoch == MAX_EPOCH else epoch + 1
