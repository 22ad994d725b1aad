"""ApiVersions (KIP-35, KIP-511): the versions that a broker accepts, and the one to use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.client.dialects import is_shown
from kcli.errors import NetworkError
from kcli.schemas.apikeys import FETCH, PRODUCE
from kcli.schemas.catalog import catalog
from kcli.schemas.ranges import Range

# Brokers from 4.0 on list Produce versions that they don't have, for compatibility with librdkafka (KIP-896).
FETCH_SINCE_4_0, PRODUCE_SINCE_4_0 = 4, 3


class ApiVersions:
    """The version ranges of one broker by API key.

    broker: names the broker in errors; features: finalized feature levels by name (from ApiVersions v3 on);
    dialect: the wanted one if the broker shows that it speaks it, else None.
    """

    def __init__(self, broker: str, response: Mapping[str, Any], dialect: str | None = None) -> None:
        self.broker = broker
        self.ranges = {each["apiKey"]: Range(each["minVersion"], each["maxVersion"]) for each in response["apiKeys"]}
        self.features = {each["name"]: each["maxVersionLevel"] for each in response.get("finalizedFeatures") or ()}
        supported = {each["name"]: each["maxVersion"] for each in response.get("supportedFeatures") or ()}
        shown = dialect is not None and is_shown(dialect, supported, self.ranges)
        self.wanted, self.dialect = dialect, dialect if shown else None

    def unsupported(self, api_key: int, version: int) -> str | None:
        """Return a text if the broker lacks this API or version, else None."""
        theirs, known = self.ranges.get(api_key), catalog(self.wanted).api(api_key)
        name = f"{known.name} (API key {api_key})" if known is not None else f"API key {api_key}"
        if theirs is None:
            return f"does not have {name}"
        return None if version in theirs else f"has {name} in v{theirs.lo}-{theirs.hi}, not in v{version}"

    def best(self, api_key: int, low: int = 0, high: int = 32_767) -> int:
        """Return the newest version that the broker, the tables and low..high have in common. Raises NetworkError if
        none.
        """
        theirs = self.ranges.get(api_key)
        if theirs is None:
            raise NetworkError(
                f"{self.broker} does not have {catalog(self.wanted).known(api_key).name} (API key {api_key})"
            )
        known = catalog(self.dialect).known(api_key)
        newest = min(high, known.versions.hi, theirs.hi)
        if newest < max(low, known.versions.lo, theirs.lo):
            wanted = f"v{max(low, known.versions.lo)}" + (f"-{high}" if high < 32_767 else "")
            raise NetworkError(f"{self.broker} accepts {known.name} v{theirs.lo}-{theirs.hi}, not the {wanted} wanted")
        return newest

    def nearest(self, api_key: int, version: int) -> int | None:
        """Return this version, or the nearest one that the broker and the tables have in common; None if there is
        none.
        """
        theirs, known = self.ranges.get(api_key), catalog(self.dialect).api(api_key)
        if theirs is None or known is None:
            return None
        low, high = max(theirs.lo, known.versions.lo), min(theirs.hi, known.versions.hi)
        fetch = self.ranges.get(FETCH)
        if api_key == PRODUCE and fetch is not None and fetch.lo >= FETCH_SINCE_4_0:
            low = max(low, PRODUCE_SINCE_4_0)
        return None if low > high else min(max(version, low), high)
