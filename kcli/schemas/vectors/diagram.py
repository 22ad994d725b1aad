"""Byte diagrams of a message: its fields in the order in which they are written, in boxes, each struct by itself.

    +-----------+----------------+
    | maxWaitMs | topics         |
    | int32     | array of Topic |
    | 4         | varint, n of T |
    +-----------+----------------+

The last line of a box is its size in bytes; `LEGEND` explains its words.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kcli.legible import legible
from kcli.schemas.model import WIDTHS, Field, Message

WIDEST = 110  # characters of a row of boxes
LEGEND = (
    "varint: an unsigned varint of 1 to 5 bytes. varint + n: it holds n + 1, or 0 for null, and n bytes follow; of an "
    "array n entries. 2 + n, 4 + n: an int16 or int32 holds n, or -1 for null. 1 +: an int8 in front is 1, or -1 for a "
    "struct that is null (as a tagged field: a varint, 0 for null). All numbers are big endian."
)
TAGS = ("tagged fields", "varint count, then of each:", "varint tag, varint size, value")


class Diagram(NamedTuple):
    """title: "FetchRequest v12", "topics: each entry", "tagged fields". lines: the drawn boxes; [] for a struct without
    bytes.
    """

    title: str
    lines: list[str]


class Box(NamedTuple):
    name: str
    type: str
    size: str


def diagrams(message: Message, version: int) -> Iterator[Diagram]:
    """Yield a diagram of the message, then of each struct in it, in the order of their fields."""
    yield from of_struct(f"{message.name} v{version}", message.fields, version, message.is_flexible(version), "")


def of_struct(title: str, fields: tuple[Field, ...], version: int, flexible: bool, path: str) -> Iterator[Diagram]:
    present = [field for field in fields if version in field.versions]
    boxes = [box(field, version, flexible) for field in present if version not in field.tagged]
    if flexible:
        boxes.append(Box(*TAGS))
    yield Diagram(title, list(rows(boxes)))
    tagged = sorted((field for field in present if version in field.tagged), key=lambda field: field.tag or 0)
    if tagged:
        sent = [box(field, version, flexible) for field in tagged]
        named = [each._replace(name=f"tag {field.tag}: {each.name}") for field, each in zip(tagged, sent, strict=True)]
        yield Diagram(f"{title}: tagged fields", list(rows(named)))
    for field in present:
        if field.is_struct:
            below = f"{path}{field.name}"
            title = f"{below}: each entry" if field.is_array else below
            yield from of_struct(title, field.fields, version, flexible, f"{below}.")


def box(field: Field, version: int, flexible: bool) -> Box:
    compact = flexible if field.flexible is None else version in field.flexible
    nullable = version in field.nullable
    words = ["nullable"] if nullable else []
    if field.is_array:
        return Box(field.name, " ".join([*words, f"array of {field.element}"]), prefix(compact, 4) + " entries")
    if field.is_struct:
        return Box(field.name, " ".join([*words, field.type]), "1 + its fields" if nullable else "its fields")
    if field.type in WIDTHS:
        return Box(field.name, field.type, str(WIDTHS[field.type]))
    words += ["compact"] if compact else []
    return Box(field.name, " ".join([*words, field.type]), prefix(compact, 2 if field.type == "string" else 4))


def prefix(compact: bool, width: int) -> str:
    return "varint + n" if compact else f"{width} + n"


def rows(boxes: list[Box]) -> Iterator[str]:
    """Yield the lines of boxes, with as many in a row as fit into WIDEST."""
    cells = [[legible(text) for text in each] for each in boxes]
    row: list[list[str]] = []
    for cell in cells:
        if row and sum(width(each) + 3 for each in (*row, cell)) > WIDEST:
            yield from drawn(row)
            row = []
        row.append(cell)
    if row:
        yield from drawn(row)


def width(cell: list[str]) -> int:
    return max(map(len, cell))


def drawn(row: list[list[str]]) -> Iterator[str]:
    edge = "".join(f"+{'-' * (width(cell) + 2)}" for cell in row) + "+"
    yield edge
    for line in range(len(Box._fields)):
        yield "".join(f"| {cell[line]:{width(cell)}} " for cell in row) + "|"
    yield edge
