"""Captures of other times and other clusters, diagnosed together: what each shows alone, they show together."""

from collections import Counter
from pathlib import Path

import duckdb
import pytest

from kcli.diagnose import INFO, Diagnosis, diagnose
from kcli.diagnose.diagnosis import read_facts
from kcli.diagnose.store import FactStore
from kcli.rules.captured_times import MOST_GAPS, TIMES
from kcli.rules.judgement import times_of
from tests.capture.messages import request
from tests.capture.wires import MILLISECOND, pcap
from tests.diagnose.captured import DATA, diagnosed
from tests.rules.test_by_hand import SECOND, Talk
from tests.rules.test_sharing import later
from tests.rules.test_windows import sent

DAY = 24 * 3600 * SECOND


def causes(found: Diagnosis) -> Counter[str]:
    return Counter(each.finding for each in found.findings if each.severity != INFO)


@pytest.mark.parametrize(
    "names",
    [
        ("slow-broker-payments", "hot-partition-events"),  # a threshold that is a share of the time
        ("hanging-transaction-settlement", "unknown-topic-returns"),
        ("slow-broker-payments", "lagging-consumer-pageviews"),  # the first would explain the second
        ("broker-restart-tickets", "idle-connection-cut-barrier"),
        ("slow-replication-ledger", "hot-partition-events"),
    ],
    ids=" + ".join,
)
def test_captures_of_different_days_are_judged_together_as_each_alone(names: tuple[str, ...]) -> None:
    together = diagnose([str(DATA / f"{name}.pcap.zst") for name in names])
    assert causes(together) == sum((causes(diagnosed(name)) for name in names), Counter())


def times(folder: Path, pause: int) -> tuple[int, float]:
    """(stretches, seconds that a client is seen for), of three connections of a second with pauses between them."""
    talks = [Talk(port=40000 + number) for number in range(3)]
    for number, talk in enumerate(talks):
        for _ in range(3):
            talk.call(3, 12, {"topics": []}, {"brokers": [], "topics": []})
        later(talk, number * (pause + SECOND))
    path = folder / "a.pcap"
    path.write_bytes(pcap(sorted(packet for each in talks for packet in each.wire.packets)))
    with FactStore() as store:
        read_facts([str(path)], store, lambda _moved: None, {})
        [row] = store.ask("SELECT count(*) AS count, count(DISTINCT server) AS servers FROM server_stretches")
        assert row["servers"] == 1
        [client] = store.ask("SELECT seconds FROM clients")
        return int(row["count"]), float(client["seconds"])


def test_a_minute_of_silence_parts_times_and_less_does_not(tmp_path: Path) -> None:
    count, seconds = times(tmp_path, 50 * SECOND)
    assert count == 1 and seconds > 100
    for pause in (90 * SECOND, DAY):
        count, seconds = times(tmp_path, pause)
        assert count == 3 and 3 <= seconds < 4


@pytest.mark.parametrize(("kind", "count"), [("bytes are missing", 2), ("a response is due", 2), ("quiet", 1)])
def test_a_connection_lasts_from_one_file_to_the_next(kind: str, count: int, tmp_path: Path) -> None:
    """If nothing is missing it was only quiet: the files of a ring follow each other."""
    talk = Talk()
    for number in range(7):
        long = 100 * SECOND * (number == 3)
        times = {"wait": long} if kind == "a response is due" else {"pause": long + SECOND}
        talk.call(3, 12, {"topics": []}, {"brokers": [], "topics": []}, **times)
    packets = talk.wire.packets
    late = next(number for number, each in enumerate(packets) if each.ns - packets[0].ns > 100 * SECOND)
    paths = [tmp_path / "later.pcap", tmp_path / "first.pcap"]
    paths[0].write_bytes(pcap(packets[late:]))
    paths[1].write_bytes(pcap(packets[: late - 2 * (kind == "bytes are missing")]))
    with FactStore() as store:
        read_facts([*map(str, paths)], store, lambda _moved: None, {})
        [client] = store.ask("SELECT seconds FROM clients")
        assert [row["count"] for row in store.ask("SELECT count(*) AS count FROM stretches")] == [count]
    assert client["seconds"] < 8 if count == 2 else client["seconds"] > 100


@pytest.mark.parametrize("gaps", [3, MOST_GAPS, MOST_GAPS + 500])
def test_the_longest_gaps_part_times_and_no_more_than_these(gaps: int) -> None:
    """A hostile capture is silent as often as it likes."""
    begun = [sum(61 * SECOND + before for before in range(number)) for number in range(gaps + 1)]  # each gap is longer
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE tcp AS SELECT unnest(?) AS first_ns, first_ns + 1 AS last_ns", [begun])
        connection.execute("CREATE TABLE links (first_ns BIGINT, seen_ns BIGINT)")
        connection.execute("CREATE TABLE between_captures (from_ns BIGINT, to_ns BIGINT)")
        found = sorted(connection.execute(TIMES["stretches"]).fetchall())
    kept = min(gaps, MOST_GAPS)
    assert [first for first, _ in found] == [begun[0], *begun[gaps + 1 - kept :]]
    assert found[-1] == (begun[-1], begun[-1] + 1)


def test_which_of_the_times_captured_a_row_is_of() -> None:
    firsts, lasts = [10, 30, 50], [20, 40, 60]
    places = {(0, 9): [], (0, 10): [0], (20, 30): [0, 1], (21, 29): [], (15, 55): [0, 1, 2], (61, 70): []}
    for (first, last), found in places.items():
        assert [*(times_of({"first_ns": first, "last_ns": last}, firsts, lasts) or ())] == found
    assert times_of({"first_ns": None, "last_ns": 5}, firsts, lasts) is None


@pytest.mark.parametrize("lasting", [False, True], ids=["other connections", "one that lasts"])
def test_requests_at_the_end_of_a_capture_do_not_wait_until_the_next_one(lasting: bool, tmp_path: Path) -> None:
    """Two captures of one cluster, 20 minutes apart; the first one ends before responses come."""
    fetch = {"maxWaitMs": 5000, "minBytes": 1, "maxBytes": 1 << 20, "topics": []}
    talks = [Talk(port=40000 + number, broker=number % 2 + 2) for number in range(8)]
    for number, talk in enumerate(talks):
        for _ in range(8):
            talk.call(3, 12, {"topics": []}, {"brokers": [], "topics": []})
        if number < 4:
            talk.wire.client(request(1, 11, talk.number + 1, fetch, talk.client)).server(b"")
        else:
            later(talk, 1200 * SECOND)
    if lasting:
        talks.append(Talk(port=40008).call(3, 12, {"topics": []}, {"brokers": [], "topics": []}, pause=1201 * SECOND))
        talks[-1].call(3, 12, {"topics": []}, {"brokers": [], "topics": []})
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(sorted(packet for each in talks for packet in each.wire.packets)))
    assert [each.finding for each in diagnose([str(path)]).findings if each.severity != INFO] == []


def test_a_busy_time_ends_with_its_capture(tmp_path: Path) -> None:
    """Seven seconds in the middle of a client's time are a burst, but nobody saw what came after these."""
    paths = [tmp_path / "busy.pcap", tmp_path / "calm.pcap"]
    talks = [
        sent(sent(Talk(), 20, SECOND), 900, 8 * MILLISECOND),
        later(sent(Talk(port=40001), 20, SECOND), 3600 * SECOND),
    ]
    for path, talk in zip(paths, talks, strict=True):
        path.write_bytes(pcap(talk.wire.packets))
    found = diagnose([*map(str, paths)]).findings
    [finding] = (each for each in found if each.finding == "tiny-batches")
    assert "(in all: 48" in finding.text
