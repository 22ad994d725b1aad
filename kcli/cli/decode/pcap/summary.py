"""What an exchange says, in a few words: by the API's own summary, or by the values that stand out."""

from __future__ import annotations

from kcli.capture.kafka.error_codes import error_codes
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.decode.pcap.summaries import Message, Summary, cluster, groups, produce_fetch, transactions
from kcli.cli.decode.pcap.summaries.phrases import LONG, cut, listed
from kcli.cli.decode.pcap.summaries.topic_partitions import places
from kcli.counting import counted, singular
from kcli.schemas.errors import error_name

QUIET = ("throttleTimeMs", "errorCode", "errorMessage", "timeoutMs")
SUMMARIES: dict[str, Summary] = produce_fetch.SUMMARIES | groups.SUMMARIES | transactions.SUMMARIES | cluster.SUMMARIES


def summarize(exchange: Exchange) -> tuple[str, str]:
    """(asked, answered) of any exchange; "... can't be decoded" for a body that can't."""
    if not exchange.bodies.knows(exchange.api_key, exchange.api_version):
        return "not in the tables", ""
    request, response = exchange.request, exchange.response
    if request is None:
        return "request can't be decoded", ""
    asked, answered = SUMMARIES.get(exchange.api_name, anything)(request, response or {})
    if exchange.response_frame is None:
        return asked, ""
    return asked, "response can't be decoded" if response is None else answered


def anything(request: Message, response: Message) -> tuple[str, str]:
    """Topics and partitions, or the values that stand out, of any message."""
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


def errors_text(response: Message | None) -> str:
    """The errors in a response by name, each once."""
    names = list(dict.fromkeys(error_name(code) for code in error_codes(response or {})))
    return listed(names)


def answer_of(response: Message | None) -> str:
    """The error message of a response; "" where there is none."""
    if response is None:
        return ""
    text = response.get("errorMessage")
    return cut(text, 2 * LONG) if isinstance(text, str) and response.get("errorCode") else ""
