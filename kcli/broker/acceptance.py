"""The error that a broker would return for a request, by the rules of `broker serve`, without a running broker.

A broker closes the connection if it can't decode a request or does not have its version (Kafka's RequestContext and
SocketServer). ApiVersions is the exception: it is answered in any version. Rules that depend on a broker's topics,
groups and logs are left out.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kcli.broker.storage.incoming import read_incoming
from kcli.core.records.batches import HEADER_SIZE, LENGTH_END, SIZE_AT
from kcli.counting import counted
from kcli.errors import DecodeError
from kcli.grammar import frames
from kcli.grammar.batches import BATCH_HEADER
from kcli.grammar.codec import TRAILING
from kcli.grammar.request_start import api_of
from kcli.grammar.words.fixed import fixed_layout
from kcli.records.acceptance import MAGIC_2_SINCE, MOST_BYTES, RefusedError, TimeLimits, is_transactional
from kcli.records.record_faults import tolerated_payloads
from kcli.schemas.apikeys import API_VERSIONS, FETCH, LIST_OFFSETS, PRODUCE
from kcli.schemas.catalog import catalog
from kcli.schemas.errors import error_code
from kcli.schemas.field_codes import Isolation
from kcli.schemas.model import release_order


class RequestVerdict(NamedTuple):
    """place: the TOPIC-PARTITION of refused records, "" for the whole request. error: Kafka's name of the error,
    "" if the connection is closed, "NONE" if the request is accepted. reason: why, or the odd values of an accepted
    request."""

    place: str
    error: str
    reason: str

    @property
    def is_accepted(self) -> bool:
        """Return whether the broker accepts the request."""
        return self.error == "NONE"

    @property
    def code(self) -> int | None:
        """Kafka's error code; None if the connection is closed."""
        return error_code(self.error) if self.error else None


ACCEPTED = RequestVerdict("", "NONE", "")
COMPACT_SINCE = 9  # the first Produce version with compact lengths (length + 1)
PRODUCER_ID_AT = fixed_layout(BATCH_HEADER).offsets["producerId"]
Explain = Callable[[bytes], str]  # refused records -> text to append to the reason


def request_verdicts(
    data: bytes,
    release: str,
    now: int,
    dialect: str | None = None,
    explain: Explain = lambda records: "",
    *,
    start: int = 0,
) -> list[RequestVerdict]:
    """Return the verdicts of a broker of that release on a request frame at `now` (ms since 1970): one for the request,
    or one for each refused records field. The frame is the rest of `data` from `start` on; offsets in reasons are those
    of `data`. `explain` adds to the reasons of refused records. Raises UsageError for an unknown release.
    """
    tables = catalog(dialect)
    try:
        api_key, version = api_of(data, start)
        known = tables.release_versions(release, "broker").get(api_key)
        if (known is None or version not in known) and not is_drafted(api_key, version, dialect):
            if api_key == API_VERSIONS:
                return [RequestVerdict("", "UNSUPPORTED_VERSION", f"{release} has ApiVersions {known}")]
            api = tables.api(api_key)
            request_name = f"{api.name} v{version}" if api else f"API key {api_key}"
            return [
                RequestVerdict("", "", f"{release} has no {request_name}" + (f" (it has {known})" if known else ""))
            ]
        request = frames.decode_request(data, start, dialect)
    except DecodeError as error:
        return [RequestVerdict("", "", str(error))]
    refused = isolation_refusal(request.body) if api_key in (FETCH, LIST_OFFSETS) else None
    found = [ACCEPTED] if refused is None else [RequestVerdict("", refused.error, str(refused))]
    if api_key == PRODUCE:
        found = produce_verdicts(request.body, version, release, now, explain)
    left = left_over(request.body)
    return [ACCEPTED._replace(reason=left)] if left and not found[0].reason else found


def left_over(body: dict[str, Any]) -> str:
    """Return a text about bytes behind the request's last field, which a broker ignores; "" if there are none."""
    rest = body.get(TRAILING, b"")
    return f"{counted(len(rest), 'byte')} left after the message, which no reader uses" if rest else ""


def is_drafted(api_key: int, version: int, dialect: str | None) -> bool:
    """Return whether only the dialect has that version. A broker with the dialect serves it in addition to the
    versions of its release.
    """
    mine, stock = catalog(dialect).api(api_key), catalog(None).api(api_key)
    return mine is not None and version in mine.versions and (stock is None or version not in stock.versions)


def produce_verdicts(
    body: dict[str, Any], version: int, release: str, now: int, explain: Explain
) -> list[RequestVerdict]:
    if refused := produce_refusal(body):
        return [RequestVerdict("", refused.error, str(refused))]
    notes = "; ".join(odd_numbers(body))
    found = [ACCEPTED._replace(reason=notes)] if notes else []
    for topic in body["topicData"]:
        for part in topic["partitionData"]:
            records = part["records"] or b""
            verdict = batch_verdict(records, version, release, now)
            if verdict != ACCEPTED:
                place = f"{topic.get('name') or topic['topicId']}-{part['index']}"
                more = "" if verdict.is_accepted else one_short(records, version) or explain(records)
                found.append(verdict._replace(place=place, reason=verdict.reason + more))
    return found or [ACCEPTED]


def odd_numbers(body: dict[str, Any]) -> Iterator[str]:
    """Yield a text for each number of a Produce request that a broker accepts but that is hardly intended."""
    acks, timeout = body["acks"], body["timeoutMs"]
    idempotent = any(has_producer(records) for records in records_of(body))
    if idempotent and acks != -1:
        yield f"acks {acks}: an idempotent producer needs -1; otherwise it may lose records that it regards as written"
    if timeout < 0 or (timeout == 0 and acks == -1):
        yield f"timeoutMs {timeout}: with acks -1 nothing waits for the replicas"


def has_producer(records: bytes) -> bool:
    return len(records) >= HEADER_SIZE and int.from_bytes(records[PRODUCER_ID_AT : PRODUCER_ID_AT + 8], "big") < 1 << 63


def one_short(records: bytes, version: int) -> str:
    """Return a hint if the compact length of the records may have been written without adding 1: the length in the
    batch's header is then one byte more than the field has. "" if it is not.
    """
    if version < COMPACT_SINCE or len(records) < HEADER_SIZE:
        return ""
    declared = int.from_bytes(records[SIZE_AT:LENGTH_END], "big", signed=True) + LENGTH_END
    if declared != len(records) + 1:
        return ""
    return (
        f"; the batch says {declared} bytes: was the field's compact length written as {declared}, not {declared + 1}?"
    )


def batch_verdict(records: bytes, version: int, release: str, now: int) -> RequestVerdict:
    """Return the verdict of a broker of that release on the records of one partition in a Produce request.

    Brokers since 4.0 refuse timestamps more than an hour ahead of their clock (KIP-1030).
    """
    try:
        batches = read_incoming(
            records, MOST_BYTES, version=version, times=TimeLimits(now) if release_order(release) >= (4, 0) else None
        )
    except RefusedError as refused:
        return RequestVerdict("", refused.error, str(refused))
    if version >= MAGIC_2_SINCE and is_transactional(records) and not has_producer(records):
        return RequestVerdict(
            "", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "a transactional batch without a producer id"
        )
    oddities = tolerated_payloads([each.head for each in batches])
    return ACCEPTED._replace(reason="; ".join(oddities)) if oddities else ACCEPTED


def produce_refusal(body: dict[str, Any]) -> RefusedError | None:
    """Return the error for a Produce request as a whole; None if there is none."""
    if body["acks"] not in (-1, 0, 1):
        return RefusedError("INVALID_REQUIRED_ACKS", f"acks {body['acks']}: -1, 0 or 1 expected")
    if body.get("transactionalId") is None and any(map(is_transactional, records_of(body))):
        reason = "a transactional batch in a request without a transactional id"
        return RefusedError("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", reason)
    return None


def isolation_refusal(body: dict[str, Any]) -> RefusedError | None:
    """Return the error for a Fetch or ListOffsets request as a whole; None if there is none. Kafka's
    `IsolationLevel.forId` throws for other levels, which no error code stands for.
    """
    level = body.get("isolationLevel", Isolation.READ_UNCOMMITTED)
    if level in (Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED):
        return None
    return RefusedError("UNKNOWN_SERVER_ERROR", f"isolationLevel {level}: 0 or 1 expected")


def records_of(body: dict[str, Any]) -> Iterator[bytes]:
    for each in body["topicData"]:
        yield from (part["records"] or b"" for part in each["partitionData"])
