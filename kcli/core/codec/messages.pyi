from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview
NotedSide: TypeAlias = tuple[int, int, str, Any]
Noted: TypeAlias = tuple[str, NotedSide | None, NotedSide | None]  # path, expected, got

class Fallback(Protocol):
    def read(self, data: Buffer, offset: int = 0) -> tuple[Any, int]: ...
    def skip(self, data: Buffer, offset: int = 0) -> int: ...

class Names:
    def __len__(self) -> int: ...
    def learn(self, uuid: bytes, name: str) -> None: ...
    def take_in(self, log: Buffer) -> None: ...
    def get(self, uuid: bytes) -> str | None: ...
    def missing(self) -> list[bytes]: ...

class Node:
    least: int
    guarded: bool
    fallback: Fallback | None
    def read(self, data: Buffer, offset: int = 0) -> tuple[Any, int]: ...
    def json(
        self,
        data: Buffer,
        offset: int = 0,
        *,
        records: str = "none",
        hook: Callable[[memoryview], bytes] | None = None,
        names: Names | None = None,
        whole: bool = False,
        secrets: bool = False,
    ) -> tuple[bytes, int]: ...
    def skip(self, data: Buffer, offset: int = 0) -> int: ...
    def differences(
        self, one: bytes, offset: int, other: bytes, other_offset: int, batch: Message | None = None
    ) -> tuple[list[Noted], list[Noted], int, int] | None: ...
    def write(self, value: Any) -> bytes: ...

class Scalar(Node):
    def __init__(self, kind: str, nullable: bool = False, compact: bool = False) -> None: ...

class Secret(Scalar):
    def __init__(
        self,
        kind: str,
        nullable: bool = False,
        compact: bool = False,
        judge: Callable[[str, int], bool] | None = None,
    ) -> None: ...

class Envelope(Secret):
    def __init__(
        self,
        kind: str,
        nullable: bool,
        compact: bool,
        inside: Callable[[int, int], tuple[Node, Node, bytes] | None],
        answers: bool,
    ) -> None: ...

class Array(Node):
    element: Node
    def __init__(self, element: Node, nullable: bool = False, compact: bool = False) -> None: ...

class Optional(Node):
    inner: Node
    def __init__(self, inner: Node, tagged: bool = False) -> None: ...

class Message(Node):
    fields: list[tuple[str, Node, Any]]
    tagged: list[tuple[str, int, Node]]
    flexible: bool
    def __init__(
        self,
        fields: list[tuple[str, Node, Any]],
        tagged: list[tuple[str, int, Node]],
        flexible: bool,
        guarded: bool = False,
    ) -> None: ...

class Selection:
    def __init__(self, node: Node, templates: list[bytes], program: list[dict[str, Any]]) -> None: ...
    def read(self, data: Buffer, offset: int = 0) -> tuple[list[bytes], int] | None: ...

def batch_differences(header: Message, one: bytes, other: bytes) -> tuple[list[Noted], list[Noted]] | None: ...
