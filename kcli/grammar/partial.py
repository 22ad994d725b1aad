"""Makes JSON of the readable part of a message before an error, from the spans of its fields."""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from kcli.grammar.secrets import Hidden, redacted
from kcli.grammar.words.scalars import scalar
from kcli.grammar.words.tagged import UNKNOWN_TAGS
from kcli.grammar.words.trace import Span
from kcli.grammar.words.word import JsonForm
from kcli.schemas.model import SCALARS

NAME_OR_INDEX = re.compile(r"([^.\[\]]+)|\[(-?\d+)\]")
NOTES = ("tag count", "tag and size")  # spans that are no fields


def partial_json(spans: Iterable[Span], form: JsonForm) -> dict[str, Any]:
    """Return the fields of one message's spans, nested as in its JSON. form: of the records."""
    made: dict[str, Any] = {}
    for span in spans:
        if span.type == "unknown tagged field":
            parent, _, tag = span.path.rpartition("tag ")
            data = json_of(span._replace(type="bytes"), form)
            put(made, f"{parent}{UNKNOWN_TAGS}[-1]", {"tag": int(tag), "data": data})
        elif span.type not in NOTES:
            put(made, span.path, json_of(span, form))
    return made


def put(made: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a path, and make the objects and lists that lead there."""
    at: Any = made
    words = [name or int(index) for name, index in NAME_OR_INDEX.findall(path)]
    for word, following in pairwise(words):
        at = step(at, word, [] if isinstance(following, int) else {})
    if isinstance(at, list):
        at.append(value)
    else:
        at[words[-1]] = value


def step(at: Any, word: str | int, empty: Any) -> Any:
    """Return the value in `at` under a name or index. empty: replaces a value of another type."""
    if isinstance(word, int):
        at.extend({} for _ in range(word + 1 - len(at)))
    elif not isinstance(at.get(word), type(empty)):
        at[word] = empty
    return at[word]


def json_of(span: Span, form: JsonForm) -> Any:
    """Return a field's value as JSON; for a count, its empty array."""
    value, kind = span.value, span.type.rpartition(" ")[2]
    if isinstance(value, Hidden):
        return redacted(value.size)
    if span.type.endswith("array count"):
        return None if value.startswith("null") else []
    if span.type == "nullable struct":
        return None if value is None else {}
    return scalar(kind, True, False).json_value(value, form) if kind in SCALARS else value
