"""Messages with other bytes in place of some fields (see rewriting.pyx)."""

from collections.abc import Callable

from kcli.core.codec.messages import Selection

BLANK: int

class Rewriter:
    """One message version's fields, and their replacements."""

    def __init__(
        self,
        selection: Selection,
        columns: list[tuple[int, int, int | Callable[[bytes], bytes]]],
        unknown: list[int],
    ) -> None: ...

class FrameRewriter:
    """The frames of one API's requests, or responses, in one version."""

    def __init__(self, header: Rewriter, body: Rewriter, refused: int = 0) -> None: ...
    def rewritten(self, frame: bytes) -> bytes | None: ...
