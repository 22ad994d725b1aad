"""The compiled kernel and the interpreted way see the same in every capture, real or altered."""

from __future__ import annotations

from typing import Any

import pytest

from kcli.capture.bodies import Bodies
from kcli.capture.clock import parse_instant
from kcli.capture.events import Event, Exchange, Link
from kcli.core import COMPILED
from kcli.grammar import messages
from kcli.sessions.explain import loose_dict, session_dict
from kcli.sessions.feeder import ENDS, Feeder
from kcli.sessions.findings import Finding
from kcli.sessions.ledger import Ledger
from kcli.sessions.state import new_kernel
from kcli.sessions.watched import Watched
from tests.sessions.captured import CAPTURES, Row, rows_of
from tests.sessions.test_checks import ALTERATIONS, Alter

pytestmark = pytest.mark.skipif(not COMPILED, reason="the core is not built here")
BODIES = Bodies(None)


def whole(value: Any) -> Any:
    """A row's value with bytes where it tells only how many records there were."""
    if isinstance(value, list):
        return [whole(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"sizeInBytes"}:
        return bytes(value["sizeInBytes"])
    return {key: whole(each) for key, each in value.items() if not key.startswith("_")}


def item_of(row: Row) -> Exchange | Event:
    """What the capture held, made again from the row."""
    if "event" in row:
        return Event(row["event"], row["connection"], parse_instant(row["timestamp"]), 0, 0, "")
    header = row["requestHeader"]
    key, version = header["requestApiKey"], header["requestApiVersion"]
    ends = ENDS.match(row["connection"])
    assert ends is not None
    plain = {name: header[name] for name in header if name != "requestApiKeyName"}
    request = messages.request_header(key, version).write(plain) + messages.request(key, version).write(
        whole(row["request"])
    )
    ns = parse_instant(row["timestamp"])
    if row["response"] is None:
        return Exchange(Link(ends[1], ends[2]), ns, request, None, None, BODIES)
    start = messages.response_header(key, version).write({"correlationId": header["correlationId"]})
    response = start + messages.response(key, version).write(whole(row["response"]))
    later = ns + int(row["latencyMs"] * 1e6)
    return Exchange(Link(ends[1], ends[2]), ns, request, later, response, BODIES)


def follow(items: list[Exchange | Event], kernel: Any) -> tuple[list[Any], list[Any], list[Any], int]:
    found: list[Finding] = []
    ended: list[Watched] = []
    ledger = Ledger(found.append, ended.append, kernel)
    feeder = Feeder(ledger)
    for item in items:
        if isinstance(item, Event):
            feeder.event(item)
        else:
            feeder.exchange(item)
    ledger.close()
    told = [session_dict(session, {}) for session in ended]
    for each in told:
        each["neverDelivered"] = sorted(each["neverDelivered"])
    return found, told, [loose_dict(each) for each in ledger.loose.values()], ledger.fetches


def assert_same(rows: list[Row]) -> int:
    items = [item_of(row) for row in rows]
    kernel = new_kernel()
    fast, slow = follow(items, kernel), follow(items, None)
    assert fast[0] == slow[0]
    assert fast[1] == slow[1]
    assert fast[2:] == slow[2:]
    taken: int = kernel.fetches
    return taken


@pytest.mark.parametrize("name", CAPTURES)
def test_real_captures(name: str) -> None:
    taken = assert_same(rows_of(name))
    assert taken > 10 or name.startswith("kraft")


@pytest.mark.parametrize(("name", "capture", "alter", "rules"), ALTERATIONS, ids=[a[0] for a in ALTERATIONS])
def test_altered_captures(name: str, capture: str, alter: Alter, rules: set[str]) -> None:
    if name == "names_in_a_session_of_topic_ids":
        pytest.skip("a version that has no place for the row's topic ids")
    rows = rows_of(capture)
    alter(rows)
    assert_same(rows)


def older(row: Row, version: int) -> Row:
    """The same fetch in an older version, its topics by name."""
    header = {**row["requestHeader"], "requestApiVersion": version}
    request = {**row["request"], "replicaId": (row["request"].get("replicaState") or {"replicaId": -1})["replicaId"]}
    request.pop("replicaState", None)
    request = {name: value for name, value in request.items() if SINCE.get(name, 0) <= version}
    made = {**row, "requestHeader": header, "request": request}
    for side, lists in (("request", ("topics", "forgottenTopicsData")), ("response", ("responses",))):
        if made[side] is not None:
            made[side] = {**made[side], **{name: named(made[side][name], version) for name in lists}}
    if made["response"] is not None:
        made["response"].pop("nodeEndpoints", None)
    return made


SINCE = {"currentLeaderEpoch": 9, "rackId": 11, "preferredReadReplica": 11, "lastFetchedEpoch": 12}
TAGGED = ("divergingEpoch", "currentLeader", "snapshotId", "replicaDirectoryId")


def named(topics: list[Row], version: int) -> list[Row]:
    return [
        {
            "topic": f"topic-{topic['topicId']}",
            "partitions": [fields(part, version) if isinstance(part, dict) else part for part in topic["partitions"]],
        }
        for topic in topics
    ]


def fields(value: Row, version: int) -> Row:
    """Those that this version has."""
    later = "errorCode" not in value
    return {
        name: each
        for name, each in value.items()
        if SINCE.get(name, 0) <= version and name not in TAGGED and not (later and name == "highWatermark")
    }


@pytest.mark.parametrize("version", [7, 8, 11, 12])
@pytest.mark.parametrize("name", ["fetch-session-1200", "fetch-session-eviction"])
def test_versions_that_go_by_topic_names(name: str, version: int) -> None:
    rows = [
        older(row, version) if row.get("requestHeader", {}).get("requestApiKey") == 1 else row for row in rows_of(name)
    ]
    assert assert_same(rows) > 10
