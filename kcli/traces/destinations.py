"""The destinations of spans: a file with lines of OTLP JSON, or a collector by OTLP/HTTP."""

import base64
import gzip
from collections.abc import Sequence
from typing import Any, BinaryIO, Protocol

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, TracesData

from kcli.client.web_address import WebAddress, reason_of
from kcli.errors import NetworkError
from kcli.jsontext import dumps

IDS = ("traceId", "spanId", "parentSpanId")
SECONDS = 10
RETRIES = 5
LARGEST = 1 << 20  # bytes of a response that are read, at most
PATH = "/v1/traces"
HEADERS = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip", "User-Agent": "kcli"}


class Destination(Protocol):
    """Takes spans."""

    def send(self, found: Sequence[ResourceSpans]) -> None:
        """Send spans. Raises NetworkError, OSError if that fails."""


class JsonLines:
    """Writes one TracesData per line, as OpenTelemetry's file exporter does."""

    def __init__(self, out: BinaryIO) -> None:
        self.out = out

    def send(self, found: Sequence[ResourceSpans]) -> None:
        """Write spans."""
        self.out.write(json_line(found))
        self.out.flush()


def json_line(found: Sequence[ResourceSpans]) -> bytes:
    """Return spans as OTLP JSON, whose ids are hexadecimal instead of base64 as in Protobuf's JSON."""
    made: Any = MessageToDict(TracesData(resource_spans=found), use_integers_for_enums=True)
    for spans in (scope["spans"] for resource in made["resourceSpans"] for scope in resource["scopeSpans"]):
        for each in (inner for span in spans for inner in (span, *span.get("links", ()))):
            for name in IDS:
                if name in each:
                    each[name] = base64.b64decode(each[name]).hex()
    return dumps(made).encode("utf-8", "surrogatepass") + b"\n"


class Collector:
    """Sends spans to a collector. rejected: the number of spans that it did not accept."""

    def __init__(self, url: str) -> None:
        """Prepare to send. Raises UsageError if the URL is not an HTTP URL. If it has no path, OTLP's is added."""
        import urllib3

        self.address = WebAddress.parse(url, "--traces", PATH)
        user = self.address.user
        self.headers = HEADERS | (urllib3.make_headers(basic_auth=user) if user else {})
        retries = urllib3.Retry(
            RETRIES, redirect=0, allowed_methods=None, status_forcelist=(429, 502, 503, 504), backoff_factor=0.2
        )
        self.pool = urllib3.PoolManager(timeout=urllib3.Timeout(SECONDS), retries=retries)
        self.rejected = 0

    def send(self, found: Sequence[ResourceSpans]) -> None:
        """Send spans. Raises NetworkError if the collector can't be reached, or refuses them."""
        import urllib3

        body = gzip.compress(ExportTraceServiceRequest(resource_spans=found).SerializeToString(), 1)
        try:
            answer = self.pool.request("POST", self.address.url, body=body, headers=self.headers, preload_content=False)
            data = answer.read(LARGEST)
            answer.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise NetworkError(f"the collector at {self.address.shown} can't be reached: {reason_of(error)}") from None
        if answer.status != 200:
            raise NetworkError(f"the collector at {self.address.shown} refused the spans: {answer.status}")
        self.rejected += rejected_in(data)


def rejected_in(answer: bytes) -> int:
    """Return the number of spans that a response says were not accepted."""
    try:
        return int(ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans)
    except DecodeError:
        return 0  # some collectors answer in JSON
