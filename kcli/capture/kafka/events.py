"""Events: every byte of a capture is in an exchange or an event."""

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from kcli.capture.kafka.clock import instant, moment
from kcli.grammar.secrets import redacted
from kcli.jsontext import dumps

# Reasons of "undecodable" bytes that are there without those beside them; the last one follows "answers REQUEST, ".
BEFORE_FRAMES, REST_MISSING = "before the first whole frame", "the rest of the frame is missing"
IN_BROKEN_FRAME, BROKEN_REQUEST = "in a frame that is not whole", "which is not whole in the capture"
WHY_GIVEN_UP = "given up, as more is held than --memory allows"
CUT_OFF = "; the snapshot length cuts off its packets"  # behind the reason of a "not-kafka" connection
Kind = Literal["gap", "truncated", "undecodable", "not-kafka", "unanswered-at-end"]


@dataclass(frozen=True, slots=True)
class Link:
    """The two ends of a connection, as "address:port" (IPv6 addresses in brackets)."""

    server: str
    client: str

    def __str__(self) -> str:
        return f"{self.server}-{self.client}"


@dataclass(slots=True, repr=False)
class Event:
    """Bytes that are in no exchange, or a missing response.

    kind: see Kind. offset: bytes from the start of that direction of the connection as captured, or of the file if
    there is no connection. size: bytes. data: the bytes, if they could not be decoded.
    """

    kind: Kind
    connection: str | None
    ns: int
    offset: int
    size: int
    reason: str
    sender: str | None = None
    file: str | None = None
    data: bytes | None = None
    hidden: bool = False  # the bytes may hold a secret, so `line` shows only their number
    captured: bool = True  # `size` counts captured bytes; False: the bytes are missing, or also in an exchange

    def __repr__(self) -> str:
        text = f"{self.kind} {self.timestamp} {self.connection or self.file}: {self.size} bytes: {self.reason}"
        from kcli.notebook import shortened

        return f"<Event {shortened(text)}>"

    @property
    def time(self) -> datetime:
        """The time in UTC, to the microsecond; `ns` is exact."""
        return moment(self.ns)

    @property
    def timestamp(self) -> str:
        """The time as ISO 8601, in UTC, to the microsecond."""
        return instant(self.ns)

    def as_dict(self) -> dict[str, Any]:
        """Return the members of the event's line of JSON."""
        made: dict[str, Any] = {"event": self.kind, "connection": self.connection, "timestamp": self.timestamp}
        made |= {"offset": self.offset, "bytes": self.size, "reason": self.reason}
        for name in ("sender", "file"):
            if getattr(self, name) is not None:
                made[name] = getattr(self, name)
        if self.data is not None:
            made["base64"] = redacted(len(self.data)) if self.hidden else base64.b64encode(self.data).decode()
        return made

    def line(self) -> bytes:
        """Return the event as one line of JSON."""
        return dumps(self.as_dict()).encode() + b"\n"
