"""Exchanges into columns (see rows.pyx)."""

from collections.abc import Callable, Iterable
from typing import Any

from kcli.core.sink import Sink

class ExchangeRows(Sink):
    count: int
    errors: list[tuple[int, list[int]]]
    def __init__(
        self,
        bodies: Any,
        more: Callable[[bytes, int, int, int, bytes, int | None, bytes | None], Any],
        flush: Callable[[], Any],
        told: Iterable[int] = (),
        slow: Iterable[int] = (),
        rows: int = 20000,
        size: int = ...,
    ) -> None: ...
    def take_columns(
        self,
    ) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes, list[str], list[tuple[int, list[int]]]]: ...
