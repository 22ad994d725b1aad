"""Record batches of every magic: read, build, check, rewrite.

scan(data)                     the batches of a records field or segment in memory, records lazily
build_batch(records, ...)      a batch of magic 2 from values; build_marker, build_control_batch, build_message_set
batches_json(data, mode)       JSON text of a records field's batches, straight from the bytes
decode_control(key, value)  the fields of a control record
encode_batch(row)              a batch from its JSON form
down_convert(data, magic)      chunks of older messages (KIP-283); FetchSend: exactly what a broker sends for a fetch
compress, decompress           the codecs

Each name's module is imported when the name is first used.
"""

from typing import TYPE_CHECKING

from kcli.lazy import importing

if TYPE_CHECKING:
    from kcli.records.batches import Batch, Record, scan
    from kcli.records.builder import build_batch, build_control_batch, build_marker, build_message_set
    from kcli.records.codecs import compress, decompress
    from kcli.records.control import decode_control
    from kcli.records.conversion import Conversion, Slice, UnsupportedCompressionError, down_convert
    from kcli.records.encoding import encode_batch, encode_batches
    from kcli.records.fetching import FetchSend, cut_slice
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
    "cut_slice",
    "decode_control",
    "decompress",
    "down_convert",
    "encode_batch",
    "encode_batches",
    "scan",
]

__getattr__ = importing(
    __name__,
    {
        "batches": "Batch Record scan",
        "builder": "build_batch build_control_batch build_marker build_message_set",
        "codecs": "compress decompress",
        "control": "decode_control",
        "conversion": "Conversion Slice UnsupportedCompressionError down_convert",
        "encoding": "encode_batch encode_batches",
        "fetching": "FetchSend cut_slice",
        "text": "batches_json",
    },
)
