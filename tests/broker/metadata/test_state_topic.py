"""The topics in which coordinators keep their state."""

import pytest

from kcli.broker.metadata.state_topic import StateTopic, partition_for
from tests.broker.talk import run, talking


@pytest.mark.parametrize(
    ("group", "code"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("orders", -1008770331),
        ("polygenelubricants", -(1 << 31)),
        ("\U0001f600", 1772899),
    ],
)
def test_the_partition_is_javas(group: str, code: int) -> None:
    """code: what Java's hashCode gives. The lowest one has no absolute value."""
    assert partition_for(group, 50) == (0 if code == -(1 << 31) else abs(code) % 50)


def test_what_is_written_is_read_again_in_its_order() -> None:
    async def work() -> None:
        async with talking() as talk:
            topic = StateTopic(talk.broker.controller, "__consumer_offsets", notes.append)
            assert list(topic.load()) == []
            for value in (b"1", None):
                topic.write("g", [(b"key", value), (b"other", b"x")])
            topic.write("g", [(b"key", b"2")], producer_id=7, producer_epoch=1, transactional=True)
            found = [
                (at, batch.producer_id, [(each.key, each.value) for each in rows]) for at, batch, rows in topic.load()
            ]
            at = partition_for("g", 50)
            assert found == [
                (at, -1, [(b"key", b"1"), (b"other", b"x")]),
                (at, -1, [(b"key", None), (b"other", b"x")]),
                (at, 7, [(b"key", b"2")]),
            ]

    notes: list[str] = []
    run(work())
    assert notes == []
