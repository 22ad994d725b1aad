"""The key of a metadata record's object, for each type that a snapshot holds."""

from collections.abc import Callable, Hashable
from typing import Any

from kcli.snapshots.image.image import quota_entity

Value = dict[str, Any]


def quota_key(value: Value) -> Hashable:
    return quota_entity(value["entity"]), value["key"]


# {apiKey: function that returns the object's key}, for the types of which a snapshot has one record for each object.
KEYS: dict[int, Callable[[Value], Hashable]] = {
    0: lambda value: value["brokerId"],
    2: lambda value: value["topicId"],
    3: lambda value: (value["topicId"], value["partitionId"]),
    4: lambda value: (value["resourceType"], value["resourceName"], value["name"]),
    10: lambda value: value["tokenId"],
    11: lambda value: (value["name"], value.get("mechanism")),
    12: lambda value: value["name"],
    14: quota_key,
    15: lambda _: "",
    18: lambda value: value["id"],
    21: lambda _: "",
    27: lambda value: value["controllerId"],
}

# Types that a snapshot holds. UnfenceBrokerRecord is not among them, though snapshots of 3.0 to 3.2 have it.
SNAPSHOT_TYPES = frozenset(KEYS)

# Types that only the log holds, because they change an object.
DELTA_TYPES = frozenset({1, 5, 7, 8, 9, 16, 17, 19, 20, 22, 23, 24, 25, 26, 28, 29})


def key_of(key: int, value: Value) -> Hashable | None:
    """Return the key of a record's object; None for types without one."""
    identify = KEYS.get(key)
    return identify(value) if identify else None
