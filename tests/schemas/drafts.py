"""Drafts of messages with one mistake each, and lawful ones, as text in Kafka's JSON form."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from kcli.schemas.checks.generator_rules import inner_fields
from kcli.schemas.definition_keys import FIELD_KEYS, MESSAGE_KEYS, STRUCT_KEYS, objects

__all__ = ["drafts", "mutated"]

BASE: dict[str, Any] = {
    "apiKey": 900,
    "type": "request",
    "listeners": ["broker"],
    "name": "DraftRequest",
    "validVersions": "0-2",
    "flexibleVersions": "1+",
    "fields": [
        {"name": "Name", "type": "string", "versions": "0+", "about": "The name."},
        {"name": "Count", "type": "int32", "versions": "1+", "default": "-1", "ignorable": True},
        {
            "name": "Topics",
            "type": "[]Topic",
            "versions": "0+",
            "nullableVersions": "1+",
            "fields": [
                {"name": "Name", "type": "string", "versions": "0+", "mapKey": True, "entityType": "topicName"},
                {"name": "Partitions", "type": "[]int32", "versions": "0+"},
            ],
        },
        {
            "name": "Extra",
            "type": "Extra",
            "versions": "1+",
            "taggedVersions": "1+",
            "tag": 0,
            "ignorable": True,
            "fields": [{"name": "Id", "type": "uuid", "versions": "1+"}],
        },
        {
            "name": "Note",
            "type": "string",
            "versions": "2+",
            "taggedVersions": "2+",
            "tag": 1,
            "nullableVersions": "2+",
            "default": "null",
            "ignorable": True,
        },
    ],
}
NAME, COUNT, TOPICS, EXTRA, NOTE = range(5)
GONE = object()


def changed(place: int | None, **keys: Any) -> str:
    """The base with other keys in one of its fields, or in itself."""
    raw = copy.deepcopy(BASE)
    at = raw if place is None else raw["fields"][place]
    for key, value in keys.items():
        if value is GONE:
            at.pop(key)
        else:
            at[key] = value
    return json.dumps(raw, indent=1)


def added(*fields: dict[str, Any], **keys: Any) -> str:
    raw = copy.deepcopy(BASE)
    raw["fields"] += fields
    return json.dumps({**raw, **keys}, indent=1)


def new(kind: str = "int32", versions: str = "0+", name: str = "New", **keys: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "versions": versions, **keys}


def drafts() -> Iterator[tuple[str, str]]:
    """(name, text)."""
    yield "sound", json.dumps(BASE, indent=1)
    yield "comments", "// before\n" + json.dumps(BASE, indent=1)
    yield "text behind", json.dumps(BASE) + "\n}"
    yield "data message", changed(None, type="data", apiKey=GONE, listeners=GONE)
    yield "misspelt key of a field", changed(NOTE, nullableVersion="2+")
    yield "misspelt key of the message", changed(None, flexibleVersion="1+")
    yield "no versions", changed(NAME, versions=GONE)
    yield "no versions, tagged", changed(NOTE, versions=GONE)
    yield "versions blank", changed(NAME, versions="")
    yield "versions blank, tagged", changed(NOTE, versions="")
    yield "valid versions blank", changed(None, validVersions=" ")
    yield "valid versions open", changed(None, validVersions="0+")
    yield "deprecated versions half", changed(None, deprecatedVersions="1-")
    yield "deprecated versions, two", changed(None, deprecatedVersions="0-1")
    yield "api key null", changed(None, apiKey=None)
    yield (
        "deprecated versions of a common struct, half",
        added(
            new("Shared"),
            commonStructs=[{"name": "Shared", "versions": "0+", "deprecatedVersions": "1-", "fields": [new()]}],
        ),
    )
    yield "flexible override blank", changed(NAME, flexibleVersions=" ")
    yield "flexible override empty", changed(COUNT, flexibleVersions="")
    yield "records tagged", changed(NOTE, type="records")
    yield "map of no version", changed(TOPICS, versions="none")
    yield "fields null", changed(None, fields=None)
    yield "common structs null", changed(None, commonStructs=None)
    yield "a tag of no digits", changed(COUNT, tag="")
    yield "default of hex without digits", changed(COUNT, default="0x")
    yield "numbers as booleans", changed(COUNT, ignorable=1, mapKey=0)
    yield "api key with a fraction", changed(None, apiKey=900.0)
    yield "listeners as a text", changed(None, listeners="broker")
    yield "tagged versions blank", changed(NAME, taggedVersions=" ")
    yield "flexible override below the message's", changed(NAME, flexibleVersions="0+")
    yield "flexible override within the message's", changed(NAME, flexibleVersions="2+")
    yield "no valid versions", changed(None, validVersions=GONE)
    yield "valid versions none", changed(None, validVersions="none")
    yield "no flexible versions", changed(None, flexibleVersions=GONE)
    yield "flexible versions closed", changed(None, flexibleVersions="1-2")
    yield "flexible versions none", changed(None, flexibleVersions="none")
    yield "no name", changed(None, name=GONE)
    yield "no type", changed(None, type=GONE)
    yield "unknown type", changed(None, type="requests")
    yield "no api key", changed(None, apiKey=GONE)
    yield "api key negative", changed(None, apiKey=-1)
    yield "api key as text", changed(None, apiKey="900")
    yield "api key of many digits", changed(None, apiKey=70000)
    yield "no listeners", changed(None, listeners=GONE)
    yield "unknown listener", changed(None, listeners=["brokers"])
    yield "listeners of a response", changed(None, type="response", name="DraftResponse")
    yield "latest version unstable", changed(None, latestVersionUnstable=True)
    yield "unstable data", changed(None, type="data", apiKey=GONE, listeners=GONE, latestVersionUnstable=True)
    yield "no fields", changed(None, fields=GONE)
    yield "empty fields", changed(None, fields=[])
    yield "bad range", changed(COUNT, versions="1-")
    yield "range backward", changed(COUNT, versions="2-1")
    yield "range of text", changed(COUNT, versions="one")
    yield "versions above", changed(COUNT, versions="7+")
    yield "name with a dash", changed(COUNT, name="max-count")
    yield "name with an underscore", changed(COUNT, name="Max_Count")
    yield "name twice but for its first letter", changed(COUNT, name="name")
    yield "name twice", added(new(name="Name"))
    yield "name twice in other versions", added(new(name="Old", versions="0"), new(name="Old", versions="2+"))
    yield "name in lower case", changed(COUNT, name="count")
    yield "no type of a field", changed(COUNT, type=GONE)
    yield "unknown type of a field", changed(COUNT, type="int31")
    yield "struct in lower case", changed(TOPICS, type="[]topic")
    yield "array of arrays", changed(COUNT, type="[][]int32")
    yield "array of records", added(new("[]records"))
    yield "records", added(new("records", nullableVersions="0+"))
    yield "array of nothing", added(new("[]"))
    yield "float", added(new("float64", default="1.5"))
    yield "unsigned", added(new("uint16", default="65535"), new("uint32", name="More"))
    yield "fields of a scalar", changed(COUNT, fields=[new()])
    yield "struct without fields", added(new("Nowhere"))
    yield "array of a struct without fields", added(new("[]Nowhere"))
    yield "struct twice", added(new("[]Topic", fields=[new()]))
    yield "struct used again", added(new("[]Topic"))
    yield (
        "common struct",
        added(new("[]Shared"), commonStructs=[{"name": "Shared", "versions": "0+", "fields": [new()]}]),
    )
    yield "common struct without versions", added(new("Shared"), commonStructs=[{"name": "Shared", "fields": [new()]}])
    yield (
        "common struct twice",
        added(
            new("[]Shared"),
            commonStructs=[
                {"name": "Shared", "versions": "0+", "fields": [new()]},
                {"name": "Shared", "versions": "0+", "fields": [new()]},
            ],
        ),
    )
    yield (
        "common struct and its own",
        added(new("[]Shared", fields=[new()]), commonStructs=[{"name": "Shared", "versions": "0+", "fields": [new()]}]),
    )
    yield "common struct not used", added(commonStructs=[{"name": "Shared", "versions": "0+", "fields": [new()]}])
    yield (
        "common struct in lower case",
        added(new("[]shared"), commonStructs=[{"name": "shared", "versions": "0+", "fields": [new()]}]),
    )
    yield (
        "struct that holds itself",
        added(new("[]Shared"), commonStructs=[{"name": "Shared", "versions": "0+", "fields": [new("[]Shared")]}]),
    )
    yield "tag twice", added(new(versions="2+", taggedVersions="2+", tag=1))
    yield "gap in tags", added(new(versions="2+", taggedVersions="2+", tag=3))
    yield "next tag", added(new(versions="2+", taggedVersions="2+", tag=2))
    yield "tag without versions", changed(COUNT, tag=2)
    yield "tagged without tag", changed(NOTE, tag=GONE)
    yield "tag negative", changed(NOTE, tag=-1)
    yield "tag as text", changed(NOTE, tag="1")
    yield "tagged closed", changed(NOTE, taggedVersions="2-3")
    yield "tagged below its versions", changed(NOTE, taggedVersions="1+")
    yield "tagged later than its versions", changed(NOTE, versions="1+")
    yield "tagged in an inflexible version", changed(EXTRA, versions="0+", taggedVersions="0+")
    yield (
        "tagged and partly nullable",
        changed(NOTE, versions="1+", taggedVersions="1+", nullableVersions="2+", default=""),
    )
    yield (
        "tag in a struct",
        changed(EXTRA, fields=[new("uuid", "1+", "Id"), new("int32", "2+", taggedVersions="2+", tag=0)]),
    )
    yield (
        "gap of tags in a struct",
        changed(EXTRA, fields=[new("uuid", "1+", "Id"), new("int32", "2+", taggedVersions="2+", tag=1)]),
    )
    yield (
        "tagged map key",
        changed(TOPICS, fields=[new("string", "1+", "Name", mapKey=True, taggedVersions="1+", tag=0)]),
    )
    yield "nullable int", changed(COUNT, nullableVersions="1+")
    yield "nullable uuid", added(new("uuid", nullableVersions="0+"))
    yield (
        "nullable struct",
        added(new("Inside", "1+", nullableVersions="1+", fields=[new("int32", "1+")], default="null")),
    )
    yield (
        "nullable struct in an inflexible version",
        added(new("Inside", nullableVersions="0+", fields=[new()], default="null")),
    )
    yield "nullable above its versions", changed(NAME, versions="0-1", nullableVersions="2+")
    yield "default null, not nullable", changed(NAME, default="null")
    yield "default null, partly nullable", changed(TOPICS, default="null")
    yield "default null as JSON", changed(NOTE, default=None)
    yield "default of an int as a number", changed(COUNT, default=-1)
    yield "default of an int in hex", changed(COUNT, default="0x7f")
    yield "default of an int as text", changed(COUNT, default="many")
    yield "default of an int with a plus and noughts", changed(COUNT, default="+007")
    yield "default of an int in hex below 0", changed(COUNT, default="0x-7f")
    yield "default of an int with an underscore", changed(COUNT, default="1_000")
    yield "default of an int with white space", changed(COUNT, default=" 7")
    yield "default of a float, Java's", added(new("float64", default=" 0x1.8p3f"))
    yield "default of a float, infinite", added(new("float64", default="-Infinity"))
    yield "default of a float, Python's", added(new("float64", default="inf"))
    yield "default of a float with an underscore", added(new("float64", default="1_0.5"))
    yield "default of a bool in capitals", added(new("bool", default="True"))
    yield "default of a string as JSON's true", changed(NAME, default=True)
    yield "default of an int too large", changed(COUNT, default="3000000000")
    yield "default of an int8 too large", added(new("int8", default="128"))
    yield "default of an int16 negative", added(new("int16", default="-32769"))
    yield "default of a uint16 too large", added(new("uint16", default="65536"))
    yield "default of a bool", added(new("bool", default="true"))
    yield "default of a bool as JSON", added(new("bool", default=True))
    yield "default of a bool as yes", added(new("bool", default="yes"))
    yield "default of a float as text", added(new("float64", default="half"))
    yield "default of a uuid", added(new("uuid", default="AAAAAAAAAAAAAAAAAAAAAQ"))
    yield "default of a uuid as text", added(new("uuid", default="none"))
    yield "default of bytes", added(new("bytes", default="abc"))
    yield "default of an array", added(new("[]int32", default="[]"))
    yield "default of an array as a number", added(new("[]int32", default="1"))
    yield "default of a struct", changed(EXTRA, default="{}")
    yield "default of records", added(new("records", default="abc"))
    yield "default of a string", changed(NAME, default="a \\ b")
    yield "entity of another type", changed(COUNT, entityType="topicName")
    yield "unknown entity", changed(NAME, entityType="topic")
    yield "broker id", changed(COUNT, entityType="brokerId")
    yield "ignorable as text", changed(COUNT, ignorable="true")
    yield "ignorable as yes", changed(COUNT, ignorable="yes")
    yield "map key of a scalar array", changed(COUNT, mapKey=True)
    yield "map key at the top", changed(NAME, mapKey=True)
    yield (
        "map key of a nullable",
        changed(TOPICS, fields=[new("string", name="Name", mapKey=True, nullableVersions="0+")]),
    )
    yield "zero copy of an int", changed(COUNT, zeroCopy=True)
    yield "zero copy of bytes", added(new("bytes", zeroCopy=True))
    yield "flexible override", added(new("string", flexibleVersions="none"))
    yield "flexible override of an int", changed(COUNT, flexibleVersions="none")
    yield "flexible override of an array", changed(TOPICS, flexibleVersions="none")
    yield "fields as an object", changed(None, fields={"name": "a", "type": "int8", "versions": "0+"})
    yield "fields of text", changed(None, fields=["Name"])
    yield "about as a number", changed(NAME, about=5)
    yield "member above its struct", changed(TOPICS, fields=[new("string", name="Name", versions="5+")])
    yield "member older than its struct", changed(EXTRA, fields=[new("uuid", name="Id", versions="0+")])
    yield "no JSON", '{"name": "DraftRequest", '
    yield "a list", "[]"
    yield "request in a data name", changed(None, name="Draft")
    yield "name in lower case of the message", changed(None, name="draftRequest")
    yield "header", changed(None, type="header", name="DraftHeader", apiKey=GONE, listeners=GONE)
    yield "metadata record", changed(None, type="metadata", name="DraftRecord", listeners=GONE)
    yield (
        "metadata record without a key",
        changed(None, type="metadata", name="DraftRecord", listeners=GONE, apiKey=GONE),
    )
    yield "data with an api key", changed(None, type="data", listeners=GONE)
    yield "deprecated versions", changed(None, deprecatedVersions="0")
    yield "deprecated beyond", changed(None, deprecatedVersions="0-5")


# Values of every kind, sound and not, for `mutated`.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, -1, 3.0, 70000, [], {}, "", " ", "null", "true", "True", "yes", "0", "1", "-1",
    "0x", "0x7f", "1.5", "none", "0+", "1+", "2+", "0-1", "1-2", "0-2", "2-0", "1-", "Name", "Topic", "extra", "string",
    "int32", "int64", "bool", "uuid", "bytes", "[]int32", "[]string", "[]Topic", "Extra", "records", "topicName",
    "brokerId", "broker", ["broker"], ["controller", "broker"], "request", "response", "data",
)  # fmt: skip


def mutated(seed: int, count: int) -> Iterator[str]:
    """Yield drafts with one to three random changes: keys set, removed, misspelt; fields doubled, moved, removed."""
    chance = random.Random(seed)
    for _ in range(count):
        raw = copy.deepcopy(BASE)
        if chance.random() < 0.3:
            raw["fields"].append(new("[]Shared"))
            raw["commonStructs"] = [{"name": "Shared", "versions": "0+", "fields": [new()]}]
        for _ in range(chance.choice((1, 1, 2, 3))):
            mutate(raw, chance)
        yield json.dumps(raw, indent=1)


def mutate(raw: dict[str, Any], chance: random.Random) -> None:
    """Change one thing in a draft."""
    at, keys = chance.choice([*places(raw)])
    fields = at.get("fields")
    choice = chance.random()
    if choice < 0.1 and isinstance(fields, list) and fields:
        fields.insert(chance.randrange(len(fields) + 1), copy.deepcopy(chance.choice(fields)))
    elif choice < 0.2 and isinstance(fields, list) and fields:
        fields.pop(chance.randrange(len(fields)))
    elif choice < 0.35 and at:
        at.pop(chance.choice([*at]))
    elif choice < 0.4 and at:
        key = chance.choice([*at])
        at[key[:-1]] = at.pop(key)
    else:
        key, value = chance.choice([*keys]), copy.deepcopy(chance.choice(VALUES))
        if not (key in ("type", "entityType") and str(value).isdigit()):  # to Jackson a number in an enum is a place
            at[key] = value


def places(raw: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, type]]]:
    """Yield the objects of a draft, each with the keys that it may have."""
    yield raw, MESSAGE_KEYS
    for struct in objects(raw.get("commonStructs")):
        yield struct, STRUCT_KEYS
        yield from ((field, FIELD_KEYS) for field in inner_fields(struct))
    yield from ((field, FIELD_KEYS) for field in inner_fields(raw))
