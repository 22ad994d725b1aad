"""What the kernel selects; that it reads by it what the grammar reads is in tests/core/sessions/test_fetches.py."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Link
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.schema.views import definition
from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.selection.select import Selection, interpreted_rows
from kcli.schemas.catalog import catalog
from kcli.sessions.fetch_exchange import FetchExchange
from kcli.sessions.fetch_paths import REQUEST, RESPONSE, layout, new_kernel
from tests.capture.messages import request, response

SINCE = {
    "currentLeaderEpoch": 9, "lastFetchedEpoch": 12, "preferredReadReplica": 11, "_tags": 12, "replicaState": 15,
    "divergingEpoch": 12,
}  # fmt: skip


@pytest.mark.parametrize("version", range(7, 19))
def test_every_version_with_sessions_has_a_layout(version: int) -> None:
    made = layout(version)
    assert made is not None
    assert made[2] == (version >= 13)
    for paths, message in ((REQUEST, messages.request(1, version)), (RESPONSE, messages.response(1, version))):
        selection = message.select(paths)
        for path in paths:
            missing = {name for name, since in SINCE.items() if name in path and version < since}
            if not path.endswith("[]") and path != "replicaId?":
                assert (selection.place(path).type == "missing") == bool(missing), path


def test_versions_without_sessions_have_none() -> None:
    assert [layout(version) for version in (-1, 0, 6, 99)] == [None] * 4
    assert 18 in catalog().message("FetchRequest").versions


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("partition", {"type": "string"}),
        ("fetchOffset", {"type": "uuid"}),
        ("fetchOffset", {"taggedVersions": "12+", "tag": 9}),
    ],
)
def test_a_dialect_whose_rows_are_of_another_shape_has_none(
    field: str, change: dict[str, object], tmp_path: Path
) -> None:
    fetch: dict[str, Any] = json.loads(json.dumps(definition(catalog(), catalog().message("FetchRequest"), None)))
    fields = fetch["fields"]
    for name in ("topics", "partitions"):
        fields = next(each for each in fields if each["name"].lower() == name)["fields"]
    wanted = next(each for each in fields if each["name"].lower() == field.lower())
    wanted.pop("default", None)
    wanted |= change
    (tmp_path / "FetchRequest.json").write_text(json.dumps(fetch))
    assert layout(12) is not None
    assert layout(12, str(tmp_path)) is None


@pytest.mark.parametrize("version", range(12, 19))
@pytest.mark.parametrize("diverges", [False, True])
def test_the_kernel_reads_what_followers_are_told(version: int, diverges: bool) -> None:
    """Who asks, of which cluster, where leaders are, where logs part: as the values say it."""
    topic = {"topicId": "sS0LwVrdS_S2ZBihRjwhpQ"} if version >= 13 else {"topic": "orders"}
    replica = {"replicaState": {"replicaId": 5, "replicaEpoch": 7}} if version >= 15 else {"replicaId": 5}
    asked = {"partition": 3, "currentLeaderEpoch": 2, "fetchOffset": 9, "lastFetchedEpoch": 1, "partitionMaxBytes": 77}
    question = {"clusterId": "c", "maxBytes": 99, "sessionEpoch": -1, "topics": [topic | {"partitions": [asked]}]}
    answered = {
        "partitionIndex": 3, "errorCode": 6, "highWatermark": 20, "lastStableOffset": 19, "logStartOffset": 1,
        "currentLeader": {"leaderId": 1, "leaderEpoch": 4}, "records": bytes(70), "preferredReadReplica": 4,
        "abortedTransactions": [{"producerId": 5, "firstOffset": 7}],
    } | ({"divergingEpoch": {"epoch": 0, "endOffset": 4}} if diverges else {})  # fmt: skip
    nodes = {"nodeEndpoints": [{"nodeId": 1, "host": "b", "port": 9092, "rack": None}]} if version >= 16 else {}
    answer = {"throttleTimeMs": 8, "responses": [topic | {"partitions": [answered]}]} | nodes
    frames = request(1, version, 1, replica | question), response(1, version, 1, answer)
    item = Exchange(Link("b", "c"), 1, frames[0][4:], 2, frames[1][4:], Bodies(annotated=False))
    assert item.request is not None and item.response is not None
    plain, fast = (FetchExchange("b", "b-c", item.header, 1, 2) for _ in range(2))
    plain.read(item.request, item.response)
    found = new_kernel().columns(item.request_frame, item.response_frame, version)
    assert found is not None
    fast.take(found[0], found[1], answered=True)
    assert all(getattr(fast, name, None) == getattr(plain, name, None) for name in FetchExchange.__slots__)
    assert plain.replica_id == 5 and plain.reported[0][1][-1] == diverges


def rows_of(selection: Selection, data: bytes, interpreted: bool) -> Any:
    try:
        if interpreted:
            return interpreted_rows(selection, data, 0)
        selected = selection.read(data)
    except DecodeError as error:
        return error.reason
    return selected.rows, selected.end


@pytest.mark.parametrize("version", range(7, 19))
def test_damaged_fetches_give_the_rows_of_the_reference(version: int) -> None:
    """Many entries of one width, some with tags: cut and changed, in one buffer."""
    rng = random.Random(version)
    topic = {"topicId": "sS0LwVrdS_S2ZBihRjwhpQ"} if version >= 13 else {"topic": "orders"}
    tagged = [{"_unknownTaggedFields": [{"tag": 90, "data": b"ab"}]}] if version >= 12 else []
    asked = [{"partition": at, "fetchOffset": at << 33, "partitionMaxBytes": 7} for at in range(3)]
    answered = [{"partitionIndex": at, "highWatermark": at << 40, "records": bytes(at)} for at in range(3)]
    answered += [{"abortedTransactions": None}, {"abortedTransactions": [{"producerId": 5, "firstOffset": 7}]}]
    request, response = messages.request(1, version), messages.response(1, version)
    topics = [topic | {"partitions": [*asked, *tagged]}, topic | {"partitions": []}, topic | {"partitions": asked}]
    answers = [topic | {"partitions": [*answered, *tagged, *answered[:1]]}, topic | {"partitions": answered}]
    for codec, paths, value in (
        (request, REQUEST, {"sessionId": 9, "sessionEpoch": 4, "topics": topics}),
        (response, RESPONSE, {"sessionId": 9, "responses": answers}),
    ):
        selection, whole = codec.select(paths, missing=-1), codec.write(value)
        for _ in range(120):
            damaged = bytearray(whole)
            for _ in range(rng.randrange(3)):
                damaged[rng.randrange(len(whole))] = rng.choice((0, 1, 2, 5, 0x7F, 0x80, 0xFF))
            data = bytes(damaged[: rng.choice((len(whole), rng.randrange(len(whole))))])
            assert rows_of(selection, data, False) == rows_of(selection, data, True), data.hex()
