from kcli.broker.transactions.transaction import Transaction, TransactionState
from kcli.broker.transactions.transaction_log import TransactionLog
from kcli.topic_names import TRANSACTION_STATE
from tests.broker.talk import run, talking


def test_a_transaction_is_read_as_it_was_written_and_what_is_damaged_is_noted() -> None:
    async def work() -> None:
        async with talking() as talk:
            log = TransactionLog(talk.broker.controller, notes.append)
            each = Transaction("tx", 7, 3, 1000, state=TransactionState.ONGOING, version=2, started=5, updated=6)
            log.write(each)
            each.partitions = {("t", 1), ("t", 0), ("u", 4)}
            log.write(each)
            log.topic.write("tx", [(b"\0\0", b"\0\1junk"), (b"\0\0", None)])
            found = list(log.load())
            assert [one.partitions for one in found] == [set(), each.partitions]
            assert found[1] == each

    notes: list[str] = []
    run(work())
    assert len(notes) == 1 and notes[0].startswith(f"{TRANSACTION_STATE}-") and "record 2" in notes[0]
