"""Rewrites captured requests for the live broker, and learns pairs of ids from captured and live responses."""

from collections.abc import Callable, Mapping
from typing import Any

from kcli.errors import DecodeError, EncodeError, SchemaError
from kcli.grammar import messages
from kcli.replay.traffic.fetch_sessions import FetchSessions
from kcli.replay.traffic.fields import FieldPlan, plan_of
from kcli.replay.traffic.identities import Identities, Scope
from kcli.schemas.apikeys import FETCH, LIST_OFFSETS, OFFSET_FETCH, PRODUCE
from kcli.schemas.catalog import catalog
from kcli.schemas.definition import ZERO_UUID

Body = Mapping[str, Any]

# APIs whose responses pair captured and live offsets. Offsets in other responses depend on the cluster's progress.
OFFSET_APIS = frozenset([PRODUCE, LIST_OFFSETS, OFFSET_FETCH])
TYPES = ("resourceType", "keyType")
# Fields that identify an entry of a list, in the order of search; other entries are identified by their index.
TOPIC_KEYS = ("topicId", "topic", "topicName", "name")
SUFFIXED = ("groupId", "group", "key", "transactionalId")
KEYS = (*TOPIC_KEYS, "partitionIndex", "partition", "index", *SUFFIXED, "resourceName")


class Mapper:
    """Rewrites requests by the pairs in `identities`, under one dialect."""

    def __init__(self, identities: Identities, dialect: str | None = None) -> None:
        self.identities, self.dialect = identities, dialect
        self.topics = identities.topics
        self.sessions = FetchSessions()

    def request(self, api_key: int, body: Body, server: str) -> dict[str, Any]:
        """Return a copy of a captured request's body with live ids, except for those in record batches.

        server: the captured broker's address. Fetches of followers become a consumer's.
        """
        plan = plan_of(catalog(self.dialect).known(api_key).request, self.dialect)
        made = self.rewritten(body, plan, Scope())
        if api_key == FETCH:
            made.pop("replicaState", None)
            made = self.sessions.request(server, made)
        return made

    def rewritten(self, value: Body, plan: FieldPlan, outer: Scope) -> dict[str, Any]:
        """Return a copy of a captured struct with live values."""
        scope = scope_in(value, plan, outer, self.identities)
        made = dict(value)
        made.pop("_topicName", None)
        for name, field_plan in plan.fields.items():
            item = value.get(name)
            if item is None:
                continue
            if isinstance(field_plan, FieldPlan):
                nested = field_plan
                made[name] = (
                    [self.rewritten(each, nested, scope) for each in item]
                    if isinstance(item, list)
                    else self.rewritten(item, nested, scope)
                )
            elif field_plan == "inside":
                made[name] = self.inside(item, plan.inside[name], scope)
            elif isinstance(item, list):
                made[name] = [self.identities.live(field_plan, each, scope) for each in item]
            else:
                made[name] = self.identities.live(field_plan, item, scope)
        return made

    def inside(self, data: bytes, message: str, scope: Scope) -> bytes:
        """Return a group protocol's own message in bytes, rewritten if the user maps topics."""
        if not self.topics.mapping:
            return data
        try:
            codec = messages.data(message, int.from_bytes(data[:2], "big", signed=True), self.dialect)
            value = codec.read_whole(data, 2)
            return bytes(data[:2]) + codec.write(self.rewritten(value, plan_of(message, self.dialect), scope))
        except (DecodeError, EncodeError, SchemaError):
            return data

    def learn(self, api_key: int, request: Body, captured: Body, live: Body, server: str) -> None:
        """Learn names and ids from the captured and the live response to the same request. Both are in the common form
        (`kcli.replay.traffic.versions.common`).
        """
        if api_key == FETCH:
            self.sessions.learn(server, request, captured, live)
        known = catalog(self.dialect).known(api_key)
        scope = scope_in(request, plan_of(known.request, self.dialect), Scope(), self.identities)._replace(
            topic="", partition=-1
        )
        # Only the client's own id is learned, because the order of other members in a response is arbitrary.
        self.identities.learn("member", captured.get("memberId"), live.get("memberId"), scope)
        self.compare(captured, live, plan_of(known.response, self.dialect), scope, api_key in OFFSET_APIS)

    def compare(self, captured: Body, live: Body, plan: FieldPlan, outer: Scope, offsets: bool) -> None:
        """Learn pairs from two structs at the same place. offsets: whether their offsets can be paired."""
        scope = scope_in(captured, plan, outer, self.identities)
        if isinstance(live.get("topicId"), str):
            self.topics.put(live.get("name") or live.get("topic") or "", live["topicId"])
        failed = captured.get("errorCode") or live.get("errorCode")
        for name, field_plan in plan.fields.items():
            one, other = captured.get(name), live.get(name)
            if one is None or other is None:
                continue
            if isinstance(field_plan, FieldPlan):
                for left, right in aligned(one, other, self.identities) if isinstance(one, list) else [(one, other)]:
                    self.compare(left, right, field_plan, scope, offsets)
                continue
            is_paired = not isinstance(one, list) and field_plan != "member" and (offsets or field_plan != "offset")
            if is_paired and not failed:
                self.identities.learn(field_plan, one, other, scope)


def scope_in(value: Body, plan: FieldPlan, outer: Scope, identities: Identities) -> Scope:
    """Return the scope of the fields in a captured struct."""
    found: dict[str, Any] = {}
    for part, name in plan.scopes:
        item = value.get(name)
        if item not in (None, ""):
            found[part] = identities.topics.captured_name(item) if part == "topic" else item
    for name in TYPES:
        if name in value:
            found["kind"] = value[name]
    return outer._replace(**found) if found else outer


def entry_key(entry: Any, canonical: Callable[[str, Any], Any]) -> Any:
    """Return the key that identifies an entry of a list; None if it has none. canonical: makes captured and live values
    equal.
    """
    if not isinstance(entry, Mapping):
        return None
    parts: dict[str, Any] = {}
    for name in KEYS:
        item = entry.get(name)
        if item not in (None, "", ZERO_UUID):
            parts["topic" if name in TOPIC_KEYS else name] = canonical(name, item)
    return tuple(parts.items()) or None


def aligned(captured: list[Any], live: list[Any], identities: Identities) -> list[tuple[Any, Any]]:
    """Return pairs of the captured and live entries of two lists with the same key; without keys, with the same
    index.
    """
    topics, suffix = identities.topics, identities.suffix

    def of_captured(name: str, item: Any) -> Any:
        if name in TOPIC_KEYS:
            return topics.live_name(topics.captured_name(item))
        return item + suffix if name in SUFFIXED else item

    def of_live(name: str, item: Any) -> Any:
        return topics.names.get(item, item) if name in TOPIC_KEYS else item

    keys = [entry_key(each, of_captured) for each in captured]
    if None in keys:
        return list(zip(captured, live, strict=False))
    by_key: dict[Any, list[Any]] = {}
    for each in reversed(live):
        by_key.setdefault(entry_key(each, of_live), []).append(each)
    # A response may have a topic several times.
    return [(one, by_key[key].pop()) for one, key in zip(captured, keys, strict=True) if by_key.get(key)]
