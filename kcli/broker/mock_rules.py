"""Mock responses: JSON rules that answer requests, and default responses for APIs without a handler in the broker.

A rule is an object:

    {"api": "Greet", "versions": "1+", "request": {"name": "world"}, "answer": {"text": "hello"}, "count": 1}

api (name or key) is required. versions: of the requests that match, by default all. request: fields that the request
must have; an object matches if its named fields do, a list if each of its entries matches one of the request's. answer:
the response in the form of `kcli decode response`; missing fields have their defaults, and fields that a version lacks
are dropped. A text "$request.topics.0.name" is replaced by that value of the request. count: the number of requests
that the rule answers, by default all. The first matching rule answers; if there is none, the broker's own handler does,
or a default response is sent. Names and types are checked against the message definitions when the rules are read.
"""

import base64
import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from kcli.broker.answer_fields import FROM_REQUEST, MISSHAPEN, fitted, is_borrowed, match_fault
from kcli.broker.api_version import ApiVersion
from kcli.broker.request import Handler, Request
from kcli.broker.response import Answer, EncodedBody, HangUpError, Outcome
from kcli.errors import EncodeError, InputError, SchemaError, UsageError
from kcli.schemas.catalog import catalog
from kcli.schemas.ranges import Range

LARGEST = 64 << 20
KEYS = ("api", "versions", "request", "answer", "count")
# The errors of a handler if a draft lacks or changes a field that the handler needs.
MISFITS = (KeyError, IndexError, TypeError, ValueError, AttributeError, EncodeError)


@dataclass(frozen=True, slots=True)
class MockRule:
    """A rule. request: the fields that the request must have; answers: the response by version; count: how many
    requests it answers, 0 for all; place: the rule's name in errors.
    """

    api: int
    request: Mapping[str, Any]
    answers: Mapping[int, Mapping[str, Any]]
    count: int
    place: str


class Answers:
    """The rules of a broker, in its dialect. counts: how often each has answered. Raises UsageError that names an
    invalid rule.
    """

    def __init__(self, rules: Iterable[Mapping[str, Any]] = (), dialect: str | None = None) -> None:
        try:
            self.rules = [parsed(rule, f"answers: rule {number}", dialect) for number, rule in enumerate(rules, 1)]
        except RecursionError:
            raise UsageError("answers: nested too deep") from None
        self.counts = [0] * len(self.rules)

    @property
    def apis(self) -> frozenset[int]:
        """The keys of the APIs that rules answer."""
        return frozenset(rule.api for rule in self.rules)

    def before(self, api_key: int, version: int, handle: Handler) -> Handler:
        """Return a handler that answers by the first matching rule, and calls `handle` if there is none."""
        mine = [(at, rule) for at, rule in enumerate(self.rules) if rule.api == api_key and version in rule.answers]
        if not mine:
            return handle

        @wraps(handle)
        def answered(request: Request) -> Outcome:
            for at, rule in mine:
                if (not rule.count or self.counts[at] < rule.count) and matches(rule.request, request.body):
                    self.counts[at] += 1
                    return written(request, filled(rule.answers[version], request.body), rule.place)
            return handle(request)

        return answered


def parsed(raw: Any, place: str, dialect: str | None) -> MockRule:
    """Parse a rule, and check its request and answer in every version. Raises UsageError that begins with `place`."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("api"), (str, int)):
        raise UsageError(f'{place}: an object with an "api" expected')
    if strange := next((key for key in raw if key not in KEYS), None):
        raise UsageError(f"{place}: {strange!r} is unknown; there are {', '.join(KEYS)}")
    tables = catalog(dialect)
    request, answer, count = raw.get("request", {}), raw.get("answer", {}), raw.get("count")
    if not isinstance(request, Mapping) or not isinstance(answer, Mapping):
        raise UsageError(f'{place}: "request" and "answer": objects expected')
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
        raise UsageError(f'{place}: "count": a number of 1 or more expected')
    try:
        api = tables.known(tables.api_key(raw["api"]))
        versions = Range.parse(str(raw.get("versions", "0+"))) & api.versions
    except (UsageError, SchemaError) as error:
        raise UsageError(f"{place}: {error}") from None
    if not versions:
        raise UsageError(f"{place}: {api.name} has no versions {raw['versions']} (it has {api.versions})")
    spoken = [ApiVersion(api.key, version, dialect) for version in versions]
    if fault := match_fault(request, reversed(spoken)):
        raise UsageError(f"{place}: request: {fault}")
    try:
        return MockRule(api.key, request, {each.version: fitted(each, answer) for each in spoken}, count or 0, place)
    except MISSHAPEN as wrong:
        raise UsageError(f"{place}: answer: {wrong}") from None


def matches(wanted: Any, value: Any) -> bool:
    """Return whether a value of a request matches the value of a rule; bytes match their base64 text."""
    if isinstance(wanted, Mapping):
        return isinstance(value, dict) and all(
            name in value and matches(each, value[name]) for name, each in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(matches(each, one) for one in value) for each in wanted)
    value = base64.b64encode(value).decode() if isinstance(value, bytes | memoryview) else value
    return bool(wanted == value) and isinstance(wanted, bool) == isinstance(value, bool)


def filled(answer: Any, request: Any) -> Any:
    """Return an answer with "$request." texts replaced by the request's values. Raises HangUpError if one is
    missing.
    """
    if isinstance(answer, Mapping):
        return {name: filled(each, request) for name, each in answer.items()}
    if isinstance(answer, list):
        return [filled(each, request) for each in answer]
    if not is_borrowed(answer):
        return answer
    value = request
    for name in answer.removeprefix(FROM_REQUEST).split("."):
        try:
            value = value[int(name)] if isinstance(value, list) else value[name]
        except (KeyError, IndexError, TypeError, ValueError):
            raise HangUpError(f"answers: {answer}: the request has no such value") from None
    return value


def written(request: Request, answer: Mapping[str, Any], place: str) -> EncodedBody:
    try:
        return EncodedBody([request.api.encode(dict(answer))], dict(answer))
    except MISSHAPEN as wrong:
        raise HangUpError(f"{place}: answer: {wrong}") from None


def default_answer(request: Request) -> Answer:
    """Return a response with default values, and with the error code of a fault rule if it has an errorCode."""
    code = request.fault()
    names = {field.name for field in request.api.response.grammar.fields}
    return {"errorCode": code} if code and "errorCode" in names else {}


def guarded(handle: Handler) -> Handler:
    """Wrap a handler of Apache's message for a draft of the message. If the handler fails on the draft's fields, the
    connection is closed with a line in the log.

    In responses the fields that only the draft has are at their defaults.
    """

    @wraps(handle)
    def answered(request: Request) -> Outcome:
        try:
            outcome = handle(request)
            return finish(request, outcome) if inspect.isawaitable(outcome) else fit(request, outcome)
        except MISFITS as error:
            raise misfit(request, error) from None

    async def finish(request: Request, outcome: Any) -> Answer:
        try:
            return fit(request, await outcome)
        except MISFITS as error:
            raise misfit(request, error) from None

    return answered


def fit(request: Request, answer: Answer) -> Answer:
    return EncodedBody([request.api.encode(answer)], answer) if isinstance(answer, dict) else answer


def misfit(request: Request, error: Exception) -> HangUpError:
    request_name = f"{request.api.name} v{request.version}"
    return HangUpError(
        f"{request_name}: this broker's answer is written for another version of the draft ({error}): add a rule"
    )


def read_answers(path: Path) -> list[Any]:
    """Read rules from a file: a JSON array, or one rule per line. Raises InputError if it is neither, and OSError."""
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path.stat().st_size} bytes are too many for rules", file=str(path))
    text = path.read_text("utf-8", "replace")
    try:
        if text.lstrip().startswith("["):
            rules: list[Any] = json.loads(text)
            return rules
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "not JSON that can be read"
        raise InputError(f"a JSON array of rules expected, or one a line: {reason}", file=str(path)) from None
