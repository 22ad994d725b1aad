"""The methods that the core calls on the owner of its columns, for an owner that wants only exchanges."""

from collections.abc import Sequence
from typing import Any

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.tables.selected_fields import fields_of


class ColumnOwner:
    """An owner of the core's `ExchangeRows` that wants only the rows.

    link: "server-client", as bytes. exchange: (key, version, ts, request, answered, response), times in ns.
    """

    bodies: Bodies
    field_names: Sequence[str] = ()  # fields of messages that become columns

    def voice(self, link: bytes) -> int:
        """Return the number of a new connection's client and broker profile; 0 for none."""
        return 0

    def heard(self, link: bytes, voice: int, *exchange: Any) -> int:
        """Return the number as `voice` does, after an ApiVersions has named the client's library."""
        return 0

    def learn(self, link: bytes, *exchange: Any) -> None:
        """Learn topic names from an exchange: nothing to do, as the core has them."""

    def more(self, link: bytes, *exchange: Any) -> None:
        """Take an exchange of an API in `forwarded`."""

    def layout(self, api_key: int, version: int) -> Any:
        """Return the layout of a version's partitions, from which the core makes rows; None if they are not wanted."""
        return None

    def partitions(self, link: bytes, *exchange: Any) -> Any:
        """Return the partitions of an exchange if the core can't find them; None if they are not wanted."""
        return None

    def fields(self, api_key: int, version: int) -> Any:
        """Return the fields of a version that become columns; None if none are wanted."""
        return fields_of(self.bodies, api_key, version, self.field_names) if self.field_names else None
