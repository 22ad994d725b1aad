"""What the fields of messages are to a replay, by a rule that holds for every message."""

from collections.abc import Iterator

import pytest

from kcli.replay.traffic.fields import FieldPlan, plan_of
from kcli.schemas.catalog import catalog


def kinds(plan: FieldPlan, path: str = "") -> Iterator[tuple[str, str]]:
    for name, what in plan.fields.items():
        if isinstance(what, FieldPlan):
            yield from kinds(what, f"{path}{name}.")
        else:
            yield f"{path}{name}", what


@pytest.mark.parametrize(
    ("message", "path", "kind"),
    [
        ("ProduceRequest", "topicData.name", "topic"),
        ("ProduceRequest", "topicData.topicId", "topic id"),
        ("ProduceRequest", "topicData.partitionData.records", "records"),
        ("ProduceRequest", "transactionalId", "transaction"),
        ("FetchRequest", "topics.partitions.currentLeaderEpoch", "leader epoch"),
        ("FetchRequest", "topics.partitions.lastFetchedEpoch", "leader epoch"),
        ("FetchRequest", "topics.partitions.fetchOffset", "offset"),
        ("SyncGroupRequest", "assignments.memberId", "member"),
        ("JoinGroupResponse", "leader", "member"),
        ("HeartbeatRequest", "generationId", "generation"),
        ("TxnOffsetCommitRequest", "generationIdOrMemberEpoch", "generation"),
        ("AddPartitionsToTxnRequest", "v3AndBelowProducerEpoch", "producer epoch"),
        ("FindCoordinatorRequest", "coordinatorKeys", "coordinator"),
        ("DescribeConfigsRequest", "resources.resourceName", "resource"),
        ("ApiVersionsRequest", "clusterId", "cluster"),
    ],
)
def test_a_field_has_its_kind(message: str, path: str, kind: str) -> None:
    assert dict(kinds(plan_of(message)))[path] == kind


def test_every_topic_id_producer_and_member_of_every_message_is_found() -> None:
    for api in catalog().apis.values():
        for name in (api.request, api.response):
            found = dict(kinds(plan_of(name)))
            for path, kind in paths(catalog().message(name).fields):
                leaf = path.rpartition(".")[2]
                if (leaf, kind) in (("topicId", "uuid"), ("producerId", "int64"), ("memberId", "string")):
                    assert path in found, (name, path)


def paths(fields: tuple, path: str = "") -> Iterator[tuple[str, str]]:  # type: ignore[type-arg]
    for field in fields:
        if field.fields:
            yield from paths(field.fields, f"{path}{field.name}.")
        else:
            yield f"{path}{field.name}", field.type


def test_a_scope_comes_from_the_fields_beside() -> None:
    plan = plan_of("FetchRequest").fields["topics"]
    assert isinstance(plan, FieldPlan)
    assert plan.scopes == (("topic", "topic"), ("topic", "topicId"))
