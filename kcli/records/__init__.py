"""Record batches of every magic: read, build, check, rewrite.

scan(data)                     the batches of a records field or segment in memory, records lazily
build_batch(records, ...)      a batch of magic 2 from values; build_marker, build_control_batch, build_message_set
batches_json(data, mode)       JSON text of a records field's batches, straight from the bytes
decode_control(key, value)     what a control record says
encode_batch(row)              a batch from its JSON form
down_convert(data, magic)      chunks of older messages (KIP-283); FetchSend: exactly what a broker sends for a fetch
compress, decompress           the codecs; crc32, crc32c the checksums

Names are imported when they are asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcli.records.batches import Batch, Record, scan
    from kcli.records.builder import build_batch, build_control_batch, build_marker, build_message_set
    from kcli.records.codecs import compress, decompress
    from kcli.records.control import decode_control
    from kcli.records.conversion import Conversion, Slice, UnsupportedCompressionError, down_convert
    from kcli.records.encoding import encode_batch, encode_batches
    from kcli.records.fetching import FetchSend, cut_slice
    from kcli.records.kernels import crc32, crc32c
    from kcli.records.text import batches_json

__all__ = [
    "Batch",
    "Conversion",
    "FetchSend",
    "Record",
    "Slice",
    "UnsupportedCompressionError",
    "batches_json",
    "build_batch",
    "build_control_batch",
    "build_marker",
    "build_message_set",
    "compress",
    "crc32",
    "crc32c",
    "cut_slice",
    "decode_control",
    "decompress",
    "down_convert",
    "encode_batch",
    "encode_batches",
    "scan",
]

_MODULES = {
    "Batch": "batches",
    "Conversion": "conversion",
    "FetchSend": "fetching",
    "Record": "batches",
    "Slice": "conversion",
    "UnsupportedCompressionError": "conversion",
    "batches_json": "text",
    "build_batch": "builder",
    "build_control_batch": "builder",
    "build_marker": "builder",
    "build_message_set": "builder",
    "compress": "codecs",
    "crc32": "kernels",
    "crc32c": "kernels",
    "cut_slice": "fetching",
    "decode_control": "control",
    "decompress": "codecs",
    "down_convert": "conversion",
    "encode_batch": "encoding",
    "encode_batches": "encoding",
    "scan": "batches",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(module if "." in module else f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
