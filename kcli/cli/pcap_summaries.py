"""What an exchange says, in a few words: a function for each important API, and one for all others.

Each gets the request and the response ({}: there is none) and returns what was asked and what was answered. Errors are
not their business: the table adds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kcli.capture.events import Exchange, error_codes
from kcli.errors import DecodeError
from kcli.schemas.errors import error_name

__all__ = ["SUMMARIES", "answer_of", "errors_text", "summarize"]

Message = dict[str, Any]
Summary = Callable[[Message, Message], tuple[str, str]]

SUMMARIES: dict[str, Summary] = {}
SHOWN = 3  # names of a list; the rest is counted
LONG = 40  # characters of one value
PARTITIONS = ("partitions", "partitionData", "partitionResponses", "partitionIndexes", "resultsByPartition")
TOPICS = ("topics", "topicData", "responses", "topicResults", "v3AndBelowTopics", "topicPartitions")
COORDINATORS = {0: "group", 1: "transaction", 2: "share group"}
QUIET = ("throttleTimeMs", "errorCode", "errorMessage", "timeoutMs")
TIMES = {-1: "latest", -2: "earliest", -3: "max timestamp", -4: "earliest local", -5: "latest tiered"}


def summary(*names: str) -> Callable[[Summary], Summary]:
    """Register a summary for APIs, by their names in a broker's log."""

    def register(function: Summary) -> Summary:
        SUMMARIES.update(dict.fromkeys(names, function))
        return function

    return register


def summarize(exchange: Exchange) -> tuple[str, str]:
    """(asked, answered) of any exchange; bodies that could not be decoded say so."""
    if not exchange.bodies.knows(exchange.api_key, exchange.api_version):
        return "not in the tables", ""
    request, response = exchange.request, exchange.response
    if request is None:
        return "request can't be decoded", ""
    asked, answered = SUMMARIES.get(exchange.api_name, anything)(request, response or {})
    if exchange.response_frame is None:
        return asked, ""
    return asked, "response can't be decoded" if response is None else answered


def errors_text(response: Message | None) -> str:
    """The errors in a response by name, each once."""
    names = list(dict.fromkeys(error_name(code) for code in error_codes(response or {})))
    return listed(names)


def answer_of(response: Message | None) -> str:
    """The first message that came with an error."""
    if response is None:
        return ""
    text = response.get("errorMessage")
    return cut(text, 2 * LONG) if isinstance(text, str) and response.get("errorCode") else ""


def cut(text: str, size: int = LONG) -> str:
    return text if len(text) <= size else f"{text[:size]}… ({len(text)} characters)"


def count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Iterable[str]) -> str:
    """ "orders, refunds, audit and 4 more" """
    found = [cut(name) for name in names]
    more = len(found) - SHOWN
    return ", ".join(found) if more <= 0 else ", ".join(found[:SHOWN]) + f" and {more} more"


def topics_of(message: Message) -> list[Message]:
    for name in TOPICS:
        found = message.get(name)
        if isinstance(found, list) and (not found or isinstance(found[0], dict)):
            return found
    return []


def topic_name(topic: Message) -> str:
    for name in ("name", "topic", "topicName", "_topicName", "topicId"):
        if topic.get(name):
            return str(topic[name])
    return "?"


def partitions_of(topic: Message) -> list[Any]:
    found: list[Any] = next((topic[name] for name in PARTITIONS if isinstance(topic.get(name), list)), [])
    return found


def partition_number(partition: Any) -> Any:
    if isinstance(partition, dict):
        return next((partition[name] for name in ("partitionIndex", "partition", "index") if name in partition), "?")
    return partition


def places(message: Message) -> str:
    """ "orders[0, 1], refunds[3]", or names and a count where there are many."""
    topics = topics_of(message)
    numbers = [(topic_name(topic), [partition_number(each) for each in partitions_of(topic)]) for topic in topics]
    total = sum(len(each) for _, each in numbers)
    if total <= 2 * SHOWN:
        return listed(f"{name}[{', '.join(map(str, each))}]" if each else name for name, each in numbers)
    return f"{listed(name for name, _ in numbers)}: {count(total, 'partition')}"


def batches_text(fields: Iterable[bytes | None]) -> str:
    """Records and codecs of records fields: "212 records zstd"."""
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
    return " ".join([count(total, "record"), *kinds])


@summary("PRODUCE")
def produce(request: Message, response: Message) -> tuple[str, str]:
    fields = [each.get("records") for topic in topics_of(request) for each in partitions_of(topic)]
    acks = {0: ", no acks", 1: ", acks 1"}.get(request["acks"], "")
    results = [each for topic in topics_of(response) for each in partitions_of(topic)]
    offsets = [each["baseOffset"] for each in results if not each["errorCode"]]
    answer = f"at {listed(map(str, offsets))}" if offsets else ""
    return f"{places(request)} {batches_text(fields)}{acks}", answer + leaders(results, response)


def leaders(partitions: list[Message], response: Message) -> str:
    """Who leads instead, where a broker says so (KIP-951)."""
    nodes = {node["nodeId"]: f"{node['host']}:{node['port']}" for node in response.get("nodeEndpoints", ())}
    results: dict[str, None] = {}
    for each in partitions:
        leader = each.get("currentLeader")
        if leader and leader["leaderId"] >= 0 and each["errorCode"]:
            at = f" at {nodes[leader['leaderId']]}" if leader["leaderId"] in nodes else ""
            results[f"leader is {leader['leaderId']} (epoch {leader['leaderEpoch']}){at}"] = None
    return listed(results)


def session_asked(session: int, epoch: int) -> str:
    if epoch == 0:
        return "session new" if session == 0 else f"session {session} anew"
    return "" if epoch == -1 and session == 0 else f"session {session} {'closed' if epoch == -1 else f'epoch {epoch}'}"


@summary("FETCH")
def fetch(request: Message, response: Message) -> tuple[str, str]:
    asked = sum(len(partitions_of(topic)) for topic in topics_of(request))
    forgotten = sum(len(topic["partitions"]) for topic in request.get("forgottenTopicsData", ()))
    session, epoch = request.get("sessionId", 0), request.get("sessionEpoch", -1)
    changed = epoch > 0 or asked == 0
    parts = [session_asked(session, epoch), f"{asked:,} changed" if changed else wanted(request, asked)]
    parts += [f"{forgotten:,} forgotten"] if forgotten else []
    results = [each for topic in topics_of(response) for each in partitions_of(topic)]
    data = [each["records"] for each in results if each.get("records")]
    answer = [f"session {response['sessionId']}"] if response.get("sessionId") and epoch == 0 else []
    answer.append(count(len(results), "partition"))
    answer += [batches_text(data)] if data else []
    hints = leaders(results, response)
    return ", ".join(filter(None, parts)), ", ".join(answer + ([hints] if hints else []))


def wanted(request: Message, asked: int) -> str:
    return places(request) if asked <= SHOWN else count(asked, "partition")


@summary("SHARE_FETCH", "SHARE_ACKNOWLEDGE")
def share_fetch(request: Message, response: Message) -> tuple[str, str]:
    results = [each for topic in topics_of(response) for each in partitions_of(topic)]
    data = [each["records"] for each in results if each.get("records")]
    acquired = sum(
        r["lastOffset"] - r["firstOffset"] + 1 for each in results for r in each.get("acquiredRecords") or ()
    )
    given = [each.get("acknowledgementBatches") or () for topic in topics_of(request) for each in partitions_of(topic)]
    acknowledged = sum(each["lastOffset"] - each["firstOffset"] + 1 for batches in given for each in batches)
    asked = [f"{request.get('groupId')} epoch {request.get('shareSessionEpoch')}", places(request)]
    asked += [f"{acknowledged:,} acknowledged"] if acknowledged else []
    return ", ".join(filter(None, asked)), ", ".join(
        [
            count(len(results), "partition"),
            *([batches_text(data)] if data else []),
            *([f"{acquired:,} acquired"] if acquired else []),
        ]
    )


@summary("API_VERSIONS")
def api_versions(request: Message, response: Message) -> tuple[str, str]:
    software = f"{request.get('clientSoftwareName', '')} {request.get('clientSoftwareVersion', '')}".strip()
    return software, count(len(response.get("apiKeys", ())), "API")


@summary("METADATA")
def metadata(request: Message, response: Message) -> tuple[str, str]:
    topics = request.get("topics")
    asked = "all topics" if topics is None else listed(topic_name(each) for each in topics) or "no topics"
    results = response.get("topics", ())
    partitions = sum(len(each.get("partitions", ())) for each in results)
    parts = (
        count(len(response.get("brokers", ())), "broker"),
        count(len(results), "topic"),
        count(partitions, "partition"),
    )
    return asked, ", ".join(parts)


@summary("LIST_OFFSETS")
def list_offsets(request: Message, response: Message) -> tuple[str, str]:
    times = {each["timestamp"] for topic in topics_of(request) for each in partitions_of(topic)}
    results = [each for topic in topics_of(response) for each in partitions_of(topic)]
    offsets = [each.get("offset", (each.get("oldStyleOffsets") or [-1])[0]) for each in results]
    return (
        f"{places(request)} {listed(TIMES.get(each, f'from {each}') for each in sorted(times))}",
        f"at {listed(map(str, offsets))}",
    )


@summary("FIND_COORDINATOR")
def find_coordinator(request: Message, response: Message) -> tuple[str, str]:
    keys = request.get("coordinatorKeys") or [request.get("key", "")]
    results = response.get("coordinators") or [response]
    found = [f"{each['nodeId']} at {each['host']}:{each['port']}" for each in results if each.get("nodeId", -1) >= 0]
    return f"{COORDINATORS.get(request.get('keyType', 0), '?')} {listed(keys)}", listed(dict.fromkeys(found))


@summary("JOIN_GROUP")
def join_group(request: Message, response: Message) -> tuple[str, str]:
    who = cut(request["memberId"]) or "new member"
    answer = f"generation {response.get('generationId')}, {response.get('protocolName') or 'no protocol'}"
    members = len(response.get("members", ()))
    return f"{request['groupId']} as {who}", answer + (f", leads {count(members, 'member')}" if members else "")


@summary("SYNC_GROUP")
def sync_group(request: Message, response: Message) -> tuple[str, str]:
    given = len(request["assignments"])
    asked = f"{request['groupId']} generation {request['generationId']}"
    return asked + (
        f", assigns {count(given, 'member')}" if given else ""
    ), f"assignment of {len(response.get('assignment', b'')):,} bytes"


@summary("HEARTBEAT")
def heartbeat(request: Message, response: Message) -> tuple[str, str]:
    return f"{request['groupId']} generation {request['generationId']}", ""


@summary("LEAVE_GROUP")
def leave_group(request: Message, response: Message) -> tuple[str, str]:
    members = [each["memberId"] for each in request.get("members", ())] or [request.get("memberId", "")]
    return f"{request['groupId']}: {listed(members)}", ""


@summary("CONSUMER_GROUP_HEARTBEAT", "SHARE_GROUP_HEARTBEAT", "STREAMS_GROUP_HEARTBEAT")
def group_heartbeat(request: Message, response: Message) -> tuple[str, str]:
    epoch = request["memberEpoch"]
    state = {0: "joins", -1: "leaves", -2: "leaves for a while"}.get(epoch, f"epoch {epoch}")
    names = request.get("subscribedTopicNames")
    asked = f"{request['groupId']} {state}" + (f", {listed(names)}" if names else "")
    given = response.get("assignment")
    partitions = sum(len(each["partitions"]) for each in (given or {}).get("topicPartitions", ()))
    answer = f"epoch {response.get('memberEpoch')}"
    return asked, answer + (f", {count(partitions, 'partition')} assigned" if given is not None else "")


@summary("OFFSET_COMMIT", "TXN_OFFSET_COMMIT")
def offset_commit(request: Message, response: Message) -> tuple[str, str]:
    offsets = [
        f"{topic_name(topic)}[{each['partitionIndex']}] {each['committedOffset']}"
        for topic in topics_of(request) for each in partitions_of(topic)
    ]  # fmt: skip
    return f"{request['groupId']}: {listed(offsets)}", ""


@summary("OFFSET_FETCH")
def offset_fetch(request: Message, response: Message) -> tuple[str, str]:
    groups = request.get("groups", [request])
    results = [
        each
        for group in response.get("groups", [response])
        for topic in topics_of(group)
        for each in partitions_of(topic)
    ]
    known = sum(each["committedOffset"] >= 0 for each in results)
    return "; ".join(
        f"{each['groupId']}: {places(each) or 'all'}" for each in groups
    ), f"{known:,} of {count(len(results), 'partition')} committed"


@summary("INIT_PRODUCER_ID")
def init_producer_id(request: Message, response: Message) -> tuple[str, str]:
    return request.get(
        "transactionalId"
    ) or "idempotent", f"producer {response.get('producerId')} epoch {response.get('producerEpoch')}"


@summary("END_TXN")
def end_txn(request: Message, response: Message) -> tuple[str, str]:
    return f"{request['transactionalId']} {'commits' if request['committed'] else 'aborts'}", ""


@summary("ADD_PARTITIONS_TO_TXN")
def add_partitions(request: Message, response: Message) -> tuple[str, str]:
    each = request.get("transactions")
    if each is None:
        return f"{request.get('v3AndBelowTransactionalId')}: {places(request)}", ""
    verify = " (verify only)" if any(txn.get("verifyOnly") for txn in each) else ""
    return "; ".join(f"{txn['transactionalId']}: {places(txn)}" for txn in each[:SHOWN]) + verify, ""


@summary("SASL_HANDSHAKE")
def sasl_handshake(request: Message, response: Message) -> tuple[str, str]:
    return request["mechanism"], listed(response.get("mechanisms", ()))


@summary("SASL_AUTHENTICATE")
def sasl_authenticate(request: Message, response: Message) -> tuple[str, str]:
    return f"{len(request['authBytes'])} bytes", f"{len(response.get('authBytes') or b'')} bytes"


@summary("CREATE_TOPICS")
def create_topics(request: Message, response: Message) -> tuple[str, str]:
    made = [f"{each['name']} ({each['numPartitions']} x {each['replicationFactor']})" for each in request["topics"]]
    return listed(made), f"{sum(not each['errorCode'] for each in response.get('topics', ()))} created"


@summary("DELETE_TOPICS")
def delete_topics(request: Message, response: Message) -> tuple[str, str]:
    names = request.get("topicNames") or [topic_name(each) for each in request.get("topics", ())]
    return listed(names), f"{sum(not each['errorCode'] for each in response.get('responses', ()))} deleted"


@summary("FETCH_SNAPSHOT")
def fetch_snapshot(request: Message, response: Message) -> tuple[str, str]:
    asked = [
        f"{topic_name(topic)} {each['snapshotId']['endOffset']}-{each['snapshotId']['epoch']} from {each['position']:,}"
        for topic in topics_of(request) for each in partitions_of(topic)
    ]  # fmt: skip
    results = [
        f"{len(each.get('unalignedRecords') or b''):,} of {each['size']:,} bytes"
        for topic in topics_of(response) for each in partitions_of(topic)
    ]  # fmt: skip
    return listed(asked), listed(results)


@summary("VOTE")
def vote(request: Message, response: Message) -> tuple[str, str]:
    stands = [each for topic in topics_of(request) for each in partitions_of(topic)]
    verbs = ["asks about" if each.get("preVote") else "stands in" for each in stands]
    asked = [
        f"{each.get('replicaId')} {verb} epoch {each.get('replicaEpoch')}"
        for each, verb in zip(stands, verbs, strict=True)
    ]
    results = [
        "granted" if each["voteGranted"] else "refused"
        for topic in topics_of(response)
        for each in partitions_of(topic)
    ]
    return listed(asked), listed(results)


def anything(request: Message, response: Message) -> tuple[str, str]:
    """The values that stand out, of any message."""
    return places(request) or details(request), details(response)


def details(message: Message) -> str:
    parts = []
    for name, value in message.items():
        if name in QUIET or name.startswith("_") or value in (None, "", [], {}, -1, False):
            continue
        if isinstance(value, list):
            plain = all(isinstance(each, (str, int)) for each in value)
            parts.append(listed(map(str, value)) if plain else f"{len(value):,} {name}")
        elif isinstance(value, (str, int, float)):
            parts.append(cut(value) if isinstance(value, str) else f"{name} {value}")
    return listed(parts)
