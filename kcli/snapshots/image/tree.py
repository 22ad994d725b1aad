"""A metadata image as a tree of named nodes, in the layout of `kafka-metadata-shell`.

/image/{acls,clientQuotas,cluster,configs,delegationToken,features,producerIds,provenance,scram,topics}. A directory
makes its children when they are read; a leaf has text. Names are sorted as Java sorts strings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kcli.schemas.secrets import is_secret_config
from kcli.snapshots.image.image import Image, QuotaEntity, Topic
from kcli.snapshots.image.partitions import id_bytes
from kcli.snapshots.image.texts import (
    CONFIG_TYPES,
    HIDDEN,
    SCRAM_MECHANISMS,
    acl_text,
    broker_text,
    controller_text,
    credential_text,
    java_double,
    level_text,
    named,
    partition_text,
    provenance_text,
    token_text,
)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A file of the tree. text: makes its text."""

    text: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory of the tree. names: returns the children's names, unsorted, perhaps with repetitions; child: returns
    the node of a name, None if there is none.
    """

    names: Callable[[], list[str]]
    child: Callable[[str], Node | None]

    def sorted_names(self) -> list[str]:
        """Return the names in Java's order of strings, by their UTF-16 code units."""
        return sorted(self.names(), key=lambda name: name.encode("utf-16-be", "surrogatepass"))


Node = Directory | Leaf


def leaf(text: object) -> Leaf:
    return Leaf(lambda: str(text))


def fixed(children: dict[str, Node]) -> Directory:
    return Directory(lambda: list(children), children.get)


def image_tree(image: Image, *, secrets: bool = False) -> Directory:
    """Return the root of the tree. secrets: show SCRAM salts and keys, and configs that hold passwords."""
    return fixed(
        {
            "image": fixed(
                {
                    "acls": fixed({"byId": acls(image)}),
                    "clientQuotas": quotas(image),
                    "cluster": fixed({"brokers": brokers(image), "controllers": controllers(image)}),
                    "configs": configs(image, secrets),
                    "delegationToken": tokens(image),
                    "features": features(image),
                    "producerIds": fixed({"nextProducerId": leaf(image.next_producer_id)}),
                    "provenance": leaf(provenance_text(image.shell_provenance)),
                    "scram": scram(image, secrets),
                    "topics": fixed({"byId": topics_by_id(image), "byName": topics_by_name(image)}),
                }
            )
        }
    )


def acls(image: Image) -> Directory:
    return Directory(
        lambda: list(image.acls),
        lambda name: leaf(acl_text(image.acls[name])) if name in image.acls else None,
    )


def brokers(image: Image) -> Directory:
    known = {str(number): broker for number, broker in image.brokers.items()}
    return Directory(lambda: list(known), lambda name: leaf(broker_text(known[name])) if name in known else None)


def controllers(image: Image) -> Directory:
    known = {str(number): each for number, each in image.controllers.items()}
    return Directory(lambda: list(known), lambda name: leaf(controller_text(known[name])) if name in known else None)


def tokens(image: Image) -> Directory:
    known = image.tokens
    return Directory(lambda: list(known), lambda name: leaf(token_text(known[name])) if name in known else None)


def features(image: Image) -> Directory:
    children: dict[str, Node] = {"metadataVersion": leaf(level_text(image))}
    for name, level in image.features.items():
        if name != "metadata.version":
            children[f"finalized_{name}"] = leaf(level)
    return fixed(children)


def scram(image: Image, secrets: bool) -> Directory:
    mechanisms: dict[str, Node] = {}
    for mechanism, users in image.scram.items():
        mechanisms[named(SCRAM_MECHANISMS, mechanism)] = fixed(
            {user: leaf(credential_text(credential, secrets)) for user, credential in users.items()}
        )
    return fixed(mechanisms)


def configs(image: Image, secrets: bool) -> Directory:
    resources: dict[str, Node] = {}
    for (kind, name), values in image.configs.items():
        shown: dict[str, Node] = {
            key: leaf(HIDDEN if is_secret_config(key, kind) and not secrets else value) for key, value in values.items()
        }
        resources[named(CONFIG_TYPES, kind) + (f":{name}" if name else "")] = fixed(shown)
    return fixed(resources)


DEFAULT = "<default>"
QUOTA_LABELS = {"client-id": "clientId", "ip": "ip", "user": "user"}


def quotas(image: Image) -> Directory:
    """Return the directory of quota entities. The shell omits a default entity's part from the name, so that the
    defaults of `user` and `client-id` look alike, and shows nothing below it; here the part is called <default>.
    """
    return fixed(
        {
            quota_name(entity): fixed({key: leaf(java_double(value)) for key, value in values.items()})
            for entity, values in image.quotas.items()
        }
    )


def quota_name(entity: QuotaEntity) -> str:
    parts = ((QUOTA_LABELS.get(kind, kind), name) for kind, name in entity)
    return "_".join(f"{kind}({DEFAULT if name is None else escaped(name)})" for kind, name in parts)


def escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def topics_by_id(image: Image) -> Directory:
    def child(name: str) -> Node | None:
        try:
            topic = image.topics.get(id_bytes(name))
        except ValueError:
            return None
        return topic_node(image, topic) if topic else None

    return Directory(lambda: [topic.id_text for topic in image.topics.values()], child)


def topics_by_name(image: Image) -> Directory:
    known = {topic.name: topic for topic in image.topics.values()}

    def child(name: str) -> Node | None:
        topic = known.get(name)
        return topic_node(image, topic) if topic else None

    return Directory(lambda: list(known), child)


def topic_node(image: Image, topic: Topic) -> Directory:
    labels = {"id": topic.id_text, "name": topic.name}

    def child(name: str) -> Node | None:
        if name in labels:
            return leaf(labels[name])
        number = int(name) if name.isdecimal() else -1
        if number not in topic.partitions:
            return None
        return Leaf(lambda: partition_text(image.partition(topic, number)))

    return Directory(lambda: [*map(str, topic.partitions), *labels], child)


# Walking


def lines_of(node: Node, depth: int = 0) -> Iterator[str]:
    """Yield the lines of `tree`: a name and a colon, its children indented by two spaces."""
    indent = "  " * depth
    if isinstance(node, Leaf):
        yield indent + node.text()
        return
    for name in node.sorted_names():
        yield f"{indent}{name}:"
        child = node.child(name)
        if child is not None:
            yield from lines_of(child, depth + 1)


def walk_tree(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    """Yield (path, node) of the node and of every node below it."""
    yield path or "/", node
    if isinstance(node, Directory):
        for name in node.sorted_names():
            child = node.child(name)
            if child is not None:
                yield from walk_tree(child, f"{path}/{name}")


def matches(root: Directory, pattern: str) -> Iterator[tuple[str, Node]]:
    """Yield (path, node) of the nodes whose path matches a pattern: `*`, `?` and `[...]` within a name, `**` for any
    number of names.

    A pattern that does not begin with one of the root's names is taken to begin below /image: `topics/byName/*`.
    """
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if parts and not any(fnmatchcase(name, parts[0]) for name in root.names()):
        parts.insert(0, "image")
    yield from matching(root, parts, "")


def matching(node: Node, parts: list[str], path: str) -> Iterator[tuple[str, Node]]:
    if not parts:
        yield path or "/", node
        return
    if isinstance(node, Leaf):
        return
    first, rest = parts[0], parts[1:]
    if first == "**":
        yield from matching(node, rest, path)
    elif not any(mark in first for mark in "*?["):
        exact = node.child(first)
        if exact is not None:
            yield from matching(exact, rest, f"{path}/{first}")
        return
    for name in node.sorted_names():
        child = node.child(name)
        if child is not None and (first == "**" or fnmatchcase(name, first)):
            yield from matching(child, parts if first == "**" else rest, f"{path}/{name}")
