"""What crosses the proxy, as a capture: every exchange as the broker said it."""

import asyncio
import socket
import struct
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.kafka.exchange import Exchange
from kcli.proxy.recording import MOST_WAITING, Recorder, Recording
from kcli.schemas.apikeys import API_VERSIONS, METADATA
from tests.broker.talk import batch, run, until
from tests.capture.decoding import as_values, pieces
from tests.proxy.talk import proxied


def test_exchanges_with_the_addresses_of_client_and_broker(tmp_path: Path) -> None:
    blocks: list[bytes] = []
    ends: list[tuple[str, str]] = []

    async def work() -> None:
        async with proxied(nodes=2, record=blocks.append) as both:
            topic = both.broker.create_topic("t")
            for node in both.broker.nodes:
                async with both.client() as first:
                    answer = await first(METADATA, 12, {"topics": None})
                (port,) = (each["port"] for each in answer["brokers"] if each["nodeId"] == node.id)
                async with both.client(f"127.0.0.1:{port}") as client:
                    await client(API_VERSIONS, 0, {})
                    if topic.partitions[0].leader == node.id:
                        await client.produce("t", batch("v" * 100_000))
                        await client.fetch(12, ("t", 0, 0))
                ends.append((f"127.0.0.1:{node.port}", str(node.id)))

    run(work())
    path = tmp_path / "x.pcapng"
    path.write_bytes(b"".join(blocks))
    source = as_values([str(path)])
    found = [item for items in pieces(source) for item in items]
    assert all(isinstance(item, Exchange) for item in found)
    exchanges = [item for item in found if isinstance(item, Exchange)]
    assert sorted(each.api_key for each in exchanges) == [0, 1, 3, 3, 18, 18]
    assert {str(each.connection).partition("-")[0] for each in exchanges} == {where for where, _ in ends}
    brokers = next(each.response["brokers"] for each in exchanges if each.api_key == METADATA and each.response)
    assert {f"{each['host']}:{each['port']}" for each in brokers} == {where for where, _ in ends}
    assert b", known to the broker as 127.0.0.1:" in path.read_bytes()
    assert source.tally.unaccounted(source.engine) == 0


def test_blocks_wait_for_others_but_not_long() -> None:
    written: list[bytes] = []

    async def work() -> None:
        recorder = Recorder(written.append)
        recorder.flush()
        (start,) = written
        recording = recorder.begin(("127.0.0.1", 1), ("127.0.0.1", 2), "x")
        recording.data(0, b"abc")
        assert len(written) == 1
        while len(written) == 1:
            await asyncio.sleep(0.01)
        assert start not in written[1]
        recording.data(1, bytes(MOST_WAITING + 1))
        assert len(written) == 3
        recording.reset(0)
        recorder.flush()
        recorder.flush()
        assert len(written) == 4

    run(work())


def test_a_disk_that_is_full_is_said_once() -> None:
    """A timer's write has nobody who could be told; it once filled stderr with tracebacks."""
    tries: list[int] = []

    def full(data: bytes) -> None:
        tries.append(len(data))
        raise OSError(28, "No space left on device")

    async def record() -> None:
        failures: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: failures.append(context))
        recorder = Recorder(full)
        for _ in range(3):
            recorder.put(b"abcd")
            await asyncio.sleep(0.05)
        assert not failures and len(tries) == 1
        with pytest.raises(OSError, match="No space left"):
            recorder.flush()

    asyncio.run(record())


@pytest.mark.parametrize("broken", [False, True])
def test_a_client_that_breaks_off_is_a_reset(monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    ends: list[tuple[str, int]] = []
    for name in ("end", "reset"):
        monkeypatch.setattr(Recording, name, lambda _, direction, name=name: ends.append((name, direction)))

    async def work() -> None:
        async with proxied(record=lambda _: None) as both:
            host, _, port = both.proxy.bootstrap.rpartition(":")
            _, writer = await asyncio.open_connection(host, int(port))
            if broken:
                linger = struct.pack("ii", 1, 0)  # closed at once, with a RST
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.close()
            await until(lambda: ends)

    run(work())
    assert ends[0] == ("reset" if broken else "end", 0)
