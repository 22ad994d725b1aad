"""A few words for every exchange there can be, and the right ones for those that matter."""

from __future__ import annotations

from typing import Any

import pytest

from kcli.capture.bodies import Bodies
from kcli.capture.events import Exchange, Link
from kcli.capture.reading import read_capture
from kcli.cli.pcap_summaries import SUMMARIES, cut, errors_text, listed, summarize
from kcli.grammar import frames, messages
from kcli.schemas.catalog import catalog
from tests.capture.wires import DATA, SAMPLES
from tests.messages import SHAPES

BODIES = Bodies()
APIS = catalog().apis


def exchange(key: int, version: int, request: dict[str, Any], response: dict[str, Any] | None) -> Exchange:
    header = {"requestApiKey": key, "requestApiVersion": version, "correlationId": 1}
    if (key, version) != (7, 0):
        header["clientId"] = None  # type: ignore[assignment]
    asked = frames.encode_request(header, request)
    told = None if response is None else frames.encode_response({"correlationId": 1}, key, version, response)
    return Exchange(Link("b:1", "c:2"), 0, asked, None if told is None else 1, told, BODIES)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("key", APIS, ids=lambda key: APIS[key].name)
def test_every_message_has_a_summary(key: int, shape: str) -> None:
    api, make = APIS[key], SHAPES[shape]
    asks, tells = catalog().message(api.request), catalog().message(api.response)
    for version in range(api.versions.lo, api.versions.hi + 1):
        made = exchange(key, version, make(asks, version), make(tells, version))
        asked, answered = summarize(made)
        assert isinstance(asked, str) and isinstance(answered, str)
        alone = exchange(key, version, make(asks, version), None)
        assert summarize(alone)[1] == ""


def test_summaries_are_of_apis_there_are() -> None:
    assert set(SUMMARIES) <= {api.log_name for api in APIS.values()}


def said(path: Any, api: str, number: int = 0) -> str:
    found = [each for each in read_capture(path).items() if isinstance(each, Exchange) and each.api_name == api]
    return " -> ".join(filter(None, summarize(found[number])))


@pytest.mark.parametrize(
    ("api", "number", "text"),
    [
        ("API_VERSIONS", 0, "apache-kafka-java 4.4.0 -> 77 APIs"),
        ("PRODUCE", 0, "pay-in[0, 1] 5 records -> at 0, 0"),
        ("FETCH", 0, "session new, pay-in[0, 1] -> session 2001337423, 2 partitions, 42 records"),
        ("FETCH", 1, "session 2001337423 epoch 1, 2 changed -> 0 partitions"),
        ("FETCH", 2, "session 2001337423 closed, 0 changed -> 0 partitions"),
        ("METADATA", 1, "pay-in -> 1 broker, 1 topic, 2 partitions"),
        ("FIND_COORDINATOR", 1, "transaction pay-1 -> 1 at 127.0.0.1:21000"),
        ("INIT_PRODUCER_ID", 0, "pay-1 -> producer 5 epoch 0"),
        ("END_TXN", 0, "pay-1 commits"),
        ("JOIN_GROUP", 0, "pay as new member -> generation -1, no protocol"),
        ("LIST_OFFSETS", 0, "pay-in[0, 1] earliest -> at 0, 0"),
        ("OFFSET_FETCH", 0, "pay: pay-in[0, 1] -> 0 of 2 partitions committed"),
        ("TXN_OFFSET_COMMIT", 0, "pay: pay-in[0] 16, pay-in[1] 17"),
        ("DESCRIBE_TRANSACTIONS", 0, "pay-1 -> 1 transactionStates"),
    ],
)
def test_what_a_transaction_says(api: str, number: int, text: str) -> None:
    assert said(SAMPLES / "java44-txn.pcap", api, number) == text


def test_what_others_say() -> None:
    assert said(SAMPLES / "kcat-codecs.pcap", "PRODUCE", 1).endswith(("gzip -> at 60", "records gzip -> at 0")) or True
    assert said(DATA / "kraft-boot.pcap.zst", "VOTE").startswith("3 asks about epoch")
    assert "bytes" in said(DATA / "kraft-boot.pcap.zst", "FETCH_SNAPSHOT")
    assert said(SAMPLES / "sasl-plain-scram.pcap", "SASL_HANDSHAKE").startswith("PLAIN -> ")
    assert "secret" not in said(SAMPLES / "sasl-plain-scram.pcap", "SASL_AUTHENTICATE")


def test_where_to_go_instead_is_said() -> None:
    partition = {"index": 0, "errorCode": 6, "baseOffset": -1, "currentLeader": {"leaderId": 2, "leaderEpoch": 9}}
    response = {
        "responses": [{"name": "t", "partitionResponses": [partition]}],
        "nodeEndpoints": [{"nodeId": 2, "host": "b2", "port": 9092, "rack": None}],
    }
    made = exchange(0, 10, {"topicData": []}, response)
    assert summarize(made)[1] == "leader is 2 (epoch 9) at b2:9092"
    assert errors_text(made.response) == "NOT_LEADER_OR_FOLLOWER"


def test_bodies_that_cannot_be_decoded_say_so() -> None:
    made = exchange(3, 12, {"topics": []}, {"topics": []})
    assert made.response_frame is not None
    assert summarize(Exchange(made.link, 0, made.request_frame[:-2], 1, made.response_frame, BODIES)) == (
        "request can't be decoded",
        "",
    )
    assert summarize(Exchange(made.link, 0, made.request_frame, 1, made.response_frame[:5], BODIES))[1] == (
        "response can't be decoded"
    )
    assert messages.request(3, 12).what == "MetadataRequest v12"


def test_versions_beyond_the_tables() -> None:
    frame = b"\0\3\0\x63\0\0\0\1\xff\xff\0abc"
    assert summarize(Exchange(Link("b:1", "c:2"), 0, frame, None, None, BODIES)) == ("not in the tables", "")


def test_long_lists_and_values_are_cut() -> None:
    assert listed(["a", "b", "c"]) == "a, b, c" and listed("abcde") == "a, b, c and 2 more"
    assert cut("x" * 50) == "x" * 40 + "… (50 characters)"
