"""Exchanges: a request with its response, decoded on first use."""

from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from kcli.capture.kafka.bodies import WHOLE, Bodies, Cut
from kcli.capture.kafka.clock import instant, milliseconds, moment
from kcli.capture.kafka.error_codes import error_codes
from kcli.capture.kafka.events import Event, Link
from kcli.core.capture.exchange_json import codes_in
from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.request_start import PREFIX, client_id_of
from kcli.jsontext import dumps, loads
from kcli.schemas.apikeys import CONTROLLED_SHUTDOWN, ENVELOPE
from kcli.schemas.catalog import catalog

MaybeNone: TypeAlias = Any  # Any, as None is so rare that callers need not check each use


class Timing(NamedTuple):
    """The times (ns) of an exchange, other than those when its messages were complete.

    began, answering: when the first bytes of request and response came; None if unknown, or without a response. pause:
    from the previous response on this connection to `began`; -1 if other requests were in flight, or there was none
    before. in_flight: unanswered requests of the connection when this one was complete; -1 if unknown.
    """

    began: int | None = None
    answering: int | None = None
    pause: int = -1
    in_flight: int = -1


UNTIMED = Timing()


def line_of(
    timestamp: str,
    connection: str,
    texts: tuple[bytes, bytes, bytes],
    sizes: tuple[int, int | None],
    latency_ms: float | None,
    errors: bytes,
) -> bytes:
    """Return an exchange's line of JSON. texts: of header, request and response; sizes: of request and response, in
    bytes; errors: the line's end, from `Bodies.errors_text`.
    """
    size, latency = ("null" if each is None else f"{each}" for each in (sizes[1], latency_ms))
    opening = f'{{"timestamp":"{timestamp}","connection":"{connection}","requestHeader":'
    closing = f',"requestBytes":{sizes[0]},"responseBytes":{size},"latencyMs":{latency}'
    header, request, response = texts
    parts = (header, b',"request":', request, b',"response":', response, closing.encode())
    return b"".join((opening.encode(), *parts, errors))


class Exchange:
    """A request, and its response if there is one.

    Times are nanoseconds since 1970, of the packets that completed the messages. Frames are without length prefix;
    `request_bytes` and `response_bytes` (None without a response) are sizes on the wire, with it. `header`, `request`
    and `response` are values as `kcli.grammar` reads them, decoded on first use; a body that can't be decoded is None,
    and `failures` has the reason. `timing` has further times. A message that is not whole in the capture (`cut`) has
    its size and times, but its body is None.
    """

    def __init__(  # noqa: PLR0913
        self,
        link: Link,
        request_ns: int,
        request_frame: bytes,
        response_ns: int | None,
        response_frame: bytes | None,
        bodies: Bodies,
        timing: Timing = UNTIMED,
        cut: Cut = WHOLE,
    ) -> None:
        self.link = link
        self.timing = timing
        self.cut = cut
        self.request_ns = request_ns
        self.response_ns = response_ns
        self.request_frame = request_frame
        self.response_frame = response_frame
        self.bodies = bodies
        self.failures: list[Event] = []
        self.api_key = int.from_bytes(request_frame[:2], "big", signed=True)
        self.api_version = int.from_bytes(request_frame[2:4], "big", signed=True)
        self.request_bytes = cut.request or len(request_frame) + PREFIX
        self.response_bytes = None if response_frame is None else cut.response or len(response_frame) + PREFIX

    def __repr__(self) -> str:
        from kcli.notebook import quoted

        client = "" if self.client_id is None else f" from {quoted(self.client_id)}"
        return f"<Exchange {self.timestamp} {self.api} v{self.version}{client}: {self.outcome}>"

    def _repr_html_(self) -> str:
        """Show `line` in notebooks, cut to some thousand characters."""
        known, self.failures = self.failures, []
        header, request, response = self.texts()
        found, self.failures = self.failures, known
        facts = {
            "time": self.timestamp,
            "connection": self.connection,
            "client": self.client_id,
            "outcome": self.outcome,
            "bytes": f"request {self.request_bytes}, response {self.response_bytes or 0}",
            "undecodable": "; ".join(failure.reason for failure in found) or None,
        }
        texts = {"header": header, "request": request, "response": response}
        from kcli.notebook import card

        return card(f"{self.api} v{self.version}", facts, texts)

    @property
    def outcome(self) -> str:
        """The outcome in words: "1.2 ms", "1.2 ms, UNKNOWN_TOPIC_OR_PARTITION", "1.2 ms, cut off", "no response" or
        "response lost".
        """
        if self.response_frame is None:
            return "no response" if self.cut.response is None else "response lost"
        errors = self.errors
        return ", ".join([f"{self.latency_ms} ms", *(["cut off"] if errors is None else errors)])

    @property
    def is_cut(self) -> bool:
        """True if the request or the response is not whole in the capture."""
        return self.cut != WHOLE

    @property
    def whole_bytes(self) -> int:
        """The bytes on the wire of the messages that are whole in the capture."""
        request = self.request_bytes if self.cut.request is None else 0
        return request + (self.response_bytes or 0 if self.cut.response is None else 0)

    @property
    def connection(self) -> str:
        """The connection as "server-client"."""
        return f"{self.link.server}-{self.link.client}"

    @property
    def time(self) -> datetime:
        """The request's time, UTC, to the microsecond; `request_ns` is exact."""
        return moment(self.request_ns)

    @property
    def timestamp(self) -> str:
        """The request's time as ISO 8601 text."""
        return instant(self.request_ns)

    @property
    def api(self) -> str:
        """The API's name as in Kafka's documentation ("Fetch"), or its number if the key is unknown."""
        api = self.bodies.api(self.api_key)
        return api.name if api else str(self.api_key)

    @property
    def version(self) -> int:
        """The API's version."""
        return self.api_version

    @property
    def errors(self) -> list[str] | None:
        """Names of the error codes in the response, each once: ["NOT_LEADER_OR_FOLLOWER"]; None if they are unknown, as
        the response is not whole in the capture.
        """
        known, codes = catalog(self.bodies.dialect), self.error_codes
        return None if codes is None else [known.error_name(code) for code in codes]

    @property
    def error_codes(self) -> list[int] | None:
        """The error codes in the response, each once. Of a response that is cut off only the error of the whole
        response can be known; None: it is not, or there is none, so that there may be others.
        """
        if self.cut.response is None:
            return [*dict.fromkeys(error_codes(self.opened_response or {}))]
        code = self.start_of("errorCode?", response=True)
        return [code] if isinstance(code, int) and code else None

    def start_of(self, path: str, *, response: bool) -> int | str | None:
        """Return a field of a message that is cut off; None if the bytes up to its end are not there, or the tables
        lack the message. path: as for `kcli.capture.kafka.message_starts`.
        """
        if not self.bodies.knows(self.api_key, self.api_version):
            return None
        frame = self.response_frame if response else self.request_frame
        return self.bodies.starts.value(frame or b"", (self.api_key, self.api_version), path, response=response)

    @property
    def known_errors(self) -> list[str]:
        """The same; empty if they are unknown."""
        return self.errors or []

    @property
    def correlation_id(self) -> int:
        """The number by which the client matches the response to its request."""
        return int.from_bytes(self.request_frame[4:8], "big", signed=True)

    @property
    def api_name(self) -> str:
        """The API's name as in a broker's log ("FETCH"), or its number if the key is unknown."""
        return self.bodies.name(self.api_key) or str(self.api_key)

    @property
    def client_id(self) -> str | None:
        """The client id, read at its fixed offset without decoding the rest. ControlledShutdown v0 has none."""
        if self.api_key == CONTROLLED_SHUTDOWN and self.api_version == 0:
            return None
        found = client_id_of(self.request_frame)
        return None if found is None else found.decode("utf-8", "replace")

    @property
    def latency_ms(self) -> float | None:
        """The time from request to response, in ms to the microsecond; None without a response."""
        return None if self.response_ns is None else milliseconds(self.response_ns - self.request_ns)

    @cached_property
    def header(self) -> dict[str, Any]:
        """The request's header; if it can't be decoded, its fields at fixed offsets."""
        try:
            return self.bodies.read_header(self.request_frame)
        except DecodeError:
            return self.bare_header()

    @cached_property
    def request(self) -> dict[str, Any] | MaybeNone:
        """The request's body; None if it can't be decoded."""
        if self.cut.request is not None:
            return None
        try:
            return self.bodies.read_request(self.request_frame)
        except DecodeError as error:
            self.fail("client", self.request_ns, self.request_frame, error)
            return None

    def bare_header(self) -> dict[str, Any]:
        """Return the fields at fixed offsets of any header."""
        keys = {
            "requestApiKey": self.api_key,
            "requestApiVersion": self.api_version,
            "correlationId": self.correlation_id,
        }
        client_id = None if self.cut.request is None else self.client_id
        return keys | {"clientId": client_id, "requestApiKeyName": self.bodies.name(self.api_key)}

    @cached_property
    def response(self) -> dict[str, Any] | None:
        """The response's body; None if there is none, or it can't be decoded."""
        if self.response_frame is None or self.cut.response is not None:
            return None
        try:
            return self.bodies.read_response(self.response_frame, self.api_key, self.api_version)
        except DecodeError as error:
            self.fail("server", self.response_ns or 0, self.response_frame, error)
            return None

    @property
    def shown_request(self) -> dict[str, Any] | MaybeNone:
        """The request's body; {} if JSON hides its values, as a misread secret may be in any of them."""
        if not self.request:
            return self.request
        return messages.request(self.api_key, self.api_version, self.bodies.dialect).without_values(self.request)

    @property
    def shown_response(self) -> dict[str, Any] | None:
        """The response's body; {} if JSON hides its values, as a misread secret may be in any of them."""
        if not self.response:
            return self.response
        return messages.response(self.api_key, self.api_version, self.bodies.dialect).without_values(self.response)

    @property
    def opened_response(self) -> dict[str, Any] | None:
        """The response; for an envelope, with the decoded message inside in place of its bytes."""
        if self.api_key != ENVELOPE or self.response is None:
            return self.response
        texts, _ = self.bodies.texts(self.api_key, self.api_version, self.request_frame, self.response_frame)
        found: dict[str, Any] | None = loads(texts[2] or b"null")
        return found

    def fail(self, sender: str, ns: int, frame: bytes, error: DecodeError) -> None:
        """Add an event for a body that can't be decoded to `failures`."""
        side = "request" if sender == "client" else "response"
        name = f"{side} {self.correlation_id}"
        self.failures.append(
            Event(
                "undecodable",
                self.connection,
                ns,
                error.offset,
                len(frame) + PREFIX,
                f"{name}: {error}",
                sender,
                data=frame,
                hidden=self.bodies.hides(self.api_key, self.api_version),
            )
        )

    def line(self) -> bytes:
        """Return the exchange as one line of JSON; bodies that can't be decoded are null, with their events in
        `failures`.
        """
        head, request, response = self.texts()
        sizes = self.request_bytes, self.response_bytes
        codes = codes_in(response) if self.cut.response is None else self.error_codes
        errors = self.bodies.errors_text(codes)
        return line_of(self.timestamp, self.connection, (head, request, response), sizes, self.latency_ms, errors)

    def texts(self) -> tuple[bytes, bytes, bytes]:
        """Return header, request and response as JSON text."""
        texts, errors = self.bodies.texts(
            self.api_key, self.api_version, self.request_frame, self.response_frame, self.cut
        )
        if "client" in errors:
            self.fail("client", self.request_ns, self.request_frame, errors["client"])
        if "server" in errors:
            self.fail("server", self.response_ns or 0, self.response_frame or b"", errors["server"])
        head, request, response = texts
        return head or dumps(self.bare_header()).encode(), request or b"null", response or b"null"


Item = Exchange | Event


def learn_names(item: Item) -> None:
    """Learn the topic names in an exchange, whether it passes the filter or not."""
    if isinstance(item, Exchange) and item.bodies.teaches(item.api_key, item.api_version):
        _ = item.request, item.response
