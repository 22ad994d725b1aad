"""Converts requests and responses to another version of their API: by names of fields, and by the few forms that
changed.

Fields that a version lacks are left out; its additional fields get their defaults.
"""

from collections.abc import Mapping
from typing import Any

from kcli.errors import SchemaError
from kcli.grammar import messages
from kcli.grammar.words.arrays import Array, Optional
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.word import Word
from kcli.replay.topic_mapping import LiveTopics
from kcli.schemas.apikeys import FIND_COORDINATOR, LEAVE_GROUP, LIST_OFFSETS, OFFSET_FETCH
from kcli.schemas.definition import ZERO_UUID

Body = Mapping[str, Any]

# {API: first version whose requests name several groups, keys or members}
BATCHED = {FIND_COORDINATOR: 4, OFFSET_FETCH: 8, LEAVE_GROUP: 3}
MEMBER_FIELDS = ("memberId", "groupInstanceId")


def converted(api_key: int, body: Body, captured: int, version: int, topics: LiveTopics, dialect: str | None) -> Body:
    """Convert a request's body, with live names and ids, to another version. Raises SchemaError if the version has no
    form for it.
    """
    if version == captured:
        return body
    made = dict(body)
    since = BATCHED.get(api_key)
    if since is not None and (captured < since) != (version < since):
        made = batched(api_key, made) if captured < since else single(api_key, made)
    codec = messages.request(api_key, version, dialect)
    fitted: dict[str, Any] = fit(made, codec.grammar, topics)
    return fitted


def batched(api_key: int, body: dict[str, Any]) -> dict[str, Any]:
    """Return a request for one key or group in the form for several."""
    if api_key == FIND_COORDINATOR:
        return body | {"coordinatorKeys": [body.get("key", "")]}
    if api_key == OFFSET_FETCH:
        return body | {"groups": [{"groupId": body["groupId"], "topics": body.get("topics")}]}
    return body | {"members": [{name: body[name] for name in MEMBER_FIELDS if name in body}]}


def single(api_key: int, body: dict[str, Any]) -> dict[str, Any]:
    """Return a request for several in the form for one. Raises SchemaError if it has more than one."""
    name = {FIND_COORDINATOR: "coordinatorKeys", OFFSET_FETCH: "groups", LEAVE_GROUP: "members"}[api_key]
    listed = body.get(name) or []
    if len(listed) != 1:
        raise SchemaError(f"a request for {len(listed)} at once: the broker's versions take one")
    return body | ({"key": listed[0]} if api_key == FIND_COORDINATOR else listed[0])


def fit(value: Any, word: Word, topics: LiveTopics) -> Any:
    """Return a value with the fields of a version's grammar. A missing topic name is filled in from the id, and a
    missing id from the name.
    """
    if isinstance(word, Optional):
        return None if value is None else fit(value, word.subcon, topics)
    if isinstance(word, Array):
        return None if value is None else [fit(each, word.subcon, topics) for each in value]
    if not isinstance(word, Struct) or not isinstance(value, dict):
        return value
    value = named(value, word, topics)
    made = {}
    for name, below in word.words.items():
        if name in value and (value[name] is not None or getattr(below, "nullable", isinstance(below, Optional))):
            made[name] = fit(value[name], below, topics)
    return made


def named(value: dict[str, Any], word: Struct, topics: LiveTopics) -> dict[str, Any]:
    """Return a struct with a topic's name for its id or the reverse, if the grammar has a field only for the other."""
    topic_id, name = value.get("topicId"), value.get("topic") or value.get("name")
    field = next((each for each in ("topic", "name") if each in word.words), None)
    if field is not None and "topicId" not in word.words and not name and topic_id not in (None, ZERO_UUID):
        return value | {field: topics.names.get(topic_id, topic_id)}
    if field is None and "topicId" in word.words and topic_id in (None, ZERO_UUID) and isinstance(name, str):
        return value | {"topicId": topics.ids.get(name, ZERO_UUID)}
    return value


def common(api_key: int, answer: Body) -> Body:
    """Return a response in the form that all versions share: the one for several groups or keys."""
    if api_key == FIND_COORDINATOR and "coordinators" not in answer:
        return {"coordinators": [dict(answer)], "throttleTimeMs": answer.get("throttleTimeMs", 0)}
    if api_key == FIND_COORDINATOR:
        coordinators = [{name: item for name, item in each.items() if name != "key"} for each in answer["coordinators"]]
        return dict(answer) | {"coordinators": coordinators}
    if api_key == OFFSET_FETCH and "groups" not in answer:
        return {"groups": [dict(answer)], "throttleTimeMs": answer.get("throttleTimeMs", 0)}
    if api_key == OFFSET_FETCH:
        groups = [{name: item for name, item in each.items() if name != "groupId"} for each in answer["groups"]]
        return dict(answer) | {"groups": groups}
    if api_key == LIST_OFFSETS:
        return dict(answer) | {"topics": [offsets_of(topic) for topic in answer["topics"]]}
    return answer


def offsets_of(topic: Body) -> dict[str, Any]:
    """Return a topic of ListOffsets v0's response in the form of later versions, with the first of its offsets."""
    parts = [
        {name: item for name, item in part.items() if name != "oldStyleOffsets"}
        | {"offset": part["oldStyleOffsets"][0]}
        if part.get("oldStyleOffsets")
        else part
        for part in topic["partitions"]
    ]
    return dict(topic) | {"partitions": parts}
