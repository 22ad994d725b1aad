"""Summaries of versions, metadata, authentication, administration and KRaft."""

from kcli.cli.decode.pcap.summaries import Message, Summary
from kcli.cli.decode.pcap.summaries.phrases import listed
from kcli.cli.decode.pcap.summaries.topic_partitions import partitions_of, topic_name, topics_of
from kcli.counting import counted


def api_versions(request: Message, response: Message) -> tuple[str, str]:
    software = f"{request.get('clientSoftwareName', '')} {request.get('clientSoftwareVersion', '')}".strip()
    return software, counted(len(response.get("apiKeys", ())), "API")


def metadata(request: Message, response: Message) -> tuple[str, str]:
    topics = request.get("topics")
    request_text = "all topics" if topics is None else listed(topic_name(each) for each in topics) or "no topics"
    results = response.get("topics", ())
    partitions = sum(len(each.get("partitions", ())) for each in results)
    parts = (
        counted(len(response.get("brokers", ())), "broker"),
        counted(len(results), "topic"),
        counted(partitions, "partition"),
    )
    return request_text, ", ".join(parts)


def sasl_handshake(request: Message, response: Message) -> tuple[str, str]:
    return request["mechanism"], listed(response.get("mechanisms", ()))


def sasl_authenticate(request: Message, response: Message) -> tuple[str, str]:
    return f"{len(request['authBytes'])} bytes", f"{len(response.get('authBytes') or b'')} bytes"


def create_topics(request: Message, response: Message) -> tuple[str, str]:
    made = [f"{each['name']} ({each['numPartitions']} x {each['replicationFactor']})" for each in request["topics"]]
    return listed(made), f"{sum(not each['errorCode'] for each in response.get('topics', ()))} created"


def delete_topics(request: Message, response: Message) -> tuple[str, str]:
    names = request.get("topicNames") or [topic_name(each) for each in request.get("topics", ())]
    return listed(names), f"{sum(not each['errorCode'] for each in response.get('responses', ()))} deleted"


def fetch_snapshot(request: Message, response: Message) -> tuple[str, str]:
    request_text = [
        f"{topic_name(topic)} {each['snapshotId']['endOffset']}-{each['snapshotId']['epoch']} from {each['position']:,}"
        for topic in topics_of(request) for each in partitions_of(topic)
    ]  # fmt: skip
    results = [
        f"{len(each.get('unalignedRecords') or b''):,} of {each['size']:,} bytes"
        for topic in topics_of(response) for each in partitions_of(topic)
    ]  # fmt: skip
    return listed(request_text), listed(results)


def vote(request: Message, response: Message) -> tuple[str, str]:
    stands = [each for topic in topics_of(request) for each in partitions_of(topic)]
    verbs = ["asks about" if each.get("preVote") else "stands in" for each in stands]
    request_text = [
        f"{each.get('replicaId')} {verb} epoch {each.get('replicaEpoch')}"
        for each, verb in zip(stands, verbs, strict=True)
    ]
    results = [
        "granted" if each["voteGranted"] else "refused"
        for topic in topics_of(response)
        for each in partitions_of(topic)
    ]
    return listed(request_text), listed(results)


SUMMARIES: dict[str, Summary] = {
    "API_VERSIONS": api_versions,
    "CREATE_TOPICS": create_topics,
    "DELETE_TOPICS": delete_topics,
    "FETCH_SNAPSHOT": fetch_snapshot,
    "METADATA": metadata,
    "SASL_AUTHENTICATE": sasl_authenticate,
    "SASL_HANDSHAKE": sasl_handshake,
    "VOTE": vote,
}
