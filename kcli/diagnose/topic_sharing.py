"""Names of topics that captures know by their ids alone, as captures of the same cluster tell them."""

from __future__ import annotations

from collections.abc import Sequence

from kcli.diagnose.store import FactStore
from kcli.topic_names import CLUSTER_METADATA, METADATA_ID


def share_topic_names(stores: Sequence[FactStore]) -> None:
    """Put the names of topics into those stores that have but their ids, before these are asked. A name that messages
    say counts more than one that follows from offsets or batches."""
    if not any(store.unnamed() for store in stores):
        return
    said = {METADATA_ID: CLUSTER_METADATA}
    said |= {topic_id: topic for store in stores for topic_id, topic in store.said_topics().items()}
    teach(stores, said)
    left = [store.unnamed() for store in stores]
    if any(left[at] & other for at in range(len(left)) for other in left[:at]):
        found: dict[str, str] = {}
        for store in stores:
            store.suit()
            found |= {row["topic_id"]: row["topic"] for row in store.ask("SELECT topic_id, topic FROM topic_by_id")}
            store.forget()
        teach(stores, found)


def teach(stores: Sequence[FactStore], names: dict[str, str]) -> None:
    """Put these names of topics, by id, where they are missing."""
    for store in stores:
        for topic_id in sorted(store.unnamed() & names.keys()):
            store.put("topic_names", (topic_id, names[topic_id], 0))
        store.flush()
