"""Summaries of exchanges in a few words: by the API's own function, or by notable values."""

from typing import Any

from kcli.capture.kafka.error_codes import error_codes
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.decode.pcap.summaries import Message, Summary, cluster, groups, produce_fetch, transactions
from kcli.cli.decode.pcap.summaries.phrases import LONG, cut, listed
from kcli.cli.decode.pcap.summaries.topic_partitions import (
    partition_number,
    partitions_of,
    places,
    topic_name,
    topics_of,
)
from kcli.counting import counted, singular
from kcli.schemas.errors import error_code, error_name

OFFSET_OUT_OF_RANGE = error_code("OFFSET_OUT_OF_RANGE")
NOT_DECODED = "can't be decoded"
QUIET = ("throttleTimeMs", "errorCode", "errorMessage", "timeoutMs")
SUMMARIES: dict[str, Summary] = produce_fetch.SUMMARIES | groups.SUMMARIES | transactions.SUMMARIES | cluster.SUMMARIES


def summarize(exchange: Exchange) -> tuple[str, str]:
    """Summarize request and response of any exchange; "... can't be decoded" for a body that can't, and "... cut off"
    or "... lost" where bytes are missing.
    """
    if not exchange.bodies.knows(exchange.api_key, exchange.api_version):
        return "not in the tables", ""
    request, response = exchange.shown_request, exchange.shown_response
    if request is None:
        what = NOT_DECODED if exchange.cut.request is None else "cut off"
        return f"request {what}", cut_text(exchange)
    # An API's own function relies on the request's fields.
    summary = SUMMARIES.get(exchange.api_name, anything) if request is exchange.request else anything
    request_text, response_text = summary(request, response or {})
    if exchange.response_frame is None or exchange.cut.response is not None:
        return request_text, cut_text(exchange)
    if response is None:
        return request_text, f"response {NOT_DECODED}"
    return request_text, response_text


def cut_text(exchange: Exchange) -> str:
    """Describe a response that is not whole in the capture; empty for any other."""
    if exchange.cut.response is None:
        return ""
    return "response lost" if exchange.response_frame is None else "response cut off"


def anything(request: Message, response: Message) -> tuple[str, str]:
    """Summarize any message by its topics and partitions, or by notable values."""
    return places(request) or details(request), details(response)


def details(message: Message) -> str:
    parts = []
    for name, value in message.items():
        if name in QUIET or name.startswith("_") or value in (None, "", [], {}, -1, False):
            continue
        if isinstance(value, list):
            plain = all(isinstance(each, (str, int)) for each in value)
            parts.append(listed(map(str, value)) if plain else counted(len(value), singular(name), name))
        elif isinstance(value, (str, int, float)):
            parts.append(cut(value) if isinstance(value, str) else f"{name} {value}")
    return listed(parts)


def errors_text(request: Message | None, response: Message | None) -> str:
    """Return the errors in a response by name, each once, with their partitions unless the request names exactly these
    (`places`).
    """
    codes = dict.fromkeys(error_codes(response or {}))
    if not codes:
        return ""
    requested, failed = places(request or {}), error_places(request or {}, response or {})
    parts = []
    for code in codes:
        named = listed(failed.get(code, ()))
        parts.append(error_name(code) + (f" {named}" if named and named != requested else ""))
    return listed(parts, 5 * LONG)


def error_places(request: Message, response: Message) -> dict[int, list[str]]:
    """Return the partitions with an error in a response, by its code: "orders[3]", a Fetch's with the
    offset asked for.
    """
    found: dict[int, list[str]] = {}
    offsets: dict[tuple[str, Any], int] | None = None
    for topic in topics_of(response):
        for each in partitions_of(topic):
            code = each.get("errorCode") if isinstance(each, dict) else None
            if not code:
                continue
            name, number = topic_name(topic), partition_number(each)
            if code == OFFSET_OUT_OF_RANGE and offsets is None:
                offsets = fetch_offsets(request)
            offset = (offsets or {}).get((name, number)) if code == OFFSET_OUT_OF_RANGE else None
            found.setdefault(code, []).append(f"{name}[{number}]" + ("" if offset is None else f" at {offset}"))
    return found


def fetch_offsets(request: Message) -> dict[tuple[str, Any], int]:
    """Return the offsets that a Fetch asks for, without the unchanged ones of its session."""
    return {
        (topic_name(topic), partition_number(each)): each["fetchOffset"]
        for topic in topics_of(request) for each in partitions_of(topic)
        if isinstance(each, dict) and "fetchOffset" in each
    }  # fmt: skip


def answer_of(response: Message | None) -> str:
    """Return the error message of a response; "" if there is none."""
    if response is None:
        return ""
    text = response.get("errorMessage")
    return cut(text, 2 * LONG) if isinstance(text, str) and response.get("errorCode") else ""
