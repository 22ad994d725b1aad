"""Error responses to any request, made by the message tables in the form of a broker's.

The response has a row for each row of the request with the same identity (topic, partition, group, ...), and every
error code in it is the wanted one.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from kcli.schemas import model
from kcli.schemas.catalog import catalog

# The meanings of fields that have different names in different messages.
MEANINGS = {
    "name": "topic", "topicName": "topic", "topic": "topic",
    "partition": "partition", "partitionIndex": "partition", "index": "partition",
}  # fmt: skip
IDENTITIES = {"topic", "topicId", "partition", "groupId", "key", "transactionalId", "resourceName", "coordinatorKey"}
ERROR = "rrorCode"  # errorCode, partitionErrorCode, ...


class ErrorTarget(NamedTuple):
    """The place of an error. topic: "" for the whole message; partition: -1 for a whole topic."""

    topic: str = ""
    partition: int = -1


CodeOf = Callable[[ErrorTarget], int]
TopicName = Callable[[str], str]  # of a topic's id


def meaning(name: str) -> str:
    return MEANINGS.get(name, name)


def error_body(
    name: str, version: int, request: dict[str, Any], code_of: CodeOf, topic_name: TopicName, dialect: str | None = None
) -> dict[str, Any]:
    """Return the body of a response. name: of the message; code_of: returns the error code for a place, 0 for none."""
    return Answerer(version, code_of, topic_name).struct(catalog(dialect).message(name).fields, request, ErrorTarget())


class Answerer:
    """Makes one response."""

    def __init__(self, version: int, code_of: CodeOf, topic_name: TopicName) -> None:
        self.version, self.code_of, self.topic_name = version, code_of, topic_name

    def struct(self, fields: tuple[model.Field, ...], request: dict[str, Any], place: ErrorTarget) -> dict[str, Any]:
        """Make a struct of the response for one of the request (asked) at a place. Missing fields have their
        defaults.
        """
        values = {meaning(name): value for name, value in request.items()}
        made: dict[str, Any] = {}
        for field in fields:
            if self.version not in field.versions:
                continue
            if field.name.endswith(ERROR) and field.type == "int16":
                made[field.name] = self.code_of(place)
            elif field.is_array:
                made[field.name] = [self.struct(field.fields, row, at) for row, at in self.rows(field, request, place)]
            elif field.is_struct:
                continue
            elif meaning(field.name) in IDENTITIES and values.get(meaning(field.name)) is not None:
                made[field.name] = values[meaning(field.name)]
        return made

    def rows(
        self, field: model.Field, request: dict[str, Any], place: ErrorTarget
    ) -> Iterator[tuple[dict[str, Any], ErrorTarget]]:
        """Yield the request's rows for this array of the response, each with its place."""
        if not field.is_struct or not has_error(field.fields):
            return
        wanted = {meaning(each.name) for each in field.fields if self.version in each.versions} & IDENTITIES
        for value in request.values():
            for row in rows_of(value, wanted):
                if wanted & {meaning(name) for name in row}:
                    yield row, place_of(row, place, self.topic_name)


def has_error(fields: tuple[model.Field, ...]) -> bool:
    return any(each.name.endswith(ERROR) or (each.is_struct and has_error(each.fields)) for each in fields)


def rows_of(value: Any, wanted: set[str]) -> Iterator[dict[str, Any]]:
    """Yield an array of a request as structs, also one of bare numbers or names."""
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            yield each
        elif isinstance(each, int) and "partition" in wanted:
            yield {"partition": each}
        elif isinstance(each, str):
            yield dict.fromkeys(wanted - {"partition", "topicId"}, each)


def place_of(row: dict[str, Any], above: ErrorTarget, topic_name: TopicName) -> ErrorTarget:
    """Return the place of a request's row. above: the place of the struct that it is in."""
    values = {meaning(name): value for name, value in row.items()}
    topic = values.get("topic") or (topic_name(values["topicId"]) if values.get("topicId") else above.topic)
    partition = values.get("partition", above.partition)
    named = isinstance(topic, str) and "groupId" not in values
    return ErrorTarget(topic if named else above.topic, partition if isinstance(partition, int) else -1)


# Requests of which some rows fail


def places_in(body: dict[str, Any], topic_name: TopicName) -> Iterator[ErrorTarget]:
    """Yield the partitions that a request names; partition -1 for a whole topic."""
    for rows in body.values():
        for topic in rows_of(rows, {"topic"}):
            at = place_of(topic, ErrorTarget(), topic_name)
            below = [place_of(row, at, topic_name) for value in topic.values() for row in rows_of(value, {"partition"})]
            yield from [each for each in below if each.topic] or ([at] if at.topic else [])


def without(body: dict[str, Any], targets: Collection[ErrorTarget], topic_name: TopicName) -> dict[str, Any]:
    """Return a request's body without these places."""
    return pruned(body, targets, topic_name, ErrorTarget())


def pruned(
    struct: dict[str, Any], targets: Collection[ErrorTarget], topic_name: TopicName, above: ErrorTarget
) -> dict[str, Any]:
    made = dict(struct)
    for name, value in struct.items():
        if not isinstance(value, list):
            continue
        made[name] = kept = []
        for each in value:
            kind = "partition" if isinstance(each, int) else "topic"
            place = next((place_of(row, above, topic_name) for row in rows_of([each], {kind})), above)
            below = pruned(each, targets, topic_name, place) if isinstance(each, dict) else each
            if place not in targets and (
                below == each or any(isinstance(part, list) and part for part in below.values())
            ):
                kept.append(below)
    return made


def merge(body: dict[str, Any], more: dict[str, Any]) -> None:
    """Add the rows of another body of the same message, in place: to the row of their topic, or after the others."""
    for name, rows in more.items():
        present = body.get(name)
        if not isinstance(present, list) or not isinstance(rows, list):
            continue
        for row in rows:
            same = next((each for each in present if is_same(each, row)), None)
            if same is None:
                present.append(row)
            else:
                merge(same, row)


def is_same(first: Any, second: Any) -> bool:
    """Return whether two rows are of the same topic."""
    names = [name for name in second if meaning(name) in ("topic", "topicId")] if isinstance(second, dict) else []
    return bool(names) and all(first.get(name) == second[name] for name in names)
