"""Finds errors and oddities in message definitions. Drafts are written by hand, and Kafka's generator has not checked
them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kcli.schemas.model import SCALARS, SIZED, Field, Message
from kcli.schemas.ranges import Range


@dataclass(frozen=True, slots=True, order=True)
class SchemaFinding:
    """A contradiction in a definition.

    message  "FetchResponse"
    path     the field, "topics.partitions.snapshotOffsetAndEpoch"; "" for the message itself
    rule     "tag-clash", "struct-shapes", "versions-outside", ...
    text     what is wrong, and how kcli reads it
    """

    message: str
    path: str
    rule: str
    text: str

    def __str__(self) -> str:
        where = f"{self.message}: {self.path}" if self.path else self.message
        return f"{where}: {self.text} [{self.rule}]"


# (path, field, versions of the message that may have the field)
Place = tuple[str, Field, Range]
Report = Callable[[str, str, str], None]


def check_message(message: Message) -> list[SchemaFinding]:
    """Return every finding about a message, in the order of its fields."""
    found: list[SchemaFinding] = []

    def report(path: str, rule: str, text: str) -> None:
        found.append(SchemaFinding(message.name, path, rule, text))

    for path, field, versions in places(message.fields, message.versions):
        for rule in FIELD_RULES:
            rule(message, path, field, versions, report)
    for path, fields in levels(message.fields):
        check_tags(path, fields, report)
        check_names(path, fields, report)
    check_shapes(message, report)
    return found


def places(fields: tuple[Field, ...], versions: Range, path: str = "") -> Iterator[Place]:
    for field in fields:
        field_path = f"{path}{field.name}"
        yield field_path, field, field.versions & versions
        yield from places(field.fields, field.versions & versions, f"{field_path}.")


def levels(fields: tuple[Field, ...], path: str = "") -> Iterator[tuple[str, tuple[Field, ...]]]:
    """Yield (path, fields) of the message, then of each struct."""
    yield path, fields
    for field in fields:
        if field.fields:
            yield from levels(field.fields, f"{path}{field.name}.")


def check_versions(message: Message, path: str, field: Field, versions: Range, report: Report) -> None:
    if not versions and field.versions.lo > message.versions.hi:
        text = f"versions {field.versions} are outside the message's {message.versions}: as written it is never sent"
        report(path, "versions-outside", text)


def check_tagged(message: Message, path: str, field: Field, versions: Range, report: Report) -> None:
    if field.tagged and field.tag is None:
        report(path, "tag-missing", f"tagged in versions {field.tagged}, but without a tag")
    if field.tag is not None and not field.tagged:
        report(path, "tag-unused", f"tag {field.tag}, but tagged in no version")
    stiff = [version for version in field.tagged & versions if version not in message.flexible]
    if stiff:
        report(
            path, "tag-inflexible", f"tagged in version {stiff[0]}, which is not flexible: there is no place for tags"
        )


def check_null(_message: Message, path: str, field: Field, versions: Range, report: Report) -> None:
    able = field.is_array or field.element not in SCALARS or field.element in SIZED
    if field.nullable and not able:
        report(path, "not-nullable", f"{field.type} has no null, yet it may be null in versions {field.nullable}")
    # The only default of a records field is null.
    if able and field.default is None and field.type != "records" and versions and not field.nullable & versions:
        report(path, "null-default", "null by default, but in no version may it be null")


FIELD_RULES = (check_versions, check_tagged, check_null)


def check_tags(path: str, fields: tuple[Field, ...], report: Report) -> None:
    """Report fields with the same tag in the same version."""
    tagged = [field for field in fields if field.tag is not None]
    for at, field in enumerate(tagged):
        holder = next((known for known in tagged[:at] if clash(known, field)), None)
        if holder is not None:
            text = f"claims tag {field.tag}, which {holder.name} has in the same versions"
            report(f"{path}{field.name}", "tag-clash", text)


def clash(one: Field, other: Field) -> bool:
    return one.tag is not None and one.tag == other.tag and bool(one.tagged & other.tagged)


def check_names(path: str, fields: tuple[Field, ...], report: Report) -> None:
    """Report fields with the same name in the same version."""
    named = defaultdict[str, list[Field]](list)
    for field in fields:
        if any(known.versions & field.versions for known in named[field.name]):
            report(f"{path}{field.name}", "name-twice", "an earlier field has this name in the same versions")
        named[field.name].append(field)


def check_shapes(message: Message, report: Report) -> None:
    """Report structs with the same name and different members."""
    known: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {}
    for path, field, _ in places(message.fields, message.versions):
        if not field.is_struct:
            continue
        shape = tuple((member.name, member.type) for member in field.fields)
        first, first_shape = known.setdefault(field.element, (path, shape))
        if first_shape != shape:
            text = f"struct {field.element} is {{{members(shape)}}} here, but {{{members(first_shape)}}} at {first}"
            report(path, "struct-shapes", f"{text}: each keeps its own")


def members(shape: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in shape)


def check_pair(request: Message, response: Message) -> list[SchemaFinding]:
    """Return fields that have the same name, but different types, in request and response. Each keeps its type."""
    mine = {field.name: (path, field) for path, field, is_set in places(request.fields, request.versions) if is_set}
    found = []
    for path, field, is_set in places(response.fields, response.versions):
        where, request_field = mine.get(field.name, ("", field))
        if is_set and not field.is_struct and not request_field.is_struct and request_field.type != field.type:
            text = f"{field.type} here, but {request_field.type} in {request.name} ({where}): both are kept as written"
            found.append(SchemaFinding(response.name, path, "types-differ", text))
    return found


def check_versions_of_pair(request: Message, response: Message) -> list[SchemaFinding]:
    """Return the finding for different versions of a request and its response; [] if they are the same."""
    if request.versions == response.versions:
        return []
    text = f"versions {response.versions}, but {request.name} has {request.versions}"
    return [SchemaFinding(response.name, "", "versions-differ", text)]


def repair(message: Message) -> tuple[Message, list[SchemaFinding]]:
    """Return the message with each clashing or missing tag replaced by the lowest free one, and a finding for each."""
    found: list[SchemaFinding] = []
    fields = retag(message.name, message.fields, "", found)
    return message._replace(fields=fields), found


def retag(message: str, fields: tuple[Field, ...], path: str, found: list[SchemaFinding]) -> tuple[Field, ...]:
    claimed = {field.tag for field in fields if field.tagged}
    result: list[Field] = []
    for field in fields:
        if field.tagged and (field.tag is None or any(clash(known, field) for known in result)):
            free = next(tag for tag in range(len(fields) + 1) if tag not in claimed)
            claimed.add(free)
            text = f"given tag {free}, the next free one"
            found.append(SchemaFinding(message, f"{path}{field.name}", "tag-assigned", text))
            field = field._replace(tag=free)
        result.append(field._replace(fields=retag(message, field.fields, f"{path}{field.name}.", found)))
    return tuple(result)
