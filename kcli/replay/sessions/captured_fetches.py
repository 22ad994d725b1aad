"""The fetches to replay, from a capture's exchanges or from the JSON lines of `kcli decode pcap`."""

from collections.abc import Mapping
from typing import Any

from kcli.capture.kafka.clock import parse_instant
from kcli.capture.kafka.exchange import Exchange
from kcli.errors import InputError, UsageError
from kcli.replay.topic_mapping import TOPIC_LISTS, TopicNames
from kcli.sessions.draft_exchange import FETCHES, read_fetch
from kcli.sessions.feeder import span, understood
from kcli.sessions.fetch_exchange import Captured, require_types


def fetch_of_exchange(item: Exchange, names: TopicNames) -> Captured | None:
    """Return the fetch in an exchange; None for another API, and if it can't be decoded. names: learns the names of
    topics.
    """
    if item.api_key not in FETCHES:
        if item.api_key in TOPIC_LISTS:
            names.learn(item.api_key, item.request, item.response)
        return None
    request, response = understood(item.request), understood(item.response)
    if request is None or (response is None and item.response_frame is not None):
        return None
    made = Captured(item.link.server, item.connection, item.header, item.request_ns, item.response_ns)
    made.request_bytes, made.response_bytes = item.request_bytes, item.response_bytes or 0
    read_fetch(made, item.api_key, request, response)
    return made


def fetch_of_row(row: Mapping[str, Any], names: TopicNames) -> Captured | None:
    """Return the fetch in a line of `decode pcap --format jsonl`; None for another exchange. Raises InputError if it is
    not such a line.
    """
    try:
        return None if "event" in row else read_row(row, names)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, UsageError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"no exchange as `kcli decode pcap --format jsonl` prints it: {reason}") from None


def read_row(row: Mapping[str, Any], names: TopicNames) -> Captured | None:
    header, request, response = row["requestHeader"], row["request"], row["response"]
    names.learn(header["requestApiKey"], request, response)
    request, answer = understood(request), understood(response)
    if header["requestApiKey"] not in FETCHES or request is None or (answer is None and response is not None):
        return None
    ns = parse_instant(row["timestamp"])
    latency = row.get("latencyMs")
    answered = None if latency is None else ns + span(latency)
    connection = row["connection"]
    made = Captured(server_of(connection), connection, header, ns, answered)
    made.request_bytes, made.response_bytes = row.get("requestBytes") or 0, row.get("responseBytes") or 0
    read_fetch(made, header["requestApiKey"], request, answer)
    require_types(made)
    for stray in {type(made.max_wait_ms), type(made.min_bytes)} - {int}:
        raise TypeError(f"a {stray.__name__} where a number is expected")
    return made


def server_of(connection: str) -> str:
    """Return the server of "server:port-client:port". Raises ValueError."""
    server, dash, _ = connection.partition("-")
    if not dash:
        raise ValueError(f"connection {connection!r} is not SERVER:PORT-CLIENT:PORT")
    return server
