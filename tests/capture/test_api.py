"""Captures as programs read them."""

import gzip
import io
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import kcli
from kcli.capture.api import read_capture
from kcli.capture.kafka.events import Event
from kcli.errors import InputError
from tests.capture.decoding import write_lines
from tests.capture.wires import DATA, SAMPLES

TXN = SAMPLES / "java44-txn.pcap"
KCAT = SAMPLES / "kcat-codecs.pcap"


def lines(*paths: Path) -> list[bytes]:
    out = io.BytesIO()
    write_lines([str(path) for path in paths], out.write)
    return out.getvalue().splitlines(keepends=True)


@pytest.mark.parametrize("name", ["java44-txn.pcap", "ipv6.pcapng", "kcat-codecs.pcap"])
def test_exchanges_are_those_of_the_lines(name: str) -> None:
    assert [x.line() for x in read_capture(SAMPLES / name)] == lines(SAMPLES / name)


def test_events_stand_at_their_place() -> None:
    cut = DATA / "snaplen-96.pcap"
    assert [item.line() for item in read_capture(cut).items() if isinstance(item, Event)] == lines(cut)
    assert len(list(read_capture(cut))) == 24 and all(each.is_cut for each in read_capture(cut))


def test_a_directory_stands_for_the_captures_below(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    shutil.copy(SAMPLES / "ipv6.pcapng", tmp_path / "deep" / "b")
    (tmp_path / "notes.txt").write_text("no capture")
    expected = [str(each) for each in read_capture(SAMPLES / "ipv6.pcapng")]
    assert [str(each) for each in read_capture(tmp_path)] == expected != []
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: no capture in this directory"):
        read_capture(tmp_path / "empty")


def test_open_files_are_read_as_paths_are() -> None:
    with TXN.open("rb") as opened:
        assert [x.line() for x in read_capture(opened)] == lines(TXN)
        assert not opened.closed
    packed = io.BytesIO(gzip.compress(TXN.read_bytes()))
    assert [x.line() for x in read_capture(packed)] == lines(TXN)
    assert [x.line() for x in read_capture([KCAT, io.BytesIO(TXN.read_bytes())])] == lines(KCAT, TXN)


CHOICES: list[dict[str, Any]] = [
    {"api": "Fetch"},
    {"api": 1},
    {"api": ["fetch", "END_TXN", "3"]},
    {"client_id": "lab-java"},
    {"topic": "pay-in"},
    {"errors": True},
    {"since": "2026-11-21T01:21:59.5Z"},
    {"since": datetime(2026, 11, 21, 1, 21, 59, 500_000, UTC)},
    {"until": datetime(2026, 11, 21, 1, 21, 59)},
    {"until": 1795224119.5},
    {"api": "Produce", "errors": True},
    {"slower_than": 20},
    {"where": "latency_ms > 20"},
    {"where": "api = 'Fetch'", "connection": "127.0.0.1"},
    {"ports": 21000},
    {"ports": [1]},
]


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_what_is_asked_for_is_what_comes(chosen: dict[str, Any]) -> None:
    found = list(read_capture(TXN, **chosen))
    if chosen.get("ports") != [1]:
        assert found
    for x in found:
        assert x.api_key in {1, 3, 26} or "api" not in chosen or chosen["api"] == "Produce"
        assert "api" not in chosen or chosen["api"] not in ("Fetch", 1) or x.api == "Fetch"
        assert "errors" not in chosen or x.errors
        assert "client_id" not in chosen or x.client_id == chosen["client_id"]
    if "slower_than" in chosen or "latency" in chosen.get("where", ""):
        assert min(x.latency_ms or 0 for x in found) > 20
    whole = len(list(read_capture(TXN)))
    assert len(found) < whole or chosen == {"ports": 21000}
    assert chosen == {"ports": [1]} or found


def test_times_mean_the_same_however_they_are_written() -> None:
    text, moment, number = (
        [x.line() for x in read_capture(TXN, since=when)]
        for when in ("2026-11-21T01:21:59.5Z", datetime(2026, 11, 21, 1, 21, 59, 500_000), 1795224119.5)
    )
    assert text == moment == number


def test_topics_are_known_by_what_came_before_whatever_is_asked_for() -> None:
    (topic,) = {t["_topicName"] for x in read_capture(TXN, api="Produce", topic="pay-in") for t in asked(x)}
    assert topic == "pay-in"


def asked(x: kcli.Exchange) -> Any:
    assert x.request is not None
    return x.request["topicData"]


def test_an_exchange_says_what_it_is() -> None:
    x = next(read_capture(TXN, api="EndTxn"))
    assert (x.api, x.version, x.client_id, x.latency_ms, x.errors) == ("EndTxn", 5, "lab-java", 10.647, [])
    assert x.time == datetime(2026, 11, 21, 1, 21, 59, 483371, UTC)
    assert (x.request_bytes, x.response_bytes) == (41, 26)
    assert repr(x) == "<Exchange 2026-11-21T01:21:59.483371Z EndTxn v5 from 'lab-java': 10.647 ms>"


def test_a_capture_is_read_once_and_may_be_left_early() -> None:
    capture = read_capture(TXN)
    assert next(capture).api == "ApiVersions"
    assert len(list(capture)) == 77 and not list(capture)
    assert repr(capture) == f"<Capture of {TXN}: 78 exchanges so far>"
    with pytest.raises(kcli.UsageError, match="has been read"):
        next(capture.items())
    left = read_capture(TXN)
    next(left)
    left.close()
    assert not list(left)
    assert repr(read_capture([KCAT] * 5)).endswith("and 2 more: 0 exchanges so far>")


def test_what_is_wrong_with_a_file_comes_behind_what_could_be_read(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(TXN.read_bytes()[:-10])
    found: list[kcli.Exchange] = []
    with pytest.raises(kcli.InputError, match=r"cut.pcap: the file ends in the middle of a packet"):
        found.extend(read_capture(cut))
        pytest.fail("the generator ended")
    capture = read_capture([cut, tmp_path / "none.pcap"])
    with pytest.raises(kcli.InputError, match=r"none.pcap: No such file or directory \(and 1 more\)"):
        found.extend(capture)
    with pytest.raises(kcli.InputError, match="the open file: not a capture: starts with"):
        next(read_capture(io.BytesIO(b"GIF89a" + bytes(100))))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"api": "Fetcch"}, "Fetcch: no such API; did you mean Fetch?"),
        ({"api": 1.5}, "api 1.5: a name, a key, or several of these expected"),
        ({"api": [None]}, "None: no such API"),
        ({"since": "yesterday"}, "yesterday: no time"),
        ({"since": object}, "no time; an ISO 8601 time"),
        ({"since": "+5"}, "+5: no time; an ISO 8601 time"),
        ({"client_id": 3}, "client_id 3: text expected"),
        ({"connection": 3}, "connection 3: text expected"),
        ({"slower_than": "1s"}, "slower_than '1s': milliseconds expected"),
        ({"where": 3}, "where: a condition in SQL expected, not int"),
        ({"where": "colour = 1"}, "no column colour"),
        ({"ports": "9092"}, "ports: '9' is no port"),
        ({"ports": [70000]}, "ports: 70000 is no port"),
        ({"ports": 1.5}, "ports: 1.5 is no port"),
        ({"api": ""}, "'': no such API"),
        ({"memory": -1}, "memory -1: 0 or more bytes expected"),
        ({"memory": "1M"}, "memory: a number of bytes expected, not str"),
        ({"memory": None}, "memory: a number of bytes expected, not NoneType"),
        ({"errors": "FENCED"}, "FENCED: no such error"),
        ({"errors": 3}, "errors 3: True, or the name of an error expected"),
        ({"key_logs": [3]}, "key_logs: paths expected, not int"),
        ({"key_logs": 3}, "key_logs: paths expected, not int"),
        ({"records": "all"}, "records 'all': one of none, batches, full, raw expected"),
        ({"dialect": "nope"}, "nope: neither a directory nor a dialect"),
    ],
    ids=str,
)
def test_arguments_that_make_no_sense_are_refused_at_once(arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(kcli.UsageError) as caught:
        read_capture(TXN, **arguments)
    assert why in str(caught.value)


def test_errors_are_asked_for_by_name_and_secrets_by_path() -> None:
    (only,) = read_capture(TXN, errors="coordinator_not_available")
    assert "COORDINATOR_NOT_AVAILABLE" in repr(only)
    tls = SAMPLES / "tls.pcap"
    assert len(list(read_capture(tls, key_logs=SAMPLES / "tls.keys"))) > len(list(read_capture(tls)))


def test_an_exchange_in_a_notebook() -> None:
    x = next(read_capture(TXN, api="FindCoordinator", errors=True))
    shown = x._repr_html_()
    assert "COORDINATOR_NOT_AVAILABLE" in shown and "&quot;coordinatorKeys&quot;" in shown
    assert x.failures == []


def test_a_notebook_shows_what_was_read() -> None:
    capture = kcli.read_capture(sorted(SAMPLES.glob("java44*.pcap"))[0])
    assert "0</td>" in capture._repr_html_() and "once, by for" in capture._repr_html_()
    count = len(list(capture))
    assert f"{count}</td>" in capture._repr_html_()
