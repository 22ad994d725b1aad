"""Names and types in rules of answers, held against the messages."""

from pathlib import Path
from typing import Any

import pytest

from kcli.broker.answer_fields import fitted, match_fault
from kcli.broker.api_version import ApiVersion
from kcli.errors import EncodeError
from kcli.schemas.apikeys import CREATE_TOPICS, METADATA, PRODUCE
from tests.greeting import GREET, greeting


@pytest.mark.parametrize(
    ("version", "answer", "kept"),
    [
        (0, {"text": "$request.name", "mark": "$request.times.0"}, {"text": "$request.name"}),
        (1, {"text": None, "mark": "$request.times.-1"}, {"text": None, "mark": "$request.times.-1"}),
        (1, {"errorCode": "$request.times.0"}, {"errorCode": "$request.times.0"}),
    ],
)
def test_what_fits_is_kept_and_what_the_version_lacks_left_out(
    tmp_path: Path, version: int, answer: Any, kept: Any
) -> None:
    assert fitted(ApiVersion(GREET, version, greeting(tmp_path)), answer) == kept


@pytest.mark.parametrize(
    ("version", "answer", "wrong"),
    [
        (1, {"text": "$request.nme"}, r"GreetResponse v1: text: \$request.nme: there is no nme in GreetRequest v1$"),
        (0, {"text": "$request.times.0"}, r"text: \$request.times.0: there is no times in GreetRequest v0$"),
        (1, {"text": "$request.times"}, r"text: \$request.times is of the type \[\]int32, and string is expected$"),
        (1, {"errorCode": "$request.name"}, r"errorCode: \$request.name is of the type string, and int16 is expected$"),
        (
            1,
            {"mark": "$request.times.x"},
            r"mark: \$request.times.x: a number expected, the place in a list in \[\]int32",
        ),
        (1, {"mark": "$request.name.x"}, r"mark: \$request.name.x: there is no x in string v1$"),
        (1, {"txt": "$request.name"}, "GreetResponse v1: txt: no such field$"),
        (1, {"txt": "x"}, "GreetResponse v1: .*'txt'"),
        (1, {"text": ["$request.name"]}, "GreetResponse v1: text"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, version: int, answer: Any, wrong: str) -> None:
    with pytest.raises(EncodeError, match=wrong):
        fitted(ApiVersion(GREET, version, greeting(tmp_path)), answer)


def test_lists_and_structs() -> None:
    """A struct fits where all its members have a place; a list, where its entries do."""
    api = ApiVersion(METADATA, 12, None)
    rows = {"topics": [{"name": "$request.topics.0.name", "partitions": [{"replicaNodes": ["$request.topics.0.x"]}]}]}
    with pytest.raises(EncodeError, match=r"topics\[0\].partitions\[0\].replicaNodes\[0\]: .* there is no x"):
        fitted(api, rows)
    assert fitted(api, {"topics": "$request.topics"}) == {"topics": "$request.topics"}
    made = ApiVersion(CREATE_TOPICS, 7, None)
    with pytest.raises(EncodeError, match=r"topics: \$request.topics is of the type \[\]CreatableTopic, and "):
        fitted(made, {"topics": "$request.topics"})
    with pytest.raises(EncodeError, match="is of the type string, and int32"):
        fitted(made, {"topics": [{"numPartitions": "$request.topics.0.name"}]})


def test_a_request_that_can_come_in_one_version_is_enough(tmp_path: Path) -> None:
    both = [ApiVersion(GREET, version, greeting(tmp_path)) for version in (0, 1)]
    assert match_fault({"name": "x", "times": [1]}, both) is None
    assert match_fault({"times": [1]}, both[:1]) is not None
    produce = ApiVersion(PRODUCE, 9, None)
    assert match_fault({"topicData": [{"partitionData": [{"records": "AQI="}]}]}, [produce]) is None
