"""The plan of a selection: its columns by level, and their places in a message's grammar.

A path names fields as in errors, but without indexes: `topics[].partitions[].fetchOffset`. Each `[]` begins a level,
with a row for each entry of that array in the whole message; the message itself is level "", with one row.
"""

from array import array
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from kcli.core.codec.values import MISSING
from kcli.errors import UsageError
from kcli.grammar.words.arrays import Array, Optional
from kcli.grammar.words.scalars import LengthPrefixed, Primitive
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.tagged import UNKNOWN_TAGS
from kcli.grammar.words.varints import UnsignedVarint, Zigzag

TAGS = "_tags"
# Types whose columns are the offsets and sizes of their bytes.
SLICED = ("string", "bytes", "records", "uuid")

NUMBERS = ("bool", "int8", "int16", "int32", "int64", "uint16", "uint32", "float64")


class ColumnPlace(NamedTuple):
    """The place of a column: level and slot, and its content (a word's type, "count", "present" or "missing")."""

    level: int
    slot: int
    type: str


class Level:
    """The rows of one array: its path, and the template of a new row."""

    def __init__(self, path: str) -> None:
        self.path, self.template = path, array("q")

    def add(self, *values: int) -> int:
        """Add columns with these initial values; return the slot of the first."""
        self.template.extend(values)
        return len(self.template) - len(values)


class Branch:
    """The selection in one word of the grammar.

    slot: of its value, or of an array's count; present: of a 1 if the value is there; -1 if there is no slot. below:
    the branches of its fields. level: of its rows. element: the branch of an array's elements.
    """

    def __init__(self, word: Any, level: int) -> None:
        self.word, self.level, self.slot, self.present = word, level, -1, -1
        self.below: dict[str, Branch] = {}
        self.element: Branch | None = None


class SelectionPlan:
    """The plan of the columns for some fields of one message version. name: the message, for errors.

    A name in a path may have alternatives (`topic|name`), of which the first one in the version counts; a path that
    ends with `?` may be missing in the version. `_tags` is the number of tagged fields in a struct;
    `_unknownTaggedFields[].tag` and `.data` are the tagged fields that the version does not know. `topics[]` alone
    selects counts. The columns of a level have the order of the paths; an array's count is where a path first names it.
    """

    def __init__(self, grammar: Struct, name: str, paths: Sequence[str], missing: int = MISSING) -> None:
        """Plan a selection. missing: the value in a column of numbers if the version or a message lacks the field.
        Raises UsageError for an unknown path.
        """
        self.grammar, self.name, self.paths, self.missing = grammar, name, tuple(paths), missing
        self.levels = [Level("")]
        self.root = Branch(grammar, 0)
        self.places: dict[str, ColumnPlace] = {}
        self.arrays: dict[str, ColumnPlace] = {}
        self.branches: dict[str, Branch] = {}
        for path in self.paths:
            self.add(path)
        self.mark_presence(self.root)
        for level in self.levels:
            if not level.template:
                level.add(0)  # a row must have a width

    def place(self, path: str) -> ColumnPlace:
        """Return a column's place. Raises UsageError if it is not selected."""
        return self.known(self.places, path)

    def count(self, path: str) -> ColumnPlace:
        """Return the place of an array's count. Raises UsageError if nothing in the array is selected."""
        return self.known(self.arrays, path)

    def known(self, places: dict[str, ColumnPlace], path: str) -> ColumnPlace:
        """Return the place of a path. Raises UsageError if it is not selected."""
        if path not in places:
            raise UsageError(f"select: {path!r} is not among the paths ({', '.join(places)})")
        return places[path]

    def slices_only(self, paths: Collection[str]) -> bool:
        """Return whether exactly these columns are slices, and all others numbers, as readers in the core assume."""
        kinds = {path: self.place(path).type for path in self.paths if path in self.places}
        return all((type_ in SLICED) == (path in paths) for path, type_ in kinds.items() if type_ != "missing")

    # Paths

    def add(self, path: str) -> None:
        """Add the column of a path, and the levels that it needs. Raises UsageError for an unknown path."""
        bare = path.removesuffix("?")
        branch, reached = self.root, ""
        for part in bare.split("."):
            names, depth = part.replace("[]", ""), part.count("[]")
            if not names or part != names + "[]" * depth:
                raise UsageError(f"select: {path!r} is no path: names with dots between, [] behind those of arrays")
            branch = self.below(branch, names, path)
            reached = f"{reached}.{names}" if reached else names
            for _ in range(depth):
                reached += "[]"
                branch = self.each(branch, reached, path)
            self.branches[reached] = branch
        self.branches[path] = branch
        self.finish(branch, bare, path)

    def finish(self, branch: Branch, bare: str, path: str) -> None:
        """Add the column at the end of a path. Raises UsageError if it has no column."""
        word = branch.word
        type_ = "missing" if word is None else "count" if word == TAGS else getattr(word, "kind", word_type(word))
        if type_ not in (*NUMBERS, *SLICED, "missing", "count"):
            if isinstance(word, Array) and not bare.endswith("[]"):
                raise UsageError(f"select: {path} is an array: write {bare}[]")
            return
        if type_ == "missing" and bare.endswith("[]"):
            return
        if branch.slot < 0:
            none = (0, -1) if type_ in SLICED else (0,) if type_ == "count" else (self.missing,)
            branch.slot = self.levels[branch.level].add(*none)
        self.places[path] = self.places[bare] = ColumnPlace(branch.level, branch.slot, type_)

    def below(self, branch: Branch, names: str, path: str) -> Branch:
        """Return the branch of a struct's field. Raises UsageError."""
        word = branch.word.subcon if isinstance(branch.word, Optional) else branch.word
        words = dict(word.words) if isinstance(word, Struct) else {}
        if isinstance(word, Struct) and word.flexible:
            words |= {TAGS: TAGS, UNKNOWN_TAGS: UNKNOWN_TAGS}
        elif isinstance(word, str) and word == UNKNOWN_TAGS:
            words = {"tag": Primitive("uint32"), "data": LengthPrefixed("bytes")}
        name = next((name for name in names.split("|") if name in words), None)
        if name is None:
            if not path.endswith("?") and word is not None:
                known = ", ".join(sorted(words)) or "none"
                raise UsageError(f"select: {path}: {self.name} has no field {names!r} there (it has: {known})")
            name = f"{names}?"
        return branch.below.setdefault(name, Branch(words.get(name), branch.level))

    def each(self, branch: Branch, reached: str, path: str) -> Branch:
        """Return the branch of an array's elements. Raises UsageError."""
        word = branch.word
        if word is not None and word != UNKNOWN_TAGS and not isinstance(word, Array):
            raise UsageError(f"select: {path}: {reached.removesuffix('[]')} is no array in {self.name}")
        if branch.element is None:
            branch.slot = self.levels[branch.level].add(-1 if word != UNKNOWN_TAGS else 0)
            self.levels.append(Level(reached))
            element = word.subcon if isinstance(word, Array) else word
            branch.element = Branch(element, len(self.levels) - 1)
            if word == UNKNOWN_TAGS:
                self.levels[-1].add(0, 0, -1)  # the core's columns
                self.unknown_tags(branch.element)
        self.arrays[reached] = ColumnPlace(branch.level, branch.slot, "count")
        return branch.element

    def unknown_tags(self, element: Branch) -> None:
        """Add the columns of unknown tagged fields, in the core's slots."""
        for slot, (name, word) in enumerate((("tag", Primitive("uint32")), ("data", LengthPrefixed("bytes")))):
            element.below[name] = Branch(word, element.level)
            element.below[name].slot = slot

    def mark_presence(self, branch: Branch, tagged: bool = False) -> None:
        """Add slots for values that may be absent, after all columns of their level."""
        if tagged or isinstance(branch.word, Optional):
            branch.present = self.levels[branch.level].add(0)
        struct = branch.word.subcon if isinstance(branch.word, Optional) else branch.word
        sent = {field.name for field in struct.tagged} if isinstance(struct, Struct) else set()
        for name, below in branch.below.items():
            self.mark_presence(below, name in sent)
        if branch.element is not None:
            self.mark_presence(branch.element)


def word_type(word: Any) -> str:
    """Return the type of a word's values, as in `ColumnPlace`."""
    if isinstance(word, Primitive):
        return word.type
    return "int64" if isinstance(word, UnsignedVarint | Zigzag) else "struct"
