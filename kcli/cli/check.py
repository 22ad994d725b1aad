"""`kcli check request` and `kcli check batch`: would a broker accept it, and if not, with which error?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import click

from kcli.calendar import now_ms
from kcli.cli.decode.coprocess import Reply, answer_lines, check_lines, message_of
from kcli.cli.decode.lines import frame_of
from kcli.cli.decode.lines_option import lines_option
from kcli.cli.decode.message import begins_with_known_api, may_begin, reach, reads_request, request_shape
from kcli.cli.decode.message_input import Frame, InputPart, frames_of, pieces
from kcli.cli.decode.slip_hints import MOST, MOST_LINES, SlipNamer, batch_text, records_text, request_text
from kcli.cli.options.inputs import binary_input, dialect_option, quiet_option, text_format_option
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import print_line
from kcli.errors import DecodeError, InputError, UsageError
from kcli.jsontext import dumps, loads
from kcli.schemas.apikeys import PRODUCE
from kcli.schemas.catalog import catalog

if TYPE_CHECKING:
    from kcli.broker.acceptance import RequestVerdict

Command = Callable[..., int]
KEPT = 64  # cached lines with verdicts: most messages are accepted, in the same words


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of both commands."""

    hex_: bool
    base64_: bool
    dialect: str | None
    release: str | None
    form: str
    quiet: bool
    lines: bool


def check_options(command: Command) -> Command:
    for option in (
        quiet_option("Print nothing; the exit code has the answer."),
        lines_option("hex, base64 or JSON by a line of JSON"),
        text_format_option(),
        click.option("--release", metavar="RELEASE", help="The broker's release; the newest in the tables by default."),
        dialect_option,
        binary_input,
        click.argument("file", default="-"),
    ):
        command = option(command)
    return command


@click.command()
@check_options
@click.option(
    "--framed/--unframed", default=None, help="Requests have, or don't have, their length in front (default: detect)."
)
def request(file: str, framed: bool | None, **values: Any) -> int:
    """Check whether a broker would accept these requests, or with which error it refuses them.

    FILE has requests in the forms that `kcli decode request` reads. kcli checks what does not depend on topics and
    groups: API and version of the release, the layout, and the batches of a Produce. Exit code 1: a request is refused.

    \b
    kcli check request produce.bin
    kcli encode request --to hex requests.jsonl | kcli check request --hex --release 3.9
    """
    from kcli.broker.acceptance import request_verdicts

    options = CheckOptions(**values)
    dialect, of = options.dialect, release_of(options)
    slips, batch_slips = (SlipNamer(text, most_slips(options)) for text in (request_text, records_text))

    def judged(data: bytes, frame: Frame) -> list[RequestVerdict]:
        message, searched = data[slice(*frame)], 0

        def batch_slip(records: bytes) -> str:
            nonlocal searched
            at = message.find(records, searched)
            searched = at + len(records)
            return batch_slips.text(records, frame.start + at, {})

        found = request_verdicts(data[: frame.end], of, now_ms(), dialect, batch_slip, start=frame.start)
        if found[0].error or reads_request(message, dialect):
            return found
        text = slips.text(message, frame.start, {"dialect": dialect})
        return [each._replace(reason=each.reason + text) for each in found]

    if options.lines:
        check_answers(options)

        def answer(text: bytes, number: int) -> Reply:
            data = request_of(text, number, options.base64_, dialect)
            return reply(judged(data, frame_of(data, framed)))

        return answer_lines(file, answer)
    bad = list[InputError]()

    def reads(data: bytes) -> bool:
        return reads_request(data, dialect)

    shape = {"dialect": dialect, "api": None, "api_version": None}
    framing = partial(reach, request_shape, shape), partial(may_begin, dialect=dialect)

    def verdicts_of(place: str, data: bytes) -> Iterator[tuple[str, list[RequestVerdict]]]:
        lengths, told = list[InputError](), 0
        for number, frame in enumerate(frames_of(data, framed, reads, lengths.append, *framing)):
            where = place if frame == Frame(0, len(data)) else f"{place} message {number + 1}".strip()
            told = len(lengths)
            text = slips.text(data[slice(*frame)], frame.start, shape) if lengths else ""
            yield where, [closed(each, text) for each in lengths] or judged(data, frame)
        yield from ((place, [closed(each)]) for each in lengths[told:])

    def verdicts() -> Iterator[tuple[str, list[RequestVerdict]]]:
        begins = partial(begins_with_known_api, dialect=dialect)
        for place, data in readable(pieces(file, options.hex_, options.base64_, reads, begins), file, bad):
            try:
                yield from verdicts_of(place, data)
            except DecodeError as error:
                yield place, [closed(error)]

    code = show(verdicts(), options.form, options.quiet)
    conclude(bad, options.quiet)
    return code


@click.command()
@check_options
@click.option("--api-version", type=click.IntRange(0, 32767), metavar="N", help="The version of the Produce request.")
def batch(file: str, api_version: int | None, **values: Any) -> int:
    """Check whether a broker would accept these record batches from a producer, or with which error it refuses them.

    FILE has the records field of a Produce request; with hex or base64 text, each line has one. The rules are those of
    Kafka 4.4, and of the embedded broker. Exit code 1: they are refused.

    \b
    kcli check batch batch.bin
    kcli encode batch --to hex batch.json | kcli check batch --hex
    """
    from kcli.broker.acceptance import RequestVerdict, batch_verdict

    options = CheckOptions(**values)
    of = release_of(options)
    versions = catalog(options.dialect).release_versions(of, "broker")[PRODUCE]
    version = versions.hi if api_version is None else api_version
    slips = SlipNamer(batch_text, most_slips(options))

    def verdict(data: bytes, now: int) -> RequestVerdict:
        if version in versions:
            found = batch_verdict(data, version, of, now)
            return found if found.is_accepted else found._replace(reason=found.reason + slips.text(data, 0, {}))
        return RequestVerdict("", "", f"{of} has no Produce v{version} (it has {versions})")

    if options.lines:
        check_answers(options)
        is_base64 = options.base64_
        return answer_lines(file, lambda text, n: reply([verdict(records_of(text, n, is_base64), now_ms())]))
    now, bad = now_ms(), list[InputError]()

    def verdicts() -> Iterator[tuple[str, list[RequestVerdict]]]:
        found = pieces(file, options.hex_, options.base64_, lambda data: False, is_batch, batches=True)
        for place, data in readable(found, file, bad):
            yield place, [verdict(data, now)]

    code = show(verdicts(), options.form, options.quiet)
    conclude(bad, options.quiet)
    return code


def closed(wrong: InputError, slip: str = "") -> RequestVerdict:
    """Return the verdict on bytes at which a broker closes the connection. slip: more of the reason."""
    from kcli.broker.acceptance import RequestVerdict

    return RequestVerdict("", "", f"{wrong}{slip}")


def check_answers(options: CheckOptions) -> None:
    """Raise UsageError for options that make no sense with --lines."""
    check_lines({"hex_": options.hex_, "base64_": options.base64_})
    if options.quiet:
        raise UsageError("--quiet: with --lines each line has its answer")


def release_of(options: CheckOptions) -> str:
    """Return the broker's release. Raises UsageError if kcli does not know it."""
    tables = catalog(options.dialect)
    return tables.release(options.release or tables.releases[-1])


def most_slips(options: CheckOptions) -> int:
    """Return the number of messages in a run whose likely slips are searched for."""
    return 0 if options.quiet else MOST_LINES if options.lines else MOST


def request_of(text: bytes, number: int, base64_: bool, dialect: str | None) -> bytes:
    """Return the frame on a line: as text, or as JSON that `kcli encode request` takes. Raises InputError."""
    if text[:1] != b"{":
        return message_of(text, number, base64_)[0]
    from kcli.cli.encode.message import message_bytes

    return message_bytes(loads(text, line=number), number, "request", dialect)


def records_of(text: bytes, number: int, base64_: bool) -> bytes:
    """Return the batches on a line: as text, or as JSON that `kcli encode batch` takes. Raises InputError."""
    if text[:1] not in (b"{", b"["):
        return message_of(text, number, base64_)[0]
    from kcli.cli.encode.records import batch_bytes

    return batch_bytes(loads(text, line=number), number)


def reply(verdicts: list[RequestVerdict]) -> Reply:
    """Return a line of JSON: the first verdict, with the others inside if there are more."""
    return Reply(line_of(tuple(verdicts)), is_no=not verdicts[0].is_accepted)


@lru_cache(KEPT)
def line_of(verdicts: tuple[RequestVerdict, ...]) -> bytes:
    first, *others = (verdict_row(each.place, each) for each in verdicts)
    return dumps(first | ({"others": others} if others else {})).encode()


def readable(found: Iterator[InputPart], file: str, bad: list[InputError]) -> Iterator[tuple[str, bytes]]:
    """Yield (place, bytes) of each piece. Errors in text that can't be decoded to bytes are appended to `bad`."""
    for piece in found:
        if isinstance(piece.data, InputError):
            bad.append(piece.data.within(piece.source(file)))
        else:
            yield piece.place, piece.data


def is_batch(data: bytes) -> bool:
    """Return whether data is exactly one batch, by the batch's length field."""
    return len(data) > 16 and int.from_bytes(data[8:12], "big") == len(data) - 12


def show(found: Iterator[tuple[str, list[RequestVerdict]]], form: str, quiet: bool) -> int:
    """Print the verdicts. Return 1 if one of them is a refusal, else 0."""
    refused = False
    for place, verdicts in found:
        for each in verdicts:
            refused = refused or not each.is_accepted
            if quiet:
                continue
            where = ": ".join(part for part in (place, each.place) if part)
            print_line(dumps(verdict_row(where, each)) if form == "jsonl" else text_line(where, each))
    return int(refused)


def verdict_row(where: str, verdict: RequestVerdict) -> dict[str, Any]:
    row = {"taken": verdict.is_accepted, "error": verdict.error or None, "errorCode": verdict.code}
    return ({"place": where} if where else {}) | row | ({"reason": verdict.reason} if verdict.reason else {})


def text_line(where: str, verdict: RequestVerdict) -> str:
    outcome = f"{verdict.error} ({verdict.code})" if verdict.error else "the connection is closed"
    return ": ".join(part for part in (where, "taken" if verdict.is_accepted else outcome, verdict.reason) if part)
