"""Topic names: the rules for them, Kafka's internal topics, and the names of folders for partitions.

Names come from clients, captures and data folders, so a name must not lead out of the folder that holds the logs.
Source: Kafka's Topic.validate, Topic.isInternal and TopicPartition.toString.
"""

import hashlib
import re
from collections.abc import Sequence

from kcli.counting import few_of
from kcli.errors import InputError

# The metadata log. No client can create it or write to it.
CLUSTER_METADATA = "__cluster_metadata"
METADATA_FOLDER = f"{CLUSTER_METADATA}-0"  # the folder of its only partition
METADATA_ID = "AAAAAAAAAAAAAAAAAAAAAQ"  # Uuid.METADATA_TOPIC_ID
# The metadata log by name and by id; a broker does not serve it to clients.
RAFT_TOPICS = frozenset([CLUSTER_METADATA, METADATA_ID])
# Topics that only the broker itself writes to.
CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_STATE = "__consumer_offsets", "__transaction_state", "__share_group_state"
INTERNAL = frozenset([CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_STATE])
LONGEST_NAME = 249
# Field names for a topic's name in messages; "topicId" is another field.
NAME_FIELDS = ("name", "topicName", "topic")
# Field names for a partition's number in messages.
INDEX_FIELDS = ("partitionIndex", "partition", "partitionId", "index")
LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
ILLEGAL = re.compile(r"[^a-zA-Z0-9._-]+")
# The folder of a partition in a broker's data directory. A suffix marks a partition that is to be deleted, that moves
# to another directory, or that should not be on this broker (Kafka's LocalLog).
FOLDER = re.compile(r"(.+)-([0-9]{1,10})(?:\.[^.\s]+-(?:delete|future|stray))?")
HIGHEST_PARTITION = (1 << 31) - 1
KEPT, DIGEST, SHOWN = 48, 12, 3


def name_fault(name: str) -> str | None:
    """Return the fault of a topic's name; None if Kafka accepts it (Kafka's Topic.validate)."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"{name!r} is not allowed"
    if len(name) > LONGEST_NAME:
        return f"the name has {len(name)} characters, {LONGEST_NAME} is the most"
    if not LEGAL.fullmatch(name):
        return f"{name!r} contains other characters than letters, digits, '.', '_' and '-'"
    return None


def lawful_name(name: str) -> str:
    """Return a name that Kafka accepts: the name itself, or its legal characters and a digest of the whole name."""
    if name_fault(name) is None:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]
    return f"{ILLEGAL.sub('_', name)[:KEPT].strip('.')}-{digest}".lstrip("-")


def renaming(names: Sequence[str]) -> str:
    """Return one line with the replacements of topic names that Kafka refuses."""
    pairs = [f"{name[:KEPT]!r} as {lawful_name(name)}" for name in names]
    return f"no topic can have such a name; kept under another: {few_of(pairs, SHOWN)}"


def folder_prefix(name: str) -> str:
    """Return the prefix of the folders of a topic's partitions; the partition's index follows.

    Raises InputError if Kafka takes no topic of this name.
    """
    if fault := name_fault(name):
        raise InputError(f"no topic can have this name: {fault}")
    return f"{name}-"


def partition_of(folder: str) -> tuple[str, int] | tuple[None, None]:
    """Return (topic, partition) from the name of a log folder, as "orders-0" or "orders-0.<id>-delete"; (None, None)
    for another folder's name.
    """
    found = FOLDER.fullmatch(folder)
    if found is None or int(found[2]) > HIGHEST_PARTITION:
        return None, None
    return found[1], int(found[2])
