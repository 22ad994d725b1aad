"""Hides secrets in output: in the JSON form of a message, and in the spans of its fields.

Decoded values stay exact; only output hides them. A hidden value shows only its size.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kcli.grammar.words.tagged import UNKNOWN_TAGS
from kcli.grammar.words.trace import INDEX, Span
from kcli.schemas.secrets import ALWAYS, is_secret_config
from kcli.topic_names import CLUSTER_METADATA, METADATA_ID, NAME_FIELDS

OF_NO_FIELD = ("count", "tag and size", "struct")  # the ends of types of spans that are no fields
LEAST_HIDDEN = 4  # bytes; shorter numbers are shown
LARGE = re.compile(r"\d{4}")  # a count of entries that may be two printable bytes
WHOLE = ("_trailing", "_encodings")  # they may hold bytes of any field


class Hidden:
    """A value that is not shown. size: bytes."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __repr__(self) -> str:
        return f"redacted, {self.size} bytes"


def redacted(size: int) -> dict[str, int]:
    """Return the JSON that replaces a secret of this many bytes."""
    return {"redacted": size}


def hide_secrets(made: Any, fields: Mapping[str, str]) -> None:
    """Hide the secrets in a message's JSON form, in place. fields: as kcli.schemas.secrets.secret_fields.

    Unknown tags, bytes after the message and odd encodings are hidden, too, as any of them may have a secret's bytes.
    """
    for path, how in fields.items():
        hide_path(made, path.split("."), how, 0)
    hide_unknown(made)


def hide_path(value: Any, names: list[str], how: str, resource: int) -> None:
    """Hide the values at a path. resource: the type of the resource to which the configs belong."""
    if isinstance(value, list):
        for item in value:
            hide_path(item, names, how, resource)
    elif isinstance(value, dict):
        kind = value.get("resourceType", resource)
        resource = kind if isinstance(kind, int) else resource
        name, *rest = names
        if rest:
            hide_path(value.get(name), rest, how, resource)
        elif isinstance(secret := value.get(name), str) and (how == ALWAYS or is_hidden_config(value, resource)):
            value[name] = redacted(size_of(secret, how))


def is_hidden_config(entry: Mapping[str, Any], resource: int) -> bool:
    """Return whether an entry of configs has a secret's name, or no readable name."""
    name = entry.get("name")
    return not isinstance(name, str) or is_secret_config(name, resource)


def size_of(text: str, how: str) -> int:
    """Return the size in bytes of a text, or of the bytes that base64 text stands for if the field is always secret."""
    return len(base64.b64decode(text)) if how == ALWAYS else len(text.encode(errors="surrogatepass"))


def structs_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the structs in a message's JSON form, each before those in it."""
    if isinstance(value, dict):
        yield value
        value = value.values()
    elif not isinstance(value, list):
        return
    for item in value:
        if isinstance(item, (dict, list)):
            yield from structs_in(item)


def hide_unknown(made: Any) -> None:
    for struct in structs_in(made):
        for tag in struct.get(UNKNOWN_TAGS, ()):
            if isinstance(tag.get("data"), str):
                tag["data"] = redacted(size_of(tag["data"], ALWAYS))
        trailing, encodings = (struct.get(name) for name in WHOLE)
        if isinstance(trailing, str):
            struct["_trailing"] = redacted(size_of(trailing, ALWAYS))
        if isinstance(encodings, dict):
            struct["_encodings"] = {
                path: redacted(size_of(raw, ALWAYS)) if isinstance(raw, str) else raw for path, raw in encodings.items()
            }


def hide_records(value: Any, metadata: bool = False) -> None:
    """Hide the raw records of Kafka's metadata log in a message's JSON form, in place.

    metadata: the current topic is that log, whose records may hold SCRAM keys and configs.
    """
    if isinstance(value, list):
        for item in value:
            hide_records(item, metadata)
    elif isinstance(value, dict):
        metadata = is_metadata_topic(value, metadata)
        if metadata and "sizeInBytes" in value and isinstance(value.get("base64"), str):
            value["base64"] = redacted(value["sizeInBytes"])
        for item in value.values():
            if isinstance(item, (dict, list)):
                hide_records(item, metadata)


def is_metadata_topic(struct: Mapping[str, Any], outer: bool) -> bool:
    """Return whether a struct's topic is the metadata log, by its last name or else its id. outer: of a struct without
    either.
    """
    names = [struct[name] for name in NAME_FIELDS if isinstance(struct.get(name), str)]
    if names:
        return bool(names[-1] == CLUSTER_METADATA)
    return bool(struct["topicId"] == METADATA_ID) if "topicId" in struct else outer


def hide_spans(spans: list[Span], fields: Mapping[str, str]) -> list[Span]:
    """Return the spans of a message with secrets, with Hidden as the value of each secret."""
    values: dict[str, Any] = {}  # names and resource types so far, by path
    made = []
    for span in spans:
        if span.path.endswith(("name", "resourceType")):
            values[span.path] = span.value
        made.append(hide_span(span) if span.value is not None and is_secret_span(span, fields, values) else span)
    return made


def hide_span(span: Span) -> Span:
    """Return the span with Hidden in place of its value."""
    size = len(span.value.encode()) if isinstance(span.value, str) else len(span.value)
    return span._replace(value=Hidden(size))


def hide_broken(spans: list[Span]) -> list[Span]:
    """Return the spans of a message with secrets that ends early, or has bytes after it, as a wrong length may have put
    a secret's bytes into any field. Texts, bytes, numbers of four bytes and more, and large counts are hidden.
    """
    return [hide_value(span) for span in spans]


def hide_header(spans: list[Span]) -> list[Span]:
    """Return the spans of such a message's header. Unknown tags are hidden, and so is a client id that is not
    printable, as it may contain the next fields.
    """
    return [hide_span(span) if may_have_swallowed(span.value) else span for span in spans]


def may_have_swallowed(value: Any) -> bool:
    return isinstance(value, bytes) or (isinstance(value, str) and not value.isprintable())


def hide_value(span: Span) -> Span:
    if span.value is None or isinstance(span.value, Hidden):
        return span
    if span.type.endswith(OF_NO_FIELD):
        is_large = span.type.endswith("count") and LARGE.match(str(span.value))
        return span._replace(value=Hidden(span.end - span.start)) if is_large else span
    if isinstance(span.value, str | bytes):
        return hide_span(span)
    size = span.end - span.start
    return span._replace(value=Hidden(size)) if size >= LEAST_HIDDEN else span


def is_secret_span(span: Span, fields: Mapping[str, str], values: Mapping[str, Any]) -> bool:
    if span.type == "unknown tagged field":
        return True
    how = fields.get(INDEX.sub("", span.path))
    if how is None or how == ALWAYS:
        return how is not None
    name = values.get(sibling(span.path, "name"))
    kinds = (values.get(sibling(parent, "resourceType")) for parent in (span.path, *parents(span.path)))
    return not isinstance(name, str) or is_secret_config(name, next((kind for kind in kinds if kind is not None), 0))


def sibling(path: str, name: str) -> str:
    before, dot, _ = path.rpartition(".")
    return f"{before}{dot}{name}"


def parents(path: str) -> Iterable[str]:
    while "." in path:
        path = path.rpartition(".")[0]
        yield path
