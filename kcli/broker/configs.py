"""Topic and broker configs by Kafka's names: their types, defaults and what a broker's config is for its topics.

Only configs that this broker uses are here; others are refused by name, so that a misspelt one is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kcli.broker.storage.log import LogSettings
from kcli.errors import UsageError

LISTENER = re.compile(r"PLAINTEXT://(?P<host>[^/:\[\]]+|\[[^\]]+\]):(?P<port>\d+)")
WEEK_MS = 7 * 24 * 3600 * 1000


class Kind(NamedTuple):
    """A type of value: its number in DescribeConfigs, its name, and how text becomes a value (ValueError)."""

    number: int
    name: str
    parse: Callable[[str], object]


def boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false expected")
    return text.lower() == "true"


def whole(lo: int, hi: int) -> Callable[[str], int]:
    def parse_whole(text: str) -> int:
        value = int(text)
        if not lo <= value <= hi:
            raise ValueError(f"{lo} to {hi} expected")
        return value

    return parse_whole


def one_of(*names: str) -> Callable[[str], str]:
    def parse_name(text: str) -> str:
        if text not in names:
            raise ValueError(f"{', '.join(names)} expected")
        return text

    return parse_name


def policies(text: str) -> str:
    """Parse the policies of a topic other than the metadata log, whose policy is `snapshot` (KIP-630)."""
    for each in text.split(","):
        one_of("delete", "compact")(each.strip())
    return text


BOOLEAN = Kind(1, "boolean", boolean)
STRING = Kind(2, "string", str)
INT = Kind(3, "int", whole(0, 2**31 - 1))
COUNT = Kind(3, "int", whole(1, 2**31 - 1))
LONG = Kind(5, "long", whole(0, 2**63 - 1))
LIMIT = Kind(5, "long", whole(-2, 2**63 - 1))
LIST = Kind(7, "list", policies)


def listener(text: str) -> str:
    if text and not LISTENER.fullmatch(text):
        raise ValueError("PLAINTEXT://HOST:PORT expected")
    return text


class Config(NamedTuple):
    """One config. broker_name: what the broker's own config of the same meaning is called ("" when there is none)."""

    name: str
    default: str
    kind: Kind
    broker_name: str = ""


def table(*rows: Config) -> Mapping[str, Config]:
    return {each.name: each for each in rows}


TOPIC: Mapping[str, Config] = table(
    Config("cleanup.policy", "delete", LIST, "log.cleanup.policy"),
    Config(
        "compression.type",
        "producer",
        Kind(2, "string", one_of("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")),
        "compression.type",
    ),
    Config("index.interval.bytes", "4096", INT, "log.index.interval.bytes"),
    Config("local.retention.bytes", "-2", LIMIT, "log.local.retention.bytes"),
    Config("local.retention.ms", "-2", LIMIT, "log.local.retention.ms"),
    Config("max.message.bytes", "1048588", INT, "message.max.bytes"),
    Config("message.downconversion.enable", "true", BOOLEAN, "log.message.downconversion.enable"),
    Config(
        "message.timestamp.type",
        "CreateTime",
        Kind(2, "string", one_of("CreateTime", "LogAppendTime")),
        "log.message.timestamp.type",
    ),
    Config("min.insync.replicas", "1", COUNT, "min.insync.replicas"),
    Config("remote.storage.enable", "false", BOOLEAN),
    Config("retention.bytes", "-1", LIMIT, "log.retention.bytes"),
    Config("retention.ms", str(WEEK_MS), LIMIT, "log.retention.ms"),
    Config("segment.bytes", str(1 << 30), Kind(3, "int", whole(14, 2**31 - 1)), "log.segment.bytes"),
    Config("segment.ms", str(WEEK_MS), Kind(5, "long", whole(1, 2**63 - 1)), "log.roll.ms"),
)

BROKER: Mapping[str, Config] = table(
    Config("advertised.listeners", "", Kind(2, "string", listener)),
    Config("auto.create.topics.enable", "true", BOOLEAN),
    Config("cluster.id", "", STRING),
    Config("compression.type", "producer", STRING),
    Config("connections.max.idle.ms", "600000", Kind(5, "long", whole(-1, 2**63 - 1))),
    Config("controller.snapshot.minimum.records", "0", LONG),
    Config("default.replication.factor", "1", COUNT),
    Config("delete.topic.enable", "true", BOOLEAN),
    Config("fetch.max.bytes", "57671680", INT),
    # Kafka waits 3 s for more members of a new group; here the default is not to wait, for tests.
    Config("group.initial.rebalance.delay.ms", "0", INT),
    Config("group.max.session.timeout.ms", "1800000", INT),
    Config("group.min.session.timeout.ms", "6000", INT),
    Config("log.cleanup.policy", "delete", LIST),
    Config("log.index.interval.bytes", "4096", INT),
    Config("log.local.retention.bytes", "-2", LIMIT),
    Config("log.local.retention.ms", "-2", LIMIT),
    Config("log.message.downconversion.enable", "true", BOOLEAN),
    Config("log.message.timestamp.type", "CreateTime", STRING),
    Config("log.retention.bytes", "-1", LIMIT),
    Config("log.retention.check.interval.ms", "300000", Kind(5, "long", whole(1, 2**63 - 1))),
    Config("log.retention.ms", str(WEEK_MS), LIMIT),
    Config("log.roll.ms", str(WEEK_MS), LONG),
    Config("log.segment.bytes", str(1 << 30), Kind(3, "int", whole(14, 2**31 - 1))),
    Config("max.incremental.fetch.session.cache.slots", "1000", INT),
    Config("message.downconversion.chunk.bytes", "131072", COUNT),
    Config("message.max.bytes", "1048588", INT),
    Config("metadata.log.max.record.bytes.between.snapshots", "20971520", COUNT),
    Config("metadata.log.max.snapshot.interval.ms", "3600000", LONG),
    Config("min.insync.replicas", "1", COUNT),
    Config("node.id", "1", INT),
    Config("num.partitions", "1", COUNT),
    Config("offset.metadata.max.bytes", "4096", INT),
    Config("offsets.topic.num.partitions", "50", COUNT),
    Config("remote.read.latency.ms", "0", LONG),
    Config("share.coordinator.state.topic.num.partitions", "50", COUNT),
    Config("socket.request.max.bytes", "104857600", COUNT),
    Config("transaction.max.timeout.ms", "900000", COUNT),
    Config("transaction.state.log.num.partitions", "50", COUNT),
)


def parse(known: Mapping[str, Config], name: str, text: str) -> object:
    """The value of a config. UsageError: no such config, or no such value."""
    config = known.get(name)
    if config is None:
        raise UsageError(unknown(known, name))
    try:
        return config.kind.parse(text)
    except ValueError as error:
        reason = "a whole number expected" if "invalid literal" in str(error) else str(error)
        raise UsageError(f"{name}={text}: {reason}") from None


def unknown(known: Mapping[str, Config], name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, 1)
    return f"{name}: no such config here" + (f"; did you mean {near[0]}?" if near else "")


class Configs:
    """A broker's own configs, and from them those of a topic that has some of its own."""

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        """UsageError names the config that is unknown or has no such value."""
        self.given = dict(given or {})
        for name, text in self.given.items():
            parse(BROKER, name, text)

    def text(self, name: str) -> str:
        """The value of a config as text."""
        return self.given.get(name, BROKER[name].default)

    def int(self, name: str) -> int:
        """The value of a config that is a number."""
        return int(self.text(name))

    def bool(self, name: str) -> bool:
        """The value of a config that is true or false."""
        return boolean(self.text(name))

    def set(self, name: str, text: str | None) -> None:
        """Change one, or back to its default with None. UsageError."""
        if text is None:
            self.given.pop(name, None)
            return
        parse(BROKER, name, text)
        self.given[name] = text

    def of_topic(self, own: Mapping[str, str]) -> TopicConfigs:
        """The configs of a topic that has these of its own. UsageError: no such config, or no such value."""
        return TopicConfigs(self, own)


class TopicConfigs:
    """The configs of one topic, computed once: its own over the broker's."""

    def __init__(self, broker: Configs, own: Mapping[str, str]) -> None:
        self.own = dict(own)
        self.texts = {
            name: self.own.get(name, broker.text(each.broker_name) if each.broker_name else each.default)
            for name, each in TOPIC.items()
        }
        number = {name: int(self.texts[name]) for name, each in TOPIC.items() if each.kind.name in ("int", "long")}
        self.max_message_bytes = number["max.message.bytes"]
        self.retention_ms, self.retention_bytes = number["retention.ms"], number["retention.bytes"]
        self.local_retention_ms = number["local.retention.ms"]
        self.local_retention_bytes = number["local.retention.bytes"]
        self.append_time = self.texts["message.timestamp.type"] == "LogAppendTime"
        self.compacted = "compact" in self.texts["cleanup.policy"]
        self.deletes = "delete" in self.texts["cleanup.policy"]
        self.down_converts = boolean(self.texts["message.downconversion.enable"])
        self.tiered = boolean(self.texts["remote.storage.enable"])
        self.settings = LogSettings(number["segment.bytes"], number["segment.ms"], number["index.interval.bytes"])
