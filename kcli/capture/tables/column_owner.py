"""What the core asks of the owner of its columns, for an owner that wants exchanges alone."""

from __future__ import annotations

from typing import Any


class ColumnOwner:
    """An owner of the core's `ExchangeRows` that wants no more than the rows.

    link: "server-client", as bytes. exchange: (key, version, ts, request, answered, response), times in ns.
    """

    def voice(self, link: bytes) -> int:
        """The number of what client and broker of a new connection have said of themselves; 0: of no interest."""
        return 0

    def heard(self, link: bytes, voice: int, *exchange: Any) -> int:
        """As `voice`, after an ApiVersions."""
        return 0

    def learn(self, link: bytes, *exchange: Any) -> None:
        """Take topic names out of an exchange: the core has them already."""

    def more(self, link: bytes, *exchange: Any) -> None:
        """Take an exchange of an API in `forwarded`."""

    def layout(self, api_key: int, version: int) -> Any:
        """Where the core finds the rows of a version's partitions; None: they are not wanted."""
        return None

    def partitions(self, link: bytes, *exchange: Any) -> Any:
        """The partitions of an exchange in which the core does not find them; None: they are not wanted."""
        return None

    def fields(self, api_key: int, version: int) -> Any:
        """The fields of a version that become columns; None: none of them are wanted."""
        return None
