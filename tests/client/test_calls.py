import asyncio

import pytest

from kcli.client.address import Address
from kcli.client.calls import call, call_of
from kcli.client.connection import BrokerConnection
from kcli.errors import DecodeError, EncodeError, NetworkError, SchemaError
from kcli.grammar import frames
from tests.client.broker import FakeBroker, running


def test_frames_are_those_of_the_grammar() -> None:
    made = call_of(3, 12)
    body = {"topics": [{"name": "t"}]}
    frame = made.encode(5, "c", body)
    header = {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 5, "clientId": "c"}
    assert frame == frames.encode_request(header, body)
    answer = frames.encode_response({"correlationId": 5}, 3, 12, {"clusterId": "x"})
    assert made.decode(answer)["clusterId"] == "x"
    with pytest.raises(DecodeError):
        made.decode(answer[:-1])
    with pytest.raises(EncodeError, match="topics"):
        made.encode(5, "c", {"topics": 3})
    with pytest.raises(SchemaError):
        call_of(3, 99)


def test_tags_in_a_response_header_are_stepped_over() -> None:
    made = call_of(3, 12)
    plain = frames.encode_response({"correlationId": 5}, 3, 12, {"clusterId": "x"})
    tagged = plain[:4] + b"\x01\x07\x02ab" + plain[5:]
    assert made.decode(tagged)["clusterId"] == "x"


def test_a_response_that_breaks_its_grammar_is_the_brokers_fault() -> None:
    async def work() -> None:
        broker = FakeBroker({2: lambda *_: {"topics": []}})
        async with running(broker):
            connection = await BrokerConnection.open(Address("127.0.0.1", broker.port), broker.config())
            bad = call_of(2, 5)
            future = connection.exchange(
                bad.encode(0, "c", {"replicaId": -1, "topics": []}), 0, "x", read=call_of(3, 12).decode
            )
            with pytest.raises(NetworkError, match=r"broker 127.0.0.1:\d+: MetadataResponse v12"):
                await future
            answer = await call(connection, 3, 5, {"topics": None})
            assert answer["brokers"][0]["port"] == broker.port
            await connection.close()

    asyncio.run(work())
