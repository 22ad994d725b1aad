"""Clients of many kinds reach real clusters through `kcli proxy`; what it saves is what the brokers logged."""

from itertools import cycle
from pathlib import Path

import pytest

from tests.real.lab import Cluster
from tests.real.proxied_clients import (
    CLIENTS,
    LISTENERS,
    Listener,
    Speak,
    compare,
    marks,
    passing,
    speak_java_34,
    speak_java_transactions,
    speak_librdkafka,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

COUNT = 200
PLAIN = LISTENERS[0]


def check(speak: Speak, listener: Listener, cluster: Cluster, out: Path) -> None:
    """What one client says through a proxy is saved as the brokers logged it, and nothing goes past."""
    before = marks(cluster)
    with passing(cluster, listener, out) as (proxy, login):
        speak(proxy.bootstrap, login)
        assert proxy.stop() == (0, "", "")
    found = compare(cluster, out, before)
    assert (found.unlike, found.missing, found.past) == ([], [], [])
    assert found.logged > 10


# Every client, and every listener, but not each with each (`python -m tests.real.proxied_clients`).
@pytest.mark.parametrize(
    ("speak", "listener"),
    [*zip([each for each in CLIENTS if each is not speak_java_34], cycle(LISTENERS), strict=False)],
    ids=lambda each: each.__name__ if callable(each) else f"{each.name} {each.mechanism}",
)
def test_what_is_saved_is_what_the_brokers_logged(
    speak: Speak, listener: Listener, three_44: Cluster, tmp_path: Path
) -> None:
    check(speak, listener, three_44, tmp_path / "out.pcapng")


@pytest.mark.parametrize("speak", [speak_librdkafka, speak_java_transactions])
def test_the_last_release_of_old_brokers(speak: Speak, kafka_39: Cluster, tmp_path: Path) -> None:
    check(speak, PLAIN, kafka_39, tmp_path / "out.pcapng")


def test_leaders_that_move_and_a_broker_that_is_gone_for_a_while(three_44: Cluster, tmp_path: Path) -> None:
    from confluent_kafka import ElectionType, Producer
    from confluent_kafka.admin import AdminClient

    out, before, delivered = tmp_path / "out.pcapng", marks(three_44), list[object]()
    with passing(three_44, PLAIN, out) as (proxy, _):
        producer = Producer({"bootstrap.servers": proxy.bootstrap, "acks": "all", "linger.ms": 1})
        for number in range(3 * COUNT):
            if number == COUNT:
                three_44.stop(2)
            if number == 2 * COUNT:
                three_44.start(2)
                admin = AdminClient({"bootstrap.servers": proxy.bootstrap})
                moved = admin.elect_leaders(ElectionType.PREFERRED).result()
            producer.produce("moving", str(number), on_delivery=lambda error, _: delivered.append(error))
            producer.poll(0.01)
        assert producer.flush(180) == 0
        assert proxy.stop()[0] == 0
    assert delivered == [None] * 3 * COUNT
    assert moved
    found = compare(three_44, out, before, gone=int(three_44.address(2).rpartition(":")[2]))
    assert (found.missing, found.unlike, found.past) == ([], [], [])
