import pytest

from kcli.snapshots.image.image import Image
from kcli.snapshots.image.questions import QUESTIONS, ask
from kcli.snapshots.reading.load import load_snapshot
from tests.snapshots.made import OTHER_ID, image, partition, snapshot


def lame() -> Image:
    """A cluster with something of everything, through a file."""
    made = image(
        ("PartitionRecord", partition(2, isr=[1])),
        ("PartitionRecord", partition(3, leader=-1, isr=[], eligibleLeaderReplicas=[2])),
        ("PartitionRecord", partition(4, leader=2, addingReplicas=[3])),
        ("TopicRecord", {"name": "audit", "topicId": OTHER_ID}),
        ("PartitionRecord", partition(0, replicas=(3, 9), isr=[3], leader=3) | {"topicId": OTHER_ID}),
        ("FenceBrokerRecord", {"id": 2, "epoch": 12}),
    )
    return load_snapshot(memoryview(snapshot(made)))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("under-replicated", [("audit", 0), ("orders", 2), ("orders", 3)]),
        ("offline", [("orders", 3)]),
        ("reassigning", [("orders", 4)]),
        ("with-elr", [("orders", 3)]),
        ("not-preferred", [("orders", 4)]),
    ],
)
def test_partitions_for_which_something_holds(question: str, expected: list[tuple[str, int]]) -> None:
    assert [(row["topic"], row["partition"]) for row in ask(lame(), question)] == expected


def test_who_is_missing() -> None:
    rows = {(row["topic"], row["partition"]): row["missing"] for row in ask(lame(), "under-replicated")}
    assert rows == {("audit", 0): [9], ("orders", 2): [2, 3], ("orders", 3): [1, 2, 3]}
    assert ask(lame(), "under-replicated-topics") == [
        {"topic": "audit", "underReplicated": 1, "partitions": 1, "missing": [9]},
        {"topic": "orders", "underReplicated": 2, "partitions": 5, "missing": [1, 2, 3]},
    ]


def test_by_broker() -> None:
    rows = {row["broker"]: row for row in ask(lame(), "by-broker")}
    assert sorted(rows) == [1, 2, 3, 9]
    assert rows[1] == {
        "broker": 1,
        "registered": True,
        "fenced": False,
        "inControlledShutdown": False,
        "replicas": 5,
        "inSync": 4,
        "leads": 3,
        "preferred": 5,
    }
    assert (rows[2]["fenced"], rows[9]["registered"], rows[9]["replicas"], rows[9]["inSync"]) == (True, False, 1, 0)


def test_skew() -> None:
    assert ask(lame(), "preferred-skew") == [
        {"broker": 1, "preferred": 5, "elsewhere": 1, "offline": 1, "skew": 0.4},
        {"broker": 3, "preferred": 1, "elsewhere": 0, "offline": 0, "skew": 0.0},
    ]


def test_fenced() -> None:
    (row,) = ask(lame(), "fenced")
    assert (row["broker"], row["brokerEpoch"], row["endPoints"]) == (2, 12, ["PLAINTEXT://b2:9092"])
    assert (row["fenced"], row["inControlledShutdown"]) == (True, False)


def test_controlled_shutdown_is_shown() -> None:
    """Such a broker is not fenced yet, and leads no partition any more."""
    leaving = ("BrokerRegistrationChangeRecord", {"brokerId": 1, "brokerEpoch": 11, "inControlledShutdown": 1})
    found = load_snapshot(memoryview(snapshot(image(leaving))))
    (row,) = ask(found, "fenced")
    assert (row["broker"], row["fenced"], row["inControlledShutdown"]) == (1, False, True)
    assert [each["inControlledShutdown"] for each in ask(found, "by-broker")] == [True, False, False]


def test_the_command_line_knows_every_question() -> None:
    from kcli.cli.snapshot.image import QUESTIONS as OFFERED

    assert set(OFFERED) == QUESTIONS.keys()
