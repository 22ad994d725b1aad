"""Rules in JSON that answer requests, and what is answered without one."""

from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.broker.mock_rules import Answers, matches, read_answers
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.errors import InputError, NetworkError, SchemaError, UsageError
from kcli.schemas.apikeys import CONSUMER_GROUP_HEARTBEAT, METADATA
from tests.broker.talk import run
from tests.greeting import GREET, greeting, newer_metadata, rewritten_metadata


def asked(
    dialect: str | None, *requests: tuple[int, int | None, dict[str, Any]], mine: str | None = "", **options: Any
) -> list[dict[str, Any]]:
    """The answers of a broker. mine: the client's dialect, "" for the broker's."""
    found: list[dict[str, Any]] = []

    async def work() -> None:
        async with Broker(dialect=dialect, **options) as broker:
            broker.create_topic("t", 2)
            config = ClientConfig({"bootstrap.servers": broker.bootstrap})
            async with Client(config, dialect if mine == "" else mine) as client:
                found.extend([await client.call(key, body, version=version) for key, version, body in requests])

    run(work())
    return found


def test_an_api_of_a_draft_is_answered_with_defaults(tmp_path: Path) -> None:
    old, new = asked(greeting(tmp_path), (GREET, 0, {"name": "x"}), (GREET, None, {"name": "x"}))
    assert old == {"errorCode": 0, "text": "hi"}
    assert new == {"errorCode": 0, "text": "hi", "mark": -1}


def test_the_first_rule_that_matches_answers(tmp_path: Path) -> None:
    """By version, by fields, so many times; its fields that a version lacks are left out."""
    rules = [
        {"api": "Greet", "versions": "1", "request": {"name": "a", "times": [2]}, "answer": {"text": None}, "count": 1},
        {"api": "Greet", "request": {"name": "a"}, "answer": {"text": "known", "mark": 5}},
        {"api": "Greet", "request": {"name": "echo"}, "answer": {"text": "$request.name", "mark": "$request.times.1"}},
    ]
    a, b, c, d, e, f = asked(
        greeting(tmp_path),
        (GREET, 1, {"name": "a", "times": [1, 2]}),
        (GREET, 1, {"name": "a", "times": [1, 2]}),
        (GREET, 0, {"name": "a"}),
        (GREET, 1, {"name": "echo", "times": [3, 4]}),
        (GREET, 1, {"name": "z"}),
        (GREET, 0, {"name": "echo"}),
        answers=rules,
    )
    assert a == {"errorCode": 0, "text": None, "mark": -1}
    assert b == {"errorCode": 0, "text": "known", "mark": 5}
    assert c == {"errorCode": 0, "text": "known"}
    assert d == {"errorCode": 0, "text": "echo", "mark": 4}
    assert e["text"] == "hi"
    assert f == {"errorCode": 0, "text": "echo"}


def test_rules_answer_what_the_broker_lacks_and_what_it_has() -> None:
    """Without a dialect, too: an API that kcli's broker lacks is offered as soon as a rule answers it."""
    rules = [
        {"api": "ConsumerGroupHeartbeat", "answer": {"errorCode": 25}},
        {"api": "METADATA", "versions": "9+", "answer": {"clusterId": "mine"}},
    ]
    beat, new, old = asked(
        None,
        (CONSUMER_GROUP_HEARTBEAT, None, {"groupId": "g"}),
        (METADATA, 12, {"topics": None}),
        (METADATA, 8, {"topics": None}),
        answers=rules,
    )
    assert beat["errorCode"] == 25
    assert (new["clusterId"], new["topics"]) == ("mine", [])
    assert [each["name"] for each in old["topics"]] == ["t"]


def test_a_new_version_of_an_api_goes_to_its_handler(tmp_path: Path) -> None:
    """A draft's Metadata v14 is answered as v13, with its own field at its default."""
    (answer,) = asked(newer_metadata(tmp_path), (METADATA, 14, {"topics": None}))
    assert [each["name"] for each in answer["topics"]] == ["t"]
    assert answer["mood"] == 7


def test_a_draft_that_does_not_fit_the_brokers_own_answer_ends_the_connection(tmp_path: Path) -> None:
    """The log says why; there is no traceback."""
    newer_metadata(tmp_path)
    for path in tmp_path.iterdir():
        text = path.read_text()
        path.write_text(text.replace('"Topics"', '"Subjects"').replace('"Name"', '"Called"'))
    log: list[str] = []
    with pytest.raises(NetworkError, match=r"closed the connection instead of answering Metadata v14"):
        asked(str(tmp_path), (METADATA, 14, {}), note=log.append)
    assert any("Metadata v14: this broker's answer is written for another version of the draft" in line for line in log)


def test_a_draft_that_only_adds_is_spoken_with_everybody(tmp_path: Path) -> None:
    """A client that knows nothing of dialects, as kcli's is here, is offered the new versions."""
    for dialect, newest in ((newer_metadata(tmp_path / "new"), 14), (rewritten_metadata(tmp_path / "odd"), 13)):
        body = {"clientSoftwareName": "other", "clientSoftwareVersion": "1"}
        (answer,) = asked(dialect, (18, 3, body), mine=None)
        ranges = {row["apiKey"]: row["maxVersion"] for row in answer["apiKeys"]}
        assert ranges[METADATA] == newest
    assert GREET in {row["apiKey"] for row in asked(greeting(tmp_path / "g"), (18, 3, body), mine=None)[0]["apiKeys"]}


def test_a_draft_that_rewrites_a_released_version_is_spoken_with_those_who_ask_for_it(tmp_path: Path) -> None:
    """Others get Apache's message of that number."""
    dialect = rewritten_metadata(tmp_path)
    (theirs,) = asked(dialect, (METADATA, 13, {"topics": None}), mine=None)
    (ours,) = asked(dialect, (METADATA, 13, {"topics": None}))
    assert "mood" not in theirs
    assert ours["mood"] == 7


def test_fault_rules_know_the_draft(tmp_path: Path) -> None:
    """Its APIs and its errors, in a rule for `--fault`."""
    (tmp_path / "dialect.json").write_text('{"errors": {"30100": "BAD_MOOD"}}')
    first, second = asked(
        greeting(tmp_path),
        (GREET, 1, {"name": "x"}),
        (GREET, 1, {"name": "x"}),
        faults=["api=Greet,error=BAD_MOOD,count=1"],
    )
    assert (first["errorCode"], second["errorCode"]) == (30100, 0)


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ([], 'an object with an "api" expected'),
        ({"answer": {}}, 'an object with an "api" expected'),
        ({"api": "Gret"}, "Gret: no such API; did you mean Greet?"),
        ({"api": 999}, "API key 999: not in the tables"),
        ({"api": "Greet", "version": "1"}, "'version' is unknown; there are api, versions, request, answer, count"),
        ({"api": "Greet", "versions": "2+"}, r"Greet has no versions 2\+ \(it has 0-1\)"),
        ({"api": "Greet", "versions": "new"}, '"new" is no range of versions'),
        ({"api": "Greet", "answer": []}, '"request" and "answer": objects expected'),
        ({"api": "Greet", "count": -1}, '"count": a number of 1 or more expected'),
        ({"api": "Greet", "count": 0}, '"count": a number of 1 or more expected'),
        ({"api": "Greet", "request": {"nam": "x"}}, "request: GreetRequest v1: .*'nam'"),
        ({"api": "Greet", "request": {"name": 5}}, "request: GreetRequest v1: name: "),
        ({"api": "Greet", "request": {"name": None}}, "request: GreetRequest v1: name: null"),
        ({"api": "Greet", "request": {"times": [{"a": 1}]}}, "request: GreetRequest v1: times"),
        ({"api": "Greet", "versions": "0", "request": {"times": [1]}}, "request: GreetRequest v0: .*'times'"),
        ({"api": "Greet", "answer": {"txt": "x"}}, "answer: GreetResponse v0: .*'txt'"),
        ({"api": "Greet", "answer": {"text": None}}, "answer: GreetResponse v0: text: null"),
        ({"api": "Greet", "versions": "1", "answer": {"mark": "x"}}, "answer: GreetResponse v1: mark: needs an int64"),
        ({"api": "Metadata", "answer": {"topics": {"name": 1}}}, "answer: "),
        ({"api": "Metadata", "answer": {"topics": ["a"]}}, "answer: "),
    ],
)
def test_a_rule_without_sense_is_named(tmp_path: Path, rule: Any, error: str) -> None:
    with pytest.raises(UsageError, match=f"^answers: rule 2: {error}"):
        Answers([{"api": "Greet"}, rule], greeting(tmp_path))


def test_a_draft_without_sense_is_named_before_a_client_meets_it(tmp_path: Path) -> None:
    dialect = greeting(tmp_path)
    path = tmp_path / "GreetResponse.json"
    path.write_text(path.read_text().replace('"int16"', '"int8", "default": "300"'))
    with pytest.raises(SchemaError, match="default '300': -128 to 127 expected"):
        Broker(dialect=dialect)


def test_a_rule_nested_too_deep(tmp_path: Path) -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(UsageError, match="nested too deep"):
        Answers([{"api": "Greet", "answer": {"text": deep}}], greeting(tmp_path))


def test_what_the_request_does_not_hold_ends_the_connection(tmp_path: Path) -> None:
    log: list[str] = []
    rules = [{"api": "Greet", "answer": {"mark": "$request.times.5"}}]
    with pytest.raises(NetworkError, match="closed the connection"):
        asked(greeting(tmp_path), (GREET, 1, {"name": "x"}), answers=rules, note=log.append)
    assert any("answers: $request.times.5: the request has no such value" in line for line in log)


@pytest.mark.parametrize(
    ("wanted", "value", "same"),
    [
        ({}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"c": None}, {"a": 1}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": [{"b": 2}]}, {"a": [{"b": 1}, {"b": 2, "c": 3}]}, True),
        ({"a": [{"b": 3}]}, {"a": [{"b": 1}]}, False),
        ({"a": []}, {"a": None}, False),
        ({"a": "AQI="}, {"a": b"\1\2"}, True),
    ],
)
def test_what_a_request_must_hold(wanted: Any, value: Any, same: bool) -> None:
    assert matches(wanted, value) is same


def test_rules_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_text('[{"api": "Greet"},\n {"api": 3}]')
    assert read_answers(path) == [{"api": "Greet"}, {"api": 3}]
    path.write_text('{"api": "Greet"}\n\n{"api": 3}\n')
    assert read_answers(path) == [{"api": "Greet"}, {"api": 3}]
    for text in ("{", "[" * 100_000, '{"api": 1} x'):
        path.write_text(text)
        with pytest.raises(InputError, match=r"rules: a JSON array of rules expected, or one a line"):
            read_answers(path)


def test_rules_of_a_draft_that_a_client_does_not_speak(tmp_path: Path) -> None:
    """Such a client is served without them: its tables don't have their API."""
    rewritten_metadata(tmp_path)
    dialect = greeting(tmp_path)
    rules = [{"api": "Greet"}, {"api": "Metadata", "versions": "13", "answer": {"mood": 3}}]
    versions, metadata = asked(
        dialect, (18, 3, {"clientSoftwareName": "other", "clientSoftwareVersion": "1"}),
        (METADATA, 12, {"topics": None}), mine=None, answers=rules,
    )  # fmt: skip
    assert GREET not in {row["apiKey"] for row in versions["apiKeys"]}
    assert [each["name"] for each in metadata["topics"]] == ["t"]
    ours = asked(dialect, (METADATA, 13, {"topics": None}), (GREET, 1, {"name": "x"}), answers=rules)
    assert (ours[0]["mood"], ours[1]["text"]) == (3, "hi")
