from collections.abc import Callable
from typing import Any, TypeAlias

from typing_extensions import Buffer

HEADER_SIZE: int
SIZE_AT: int
LENGTH_END: int
MAGIC_AT: int
CRC_AT: int
CRC_START: int
LEAST_LENGTH: tuple[int, int, int]
DONE: int
END: int
PARTIAL: int
LENGTH: int
SHORT: int
MAGIC: int
SUSPECT: int
FULL: int
LEGACY_NULL: int
LEGACY_CODEC: int

Frame: TypeAlias = tuple[
    int, int, int, int, int, int, int, int, bool | None, int, int, int, int, int, int, int, int, int, int
]
Hook: TypeAlias = Callable[[bytes | None, bytes | None], bytes]

class BatchText:
    problems: list[tuple[int, str, str, int]]
    batches: int
    records: int
    wrong_checksums: int
    decompress: Any
    suspect: Callable[[memoryview], bool] | None
    def __init__(
        self,
        decompress: Callable[[int, Buffer, int], Buffer],
        control: Hook | None = None,
        record: Hook | None = None,
        payloads: bool = True,
        positions: bool = False,
        secret: Callable[[memoryview], bool] | None = None,
        suspect: Callable[[memoryview], bool] | None = None,
        types: bytes = b"",
    ) -> None: ...
    def take(self) -> bytes: ...
    def take_list(self) -> bytes: ...
    def text(self) -> memoryview: ...
    def clear(self) -> None: ...
    def take_findings(self) -> tuple[int, int, int, list[tuple[int, str, str, int]]]: ...
    def append(self, text: bytes, lines: bool = False) -> None: ...
    def write(
        self, data: Buffer, start: int, stop: int, base: int, full: bool, trusted: int = -1, lines: bool = False
    ) -> tuple[int, int]: ...
    def write_records(
        self,
        data: Buffer,
        start: int,
        before: bytes,
        behind: bytes,
        first: int | None = None,
        timestamp: int | None = None,
    ) -> int: ...

def whole(data: Buffer, start: int, size: int, limit: int = -1) -> tuple[int, int, int]: ...
def find(data: Buffer, start: int, stop: int) -> int: ...
def sound(data: Buffer, start: int, stop: int) -> tuple[bool, bool]: ...
def frames(data: Buffer, start: int = 0, check: bool = True) -> tuple[list[Frame], int, int]: ...
