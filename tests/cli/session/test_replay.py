"""`kcli fetch-session replay` as a script sees it, against a broker with real fetch sessions."""

import contextlib
import gzip
import json
import signal
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.cli.options.inputs import Memory
from kcli.cli.session import replay as fetch_session_replay
from tests.cli.cluster.test_send import Background
from tests.client.fetchable import FetchableBroker

NS = "2026-11-21T00:52:34.{:06d}Z"


def line(number: int, epoch: int, parts: dict[int, int], answer: dict[int, int], **changes: Any) -> dict[str, Any]:
    """A line of `decode pcap`: parts by offset asked for, answer by bytes of records."""
    header = {"requestApiKey": 1, "requestApiVersion": 12, "correlationId": number, "clientId": "c"}
    asked = [{"partition": index, "fetchOffset": at, "partitionMaxBytes": 100} for index, at in parts.items()]
    answered = [
        {"partitionIndex": index, "errorCode": 0, "highWatermark": 9, "records": {"sizeInBytes": size}}
        for index, size in answer.items()
    ]
    made = {
        "timestamp": NS.format(number),
        "connection": "1.2.3.4:9092-5.6.7.8:1000",
        "requestHeader": header,
        "request": {
            "maxWaitMs": 100,
            "sessionId": 7 if epoch else 0,
            "sessionEpoch": epoch,
            "topics": [{"topic": "t", "partitions": asked}] if asked else [],
            "forgottenTopicsData": [],
        },
        "response": {
            "errorCode": 0,
            "sessionId": 7,
            "responses": [{"topic": "t", "partitions": answered}] if answered else [],
        },
        "latencyMs": 2.5,
    }
    return made | changes


LINES = [line(1, 0, {0: 0, 1: 10}, {0: 70, 1: 0}), line(2, 1, {0: 3}, {0: 70}), line(3, 2, {}, {})]


@pytest.fixture
def broker() -> Iterator[FetchableBroker]:
    made = FetchableBroker({"t": 2})
    with Background(made):
        yield made


def write(path: Path, *lines: Any) -> str:
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines))
    return str(path)


def replay(broker: FetchableBroker, *words: str) -> int:
    options = ["--bootstrap", f"127.0.0.1:{broker.port}", "--speed", "max", "--format", "jsonl"]
    return main(["fetch-session", "replay", *options, *words])


def test_what_is_as_captured_is_exit_0(
    broker: FetchableBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(broker, write(tmp_path / "a.jsonl", *LINES)) == 0
    captured = capsys.readouterr()
    (row,) = map(json.loads, captured.out.splitlines())
    assert row["session"] == "c 1.2.3.4:9092-5.6.7.8:1000"
    assert (row["differences"], row["problems"], row["run"]) == ([], [], 1)
    for side in ("captured", "live"):
        assert (row[side]["full"], row[side]["incremental"], row[side]["partitionsDelivered"]) == (1, 2, 1)
    assert captured.err == ""


def test_what_differs_is_exit_1(broker: FetchableBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "a.jsonl", line(1, 0, {0: 0, 1: 10}, {0: 70, 1: 5}))
    assert replay(broker, file, "--format", "table") == 1
    out = capsys.readouterr().out
    assert out.startswith("1 fetch of 1 fetcher: 1 difference\n")
    assert "differs: c 1.2.3.4:9092-5.6.7.8:1000: records of t[1]: captured 5, live 0" in out
    assert replay(broker, file, "--compare", "none") == 0


def test_many_fetchers_are_rows(broker: FetchableBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{**each, "connection": f"1.2.3.4:9092-5.6.7.8:{port}"} for port in range(5) for each in LINES]
    assert replay(broker, write(tmp_path / "a.jsonl", *lines), "--format", "table") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "15 fetches of 5 fetchers: no differences"
    assert len(out) == 2 + 2 * 5


def test_options_reach_the_broker(broker: FetchableBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broker.make("other", 2, last=50)
    file = write(tmp_path / "a.jsonl", *LINES)
    assert replay(broker, file, "--topic-map", "t=other", "--mode", "full", "--repeat", "2", "--offsets", "latest") == 0
    fetches = [body for key, _, body in broker.requests if key == 1]
    assert {body["sessionEpoch"] for body in fetches} == {-1}
    assert {part["fetchOffset"] for body in fetches for topic in body["topics"] for part in topic["partitions"]} == {50}
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_notes_and_quiet(broker: FetchableBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = line(1, 0, {0: 99}, {})
    old["requestHeader"]["requestApiVersion"] = 18
    old["request"]["topics"][0] = {
        "topicId": "abcdefghijklmnopqrstuv",
        "partitions": old["request"]["topics"][0]["partitions"],
    }
    follower = line(2, 0, {0: 0}, {}, connection="1.2.3.4:9092-5.6.7.8:9")
    follower["request"]["replicaId"] = 2
    lost = line(3, 0, {0: 0}, {}, response=None, latencyMs=None)
    file = write(tmp_path / "a.jsonl", old, follower, lost)
    replay(broker, file)
    err = capsys.readouterr().err
    for words in (
        "left out: 1 fetch without a response",
        "replayed as a consumer's: 1 fetch of brokers (followers)",
        "nothing in the capture names topic id abcdefghijklmnopqrstuv",
        "made topic abcdefghijklmnopqrstuv with 1 partition:",
        "Fetch v18 in the capture, v17 here",
        "1 partition without all captured offsets: clamped",
    ):
        assert words in err
    replay(broker, file, "--quiet")
    assert capsys.readouterr().err == ""


def test_damaged_input_is_replayed_as_far_as_it_can_be_read(
    broker: FetchableBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "a.jsonl", LINES[0], '{"broken', {"a": 1}, *LINES[1:])
    assert replay(broker, file) == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out)["live"]["fetches"] == 3
    assert "line 2" in captured.err
    assert "line 3" in captured.err
    assert replay(broker, write(tmp_path / "b.jsonl", {"event": "gap"})) == 3
    assert "no fetch that can be replayed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--speed", "fast"], 2, "a number above 0, or max"),
        (["--offsets", "nowhere"], 2, "nowhere"),
        (["--topic-map", "t"], 2, "CAPTURED=LIVE expected"),
        (["--topic-map", "t=missing", "--no-create-topics"], 4, "the cluster has no topic missing"),
        (["--bootstrap", "127.0.0.1:1"], 4, "refused the connection"),
    ],
)
def test_what_goes_wrong_is_one_line(
    broker: FetchableBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    message: str,
) -> None:
    assert replay(broker, write(tmp_path / "a.jsonl", *LINES), *words) == code
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert message in captured.err


@pytest.mark.parametrize("name", ["java44-txn.pcap", "java44-consume-classic.pcap", "kcat-codecs.pcap"])
def test_without_a_broker_one_is_rebuilt_from_the_capture_and_answers_the_same(
    samples: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fetch-session", "replay", str(samples / name), "--speed", "max", "--format", "jsonl"]
    assert main([*words, "--compare", "strict"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows
    assert sum(row["live"]["recordsBytes"] for row in rows) > 0
    assert main([*words, "--mode", "draft"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(row["live"]["apiVersion"] == 7 and not row["problems"] for row in rows)


def test_times_choose_sessions(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fetch-session", "replay", str(samples / "kcat-codecs.pcap")]
    fetchers = []
    for times in ((), ("--until", "2026-11-21T01:22:14Z"), ("--since", "2026-11-21T01:22:14Z")):
        assert main([*words, *times, "--format", "jsonl", "-q"]) == 0
        fetchers.append(len(capsys.readouterr().out.splitlines()))
    assert fetchers == [6, 3, 4]
    assert main([*words, "--since", "+900"]) == 1
    assert "kcli: nothing matches; packets here: 2026-11-21T01:22:0" in capsys.readouterr().err
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps(each) + "\n" for each in LINES))
    assert main(["fetch-session", "replay", str(lines), "--until", "1970-01-01", "--bootstrap", "127.0.0.1:1"]) == 1
    assert capsys.readouterr().err == "kcli: nothing matches\n"


def test_a_broker_can_not_be_rebuilt_from_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch-session", "replay", write(tmp_path / "a.jsonl", *LINES)]) == 2
    assert "rebuilt from capture files only: --bootstrap HOST:PORT" in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["incremental", "draft"])
def test_a_capture_of_the_draft_is_replayed_in_either_design(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(Path(__file__).parents[2] / "sessions/data/draft/one.pcap.gz")
    words = ["--schema", "kip-227-draft", "--mode", mode, "--compare", "shape", "--speed", "max", "--format", "jsonl"]
    assert main(["fetch-session", "replay", *words, file]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    live = json.loads(line)["live"]
    assert (live["full"], live["incremental"], live["granted"]) == (2, 9, 2)


def cut_packets(capture: Path, snap_length: int, out: Path) -> Path:
    """A pcap as if it had been captured with this snap length."""
    data = gzip.decompress(capture.read_bytes())
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    made, at = [data[:24]], 24
    while at < len(data):
        seconds, fraction, kept, length = struct.unpack_from(f"{order}IIII", data, at)
        short = min(kept, snap_length)
        made.append(struct.pack(f"{order}IIII", seconds, fraction, short, length) + data[at + 16 : at + 16 + short])
        at += 16 + kept
    out.write_bytes(b"".join(made))
    return out


@pytest.mark.parametrize("name", ["fetch-session-eviction", "leader-change", "kraft-boot"])
@pytest.mark.parametrize("snap_length", [60, 96, 128, 200, 300])
def test_a_capture_whose_packets_are_cut(
    name: str, snap_length: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is left of it is replayed, or it is said that nothing is."""
    data = Path(__file__).parents[2] / "broker" / "data" / f"{name}.pcap.gz"
    path = cut_packets(data, snap_length, tmp_path / "cut.pcap")
    code = main(["fetch-session", "replay", str(path), "--format", "jsonl"])
    out, err = capsys.readouterr()
    assert code in (0, 1) if out else code == 3
    assert out or "no fetch that can be replayed" in err


def test_memory_bounds_what_is_held_of_a_capture(
    samples: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of nothing but what fits into one byte no request is left to wait for its answer."""
    monkeypatch.setattr(Memory, "least", 0)
    words = ["fetch-session", "replay", str(samples / "java44-txn.pcap"), "--format", "jsonl"]
    assert main([*words, "--memory", "1"]) == 3
    assert "no fetch that can be replayed" in capsys.readouterr().err
    assert main([*words, "--memory", "1M"]) == 0
    assert capsys.readouterr().out


def test_an_interrupted_replay_ends_with_what_was_seen(
    samples: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def done() -> None:
        seen.append(1)
        if len(seen) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(fetch_session_replay, "counting", lambda *_: contextlib.nullcontext(done))
    file = str(samples / "java44-consume-classic.pcap")
    assert main(["fetch-session", "replay", file, "--compare", "strict", "--format", "jsonl"]) == 130
    captured = capsys.readouterr()
    (row,) = map(json.loads, captured.out.splitlines())
    assert (row["live"]["fetches"], row["differences"]) == (2, [])
    assert "interrupted: 2 of 3 fetches" in captured.err
