"""`kcli diff --as java`: the bytes that Kafka's Java client would send, as the expected side."""

from typing import Any

from kcli.cli.encode.message import check_version, checked, completed, part, with_records
from kcli.grammar import frames, messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.java import java_value
from kcli.schemas.apikeys import PRODUCE

Input = bytes | dict[str, Any] | list[Any]


def java_bytes(content: Input, kind: str, options: dict[str, Any]) -> bytes:
    """Return the bytes that Kafka's Java client makes of a message's bytes or JSON.

    kind: "request", "response", "batch". options: dialect; for a response api and api_version. Raises DecodeError or
    EncodeError, with the reason, where the client fails.
    """
    if kind == "batch":
        from kcli.records.java import java_batches, java_batches_of

        if isinstance(content, bytes):
            return java_batches(content)
        return java_batches_of(content if isinstance(content, list) else [content])
    message = read(content, kind, options) if isinstance(content, bytes) else of_row(content, kind, options)
    api_key, version, dialect = message.api_key, message.api_version, message.dialect
    if isinstance(message, frames.Request):
        head = messages.request_header(api_key, version, dialect)
        header = {name: value for name, value in message.header.items() if name != frames.NAME_OF_KEY}
        header[frames.KEY] = api_key
    else:
        head, header = messages.response_header(api_key, version, dialect), message.header
    body = java_records(message.body) if api_key == PRODUCE and kind == "request" else message.body
    return written(head, header, dialect) + written(message.codec, body, dialect)


def written(codec: MessageCodec, value: Any, dialect: str | None) -> bytes:
    return codec.write(java_value(codec, value, dialect))


def read(data: bytes, kind: str, options: dict[str, Any]) -> frames.Request | frames.Response:
    dialect = options["dialect"]
    if kind == "request":
        return frames.decode_request(data, dialect=dialect)
    return frames.decode_response(data, options["api"], options["api_version"], dialect=dialect)


def of_row(value: Any, kind: str, options: dict[str, Any]) -> frames.Request | frames.Response:
    """Return the message of a JSON object, as `kcli encode` takes it."""
    dialect = options["dialect"]
    row = completed(checked(value, ""), kind, None, None, dialect)
    body = with_records(part(row, kind))
    if kind == "request":
        header = part(row, "requestHeader")
        check_version("requestHeader", header, dialect)
        return frames.Request(header, body, dialect=dialect)
    header = row.get("responseHeader") or {"correlationId": 0}
    return frames.Response(header, body, (options["api"], options["api_version"]), dialect=dialect)


def java_records(body: dict[str, Any]) -> dict[str, Any]:
    """Return a Produce request with its batches as the Java producer writes them."""
    from kcli.records.java import java_batches

    def topic(row: Any) -> Any:
        return row | {"partitionData": [partition(each) for each in row.get("partitionData") or ()]}

    def partition(row: Any) -> Any:
        records = row.get("records")
        return row | {"records": java_batches(records)} if isinstance(records, bytes | memoryview) else row

    return body | {"topicData": [topic(each) for each in body.get("topicData") or ()]}
