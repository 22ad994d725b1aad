"""The server.properties of the lab's brokers, and their users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tests.real import keys

if TYPE_CHECKING:
    from tests.real.lab import Cluster

__all__ = ["SCRAM", "USERS", "jaas", "listeners", "scram_credentials", "server_properties"]

USERS = {"admin": "admin-secret", "alice": "alice-secret"}
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")


def listeners(sasl: bool, tls: bool) -> dict[str, str]:
    """Listener name to security protocol."""
    kinds = {"PLAINTEXT": "PLAINTEXT"}
    kinds |= {"TLS": "SSL"} if tls else {}
    kinds |= {"SASL": "SASL_PLAINTEXT"} if sasl else {}
    return kinds | ({"SASLTLS": "SASL_SSL"} if sasl and tls else {})


def scram_credentials() -> Iterator[tuple[str, str, str]]:
    """Mechanism, user and password, for everyone in USERS."""
    for user, secret in USERS.items():
        for mechanism in SCRAM:
            yield mechanism, user, secret


def jaas() -> str:
    """The users of the SASL listeners, in Java's own form of login configuration."""
    users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    modules = "org.apache.kafka.common.security"
    plain = f'{modules}.plain.PlainLoginModule required username="admin" password="{USERS["admin"]}" {users};'
    return f"KafkaServer {{\n  {plain}\n  {modules}.scram.ScramLoginModule required;\n}};\n"


def server_properties(cluster: Cluster, node: int) -> dict[str, object]:
    """The server.properties of a node."""
    replicas = min(3, cluster.nodes)
    values: dict[str, object] = {
        "log.dirs": cluster.home(node) / "data",
        "default.replication.factor": replicas,
        "offsets.topic.num.partitions": 3,
        "offsets.topic.replication.factor": replicas,
        "log.cleaner.dedupe.buffer.size": 8 << 20,  # not 128 MB, which each start would fill with zeros
        **listener_properties(cluster, node),
        **(kraft_properties(cluster, node) if cluster.kraft else zookeeper_properties(cluster, node)),
    }
    for since, prefix in (((0, 11), "transaction.state.log"), ((4, 1), "share.coordinator.state.topic")):
        if cluster.release >= since:
            values |= {f"{prefix}.{name}": n for name, n in (("min.isr", 1), ("num.partitions", 3))}
            values[f"{prefix}.replication.factor"] = replicas
    if cluster.release >= (0, 11):
        values["group.initial.rebalance.delay.ms"] = 0
    if cluster.acl:
        values |= {"authorizer.class.name": authorizer(cluster), "allow.everyone.if.no.acl.found": "true"}
    if cluster.acl or cluster.sasl:
        values["super.users"] = "User:admin;User:ANONYMOUS"
    return {**values, **cluster.config, **cluster.node_config.get(node, {})}


def listener_properties(cluster: Cluster, node: int) -> dict[str, object]:
    kinds = listeners(cluster.sasl, cluster.tls)
    urls = ",".join(f"{name}://{cluster.address(node, name)}" for name in kinds)
    controller = f",CONTROLLER://{cluster.address(node, 'CONTROLLER')}" if cluster.kraft else ""
    values: dict[str, object] = {"listeners": urls + controller, "advertised.listeners": urls}
    if cluster.release >= (0, 10, 2):
        protocols = {**kinds, **({"CONTROLLER": "PLAINTEXT"} if cluster.kraft else {})}
        values["listener.security.protocol.map"] = ",".join(f"{name}:{kind}" for name, kind in protocols.items())
        values["inter.broker.listener.name"] = "PLAINTEXT"
    if cluster.sasl:
        values["sasl.enabled.mechanisms"] = ",".join(("PLAIN", *SCRAM))
    return {**values, **(keys.properties(cluster.folder) if cluster.tls else {})}


def kraft_properties(cluster: Cluster, node: int) -> dict[str, object]:
    values: dict[str, object] = {
        "process.roles": "broker,controller",
        "broker.session.timeout.ms": 6000,  # so that a killed node is soon missed, and may come back
        "node.id": node,
        "controller.listener.names": "CONTROLLER",
    }
    if cluster.metadata_dir:
        values["metadata.log.dir"] = cluster.home(node) / "meta"
    if cluster.dynamic:
        return values | {"controller.quorum.bootstrap.servers": cluster.addresses("CONTROLLER")}
    return values | {"controller.quorum.voters": cluster.voters}


def zookeeper_properties(cluster: Cluster, node: int) -> dict[str, object]:
    return {"broker.id": node, "zookeeper.connect": cluster.address(1, "ZOOKEEPER")}


def authorizer(cluster: Cluster) -> str:
    if cluster.kraft:
        return "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    return f"kafka.security.{'authorizer.Acl' if cluster.release >= (2, 4) else 'auth.SimpleAcl'}Authorizer"
