"""TxnOffsetCommit v0-v6 (KIP-98, KIP-447 members from v3 on, KIP-890, topic ids in v6).

The offsets are valid once the transaction is committed. From v5 on the broker adds the group to the transaction itself;
before, a client has to (AddOffsetsToTxn).
"""

from typing import Any

from kcli.broker.apis.groups.offset_commit import commit, named_partitions
from kcli.broker.groups.codes import no_group
from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.groups.state import State
from kcli.broker.request import Request
from kcli.broker.share.group import ShareGroup
from kcli.broker.transactions.attempts import attempt
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code

ABORTABLE_SINCE, ADDING_SINCE, TOPIC_IDS_SINCE, NEVER = 4, 5, 6, 32_767


def handle(request: Request) -> dict[str, Any]:
    body = request.body
    place = request.groups.store.place(body["groupId"])
    producer = body["transactionalId"], body["producerId"], body["producerEpoch"]

    def join() -> None:
        if request.version >= ADDING_SINCE:
            request.transactions.add(*producer, [place], version=2)
        else:
            request.transactions.check(*producer, place, abortable=request.version >= ABORTABLE_SINCE)

    refusal = request.denial(Resource.TRANSACTIONAL_ID, producer[0]) or request.group_refusal(body["groupId"])
    refusal = refusal or no_group(body["groupId"])
    # Kafka adds the group to the transaction before the group's coordinator sees the member.
    code = refusal or attempt(request, join, fenced_since=NEVER)[0] or check_member(request)
    return commit(request, refusal, code, by_id=request.version >= TOPIC_IDS_SINCE, producer=producer[1:])


def check_member(request: Request) -> int:
    """Return the error code of a member that may not commit; 0 if it may, or if the request names no member. Without a
    generation it may commit to a group that has no members.
    """
    body = request.body
    member_id, instance_id = body.get("memberId", ""), body.get("groupInstanceId")
    generation = body.get("generationIdOrMemberEpoch", -1)
    if generation < 0 and not member_id and instance_id is None:
        return 0
    group = request.groups.get(body["groupId"])
    if generation < 0 and not isinstance(group, ShareGroup) and (group is None or group.state is State.EMPTY):
        return 0
    if group is None or isinstance(group, ShareGroup):
        return error_code("ILLEGAL_GENERATION")
    if isinstance(group, ConsumerGroup):
        wanted = named_partitions(request, by_id=request.version >= TOPIC_IDS_SINCE)
        name = group.check(member_id, generation, wanted)
        return error_code("ILLEGAL_GENERATION" if name == "STALE_MEMBER_EPOCH" else name) if name else 0
    return group.check(member_id, instance_id, generation)
