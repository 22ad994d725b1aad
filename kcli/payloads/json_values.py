"""JSON payloads, with a JSON Schema or without."""

import re
from typing import Any

from kcli.errors import InputError
from kcli.jsontext import dumps, loads
from kcli.payloads.framing import Frame
from kcli.payloads.plain import json_form
from kcli.payloads.schema import FAILURES, PayloadError, Schema

DEEPEST = 200  # the most levels of arrays and objects
ENDLESS = re.compile(rb"NaN|Infinity|[eE]\+?\d{3}")  # where a number outside of JSON may be


class JsonCodec:
    """Reads JSON. Values are validated only against the user's own schema, because a foreign one may take unbounded
    time.
    """

    def __init__(self, schema: Schema | None = None) -> None:
        self.validator, self.failures = None, tuple[type[BaseException], ...](FAILURES)
        if schema is not None and schema.local:
            from referencing.exceptions import Unresolvable

            self.validator, self.failures = validator_of(schema), (*FAILURES, Unresolvable)

    def decode(self, data: bytes, start: int) -> Any:
        """Return the value of a payload as in JSON. Raises PayloadError."""
        value = json_of(data[start:] if start else data)
        self.validate(value)
        return value

    def decode_framed(self, frame: Frame, data: bytes) -> Any:
        """Return the value of a payload after its frame. Raises PayloadError."""
        return self.decode(data, frame.start)

    def encode(self, value: Any) -> bytes:
        """Return the payload of a value. Raises PayloadError."""
        self.validate(value)
        return dumps(value).encode("utf-8", "surrogatepass")

    def encode_like(self, value: Any, _frame: Frame, _data: bytes) -> bytes:
        """Return the payload of a value after a frame. Raises PayloadError."""
        return self.encode(value)

    def validate(self, value: Any) -> None:
        """Raise PayloadError if a value does not match the schema."""
        if self.validator is None:
            return
        try:
            wrong = next(self.validator.iter_errors(value), None)
        except self.failures as error:
            raise PayloadError(f"its schema can't be applied: {' '.join(str(error).split())[:200]}") from None
        if wrong is not None:
            expected = dumps(wrong.validator_value)  # not the value, which may be a secret
            raise PayloadError(f"not of this schema: {wrong.json_path}: {wrong.validator}: {expected[:200]}")


def json_of(data: bytes) -> Any:
    """Return the value of JSON text. Raises PayloadError if it is not JSON, or nested too deep to be written again."""
    try:
        value = loads(data)
    except InputError as error:
        raise PayloadError(error.text) from None
    if data.count(b"[") + data.count(b"{") > DEEPEST and depth_of(value) > DEEPEST:
        raise PayloadError(f"not JSON that is read: deeper than {DEEPEST} levels")
    return json_form(value) if ENDLESS.search(data) else value


def depth_of(value: Any) -> int:
    """Return the number of levels of nested lists and objects."""
    level, depth = [value], 0
    while level:
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list)))
        level = [item for each in inner for item in each]
        depth += 1
    return depth


def validator_of(schema: Schema) -> Any:
    """Return a validator of jsonschema that reads only the schema and its references. Raises PayloadError."""
    from jsonschema import validators
    from jsonschema.exceptions import SchemaError
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    try:
        text = loads(schema.text)
        made = [(name, Resource.from_contents(loads(each), DRAFT202012)) for name, each in schema.references]
        kind = validators.validator_for(text, validators.Draft202012Validator)
        kind.check_schema(text)
    except (InputError, SchemaError, *FAILURES) as error:
        reason = f"{error.json_path}: {error.message}" if isinstance(error, SchemaError) else str(error)
        raise PayloadError(f"not a JSON Schema: {' '.join(reason.split())[:200]}") from None
    return kind(text, registry=Registry().with_resources(made))
