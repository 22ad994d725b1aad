"""Records of magic 2 with one letter in place of all that they hold: the oracle of kcli.core.records.blanking."""

from kcli.core.codec.varints import read_zigzag
from kcli.redact.batches import BLANK, fill, span


def fill_records(data: bytearray, count: int) -> None:
    """Replace what records hold, in place. What is no record, and all behind it, becomes blank."""
    at = 0
    try:
        for _ in range(max(count, 0)):
            size, start = read_zigzag(data, at)
            end = start + size
            if not 0 <= size <= len(data) - start or not size:
                break
            fill_record(data, start + 1, end)
            at = end
    except ValueError:
        pass
    data[at:] = BLANK * (len(data) - at)


def fill_record(data: bytearray, at: int, end: int) -> None:
    """Replace what one record holds; `at`: behind its attributes. ValueError: it is none."""
    _, at = read_zigzag(data, at, end, 10)
    _, at = read_zigzag(data, at, end)
    for _ in range(2):
        part, at = span(data, at, end)
        fill(data, part)
    headers, at = read_zigzag(data, at, end)
    for _ in range(headers):
        for _ in range(2):
            part, at = span(data, at, end)
            fill(data, part)
    if at != end:
        raise ValueError("a record that ends elsewhere")
