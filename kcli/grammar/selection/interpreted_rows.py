"""Fills the rows of a selection from values and spans of the interpreted grammar, the reference for the core."""

from __future__ import annotations

from array import array
from typing import Any

from kcli.core.codec.varints import Buffer
from kcli.grammar.selection.plan import TAGS, Branch, SelectionPlan, word_type
from kcli.grammar.words.arrays import Optional
from kcli.grammar.words.scalars import LengthPrefixed
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.tagged import UNKNOWN_TAGS
from kcli.grammar.words.trace import DecodeTrace, Span, child
from kcli.grammar.words.varints import read_length


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
