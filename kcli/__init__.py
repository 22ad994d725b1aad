"""kcli: the bytes of Apache Kafka, for the command line and for programs.

read_capture(files, api=..., ...)       the exchanges of packet captures: Exchange, Event, Capture
read_segment(files)                     the batches of log segments: Batch, Record
read_snapshot(file)                     the metadata image of a KRaft snapshot: Image
decode_request(frame)                   a Request; decode_response(frame, api, version): a Response
encode(message)                         the frame of a Request or Response
message(name, version)                  the construct grammar of one version of a message
embedded_broker()                       a small Kafka for the time of a `with` block: EmbeddedBroker
KcliError                               every error that kcli raises on purpose, and its kinds (see kcli.errors)

Names are imported when they are asked for. docs/reference/python.md shows them at work.
"""

TYPE_CHECKING = False  # importing typing would take longer than the rest of this module
if TYPE_CHECKING:
    from kcli.broker.embedded import EmbeddedBroker, embedded_broker
    from kcli.capture.api import Capture, read_capture
    from kcli.capture.kafka.events import Event
    from kcli.capture.kafka.exchange import Exchange
    from kcli.errors import (
        BrokerError,
        DecodeError,
        EncodeError,
        InputError,
        KcliError,
        NetworkError,
        SchemaError,
        UsageError,
    )
    from kcli.grammar.frames import Request, Response, decode_request, decode_response, encode
    from kcli.grammar.messages import message
    from kcli.records.batches import Batch, Record
    from kcli.records.reading import read_segment
    from kcli.snapshots.image.image import Image
    from kcli.snapshots.reading.api import read_snapshot
    from kcli.version import __version__

__all__ = [
    "Batch",
    "BrokerError",
    "Capture",
    "DecodeError",
    "EmbeddedBroker",
    "EncodeError",
    "Event",
    "Exchange",
    "Image",
    "InputError",
    "KcliError",
    "NetworkError",
    "Record",
    "Request",
    "Response",
    "SchemaError",
    "UsageError",
    "__version__",
    "decode_request",
    "decode_response",
    "embedded_broker",
    "encode",
    "message",
    "read_capture",
    "read_segment",
    "read_snapshot",
]

_HOMES = {
    "broker.embedded": "EmbeddedBroker embedded_broker",
    "capture.kafka.events": "Event",
    "capture.kafka.exchange": "Exchange",
    "capture.api": "Capture read_capture",
    "errors": "BrokerError DecodeError EncodeError InputError KcliError NetworkError SchemaError UsageError",
    "grammar.frames": "Request Response decode_request decode_response encode",
    "grammar.messages": "message",
    "records.batches": "Batch Record",
    "records.reading": "read_segment",
    "snapshots.image.image": "Image",
    "snapshots.reading.api": "read_snapshot",
    "version": "__version__",
}


def _condition(text: str, dialect: str | None) -> object:
    """Return a condition on exchanges in SQL. Rooms below `kcli.sql` get it here, as they may not import that room."""
    from kcli.sql.conditions import SqlCondition

    return SqlCondition(text, dialect)


if not TYPE_CHECKING:  # a type checker reads the imports above, and reports any other name

    def __getattr__(name: str) -> object:
        from kcli.lazy import importing

        return importing(__name__, _HOMES)(name)

    def __dir__() -> list[str]:
        return [*__all__, "__doc__", "__file__", "__name__", "__path__"]
