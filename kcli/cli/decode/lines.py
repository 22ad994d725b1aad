"""`kcli decode request|response|batch --lines`: the JSON of the message on each line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.cli.decode.batch_findings import error_lines
from kcli.cli.decode.coprocess import Reply, error_reply, message_of
from kcli.cli.decode.message_formats import PaddingError, ShapeOf, Wrong, read_json
from kcli.cli.decode.message_input import Frame, frames_of
from kcli.errors import DecodeError, InputError, all_of
from kcli.grammar import frames, messages
from kcli.grammar.codec import BEHIND, MessageCodec
from kcli.grammar.frames import KEY, VERSION
from kcli.grammar.group_data import GROUPS
from kcli.grammar.request_start import PREFIX, api_of, starts_with_length
from kcli.jsontext import dumps, loads
from kcli.schemas.catalog import catalog

if TYPE_CHECKING:
    from kcli.cli.decode.slip_hints import SlipNamer
    from kcli.records.text import Hook


Reads = Callable[[bytes], bool]
Finish = Callable[[InputError, bytes, int, dict[str, Any]], InputError]


class Plan(NamedTuple):
    """The plan for turning messages of one API and version into text: codecs, and the text around the two texts.

    trim: bytes at the end of the header's text that `between` repeats. A body of None depends on the bytes.
    """

    header: MessageCodec
    body: MessageCodec | None
    start: bytes
    trim: int
    between: bytes


class DecodedLines:
    """Answers lines with the JSON of their messages, as `kcli decode` prints it; plans are kept by API and version."""

    def __init__(self, options: dict[str, Any], shape_of: ShapeOf, finish: Finish, *, requests: bool) -> None:
        """Answer lines. options: those of `kcli decode request`. finish: adds a hint to a problem with a frame at its
        start.
        """
        self.options, self.shape_of, self.finish, self.requests = options, shape_of, finish, requests
        self.plans: dict[Any, Plan] = {}
        self.wrong: dict[MessageCodec, Wrong] = {}

    def answer(self, text: bytes, number: int) -> Reply:
        """Return the reply to a line. Raises KcliError if the line is bad."""
        data, row = message_of(text, number, self.options["base64_"])
        options = self.options | api_in(row) if row and not self.requests else self.options
        try:
            made = self.fast(data, options)
        except DecodeError:
            made = None
        return self.careful(data, number, options) if made is None else Reply(made)

    def fast(self, data: bytes, options: dict[str, Any]) -> bytes | None:
        """Return the text of a message without faults; None if it may have faults. Raises DecodeError if it has."""
        start = PREFIX if options["framed"] is not False and starts_with_length(data) else 0
        if options["framed"] and not start:
            return None
        key = data[start : start + 4] if self.requests else (options["api"], options["api_version"])
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = self.request_plan(data, start) if self.requests else self.response_plan(*key)
        head, at = plan.header.json(data, start)
        body = plan.body or self.response_codec(data, at, *key)
        records = options["records"]
        if options["embedded"] and body.name in GROUPS:
            return None
        wrong = self.wrong.get(body)
        if wrong is None:
            wrong = self.wrong[body] = Wrong(options, body)
        wrong.begin()
        text, _ = body.json(data, at, whole=True, records=records, hook=wrong.hook, secrets=options["secrets"])
        if BEHIND in text or (wrong.hook is not None and wrong.in_records()):
            return None
        return b"%b%b%b%b}" % (plan.start, head[: -plan.trim] if plan.trim else head, plan.between, text)

    def request_plan(self, data: bytes, start: int) -> Plan:
        """Plan a request. Raises DecodeError if the tables lack it, UsageError if the options exclude it."""
        shape = self.shape_of(data, Frame(start, len(data)), self.options)
        known = catalog(self.options["dialect"]).known(api_of(data, start)[0])
        name = f',"requestApiKeyName":{dumps(known.log_name)}}},"request":'
        return Plan(shape.header, shape.body(0), b'{"requestHeader":', 1, name.encode())

    def response_plan(self, api: str | None, version: int | None) -> Plan:
        """Plan a response. Raises InputError without the API and version of its request."""
        if api is None or version is None:
            raise InputError(
                f'the request is unknown: --api and --api-version expected, or "{KEY}" and "{VERSION}" in the line'
            )
        key = catalog(self.options["dialect"]).api_key(api)
        between = f',"{KEY}":{key},"{VERSION}":{version},"response":'
        header = messages.response_header(key, version, self.options["dialect"])
        return Plan(header, None, b'{"responseHeader":', 0, between.encode())

    def response_codec(self, data: bytes, start: int, api: str, version: int) -> MessageCodec:
        """Return the codec of the body at `start`. Raises DecodeError."""
        dialect = self.options["dialect"]
        return frames.response_codec(data, start, catalog(dialect).api_key(api), version, dialect, strict=True)

    def careful(self, data: bytes, number: int, options: dict[str, Any]) -> Reply:
        """Return the reply to any message: its problems, and the part that could be read before them."""
        frame = frame_of(data, options["framed"])
        try:
            shape = self.shape_of(data, frame, options)
            row, problems = read_json(data, frame, shape, options)
        except DecodeError as error:
            row, problems = {}, [error]
        found = [each for each in problems if not isinstance(each, PaddingError)]
        if not found:
            return Reply(dumps(row).encode())
        problem = self.finish(found[0], data[slice(*frame)], frame.start, options)
        return error_reply(all_of([problem, *found[1:]]), number, row)


def api_in(row: dict[str, Any]) -> dict[str, Any]:
    """Return the API and version that a line of JSON names, as options. Raises InputError."""
    options: dict[str, Any] = {}
    if (api := row.get(KEY)) is not None:
        if not isinstance(api, str | int) or isinstance(api, bool):
            raise InputError(f"{KEY}: needs an API's name or key, not {api!r}")
        options["api"] = str(api)
    if (version := row.get(VERSION)) is not None:
        if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version <= 32767:
            raise InputError(f"{VERSION}: needs a number, not {version!r}")
        options["api_version"] = version
    return options


def frame_of(data: bytes, framed: bool | None) -> Frame:
    """Return the one message of a line. Raises InputError for a wrong length, or several messages."""
    found = list(frames_of(data, framed or None, lambda data: True, lambda error: None)) if framed is not False else []
    if len(found) > 1:
        raise InputError(f"{len(found)} messages on one line: one expected")
    return found[0] if found else Frame(0, len(data))


def batch_reply(
    text: bytes, number: int, base64_: bool, full: bool, secrets: bool, record: Hook | None, slips: SlipNamer
) -> Reply:
    """Return the batch on a line, or a list of several, and the problems. Raises KcliError for a bad line.

    full: with records, which `record` decodes further. slips: names the likely slip of a faulty batch.
    """
    from kcli.records.record_faults import field_faults
    from kcli.records.text import Findings, batches_json

    data, _ = message_of(text, number, base64_)
    found = Findings()
    made = batches_json(data, "full" if full else "batches", found, secrets, record)
    if lines := error_lines(found, field_faults(data, problems=found.problems)):
        lines[-1] += slips.text(data, 0, {})
        return error_reply(all_of([InputError(line) for line in lines]), number, {"batches": loads(made)})
    return Reply(made[1:-1] if found.batches == 1 and not found.damages else made)
