"""What Kafka's Java client writes for a value; `tests/real/test_java_values.py` asks Kafka's own classes."""

from typing import Any

import pytest

from kcli.errors import EncodeError
from kcli.grammar import messages
from kcli.grammar.java import java_value


def sent(name: str, version: int, value: dict[str, Any]) -> dict[str, Any]:
    codec = messages.data(name, version)
    return codec.read(codec.write(java_value(codec, value)))[0]


def test_tagged_fields_at_their_default_are_not_sent() -> None:
    value: dict[str, Any] = {"clusterId": None, "replicaState": {"replicaId": -1, "replicaEpoch": -1}, "topics": []}
    assert {*sent("FetchRequest", 17, value)} & {*value} == {"topics"}
    assert sent("FetchRequest", 17, {"clusterId": ""})["clusterId"] == ""
    assert sent("FetchRequest", 17, {"replicaState": {"replicaId": 3}})["replicaState"] == {
        "replicaId": 3,
        "replicaEpoch": -1,
    }


def test_what_a_version_lacks_is_left_out_where_it_is_ignorable() -> None:
    assert "rackId" not in sent("FetchRequest", 4, {"rackId": "r", "topics": []})
    assert "clusterId" not in sent("FetchRequest", 4, {"clusterId": "c", "topics": []})


def test_the_client_fails_at_what_may_not_be_left_out() -> None:
    codec = messages.data("JoinGroupRequest", 4)
    java_value(codec, {"groupInstanceId": None})
    with pytest.raises(EncodeError, match="Attempted to write a non-default groupInstanceId") as failure:
        java_value(codec, {"groupInstanceId": "a"})
    assert failure.value.path == "groupInstanceId" and failure.value.what == "JoinGroupRequest v4"


def test_a_nested_field_is_named_with_its_place() -> None:
    codec = messages.data("UpdateFeaturesRequest", 0)
    updates = [{"feature": "f", "upgradeType": 1}, {"feature": "g", "upgradeType": 3}]
    with pytest.raises(EncodeError, match="non-default upgradeType") as failure:
        java_value(codec, {"featureUpdates": updates})
    assert failure.value.path == "featureUpdates[1].upgradeType"


def test_nothing_that_only_a_decoder_knows_is_written() -> None:
    value = {"_unknownTaggedFields": [{"tag": 9, "data": "AA=="}], "_trailing": "AA==", "topics": []}
    assert not any(name.startswith("_") for name in java_value(messages.data("FetchRequest", 12), value))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"nope": 1}, "has no field 'nope' in any version"),
        ({"rackId": "x" * 32_768}, "longer than 32,767 bytes"),
        ({"topics": [5]}, "needs an object"),
        ({"replicaState": 5}, "needs an object"),
    ],
)
def test_values_that_it_has_no_bytes_for(value: dict[str, Any], reason: str) -> None:
    with pytest.raises(EncodeError, match=reason):
        java_value(messages.data("FetchRequest", 17), value)


def test_secrets_are_not_in_errors() -> None:
    codec = messages.data("SaslAuthenticateRequest", 2)
    with pytest.raises(EncodeError) as failure:
        java_value(codec, {"authBytes": "a", "geheim": "x"} | {"authBytes": {"redacted": 3}})
    assert "redacted" not in str(failure.value)
