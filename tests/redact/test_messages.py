"""Every message of every version: redacted it decodes, its numbers stay, and nothing of its texts and bytes does."""

from collections.abc import Iterator
from typing import Any

from kcli.capture.kafka.bodies import Bodies
from kcli.core.codec.values import uuid_bytes, uuid_text
from kcli.grammar import frames, messages
from kcli.grammar.codec import MessageCodec
from kcli.records.builder import build_batch, build_control_batch
from kcli.redact.messages import UNNUMBERED, FrameRedactor
from kcli.redact.pseudonyms import Pseudonyms
from kcli.redact.rules import KINDS
from kcli.schemas.catalog import catalog
from tests import messages as made

NAMES = Pseudonyms(b"a key for tests, of 32 bytes ...")
LONG = 5  # characters of a text that can't stay by chance


def redactor(*keep: str) -> FrameRedactor:
    return FrameRedactor(NAMES, frozenset(keep), Bodies(None))


def exchanges() -> Iterator[tuple[int, int, bytes, bytes]]:
    """(API key, version, request, response) of every API and version, with every field filled."""
    for api in catalog().apis.values():
        for version in range(api.versions.lo, api.versions.hi + 1):
            bodies = []
            for name in (api.request, api.response):
                message = catalog().message(name)
                bodies.append(messages.data(name, version).write(made.strange(message, version)))
            header: dict[str, Any] = {"requestApiKey": api.key, "requestApiVersion": version, "correlationId": 7}
            if api.request_header_version(version):
                header["clientId"] = "somebody"
            head = messages.request_header(api.key, version).write(header)
            yield (
                api.key,
                version,
                head + bodies[0],
                (messages.response_header(api.key, version).write({"correlationId": 7}) + bodies[1]),
            )


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value that has no parts, with its path; tags that nobody knows are left out."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name != "_unknownTaggedFields":
                yield from leaves(item, f"{path}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, value


def check(codec: MessageCodec, old: bytes, new: bytes, start: int) -> None:
    """Both decode, with the same numbers and sizes, and the new one has no text, bytes or id of the old one."""
    assert len(old) == len(new)
    before, after = dict(leaves(codec.read_whole(old, start))), dict(leaves(codec.read_whole(new, start)))
    assert before.keys() - {"._trailing", "._variant"} == after.keys() - {"._trailing", "._variant"}
    for path, value in before.items():
        if isinstance(value, str | bytes):
            data = value.encode() if isinstance(value, str) else value
            assert len(data) == len(after[path].encode() if isinstance(value, str) else after[path])
            assert len(data) < LONG or data not in new, (codec.what, path)
        elif path != "._trailing":
            assert after[path] == value, (codec.what, path)


def test_every_message_keeps_its_numbers_and_none_of_its_texts() -> None:
    frame = redactor()
    for key, version, request, response in exchanges():
        new = frame.request(request)
        header, body = frames.request_codecs(request)
        assert new[:8] == request[:8] and b"somebody" not in new
        check(body, request, new, header.skip(request))
        answer = frame.response(response, key, version, request)
        start = messages.response_header(key, version).skip(response)
        check(messages.response(key, version), response, answer, start)
    assert frame.blanked == 1, "what is in the envelope"


def test_everything_may_be_kept() -> None:
    """Then only free texts, secrets and what has no kind are replaced."""
    frame = redactor(*KINDS)
    body = {"topics": [{"name": "orders", "topicId": uuid_text(b"0123456789abcdef")}], "allowAutoTopicCreation": True}
    request = encoded(3, 12, body)
    assert frame.request(request) == request
    assert redactor().request(request) != request


def test_a_host_written_as_an_address_is_kept_with_the_addresses() -> None:
    """As one that stays in a message beside its pseudonym in the packets tells what stands for what."""
    hosts = ("broker-1.example", "10.1.2.3", "fe80::1")
    brokers = [{"nodeId": at, "host": host, "port": 9092} for at, host in enumerate(hosts)]
    answer = frames.encode_response({"correlationId": 7}, 3, 12, {"brokers": brokers})
    for keep, stay in (({"hosts"}, hosts[:1]), ({"addresses"}, hosts[1:]), ({"hosts", "addresses"}, hosts)):
        made = [redactor(*keep).response(answer, 3, 12), redactor(*keep).interpreted_response(answer, 3, 12, b"")]
        for each in made:
            body = frames.decode_response(bytes(each or b""), 3, 12).body
            assert [row["host"] for row in body["brokers"]] == [
                host if host in stay else NAMES.host(host.encode()).decode() for host in hosts
            ]


def encoded(key: int, version: int, body: dict[str, Any]) -> bytes:
    header = {"requestApiKey": key, "requestApiVersion": version, "correlationId": 7, "clientId": "somebody"}
    return frames.encode_request(header, body)


def body_of(frame: bytes) -> dict[str, Any]:
    return frames.decode_request(frame).body


def test_the_same_name_is_the_same_everywhere() -> None:
    frame = redactor()
    group = body_of(frame.request(encoded(12, 4, {"groupId": "billing", "generationId": 1, "memberId": "m"})))[
        "groupId"
    ]
    for key_type in (0, 1):
        key = body_of(frame.request(encoded(10, 4, {"keyType": key_type, "coordinatorKeys": ["billing"]})))
        assert key["coordinatorKeys"] == [group] == [NAMES.name(b"billing").decode()]


def test_a_share_groups_partition() -> None:
    topic = bytes(range(50, 66))
    key = f"billing:{uuid_text(topic)}:12"
    new = body_of(redactor().request(encoded(10, 6, {"keyType": 2, "coordinatorKeys": [key]})))["coordinatorKeys"][0]
    group, topic_id, partition = new.split(":")
    assert group == NAMES.name(b"billing").decode() and bytes(uuid_bytes(topic_id)) == NAMES.uuid(topic)
    assert partition == "12"


def test_brokers_keep_their_numbers_and_configs_their_names() -> None:
    configs = [{"name": "retention.ms", "value": "604800000"}, {"name": "my.plugin.secret", "value": "hunter2"}]
    resources = [{"resourceType": kind, "resourceName": "17", "configs": configs} for kind in (4, 2)]
    new = body_of(redactor().request(encoded(33, 2, {"resources": resources, "validateOnly": False})))
    broker, topic = new["resources"]
    assert broker["resourceName"] == "17" and topic["resourceName"] != "17"
    assert broker["configs"][0] == {"name": "retention.ms", "value": "x" * 9}
    assert broker["configs"][1] == {"name": NAMES.name(b"my.plugin.secret").decode(), "value": "x" * 7}


def test_what_clients_say_inside_bytes_is_redacted_inside() -> None:
    subscription = messages.data("ConsumerProtocolSubscription", 1)
    value = {"topics": ["orders", "payments"], "userData": b"private", "ownedPartitions": []}
    data = b"\0\1" + subscription.write(value)
    protocols = [{"name": "range", "metadata": data}, {"name": "own", "metadata": b"\0\1broken"}]
    body = {"groupId": "g", "sessionTimeoutMs": 1, "memberId": "", "protocolType": "consumer", "protocols": protocols}
    known, broken = body_of(redactor().request(encoded(11, 5, body)))["protocols"]
    assert known["name"] == "range" and bytes(broken["metadata"]) == bytes(8)
    inside = subscription.read(bytes(known["metadata"]), 2)[0]
    assert inside["topics"] == [NAMES.name(topic).decode() for topic in (b"orders", b"payments")]
    assert bytes(inside["userData"]) == bytes(7)


def test_envelopes_are_redacted_inside() -> None:
    inner = encoded(20, 6, {"topics": [{"name": "orders"}], "timeoutMs": 9})
    principal = b"\0\0" + messages.data("DefaultPrincipalData", 0).write({"type": "User", "name": "alice"})
    body = {"requestData": inner, "requestPrincipal": principal, "clientHostAddress": bytes([10, 1, 2, 3])}
    request = encoded(58, 0, body)
    frame = redactor()
    new = body_of(frame.request(request))
    assert body_of(bytes(new["requestData"]))["topics"][0]["name"] == NAMES.name(b"orders").decode()
    assert bytes(new["clientHostAddress"]) == NAMES.address(bytes([10, 1, 2, 3]))
    assert b"alice" not in bytes(new["requestPrincipal"]) and b"User" in bytes(new["requestPrincipal"])
    reported = frames.encode_response(
        {"correlationId": 7}, 20, 6, {"responses": [{"name": "orders", "errorMessage": "orders?"}]}
    )
    answer = frames.encode_response({"correlationId": 7}, 58, 0, {"responseData": reported})
    made = frames.decode_response(frame.response(answer, 58, 0, request), 58, 0).body["responseData"]
    row = frames.decode_response(bytes(made), 20, 6).body["responses"][0]
    assert row["name"] == NAMES.name(b"orders").decode() and row["errorMessage"] == "x" * 7
    unknown = frames.decode_response(frame.response(answer, 58, 0), 58, 0).body["responseData"]
    assert bytes(unknown) == b"\xff" * len(reported)


def test_records_and_their_control_records() -> None:
    batch = build_batch([(1, b"customer", b"value of customer", ())], codec="zstd")
    voters = messages.data("VotersRecord", 0).write(
        {
            "version": 0,
            "voters": [{"voterId": 1, "endpoints": [{"name": "CONTROLLER", "host": "ctrl-1", "port": 9093}]}],
        }
    )
    control = build_control_batch([(b"\0\0\0\6", voters)], 1)
    data = [{"name": "orders", "partitionData": [{"index": 0, "records": batch + control}]}]
    new = redactor().request(encoded(0, 9, {"acks": 1, "timeoutMs": 1, "topicData": data}))
    records = bytes(body_of(new)["topicData"][0]["partitionData"][0]["records"])
    assert len(records) == len(batch + control) and b"customer" not in records
    assert b"ctrl-1" not in records and b"CONTROLLER" in records and NAMES.name(b"ctrl-1") in records


def test_what_can_not_be_decoded_is_left_out() -> None:
    frame = redactor()
    unknown = b"\x7f\x00\x00\x01\0\0\0\7\0\5alice" + b"private" * 9
    new = frame.request(unknown)
    assert new == b"\xff" * 4 + UNNUMBERED + b"\xff" * (len(unknown) - 8)
    body = encoded(3, 12, {"topics": [{"name": "orders"}], "allowAutoTopicCreation": True})
    cut = frame.request(body[:-4] + b"\x7fprivate-bytes")
    assert cut == body[:4] + UNNUMBERED + b"\xff" * (len(body) + 2)
    assert frame.response(b"\0\0\0\7private", 3, 12) == b"\xff" * 11
    assert frame.response(b"\0\0\0\7private", 3, 99) == b"\xff" * 11
    assert frame.response(b"\0\0\0\7private", 3, 12, body) == b"\0\0\0\7" + b"\xff" * 7, "its request says so, too"
    assert frame.response(b"\0\0\0\6private", 3, 12, body) == b"\xff" * 11
    assert frame.response(b"\0\0\0\7private", 3, 12, body[:-4]) == b"\xff" * 11
    assert frame.response(b"\0\0", 3, 12, body) == b"\xff" * 2
    assert frame.blanked == 8


def test_a_name_that_was_read_as_numbers_is_left_out() -> None:
    """ListOffsets begins with a number and a byte: here both are pieces of a name."""
    head = messages.request_header(2, 11).write(
        {"requestApiKey": 2, "requestApiVersion": 11, "correlationId": 7, "clientId": "somebody"}
    )
    frame = redactor()
    assert frame.request(head + b"orders-none") == head[:4] + UNNUMBERED + b"\xff" * (len(head) + 3)
    assert frame.response(b"\0\0\0\7\0orders-none", 2, 11) == b"\xff" * 16
    assert frame.blanked == 2


def test_trailing_bytes_and_unknown_tags_are_left_out() -> None:
    body = {"groupId": "g", "topics": []}
    request = encoded(8, 9, body | {"_unknownTaggedFields": [{"tag": 99, "data": b"private"}]}) + b"abc"
    new = redactor().request(request)
    assert b"private" not in new and not new.endswith(b"abc") and len(new) == len(request)


def test_bytes_after_a_message_with_secrets_leave_nothing_of_it() -> None:
    """A damaged length may have put a part of the secret into a number."""
    hmac = bytes(range(65, 89))
    whole = encoded(39, 1, {"hmac": hmac, "renewPeriodMs": 1})
    short = whole.replace(len(hmac).to_bytes(4, "big") + hmac, (8).to_bytes(4, "big") + hmac)
    new = redactor().request(short)
    assert len(short) == len(whole) == len(new)
    assert new == short[:4] + UNNUMBERED + b"\xff" * (len(short) - 8)
