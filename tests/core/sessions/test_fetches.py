"""The compiled kernel and its classes see the same as the interpreted way, in every capture, real or altered."""

import random
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.clock import parse_instant
from kcli.capture.kafka.events import Event, Link
from kcli.capture.kafka.exchange import Exchange
from kcli.core.sessions.fetches import FetchFrames
from kcli.grammar import messages
from kcli.sessions.explain import session_dict, sessionless_dict
from kcli.sessions.feeder import ENDS, Feeder
from kcli.sessions.fetch_paths import new_kernel
from kcli.sessions.session import FetchStatistics, ObservedSession
from kcli.sessions.session_findings import SessionFinding
from kcli.sessions.tracker import Tracker
from tests.oracle.sessions import statistics
from tests.oracle.sessions.kernel import InterpretedKernel
from tests.sessions.captured import CAPTURES, Row, rows_of
from tests.sessions.test_incremental_checks import ALTERATIONS, Alter

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
    found: list[SessionFinding] = []
    ended: list[ObservedSession] = []
    tracker = Tracker(found.append, ended.append, kernel)
    feeder = Feeder(tracker)
    for item in items:
        if isinstance(item, Event):
            feeder.event(item)
        else:
            feeder.exchange(item)
    tracker.close()
    reported = [session_dict(session, {}) for session in ended]
    for each in reported:
        each["neverDelivered"] = sorted(each["neverDelivered"])
    return found, reported, [sessionless_dict(each) for each in tracker.sessionless.values()], tracker.fetches


def assert_same(rows: list[Row]) -> int:
    items = [item_of(row) for row in rows]
    kernel = new_kernel()
    fast, slow = follow(items, kernel), follow(items, InterpretedKernel())
    assert fast[0] == slow[0]
    assert fast[1] == slow[1]
    assert fast[2:] == slow[2:]
    taken: int = kernel.fetches
    return taken


@pytest.mark.parametrize("name", CAPTURES)
def test_real_captures(name: str) -> None:
    taken = assert_same(rows_of(name))
    assert taken > (300 if name.startswith("kraft") else 10)


# Not the one that moves a fetch to a version without topic ids: its rows hold them, so no bytes can be made of it.
ENCODABLE = [alteration for alteration in ALTERATIONS if alteration[0] != "names_in_a_session_of_topic_ids"]


@pytest.mark.parametrize(("capture", "alter"), [a[1:3] for a in ENCODABLE], ids=[a[0] for a in ENCODABLE])
def test_altered_captures(capture: str, alter: Alter) -> None:
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


def sessionless(row: Row, epoch: int) -> Row:
    """The same fetch outside any session: -1 wants none, 0 is granted none."""
    made = {**row, "request": {**row["request"], "sessionId": 0, "sessionEpoch": epoch, "forgottenTopicsData": []}}
    if row["response"] is not None:
        made["response"] = {**row["response"], "sessionId": 0}
    return made


@pytest.mark.parametrize("version", [7, 12, None])
@pytest.mark.parametrize("epoch", [-1, 0])
def test_fetches_outside_sessions(epoch: int, version: int | None) -> None:
    """Every second one: those of sessions go on beside them, and what one has learnt the other may know."""
    rows = rows_of("fetch-session-eviction")
    for number, row in enumerate(rows):
        if row.get("requestHeader", {}).get("requestApiKey") == 1:
            made = row if version is None else older(row, version)
            rows[number] = sessionless(made, epoch) if number % 2 else made
    assert assert_same(rows) > 50


@pytest.mark.parametrize("error", [0, 6, 74])
def test_partitions_with_errors_outside_sessions_are_counted(error: int) -> None:
    rows = rows_of("fetch-session-eviction")
    for number, row in enumerate(rows):
        if row.get("requestHeader", {}).get("requestApiKey") == 1:
            rows[number] = made = sessionless(row, -1)
            for topic in (made["response"] or {"responses": ()})["responses"]:
                topic["partitions"] = [each | {"errorCode": error} for each in topic["partitions"]]
    assert assert_same(rows) > 100


def frames(connection: str, request: bytes, response: bytes, cuts: list[int], *, fetches: int = 1) -> Any:
    """One row."""
    columns = [connection.encode(), request, response, array("q", cuts).tobytes()]
    texts = [(array("i", [0, len(each)]), each) for each in columns]
    return FetchFrames(bytes([fetches]), array("q", [10]), array("q", [20]), *texts)


def outside() -> tuple[Any, bytes, bytes]:
    """A kernel that counts a client's fetches outside sessions, and such a fetch, of a partition without records."""
    kernel = new_kernel()
    Tracker(kernel=kernel)
    kernel.keeper = lambda _connection, _client: (FetchStatistics(), "b:1")
    header = {"requestApiKey": 1, "requestApiVersion": 11, "correlationId": 1, "clientId": "c"}
    part = {"partition": 0, "currentLeaderEpoch": -1, "fetchOffset": 0, "logStartOffset": -1, "partitionMaxBytes": 1}
    asked = {
        "replicaId": -1, "maxWaitMs": 1, "minBytes": 1, "maxBytes": 1, "isolationLevel": 0, "sessionId": 0,
        "sessionEpoch": -1, "topics": [{"topic": "t", "partitions": [part]}], "forgottenTopicsData": [], "rackId": "",
    }  # fmt: skip
    told = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 0, "lastStableOffset": 0, "logStartOffset": 0}
    row = {**told, "abortedTransactions": None, "preferredReadReplica": -1, "records": bytes(70)}
    answer = {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 0, "responses": [{"topic": "t", "partitions": [row]}]}
    request = messages.request_header(1, 11).write(header) + messages.request(1, 11).write(asked)
    return (
        kernel,
        request,
        messages.response_header(1, 11).write({"correlationId": 1}) + messages.response(1, 11).write(answer),
    )


def test_rows_of_columns_are_taken_with_records_where_they_were_cut_out() -> None:
    kernel, request, response = outside()
    start = len(response) - 70
    short = response[:start]
    assert kernel.offer_rows(frames("b:1-c:2", request, response, []), 0, 1) == 1
    assert kernel.offer_rows(frames("b:1-c:2", request, short, [start, 70]), 0, 1) == 1
    assert kernel.offer_rows(frames("b:1-c:2", request, short, [start, 30, start, 40]), 0, 1) == 1
    assert kernel.offer_rows(frames("b:1-c:2", request, short, [start, 69]), 0, 1) == 0
    assert kernel.offer_rows(frames("b:1-c:2", request, response, [], fetches=0), 0, 1) == 0
    assert kernel.fetches == 3


@pytest.mark.parametrize("cut", [[-1, 5], [5, -1], [10**6, 5], [5, 2**40], [9, 1, 5, 1]])
def test_cuts_that_do_not_fit_are_not_taken(cut: list[int]) -> None:
    kernel, request, response = outside()
    assert kernel.offer_rows(frames("b:1-c:2", request, response, cut), 0, 1) == 0


def test_columns_that_do_not_fit_are_refused() -> None:
    text = array("i", [0, 3]), b"abc"
    numbers = array("q", [1])
    for odd in ((array("i", [0, 4]), b"abc"), (array("i", [2, 1]), b"abc"), (array("i", [0]), b""), (array("i"), b"")):
        with pytest.raises(ValueError):
            FetchFrames(b"\1", numbers, numbers, text, text, odd, text)
    with pytest.raises(ValueError):
        FetchFrames(b"\1", array("q"), numbers, text, text, text, text)
    with pytest.raises(ValueError):
        new_kernel().offer_rows(FetchFrames(b"\1", numbers, numbers, text, text, text, text), 0, 2)


# The classes and their interpreted twins

SMALL = st.integers(-1, 3)
TOLD = st.tuples(st.sampled_from([0, 0, 6]), SMALL, SMALL, SMALL, st.sampled_from([0, 50]), SMALL, st.booleans())
KEYS = st.tuples(st.sampled_from(["orders", "refunds"]), st.integers(0, 3))


def view(seat: Any) -> tuple[Any, ...]:
    names = "asked", "high", "stable", "start", "answered", "skipped"
    flags = "informed", "delivered", "ever", "redirected", "late"
    return *(getattr(seat, name) for name in names), *(bool(getattr(seat, name)) for name in flags)


@given(st.lists(st.tuples(TOLD, st.integers(0, 1)), max_size=6), st.tuples(*[SMALL] * 5))
def test_a_seat_and_its_twin(news: list[tuple[Any, int]], asked: Any) -> None:
    from kcli.core.sessions import fetches

    seats = fetches.PartitionState(asked, True), statistics.PartitionState(asked, True)
    for number, (reported, isolation) in enumerate(news):
        assert seats[0].is_news(reported) == seats[1].is_news(reported)
        for seat in seats:
            seat.note(reported, number)
        assert view(seats[0]) == view(seats[1])
        assert seats[0].is_behind(isolation) == seats[1].is_behind(isolation)
    for seat in seats:
        seat.asked = None
    assert view(seats[0]) == view(seats[1])


@given(st.lists(st.integers(-5, 2**40), max_size=40))
def test_a_histogram_and_its_twin(values: list[int]) -> None:
    from kcli.core.sessions import fetches

    made = fetches.Histogram(), statistics.Histogram()
    for value in values:
        for histogram in made:
            histogram.add(value)
    assert made[0].steps == made[1].steps
    assert (made[0].count, made[0].most) == (made[1].count, made[1].most)
    made[0].steps = {3: 4, 700: 1}
    assert made[0].steps == {3: 4, 700: 1}


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 100), st.booleans()), max_size=40))
def test_a_strip_and_its_twin(values: list[tuple[int, int, bool]]) -> None:
    from kcli.core.sessions import fetches

    made = fetches.Timeline(), statistics.Timeline()
    for value in values:
        for strip in made:
            strip.add(*value)
    assert (made[0].bytes, made[0].full) == (made[1].bytes, made[1].full)
    assert (made[0].width, made[0].start) == (made[1].width, made[1].start)
    assert sum(made[0].bytes) == sum(size for _, size, _ in values)


@given(st.lists(st.tuples(KEYS, st.integers(0, 9), st.sampled_from([-1, 7, 8]), st.booleans()), max_size=20))
def test_marks_and_their_twins(events: list[Any]) -> None:
    made = new_kernel().marks, statistics.HighWatermarks()
    for when, (key, high, owner, error) in enumerate(events, 1):
        reported = (6 if error else 0, high, high, 0, 0, -1, False)
        for marks in made:
            marks.learn_all("b:1", [(key, reported)], False, owner, when)
        asked = ("b:1", key, False, high - 1, when + 1)
        assert made[0].moved_past(*asked) == made[1].moved_past(*asked)
        assert made[0].moved_past("elsewhere:1", *asked[1:]) is None


@given(st.lists(st.tuples(KEYS, st.booleans()), max_size=30))
def test_partitions_come_and_go(events: list[tuple[Any, bool]]) -> None:
    """A session's table of seats holds what a dict would."""
    from kcli.core.sessions import fetches

    kernel = new_kernel()
    counts, twin = fetches.Counts(), statistics.Counts()
    kernel.adopt(counts, False)
    for key, joins in events:
        if joins and key not in twin.seats:
            counts.enter(key, fetches.PartitionState((1, 2, 3, 4, 5), True))
            twin.enter(key, statistics.PartitionState((1, 2, 3, 4, 5), True))
        elif not joins:
            assert (counts.leave(key) is None) == (twin.leave(key) is None)
        assert counts.size == twin.size == len(twin.seats)
        assert counts.seats.keys() == twin.seats.keys()
    assert counts.silent(2)[1] == twin.silent(2)[1]
    assert set(counts.silent(99)[0]) == set(twin.seats)
    counts.clear()
    assert counts.size == 0 and not counts.seats


def test_frames_that_are_cut_are_not_taken() -> None:
    """Nothing is read beyond a frame's end, and a cut frame changes nothing."""
    items = [item for item in map(item_of, rows_of("fetch-session-eviction")) if isinstance(item, Exchange)]
    fetches_ = [item for item in items if item.api_key == 1][:40]
    for at, item in enumerate(fetches_):
        kernel = new_kernel()
        feeder = Feeder(Tracker(kernel=kernel))
        for before in fetches_[:at]:
            feeder.exchange(before)
        taken = kernel.fetches
        assert item.response_frame is not None
        for cut in range(0, len(item.request_frame) - 1, 7):
            frame = item.request_frame[:cut]
            assert not kernel.offer(item.connection, 18, item.request_ns, frame, item.response_ns, item.response_frame)
            assert kernel.columns(frame, item.response_frame, 18) is None
        for cut in range(0, len(item.response_frame) - 1, 7):
            frame = item.response_frame[:cut]
            assert not kernel.offer(item.connection, 18, item.request_ns, item.request_frame, item.response_ns, frame)
        assert kernel.fetches == taken
        feeder.exchange(item)


@pytest.mark.parametrize("side", ["request", "response"])
def test_damaged_frames_read_the_same(side: str) -> None:
    rng = random.Random(5)
    items = [item for item in map(item_of, rows_of("fetch-session-1200")) if isinstance(item, Exchange)]
    for _ in range(60):
        damaged: list[tuple[Exchange, bytes, bytes | None]] = []
        for item in items[:30]:
            frames = {"request": bytearray(item.request_frame), "response": bytearray(item.response_frame or b"")}
            if item.api_key == 1 and rng.random() < 0.3 and len(frames[side]) > 12:
                for _ in range(3):
                    frames[side][rng.randrange(8, len(frames[side]))] = rng.randrange(256)
            answer = bytes(frames["response"]) if item.response_frame is not None else None
            damaged.append((item, bytes(frames["request"]), answer))
        assert follow(with_new_names(damaged), new_kernel()) == follow(with_new_names(damaged), None)


def with_new_names(frames: list[tuple[Exchange, bytes, bytes | None]]) -> list[Exchange | Event]:
    """Exchanges of these frames that know no topic's name from an earlier reading."""
    bodies = Bodies(None)
    return [Exchange(x.link, x.request_ns, asked, x.response_ns, answer, bodies) for x, asked, answer in frames]
