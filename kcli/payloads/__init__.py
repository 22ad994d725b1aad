"""Decoded keys and values of records: Avro, Protobuf, JSON and more, by schemas of registries and files.

Each name's module is imported when the name is first used.
"""

from typing import TYPE_CHECKING

from kcli.lazy import importing

if TYPE_CHECKING:
    from kcli.payloads.decoder import Payload, PayloadDecoder
    from kcli.payloads.options import PayloadOptions

__all__ = ["Payload", "PayloadDecoder", "PayloadOptions"]

__getattr__ = importing(__name__, {"decoder": "Payload PayloadDecoder", "options": "PayloadOptions"})
