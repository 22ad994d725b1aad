from collections.abc import Callable

from typing_extensions import Buffer

from kcli.errors import InputError

DONE: int
DAMAGED: int
UNSUPPORTED: int
BROKEN: int

class Converter:
    problem: tuple[int, int, int, int, int] | InputError | None
    records: int
    headers_lost: int
    planned: int
    estimated: bool
    def __init__(
        self,
        magic: int,
        first_offset: int,
        decompress: Callable[[int, Buffer, int], Buffer],
        compress: Callable[[int, Buffer, int], Buffer],
        counting: bool = False,
    ) -> None: ...
    def size(self) -> int: ...
    def text(self) -> memoryview: ...
    def take(self) -> bytes: ...
    def clear(self) -> None: ...
    def convert(self, data: Buffer, start: int, stop: int) -> tuple[int, int]: ...

def chunk_end(data: Buffer, start: int, size: int, chunk: int) -> tuple[int, int]: ...
def find_offset(data: Buffer, start: int, size: int, offset: int) -> tuple[bool, int]: ...
