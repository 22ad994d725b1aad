"""The core's questions to the owner of its columns, answered for an owner that wants exchanges alone."""

from __future__ import annotations

from typing import Any


class ColumnOwner:
    """An owner of the core's `ExchangeRows` that wants no more than the rows.

    link: "server-client", as bytes. exchange: (key, version, ts, request, answered, response), times in ns.
    """

    def voice(self, link: bytes) -> int:
        """Return the number of a new connection's client and broker profile; 0: of no interest."""
        return 0

    def heard(self, link: bytes, voice: int, *exchange: Any) -> int:
        """Return the number that `voice` gives, now that an ApiVersions has named the client's library."""
        return 0

    def learn(self, link: bytes, *exchange: Any) -> None:
        """Take topic names out of an exchange: the core has them already."""

    def more(self, link: bytes, *exchange: Any) -> None:
        """Take an exchange of an API in `forwarded`."""

    def layout(self, api_key: int, version: int) -> Any:
        """Return where the core finds the rows of a version's partitions; None if they are not wanted."""
        return None

    def partitions(self, link: bytes, *exchange: Any) -> Any:
        """Return the partitions of an exchange where the core can't find them; None if they are not wanted."""
        return None

    def fields(self, api_key: int, version: int) -> Any:
        """Return the fields of a version that become columns; None if none are wanted."""
        return None
