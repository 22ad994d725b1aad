"""Counts facts about TCP connections, packet by packet (see tcp_facts.pyx)."""

from collections.abc import Callable
from typing import Any

TALK: tuple[str, ...]
SENDER: tuple[str, ...]
NAMED: int

class TcpFacts:
    """Counts connections."""

    def __init__(self, most: int = ..., full: Callable[[], None] | None = None) -> None: ...
    def take(self, last: bool = False) -> tuple[bytes, bytes]: ...
    def resent(self) -> list[tuple[str, str, int]]: ...

def end_pairs(rows: bytes) -> list[tuple[str, str]]: ...
def link_texts(rows: bytes, turned: Any) -> list[tuple[bytes, bytes, bytes]]: ...
