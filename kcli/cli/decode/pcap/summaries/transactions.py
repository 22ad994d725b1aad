"""Summaries of the APIs of transactions."""

from kcli.cli.decode.pcap.summaries import Message, Summary
from kcli.cli.decode.pcap.summaries.phrases import SHOWN
from kcli.cli.decode.pcap.summaries.topic_partitions import places


def init_producer_id(request: Message, response: Message) -> tuple[str, str]:
    return request.get(
        "transactionalId"
    ) or "idempotent", f"producer {response.get('producerId')} epoch {response.get('producerEpoch')}"


def add_partitions(request: Message, response: Message) -> tuple[str, str]:
    each = request.get("transactions")
    if each is None:
        return f"{request.get('v3AndBelowTransactionalId')}: {places(request)}", ""
    verify = " (verify only)" if any(txn.get("verifyOnly") for txn in each) else ""
    return "; ".join(f"{txn['transactionalId']}: {places(txn)}" for txn in each[:SHOWN]) + verify, ""


def end_txn(request: Message, response: Message) -> tuple[str, str]:
    return f"{request['transactionalId']} {'commits' if request['committed'] else 'aborts'}", ""


SUMMARIES: dict[str, Summary] = {
    "ADD_PARTITIONS_TO_TXN": add_partitions,
    "END_TXN": end_txn,
    "INIT_PRODUCER_ID": init_producer_id,
}
