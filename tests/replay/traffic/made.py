"""Exchanges made of values, as a capture would have them."""

from typing import Any

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Link
from kcli.capture.kafka.exchange import Exchange
from kcli.grammar import frames

BODIES = Bodies()
MS = 1_000_000


def exchange(
    api: int,
    version: int,
    request: dict[str, Any],
    response: dict[str, Any] | None = None,
    *,
    at: int = 0,
    took: int = 1,
    client: str = "10.0.0.1:5000",
    client_id: str = "c",
    server: str = "10.0.0.9:9092",
) -> Exchange:
    """at, took: ms. Without a response it has none."""
    header = {"requestApiKey": api, "requestApiVersion": version, "correlationId": 1, "clientId": client_id}
    answer = None if response is None else frames.encode_response({"correlationId": 1}, api, version, response)
    ns = (1_000 + at) * MS
    ended = None if answer is None else ns + took * MS
    return Exchange(Link(server, client), ns, frames.encode_request(header, request), ended, answer, BODIES)
