"""The transaction coordinator (KIP-98, KIP-360, KIP-890; Kafka's TransactionCoordinator).

    EMPTY            the producer has an id and an epoch
    ONGOING          partitions were added
    PREPARE_COMMIT   the decision is written, so that the transaction is also committed after a restart
    COMPLETE_COMMIT  all partitions have the marker; the next one may begin. Likewise PREPARE_ and COMPLETE_ABORT

* Here a transaction ends within one request, so that no client sees the PREPARE states.
* A new InitProducerId fences the former producer by the next epoch. If that has an open transaction, it is aborted, and
  as in Kafka the request gets CONCURRENT_TRANSACTIONS once, after which the client retries.
* A transaction that exceeds its timeout is aborted, and its producer is fenced. If a producer of version 2 aborts it
  afterwards, that counts as a repeated EndTxn, and the producer can continue.
* A producer of version 2 (EndTxn v5) gets the next epoch at the end of each transaction, so that late batches of the
  transaction are recognized. It may abort a transaction that never began, and repeat an EndTxn whose response was lost.
* A producer id without epochs left is replaced by a new one.
"""

from collections.abc import Callable, Collection, Iterator

from kcli.broker.groups.coordinator import Groups
from kcli.broker.metadata.controller import Controller
from kcli.broker.partition import Key
from kcli.broker.transactions.markers import end_in
from kcli.broker.transactions.transaction import BUMPING, Transaction, TransactionState
from kcli.broker.transactions.transaction_log import TransactionLog
from kcli.records.acceptance import RefusedError

HIGHEST_EPOCH = (1 << 15) - 1


class Transactions:
    """The transactions by transactional id. note: called with a line about state that can't be read or written.

    Raises RefusedError, with the name of Kafka's error, if a request is refused. Raises OSError if the state can't be
    written.
    """

    def __init__(self, controller: Controller, groups: Groups, note: Callable[[str], None]) -> None:
        self.topics, self.replicas, self.metadata = controller.topics, controller.replicas, controller.metadata
        self.configs, self.groups, self.note = controller.configs, groups, note
        self.clock = controller.replicas.clock
        self.log = TransactionLog(controller, note)
        self.by_id: dict[str, Transaction] = {each.name: each for each in self.log.load()}
        for each in self.by_id.values():
            if each.state.is_ending:
                self.complete(each, each.producer_id, each.epoch)
            elif each.state is TransactionState.ONGOING:
                self.start_timer(each)

    def __iter__(self) -> Iterator[Transaction]:
        return iter(self.by_id.values())

    # --- requests

    def begin(self, name: str, timeout_ms: int, producer_id: int, epoch: int) -> Transaction:
        """Give a producer its id and the next epoch (InitProducerId). producer_id, epoch: its present ones, or -1.

        Raises RefusedError.
        """
        if not 0 < timeout_ms <= self.configs.int("transaction.max.timeout.ms"):
            raise RefusedError("INVALID_TRANSACTION_TIMEOUT", f"transaction.timeout.ms {timeout_ms}")
        each = self.by_id.get(name)
        if each is None:
            each = self.by_id[name] = Transaction(name, self.metadata.new_producer_id(), 0, timeout_ms)
        elif producer_id not in (-1, each.producer_id):
            raise RefusedError("PRODUCER_FENCED", f"{name} has producer {each.producer_id}, not {producer_id}")
        elif each.state is TransactionState.ONGOING:
            self.fence(each)
            raise RefusedError("CONCURRENT_TRANSACTIONS", f"{name}: the transaction before was open, and is aborted")
        elif producer_id != -1 and epoch not in (each.epoch, each.last_epoch):
            raise fenced(each, epoch)
        elif producer_id == -1 or epoch == each.epoch:  # else it repeats the request, or continues after an abort
            self.bump(each)
            each.last_epoch = epoch
        each.timeout_ms, each.state, each.started = timeout_ms, TransactionState.EMPTY, -1
        self.write(each)
        return each

    def add(self, name: str, producer_id: int, epoch: int, keys: Collection[Key], *, version: int = 0) -> None:
        """Add partitions to the transaction; the first ones begin it. Raises RefusedError."""
        each = self.of_producer(name, producer_id, epoch)
        if each.state is not TransactionState.ONGOING:
            each.state, each.started, each.version = TransactionState.ONGOING, self.replicas.now(), version
            self.start_timer(each)
        elif each.partitions.issuperset(keys):
            return
        each.partitions.update(keys)
        self.write(each)

    def check(self, name: str, producer_id: int, epoch: int, key: Key, *, abortable: bool) -> None:
        """Refuse writes to a partition that is not in the producer's open transaction. Raises RefusedError.

        abortable: the client knows TRANSACTION_ABORTABLE (KIP-890).
        """
        each = self.of_producer(name, producer_id, epoch)
        if each.state is not TransactionState.ONGOING or key not in each.partitions:
            error = "TRANSACTION_ABORTABLE" if abortable else "INVALID_TXN_STATE"
            raise RefusedError(error, f"{key[0]}-{key[1]} is not part of a transaction of {name}")

    def end(self, name: str, producer_id: int, epoch: int, *, commit: bool, version: int) -> Transaction:
        """Commit or abort a transaction (EndTxn). version: 2 for a producer that gets a new epoch in the response.

        Raises RefusedError.
        """
        each = self.known(name, producer_id)
        wanted = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
        repeated = version >= BUMPING and epoch == each.epoch - 1 and each.state.is_complete
        if epoch != each.epoch and not repeated:
            raise fenced(each, epoch)
        if each.state is TransactionState.ONGOING or (version >= BUMPING and not commit and not repeated):
            each.version = version
            self.finish(each, commit=commit)
        elif each.state is not wanted or (version >= BUMPING and not repeated):
            raise RefusedError("INVALID_TXN_STATE", f"{name} has no open transaction")
        return each

    # --- what producers do

    def known(self, name: str, producer_id: int) -> Transaction:
        """Return the transaction of a transactional id and producer id. Raises RefusedError."""
        each = self.by_id.get(name)
        if not name:
            raise RefusedError("INVALID_REQUEST", "no transactional id")
        if each is None or each.producer_id != producer_id:
            raise RefusedError("INVALID_PRODUCER_ID_MAPPING", f"{name} is not the transactional id of {producer_id}")
        return each

    def of_producer(self, name: str, producer_id: int, epoch: int) -> Transaction:
        """Return the transaction of a transactional id and producer id. Raises RefusedError also for another epoch."""
        each = self.known(name, producer_id)
        if epoch != each.epoch:
            raise fenced(each, epoch)
        return each

    def bump(self, each: Transaction) -> None:
        """Advance to the next epoch, or to a new producer id if no epoch is left."""
        if each.is_exhausted:
            each.producer_id, each.epoch = self.metadata.new_producer_id(), 0
        else:
            each.epoch += 1

    def fence(self, each: Transaction) -> None:
        """Abort an open transaction in the next epoch, which fences its producer until that requests the epoch by its
        former one; it may not if the epoch is the last.
        """
        each.last_epoch = -1 if each.is_exhausted else each.epoch
        self.finish(each, commit=False, fencing=True)

    def expire(self, each: Transaction) -> None:
        """Abort a transaction after its timeout."""
        each.timer = None
        try:
            self.fence(each)
        except OSError as error:
            self.note(f"transaction {each.name}: {error.strerror}")

    def finish(self, each: Transaction, *, commit: bool, fencing: bool = False) -> None:
        """Write the decision, then the markers. fencing: the markers have the next epoch in any version
        (KAFKA-19367).
        """
        each.stop_timer()
        producer_id, epoch = each.producer_id, each.epoch
        each.state = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
        if fencing:
            each.epoch = epoch = epoch + 1
        elif each.version >= BUMPING:
            epoch = min(epoch + 1, HIGHEST_EPOCH)
            self.bump(each)
        self.write(each)
        self.complete(each, producer_id, epoch)

    def complete(self, each: Transaction, producer_id: int, epoch: int) -> None:
        """Write the markers to all partitions, with this producer id and epoch, and complete the transaction."""
        commit = each.state is TransactionState.PREPARE_COMMIT
        for name, index in sorted(each.partitions):
            topic = self.topics.by_name.get(name)
            partition = None if topic is None else topic.partition(index)
            if partition is None:
                continue  # It was deleted in the meantime.
            end_in(self.replicas, partition, (producer_id, epoch), commit=commit)
        self.groups.end_transaction(producer_id, commit=commit)
        each.partitions.clear()
        each.state = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
        self.write(each)

    def write(self, each: Transaction) -> None:
        """Store the present state of a transaction. Raises OSError."""
        each.updated = self.replicas.now()
        self.log.write(each)

    def start_timer(self, each: Transaction) -> None:
        """Start the timer that aborts a transaction after its timeout."""
        each.timer = self.clock.call_later(each.timeout_ms / 1000, self.expire, each)

    def forget(self) -> None:
        """Drop all transactions from memory."""
        self.close()
        self.by_id.clear()

    def close(self) -> None:
        """Stop all timers."""
        for each in self.by_id.values():
            each.stop_timer()


def fenced(each: Transaction, epoch: int) -> RefusedError:
    return RefusedError("PRODUCER_FENCED", f"producer {each.producer_id} is in epoch {each.epoch}, not {epoch}")
