"""KIP-283 in the broker: what old fetches get of new records."""

from __future__ import annotations

import pytest

from kcli.records import build_message_set, scan
from kcli.schemas.errors import error_name
from tests.broker.talk import batch, parts, run, talking


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2)])
@pytest.mark.parametrize("codec", ["none", "gzip", "lz4"])
def test_each_version_gets_a_magic_it_knows(version: int, magic: int, codec: str) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            for at in range(4):
                await talk.produce("t", batch(*(f"{at}{number}" * 30 for number in range(50)), codec=codec))
            got = parts(await talk.fetch(version, ("t", 0, 0)))["t", 0]
            assert got["errorCode"] == 0
            found = list(scan(got["records"], damages=[]))
            assert {each.magic for each in found} == {magic}
            assert all(each.crc_valid for each in found)
            offsets = [record.offset for each in found for record in each.records()]
            assert offsets == list(range(len(offsets)))
            assert len(offsets) >= 50

    run(work())


def test_what_is_old_already_goes_as_it_is() -> None:
    async def work() -> None:
        async with talking() as talk:
            talk.broker.create_topic("t", configs={"message.format.version": "0.9.0"})
            sets = build_message_set([(1, b"k", b"v")], magic=0)
            await talk.produce("t", sets, version=0)
            for version in (0, 3, 12):
                assert parts(await talk.fetch(version, ("t", 0, 0)))["t", 0]["records"] == sets

    run(work())


def test_the_size_is_kept_to() -> None:
    """KIP-283: S_pre: as many bytes as before the conversion, filled with a message that clients take for a cut one."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            for _ in range(3):
                await talk.produce("t", batch(*["x" * 10] * 100, codec="gzip"))
            before = len(parts(await talk.fetch(4, ("t", 0, 0)))["t", 0]["records"])
            first = parts(await talk.fetch(2, ("t", 0, 0)))["t", 0]["records"]
            assert len(first) >= before
            many = parts(await talk.fetch(2, ("t", 0, 0), part_bytes=1))["t", 0]["records"]
            assert len(many) <= len(first)

    run(work())


@pytest.mark.parametrize("chunk", ["1", "1000", "1048576"])
def test_the_chunk_size_changes_no_byte(chunk: str) -> None:
    """KIP-283: how much is converted at once is the broker's own business."""

    async def work(config: dict[str, str]) -> bytes:
        async with talking(topic="t", config=config) as talk:
            for at in range(20):
                await talk.produce("t", batch(*[f"{at}" * 20] * 50, time=at))
            records: bytes = parts(await talk.fetch(3, ("t", 0, 0)))["t", 0]["records"]
            return records

    async def both() -> None:
        assert await work({"message.downconversion.chunk.bytes": chunk}) == await work({})

    run(both())


@pytest.mark.parametrize("where", ["broker", "topic"])
def test_it_can_be_disabled(where: str) -> None:
    """KIP-283: message.downconversion.enable, log.message.downconversion.enable: UNSUPPORTED_VERSION."""

    async def work() -> None:
        config = {"log.message.downconversion.enable": "false"} if where == "broker" else {}
        async with talking(topic="t", config=config) as talk:
            if where == "topic":
                topic = talk.broker.topics.by_name["t"]
                talk.broker.controller.configure_topic(topic, {"message.downconversion.enable": "false"})
            await talk.produce("t", batch("a"))
            row = parts(await talk.fetch(3, ("t", 0, 0)))["t", 0]
            assert (error_name(row["errorCode"]), row["records"]) == ("UNSUPPORTED_VERSION", b"")
            assert parts(await talk.fetch(4, ("t", 0, 0)))["t", 0]["errorCode"] == 0

    run(work())


def test_zstd_has_no_older_form() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            await talk.produce("t", batch("a", codec="zstd"))
            row = parts(await talk.fetch(3, ("t", 0, 0)))["t", 0]
            assert error_name(row["errorCode"]) == "UNSUPPORTED_COMPRESSION_TYPE"

    run(work())
