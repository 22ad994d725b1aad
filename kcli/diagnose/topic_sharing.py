"""Shares topic names between captures of the same cluster, some of which have only topic ids."""

from collections.abc import Sequence

from kcli.diagnose.store import FactStore
from kcli.topic_names import CLUSTER_METADATA, METADATA_ID


def share_topic_names(stores: Sequence[FactStore]) -> None:
    """Add topic names to stores that have only the ids, before queries are run. Names from messages take precedence
    over names derived from offsets or batches.
    """
    if not any(store.unnamed() for store in stores):
        return
    names = {METADATA_ID: CLUSTER_METADATA}
    names |= {topic_id: topic for store in stores for topic_id, topic in store.topic_names().items()}
    add_names(stores, names)
    left = [store.unnamed() for store in stores]
    if any(left[at] & other for at in range(len(left)) for other in left[:at]):
        found: dict[str, str] = {}
        for store in stores:
            store.choose_optimizer()
            found |= {row["topic_id"]: row["topic"] for row in store.ask("SELECT topic_id, topic FROM topic_by_id")}
            store.forget()
        add_names(stores, found)


def add_names(stores: Sequence[FactStore], names: dict[str, str]) -> None:
    """Add the names of topics, by id, to the stores that lack them."""
    for store in stores:
        for topic_id in sorted(store.unnamed() & names.keys()):
            store.put("topic_names", (topic_id, names[topic_id], 0))
        store.flush()
