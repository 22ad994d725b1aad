"""A metadata image in figures."""

from typing import Any

from kcli.snapshots.image.image import Image
from kcli.snapshots.image.partitions import FACTS
from kcli.snapshots.image.texts import migration_state
from kcli.snapshots.survey_json import camel, instant


def image_summary(image: Image) -> dict[str, Any]:
    """Return the number of each kind of object, the features, and the image's end offset, epoch and time."""
    facts = image.count_facts()
    provenance = image.provenance
    return {
        "endOffset": provenance.end_offset,
        "epoch": provenance.epoch,
        "time": instant(provenance.timestamp),
        "metadataVersion": image.metadata_version,
        "features": {name: level for name, level in sorted(image.features.items()) if name != "metadata.version"},
        "kRaftVersion": image.kraft_version,
        "voters": None if image.voters is None else sorted(each["voterId"] for each in image.voters),
        **({"zkMigration": state} if (state := migration_state(image)) else {}),
        "brokers": len(image.brokers),
        "brokersFenced": sum(bool(broker.get("fenced")) for broker in image.brokers.values()),
        "controllers": len(image.controllers),
        "topics": len(image.topics),
        "partitions": image.partition_count(),
        **{camel(name): facts[name] for name in FACTS},
        "configResources": len(image.configs),
        "configs": sum(map(len, image.configs.values())),
        "quotaEntities": len(image.quotas),
        "quotas": sum(map(len, image.quotas.values())),
        "scramCredentials": sum(map(len, image.scram.values())),
        "acls": len(image.acls),
        "delegationTokens": len(image.tokens),
        "nextProducerId": image.next_producer_id,
    }
