"""The sending side of a connection whose client goes."""

import asyncio
from typing import Any

from kcli.broker.net.response_writer import ResponseWriter


class Transport(asyncio.Transport):
    """Notes what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.over = False

    def write(self, data: Any) -> None:
        self.written.append(data)

    def is_closing(self) -> bool:
        return self.over

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass


def test_nothing_is_written_to_a_client_that_is_gone() -> None:
    """asyncio prints a line for each piece: a full pipe behind standard error would hold up the broker."""

    async def work() -> None:
        transport = Transport()
        writer = ResponseWriter(asyncio.get_running_loop(), transport)
        writer.send([b"a", b"b"])
        transport.over = True
        writer.send([b"c"])
        assert transport.written == [b"ab"]
        transport.over = False
        writer.lose()
        writer.send([b"d"])
        assert transport.written == [b"ab"]

    asyncio.run(work())
