"""A broker that speaks several protocols at once: each client is told the addresses of the listener it came by."""

import asyncio
import socket
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.broker.embedded import embedded_broker
from kcli.broker.security.protection import Protection
from kcli.errors import NetworkError, UsageError
from kcli.schemas import apikeys as keys
from kcli.schemas.apikeys import DESCRIBE_CLUSTER, FIND_COORDINATOR, METADATA
from tests.broker.security.logging_in import ready
from tests.broker.talk import Talk, batch, run

LISTENERS = ["PLAINTEXT", "SSL", "INSIDE=SASL_PLAINTEXT"]
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="secret";'
LOGIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS}


async def told(talk: Talk) -> set[str]:
    """All sets of addresses that a client is told, as bootstrap servers."""
    rows = [(await talk(METADATA, 12, {"topics": None}))["brokers"]]
    rows.append((await talk(DESCRIBE_CLUSTER, 0, {"includeClusterAuthorizedOperations": False}))["brokers"])
    found = await talk(FIND_COORDINATOR, 4, {"keyType": 0, "coordinatorKeys": [f"g{number}" for number in range(20)]})
    each_node = {each["nodeId"]: each for each in found["coordinators"]}
    rows.append([each_node[node] for node in sorted(each_node)])
    return {",".join(f"{each['host']}:{each['port']}" for each in one) for one in rows}


async def configs(talk: Talk) -> dict[str, str]:
    wanted: dict[str, Any] = {"resourceType": 4, "resourceName": "1", "configurationKeys": None}
    body = {"resources": [wanted], "includeSynonyms": False, "includeDocumentation": False}
    (result,) = (await talk(keys.DESCRIBE_CONFIGS, 4, body))["results"]
    return {each["name"]: each["value"] for each in result["configs"]}


def test_each_client_is_told_the_addresses_of_its_listener() -> None:
    async def work() -> None:
        protection = Protection({"alice": "secret"}, tls=True)
        async with Broker(nodes=2, listeners=LISTENERS, protection=protection) as broker:
            trusting = {"security.protocol": "SSL", "ssl.truststore.certificates": broker.security.tls.ca_certificate}
            broker.create_topic("t", assignment=[(1,)])
            ways = {"PLAINTEXT": {}, "SSL": trusting, "INSIDE": LOGIN}
            for listener, properties in ways.items():
                async with ready(broker, properties, listener) as talk:
                    assert await told(talk) == {broker.bootstrap_of(listener)}
                    assert (await talk.produce("t", batch("a")))["errorCode"] == 0
                    described = await configs(talk)
            urls = ",".join(f"{each}://{broker.bootstrap_of(each).split(',')[0]}" for each in ways)
            assert described["listeners"] == described["advertised.listeners"] == urls
            protocols = "PLAINTEXT:PLAINTEXT,SSL:SSL,INSIDE:SASL_PLAINTEXT"
            assert described["listener.security.protocol.map"] == protocols
            ports = {each.rsplit(":", 1)[1] for name in ways for each in broker.bootstrap_of(name).split(",")}
            assert len(ports) == 6
            await broker.stop_node(2)
            await broker.start_node(2)
            assert {str(each.port) for node in broker.nodes for each in node.listeners.values()} == ports

    run(work())


def test_a_client_that_fails_at_tls_is_named_by_its_address() -> None:
    async def work() -> None:
        notes: list[str] = []
        async with Broker(listeners=["SSL"], protection=Protection(tls=True), note=notes.append) as broker:
            host, _, port = broker.bootstrap_of("SSL").rpartition(":")
            _, writer = await asyncio.open_connection(host, int(port))
            address, own_port = writer.get_extra_info("sockname")
            writer.write(b"\0\0\0\x0a\0\x12\0\0\0\0\0\7\xff\xff")
            while not notes:
                await asyncio.sleep(0.01)
            writer.close()
            assert notes[0].startswith(f"{address}:{own_port}: no TLS: ")

    run(work())


def test_addresses_are_advertised_by_listener() -> None:
    async def work() -> None:
        config = {"advertised.listeners": "OUT://broker.example:7000,PLAINTEXT://10.0.0.1:8000"}
        async with Broker(nodes=2, listeners=["PLAINTEXT", "OUT=PLAINTEXT"], config=config) as broker:
            async with ready(broker, {}, "OUT") as talk:
                assert await told(talk) == {"broker.example:7000,broker.example:7001"}
            async with ready(broker, {}) as talk:
                assert await told(talk) == {"10.0.0.1:8000,10.0.0.1:8001"}

    run(work())


@pytest.mark.parametrize(
    ("listeners", "options", "said"),
    [
        (["PLAINTEXT", "SSL"], {}, "listener SSL: TLS needs a certificate"),
        (["PLAINTEXT", "IN=SASL_PLAINTEXT"], {}, "listener IN: nobody can log in"),
        (["PLAINTEXT"], {"tls": True}, "no listener has TLS"),
        (["PLAINTEXT"], {"users": {"a": "b"}}, "no listener has SASL"),
        (["PLAINTEXT", "PLAINTEXT"], {}, "another one called PLAINTEXT"),
        (["A=PLAINTEXT", "B=PLAINTEXT"], {"config": {"advertised.listeners": "C://h:1"}}, "the listeners are A, B"),
    ],
)
def test_listeners_that_make_no_sense(listeners: list[str], options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said), embedded_broker(listeners=listeners, **options):
        pass


def test_a_port_that_is_taken_frees_the_others() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as free:
        (_, used), (_, port) = taken.getsockname(), free.getsockname()
        free.close()
        with (
            pytest.raises(NetworkError, match=f"cannot listen on 127.0.0.1:{used}"),
            embedded_broker(port=port, listeners=["PLAINTEXT", f"B=PLAINTEXT:{used}"]),
        ):
            pass
        socket.create_server(("127.0.0.1", port)).close()


def test_listeners_of_an_embedded_broker() -> None:
    with embedded_broker(listeners=["PLAINTEXT", "SSL"], tls=True) as kafka:
        assert list(kafka.listeners) == ["PLAINTEXT", "SSL"]
        assert kafka.listeners["PLAINTEXT"] == kafka.bootstrap_servers
        assert kafka.ca_certificate
