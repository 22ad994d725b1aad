"""Checks of rules that answer requests against the message definitions: the names and types of fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kcli.broker.api_version import ApiVersion
from kcli.errors import EncodeError
from kcli.schemas.catalog import catalog
from kcli.schemas.model import INTEGERS, SCALARS, Field

FROM_REQUEST = "$request."
# The errors of encoding a value; the last two if it has a list or a string in place of a struct.
MISSHAPEN = (EncodeError, AttributeError, TypeError)


class Shape(NamedTuple):
    """A field's type as in the message definitions ("[]int32", "ReplicaState"). fields: the members of its struct in
    all versions, () for a scalar.
    """

    type: str
    fields: tuple[Field, ...]

    @property
    def is_array(self) -> bool:
        return self.type.startswith("[]")

    @property
    def is_struct(self) -> bool:
        return not self.is_array and self.type not in SCALARS

    @property
    def element(self) -> Shape:
        return Shape(self.type.removeprefix("[]"), self.fields)

    def members(self, version: int) -> dict[str, Shape]:
        fields = (each for each in self.fields if version in each.versions or version in each.tagged)
        return {each.name: Shape(each.type, each.fields) for each in fields}


def match_fault(fields: Mapping[str, Any], apis: Iterable[ApiVersion]) -> str | None:
    """Return why a request can't have these fields in any of these versions; None if it can."""
    fault = None
    for api in apis:
        try:
            api.request.write(dict(fields))
            return None
        except MISSHAPEN as error:
            fault = fault or str(error)
    return fault


def fitted(api: ApiVersion, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer without the fields that this version lacks. Raises EncodeError if it can't be encoded in this
    version, or if a value to copy from the request is missing or of another type.
    """
    tables = catalog(api.dialect)
    request, response = tables.request(api.key), tables.response(api.key)
    places = Places(Shape(request.name, request.fields), api.version)
    try:
        kept: dict[str, Any] = places.kept(answer, Shape(response.name, response.fields), "")
    except EncodeError as error:
        raise EncodeError(error.path, error.reason, what=f"{response.name} v{api.version}") from None
    api.encode(without_borrowed(kept))
    return kept


def is_borrowed(value: Any) -> bool:
    """Return whether a value is to be copied from the request: "$request.name"."""
    return isinstance(value, str) and value.startswith(FROM_REQUEST)


def without_borrowed(answer: Any) -> Any:
    if isinstance(answer, Mapping):
        return {name: without_borrowed(each) for name, each in answer.items() if not is_borrowed(each)}
    if isinstance(answer, list):
        return [without_borrowed(each) for each in answer if not is_borrowed(each)]
    return answer


class Places:
    """Checks the values that an answer copies from the request, in one version."""

    def __init__(self, request: Shape, version: int) -> None:
        self.request, self.version = request, version

    def kept(self, answer: Any, shape: Shape, path: str) -> Any:
        """Return an answer or a part of one without the fields that the version lacks. path: of the part.
        Raises EncodeError with the path of a wrong field.
        """
        if is_borrowed(answer):
            found = self.source(answer, path)
            if not self.is_assignable(shape, found):
                raise EncodeError(path, f"{answer} is of the type {found.type}, and {shape.type} is expected")
        elif isinstance(answer, list) and shape.is_array:
            return [self.kept(each, shape.element, f"{path}[{at}]") for at, each in enumerate(answer)]
        elif isinstance(answer, Mapping) and shape.is_struct:
            return self.kept_members(answer, shape, f"{path}." if path else "")
        return answer

    def kept_members(self, answer: Mapping[str, Any], shape: Shape, path: str) -> dict[str, Any]:
        members, known = shape.members(self.version), {each.name for each in shape.fields}
        made = {}
        for name, each in answer.items():
            if name in members:
                made[name] = self.kept(each, members[name], f"{path}{name}")
            elif name not in known:
                if is_borrowed(each):
                    raise EncodeError(f"{path}{name}", "no such field")
                made[name] = each  # encoding fails and names the unknown field
        return made

    def source(self, text: str, path: str) -> Shape:
        """Return the type of the request's field at a path such as "$request.topics.0.name".
        Raises EncodeError if there is no such field.
        """
        shape = self.request
        for name in text.removeprefix(FROM_REQUEST).split("."):
            if shape.is_array and name.removeprefix("-").isdigit():
                shape = shape.element
            elif shape.is_struct and name in (members := shape.members(self.version)):
                shape = members[name]
            else:
                missing = "a number expected, the place in a list" if shape.is_array else f"there is no {name}"
                raise EncodeError(path, f"{text}: {missing} in {shape.type} v{self.version}")
        return shape

    def is_assignable(self, wanted: Shape, source: Shape) -> bool:
        """Return whether values of the type `source` can be encoded as `wanted`, apart from limits and nulls."""
        if wanted.is_array or source.is_array:
            return wanted.is_array and source.is_array and self.is_assignable(wanted.element, source.element)
        if wanted.is_struct or source.is_struct:
            mine, theirs = wanted.members(self.version), source.members(self.version)
            both = wanted.is_struct and source.is_struct
            return both and all(name in mine and self.is_assignable(mine[name], each) for name, each in theirs.items())
        return class_of(wanted.type) == class_of(source.type) or (wanted.type == "float64" and source.type in INTEGERS)


def class_of(scalar: str) -> str:
    return "int" if scalar in INTEGERS else "bytes" if scalar == "records" else scalar
