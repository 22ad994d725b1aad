from typing import Any

import pytest

from kcli.errors import UsageError
from kcli.snapshots.image.image import Image
from kcli.snapshots.image.what_if import Outcome, WhatIf, parse_without, what_if_summary
from tests.snapshots.made import TOPIC_ID, broker, image

ELR = ("FeatureLevelRecord", {"name": "eligible.leader.replicas.version", "featureLevel": 1})
MIN_ISR = {"resourceType": 2, "resourceName": "orders", "name": "min.insync.replicas", "value": "2"}


def cluster(*changes: tuple[str, dict[str, Any]]) -> Image:
    """Brokers 1 to 3 in racks a, b, b, and 4 in c; orders-0 and -1 on 1, 2, 3, led by 1; two have to be in sync."""
    racks = {1: "a", 2: "b", 3: "b", 4: "c"}
    brokers = [("RegisterBrokerRecord", broker(number, rack=rack)) for number, rack in racks.items()]
    return image(*brokers, ("ConfigRecord", MIN_ISR), *changes)


def change(**values: Any) -> tuple[str, dict[str, Any]]:
    return "PartitionChangeRecord", {"topicId": TOPIC_ID, "partitionId": 0, **values}


def first(found: Image, *gone: str) -> Outcome | None:
    outcomes = WhatIf(found, parse_without(found, gone)).outcomes()
    return next((each for each in outcomes if each.partition == 0), None)


def test_the_next_leader_is_the_first_replica_in_sync() -> None:
    found = first(cluster(), "broker=1")
    assert found is not None
    assert (found.state, found.leader, found.next_leader, found.isr) == ("at-min-isr", 1, 2, (2, 3))
    found = first(cluster(change(isr=[1, 3])), "broker=1")
    assert found is not None
    assert (found.state, found.next_leader, found.isr) == ("under-min-isr", 3, (3,))


def test_a_rack_that_goes_leaves_too_few() -> None:
    found = first(cluster(), "rack=b")
    assert found is not None
    assert (found.state, found.next_leader, found.isr, found.min_isr) == ("under-min-isr", 1, (1,), 2)
    assert found.reassign == (1, 4)


def test_nobody_in_sync_is_left() -> None:
    alone = change(isr=[1], leader=1)
    found = first(cluster(alone), "broker=1")
    assert found is not None
    assert (found.state, found.next_leader, found.isr, found.reassign) == ("offline", -1, (1,), ())
    found = first(cluster(ELR, change(isr=[1], leader=1, eligibleLeaderReplicas=[3])), "broker=1")
    assert found is not None
    assert (found.state, found.next_leader, found.isr, found.elr) == ("under-min-isr", 3, (3,), (1,))


def test_a_broker_that_shuts_down_is_not_elected() -> None:
    """As 4.4 controllers left it: 1 was gone, 2 about to go, and its partitions had no leader."""
    leaving = ("BrokerRegistrationChangeRecord", {"brokerId": 2, "brokerEpoch": 12, "inControlledShutdown": 1})
    found = first(cluster(leaving, change(isr=[1, 2])), "broker=1")
    assert found is not None
    assert (found.state, found.next_leader) == ("offline", -1)


def test_what_does_not_matter_is_not_told() -> None:
    assert first(cluster(), "broker=4") is None
    fenced = ("FenceBrokerRecord", {"id": 4, "epoch": 14})
    found = first(cluster(fenced), "rack=b")
    assert found is not None
    assert found.reassign == ()  # nobody is up to take a replica


def test_the_figures() -> None:
    found = cluster()
    gone = parse_without(found, ["broker=1"])
    summary = what_if_summary(list(WhatIf(found, gone).outcomes()), gone)
    assert summary["without"] == [1]
    assert (summary["offline"], summary["at-min-isr"], summary["nextLeaders"]) == (0, 2, {"2": 2})


@pytest.mark.parametrize("text", ["broker=9", "rack=z", "broker=x", "topic=a", "rack"])
def test_what_is_not_there(text: str) -> None:
    with pytest.raises(UsageError, match=f"--without {text}"):
        parse_without(cluster(), [text])
