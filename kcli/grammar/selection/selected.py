"""The columns that a selection reads from one message."""

from __future__ import annotations

from array import array
from typing import Any, Literal

from kcli.core.codec.values import uuid_text
from kcli.core.codec.varints import Buffer
from kcli.errors import UsageError
from kcli.grammar.selection.plan import SLICED, SelectionPlan


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
