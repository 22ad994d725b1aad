"""A server of one partition, "t"-0, that knows what a consumer of 0.9 or 0.10 asks, and nothing else."""

import contextlib
import socket
import struct
import threading
from types import TracebackType
from typing import Any, Self

from kcli.grammar import frames, messages
from kcli.records import FetchSend, Slice, cut_slice

__all__ = ["OldServer"]

METADATA, FETCH, LIST_OFFSETS, FIND_COORDINATOR, API_VERSIONS = 3, 1, 2, 10, 18
# What a broker of that time answers, so that a client picks versions of it.
VERSIONS = {
    0: (0, 2),
    FETCH: (0, 3),
    LIST_OFFSETS: (0, 1),
    METADATA: (0, 2),
    FIND_COORDINATOR: (0, 0),
    API_VERSIONS: (0, 0),
}


class OldServer:
    """Hands out `data`, converted down to `magic`, as fetch responses; a context manager."""

    def __init__(self, data: bytes, magic: int, chunk_bytes: int) -> None:
        self.source, self.magic, self.chunk_bytes = Slice.of(data), magic, chunk_bytes
        self.fetches = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.open: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for each in (self.listener, *self.open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.open.append(connection)
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection.makefile("rb") as stream:
            while head := stream.read(4):
                frame = stream.read(*struct.unpack(">i", head))
                request = frames.decode_request(frame)
                header: dict[str, Any] = request.header
                answer = self.answer(request.api_key, request.api_version, request.body)
                body = messages.response(request.api_key, request.api_version).write(answer)
                out = struct.pack(">i", header["correlationId"]) + body
                connection.sendall(struct.pack(">i", len(out)) + out)

    def answer(self, api_key: int, version: int, body: dict[str, Any]) -> dict[str, Any]:
        if api_key == API_VERSIONS:
            keys = [{"apiKey": key, "minVersion": low, "maxVersion": high} for key, (low, high) in VERSIONS.items()]
            return {"errorCode": 0, "apiKeys": keys}
        if api_key == METADATA:
            return self.metadata(version)
        if api_key == FETCH:
            return self.fetch(version, body)
        if api_key == FIND_COORDINATOR:
            return {"errorCode": 0, "nodeId": 1, "host": "127.0.0.1", "port": self.port}
        raise OSError(f"api key {api_key} is not served")

    def metadata(self, version: int) -> dict[str, Any]:
        broker: dict[str, Any] = {"nodeId": 1, "host": "127.0.0.1", "port": self.port}
        partition = {"errorCode": 0, "partitionIndex": 0, "leaderId": 1, "replicaNodes": [1], "isrNodes": [1]}
        topic: dict[str, Any] = {"errorCode": 0, "name": "t", "partitions": [partition]}
        answer: dict[str, Any] = {"brokers": [broker], "topics": [topic]}
        if version >= 1:
            answer["controllerId"] = 1
        return answer

    def fetch(self, version: int, body: dict[str, Any]) -> dict[str, Any]:
        self.fetches += 1
        wanted = body["topics"][0]["partitions"][0]
        part = cut_slice(self.source, wanted["partitionMaxBytes"], wanted["fetchOffset"])
        send = FetchSend(part, self.magic, wanted["fetchOffset"], self.chunk_bytes)
        records = b"".join(send)
        partition = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 1 << 40, "records": records}
        answer: dict[str, Any] = {"responses": [{"topic": "t", "partitions": [partition]}]}
        if version >= 1:
            answer["throttleTimeMs"] = 0
        return answer
