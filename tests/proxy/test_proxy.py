"""Clients of every kind reach a cluster through the proxy alone."""

import asyncio
import socket

import pytest

from kcli.broker import Broker
from kcli.client.address import Address
from kcli.client.connection import BrokerConnection
from kcli.client.properties import ClientConfig
from kcli.errors import NetworkError
from kcli.proxy import Proxy
from kcli.proxy.nodes import ListenerAddresses
from kcli.schemas.apikeys import API_VERSIONS, DESCRIBE_CLUSTER, FIND_COORDINATOR, METADATA
from tests.broker.talk import batch, parts, run, until
from tests.proxy.talk import proxied


def test_every_broker_has_a_listener_of_its_own() -> None:
    async def work() -> None:
        async with proxied(nodes=3) as both, both.client() as client:
            brokers = (await client(METADATA, 12, {"topics": None}))["brokers"]
            ports = {each["nodeId"]: each["port"] for each in brokers}
            assert set(ports) == {1, 2, 3}
            assert not set(ports.values()) & {node.port for node in both.broker.nodes}
            assert {each["host"] for each in brokers} == {"127.0.0.1"}
            described = (await client(DESCRIBE_CLUSTER, 0, {}))["brokers"]
            assert {each["brokerId"]: each["port"] for each in described} == ports
            (found,) = (await client(FIND_COORDINATOR, 4, {"keyType": 0, "coordinatorKeys": ["g"]}))["coordinators"]
            assert found["port"] == ports[found["nodeId"]]
            for node, port in ports.items():
                async with both.client(f"127.0.0.1:{port}") as other:
                    await other(API_VERSIONS, 3, {"clientSoftwareName": "x", "clientSoftwareVersion": "1"})
                assert both.broker.node(node) is not None
            assert len(both.notes) == 3

    run(work())


def test_records_and_hints_of_a_new_leader_come_through() -> None:
    async def work() -> None:
        async with proxied(nodes=2) as both, both.client() as client:
            topic = both.broker.create_topic("t")
            brokers = (await client(METADATA, 12, {"topics": None}))["brokers"]
            ports = {each["nodeId"]: each["port"] for each in brokers}
            leader = topic.partitions[0].leader
            async with both.client(f"127.0.0.1:{ports[leader]}") as there:
                assert (await there.produce("t", batch("a", "b")))["errorCode"] == 0
                got = await there.fetch(16, (topic.id, 0, 0))
                assert parts(got)[(topic.id, 0)]["records"]
                other = 3 - leader
                both.broker.move_leader(topic.partitions[0], other)
                got = await there.fetch(16, (topic.id, 0, 0))
                assert parts(got)[(topic.id, 0)]["currentLeader"]["leaderId"] == other
                (hint,) = got["nodeEndpoints"]
                assert (hint["nodeId"], hint["port"]) == (other, ports[other])

    run(work())


def test_ports_follow_the_first_one_by_the_brokers_ids() -> None:
    async def work() -> None:
        for _ in range(20):
            with socket.create_server(("127.0.0.1", 0)) as first:
                port = first.getsockname()[1]
            try:
                with socket.create_server(("127.0.0.1", port + 2)):
                    async with proxied(nodes=2, places=ListenerAddresses(port=port)) as both, both.client() as client:
                        assert both.proxy.port == port
                        brokers = (await client(METADATA, 12, {"topics": None}))["brokers"]
                        own = both.broker.nodes[0].port  # its listener's port is taken: it stays as it is
                        assert [each["port"] for each in brokers] == [own, port + 3]
                        return
            except (OSError, NetworkError, AssertionError):
                continue  # somebody else has one of these ports
        raise AssertionError("no free ports")

    run(work())


def test_a_listener_on_all_addresses_is_named_as_the_client_reached_it() -> None:
    async def work() -> None:
        async with proxied(places=ListenerAddresses("")) as both:
            for host in ("127.0.0.1", "[::1]"):
                async with both.client(f"{host}:{both.proxy.port}") as client:
                    (row,) = (await client(METADATA, 12, {"topics": None}))["brokers"]
                    assert row["host"] == host.strip("[]")

    run(work())


def test_a_broker_that_is_down_and_comes_back() -> None:
    async def work() -> None:
        broker = Broker()
        notes: list[str] = []
        async with broker:
            port = broker.nodes[0].port
            async with Proxy(ClientConfig({"bootstrap.servers": broker.bootstrap}), note=notes.append) as proxy:
                config = ClientConfig({})
                address = Address("127.0.0.1", proxy.port)
                before = await BrokerConnection.open(address, config)
                await broker.stop()
                assert await asyncio.wait_for(_ended(before), 60)
                during = await BrokerConnection.open(address, config)
                assert await asyncio.wait_for(_ended(during), 60)
                assert any("refused the connection" in each and "was closed" in each for each in notes)
                async with Broker(port=port):
                    after = await BrokerConnection.open(address, config)
                    await after.exchange(b"\0\x12\0\0\0\0\0\7\xff\xff", 7, "ApiVersions")
                    await after.close()

    run(work())


async def _ended(connection: BrokerConnection) -> bool:
    while connection.error is None:
        await asyncio.sleep(0.01)
    return True


def test_requests_under_way_get_their_responses_when_it_stops() -> None:
    async def work() -> None:
        async with proxied() as both:
            topic = both.broker.create_topic("t")
            async with both.client() as client, both.client() as idle:
                waiting = client.fetch(16, (topic.id, 0, 0), wait=400)
                await until(lambda: any(each.busy for each in both.broker.nodes[0].connections))
                await both.proxy.stop()
                assert parts(await waiting)[(topic.id, 0)]["errorCode"] == 0
                assert await asyncio.wait_for(_ended(idle.connection), 60)
            assert not both.proxy.connections
            assert both.proxy.gate.held == 0

    run(work())


def test_one_that_waits_too_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.proxy.proxy.STOP_SECONDS", 0.1)

    async def work() -> None:
        async with proxied() as both:
            topic = both.broker.create_topic("t")
            async with both.client() as client:
                waiting = client.fetch(16, (topic.id, 0, 0), wait=60000)
                await until(lambda: any(each.busy for each in both.broker.nodes[0].connections))
                await both.proxy.stop()
                with pytest.raises(NetworkError):
                    await waiting

    run(work())


def test_where_it_cannot_begin() -> None:
    async def work() -> None:
        with pytest.raises(NetworkError, match="refused the connection"):
            await Proxy(ClientConfig({"bootstrap.servers": "127.0.0.1:1"})).start()
        async with Broker() as broker:
            config = ClientConfig({"bootstrap.servers": broker.bootstrap})
            with pytest.raises(NetworkError, match="cannot listen on"):
                await Proxy(config, places=ListenerAddresses(port=broker.nodes[0].port)).start()

    run(work())
