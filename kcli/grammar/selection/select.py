"""Selects a few fields of a message as columns, directly from its bytes.

`plan` describes paths and the order of columns. The compiled core fills the rows; `interpreted_rows` fills them from
the reference grammar if the core cannot or is not built.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kcli.core.codec.values import MISSING, uuid_text
from kcli.core.codec.varints import Buffer
from kcli.errors import DecodeError, UsageError
from kcli.grammar.selection.plan import SLICED, TAGS, Branch, SelectionPlan, word_type
from kcli.grammar.words.arrays import Optional
from kcli.grammar.words.scalars import LengthPrefixed
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.tagged import UNKNOWN_TAGS
from kcli.grammar.words.trace import DecodeTrace, Span, child
from kcli.grammar.words.varints import read_length

if TYPE_CHECKING:
    from kcli.core.codec import messages as core


class SelectableCodec(Protocol):
    """The part of a `MessageCodec` that a selection uses."""

    grammar: Struct  # the message's grammar

    @property
    def what(self) -> str:
        """Name and version of the message."""

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


class Selected:
    """The columns of one message. data: the bytes; end: the offset of the message's end in them."""

    def __init__(self, plan: SelectionPlan, data: Buffer, rows: list[bytes], end: int) -> None:
        self.plan, self.data, self.rows, self.end = plan, data, rows, end

    def __repr__(self) -> str:
        sizes = [f"{level.path or 'message'}: {self.height(index)}" for index, level in enumerate(self.plan.levels)]
        return f"<Selected {', '.join(sizes)}>"

    def height(self, level: int) -> int:
        """Return the number of a level's rows."""
        return len(self.rows[level]) // (8 * len(self.plan.levels[level].template))

    def view(self, level: int, slot: int, form: Literal["q", "d"] = "q") -> memoryview:
        """Return one slot of all rows in a level, as int64 ("q") or double ("d")."""
        view: memoryview[Any] = memoryview(self.rows[level]).cast(form)
        return view[slot :: len(self.plan.levels[level].template)]

    def column(self, path: str) -> memoryview:
        """Return the numbers of a path, one for each row of its level: doubles for a float64, else int64; `missing`
        where there is none. Raises UsageError.
        """
        place = self.plan.place(path)
        if place.type in SLICED:
            raise UsageError(f"select: {path} is a {place.type}: take `slices`, not `column`")
        return self.view(place.level, place.slot, "d" if place.type == "float64" else "q")

    def slices(self, path: str) -> tuple[memoryview, memoryview]:
        """Return (starts, sizes) in `data`, in bytes, for strings, bytes, records and uuids; size -1 is null or absent.

        Raises UsageError.
        """
        place = self.plan.place(path)
        if place.type not in SLICED:
            raise UsageError(f"select: {path} is a {place.type}: take `column`, not `slices`")
        return self.view(place.level, place.slot), self.view(place.level, place.slot + 1)

    def counts(self, path: str) -> memoryview:
        """Return the lengths of an array (`topics[].partitions[]`), one for each row of its level; -1 is null or
        absent.
        """
        place = self.plan.count(path)
        return self.view(place.level, place.slot)

    def present(self, path: str) -> memoryview | None:
        """Return 1 for a tagged field that was sent or a struct that is not null, else 0, for each row; None if the
        path can't be absent.
        """
        branch = self.plan.branches[path]
        return self.view(branch.level, branch.present) if branch.present >= 0 else None

    def parents(self, path: str) -> array[int]:
        """Return, for each row of the path's level, the row of its array, to join columns of two levels."""
        counts = self.counts(path)
        return array("q", (row for row, count in enumerate(counts) for _ in range(count)))

    def values(self, path: str) -> list[Any]:
        """Return the values of a path as `read` has them, row by row: numbers, bools, text, bytes; None for null or
        absent.
        """
        place = self.plan.place(path)
        if place.type in SLICED:
            return [self.value_at(place.type, *each) for each in zip(*self.slices(path), strict=True)]
        made: list[Any] = list(self.column(path))
        if place.type == "bool":
            return [value if value == self.plan.missing else bool(value) for value in made]
        return made

    def value_at(self, type_: str, start: int, size: int) -> Any:
        """Return the value of a slice; None for size -1."""
        if size < 0:
            return None
        data = bytes(self.data[start : start + size])
        return uuid_text(data) if type_ == "uuid" else data.decode(errors="replace") if type_ == "string" else data


def interpreted_rows(plan: SelectionPlan, data: Buffer, offset: int) -> tuple[list[bytes], int]:
    """Return (rows of each level, end) as the core does, from values and spans of the interpreted grammar."""
    trace = DecodeTrace(spans=[])
    source = ByteSource(data, offset)
    value = plan.grammar.parse_word(source, trace, "")
    return Filler(plan, data, trace).rows(value), source.tell()


class Filler:
    """Fills rows from a decoded value. spans: the spans of each path, of which the last one is the current value's."""

    def __init__(self, plan: SelectionPlan, data: Buffer, trace: DecodeTrace) -> None:
        self.plan, self.data = plan, data
        self.levels = [array("q") for _ in plan.levels]
        self.spans: dict[str, list[Span]] = {}
        for span in trace.spans or ():
            self.spans.setdefault(span.path, []).append(span)

    def rows(self, value: Any) -> list[bytes]:
        self.fill(self.plan.root, value, "", self.new_row(0))
        return [level.tobytes() for level in self.levels]

    def new_row(self, level: int) -> int:
        """Add a row; return its offset in the level."""
        self.levels[level].extend(self.plan.levels[level].template)
        return len(self.levels[level]) - len(self.plan.levels[level].template)

    def fill(self, branch: Branch, value: Any, path: str, row: int) -> None:
        if branch.present >= 0:
            is_present = value is not None or not isinstance(branch.word, Optional)
            self.levels[branch.level][row + branch.present] = is_present
        if branch.element is not None:
            self.fill_array(branch, branch.element, value, path, row)
        elif isinstance(value, dict):
            for name, below in branch.below.items():
                self.fill_field(below, name, value, path, row)
        elif branch.slot >= 0:
            self.put(branch, value, path, row)

    def fill_field(self, branch: Branch, name: str, value: dict[str, Any], path: str, row: int) -> None:
        place = child(path, name)
        if name == TAGS:
            self.levels[branch.level][row + branch.slot] = self.tag_count(place)
        elif name == UNKNOWN_TAGS:
            if branch.element is not None:
                self.fill_unknown(branch, branch.element.level, value.get(name, []), path, row)
        elif name in value:
            self.fill(branch, value[name], place, row)

    def tag_count(self, place: str) -> int:
        counts: list[int] = [span.value for span in self.spans[place] if span.type == "tag count"]
        return counts[-1]

    def fill_array(self, branch: Branch, element: Branch, value: Any, path: str, row: int) -> None:
        self.levels[branch.level][row + branch.slot] = -1 if value is None else len(value)
        for index, item in enumerate(value or ()):
            self.fill(element, item, f"{path}[{index}]", self.new_row(element.level))

    def fill_unknown(self, branch: Branch, level: int, tags: list[dict[str, Any]], path: str, row: int) -> None:
        self.levels[branch.level][row + branch.slot] = len(tags)
        left = {tag["tag"]: sum(1 for other in tags if other["tag"] == tag["tag"]) for tag in tags}
        for tag in tags:
            span = self.spans[child(path, f"tag {tag['tag']}")][-left[tag["tag"]]]
            left[tag["tag"]] -= 1
            at = self.new_row(level)
            self.levels[level][at : at + 3] = array("q", (tag["tag"], span.start, span.end - span.start))

    def put(self, branch: Branch, value: Any, path: str, row: int) -> None:
        at, into, word = row + branch.slot, self.levels[branch.level], branch.word
        if isinstance(word, LengthPrefixed):
            size = -1 if value is None else self.content(word, path)
            into[at + 1], into[at] = size, self.spans[path][-1].end - max(size, 0)
        elif word_type(word) == "uuid":
            into[at], into[at + 1] = self.spans[path][-1].start, 16
        elif word_type(word) == "float64":
            span = self.spans[path][-1]
            into[at] = int.from_bytes(self.data[span.start : span.end], "big", signed=True)
        else:
            into[at] = int(value)

    def content(self, word: LengthPrefixed, path: str) -> int:
        """Return the size in bytes of a string, bytes or records, without their length."""
        span = self.spans[path][-1]
        return max(read_length(ByteSource(self.data[span.start : span.end]), word.width, path)[0], 0)
