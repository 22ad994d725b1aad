"""Record batches of every magic: read, build, check, rewrite.

scan(data)                     the batches of a records field or segment in memory, records lazily
build_batch(records, ...)      a batch of magic 2 from values; build_marker, build_control_batch; build_message_set (old)
batches_json(data, mode)       JSON text of a records field's batches, straight from the bytes
decode_control(key, value)     what a control record says
encode_batch(row)              a batch from its JSON form
down_convert(...)              chunks of older batches (KIP-283)
compress, decompress           the codecs; crc32, crc32c the checksums

Names are imported when they are asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcli.core.crc import crc32, crc32c
    from kcli.records.batches import Batch, Record, scan
    from kcli.records.builder import build_batch, build_control_batch, build_marker, build_message_set
    from kcli.records.codecs import compress, decompress
    from kcli.records.control import decode_control
    from kcli.records.text import batches_json

__all__ = [
    "Batch",
    "Record",
    "batches_json",
    "build_batch",
    "build_control_batch",
    "build_marker",
    "build_message_set",
    "compress",
    "crc32",
    "crc32c",
    "decode_control",
    "decompress",
    "scan",
]

_MODULES = {
    "Batch": "batches",
    "Record": "batches",
    "batches_json": "text",
    "build_batch": "builder",
    "build_control_batch": "builder",
    "build_marker": "builder",
    "build_message_set": "builder",
    "compress": "codecs",
    "crc32": "kcli.core.crc",
    "crc32c": "kcli.core.crc",
    "decode_control": "control",
    "decompress": "codecs",
    "scan": "batches",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(module if "." in module else f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
