"""Facts about TCP connections, counted packet by packet (see tcp_facts.pyx)."""

TALK: tuple[str, ...]
SENDER: tuple[str, ...]

class TcpFacts:
    """Counts connections."""

    def __init__(self, most: int = ...) -> None: ...
    def __len__(self) -> int: ...
    def take(self, last: bool = False) -> tuple[list[tuple[str, str]], bytes]: ...
