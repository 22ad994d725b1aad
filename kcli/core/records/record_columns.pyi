from collections.abc import Callable

from typing_extensions import Buffer

WIDE: tuple[str, ...]
NARROW: tuple[str, ...]

class Columns:
    count: int
    stopped: int
    batches: int
    problems: list[tuple[int, int, str]]
    def __init__(
        self,
        data: Buffer,
        start: int,
        stop: int,
        decompress: Callable[[int, memoryview, int, int], Buffer],
        most: int = ...,
    ) -> None: ...
    def column(self, name: str) -> memoryview: ...
    @property
    def extra(self) -> bytes: ...

def gather(data: Buffer, extra: Buffer, places: Buffer, sizes: Buffer) -> tuple[bytes, bytes, bytes, int]: ...
def header_places(
    data: Buffer, extra: Buffer, headers_at: Buffer, header_count: Buffer
) -> tuple[bytes, bytes, bytes, bytes, bytes]: ...
def checksums(data: Buffer, start: int = 0) -> tuple[int, int, int]: ...
