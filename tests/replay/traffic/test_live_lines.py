"""The lines of one captured connection to several live brokers."""

import asyncio
from types import SimpleNamespace
from typing import Any

from kcli.broker import Broker
from kcli.capture.kafka.exchange import Exchange
from kcli.client.address import Address, parse_bootstrap
from kcli.client.properties import ClientConfig
from kcli.proxy.recording import Recorder
from kcli.replay.traffic.replayed_connection import LiveLines
from kcli.schemas.apikeys import FETCH, METADATA
from tests.replay.traffic.made import exchange

ASK = exchange(METADATA, 1, {"topics": []}, client_id="who")


def fetch(epoch: int) -> Exchange:
    return exchange(FETCH, 7, {"replicaId": -1, "sessionEpoch": epoch, "sessionId": 5 * (epoch > 0)})


def test_a_line_for_each_broker_opened_again_when_it_is_closed() -> None:
    async def work() -> None:
        async with Broker(nodes=2) as broker:
            nodes = parse_bootstrap(broker.bootstrap.split(","))
            wanted = list(nodes)
            destinations: Any = SimpleNamespace(address=lambda *_: wanted[0], dialect=None)
            written: list[bytes] = []
            recorder = Recorder(written.append)
            config = ClientConfig({"bootstrap.servers": broker.bootstrap})
            lines = LiveLines("captured", "-1", config, destinations, recorder)
            first, same = await asyncio.gather(lines.to(ASK), lines.to(ASK))
            assert first is same
            wanted.reverse()
            assert (await lines.to(ASK)).session.connection.address == nodes[1]
            wanted.reverse()
            assert await lines.to(ASK) is first
            await first.session.connection.close()
            assert await lines.to(ASK) is not first
            await lines.close()
            recorder.flush()
            assert b"".join(written).count(b"replay of captured") == 3

    asyncio.run(work())


def test_a_fetch_session_stays_where_it_was_opened() -> None:
    one, other = Address("live", 1), Address("live", 2)
    where = [one]
    destinations: Any = SimpleNamespace(address=lambda *_: where[0], dialect=None)
    lines = LiveLines("captured", "", ClientConfig({"bootstrap.servers": "x:1"}), destinations, None)
    assert lines.address(fetch(0)) == one
    where[0] = other
    assert [lines.address(fetch(epoch)) for epoch in (1, 2)] == [one, one]
    assert lines.address(ASK) == other
    assert [lines.address(fetch(epoch)) for epoch in (-1, 0, 1)] == [other, other, other]
