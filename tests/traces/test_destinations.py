"""Spans in files and at collectors."""

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from kcli.cli.main import main
from tests.rules.test_by_hand import Talk
from tests.traces.test_spans import ORDERED, captured, polled, sent, spans_of

Capture = pytest.CaptureFixture[str]


class Stub(BaseHTTPRequestHandler):
    """A collector: its answers, one for each request; the last again and again."""

    answers: list[tuple[int, bytes]]
    got: list[tuple[str, Any, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((self.path, self.headers, gzip.decompress(body)))
        status, answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_words: Any) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[tuple[str, type[Stub]]]:
    kind = type("Answering", (Stub,), {"answers": [(200, b"")], "got": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}", kind
        server.shutdown()
        thread.join()


def test_lines_of_json_have_ids_in_hexadecimal_and_numbers_for_names(tmp_path: Path) -> None:
    path, out = captured(tmp_path, polled(sent(Talk("shop"), [ORDERED]), [ORDERED])), tmp_path / "t.jsonl"
    assert main(["decode", "pcap", str(path), "-q", "--traces", str(out)]) == 0
    [line] = out.read_text().splitlines()
    [found] = json.loads(line)["resourceSpans"]
    first, second = found["scopeSpans"][0]["spans"]
    expected = [span for _, span in spans_of(path)]
    assert [each["traceId"] for each in (first, second)] == [each.trace_id.hex() for each in expected]
    assert first["parentSpanId"] == expected[0].parent_span_id.hex() and first["kind"] == 3
    assert second["links"][0]["spanId"] == expected[1].links[0].span_id.hex()
    assert first["startTimeUnixNano"] == str(expected[0].start_time_unix_nano)
    # All but the ids is Protobuf's JSON, which refuses fields that it does not know.
    for each in (first, second, *second["links"]):
        for name in ("traceId", "spanId", "parentSpanId"):
            each.pop(name, None)
    Parse(json.dumps({"resourceSpans": [found]}), TracesData())


def test_a_collector_gets_them_and_is_asked_again(tmp_path: Path, collector: Any) -> None:
    where, stub = collector
    stub.answers[:] = [(503, b""), (200, b"")]
    path = captured(tmp_path, sent(Talk("shop"), [ORDERED]))
    assert main(["decode", "pcap", str(path), "-q", "--traces", f"http://me:secret@{where}"]) == 0
    (_, _, _), (place, headers, body) = stub.got
    assert place == "/v1/traces" and headers["Content-Type"] == "application/x-protobuf"
    assert headers["Authorization"].startswith("Basic ")
    [found] = ExportTraceServiceRequest.FromString(body).resource_spans
    assert [*found.scope_spans[0].spans] == [span for _, span in spans_of(path)]


def test_what_a_collector_refuses_is_said(tmp_path: Path, collector: Any, capsys: Capture) -> None:
    where, stub = collector
    path = str(captured(tmp_path, sent(Talk("shop"), [ORDERED])))
    refused = ExportTraceServiceResponse()
    refused.partial_success.rejected_spans = 1
    stub.answers[:] = [(200, refused.SerializeToString())]
    assert main(["decode", "pcap", path, "--traces", f"http://{where}/own/path?a=1"]) == 0
    assert stub.got[-1][0] == "/own/path?a=1" and "did not take 1 span" in capsys.readouterr().err
    stub.answers[:] = [(400, b"")]
    assert main(["decode", "pcap", path, "-q", "--traces", f"http://me:secret@{where}"]) == 4
    said = capsys.readouterr().err
    assert "refused the spans: 400" in said and "secret" not in said


@pytest.mark.parametrize(
    "words",
    [
        ["--traces", "ftp://a"], ["--traces", "-", "-o", "x"], ["--traces", "-", "--records", "full"],
        ["--traces", "-", "--payloads"], ["--broker-capture", "x"],
    ],
)  # fmt: skip
def test_what_makes_no_sense(words: list[str], samples: Path) -> None:
    assert main(["decode", "pcap", str(samples / "java44-txn.pcap"), "-q", *words]) == 2


def test_the_filter_chooses_and_the_other_end_is_another_capture(tmp_path: Path, capsys: Capture) -> None:
    path = str(captured(tmp_path, polled(sent(Talk("shop"), [ORDERED]), [])))
    words = ["decode", "pcap", path, "-q", "--traces", "-"]
    assert main([*words, "--api", "Fetch", "--broker-capture", path]) == 0
    found = json.loads(capsys.readouterr().out)["resourceSpans"]
    assert [each["scopeSpans"][0]["spans"][0]["kind"] for each in found] == [3, 2]
    assert main([*words, "--client", "nobody"]) == 1
