"""The state of a live quorum as its leader describes it (DescribeQuorum), and which of its members are stale."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kcli.finding import Finding
from kcli.schemas.definition import ZERO_UUID
from kcli.snapshots.quorum.quorum_findings import ANYWHERE, add_line, remove_line

STALE_MS = 30_000  # since the last fetch; a live replica fetches every half second
REPLACED_MS = 2_000  # that a node has fetched with another directory since its voter's last fetch


class ReplicaKey(NamedTuple):
    """A replica of the metadata log. directory: "" if its node does not report it (static quorums)."""

    id: int
    directory: str = ""

    def __str__(self) -> str:
        return f"{self.id} in {self.directory}" if self.directory else f"{self.id}"


@dataclass(frozen=True, slots=True)
class Member:
    """A voter or observer. end: the end offset of its log, as far as the leader knows; fetched: time of its last fetch
    in ms, -1: never.
    """

    key: ReplicaKey
    end: int
    fetched: int = -1


@dataclass(frozen=True, slots=True)
class Described:
    """A quorum by its leader's DescribeQuorum response. now: the leader's time in ms; -1 if it does not report it
    (before 3.4).
    """

    leader: int
    epoch: int
    high_watermark: int
    voters: tuple[Member, ...]
    observers: tuple[Member, ...]
    now: int = -1

    @property
    def end(self) -> int:
        """The highest end offset of the voters' logs, which is the leader's."""
        return max((each.end for each in self.voters), default=-1)

    def behind(self, members: Iterable[Member]) -> dict[ReplicaKey, int]:
        """Return the number of records that each member lacks."""
        return {each.key: max(self.end - each.end, 0) for each in members}

    def is_stale(self, member: Member) -> bool:
        """Return whether a member has not fetched for more than STALE_MS. A leader does not fetch and is never
        stale.
        """
        if member.key.id == self.leader and member in self.voters:
            return False
        return self.now >= 0 and self.now - member.fetched > STALE_MS

    def replacement(self, voter: Member) -> Member | None:
        """Return the observer that a voter's node has become: it fetches, and the voter no longer does. None without
        one.
        """
        if voter.key.id == self.leader:
            return None
        mine = (each for each in self.observers if each.key.id == voter.key.id and not self.is_stale(each))
        return next((each for each in mine if each.fetched - voter.fetched > REPLACED_MS), None)

    def living(self, node: int) -> Member | None:
        """Return the member of a node that is in use, if several have the node's id: the one that fetched last. None
        without any.
        """
        mine = [each for each in (*self.voters, *self.observers) if each.key.id == node]
        return max(mine, key=lambda each: (not self.is_stale(each), each.fetched, each.end), default=None)


def described(answer: Mapping[str, Any]) -> Described | None:
    """Return the state in a DescribeQuorum response; None if it has none, like the response of a node that does not
    lead.
    """
    found = [each for topic in answer["topics"] for each in topic["partitions"] if not each["errorCode"]]
    if answer.get("errorCode") or not found:
        return None
    part = found[0]
    voters, observers = (tuple(map(member, sorted(part[name], key=replica))) for name in ("currentVoters", "observers"))
    leader, epoch = part["leaderId"], part["leaderEpoch"]
    times = (each.get("lastCaughtUpTimestamp", -1) for each in part["currentVoters"] if each["replicaId"] == leader)
    return Described(leader, epoch, part["highWatermark"], voters, observers, next(times, -1))


def replica(value: Mapping[str, Any]) -> tuple[int, str]:
    return value["replicaId"], value.get("replicaDirectoryId", "")


def member(value: Mapping[str, Any]) -> Member:
    """Return the member that a part of the response describes."""
    directory = value.get("replicaDirectoryId") or ZERO_UUID
    key = ReplicaKey(value["replicaId"], "" if directory == ZERO_UUID else directory)
    return Member(key, value["logEndOffset"], value.get("lastFetchTimestamp", -1))


def stale_members(quorum: Described, bootstrap: str = ANYWHERE) -> Iterator[Finding]:
    """Yield findings on voters that do not fetch, nodes that fetch with another directory than they vote with, and old
    observers.
    """
    for voter in quorum.voters:
        node, directory = voter.key
        other = quorum.replacement(voter)
        if other is None and not quorum.is_stale(voter):
            continue
        remove = remove_line(node, directory, bootstrap)
        evidence: dict[str, Any] = {"directoryId": directory, "behind": quorum.end - voter.end}
        evidence["msSinceFetch"] = quorum.now - voter.fetched if voter.fetched >= 0 else None
        if other is not None:
            evidence["fetchesAs"] = other.key.directory
            text = f"voter {voter.key} does not fetch; node {node} fetches as an observer, in {other.key.directory}"
            advice = f"if the disk was replaced: {remove}, then on the node: {add_line(bootstrap)}"
            yield Finding("directory-id-mismatch", "warning", {"node": node}, evidence, advice, text)
        else:
            text = f"voter {voter.key} does not fetch: it is {quorum.end - voter.end:,} records behind"
            advice = f"start node {node}" + (f"; if it is lost for good: {remove}" if directory else "")
            yield Finding("stale-voter", "warning", {"node": node}, evidence, advice, text)
    for each in filter(quorum.is_stale, quorum.observers):
        evidence = {"directoryId": each.key.directory, "behind": quorum.end - each.end}
        text = f"observer {each.key} does not fetch any more"
        yield Finding(
            "stale-observer", "info", {"node": each.key.id}, evidence, "the leader removes it without a command", text
        )
