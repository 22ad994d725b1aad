"""Faults of a batch's records: the kernels' codes, their place, and their texts."""

# Code (records.h: KR_...) -> the end of the path (None: the fault is not of a single record), the fault.
REASONS: dict[int, tuple[str | None, str]] = {
    1: ("", "a varint longer than its type allows"),
    2: ("", "the bytes end inside the record"),
    3: (".length", "says {says} bytes, the fields take {here}"),
    4: (".key", "needs {says} bytes, {here} left"),
    5: (".value", "needs {says} bytes, {here} left"),
    6: (".headers", "says {says} headers, {here} bytes left"),
    7: (".headers.key", "needs {says} bytes, {here} left"),
    8: (".headers.value", "needs {says} bytes, {here} left"),
    9: (None, "the batch says {says} records, {here} are here"),
    10: (None, "the batch says {says} records, {here} bytes are left behind them"),
    11: (None, "the batch says {says} records: a count of 0 or more expected"),
    12: (".offset", "offset {says} does not rise above {here}"),
    13: (".timestamp", "timestamp {says}: -1 or more expected"),
    14: (None, "a compressed message without a value"),
    15: (None, "codec {says}: a message of magic 0 or 1 has none, gzip, snappy or lz4"),
    16: ("", "a compressed message inside a compressed message"),
    17: ("", "magic {says} inside a message of magic {here}"),
    18: (None, "offset {says} is below that of its last inner message, {here}"),
    19: (None, "a compressed message set without a message"),
    20: ("", "not a message of magic 0 or 1"),
}
