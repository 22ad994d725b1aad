import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kcli.client.replay.names import TopicNames
from kcli.client.replay.source import read_fetches
from kcli.errors import InputError


def line(api_key: int = 1, **changes: Any) -> dict[str, Any]:
    header = {"requestApiKey": api_key, "requestApiVersion": 13, "correlationId": 5, "clientId": "c"}
    part = {"partition": 0, "fetchOffset": 3, "partitionMaxBytes": 100}
    made = {
        "timestamp": "2026-11-21T00:52:34.167123Z",
        "connection": "s:1-c:2",
        "requestHeader": header,
        "request": {"maxWaitMs": 9, "topics": [{"topicId": "abc", "_topicName": "orders", "partitions": [part]}]},
        "response": {"errorCode": 0, "sessionId": 7, "responses": []},
        "requestBytes": 50,
        "responseBytes": 20,
        "latencyMs": 1.5,
    }
    return made | changes


def write(path: Path, *values: Any) -> str:
    path.write_text("".join((value if isinstance(value, str) else json.dumps(value)) + "\n" for value in values))
    return str(path)


def test_lines_of_decode_pcap(tmp_path: Path) -> None:
    names = TopicNames()
    metadata = line(3, response={"topics": [{"topicId": "def", "name": "refunds"}]})
    gap = {"event": "gap", "connection": "s:1-c:2", "bytes": 3}
    file = write(tmp_path / "a.jsonl", line(), gap, "", metadata, line(response=None, latencyMs=None))
    first, second = read_fetches(file, names)
    assert (first.server, first.connection, first.client_id, first.max_wait_ms) == ("s:1", "s:1-c:2", "c", 9)
    assert first.response_ns is not None
    assert (first.response_ns - first.ns, first.ns % 10**9, first.granted) == (1_500_000, 167_123_000, 7)
    assert (first.request_bytes, first.response_bytes, first.asked[0][0]) == (50, 20, ("abc", 0))
    assert not second.answered
    assert names.names == {"abc": "orders", "def": "refunds"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": 1}, "line 2 is not one of .*: no 'requestHeader'"),
        ("{", "line 2 is not one of"),
        (line(connection="x"), "not SERVER:PORT-CLIENT:PORT"),
        (line(timestamp="yesterday"), "yesterday"),
        (line(request={"topics": 3}), "line 2"),
        ("[]", "line 2"),
    ],
)
def test_other_lines_are_named(tmp_path: Path, value: Any, words: str) -> None:
    file = write(tmp_path / "a.jsonl", line(), value)
    with pytest.raises(InputError, match=rf"a\.jsonl: .*{words}"):
        list(read_fetches(file, TopicNames()))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(json.dumps(line()).encode())))
    monkeypatch.setattr(sys, "stdin", stream)
    (only,) = read_fetches("-", TopicNames())
    assert only.granted == 7


def test_neither_capture_nor_lines(tmp_path: Path) -> None:
    file = tmp_path / "x.pcap"
    file.write_bytes(b"GIF89a" + bytes(100))
    with pytest.raises(InputError, match="not a capture"):
        list(read_fetches(str(file), TopicNames()))
