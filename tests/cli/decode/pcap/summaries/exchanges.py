"""Exchanges made for a test or out of a capture, and their summaries."""

from pathlib import Path
from typing import Any

from kcli.capture.api import read_capture
from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Link
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.decode.pcap.summary import summarize
from kcli.grammar import frames

__all__ = ["BODIES", "exchange", "summary_of"]

BODIES = Bodies()


def exchange(key: int, version: int, request: dict[str, Any], response: dict[str, Any] | None) -> Exchange:
    """An exchange with these bodies, of an API's key and version."""
    header = {"requestApiKey": key, "requestApiVersion": version, "correlationId": 1}
    if (key, version) != (7, 0):
        header["clientId"] = None  # type: ignore[assignment]
    asked = frames.encode_request(header, request)
    answer = None if response is None else frames.encode_response({"correlationId": 1}, key, version, response)
    return Exchange(Link("b:1", "c:2"), 0, asked, None if answer is None else 1, answer, BODIES)


def summary_of(path: Path, api: str, number: int = 0) -> str:
    """The summary of an API's exchange in a capture, by its number."""
    found = [each for each in read_capture(path).items() if isinstance(each, Exchange) and each.api_name == api]
    return " -> ".join(filter(None, summarize(found[number])))
