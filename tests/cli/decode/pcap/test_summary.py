"""A few words for every exchange there can be, and the right ones for those that matter."""

import pytest

from kcli.capture.kafka.events import Link
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.decode.pcap.summary import SUMMARIES, errors_text, summarize
from kcli.grammar import messages
from kcli.schemas.catalog import catalog
from tests.capture.wires import SAMPLES
from tests.cli.decode.pcap.summaries.exchanges import BODIES, exchange, summary_of
from tests.messages import SHAPES

APIS = catalog().apis


@pytest.mark.parametrize("shape", SHAPES)
def test_every_message_has_a_summary(shape: str) -> None:
    make = SHAPES[shape]
    for key, api in APIS.items():
        asked_of, answered_of = catalog().message(api.request), catalog().message(api.response)
        for version in range(api.versions.lo, api.versions.hi + 1):
            made = exchange(key, version, make(asked_of, version), make(answered_of, version))
            asked, answered = summarize(made)
            assert isinstance(asked, str) and isinstance(answered, str), (api.name, version)
            alone = exchange(key, version, make(asked_of, version), None)
            assert summarize(alone)[1] == "", (api.name, version)


def test_summaries_are_of_apis_there_are() -> None:
    assert set(SUMMARIES) <= {api.log_name for api in APIS.values()}


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


def test_values_of_a_message_with_bytes_behind_it_are_left_out_where_json_hides_them() -> None:
    """One zero more is a tag section too many only where the version has these."""
    for version, rest, said in ((2, b"\0", "1 resource"), (2, b"\1", ""), (0, b"\0", ""), (0, b"", "1 resource")):
        resource = {"resourceType": 2, "resourceName": "orders", "configs": []}
        made = exchange(33, version, {"resources": [resource], "validateOnly": False}, None)
        longer = Exchange(made.link, 0, made.request_frame + rest, None, None, BODIES)
        hides = b'"resourceName":{"redacted"' in longer.texts()[1]
        assert (summarize(longer)[0], hides) == (said, not said), (version, rest)


def test_every_message_with_bytes_behind_it_has_a_summary() -> None:
    """Also those whose values are left out, as an API's own words are of its fields."""
    make = SHAPES["filled"]
    for key, api in APIS.items():
        asked_of, answered_of = catalog().message(api.request), catalog().message(api.response)
        for version in range(api.versions.lo, api.versions.hi + 1):
            made = exchange(key, version, make(asked_of, version), make(answered_of, version))
            assert made.response_frame is not None
            longer = (made.request_frame + b"\1\2", made.response_frame + b"\1\2")
            for asked, answered in (longer, (longer[0], made.response_frame), (made.request_frame, longer[1])):
                said = summarize(Exchange(made.link, 0, asked, 1, answered, BODIES))
                assert "can't be decoded" not in "".join(said), (api.name, version)


def test_versions_beyond_the_tables() -> None:
    frame = b"\0\3\0\x63\0\0\0\1\xff\xff\0abc"
    assert summarize(Exchange(Link("b:1", "c:2"), 0, frame, None, None, BODIES)) == ("not in the tables", "")


def test_an_api_without_a_summary_of_its_own() -> None:
    assert summary_of(SAMPLES / "java44-txn.pcap", "DESCRIBE_TRANSACTIONS") == "pay-1 -> 1 transactionState"


def test_errors_are_named_once() -> None:
    assert errors_text({}, {"errorCode": 6, "topics": [{"errorCode": 6}, {"errorCode": 3}]}) == (
        "NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION"
    )
