"""The meaning of each field of Kafka's messages for a replay, derived from the tables, so that a new message is
covered.

Ids that a broker assigns (topic, producer and member ids, epochs, generations, offsets) differ on another cluster.
Names of topics, groups and transactions differ if the user maps them. All other fields stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from kcli.redact.rules import FieldRule, rules_of
from kcli.schemas.catalog import catalog
from kcli.schemas.model import Field
from kcli.topic_names import INDEX_FIELDS

# {(type, name): kind} of fields
BY_NAME: Mapping[tuple[str, str], str] = {
    **{("string", name): "member" for name in ("memberId", "leader")},
    **{("uuid", name): "topic id" for name in ("topicId", "topicIds")},
    **{("int64", name): "producer" for name in ("producerId", "v3AndBelowProducerId")},
    **{("int16", name): "producer epoch" for name in ("producerEpoch", "v3AndBelowProducerEpoch")},
    **{("int32", name): "generation" for name in ("generationId", "generationIdOrMemberEpoch", "memberEpoch")},
    **{
        ("int64", name): "offset"
        for name in ("fetchOffset", "committedOffset", "offset", "baseOffset", "firstOffset", "lastOffset")
    },
    **{("int32", name): "node" for name in ("brokerId", "nodeId", "leaderId", "brokerIds", "replicas")},
    ("int32", "replicaId"): "replica",
    ("string", "clusterId"): "cluster",
}
# The kinds of strings, by their kind in the rules of `kcli redact`, and of other fields, by the way of their rule.
OF_NAMES = {"topics": "topic", "groups": "group", "transactions": "transaction"}
OF_WAYS = {"coordinator": "coordinator", "resource": "resource", "records": "records", "inside": "inside"}
# {kind: part of the scope that a field of this kind sets for all of its struct}
SCOPES = {"topic": "topic", "topic id": "topic", "group": "group", "member": "member", "producer": "producer"}


class FieldPlan(NamedTuple):
    """The fields of a struct that concern a replay. fields: {name: kind, or the plan of its structs}.

    scopes: (part of the scope, field) for fields that set the scope of the others; inside: {field of bytes: message in
    it}
    """

    fields: Mapping[str, str | FieldPlan]
    scopes: tuple[tuple[str, str], ...]
    inside: Mapping[str, str]


@cache
def plan_of(message: str, dialect: str | None = None) -> FieldPlan:
    """Return the plan of a message, for all its versions."""
    return plan(catalog(dialect).message(message).fields, "", rules_of(message, dialect))


def plan(members: tuple[Field, ...], path: str, rules: Mapping[str, FieldRule]) -> FieldPlan:
    fields: dict[str, str | FieldPlan] = {}
    scopes: list[tuple[str, str]] = []
    inside: dict[str, str] = {}
    for field in members:
        place = f"{path}{field.name}"
        if field.fields:
            below = plan(field.fields, f"{place}.", rules)
            if below.fields or below.scopes:
                fields[field.name] = below
            continue
        if field.name in INDEX_FIELDS and field.type == "int32":
            scopes.append(("partition", field.name))
        rule = rules.get(place)
        kind = kind_of(field, rule)
        if kind is None:
            continue
        fields[field.name] = kind
        if kind in SCOPES and not field.is_array:
            scopes.append((SCOPES[kind], field.name))
        if kind == "inside" and rule is not None:
            inside[field.name] = rule.inside
    return FieldPlan(fields, tuple(scopes), inside)


def kind_of(field: Field, rule: FieldRule | None) -> str | None:
    """Return the kind of a field that is no struct; None if it does not concern a replay."""
    found = BY_NAME.get((field.element, field.name))
    if found is not None:
        return found
    if field.element == "int32" and field.name.lower().endswith(("leaderepoch", "lastfetchedepoch")):
        return "leader epoch"
    if rule is None or field.element == "uuid":
        return None
    if field.element == "string" and rule.kind in OF_NAMES:
        return OF_NAMES[rule.kind]
    return OF_WAYS.get(rule.method)
