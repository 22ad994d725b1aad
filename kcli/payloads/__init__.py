"""Keys and values of records as what they say: Avro, Protobuf, JSON and more, by schemas of registries and files."""

from kcli.payloads.decoder import Payload, PayloadDecoder
from kcli.payloads.options import PayloadOptions

__all__ = ["Payload", "PayloadDecoder", "PayloadOptions"]
