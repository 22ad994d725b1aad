"""What is made again, and what waits for what."""

from collections import Counter

import pytest

from kcli.replay.traffic.choice import ADMIN, LOGIN, OF_BROKERS, OF_COORDINATORS, READS, Choice
from kcli.schemas.apikeys import (
    ADD_PARTITIONS_TO_TXN,
    API_VERSIONS,
    CREATE_TOPICS,
    FETCH,
    HEARTBEAT,
    SASL_AUTHENTICATE,
    WRITE_TXN_MARKERS,
)
from kcli.schemas.catalog import catalog
from kcli.schemas.dialects import shipped
from tests.replay.traffic.made import exchange

BEAT = exchange(HEARTBEAT, 0, {"groupId": "g", "generationId": 1, "memberId": "m"}, client_id="web-1")
TOPICS = exchange(CREATE_TOPICS, 0, {"topics": [], "timeoutMs": 1})
SIGNED = exchange(SASL_AUTHENTICATE, 0, {"authBytes": b"secret"})
RAFT = exchange(FETCH, 12, {"topics": [{"topic": "__cluster_metadata", "partitions": []}]})
OWN_TOPIC = exchange(CREATE_TOPICS, 2, {"topics": [{"name": "__consumer_offsets"}], "timeoutMs": 1})
MARKERS = exchange(WRITE_TXN_MARKERS, 1, {"markers": []})
VERIFY = exchange(ADD_PARTITIONS_TO_TXN, 4, {"transactions": []})


@pytest.mark.parametrize(
    ("of", "options", "reason"),
    [
        (BEAT, {}, None),
        (BEAT, {"only": {FETCH}}, ""),
        (BEAT, {"skip": {HEARTBEAT}}, ""),
        (BEAT, {"client_id": "web-*"}, None),
        (BEAT, {"client_id": "app"}, ""),
        (TOPICS, {}, "that change the cluster (--admin)"),
        (TOPICS, {"admin": True}, None),
        (OWN_TOPIC, {"admin": True}, "of brokers among themselves"),
        (SIGNED, {}, "logins (--config has the replay's own)"),
        (RAFT, {}, "of the metadata log"),
        (MARKERS, {}, "of brokers among themselves"),
        (VERIFY, {}, "of brokers among themselves"),
    ],
)
def test_the_reason_to_leave_one_out(of: object, options: dict[str, object], reason: str | None) -> None:
    assert Choice(catalog(None), **options).reason(of) == reason  # type: ignore[arg-type]


def test_a_version_that_kcli_does_not_know_is_left_out() -> None:
    frame = bytearray(BEAT.request_frame)
    frame[3] = 99
    odd = type(BEAT)(BEAT.link, 0, bytes(frame), None, None, BEAT.bodies)
    assert Choice(catalog(None)).reason(odd) == "unknown to kcli"


# Sent as they are, and what follows them waits: they write data, or the broker makes a topic on the way.
WRITES = frozenset(["Produce", "ShareAcknowledge", "Metadata", "FindCoordinator"])


def test_each_api_is_chosen_for_or_against_once() -> None:
    """A new API, or a draft's, needs its place in a list of choice.py, or in WRITES."""
    tables = [catalog(None), *map(catalog, shipped())]
    names = {key: api.name for each in tables for key, api in each.apis.items()}
    logins = {names.pop(key) for key in LOGIN}
    lists = (WRITES, OF_BROKERS, ADMIN, READS, OF_COORDINATORS)
    assert Counter(name for each in lists for name in each) == Counter(names.values())
    assert logins == {"SaslHandshake", "SaslAuthenticate"}


def test_writes_are_what_others_wait_for() -> None:
    choice = Choice(catalog(None))
    assert choice.is_write(BEAT)
    assert not choice.is_write(RAFT)
    assert not choice.is_write(exchange(API_VERSIONS, 0, {}))
