"""Writes the command lines of Kafka's own tools that undo changes of metadata. Records of a deleted topic, its id, and
secrets can't be restored; for some of these a comment says so.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kcli.snapshots.image.diff import Change
from kcli.snapshots.image.image import Image, QuotaEntity
from kcli.snapshots.image.texts import entity_text

Row = dict[str, Any]
Quota = tuple[str, str]  # the entity as in a row, and the quota's key

ENTITY_TYPES = {
    "TOPIC": "topics",
    "BROKER": "brokers",
    "BROKER_LOGGER": "broker-loggers",
    "CLIENT_METRICS": "client-metrics",
    "GROUP": "groups",
}
QUOTA_TYPES = {"user": "users", "client-id": "clients", "ip": "ips"}
RESOURCES = {"TOPIC": "--topic", "GROUP": "--group", "TRANSACTIONAL_ID": "--transactional-id"}
RESOURCES |= {"DELEGATION_TOKEN": "--delegation-token", "USER": "--user-principal"}


@dataclass(slots=True)
class Undo:
    """Gathers changes, and writes the lines that undo them. bootstrap: the broker's address in the lines; entities:
    {text of a quota's entity: entity}.
    """

    bootstrap: str = "HOST:PORT"
    entities: dict[str, QuotaEntity] = field(default_factory=dict)
    deleted: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)
    moved: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    grown: set[str] = field(default_factory=set)
    configs: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    quotas: dict[str, dict[str, float | None]] = field(default_factory=dict)
    acls: list[tuple[str, Row]] = field(default_factory=list)
    users: list[tuple[Row | None, Row]] = field(default_factory=list)
    features: dict[str, tuple[int, int]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    def take(self, change: Change) -> None:
        """Add a change. Changes of tables without a `take_` method are ignored."""
        row = change.before or change.after or {}
        name = "take_" + change.table
        if hasattr(self, name):
            getattr(self, name)(change, row)

    def take_topics(self, change: Change, row: Row) -> None:
        """Note a topic that was created or deleted."""
        if change.kind == "created":
            self.created.add(row["name"])
        elif change.kind == "deleted":
            self.deleted.setdefault(row["name"], {})

    def take_partitions(self, change: Change, row: Row) -> None:
        """Note a partition that was added, deleted or moved, with its former replicas."""
        place = row["topic"], row["partition"]
        if change.before is None:
            self.grown.add(row["topic"])
        elif change.after is None:
            self.deleted.setdefault(place[0], {})[place[1]] = row["replicas"]
        elif change.before["replicas"] != change.after["replicas"]:
            self.moved[place] = change.before["replicas"]

    def take_configs(self, change: Change, row: Row) -> None:
        """Note the old value of a config; None if there was none."""
        resource = row["resourceType"], row["resourceName"]
        self.configs.setdefault(resource, {})[row["name"]] = change.before["value"] if change.before else None

    def take_clientQuotas(self, change: Change, row: Row) -> None:  # noqa: N802
        """Note the old value of a quota; None if there was none."""
        self.quotas.setdefault(row["entity"], {})[row["key"]] = change.before["value"] if change.before else None

    def take_acls(self, change: Change, row: Row) -> None:
        """Note an ACL to add or remove."""
        self.acls += [("--add", change.before)] if change.before else []
        self.acls += [("--remove", change.after)] if change.after else []

    def take_scramCredentials(self, change: Change, row: Row) -> None:  # noqa: N802
        """Note a user's credential of a mechanism."""
        self.users.append((change.before, row))

    def take_features(self, change: Change, row: Row) -> None:
        """Note a feature's levels; 0 if there was none."""
        levels = [each["level"] if each else 0 for each in (change.before, change.after)]
        self.features[row["name"]] = levels[0], levels[1]

    def take_delegationTokens(self, change: Change, row: Row) -> None:  # noqa: N802
        """Note a deleted delegation token; its secret can't be restored."""
        if change.after is None:
            self.lost.append(f"delegation token {row['tokenId']} of {row['owner']}: a new one is to be made")

    def lines(self) -> Iterator[str]:
        """Yield the command lines, in an order in which they can be run."""
        yield from self.topics()
        yield from self.replicas()
        for (kind, name), values in self.configs.items():
            if kind == "TOPIC" and name in self.made_anew:
                values = {key: value for key, value in values.items() if value is not None and not is_creatable(value)}
            if not (kind == "TOPIC" and name in self.created):
                yield from self.config_lines(entity_words(ENTITY_TYPES.get(kind, kind), name or None), values)
        for text, values in self.quotas.items():
            words = [
                word for each in self.entities.get(text, ()) for word in entity_words(QUOTA_TYPES[each[0]], each[1])
            ]
            yield from self.config_lines(words, {key: plain(value) for key, value in values.items()})
        for verb, row in self.acls:
            yield from self.acl(verb, row)
        for before, row in self.users:
            yield from self.credential(before, row)
        for name, (level, _) in self.features.items():
            verb = "upgrade" if level > self.features[name][1] else "downgrade"
            yield self.tool("kafka-features", verb, "--feature", f"{name}={level}")
        yield from (f"# {text}" for text in self.lost)

    @property
    def made_anew(self) -> set[str]:
        """The topics that one of the lines creates again."""
        return self.deleted.keys() - self.created

    def tool(self, name: str, *words: str) -> str:
        """Return one command line of a Kafka tool."""
        return shlex.join([name, "--bootstrap-server", self.bootstrap, *words])

    def topics(self) -> Iterator[str]:
        """Yield the lines that delete created topics and create deleted ones."""
        for name in sorted(self.created - self.deleted.keys()):
            yield self.tool("kafka-topics", "--delete", "--topic", name)
        for name in sorted(self.created & self.deleted.keys()):
            yield f"# topic {shlex.quote(name)} was deleted and recreated: its records before that are gone"
        for name in sorted(self.grown - self.created):
            yield f"# topic {shlex.quote(name)} has more partitions than before: they can't be taken away"
        for name in sorted(self.made_anew):
            replicas = self.deleted[name]
            words = ["--create", "--topic", name]
            if sorted(replicas) == list(range(len(replicas))) and replicas:
                assigned = (":".join(map(str, replicas[number])) for number in sorted(replicas))
                words += ["--replica-assignment", ",".join(assigned)]
            for key, value in self.configs.get(("TOPIC", name), {}).items():
                words += ["--config", f"{key}={value}"] if is_creatable(value) else []
            yield self.tool("kafka-topics", *words)

    def replicas(self) -> Iterator[str]:
        """Yield the lines that move partitions back to their former replicas."""
        moved = {place: brokers for place, brokers in self.moved.items() if place[0] not in self.made_anew}
        if moved:
            partitions = [
                {"topic": topic, "partition": number, "replicas": brokers} for (topic, number), brokers in moved.items()
            ]
            plan = shlex.quote(json.dumps({"version": 1, "partitions": partitions}, ensure_ascii=False))
            yield f"echo {plan} > reassignment.json"
            yield self.tool("kafka-reassign-partitions", "--reassignment-json-file", "reassignment.json", "--execute")

    def config_lines(self, words: list[str], values: Mapping[str, Any]) -> Iterator[str]:
        """Yield the lines that set and delete values of one entity. words: options that name the entity; values: {key:
        value}, None to delete it.
        """
        added = [f"{key}={bracketed(value)}" for key, value in values.items() if isinstance(value, str)]
        removed = [key for key, value in values.items() if value is None]
        change = ["--add-config", ",".join(added)] if added else []
        change += ["--delete-config", ",".join(removed)] if removed else []
        if change:
            yield self.tool("kafka-configs", "--alter", *words, *change)
        for key in (key for key, value in values.items() if isinstance(value, dict)):
            yield f"# {shlex.join(words)}: the value of {key} is secret, and is not shown"

    def acl(self, verb: str, row: Row) -> Iterator[str]:
        """Yield the line that adds or removes an ACL. verb: "--add" or "--remove"."""
        kind = "allow" if row["permissionType"] == "ALLOW" else "deny"
        words = [verb, *(["--force"] if verb == "--remove" else []), f"--{kind}-principal", row["principal"]]
        words += [f"--{kind}-host", row["host"], "--operation", row["operation"].title().replace("_", "")]
        if row["resourceType"] == "CLUSTER":
            words.append("--cluster")
        else:
            words += [RESOURCES.get(row["resourceType"], "--topic"), row["resourceName"]]
        yield self.tool("kafka-acls", *words, "--resource-pattern-type", row["patternType"].lower())

    def credential(self, before: Row | None, row: Row) -> Iterator[str]:
        """Yield the line that removes a user's credential, or a comment with the line that needs the password."""
        words = entity_words("users", row["user"])
        if before is None:
            yield self.tool("kafka-configs", "--alter", *words, "--delete-config", row["mechanism"])
            return
        value = f"{row['mechanism']}=[iterations={before['iterations']},password=PASSWORD]"
        yield "# the metadata has no passwords: replace PASSWORD"
        yield "# " + self.tool("kafka-configs", "--alter", *words, "--add-config", value)


def undo(changes: Iterable[Change], images: Iterable[Image], bootstrap: str | None = None) -> Iterator[str]:
    """Yield the command lines that undo changes. images: those before and after the changes."""
    entities = {entity_text(entity): entity for image in images for entity in image.quotas}
    found = Undo(bootstrap or "HOST:PORT", entities)
    for change in changes:
        found.take(change)
    return found.lines()


def entity_words(kind: str, name: str | None) -> list[str]:
    """Return the options that name an entity of kafka-configs; None: its default."""
    return ["--entity-type", kind, *(["--entity-default"] if name is None else ["--entity-name", name])]


def is_creatable(value: Any) -> bool:
    """Return whether kafka-topics --config can set this value: it splits KEY=VALUE at each "=" and expects two
    parts.
    """
    return isinstance(value, str) and value != "" and "=" not in value


def bracketed(value: str) -> str:
    """Bracket a value for --add-config that has a comma or `=` in it."""
    return f"[{value}]" if "," in value or "=" in value else value


def plain(value: float | None) -> str | None:
    """Format a quota without an exponent or a fraction of 0; None for None."""
    return None if value is None else f"{value:.0f}" if value == int(value) else repr(value)
