"""Reads Avro values in their JSON form (see avro_values.pyx)."""

from collections.abc import Callable, Sequence
from typing import Any

class ValueDamageError(ValueError): ...

class Type:
    def __init__(
        self,
        kind: str,
        names: Sequence[str] = (),
        size: int = 0,
        turn: Callable[[Any], Any] | None = None,
    ) -> None: ...
    def hold(self, inner: Sequence[Type]) -> None: ...

def read(root: Type, data: bytes, start: int) -> Any: ...
