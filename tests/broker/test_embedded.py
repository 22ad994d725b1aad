"""A broker in a thread of its own."""

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.broker.embedded import EmbeddedBroker, embedded_broker
from kcli.errors import NetworkError, UsageError
from kcli.schemas.apikeys import CONSUMER_GROUP_HEARTBEAT
from tests.broker.talk import batch, connected, run


def test_it_serves_while_the_block_lasts() -> None:
    before = set(threading.enumerate())
    with embedded_broker(config={"num.partitions": 2, "auto.create.topics.enable": False}) as server:
        assert len(server.call(lambda broker: broker.create_topic("t")).partitions) == 2

        async def work() -> None:
            async with connected(server.broker) as talk:
                assert (await talk.produce("t", batch("a"), 1))["errorCode"] == 0

        run(work())
        host, port = server.bootstrap_servers.split(":")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, int(port)))
    assert set(threading.enumerate()) <= before


def test_what_its_start_raises_is_raised() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        block = embedded_broker(port=taken.getsockname()[1])
        with pytest.raises(NetworkError, match="cannot listen"):
            block.__enter__()


def test_a_broken_call_raises_where_it_was_made() -> None:
    with EmbeddedBroker(Broker()) as server, pytest.raises(UsageError, match="no such config"):
        server.call(lambda broker: broker.create_topic("t", configs={"nonsense": "1"}))


def test_options_are_those_of_the_brokers(tmp_path: Path) -> None:
    with embedded_broker(tmp_path, nodes=2, config={"num.partitions": 2}) as broker:
        broker.create_topic("orders", 5, replication=2)
        assert repr(broker) == f"<EmbeddedBroker {broker.bootstrap_servers}>"
        assert len(broker.bootstrap_servers.split(",")) == 2
    assert list(tmp_path.iterdir())
    assert repr(broker) == "<EmbeddedBroker not running>"
    with pytest.raises(UsageError, match="does not run"):
        broker.create_topic("late")
    for options in ({"config": {"nonsense": 1}}, {"nodes": 0}, {"faults": ["?"]}):
        with pytest.raises(UsageError):
            embedded_broker(**options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"data": __file__}, "a directory expected"),
        ({"release": "99"}, "99"),
        ({"faults": "api=Fetch,delay=5,x"}, "fault api=Fetch,delay=5,x: 'x' is unknown"),
        ({"faults": [{}]}, "faults: rules expected, not dict"),
        ({"faults": "drop,probability=7"}, "probability=7: 0 to 1 expected"),
        ({"faults": "drop,every=\u00b2"}, "a whole number expected"),
        ({"answers": ["x"]}, "answers: rules expected, not str"),
        ({"answers": {"api": "Gret"}}, "rule 1: Gret: no such API"),
        ({"dialect": "nope"}, "dialect nope: neither a directory nor a dialect"),
    ],
    ids=str,
)
def test_what_makes_no_broker(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        embedded_broker(**options)
    assert said in str(caught.value) and "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        (("new", 0), "new: 0 partitions: 1 to"),
        (("new", -1), "new: -1 partitions"),
        (("new", "3"), "partitions: a number expected, not str"),
        ((3,), "name: text expected, not int"),
        (("a b",), "a b"),
        (("old",), "topic old: Topic 'old' already exists"),
    ],
    ids=str,
)
def test_what_makes_no_topic(topic: tuple[Any, ...], said: str) -> None:
    with embedded_broker() as broker:
        broker.create_topic("old")
        with pytest.raises(UsageError) as caught:
            broker.create_topic(*topic)
        assert said in str(caught.value)
        with pytest.raises(UsageError, match="2 copies: there are 1 nodes"):
            broker.create_topic("new", replication=2)
    with pytest.raises(UsageError, match="has been started"):
        broker.__enter__()
    broker.__exit__()
    embedded_broker().__exit__()


def test_rules_answer_requests() -> None:
    """Of an API that the broker does not have, too."""
    rules = [{"api": "ConsumerGroupHeartbeat", "answer": {"errorCode": 25}}]
    with embedded_broker(answers=rules) as server:

        async def work() -> None:
            async with connected(server.broker) as talk:
                assert (await talk(CONSUMER_GROUP_HEARTBEAT, 0, {"groupId": "g"}))["errorCode"] == 25

        run(work())
    with pytest.raises(UsageError, match="rule 1: Gret: no such API"):
        embedded_broker(answers=[{"api": "Gret"}])
