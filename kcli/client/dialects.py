"""The negotiation of a dialect between client and broker.

A dialect may use version numbers that Apache Kafka has given to other messages, so that versions alone don't show it.
The client appends the dialect's name to its software version (ApiVersions v3 on), and a broker with the dialect returns
a feature of that name. Brokers that do not know this are recognized by an API, or a version, that only the dialect has.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kcli.schemas.catalog import catalog
from kcli.schemas.ranges import Range
from kcli.version import __version__

FEATURE_LEVEL = 1


def spoken(dialect: str | None) -> str:
    """Return the client's software version, with the name of a dialect appended."""
    return __version__ if dialect is None else f"{__version__}-{plain(dialect)}"


def feature(dialect: str) -> dict[str, Any]:
    """Return the supported feature by which a broker confirms a dialect."""
    return {"name": plain(dialect), "minVersion": FEATURE_LEVEL, "maxVersion": FEATURE_LEVEL}


def is_shown(dialect: str, features: Mapping[str, int], ranges: Mapping[int, Range]) -> bool:
    """Return whether a broker with these features (highest level by name) and versions (by API key) has the dialect."""
    if features.get(plain(dialect)) == FEATURE_LEVEL:
        return True
    stock, mine = catalog(None), catalog(dialect)
    for key, api in mine.apis.items():
        known, theirs = stock.api(key), ranges.get(key)
        newest = -1 if known is None else known.versions.hi
        if theirs is not None and newest < api.versions.hi <= theirs.hi:
            return True
    return False


def plain(dialect: str) -> str:
    """Return a dialect's name, or that of its folder, in the characters that a software version may have (KIP-511)."""
    path, comma, settings = dialect.partition(",")
    return re.sub("[^a-zA-Z0-9.-]+", ".", Path(path).resolve().name + comma + settings).strip(".-")
