"""Topic and broker configs by Kafka's names: types, defaults, and the broker config that is a topic config's default.

Every config of Kafka 4.4 is known. Those with an effect in this broker are here, the others in `unread_configs`. Other
names are refused, so that misspelt ones are noticed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kcli.broker.config_kinds import (
    ANY_LONG,
    BOOLEAN,
    CODECS,
    COUNT,
    FOREVER,
    GZIP_LEVEL,
    INT,
    LIMIT,
    LIST,
    LONG,
    LZ4_LEVEL,
    MIGRATION,
    PASSWORD,
    POLICIES,
    RATIO,
    SHORT,
    STRING,
    TIMESTAMP_TYPES,
    TYPES,
    ZSTD_LEVEL,
    ConfigType,
    int_from,
    keyword_type,
    long_from,
    throttled,
)
from kcli.broker.net.protocols import read_advertised
from kcli.broker.security.principal_rules import read_rules
from kcli.broker.storage.log import LogSettings
from kcli.broker.unread_configs import UNREAD
from kcli.errors import UsageError
from kcli.nearest import suggestion
from kcli.schemas.defaults import boolean
from kcli.snapshots.rules.policy import DEFAULTS, MAX_BYTES, MAX_INTERVAL, MAX_LAG, MIN_RECORDS

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS
MIN_IN_SYNC = "min.insync.replicas"
# The sources of a value, by their numbers in DescribeConfigs.
OWN_TOPIC, ONE_BROKER, ALL_BROKERS, STATIC, DEFAULT = range(1, 6)


class Config(NamedTuple):
    """A config. broker_name: the broker config that is the default of a topic's, "" if there is none.

    dynamic: it may change while the broker runs; read: it has an effect here; default: None if Kafka has null.
    """

    name: str
    default: str | None
    kind: ConfigType
    broker_name: str = ""
    dynamic: bool = True
    read: bool = True

    @property
    def is_sensitive(self) -> bool:
        """Return whether the config's value is never shown."""
        return self.kind.name == "password"


def table(*rows: Config) -> dict[str, Config]:
    """Return configs by their names."""
    return {each.name: each for each in rows}


def unread(name: str, default: str, kind: ConfigType, broker_name: str = "") -> Config:
    return Config(name, default, kind, broker_name, read=False)


def fixed(name: str, default: str | None, kind: ConfigType) -> Config:
    """Make a broker config that only a restart changes."""
    return Config(name, default, kind, dynamic=False)


def unread_rows(text: str) -> Iterator[Config]:
    """Parse rows in the form of `unread_configs`."""
    for line in text.strip().splitlines():
        head, equals, default = line.partition(" = ") if " = " in line else line.partition(" =")
        name, kind = head.split()
        dynamic = kind.endswith("+")
        yield Config(name, default if equals else None, TYPES[kind.rstrip("+")], dynamic=dynamic, read=False)


TOPIC: Mapping[str, Config] = table(
    Config("cleanup.policy", "delete", POLICIES, "log.cleanup.policy"),
    Config("compression.gzip.level", "-1", GZIP_LEVEL, "compression.gzip.level"),
    Config("compression.lz4.level", "9", LZ4_LEVEL, "compression.lz4.level"),
    Config("compression.type", "producer", CODECS, "compression.type"),
    Config("compression.zstd.level", "3", ZSTD_LEVEL, "compression.zstd.level"),
    Config("delete.retention.ms", "86400000", LONG, "log.cleaner.delete.retention.ms"),
    unread("errors.deadletterqueue.group.enable", "false", BOOLEAN),
    unread("file.delete.delay.ms", "60000", LONG, "log.segment.delete.delay.ms"),
    unread("flush.messages", str(FOREVER), long_from(1), "log.flush.interval.messages"),
    unread("flush.ms", str(FOREVER), LONG, "log.flush.interval.ms"),
    unread("follower.replication.throttled.replicas", "", ConfigType(7, "list", throttled)),
    Config("index.interval.bytes", "4096", INT, "log.index.interval.bytes"),
    unread("leader.replication.throttled.replicas", "", ConfigType(7, "list", throttled)),
    Config("local.retention.bytes", "-2", LIMIT, "log.local.retention.bytes"),
    Config("local.retention.ms", "-2", LIMIT, "log.local.retention.ms"),
    Config("max.compaction.lag.ms", str(FOREVER), long_from(1), "log.cleaner.max.compaction.lag.ms"),
    unread("max.decompressed.message.bytes", "2147483639", INT, "max.decompressed.message.bytes"),
    Config("max.message.bytes", "1048588", INT, "message.max.bytes"),
    Config("message.downconversion.enable", "true", BOOLEAN, "log.message.downconversion.enable"),
    Config("message.timestamp.after.max.ms", "3600000", LONG, "log.message.timestamp.after.max.ms"),
    Config("message.timestamp.before.max.ms", str(FOREVER), LONG, "log.message.timestamp.before.max.ms"),
    Config("message.timestamp.type", "CreateTime", TIMESTAMP_TYPES, "log.message.timestamp.type"),
    Config("min.cleanable.dirty.ratio", "0.5", RATIO, "log.cleaner.min.cleanable.ratio"),
    Config("min.compaction.lag.ms", "0", LONG, "log.cleaner.min.compaction.lag.ms"),
    Config(MIN_IN_SYNC, "1", COUNT, MIN_IN_SYNC),
    unread("preallocate", "false", BOOLEAN, "log.preallocate"),
    unread("remote.copy.lag.bytes", "-1", LIMIT, "log.remote.copy.lag.bytes"),
    unread("remote.copy.lag.ms", "0", LIMIT, "log.remote.copy.lag.ms"),
    unread("remote.log.copy.disable", "false", BOOLEAN),
    unread("remote.log.delete.on.disable", "false", BOOLEAN),
    Config("remote.storage.enable", "false", BOOLEAN),
    Config("retention.bytes", "-1", ANY_LONG, "log.retention.bytes"),
    Config("retention.ms", str(WEEK_MS), long_from(-1), "log.retention.ms"),
    # Kafka's minimum is 1048576; smaller segments are for tests.
    Config("segment.bytes", str(1 << 30), int_from(14), "log.segment.bytes"),
    unread("segment.index.bytes", "10485760", int_from(4), "log.index.size.max.bytes"),
    unread("segment.jitter.ms", "0", LONG, "log.roll.jitter.ms"),
    Config("segment.ms", str(WEEK_MS), long_from(1), "log.roll.ms"),
    Config("unclean.leader.election.enable", "false", BOOLEAN, "unclean.leader.election.enable"),
)
# Topic configs of older releases and drafts: they are accepted, stored, and described for topics that set them.
FORMER = frozenset(["message.format.version", "message.timestamp.difference.max.ms", "remote.copy.disable"])
# Configs that Kafka 4.4 does not have; DescribeConfigs shows them only if they were set.
OF_KCLI = frozenset(
    [
        "allow.everyone.if.no.acl.found",  # a config of Kafka's authorizer
        "cluster.id",
        MIN_RECORDS,
        "log.message.downconversion.enable",
        MAX_LAG,
        "message.downconversion.chunk.bytes",
        "message.downconversion.enable",
        "remote.read.latency.ms",
        "super.users",  # a config of Kafka's authorizer
    ]
)
# The configs that apply if one in ms is not set, the first in order of precedence, with the ms of their units.
FALLBACKS: Mapping[str, tuple[tuple[str, int], ...]] = {
    "log.retention.ms": (("log.retention.minutes", MINUTE_MS), ("log.retention.hours", HOUR_MS)),
    "log.roll.ms": (("log.roll.hours", HOUR_MS),),
}

# Configs that have an effect for one listener, with `listener.name.NAME.` before their names.
JAAS = "sasl.jaas.config"
RELOADED = re.compile(r"ssl\.(keystore|truststore)\..*|ssl\.key\.password")
OF_LISTENERS = re.compile(
    rf"{RELOADED.pattern}|ssl\.(client\.auth|cipher\.suites|enabled\.protocols|principal\.mapping\.rules|allow\..*)"
)
OF_LOGINS = re.compile(
    rf"{re.escape(JAAS)}|sasl\.enabled\.mechanisms|sasl\.oauthbearer\..*|connections\.max\.reauth\.ms"
)
OF_ONE_BROKER = re.compile(
    r"(ssl|sasl)\..*|listeners|listener\.security\.protocol\.map|cordoned\.log\.dirs|principal\.builder\.class"
)
# Configs of one listener that may change for all brokers at once.
OF_ALL_LISTENERS = frozenset(["max.connections", "max.connection.creation.rate", "num.network.threads"])
LISTENER_NAME = re.compile(r"listener\.name\.([^.]+)\.(.+)")

BROKER: Mapping[str, Config] = table(
    *unread_rows(UNREAD),
    fixed("allow.everyone.if.no.acl.found", "false", BOOLEAN),
    fixed("advertised.listeners", "", ConfigType(7, "list", read_advertised)),
    fixed("authorizer.class.name", "", STRING),
    fixed("auto.create.topics.enable", "true", BOOLEAN),
    fixed("cluster.id", "", STRING),
    Config("compression.gzip.level", "-1", GZIP_LEVEL),
    Config("compression.lz4.level", "9", LZ4_LEVEL),
    Config("compression.type", "producer", CODECS),
    Config("compression.zstd.level", "3", ZSTD_LEVEL),
    fixed("connection.failed.authentication.delay.ms", "100", INT),
    fixed("connections.max.idle.ms", "600000", long_from(-1)),
    fixed("broker.rack", None, STRING),
    fixed("connections.max.reauth.ms", "0", ANY_LONG),
    fixed(MIN_RECORDS, str(DEFAULTS[MIN_RECORDS]), LONG),
    fixed("default.replication.factor", "1", COUNT),
    fixed("delete.topic.enable", "true", BOOLEAN),
    fixed("fetch.max.bytes", "57671680", INT),
    fixed("group.consumer.assignors", "uniform,range", LIST),
    fixed("group.consumer.heartbeat.interval.ms", "5000", COUNT),
    fixed("group.consumer.max.heartbeat.interval.ms", "15000", COUNT),
    fixed("group.consumer.max.session.timeout.ms", "60000", COUNT),
    fixed("group.consumer.max.size", "2147483647", COUNT),
    fixed("group.consumer.migration.policy", "bidirectional", MIGRATION),
    fixed("group.consumer.min.heartbeat.interval.ms", "5000", COUNT),
    fixed("group.consumer.min.session.timeout.ms", "45000", COUNT),
    fixed("group.consumer.session.timeout.ms", "45000", COUNT),
    # Kafka waits 3 s for more members of a new group. Here the default is 0, so that tests are fast.
    fixed("group.initial.rebalance.delay.ms", "0", INT),
    fixed("group.max.session.timeout.ms", "1800000", INT),
    fixed("group.min.session.timeout.ms", "6000", INT),
    fixed("group.share.delivery.count.limit", "5", COUNT),
    fixed("group.share.heartbeat.interval.ms", "5000", COUNT),
    fixed("group.share.max.delivery.count.limit", "10", COUNT),
    fixed("group.share.max.heartbeat.interval.ms", "15000", COUNT),
    fixed("group.share.max.partition.max.record.locks", "4000", COUNT),
    fixed("group.share.max.record.lock.duration.ms", "60000", COUNT),
    fixed("group.share.max.session.timeout.ms", "60000", COUNT),
    fixed("group.share.max.share.sessions", "2000", COUNT),
    fixed("group.share.max.size", "200", COUNT),
    fixed("group.share.min.delivery.count.limit", "2", COUNT),
    fixed("group.share.min.heartbeat.interval.ms", "5000", COUNT),
    fixed("group.share.min.partition.max.record.locks", "100", COUNT),
    fixed("group.share.min.record.lock.duration.ms", "15000", COUNT),
    fixed("group.share.min.session.timeout.ms", "45000", COUNT),
    fixed("group.share.partition.max.record.locks", "2000", COUNT),
    fixed("group.share.record.lock.duration.ms", "30000", COUNT),
    fixed("group.share.session.timeout.ms", "45000", COUNT),
    Config("log.cleaner.backoff.ms", "15000", LONG),
    Config("log.cleaner.delete.retention.ms", "86400000", LONG),
    fixed("log.cleaner.enable", "true", BOOLEAN),
    Config("log.cleaner.max.compaction.lag.ms", str(FOREVER), long_from(1)),
    Config("log.cleaner.min.cleanable.ratio", "0.5", RATIO),
    Config("log.cleaner.min.compaction.lag.ms", "0", LONG),
    Config("log.cleanup.policy", "delete", POLICIES),
    Config("log.index.interval.bytes", "4096", INT),
    Config("log.local.retention.bytes", "-2", LIMIT),
    Config("log.local.retention.ms", "-2", LIMIT),
    Config("log.message.downconversion.enable", "true", BOOLEAN),
    Config("log.message.timestamp.after.max.ms", "3600000", LONG),
    Config("log.message.timestamp.before.max.ms", str(FOREVER), LONG),
    Config("log.message.timestamp.type", "CreateTime", TIMESTAMP_TYPES),
    Config("log.retention.bytes", "-1", ANY_LONG),
    fixed("log.retention.check.interval.ms", "300000", long_from(1)),
    fixed("log.retention.hours", "168", int_from(-1)),
    fixed("log.retention.minutes", None, int_from(-1)),
    fixed(MAX_LAG, str(DEFAULTS[MAX_LAG]), LONG),
    Config("log.retention.ms", None, ANY_LONG),
    fixed("log.roll.hours", "168", COUNT),
    Config("log.roll.ms", None, long_from(1)),
    Config("log.segment.bytes", str(1 << 30), int_from(14)),
    fixed("max.incremental.fetch.session.cache.slots", "1000", INT),
    fixed("message.downconversion.chunk.bytes", "131072", COUNT),
    Config("message.max.bytes", "1048588", INT),
    fixed(MAX_BYTES, str(DEFAULTS[MAX_BYTES]), long_from(1)),
    fixed(MAX_INTERVAL, str(DEFAULTS[MAX_INTERVAL]), LONG),
    Config(MIN_IN_SYNC, "1", COUNT),
    fixed("node.id", "1", INT),
    fixed("num.partitions", "1", COUNT),
    fixed("offset.metadata.max.bytes", "4096", INT),
    fixed("offsets.topic.num.partitions", "50", COUNT),
    fixed("offsets.topic.replication.factor", "3", SHORT),
    fixed("quota.window.num", "11", COUNT),
    fixed("quota.window.size.seconds", "1", COUNT),
    fixed("remote.read.latency.ms", "0", LONG),
    # As in Kafka a change at run time has no effect on running listeners until the next start.
    Config("sasl.enabled.mechanisms", "GSSAPI", LIST),
    fixed("sasl.oauthbearer.clock.skew.seconds", "30", INT),
    fixed("sasl.oauthbearer.expected.audience", "", LIST),
    fixed("sasl.oauthbearer.expected.issuer", None, STRING),
    fixed("sasl.oauthbearer.jwks.endpoint.url", None, STRING),
    fixed("sasl.oauthbearer.sub.claim.name", "sub", STRING),
    fixed("share.coordinator.state.topic.num.partitions", "50", COUNT),
    fixed("socket.request.max.bytes", "104857600", COUNT),
    fixed("ssl.allow.dn.changes", "false", BOOLEAN),
    fixed("ssl.allow.san.changes", "false", BOOLEAN),
    Config("ssl.cipher.suites", "", LIST),
    Config("ssl.client.auth", "none", keyword_type("required", "requested", "none")),
    Config("ssl.enabled.protocols", "TLSv1.2,TLSv1.3", LIST),
    Config("ssl.key.password", None, PASSWORD),
    Config("ssl.keystore.certificate.chain", None, PASSWORD),
    Config("ssl.keystore.key", None, PASSWORD),
    Config("ssl.keystore.location", None, STRING),
    Config("ssl.keystore.password", None, PASSWORD),
    Config("ssl.keystore.type", "JKS", STRING),
    fixed("ssl.principal.mapping.rules", "DEFAULT", ConfigType(2, "string", read_rules)),
    Config("ssl.truststore.certificates", None, PASSWORD),
    Config("ssl.truststore.location", None, STRING),
    Config("ssl.truststore.password", None, PASSWORD),
    Config("ssl.truststore.type", "JKS", STRING),
    fixed("super.users", "", STRING),
    fixed("transaction.max.timeout.ms", "900000", COUNT),
    fixed("transaction.state.log.num.partitions", "50", COUNT),
    fixed("transaction.state.log.replication.factor", "3", SHORT),
    Config("unclean.leader.election.enable", "false", BOOLEAN),
)


def parse(known: Mapping[str, Config], name: str, text: str) -> object:
    """Return the value of a config. Raises UsageError for an unknown config or an invalid value."""
    config = known.get(name)
    if config is None:
        raise UsageError(unknown(known, name))
    try:
        return config.kind.parse(text)
    except ValueError as error:
        reason = "a number expected" if "could not convert" in str(error) else str(error)
        reason = "a whole number expected" if "invalid literal" in reason else reason
        raise UsageError(f"{name}={text}: {reason}") from None


def base_name(name: str) -> str | None:
    """Return the broker config after `listener.name.NAME.` or `listener.name.NAME.MECHANISM.`, or None."""
    found = LISTENER_NAME.fullmatch(name)
    rests = (found[2], found[2].partition(".")[2]) if found is not None else ()
    return next((each for each in rests if each in BROKER), None)


def is_of_one_broker(name: str) -> bool:
    """Return whether a config may change only for one broker: most configs of listeners and their protection."""
    found = LISTENER_NAME.fullmatch(name)
    if found is not None:
        return found[2] not in OF_ALL_LISTENERS
    config = BROKER.get(name)
    return config is not None and config.dynamic and OF_ONE_BROKER.fullmatch(name) is not None


def broker_config(name: str) -> Config | None:
    """Return a config of the broker or of one listener by its name; None if there is no such config."""
    if name in BROKER:
        return BROKER[name]
    base = base_name(name)
    if base is None:
        return None
    has_effect = OF_LISTENERS.fullmatch(base) or OF_LOGINS.fullmatch(base)
    return BROKER[base]._replace(name=name, read=has_effect is not None)


def unknown(known: Mapping[str, Config], name: str) -> str:
    return f"{name}: no such config here{suggestion(name, known)}"


class Value(NamedTuple):
    """A value of a config. name: the config that was set, which may be a fallback. source: its number."""

    name: str
    text: str | None
    source: int


class Configs:
    """A broker's configs, which are also the defaults of its topics' configs.

    static: set at the start; dynamic: changed since then, by node id, "" for all. All nodes share one set of configs: a
    change for one node has an effect on the others, too.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        """Check and keep static configs. Raises UsageError for an unknown config or an invalid value."""
        self.static = dict(settings or {})
        self.dynamic: dict[str, dict[str, str]] = {}
        self._texts: dict[str, str] = {}  # a cache, as requests look up the same configs
        for name, text in self.static.items():
            parse({name: found} if (found := broker_config(name)) is not None else BROKER, name, text)

    def without_effect(self) -> list[str]:
        """Return the names of static configs that have no effect here."""
        return [name for name in self.static if not (config := broker_config(name)) or not config.read]

    def values(self, name: str, broker: str | None = None) -> Iterator[Value]:
        """Yield the values of a config from all sources, the effective one first. broker: the id of a node; only
        dynamic values of this one and of all nodes. None: those of every node.
        """
        own = sorted(self.dynamic) if broker is None else [broker]
        for each in (one for one in own if one and name in self.dynamic.get(one, ())):
            yield Value(name, self.dynamic[each][name], ONE_BROKER)
        if name in self.dynamic.get("", ()):
            yield Value(name, self.dynamic[""][name], ALL_BROKERS)
        if name in self.static:
            yield Value(name, self.static[name], STATIC)
        config = BROKER.get(name)
        if config is not None and config.default is not None:
            yield Value(name, config.default, DEFAULT)
        for other, _ in FALLBACKS.get(name, ()):
            yield from self.values(other, broker)
        if config is None and (base := base_name(name)) is not None:
            yield from self.values(base, broker)

    def described(self, name: str, broker: str | None = None) -> list[Value]:
        """Return the values of a config in the order in which Kafka describes them, by source.

        Values of fallbacks (hours for ms) before the first value of the config itself are left out.
        """
        values = sorted(self.values(name, broker), key=lambda each: each.source)
        return list(itertools.dropwhile(lambda each: each.name != name, values))

    def text(self, name: str) -> str:
        """Return the value of a config as text, "" for null."""
        if name not in self._texts:
            self._texts[name] = next((each.text or "" for each in self.values(name)), "")
        return self._texts[name]

    def ms(self, name: str) -> int:
        """Return in ms a time that may be set in ms, minutes or hours; -1 for no limit."""
        found = next(self.values(name))
        units = dict(FALLBACKS.get(name, ()))
        count = int(found.text or "-1")
        return count * units.get(found.name, 1) if count >= 0 else count

    def int(self, name: str) -> int:
        """Return the value of a config with a whole number."""
        return int(self.text(name))

    def bool(self, name: str) -> bool:
        """Return the value of a config that is true or false."""
        return boolean(self.text(name))

    def with_changes(self, changes: Mapping[str, str | None], broker: str = "") -> Configs:
        """Return a copy of these configs with changes for a broker, "" for all. None removes a config.

        Raises UsageError for an invalid value.
        """
        made = Configs()
        made.static = self.static
        made.dynamic = {name: dict(own) for name, own in self.dynamic.items()}
        for name, text in changes.items():
            made.set(name, text, broker)
        return made

    def set(self, name: str, text: str | None, broker: str = "") -> None:
        """Set a config of all brokers or of one, or remove it (None). Raises UsageError for an invalid value."""
        changed = self.dynamic.setdefault(broker, {})
        self._texts.clear()
        if text is None:
            changed.pop(name, None)
            return
        if name in BROKER:
            parse(BROKER, name, text)
        changed[name] = text

    def of_topic(self, own: Mapping[str, str]) -> TopicConfigs:
        """Return the configs of a topic. own: those that it sets itself."""
        return TopicConfigs(self, own)

    def topic_text(self, config: Config) -> str:
        """Return the value of a topic config for a topic that does not set it."""
        if config.broker_name in FALLBACKS:
            return str(self.ms(config.broker_name))
        broker_text = next(self.values(config.broker_name), None) if config.broker_name else None
        return broker_text.text or "" if broker_text is not None else config.default or ""


class TopicConfigs:
    """The effective configs of a topic: its own, and else the broker's. They are computed once."""

    def __init__(self, broker: Configs, own: Mapping[str, str]) -> None:
        self.own = dict(own)
        self.texts = {name: self.own.get(name, broker.topic_text(each)) for name, each in TOPIC.items()}
        number = {name: int(self.texts[name]) for name, each in TOPIC.items() if each.kind.name in ("int", "long")}
        self.max_message_bytes = number["max.message.bytes"]
        self.retention_ms, self.retention_bytes = number["retention.ms"], number["retention.bytes"]
        self.local_retention_ms = number["local.retention.ms"]
        self.local_retention_bytes = number["local.retention.bytes"]
        self.delete_retention_ms = number["delete.retention.ms"]
        self.compaction_lags = number["min.compaction.lag.ms"], number["max.compaction.lag.ms"]
        self.dirty_ratio = float(self.texts["min.cleanable.dirty.ratio"])
        self.timestamp_limits = number["message.timestamp.before.max.ms"], number["message.timestamp.after.max.ms"]
        self.min_in_sync = number[MIN_IN_SYNC]
        self.append_time = self.texts["message.timestamp.type"] == "LogAppendTime"
        self.compacted = "compact" in self.texts["cleanup.policy"]
        self.deletes = "delete" in self.texts["cleanup.policy"]
        codec = self.texts["compression.type"]
        level = number.get(f"compression.{codec}.level", -1)
        # The codec and level of stored batches; None: batches are stored as the producer sent them.
        self.codec = None if codec == "producer" else (codec, None if codec == "gzip" and level < 0 else level)
        # Kafka 3 does not upgrade messages of magic 0 and 1 if the topic's format is of a release before 0.11.
        self.keeps_old_magic = own.get("message.format.version", "").startswith(("0.8", "0.9", "0.10"))
        self.unclean = boolean(self.texts["unclean.leader.election.enable"])
        self.down_converts = boolean(self.texts["message.downconversion.enable"])
        self.tiered = boolean(self.texts["remote.storage.enable"])
        self.settings = LogSettings(number["segment.bytes"], number["segment.ms"], number["index.interval.bytes"])


def racks_of(configs: Configs, nodes: int) -> list[str | None]:
    """Return the racks of so many nodes: broker.rack is that of all, or has one for each, separated by commas.

    Raises UsageError for another number of them.
    """
    text = configs.text("broker.rack")
    racks = [each.strip() for each in text.split(",")] if nodes > 1 else [text]
    if len(racks) not in (1, nodes):
        raise UsageError(f"broker.rack={text}: {len(racks)} racks: 1 or {nodes} expected, one for each node")
    return [each or None for each in (racks if len(racks) == nodes else racks * nodes)]
