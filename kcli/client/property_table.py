"""Kafka's client properties: their names, types and defaults, and whether kcli's client acts on them.

Names, types and defaults are those of ConsumerConfig, ProducerConfig and AdminClientConfig of Kafka 2.4 to 4.4, plus
`remote.max.partition.fetch.bytes` (KIP-1018). If the three have different defaults, the consumer's is used.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kcli.schemas.field_codes import CODECS


@dataclass(frozen=True)
class Property:
    """A property. type: string, password, list, int, float or boolean; default: as text, None if it is not set."""

    name: str
    type: str
    default: str | None = None
    choices: tuple[str, ...] = ()
    low: int | None = None


def number(name: str, default: int | None, low: int = 0) -> Property:
    return Property(name, "int", None if default is None else str(default), low=low)


def string(name: str, default: str | None = None, *choices: str) -> Property:
    return Property(name, "string", default, choices)


def password(name: str) -> Property:
    return Property(name, "password")


USED = (
    Property("bootstrap.servers", "list", ""),
    string("client.id", "kcli"),
    string("client.rack", ""),
    string("client.dns.lookup", "use_all_dns_ips", "use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    string("security.protocol", "PLAINTEXT", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    string("sasl.mechanism", None),
    password("sasl.jaas.config"),
    string("sasl.oauthbearer.token.endpoint.url"),
    string("ssl.truststore.type", "JKS"),
    string("ssl.truststore.location"),
    password("ssl.truststore.certificates"),
    string("ssl.keystore.type", "JKS"),
    string("ssl.keystore.location"),
    password("ssl.keystore.certificate.chain"),
    password("ssl.keystore.key"),
    password("ssl.key.password"),
    string("ssl.endpoint.identification.algorithm", "https", "https", ""),
    Property("ssl.enabled.protocols", "list", "TLSv1.2,TLSv1.3"),
    Property("ssl.cipher.suites", "list", ""),
    number("socket.connection.setup.timeout.ms", 10_000),
    number("request.timeout.ms", 30_000),
    number("default.api.timeout.ms", 60_000),
    number("reconnect.backoff.ms", 50),
    number("reconnect.backoff.max.ms", 1_000),
    number("retry.backoff.ms", 100),
    number("retry.backoff.max.ms", 1_000),
    number("retries", 2_147_483_647),
    number("metadata.max.age.ms", 300_000),
    number("connections.max.idle.ms", 540_000, -1),
    number("send.buffer.bytes", 131_072, -1),
    number("receive.buffer.bytes", 65_536, -1),
    Property("allow.auto.create.topics", "boolean", "true"),
    string("isolation.level", "read_uncommitted", "read_uncommitted", "read_committed"),
    number("fetch.min.bytes", 1),
    number("fetch.max.bytes", 52_428_800),
    number("fetch.max.wait.ms", 500),
    number("max.partition.fetch.bytes", 1_048_576),
    number("remote.max.partition.fetch.bytes", None),
    string("acks", "all", "all", "-1", "0", "1"),
    Property("enable.idempotence", "boolean", "true"),
    string("compression.type", "none", *CODECS),
    number("compression.gzip.level", -1, -1),
    number("compression.lz4.level", 9, 1),
    number("compression.zstd.level", 3, -131_072),
    number("batch.size", 16_384),
    number("linger.ms", 5),
    number("buffer.memory", 33_554_432),
    number("max.request.size", 1_048_576),
    number("max.block.ms", 60_000),
    number("max.in.flight.requests.per.connection", 5, 1),
    number("delivery.timeout.ms", 120_000),
)

PROPERTIES: Mapping[str, Property] = {each.name: each for each in USED}

# Properties of Kafka that kcli ignores with a notice (groups, plugins of the JVM, metrics, ...), so that the
# configuration file of a Java application can be used.
IGNORED_NAMES = """
    check.crcs socket.connection.setup.timeout.max.ms transactional.id transaction.timeout.ms
    auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset bootstrap.controllers
    bootstrap.resolve.timeout.ms buffer.memory.allocation.strategy config.providers
    enable.auto.commit enable.metrics.push exclude.internal.topics group.id group.instance.id group.protocol
    group.remote.assignor heartbeat.interval.ms interceptor.classes internal.auto.downgrade.txn.commit
    internal.leave.group.on.close internal.throw.on.fetch.stable.offset.unsupported key.deserializer key.serializer
    max.poll.interval.ms max.poll.records metadata.cluster.check.enable metadata.max.idle.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters metrics.num.samples
    metrics.recording.level metrics.sample.window.ms partition.assignment.strategy
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys partitioner.rack.aware
    sasl.client.callback.handler.class sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
    sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
    sasl.login.callback.handler.class sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
    sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
    sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
    sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
    sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
    sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.template.file
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
    sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
    sasl.oauthbearer.header.urlencode sasl.oauthbearer.jwks.endpoint.refresh.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
    sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
    sasl.oauthbearer.scope sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
    security.providers session.timeout.ms share.acknowledgement.mode share.acquire.mode
    ssl.engine.factory.class ssl.keymanager.algorithm ssl.keystore.password ssl.protocol ssl.provider
    ssl.secure.random.implementation ssl.trustmanager.algorithm ssl.truststore.password
    transaction.two.phase.commit.enable value.deserializer value.serializer
"""
IGNORED = frozenset(IGNORED_NAMES.split())

# Properties of librdkafka (kcat, and clients of Python, Go and C), with the equivalents of Kafka's clients.
OF_LIBRDKAFKA = {
    "metadata.broker.list": "bootstrap.servers",
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.username": "sasl.jaas.config",
    "sasl.password": "sasl.jaas.config",
    "ssl.ca.location": "ssl.truststore.location, with ssl.truststore.type=PEM",
    "ssl.certificate.location": "ssl.keystore.location, with ssl.keystore.type=PEM",
    "ssl.key.location": "ssl.keystore.location, with ssl.keystore.type=PEM",
}
