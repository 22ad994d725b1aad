import pytest

from kcli.snapshots.image.image import Provenance
from kcli.snapshots.image.texts import (
    acl_text,
    broker_text,
    credential_text,
    java_double,
    level_text,
    named,
    provenance_text,
    sorted_ids,
    token_text,
)
from tests.snapshots.made import broker, image


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4000.0, "4000.0"),
        (1.5e9, "1.5E9"),
        (0.25, "0.25"),
        (0.0, "0.0"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-2.5, "-2.5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_as_java_prints_them(value: float, text: str) -> None:
    assert java_double(value) == text


@pytest.mark.parametrize(
    ("ms", "time"),
    [
        (1795223773241, "2026-11-21T01:16:13.241Z[UTC]"),
        (1795223773000, "2026-11-21T01:16:13Z[UTC]"),
        (1795223760000, "2026-11-21T01:16Z[UTC]"),
        (-1, "1969-12-31T23:59:59.999Z[UTC]"),
        (1 << 62, "4611686018427387904 ms"),
    ],
)
def test_times_as_java_prints_them(ms: int, time: str) -> None:
    assert provenance_text(Provenance(486, 1, ms)) == f"offset 485, epoch 1, time {time}"


def test_brokers() -> None:
    text = broker_text(broker(1, rack="a", fenced=True))
    assert text.startswith(
        "BrokerRegistration(id=1, epoch=11, incarnationId=YWJjZGVmZ2hpamtsbW5vcA, listeners=[Endpoint("
    )
    assert "supportedFeatures={metadata.version: 7-30}, rack=Optional[a], fenced=true" in text


def test_ids_are_sorted_as_two_signed_longs() -> None:
    assert sorted_ids(["AAAAAAAAAAAAAAAAAAAAAQ", "_____________________w", "f____________________w"])[0][0] == "_"


def test_others() -> None:
    acl = {"resourceType": 2, "resourceName": "t", "patternType": 4, "principal": "User:a", "host": "*"}
    text = acl_text(acl | {"operation": 15, "permissionType": 99})
    assert "patternType=PREFIXED" in text
    assert "operation=TWO_PHASE_COMMIT, permissionType=99]" in text
    token = {"tokenId": "t", "owner": "o", "renewers": ["a", "b"], "issueTimestamp": 1, "maxTimestamp": 2}
    assert "renewers=a b, issueTimestamp=1" in token_text(token | {"expirationTimestamp": 3})
    assert "salt=73, storedKey=," in credential_text({"salt": b"s", "iterations": 1}, True)
    assert level_text(image()) == "Optional[4.3-IV0]"
    assert named({1: "one"}, 2) == "2"
