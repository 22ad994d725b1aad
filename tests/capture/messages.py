"""Frames for captures made by hand."""

from collections.abc import Mapping

from kcli.grammar.frames import encode_request, encode_response
from tests.capture.wires import frame


def request(key: int, version: int, number: int, body: Mapping[str, object], client: str | None = "tester") -> bytes:
    header: dict[str, object] = {"requestApiKey": key, "requestApiVersion": version, "correlationId": number}
    if (key, version) != (7, 0):  # the one header without a client id
        header["clientId"] = client
    return frame(encode_request(header, dict(body)))


def response(key: int, version: int, number: int, body: Mapping[str, object]) -> bytes:
    return frame(encode_response({"correlationId": number}, key, version, dict(body)))


def api_versions(number: int, version: int = 3) -> tuple[bytes, bytes]:
    asked = {"clientSoftwareName": "hand", "clientSoftwareVersion": "1"} if version >= 3 else {}
    answer = {
        "apiKeys": [{"apiKey": 0, "minVersion": 3, "maxVersion": 9}, {"apiKey": 18, "minVersion": 0, "maxVersion": 4}]
    }
    return request(18, version, number, asked), response(18, version, number, answer)


def refusal(number: int, version: int) -> tuple[bytes, bytes]:
    """An ApiVersions request in a version the broker doesn't know, answered in version 0 with error 35."""
    answer = {"errorCode": 35, "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 3}]}
    return request(18, version, number, {"clientSoftwareName": "new", "clientSoftwareVersion": "9"}), response(
        18, 0, number, answer
    )


def metadata(
    number: int, name: str = "orders", version: int = 12, topic_id: str = "AAAAAAAAAAAAAAAAAAAAAQ"
) -> tuple[bytes, bytes]:
    brokers = [{"nodeId": 1, "host": "b1", "port": 9092, "rack": None}]
    partition = {"partitionIndex": 0, "leaderId": 1, "replicaNodes": [1], "isrNodes": [1]}
    topics = [{"name": name, "topicId": topic_id, "partitions": [partition]}]
    asked = request(3, version, number, {"topics": [{"name": name}], "allowAutoTopicCreation": True})
    return asked, response(3, version, number, {"brokers": brokers, "topics": topics})


def produce(
    number: int, acks: int = -1, records: bytes = b"", version: int = 9, name: str = "orders"
) -> tuple[bytes, bytes]:
    data = [{"name": name, "partitionData": [{"index": 0, "records": records or None}]}]
    asked = request(0, version, number, {"acks": acks, "timeoutMs": 1000, "topicData": data})
    answer = [{"name": name, "partitionResponses": [{"index": 0, "errorCode": 0, "baseOffset": 7}]}]
    return asked, response(0, version, number, {"responses": answer})


def sasl_handshake(number: int, version: int) -> tuple[bytes, bytes]:
    return request(17, version, number, {"mechanism": "PLAIN"}), response(
        17, version, number, {"mechanisms": ["PLAIN"]}
    )
