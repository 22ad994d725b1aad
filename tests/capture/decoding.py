"""Captures decoded for tests: as lines of JSON, or as values."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.kafka.exchange import Item
from kcli.capture.sinks import LineSink, Values


def as_values(paths: Sequence[Any], **options: Any) -> CaptureDecoder[Values]:
    """A decoder whose sink keeps values. options: of DecodeOptions."""
    return CaptureDecoder(paths, Values(), DecodeOptions(**options))


def pieces(source: CaptureDecoder[Any]) -> Iterator[list[Item]]:
    """What came of each piece of the files that brought anything."""
    for _ in source.read():
        if items := source.sink.taken():
            yield items


def as_lines(paths: Sequence[Any], write: Any = None, **options: Any) -> CaptureDecoder[LineSink]:
    """A decoder that writes lines. options: of DecodeOptions."""
    return CaptureDecoder(paths, LineSink(write or (lambda text: None)), DecodeOptions(**options))


def write_lines(paths: Sequence[Any], write: Any, **options: Any) -> CaptureDecoder[LineSink]:
    """The decoder that has written all lines. InputError."""
    source = as_lines(paths, write, **options)
    for _ in source.read():
        pass
    return source


def lines_of(paths: Sequence[Any], **options: Any) -> bytes:
    """All lines."""
    out = io.BytesIO()
    write_lines(paths, out.write, **options)
    return out.getvalue()
