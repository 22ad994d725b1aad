"""Whole captures against the brokers' own request logs, both engines, both ways out (values and lines)."""

import io
import itertools
import json
import struct
from collections import Counter
from pathlib import Path

import pytest

from kcli.capture.api import read_capture
from kcli.capture.filters import Filter
from kcli.capture.io.ranges import rows
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.sinks import line_of
from kcli.errors import InputError
from tests.capture.decoding import as_lines, as_values, lines_of, write_lines
from tests.capture.traffic import chatter
from tests.capture.truth import compare
from tests.capture.wires import DATA, SAMPLES, Wire, frame, pcap
from tests.oracle.captures import same_as_oracle

LOGGED = {
    "ipv6.pcapng": 37,
    "java44-consume-classic.pcap": 22,
    "java44-txn.pcap": 78,
    "kcat-codecs.pcap": 77,
    "old-librdkafka-on-3.9.pcap": 49,
    "sasl-plain-scram.pcap": 48,
    "java44-admin.pcap.gz": 138,
    "kraft-boot.pcap.zst": 530,
    "mid-stream.pcap.zst": 57,
    "retransmissions.pcap.zst": 37,
}
# What is in each capture: (requests, responses), also those that no log has: SASL, and what was under way at the end.
WHOLE = {"sasl-plain-scram.pcap": (114, 113), "kraft-boot.pcap.zst": (532, 525), "broker-0.10.2.pcap.zst": (105, 100)}


def path(name: str) -> Path:
    return next(folder / name for folder in (SAMPLES, DATA) if (folder / name).exists())


@pytest.mark.parametrize("name", LOGGED)
def test_exchanges_equal_the_request_log(engine: str, name: str) -> None:
    log = path(name).with_name(name.partition(".pcap")[0] + ".requests.jsonl.gz")
    if engine == "oracle" and name == "kraft-boot.pcap.zst":
        pytest.skip("slow, and equal to the core's lines by another test")
    assert compare(path(name), log) == (LOGGED[name], [])


@pytest.mark.parametrize("name", WHOLE)
def test_everything_whole_is_there(name: str) -> None:
    found = [item for item in read_capture(path(name)).items() if isinstance(item, Exchange)]
    assert (len(found), sum(item.response is not None for item in found)) == WHOLE[name]
    assert all(item.request is not None for item in found)


@pytest.mark.parametrize("name", [*LOGGED, "broker-0.10.2.pcap.zst", "snaplen-96.pcap"])
def test_the_core_writes_what_its_oracle_does(name: str) -> None:
    assert same_as_oracle(path(name))


@pytest.mark.parametrize("name", [*LOGGED, "snaplen-96.pcap"])
def test_lines_are_what_values_say(name: str) -> None:
    out = io.BytesIO()
    write_lines([str(path(name))], out.write)
    items = list(read_capture(path(name)).items())
    assert b"".join(line_of(item) if isinstance(item, Exchange) else item.line() for item in items) == out.getvalue()
    for line in out.getvalue().splitlines():
        json.loads(line)


CHOICES = [
    Filter(apis=frozenset({0, 1})),
    Filter(apis=frozenset({500})),
    Filter(client_id="lab-java"),
    Filter(errors=True),
    Filter(topic="pay-in"),
    Filter(topic="orders-zstd", apis=frozenset({1})),
    Filter(since=1795224119_000000000, until=1795224124_500000000),
    Filter(errors=True, client_id="lab-java", since=1795224119_000000000),
]


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
@pytest.mark.parametrize("name", ["java44-txn.pcap", "java44-admin.pcap.gz", "mid-stream.pcap.zst"])
def test_chosen_lines_are_those_of_chosen_values(engine: str, name: str, chosen: Filter) -> None:
    out = io.BytesIO()
    source = as_lines([str(path(name))], chosen=chosen)
    source.sink.write = out.write
    for _ in source.read():
        pass
    assert out.getvalue() == b"".join(item.line() for item in read_capture(path(name)).items() if chosen.wants(item))
    assert source.tally.unaccounted(source.engine) == 0  # the counts are of all


def test_the_form_of_a_line() -> None:
    out = io.BytesIO()
    write_lines([str(SAMPLES / "java44-txn.pcap")], out.write)
    first = json.loads(out.getvalue().splitlines()[0])
    assert list(first) == [
        "timestamp", "connection", "requestHeader", "request", "response", "requestBytes", "responseBytes", "latencyMs",
        "errors",
    ]  # fmt: skip
    assert first["requestHeader"] == {
        "requestApiKey": 18, "requestApiVersion": 5, "correlationId": 0, "clientId": "lab-java",
        "requestApiKeyName": "API_VERSIONS",
    }  # fmt: skip
    assert first["connection"].startswith("127.0.0.1:21000-127.0.0.1:") and first["timestamp"].endswith("Z")
    assert (first["requestBytes"], first["responseBytes"]) == (53, 880)


def test_a_line_names_the_errors_of_its_answer() -> None:
    """As values do, whoever writes the line: the core, an exchange, or what waited for a condition."""
    path = str(SAMPLES / "java44-txn.pcap")
    values = [item for item in read_capture(path).items() if isinstance(item, Exchange)]
    lines = [json.loads(line) for line in lines_of([path]).splitlines()]
    assert [line["errors"] for line in lines] == [each.errors for each in values]
    assert [json.loads(each.line())["errors"] for each in values] == [each.errors for each in values]
    assert {name for each in values for name in each.known_errors} >= {"PRODUCER_FENCED", "CONCURRENT_TRANSACTIONS"}


def test_packets_cut_by_the_snapshot_length_say_what_they_were() -> None:
    events = [item for item in read_capture(DATA / "snaplen-96.pcap").items() if not isinstance(item, Exchange)]
    assert Counter(event.kind for event in events).keys() == {"truncated", "undecodable"}
    assert "cut off by the snapshot length, in ApiVersions v5 request 0, 49 bytes" in {each.reason for each in events}


def test_what_is_cut_behind_a_connections_protocol_hides_nothing(tmp_path: Path) -> None:
    wire = Wire().open()
    wire.client(b"GET / HTTP/1.1\r\nHost: " + bytes(300))
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(pcap(wire.packets, snaplen=90))
    (line,) = same_as_oracle(cut)
    assert json.loads(line)["reason"] == "HTTP (a request)"


def test_acks_are_read_in_a_damaged_request(tmp_path: Path) -> None:
    """A Produce with acks 0 gets no response, whatever comes behind them."""
    wire = chatter(range(1, 5), Wire().open())
    wire.client(frame(struct.pack(">hhihhh", 0, 0, 5, -1, 0, 9)))
    path = tmp_path / "damaged.pcap"
    path.write_bytes(pcap(chatter(range(6, 9), wire).packets))
    items = [json.loads(line) for line in same_as_oracle(path)]
    [produce] = [each for each in items if each.get("requestHeader", {}).get("requestApiKey") == 0]
    assert (produce["request"], produce["response"], produce["responseBytes"]) == (None, None, None)
    assert "unanswered-at-end" not in {each.get("event") for each in items}


def test_topic_ids_get_the_names_seen_before() -> None:
    for item in read_capture(SAMPLES / "java44-txn.pcap").items():
        if isinstance(item, Exchange) and item.api_name == "PRODUCE":
            assert item.request is not None
            assert item.request["topicData"][0]["_topicName"] in ("pay-in", "pay-out")
            assert b'"_topicName":"pay-' in item.line()


def test_records_can_be_shown() -> None:
    capture = [str(SAMPLES / "java44-txn.pcap")]
    for form, has in (
        ("none", b'"sizeInBytes"'),
        ("raw", b'"base64"'),
        ("batches", b'"batches":[{'),
        ("full", b'"records":[{'),
    ):
        out = io.BytesIO()
        write_lines(capture, out.write, records=form)
        assert has in out.getvalue(), form


def test_rotated_files_are_one_capture_in_any_order(tmp_path: Path, engine: str) -> None:
    whole = SAMPLES / "java44-txn.pcap"
    data = whole.read_bytes()
    starts = [24]
    for row in rows(str(whole)):
        starts.append(starts[-1] + 16 + len(row.data))
    edges = [24, *(starts[len(starts) * part // 4] for part in (1, 2, 3)), len(data)]
    names = []
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        names.append(str(tmp_path / f"part{number}"))
        Path(names[-1]).write_bytes(data[:24] + data[start:end])
    mixed = [names[2], names[0], names[3], names[1]]
    assert [item.line() for item in read_capture(mixed).items()] == [
        item.line() for item in read_capture(whole).items()
    ]


def test_two_captures_of_the_same_time_are_merged(tmp_path: Path, engine: str) -> None:
    whole = SAMPLES / "java44-txn.pcap"
    data, start = whole.read_bytes(), 24
    halves = [bytearray(data[:24]), bytearray(data[:24])]
    for number, row in enumerate(rows(str(whole))):
        end = start + 16 + len(row.data)
        halves[number % 2] += data[start:end]
        start = end
    names = [tmp_path / "odd", tmp_path / "even"]
    for name, half in zip(names, halves, strict=True):
        name.write_bytes(half)
    merged = {item.line() for item in read_capture([str(name) for name in names]).items()}
    assert merged == {item.line() for item in read_capture(whole).items()}


def test_packets_read_elsewhere_can_be_pushed(engine: str) -> None:
    whole = str(SAMPLES / "java44-txn.pcap")
    source = as_values([])
    for row in rows(whole):
        source.engine.push(row.data, row.ns, row.link, row.length)
    source.engine.finish()
    pushed = source.sink.taken()
    assert [item.line() for item in pushed] == [item.line() for item in read_capture([whole]).items()]


def test_one_file_of_several_is_no_capture(tmp_path: Path, engine: str) -> None:
    bad = tmp_path / "picture.gif"
    bad.write_bytes(b"GIF89a" + bytes(100))
    found = []
    with pytest.raises(InputError, match=r"picture.gif: not a capture: starts with 'GIF89a") as caught:
        for item in read_capture([str(bad), str(SAMPLES / "ipv6.pcapng")]).items():
            found.append(item)
    assert len(found) == 37 and "pcapng" in str(caught.value)
