"""Addresses in responses: replaced, and every other byte as it was."""

from typing import Any

import pytest

from kcli.client.address import Address
from kcli.grammar import frames
from kcli.proxy.rewriting import AddressRewriter, endpoint_paths, endpoints_in
from kcli.schemas.catalog import catalog
from tests.messages import strange

METADATA, FETCH, FIND_COORDINATOR = 3, 1, 10
VERSIONS = [
    (api.key, version)
    for api in catalog(None).apis.values()
    for version in range(api.versions.lo, api.versions.hi + 1)
    if endpoint_paths(api.response, version)
]


def here(node: int, there: Address, reached: str) -> Address | None:
    """Everything but node 7 is at another address."""
    return None if node == 7 else Address(reached, there.port + 1)


def rewriter(notes: list[str] | None = None) -> AddressRewriter:
    return AddressRewriter(here, (notes if notes is not None else []).append)


def frame_of(api_key: int, version: int, body: dict[str, Any]) -> bytes:
    return frames.encode_response({"correlationId": 5}, api_key, version, body)


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_only_addresses_change(api_key: int, version: int) -> None:
    """In every version of every response that has them, whatever else it holds."""
    path = endpoint_paths(catalog(None).apis[api_key].response, version)[0]
    body = strange(catalog(None).message(catalog(None).apis[api_key].response), version)
    for node, endpoint in enumerate(endpoints_in(body, path), 6):
        endpoint |= {path.id: node, "host": f"broker-{node}", "port": 9092 + node}
    made = rewriter().rewrite(api_key, version, frame_of(api_key, version, body), "proxy")
    for node, endpoint in enumerate(endpoints_in(body, path), 6):
        if node != 7:
            endpoint |= {"host": "proxy", "port": 9093 + node}
    assert made == frame_of(api_key, version, body)


def test_what_has_no_address_that_counts_stays() -> None:
    assert rewriter().rewrite(METADATA, 12, frame_of(METADATA, 12, {"brokers": [], "topics": []}), "proxy") is None
    assert rewriter().rewrite(METADATA, 99, b"any bytes", "proxy") is None
    assert rewriter().rewrite(9999, 0, b"any bytes", "proxy") is None
    assert rewriter().rewrite(FETCH, 17, frame_of(FETCH, 17, {"responses": []}), "proxy") is None
    none_yet = {"nodeId": 7, "host": "", "port": -1, "errorCode": 15}
    assert rewriter().rewrite(FIND_COORDINATOR, 3, frame_of(FIND_COORDINATOR, 3, none_yet), "proxy") is None


def test_only_a_fetch_that_names_a_broker_is_decoded() -> None:
    row = {"partitionIndex": 0, "errorCode": 6, "currentLeader": {"leaderId": 2, "leaderEpoch": 4}, "records": b"x"}
    body: dict[str, Any] = {"responses": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [row]}]}
    assert rewriter().rewrite(FETCH, 17, frame_of(FETCH, 17, body), "proxy") is None
    body["nodeEndpoints"] = [{"nodeId": 2, "host": "b", "port": 1}]
    made = rewriter().rewrite(FETCH, 17, frame_of(FETCH, 17, body), "proxy")
    body["nodeEndpoints"] = [{"nodeId": 2, "host": "proxy", "port": 2}]
    assert made == frame_of(FETCH, 17, body)


def test_what_the_tables_lack_is_mentioned_once() -> None:
    notes: list[str] = []
    made = rewriter(notes)
    for key, version in ((9999, 1), (METADATA, 99), (9999, 1), (-1, -1)):
        assert made.find(key, version) is None
    assert [note.partition(" (known")[0] for note in notes] == ["unknown API key 9999", "Metadata has no version 99"]
    assert all(
        note.endswith("these pass as they are, with the broker's own addresses if they have any") for note in notes
    )


def test_a_response_that_cannot_be_read_passes_and_is_mentioned_once() -> None:
    notes: list[str] = []
    made = rewriter(notes)
    for _ in range(2):
        assert made.rewrite(METADATA, 12, b"\0\0\0\5\0\0", "proxy") is None
    (note,) = notes
    assert "MetadataResponse v12" in note
    assert "went to the client as it is" in note
