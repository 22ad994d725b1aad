"""Transactions on disk: records of `__transaction_state` in Kafka's format."""

from collections.abc import Callable, Iterator

from kcli.broker.metadata.controller import Controller
from kcli.broker.metadata.state_topic import StateTopic
from kcli.broker.partition import by_topic
from kcli.broker.transactions.transaction import Transaction, TransactionState
from kcli.errors import InputError
from kcli.grammar import messages
from kcli.topic_names import TRANSACTION_STATE

KEY_VERSION, VALUE_VERSION = 0, 1


class TransactionLog:
    """The topic of transactions, which is created at the first write. note: called with a line about unreadable
    records.
    """

    def __init__(self, controller: Controller, note: Callable[[str], None]) -> None:
        self.topic = StateTopic(controller, TRANSACTION_STATE, note)
        self.key = messages.data("TransactionLogKey", KEY_VERSION)
        self.value = messages.data("TransactionLogValue", VALUE_VERSION)

    def write(self, each: Transaction) -> None:
        """Append the present state of a transaction. Raises OSError."""
        listed = by_topic(each.partitions)
        value = {
            "producerId": each.producer_id,
            "producerEpoch": each.epoch,
            "transactionTimeoutMs": each.timeout_ms,
            "transactionStatus": int(each.state),
            "transactionPartitions": [{"topic": topic, "partitionIds": ids} for topic, ids in listed.items()],
            "transactionLastUpdateTimestampMs": each.updated,
            "transactionStartTimestampMs": each.started,
            "clientTransactionVersion": each.version,
        }
        key = KEY_VERSION.to_bytes(2, "big") + self.key.write({"transactionalId": each.name})
        self.topic.write(each.name, [(key, VALUE_VERSION.to_bytes(2, "big") + self.value.write(value))])

    def load(self) -> Iterator[Transaction]:
        """Yield transactions in the order in which they were written; the last one of each id is its state."""
        for partition, batch, records in self.topic.load():
            for record in records if not batch.is_control else ():
                try:
                    if record.key is not None and record.value is not None:
                        yield self.decode(record.key, record.value)
                except (InputError, ValueError) as error:
                    self.topic.note(f"{TRANSACTION_STATE}-{partition}: left out: record {record.offset}: {error}")

    def decode(self, key: bytes, value: bytes) -> Transaction:
        """Decode the transaction in a record. Raises InputError or ValueError if it is invalid."""
        version = int.from_bytes(value[:2], "big")
        fields = messages.data("TransactionLogValue", version).read(value, 2)[0]
        listed = fields["transactionPartitions"] or ()
        return Transaction(
            self.key.read(key, 2)[0]["transactionalId"],
            fields["producerId"],
            fields["producerEpoch"],
            fields["transactionTimeoutMs"],
            state=TransactionState(fields["transactionStatus"]),
            version=fields.get("clientTransactionVersion", 0),
            started=fields["transactionStartTimestampMs"],
            updated=fields["transactionLastUpdateTimestampMs"],
            partitions={(topic["topic"], index) for topic in listed for index in topic["partitionIds"]},
        )
