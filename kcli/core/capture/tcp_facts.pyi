"""Facts about TCP connections, counted packet by packet (see tcp_facts.pyx)."""

from collections.abc import Callable

TALK: tuple[str, ...]
SENDER: tuple[str, ...]

class TcpFacts:
    """Counts connections."""

    def __init__(self, most: int = ..., full: Callable[[], None] | None = None) -> None: ...
    def take(self, last: bool = False) -> tuple[list[tuple[str, str, str]], bytes]: ...
    def resent(self) -> list[tuple[str, str, int]]: ...
