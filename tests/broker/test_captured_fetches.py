"""Strict replays of captures made by hand, one for each rule by which a broker answers a fetch."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.schemas.apikeys import FETCH
from tests.broker.talk import batch
from tests.capture.messages import request, response
from tests.capture.wires import Wire, pcap

# (topic, partition, offset, max bytes), and (topic, partition, high watermark, records, error).
Ask = tuple[str, int, int, int]
Given = tuple[str, int, int, bytes, int]
OUT_OF_RANGE, UNKNOWN_TOPIC, NOT_LEADER, UNAUTHORIZED = 1, 3, 6, 29


class Conversation:
    """One client's fetches in order."""

    def __init__(self) -> None:
        self.wire = Wire().open()
        self.turn = 0

    def fetch(
        self,
        asked: Sequence[Ask],
        given: Sequence[Given],
        *,
        session: tuple[int, int] = (0, 0),
        granted: int = 7,
        most: int = 1 << 20,
        replica: int = -1,
        throttle: int = 0,
    ) -> None:
        self.turn += 1
        topics = [
            {"topic": topic, "partitions": [{"partition": index, "fetchOffset": offset, "partitionMaxBytes": size}]}
            for topic, index, offset, size in asked
        ]
        head = {"maxWaitMs": 5, "minBytes": 1, "maxBytes": most, "sessionId": session[0], "sessionEpoch": session[1]}
        shown = [{"topic": each[0], "partitions": [row(each)]} for each in given]
        answer = {"throttleTimeMs": throttle, "sessionId": granted, "responses": shown}
        asked_bytes = request(FETCH, 11, self.turn, head | {"replicaId": replica, "topics": topics})
        self.wire.client(asked_bytes).server(response(FETCH, 11, self.turn, answer))

    def replay(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[Mapping[str, Any]]:
        """What a strict replay finds."""
        row = self.replayed(folder, capsys)
        assert row["notInTheCapture"] == []
        differences: list[Mapping[str, Any]] = row["differences"]
        return differences

    def replayed(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> Mapping[str, Any]:
        """The row of a strict replay."""
        file = folder / "made.pcap"
        file.write_bytes(pcap(self.wire.packets))
        code = main(["fetch-session", "replay", str(file), "--compare", "strict", "--format", "jsonl", "-q"])
        (line,) = capsys.readouterr().out.splitlines()
        row: Mapping[str, Any] = json.loads(line)
        assert code == bool(row["differences"])
        return row


def row(given: Given) -> dict[str, object]:
    _, index, high, records, error = given
    shown = {"partitionIndex": index, "errorCode": error, "highWatermark": -1 if error else high}
    return shown | {"lastStableOffset": -1 if error else high, "logStartOffset": -1 if error else 0, "records": records}


def big(size: int, base: int = 0) -> bytes:
    """A batch of one record, of exactly this many bytes."""
    empty = len(batch("x" * 1000, base_offset=base)) - 1000
    made = batch("x" * (size - empty), base_offset=base)
    assert len(made) == size
    return made


A, B, C = big(2000), big(5000), big(1500)
D, E = big(600), big(1500, 1)
ALL = [("a", 0, 0, 3000), ("b", 0, 0, 3000), ("a", 1, 0, 3000), ("b", 1, 0, 3000)]


def test_the_order_of_a_request_decides_who_gets_the_room(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A topic that is named twice keeps both of its places; a batch without room lets others have theirs."""
    made = Conversation()
    full = [("a", 0, 1, A, 0), ("b", 0, 1, b"", 0), ("a", 1, 1, b"", 0), ("b", 1, 2, D + E[:400], 0)]
    made.fetch(ALL, full, most=3000)
    # The first batch of all is given whole, however long it is.
    made.fetch([("a", 0, 1, 3000), ("b", 1, 1, 3000)], [("b", 0, 1, B, 0)], session=(7, 1), most=3000)
    made.fetch([("b", 0, 1, 3000)], [("a", 1, 1, big(2600), 0)], session=(7, 2), most=3000)
    made.fetch([("a", 1, 1, 3000)], [("b", 1, 2, E, 0)], session=(7, 3), most=3000)
    assert made.replay(tmp_path, capsys) == []


def test_a_batch_that_no_answer_has_whole_has_the_size_that_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Conversation()
    made.fetch([("a", 0, 0, 3000)], [("a", 0, 9, A + big(4000, 1)[:1000], 0)])
    made.fetch([("a", 0, 1, 2500)], [("a", 0, 9, big(4000, 1)[:4000], 0)], session=(7, 1), most=2500)
    made.fetch([("a", 0, 2, 2500)], [("a", 0, 9, big(4000, 2)[:40], 0)], session=(7, 2))
    # Kafka would have given the first batch whole, and the header says how long it is.
    assert [each["what"] for each in made.replay(tmp_path, capsys)] == ["error and bytes of a[0]"]


def test_records_that_nobody_saw_take_no_room(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a[0] has a second batch that is longer than 2,000 bytes: how long, nobody knows."""
    made = Conversation()
    made.fetch([("b", 0, 0, 1000), ("a", 0, 0, 2000)], [("b", 0, 2, D + E[:400], 0), ("a", 0, 2, A, 0)])
    made.fetch([("b", 0, 1, 1500), ("a", 0, 1, 2000)], [("b", 0, 2, E, 0)], session=(7, 1))
    assert made.replay(tmp_path, capsys) == []


@pytest.mark.parametrize("error", [OUT_OF_RANGE, UNKNOWN_TOPIC, NOT_LEADER, UNAUTHORIZED])
def test_an_error_while_something_is_made_ends_as_it_did(
    error: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Conversation()
    made.fetch([("a", 0, 5, 99), ("b", 0, 0, 3000)], [("b", 0, 1, A, 0), ("a", 0, -1, b"", error)])
    made.fetch([("b", 0, 1, 3000)], [("a", 0, -1, b"", error)], session=(7, 1))
    made.fetch([("a", 0, 0, 3000)], [("a", 0, 1, C, 0)], session=(7, 2))
    assert made.replay(tmp_path, capsys) == []


def test_a_follower_gets_what_is_above_the_watermark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Conversation()
    made.fetch([("a", 0, 0, 2500)], [("a", 0, 0, A + big(3000, 1)[:500], 0)], replica=3)
    made.fetch([("a", 0, 1, 2500)], [("a", 0, 1, big(3000, 1), 0)], session=(7, 1), replica=3)
    made.fetch([("a", 0, 2, 2500)], [], session=(7, 2), replica=3)
    assert made.replay(tmp_path, capsys) == []


def test_a_quota_that_is_used_up_leaves_the_session_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Conversation()
    made.fetch([("a", 0, 0, 2500)], [("a", 0, 1, A, 0)])
    made.fetch([("a", 0, 0, 2500)], [], session=(7, 1), throttle=50)
    made.fetch([], [("a", 0, 1, A, 0)], session=(7, 2))
    assert made.replay(tmp_path, capsys) == []


def test_a_session_older_than_the_capture_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Conversation()
    made.fetch([("a", 0, 1, 2500)], [("a", 1, 1, C, 0)], session=(7, 41))
    made.fetch([("a", 1, 1, 2500)], [("b", 0, 1, A, 0)], session=(7, 42))
    made.fetch([], [], session=(7, -1), granted=0)
    assert made.replay(tmp_path, capsys) == []


def test_fetches_that_the_capture_lacks_do_not_end_a_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between the first and the second fetch here a[0] was read on, and b[0] dropped, which had an error."""
    made = Conversation()
    made.fetch([("a", 0, 0, 2500), ("b", 0, 0, 3000)], [("a", 0, 3, A, 0), ("b", 0, -1, b"", NOT_LEADER)])
    made.fetch([], [("a", 0, 3, big(2000, 2), 0)], session=(7, 9))
    made.fetch([("a", 0, 3, 2500)], [], session=(7, 10))
    assert made.replay(tmp_path, capsys) == []


def test_a_session_of_which_nothing_is_known_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Conversation()
    made.fetch([], [], session=(7, 4))
    made.fetch([], [("a", 0, 1, A, 0)], session=(7, 5))
    assert made.replay(tmp_path, capsys) == []


def test_what_the_capture_lacks_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whose turn it is in a session that is older, nobody knows: here it was not in the order of the answers."""
    made = Conversation()
    made.fetch([("a", 0, 0, 3000)], [("a", 0, 2, A, 0)], session=(7, 41), most=2500)
    made.fetch([], [("a", 1, 2, A, 0)], session=(7, 42), most=2500)
    made.fetch([], [("a", 0, 2, A, 0)], session=(7, 43), most=2500)
    made.fetch([], [("a", 0, 2, A, 0)], session=(7, 44), most=2500)
    row = made.replayed(tmp_path, capsys)
    assert row["differences"] == []
    assert {each["reason"] for each in row["notInTheCapture"]} == {
        "the order and positions of partitions in sessions that began before the capture"
    }


def test_a_read_ends_with_its_segment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first answer shows where a segment of a[0] ends: there was room, and more to read. So does the third end."""
    made = Conversation()
    made.fetch([("a", 0, 0, 9000)], [("a", 0, 3, A + big(2000, 1), 0)])
    made.fetch([("a", 0, 2, 9000)], [("a", 0, 3, big(2000, 2), 0)], session=(7, 1))
    made.fetch([("a", 0, 1, 9000)], [("a", 0, 3, big(2000, 1), 0)], session=(7, 2))
    assert made.replay(tmp_path, capsys) == []
