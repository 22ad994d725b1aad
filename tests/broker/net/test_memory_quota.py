"""The memory that unfinished requests take, in all connections together."""

import asyncio
import struct
from typing import cast

from kcli.broker.net.connection import Connection
from kcli.broker.net.memory_quota import Intake
from kcli.schemas.apikeys import METADATA
from tests.broker.talk import run, talking, until


def test_whoever_holds_most_goes_where_all_hold_too_much() -> None:
    one, two, three = (cast("Connection", object()) for _ in range(3))
    intake: Intake[Connection] = Intake(100)
    assert intake.hold(one, 500) is None  # alone it may
    assert intake.hold(one, 60) is None
    assert intake.hold(two, 30) is None
    assert intake.hold(three, 20) is one
    intake.forget(one)
    assert intake.total == 50
    assert intake.hold(three, 0) is None
    assert intake.total == 30


def test_frames_that_never_end_do_not_fill_the_memory() -> None:
    async def work() -> None:
        async with talking() as talk:
            intake = talk.broker.intake
            intake.limit = 4 << 20
            writers = []
            for _ in range(12):
                _, writer = await asyncio.open_connection("127.0.0.1", talk.broker.nodes[0].port)
                writers.append(writer)
                writer.write(struct.pack(">i", 100_000_000) + bytes(1 << 20))
                await talk(METADATA, 1, {"topics": []})
                await asyncio.sleep(0.02)
                assert intake.total <= 6 << 20
            await until(lambda: 13 - len(talk.broker.nodes[0].connections) >= 8)
            assert (await talk(METADATA, 1, {"topics": []}))["topics"] == []
            for writer in writers:
                writer.close()
            await asyncio.sleep(0)

    run(work())
