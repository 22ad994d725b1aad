"""Rows of `refused_records`: the errors and messages of brokers about records that they refuse."""

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import partitions_in
from kcli.pipeline.rows.group_calls import LeadingValues
from kcli.pipeline.rows.single_rows import SingleRows
from kcli.schemas.apikeys import PRODUCE
from kcli.schemas.errors import error_code, error_name

CODES = frozenset(map(error_code, ("INVALID_RECORD", "INVALID_TIMESTAMP", "NOT_ENOUGH_REPLICAS")))
FAILING = {PRODUCE: CODES}  # exchanges with rows here, by API


def may_refuse(response: bytes | None) -> bool:
    """Return whether a response to Produce may have one of CODES: whether its bytes are in it."""
    return response is not None and any(code.to_bytes(2, "big") in response for code in CODES)


def put_refused_records(rows: SingleRows, item: Exchange, _leading: LeadingValues) -> None:
    """Put the partitions of a Produce whose records are refused."""
    for topic, _topic_id, each in partitions_in(item, item.response, "responses", "partitionResponses"):
        if each["errorCode"] in CODES:
            records = each.get("recordErrors") or ()
            first = records[0] if records else {}
            rows.put("refused_records", (
                item.connection, item.correlation_id, topic, each["index"], error_name(each["errorCode"]),
                each.get("errorMessage"), len(records), first.get("batchIndex"), first.get("batchIndexErrorMessage"),
            ))  # fmt: skip
