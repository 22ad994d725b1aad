"""Names of settings in client libraries. Advice names settings as Java's client does."""

import re

# Software name in ApiVersions -> library. Java's client is left out: advice uses its names already.
LIBRARIES = {
    "librdkafka": "librdkafka",
    "confluent-kafka-python": "librdkafka",
    "confluent-kafka-go": "librdkafka",
    "confluent-kafka-dotnet": "librdkafka",
    "confluent-kafka-javascript": "librdkafka",
    "sarama": "sarama",
    "kgo": "franz-go",
    "kafka-python": "kafka-python",
}
# Only settings with another name than in Java. kafka-python writes Java's names with underscores.
NAMES = {
    "librdkafka": {
        "fetch.max.wait.ms": "fetch.wait.max.ms",
        "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
        "max.request.size": "message.max.bytes",
        "receive.buffer.bytes": "socket.receive.buffer.bytes",
        "send.buffer.bytes": "socket.send.buffer.bytes",
        "request.timeout.ms": "socket.timeout.ms (default 60000)",
        "max.poll.records": "the number for a consume_batch()",
        "CooperativeStickyAssignor": "partition.assignment.strategy=cooperative-sticky",
        "TCP keep-alive": "socket.keepalive.enable",
    },
    "sarama": {
        "linger.ms": "Producer.Flush.Frequency",
        "batch.size": "Producer.Flush.Bytes",
        "compression.type": "Producer.Compression",
        "enable.idempotence": "Producer.Idempotent",
        "max.request.size": "Producer.MaxMessageBytes",
        "fetch.max.wait.ms": "Consumer.MaxWaitTime",
        "fetch.min.bytes": "Consumer.Fetch.Min",
        "max.partition.fetch.bytes": "Consumer.Fetch.Default",
        "auto.offset.reset": "Consumer.Offsets.Initial",
        "enable.auto.commit": "Consumer.Offsets.AutoCommit.Enable",
        "auto.commit.interval.ms": "Consumer.Offsets.AutoCommit.Interval",
        "session.timeout.ms": "Consumer.Group.Session.Timeout",
        "heartbeat.interval.ms": "Consumer.Group.Heartbeat.Interval",
        "group.instance.id": "Consumer.Group.InstanceId",
        "metadata.max.age.ms": "Metadata.RefreshFrequency",
        "request.timeout.ms": "Net.ReadTimeout",
        "partition.assignment.strategy": "Consumer.Group.Rebalance.GroupStrategies",
        "transaction.timeout.ms": "Producer.Transaction.Timeout",
        "max.in.flight.requests.per.connection": "Net.MaxOpenRequests",
        "TCP keep-alive": "Net.KeepAlive",
    },
    "franz-go": {
        "linger.ms": "ProducerLinger",
        "batch.size": "ProducerBatchMaxBytes",
        "compression.type": "ProducerBatchCompression",
        "fetch.max.wait.ms": "FetchMaxWait",
        "fetch.min.bytes": "FetchMinBytes",
        "fetch.max.bytes": "FetchMaxBytes",
        "max.partition.fetch.bytes": "FetchMaxPartitionBytes",
        "max.poll.records": "PollRecords",
        "auto.offset.reset": "ConsumeResetOffset",
        "auto.commit.interval.ms": "AutoCommitInterval",
        "session.timeout.ms": "SessionTimeout",
        "heartbeat.interval.ms": "HeartbeatInterval",
        "group.instance.id": "InstanceID",
        "metadata.max.age.ms": "MetadataMaxAge",
        "request.timeout.ms": "RequestTimeoutOverhead",
        "connections.max.idle.ms": "ConnIdleTimeout",
        "partition.assignment.strategy": "Balancers",
        "transaction.timeout.ms": "TransactionTimeout",
        "CooperativeStickyAssignor": "CooperativeStickyBalancer",
        "delivery.timeout.ms": "RecordDeliveryTimeout",
        "max.in.flight.requests.per.connection": "MaxProduceRequestsInflightPerBroker",
    },
}
UNDERSCORED = {
    name: name.replace(".", "_")
    for name in (
        "linger.ms", "batch.size", "compression.type", "enable.idempotence", "max.request.size", "fetch.max.wait.ms",
        "fetch.min.bytes", "fetch.max.bytes", "max.partition.fetch.bytes", "max.poll.records", "max.poll.interval.ms",
        "auto.offset.reset", "enable.auto.commit", "auto.commit.interval.ms", "session.timeout.ms", "group.instance.id",
        "heartbeat.interval.ms", "metadata.max.age.ms", "request.timeout.ms", "connections.max.idle.ms",
        "receive.buffer.bytes", "send.buffer.bytes", "reconnect.backoff.max.ms", "security.protocol",
        "partition.assignment.strategy", "transaction.timeout.ms", "delivery.timeout.ms",
        "max.in.flight.requests.per.connection",
    )
}  # fmt: skip
NAMES["kafka-python"] = UNDERSCORED | {
    "CooperativeStickyAssignor": "partition_assignment_strategy=[CooperativeStickyAssignor] (since 3.0)",
    "TCP keep-alive": "socket_options",
}
SETTING = re.compile(
    "|".join(map(re.escape, sorted({name for each in NAMES.values() for name in each}, key=len)[::-1]))
)


def own_names(advice: str, library: str) -> str:
    """Return a library's names of the settings in an advice, as text to append to it."""
    names = NAMES[library]
    known = [each for each in dict.fromkeys(SETTING.findall(advice)) if each in names and names[each] not in advice]
    return f" ({library}: {', '.join(f'{each} is {names[each]}' for each in known)})" if known else ""
