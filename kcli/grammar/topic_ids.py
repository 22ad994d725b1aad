"""Learns topic names from messages that have both name and id, and adds names to messages that have only the id."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

from kcli.core.codec.values import uuid_bytes
from kcli.jsontext import loads
from kcli.schemas.apikeys import ENVELOPE
from kcli.schemas.catalog import catalog
from kcli.schemas.model import Field
from kcli.topic_names import NAME_FIELDS

TOPIC_NAME = "_topicName"


class Names(Protocol):
    """The interface of kcli.core.codec.messages.Names."""

    def learn(self, uuid: bytes, name: str) -> None:
        """Remember the name of a topic id (16 bytes)."""

    def get(self, uuid: bytes) -> str | None:
        """Return the name as JSON text; None if it is unknown."""


def teaches(word: Any) -> bool:
    """Return whether values of a word can have a topic's name beside its id."""
    words = getattr(word, "words", None)
    if words is None:
        return hasattr(word, "subcon") and teaches(word.subcon)
    return ("topicId" in words and any(name in words for name in NAME_FIELDS)) or any(map(teaches, words.values()))


@cache
def naming_apis(dialect: str | None) -> frozenset[int]:
    """Return the keys of APIs with a version that has a topic's name beside its id, and of Envelope."""
    tables = catalog(dialect)
    sides = {key: (api.request, api.response) for key, api in tables.apis.items()}
    found = {
        key
        for key, names in sides.items()
        if any(tables.may_have(name, "topicId") and has_both(tables.message(name).fields) for name in names)
    }
    return frozenset(found | {ENVELOPE})


def has_both(fields: Sequence[Field]) -> bool:
    """Return whether some version has a topic's name beside its id, in these fields or nested ones."""
    named = [field.versions for field in fields if field.name in NAME_FIELDS]
    known = [field.versions for field in fields if field.name == "topicId"]
    return any(one & other for one in named for other in known) or any(has_both(field.fields) for field in fields)


def annotate(value: Any, names: Names) -> None:
    """Walk a message's value: learn names, and add "_topicName" beside a known id without a name."""
    if isinstance(value, list):
        for item in value:
            if isinstance(item, (dict, list)):
                annotate(item, names)
    elif isinstance(value, dict):
        if isinstance(value.get("topicId"), str):
            name_topic(value, names)
        for item in value.values():
            if isinstance(item, (dict, list)):
                annotate(item, names)


def name_topic(value: dict[str, Any], names: Names) -> None:
    topic_id = uuid_bytes(value["topicId"])
    name = next((value[field] for field in NAME_FIELDS if isinstance(value.get(field), str)), None)
    if name:
        names.learn(topic_id, name)
        return
    known = names.get(topic_id)
    if known is not None:
        value[TOPIC_NAME] = loads(known)
