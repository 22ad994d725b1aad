"""Summaries of Produce, Fetch, ShareFetch and ListOffsets."""

from collections import Counter
from collections.abc import Iterable

from kcli.cli.decode.pcap.summaries import Message, Summary
from kcli.cli.decode.pcap.summaries.phrases import SHOWN, listed
from kcli.cli.decode.pcap.summaries.topic_partitions import partitions_of, places, topics_of
from kcli.counting import counted
from kcli.errors import DecodeError

ACKNOWLEDGED = {1: "accepted", 2: "released", 3: "rejected", 4: "renewed"}  # 0: there is no record
TIMES = {-1: "latest", -2: "earliest", -3: "max timestamp", -4: "earliest local", -5: "latest tiered"}


def produce(request: Message, response: Message) -> tuple[str, str]:
    fields = [each.get("records") for topic in topics_of(request) for each in partitions_of(topic)]
    acks = {0: ", no acks", 1: ", acks 1"}.get(request["acks"], "")
    results = [each for topic in topics_of(response) for each in partitions_of(topic)]
    offsets = [each["baseOffset"] for each in results if not each["errorCode"]]
    answer = f"at {listed(map(str, offsets))}" if offsets else ""
    return f"{places(request)} {batches_text(fields)}{acks}", answer + leaders(results, response)


def leaders(partitions: list[Message], response: Message) -> str:
    """Return the new leaders that a response names (KIP-951)."""
    nodes = {node["nodeId"]: f"{node['host']}:{node['port']}" for node in response.get("nodeEndpoints", ())}
    results: dict[str, None] = {}
    for each in partitions:
        leader = each.get("currentLeader")
        if leader and leader["leaderId"] >= 0 and each["errorCode"]:
            at = f" at {nodes[leader['leaderId']]}" if leader["leaderId"] in nodes else ""
            results[f"leader is {leader['leaderId']} (epoch {leader['leaderEpoch']}){at}"] = None
    return listed(results)


def fetch(request: Message, response: Message) -> tuple[str, str]:
    partitions = sum(len(partitions_of(topic)) for topic in topics_of(request))
    forgotten = sum(len(topic["partitions"]) for topic in request.get("forgottenTopicsData", ()))
    session, epoch = request.get("sessionId", 0), request.get("sessionEpoch", -1)
    changed = epoch > 0 or partitions == 0
    parts = [session_asked(session, epoch), f"{partitions:,} changed" if changed else wanted(request, partitions)]
    parts += [f"{forgotten:,} forgotten"] if forgotten else []
    results = [each for topic in topics_of(response) for each in partitions_of(topic)]
    data = [each["records"] for each in results if each.get("records")]
    answer = [f"session {response['sessionId']}"] if response.get("sessionId") and epoch == 0 else []
    answer.append(counted(len(results), "partition"))
    answer += [batches_text(data)] if data else []
    hints = leaders(results, response)
    return ", ".join(filter(None, parts)), ", ".join(answer + ([hints] if hints else []))


def session_asked(session: int, epoch: int) -> str:
    if epoch == 0:
        return "session new" if session == 0 else f"session {session} anew"
    return "" if epoch == -1 and session == 0 else f"session {session} {'closed' if epoch == -1 else f'epoch {epoch}'}"


def wanted(request: Message, partitions: int) -> str:
    return places(request) if partitions <= SHOWN else counted(partitions, "partition")


def share_fetch(request: Message, response: Message) -> tuple[str, str]:
    results = [each for topic in topics_of(response) for each in partitions_of(topic)]
    data = [each["records"] for each in results if each.get("records")]
    acquired = [each for result in results for each in result.get("acquiredRecords") or ()]
    asked = [f"{request.get('groupId')} epoch {request.get('shareSessionEpoch')}", places(request)]
    parts = [counted(len(results), "partition"), *([batches_text(data)] if data else [])]
    if acquired:
        most = max(each["deliveryCount"] for each in acquired)
        again = f" (delivery {most})" if most > 1 else ""
        parts.append(f"{sum(each['lastOffset'] - each['firstOffset'] + 1 for each in acquired):,} acquired{again}")
    return ", ".join(filter(None, [*asked, *acknowledged(request)])), ", ".join(parts)


def acknowledged(request: Message) -> list[str]:
    """Return how many records a member accepts, releases and so on. A batch has one type for all of its records, or one
    for each (KIP-932).
    """
    counts = Counter[int]()
    for topic in topics_of(request):
        for batch in (each for part in partitions_of(topic) for each in part.get("acknowledgementBatches") or ()):
            types = batch["acknowledgeTypes"]
            if len(types) == 1:
                counts[types[0]] += batch["lastOffset"] - batch["firstOffset"] + 1
            else:
                counts.update(types)
    return [f"{counts[kind]:,} {word}" for kind, word in ACKNOWLEDGED.items() if counts[kind]]


def list_offsets(request: Message, response: Message) -> tuple[str, str]:
    times = {each["timestamp"] for topic in topics_of(request) for each in partitions_of(topic)}
    results = [each for topic in topics_of(response) for each in partitions_of(topic)]
    offsets = [each.get("offset", (each.get("oldStyleOffsets") or [-1])[0]) for each in results]
    return (
        f"{places(request)} {listed(TIMES.get(each, f'from {each}') for each in sorted(times))}",
        f"at {listed(map(str, offsets))}",
    )


def batches_text(fields: Iterable[bytes | None]) -> str:
    """Count the records of records fields, and name their codecs: "212 records zstd"."""
    from kcli.records import scan

    total, codecs, size = 0, [], 0
    for data in fields:
        size += len(data or b"")
        try:
            for batch in scan(data or b"", check=False):
                total += batch.count or 0
                codecs.append(str(batch.compression).lower())
        except DecodeError:
            return f"records that can't be read, {size:,} bytes"
    kinds = [codec for codec in dict.fromkeys(codecs) if codec != "none"]
    return " ".join([counted(total, "record"), *kinds])


SUMMARIES: dict[str, Summary] = {
    "FETCH": fetch,
    "LIST_OFFSETS": list_offsets,
    "PRODUCE": produce,
    "SHARE_ACKNOWLEDGE": share_fetch,
    "SHARE_FETCH": share_fetch,
}
