"""Decoded keys and values of records: Avro, Protobuf, JSON and more, by schemas of registries and files.

Names are imported when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.lazy import importing

if TYPE_CHECKING:
    from kcli.payloads.decoder import Payload, PayloadDecoder
    from kcli.payloads.options import PayloadOptions

__all__ = ["Payload", "PayloadDecoder", "PayloadOptions"]

__getattr__ = importing(__name__, {"decoder": "Payload PayloadDecoder", "options": "PayloadOptions"})
