"""Values in columns, measured in a terminal's cells: wide characters take two, combining ones none."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

from kcli.legible import legible

CUT = "…"  # stands where text was cut
GAP = 2  # between columns
LEAST = 20  # cells of a line, however narrow the terminal is


def width(text: str) -> int:
    """Return how many cells the text takes."""
    if text.isascii() or text.replace(CUT, "-").isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, size: int, *, right: bool = False) -> str:
    """Escape the text and pad it to `size` cells; right: align right."""
    if text.isascii() and text.isprintable():
        return text.rjust(size) if right else text.ljust(size)
    text = legible(text)
    blank = " " * (size - width(text))
    return blank + text if right else text + blank


def cut(text: str, size: int) -> str:
    """Escape the text and cut it to `size` cells, with "…" where it is cut."""
    text = legible(text)
    if width(text) <= size:
        return text
    if text.isascii():
        return text[: size - 1] + CUT
    from rich.cells import set_cell_size

    return set_cell_size(text, size - 1) + CUT


def cut_start(text: str, size: int) -> str:
    """Escape the text and cut its start to leave `size` cells, with "…" where it is cut."""
    text = legible(text)
    return text if width(text) <= size else cut(text[::-1], size)[::-1]


def cut_middle(text: str, size: int) -> str:
    """Escape the text and cut its middle to leave `size` cells: of names that are alike at the start the end tells."""
    text = legible(text)
    if width(text) <= size or not text.isascii():
        return cut(text, size)
    tail = (size - 1) // 2
    return text[: size - 1 - tail] + CUT + text[len(text) - tail :]


def wrap(text: str, size: int) -> list[str]:
    """Escape the text and wrap it to lines of `size` cells, between words where that is possible."""
    text = legible(text)
    if text.isascii():
        import textwrap

        return textwrap.wrap(text, size, break_on_hyphens=False)
    from rich.console import Console
    from rich.text import Text

    return [line.plain.rstrip() for line in Text(text).wrap(Console(width=size), size)]


def broken(text: str, room: int | None, indent: str = "") -> Iterator[str]:
    """Break a text between words where it is too long for the terminal, if it is on one (room: its cells)."""
    if room is None:
        yield indent + text
    else:
        yield from (indent + line for line in wrap(text, max(room - len(indent), LEAST)))


def hanging(head: str, text: str, room: int | None) -> Iterator[str]:
    """Yield a text after a head, broken between words, further lines aligned with its beginning. room: cells of a line;
    None: unlimited.
    """
    lines = broken(text, room, " " * len(head))
    yield f"{head}{next(lines)[len(head) :]}"
    yield from lines


def fit(text: str, size: int) -> str:
    """Escape the text and cut or pad it to exactly `size` cells."""
    if text.isascii() and text.isprintable() and len(text) <= size:
        return text.ljust(size)
    return pad(cut(text, size), size)


def align(rows: Iterable[Sequence[str]], right: Container[str] = ()) -> list[str]:
    """Return rows of equal length as lines of columns. right: headings of columns that are aligned right."""
    cells = [[legible(cell) for cell in row] for row in rows]
    sizes = [max(map(width, column)) for column in zip(*cells, strict=True)]
    ends = [name in right for name in cells[0]] if cells else []
    aligned = ([pad(*cell, right=end) for cell, end in zip(zip(row, sizes), ends)] for row in cells)  # noqa: B905
    return [(" " * GAP).join(row).rstrip() for row in aligned]


def narrowed(sizes: Sequence[int], room: int, least: int) -> list[int]:
    """Narrow columns, the widest first, until all fit into `room` cells or none is above `least`."""
    widths = list(sizes)
    while sum(widths) > room and max(widths, default=0) > least:
        widths[widths.index(max(widths))] -= 1
    return widths


def line_size(sizes: Collection[int]) -> int:
    """Return how many cells columns take beside each other."""
    return sum(sizes) + GAP * max(len(sizes) - 1, 0)


def without_spared(sizes: Mapping[str, int], spared: Iterable[str], room: int) -> dict[str, int]:
    """Return the columns that fit into `room` cells. spared: columns to leave out for that, in order."""
    kept = dict(sizes)
    for name in spared:
        if line_size(kept.values()) > room:
            del kept[name]
    return kept
