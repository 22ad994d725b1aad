"""The control batch that ends a transaction in a partition."""

from kcli.broker.metadata.replicas import Replicas
from kcli.broker.partition import Partition
from kcli.broker.storage.incoming import stored
from kcli.records.builder import build_marker

COORDINATOR_EPOCH = 0


def end_in(
    replicas: Replicas,
    partition: Partition,
    producer: tuple[int, int],
    coordinator_epoch: int = COORDINATOR_EPOCH,
    *,
    commit: bool,
) -> None:
    """Append the control batch that ends the transaction of a producer (id, epoch) in a partition. Raises OSError."""
    marker = build_marker(commit, replicas.now(), 0, *producer, coordinator_epoch)
    partition.made_log().append(stored(marker), partition.epoch)
    replicas.appended(partition, len(marker))
    replicas.changed(partition)  # the last stable offset may have advanced
