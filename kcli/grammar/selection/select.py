"""Selects a few fields of a message as columns, directly from its bytes.

`plan` describes paths and the order of columns. The compiled core fills the rows; `interpreted_rows` fills them from
the reference grammar if the core cannot or is not built.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from kcli.core.codec.varints import Buffer
from kcli.errors import DecodeError
from kcli.grammar.selection.interpreted_rows import interpreted_rows
from kcli.grammar.selection.plan import MISSING, SelectionPlan
from kcli.grammar.selection.selected import Selected
from kcli.grammar.words.structs import Struct

if TYPE_CHECKING:
    from kcli.core.codec import messages as core


class SelectableCodec(Protocol):
    """The part of a `MessageCodec` that a selection uses."""

    @property
    def what(self) -> str:
        """Name and version of the message."""

    @property
    def grammar(self) -> Struct:
        """The message's grammar."""

    @property
    def compiled(self) -> core.Node | None:
        """The core's node; None if the core is not built or cannot read the grammar."""

    def named(self, error: DecodeError) -> DecodeError:
        """Return the error with the message's name and version."""


class Selection(SelectionPlan):
    """Some fields of one message version: `read` gives their columns. Paths are those of `SelectionPlan`."""

    def __init__(self, codec: SelectableCodec, paths: Sequence[str], missing: int = MISSING) -> None:
        """Compile a selection. missing: the value in a column of numbers if the version or a message lacks the field.
        Raises UsageError for an unknown path.
        """
        super().__init__(codec.grammar, codec.what, paths, missing)
        self.codec = codec

    def __repr__(self) -> str:
        return f"<Selection of {self.name}: {', '.join(self.paths)}>"

    def read(self, data: Buffer, offset: int = 0) -> Selected:
        """Return the columns of the message at `offset`.

        Raises DecodeError with path, offset and reason, as `read` does.
        """
        try:
            found = self.compiled.read(data, offset) if self.compiled is not None else None
            rows, end = found or interpreted_rows(self, data, offset)
        except DecodeError as error:
            raise self.codec.named(error) from None
        return Selected(self, data, rows, end)

    @cached_property
    def compiled(self) -> core.Selection | None:
        """The core's program; None if it cannot read the grammar."""
        return self.compile(whole=True)

    @cached_property
    def head(self) -> core.Selection | None:
        """The core's program for readers of the first fields; it stops after the last selected one."""
        return self.compile(whole=False)

    def compile(self, whole: bool) -> core.Selection | None:
        """Return the core's program, up to the message's end if `whole`, else up to the last selected field."""
        if self.codec.compiled is None:
            return None
        from kcli.core.codec.messages import Selection as Compiled
        from kcli.grammar.native import head, program

        parts = program(self.root, self.codec.compiled)
        templates = [level.template.tobytes() for level in self.levels]
        return Compiled(self.codec.compiled, templates, parts if whole else head(parts))
