"""Who would be refused, and who would not."""

from __future__ import annotations

import pytest

from kcli.capture.api import read_capture
from kcli.capture.audit import AuditedClient, Judge, audit, merge
from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Link
from kcli.capture.kafka.exchange import Exchange
from kcli.schemas.catalog import catalog
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import Api
from tests.capture.messages import api_versions, metadata, produce, request
from tests.capture.wires import DATA, SAMPLES

TABLES = catalog()


def refused(client: AuditedClient, release: str = "4.4") -> dict[str, tuple[int, ...]]:
    return {use.name: use.refused for use in Judge(TABLES, release).usages(client) if use.refused}


def exchange(asked: bytes, answer: bytes | None = None, client: str = "10.0.0.1:5") -> Exchange:
    return Exchange(
        Link("10.0.0.2:9092", client), 1, asked[4:], 2 if answer else None, answer[4:] if answer else None, Bodies()
    )


def test_clients_of_an_old_broker() -> None:
    clients = {
        (each.client_id, each.software): each for each in audit(read_capture(DATA / "broker-0.10.2.pcap.zst").items())
    }
    assert refused(clients["lab-old", None]) == {"Produce": (1, 2), "Fetch": (1, 2), "ListOffsets": (0,)}
    assert refused(clients["rdkafka", "librdkafka"]) == {}  # it could do more than its broker
    assert refused(clients["1", None]) == {"LeaderAndIsr": (0,), "UpdateMetadata": (3,)}
    unsure = [use for use in Judge(TABLES, "4.4").usages(clients["kp-cons", None]) if use.unsure]
    assert [(use.name, use.unsure) for use in unsure] == [("Fetch", (3,))]


def test_a_new_client_is_fine() -> None:
    clients = audit(read_capture(SAMPLES / "java44-txn.pcap").items())
    assert [each.client_id for each in clients] == [
        "lab-java",
        "AddPartitionsManager-client-1",
        "broker-1-txn-marker-sender",
    ]
    assert (clients[0].software, clients[0].version, clients[0].negotiates) == ("apache-kafka-java", "4.4.0", True)
    assert [refused(each) for each in clients] == [{}, {}, {}]


def test_a_client_newer_than_the_release_asks_first() -> None:
    """It would find out by ApiVersions, and use what there is."""
    (client,) = audit([exchange(*api_versions(1)), exchange(*produce(2, version=11))])
    assert refused(client, "2.4") == {}
    (blunt,) = audit([exchange(*produce(2, version=11))])
    assert refused(blunt, "2.4") == {"Produce": (11,)}


def test_versions_below_those_of_the_release_are_refused() -> None:
    (client,) = audit([exchange(*produce(1, version=2)), exchange(*metadata(2))])
    (use,) = [use for use in Judge(TABLES, "4.4").usages(client) if use.refused]
    assert (use.name, use.versions, use.refused, use.reason) == ("Produce", {2: 1}, (2,), "4.4 takes 3-13")
    assert refused(client, "3.9") == {}
    assert use.as_dict()["accepted"] == {"min": 3, "max": 13}


def test_an_api_that_was_removed() -> None:
    (client,) = audit([exchange(*api_versions(1)), exchange(request(7, 3, 2, {"brokerId": 1, "brokerEpoch": 1}))])
    (use,) = [use for use in Judge(TABLES, "4.0").usages(client) if use.refused]
    assert use.name == "ControlledShutdown" and use.reason == "4.0 has no such API"


def test_clients_are_told_apart_by_address_and_software() -> None:
    items = [
        exchange(*metadata(1)),
        exchange(*metadata(1), client="10.0.0.7:5"),
        exchange(*api_versions(1), client="10.0.0.8:6"),
    ]
    assert [(each.address, each.software, each.requests) for each in audit(items)] == [
        ("10.0.0.1", None, 1), ("10.0.0.7", None, 1), ("10.0.0.8", "hand", 1),
    ]  # fmt: skip


def test_what_cannot_be_decoded_does_not_count() -> None:
    asked, answer = metadata(1)
    odd = asked[:6] + b"\xff\xff" + asked[8:]
    newer = asked[:6] + b"\0\x63" + asked[8:]
    (client,) = audit([exchange(asked, answer), exchange(odd), exchange(newer), exchange(asked[:-3])])
    assert client.used == {(3, 12): 1}


def test_clients_without_software_join_those_of_their_name_in_order() -> None:
    def made(name: str, software: str | None = None) -> AuditedClient:
        return AuditedClient(name, "10.0.0.1", software, connections=1)

    clients = [made("a"), made("b", "java"), made("b"), made("a", "java"), made("c"), made("a")]
    found = merge(clients)
    assert [(each.client_id, each.software, each.connections) for each in found] == [
        ("b", "java", 2), ("a", "java", 3), ("c", None, 1)
    ]  # fmt: skip


def test_clients_that_use_the_same_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a capture of many clients costs what it takes to tell them apart."""
    looked: list[int] = []
    api = Catalog.api

    def looked_up(self: Catalog, key: int) -> Api | None:
        looked.append(key)
        return api(self, key)

    monkeypatch.setattr(Catalog, "api", looked_up)
    clients = audit([exchange(*metadata(2), client=f"10.0.0.{at}:5") for at in range(1, 200)])
    judge = Judge(TABLES, "4.4")
    looked.clear()
    found = [judge.usages(each) for each in clients]
    assert len(found) == 199 and len(looked) == 1
    assert all(each is found[0] for each in found)


def test_apis_that_no_release_has_are_refused() -> None:
    """Kafka's parser of headers throws, whatever the broker in the capture said that it speaks."""
    vendor = exchange(request(3, 9, 2, {"topics": None, "allowAutoTopicCreation": True}))
    vendor.request_frame = (10_002).to_bytes(2, "big") + vendor.request_frame[2:]
    vendor.api_key = 10_002
    (client,) = audit([exchange(*api_versions(1)), vendor])
    assert refused(client) == {"key 10002": (9,)}
    (use,) = [use for use in Judge(TABLES, "4.4").usages(client) if use.refused]
    assert use.reason == "4.4 has no such API"
