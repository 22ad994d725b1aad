"""Replies to members: the leader of a generation gets all of them."""

from typing import Any, cast

from kcli.broker.groups.group import assigned, joined
from kcli.broker.groups.member import Member


class Made:
    def __init__(self, leader: str | None) -> None:
        self.generation, self.protocol_type, self.leader = 3, "consumer", leader
        self.protocol: str | None = "range"
        self.members = {name: Member(name, None, ("c", "h")) for name in ("a", "b")}
        self.members["a"].protocols, self.members["a"].assignment = [("range", b"meta")], b"mine"


def test_only_the_leader_gets_the_members() -> None:
    group: Any = Made("a")
    reply = joined(group, group.members["a"])
    assert (reply["errorCode"], reply["generationId"], reply["leader"], reply["memberId"]) == (0, 3, "a", "a")
    assert [(each["memberId"], each["metadata"]) for each in reply["members"]] == [("a", b"meta"), ("b", b"")]
    assert joined(group, group.members["b"])["members"] == []
    assert joined(cast(Any, Made(None)), group.members["b"])["leader"] == ""


def test_an_assignment_is_the_members_own() -> None:
    group: Any = Made("a")
    assert assigned(group, group.members["a"])["assignment"] == b"mine"
    assert assigned(group, group.members["b"])["assignment"] == b""
