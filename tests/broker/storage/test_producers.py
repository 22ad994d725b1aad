"""Producers' states in Kafka's snapshot form."""

from kcli.broker.storage.producers import DUPLICATE, FENCED, OUT_OF_ORDER, ProducerStates

HEX = "000120d76ffd00000001000000000000000700020000000b00000000000000630000000100000000000003e8"


def test_a_snapshot_is_read_back() -> None:
    states = ProducerStates()
    states.note(7, 2, 10, (98, 99, 1000), False)
    states.note(8, 0, 0, (100, 100, 1000), True)
    again = ProducerStates()
    assert again.restore(states.snapshot())
    assert again.check(7, 2, 10, 11)[0] == DUPLICATE
    assert again.check(7, 2, 12, 12) == (None, None)
    assert again.check(7, 1, 12, 12)[0] == FENCED
    assert again.check(7, 2, 14, 14)[0] == OUT_OF_ORDER
    assert again.last_stable_offset(500) == 100


def test_aborted_transactions_with_records_in_a_range() -> None:
    states = ProducerStates()
    for number in range(3):
        states.note(7, 0, number, (10 * number, 10 * number + 4, 1000), True)
        states.end_transaction(7, 0, 10 * number + 5, commit=False)
    spans = {(0, 5): [0], (5, 10): [0], (5, 11): [0, 10], (6, 20): [10], (16, 20): [], (0, 99): [0, 10, 20]}
    assert {span: [each.first_offset for each in states.aborted_between(*span)] for span in spans} == spans
    states.forget_before(15)
    assert [each.first_offset for each in states.aborted_between(0, 99)] == [10, 20]
    states.forget_before(16)
    assert [each.first_offset for each in states.aborted_between(0, 99)] == [20]


def test_where_an_unknown_producer_may_begin() -> None:
    """Anywhere, as Kafka can't know its past; at 0 where it is known to have none."""
    states = ProducerStates()
    assert states.check(7, 0, 5, 5) == (None, None)
    assert states.check(7, 0, 5, 5, complete=True)[0] == OUT_OF_ORDER
    assert states.check(7, 0, 0, 4, complete=True) == (None, None)


def test_an_epoch_without_a_batch_begins_at_0() -> None:
    """ProducerAppendInfo: a transaction's end that raised the epoch left no sequence to go on from."""
    states = ProducerStates()
    states.note(7, 0, 0, (0, 4, 1000), True)
    states.end_transaction(7, 1, 5, commit=True)
    assert states.check(7, 1, 5, 5)[0] == OUT_OF_ORDER
    assert states.check(7, 1, 0, 0) == (None, None)


def test_the_bytes_are_kafkas() -> None:
    """ProducerStateManager's layout: version, crc, then the fields in its order."""
    states = ProducerStates()
    states.note(7, 2, 10, (98, 99, 1000), False)
    data = states.snapshot()
    assert data[:2] == bytes.fromhex(HEX)[:2]
    assert data[6:] == bytes.fromhex(HEX)[6:] + bytes.fromhex("ffffffffffffffffffffffff")


def test_the_end_of_a_transaction_is_the_latest_of_its_producer() -> None:
    """ProducerStateEntry keeps the marker's timestamp beside the last batch's sequences."""
    states = ProducerStates()
    states.note(7, 0, 0, (0, 4, 1000), True)
    states.end_transaction(7, 0, 5, commit=True, timestamp=2000)
    again = ProducerStates()
    assert again.restore(states.snapshot())
    for each in (states, again):
        assert each.known[7].last_timestamp == 2000
        assert each.check(7, 0, 5, 5) == (None, None)


def test_damage_is_noticed() -> None:
    states = ProducerStates()
    states.note(7, 2, 10, (98, 99, 1000), False)
    data = bytearray(states.snapshot())
    for at in (0, 3, 8, len(data) - 1):
        data[at] ^= 1
        assert not ProducerStates().restore(bytes(data))
        data[at] ^= 1
    assert not ProducerStates().restore(b"")
    assert ProducerStates().restore(bytes(data))


def test_any_of_the_last_five_batches_is_a_duplicate() -> None:
    """A client with five requests in flight sends all of them again."""
    states = ProducerStates()
    for number in range(6):
        states.note(7, 0, number, (number, number, 1000), False)
    assert [states.check(7, 0, number, number)[0] for number in range(6)] == [OUT_OF_ORDER] + [DUPLICATE] * 5
    states.note(7, 1, 0, (6, 6, 1000), False)
    assert states.check(7, 1, 0, 0)[0] == DUPLICATE and states.check(7, 1, 5, 5)[0] == OUT_OF_ORDER
