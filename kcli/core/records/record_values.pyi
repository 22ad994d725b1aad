from collections.abc import Iterable, Sequence
from typing import TypeAlias

from typing_extensions import Buffer

Row: TypeAlias = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
Problem: TypeAlias = tuple[int, int, int, int, int]

def read_records(
    data: Buffer, count: int, base_offset: int, base_timestamp: int, append_time: bool
) -> tuple[list[Row], Problem | None]: ...
def walk_records(data: Buffer, count: int) -> tuple[Problem | None, tuple[bool, int], tuple[int, int]]: ...
def read_messages(
    data: Buffer, magic: int, attributes: int, offset: int, timestamp: int
) -> tuple[list[Row], Problem | None]: ...
def write_records(
    records: Iterable[tuple[int, int, bytes | None, bytes | None, Sequence[tuple[bytes, bytes | None]]]],
    base_offset: int,
    base_timestamp: int,
) -> bytes: ...
def write_header(
    base_offset: int,
    leader_epoch: int,
    magic: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    count: int,
    payload: Buffer,
    crc: int | None = None,
) -> bytes: ...
def write_message(
    offset: int,
    magic: int,
    attributes: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    crc: int | None = None,
) -> bytes: ...
