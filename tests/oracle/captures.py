"""Captures read by the oracle, from packets to exchanges, and compared with what the core makes of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kcli.capture import decoder
from kcli.capture.decoder import DecodeOptions
from kcli.capture.handover import Handover
from kcli.errors import InputError
from kcli.redact import batches, messages, redacting
from tests.capture.decoding import as_lines
from tests.capture.wires import DATA, SAMPLES
from tests.oracle.redact.draft import Draft
from tests.oracle.redact.engine import ReferenceDraftEngine
from tests.oracle.redact.records import fill_records
from tests.oracle.tcp.engine import ReferenceEngine
from tests.oracle.tcp.packets import ReferenceReader

# Real captures; the oracle joins no IP fragments.
CAPTURES = sorted({*SAMPLES.glob("*.pcap*"), *DATA.glob("*.pcap*")} - {DATA / "fragments.pcap.zst"})
COUNTED = (
    *("packets", "wire_bytes", "others", "cuts", "fragments", "unknown_links", "segments", "payload"),
    *("duplicate", "stray", "ignored", "connections"),
)


def by_oracle(drafting: bool = False) -> contextlib.AbstractContextManager[Any]:
    """Have decoders read packets with the interpreted engine: everything comes to them as values."""
    made = ReferenceDraftEngine if drafting else ReferenceEngine

    def new_engine(
        handover: Handover, _sink: object, connection_end: Any, options: DecodeOptions
    ) -> tuple[Any, Callable[[], Any]]:
        engine = made(handover, options.ports, options.memory, connection_end)
        return engine, partial(ReferenceReader, handover.add_secrets)

    return patch.object(decoder, "new_engine", new_engine)


@contextlib.contextmanager
def redacting_by_oracle() -> Iterator[None]:
    """Have captures redacted in Python, packets and messages."""
    with (
        by_oracle(drafting=True),
        patch.object(redacting, "Draft", Draft),
        patch.object(batches, "fill_records", fill_records),
        patch.object(messages, "rewriter_of", lambda *_: None),
    ):
        yield


def by_core() -> contextlib.AbstractContextManager[Any]:
    """Have decoders read packets as they do."""
    return contextlib.nullcontext()


READERS = {"oracle": by_oracle, "core": by_core}


def lines_of(paths: Sequence[Path], **options: Any) -> tuple[list[bytes], dict[str, int]]:
    """The lines of JSON of captures read as one, and what was counted; every byte has to be accounted for."""
    said = bytearray()
    source = as_lines([str(path) for path in paths], said.extend, **options)
    with contextlib.suppress(InputError):
        for _ in source.read():
            pass
    assert source.tally.unaccounted(source.engine) == 0
    return bytes(said).splitlines(), {name: getattr(source.engine, name) for name in COUNTED}


def same_as_oracle(*paths: Path, **options: Any) -> list[bytes]:
    """Compare what the core makes of captures with the oracle's; the lines. options: of DecodeOptions."""
    made = lines_of(paths, **options)
    with by_oracle():
        expected = lines_of(paths, **options)
    assert made == expected
    return made[0]


def each_reader() -> Iterator[str]:
    """Go through both ways to read packets: the names of READERS."""
    for name, reading in READERS.items():
        with reading():
            yield name
