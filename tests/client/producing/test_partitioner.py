import pytest

from kcli.client.producing.partitioner import Partitioner, murmur2


@pytest.mark.parametrize(
    ("data", "expected"),
    [  # as Kafka's own UtilsTest has them
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_kafkas(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected & 0xFFFFFFFF


def test_a_key_stays_where_it_is_and_the_keyless_take_turns() -> None:
    partitioner = Partitioner(7, 1000)
    assert {partitioner.choose(b"foobar") for _ in range(5)} == {(-790332482 & 0x7FFFFFFF) % 7}
    seen = []
    for _ in range(8):
        assert partitioner.choose(None) == partitioner.choose(None)
        seen.append(partitioner.choose(None))
        partitioner.turn()
    assert seen == [0, 1, 2, 3, 4, 5, 6, 0]


def test_the_keyless_move_on_after_so_many_bytes_however_they_are_sent() -> None:
    partitioner = Partitioner(3, 1000)
    seen = []
    for _ in range(9):
        seen.append(partitioner.choose(None))
        partitioner.count_sticky(400)
    assert seen == [0, 0, 0, 1, 1, 1, 2, 2, 2]
