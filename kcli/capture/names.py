"""The names in captures, counted by a column of `kcli stats`."""

import contextlib
from collections.abc import Sequence

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.statistics import StatisticsSink
from kcli.errors import InputError


def counted_by(column: str, files: Sequence[str], options: DecodeOptions) -> CaptureDecoder[StatisticsSink]:
    """Count the exchanges of captures, as far as they can be read."""
    source = CaptureDecoder(files, StatisticsSink((column,)), options)
    with contextlib.suppress(InputError):
        for _ in source.read():
            pass
    return source


def names_by(column: str, source: CaptureDecoder[StatisticsSink]) -> list[str]:
    """Return the names that were counted, the most frequent first."""
    return [str(row.group[column]) for row in source.sink.rows() if row.group and row.group[column] is not None]
