"""Inserts topic names into a column of JSON text (see topic_names.pyx)."""

from collections.abc import Mapping
from typing import Any

class NameInserter:
    def __init__(self, known: Mapping[str, tuple[bytes, int]]) -> None: ...
    # Buffers of bytes, int32 and int64, as from numpy.
    def insert(self, data: Any, offsets: Any, moments: Any) -> tuple[bytes, bytes] | None: ...
