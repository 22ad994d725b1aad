"""Rows of `transaction_calls`, `sasl_calls` and `topic_changes`."""

from typing import Any

from kcli.capture.kafka.exchange import Exchange
from kcli.pipeline.rows.group_calls import LeadingValues, completed, error_of, first_of, partitions_of
from kcli.pipeline.rows.logins import CONFIRMED, SASL_AUTHENTICATION_FAILED, name_of_login, token_refused
from kcli.pipeline.rows.single_rows import SingleRows, is_answered, put_login, response_of
from kcli.schemas.apikeys import DELETE_TOPICS, SASL_AUTHENTICATE
from kcli.schemas.errors import error_name

ERRORS = ("errorCode", "partitionErrorCode")


def put_transaction_call(rows: SingleRows, item: Exchange, leading: LeadingValues) -> None:
    """Put an InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit or EndTxn."""
    request, response = item.request or {}, response_of(item)
    for each in request.get("transactions") or [request]:
        made = (
            first_of(each, "transactionalId", "v3AndBelowTransactionalId"),
            known(first_of(each, "producerId", "v3AndBelowProducerId"), response.get("producerId")),
            known(first_of(each, "producerEpoch", "v3AndBelowProducerEpoch"), response.get("producerEpoch")),
            request.get("committed"), request.get("transactionTimeoutMs"), partitions_added(each),
            first_error(response), is_answered(item),
        )  # fmt: skip
        rows.say("transaction_calls", (*leading, completed(item), item.bodies.name(item.api_key), *made))


def partitions_added(request: dict[str, Any]) -> list[str] | None:
    """Return the partitions that an AddPartitionsToTxn names; None for other requests."""
    topics = first_of(request, "topics", "v3AndBelowTopics")
    if not topics or not all("partitions" in topic and "name" in topic for topic in topics):
        return None
    return partitions_of(
        [topic for topic in topics if all(isinstance(each, int) for each in topic["partitions"])], "name"
    )


def known(requested: int | None, returned: int | None) -> int | None:
    """Return a producer's id or epoch from the request, otherwise from the response; None if neither has it."""
    found = returned if requested in (None, -1) else requested
    return None if found == -1 else found


def first_error(value: Any) -> str | None:
    """Return the first error in a response, at any depth."""
    if isinstance(value, list):
        return next((found for each in value if (found := first_error(each))), None)
    if not isinstance(value, dict):
        return None
    own = next((error_name(value[name]) for name in ERRORS if value.get(name)), None)
    return own or next((found for each in value.values() if (found := first_error(each))), None)


def put_sasl_call(rows: SingleRows, item: Exchange, leading: LeadingValues) -> None:
    """Put a SaslHandshake or SaslAuthenticate. A user is named only if a SCRAM message contains its name in plain text,
    or secrets are shown.
    """
    request, response = item.request or {}, response_of(item)
    user, error, message = None, error_of(response), response.get("errorMessage")
    put_login(rows, item, leading)
    if item.api_key == SASL_AUTHENTICATE:
        token = bytes(request.get("authBytes") or b"")
        if token == CONFIRMED:
            return  # the refusal that it confirms was put already
        user = None if b"\0" in token and not item.bodies.secrets else name_of_login(token)
        if status := token_refused(response):
            error, message = error_name(SASL_AUTHENTICATION_FAILED), status
    rows.say("sasl_calls", (
        *leading, completed(item), item.bodies.name(item.api_key), request.get("mechanism"), user, error, message,
        response.get("sessionLifetimeMs"), is_answered(item),
    ))  # fmt: skip


def put_topic_changes(rows: SingleRows, item: Exchange, leading: LeadingValues) -> None:
    """Put the topics of a CreateTopics or DeleteTopics; by id if neither request nor response has the name."""
    request, response = item.request or {}, response_of(item)
    results = response.get("topics" if item.api_key != DELETE_TOPICS else "responses") or ()
    by_key = {each.get(key): each for each in results for key in ("topicId", "name")}
    keys = [each.get("name") or each.get("topicId") for each in request.get("topics") or ()]
    for key in [*keys, *(request.get("topicNames") or ())]:
        result = by_key.get(key, {})
        made = (item.bodies.name(item.api_key), result.get("name") or key, error_of(result))
        rows.say("topic_changes", (*leading, completed(item), *made))
