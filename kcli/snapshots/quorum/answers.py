"""The responses of a live quorum's controllers, each asked on its own port, and the findings on them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcli.counting import counted
from kcli.finding import Finding, gravest_first
from kcli.snapshots.quorum.described import Described, stale_members
from kcli.snapshots.quorum.quorum_findings import add_line


@dataclass(slots=True)
class ControllerAnswer:
    """A controller's response.

    address: of the controller; error: why it did not respond; is_certificate: the error is about a certificate; node:
    its id, if known; leader, epoch: from its response; leader -1: it knows none; quorum: its DescribeQuorum, if it
    leads; cluster_id; controllers: {address: node id} from its response
    """

    address: str
    error: str = ""
    is_certificate: bool = False
    node: int | None = None
    leader: int = -1
    epoch: int = -1
    quorum: Described | None = None
    cluster_id: str | None = None
    controllers: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The node's name in texts."""
        return f"node {self.node} ({self.address})" if self.node is not None else self.address

    @property
    def subject(self) -> dict[str, Any]:
        """The subject of findings about the node."""
        return {"node": self.node, "address": self.address}


def judge_answers(answers: Sequence[ControllerAnswer]) -> list[Finding]:
    """Return the findings on a live quorum, most important first."""
    # A leader that is cut off from the others still claims to lead, in an older epoch, until it resigns.
    leader = max((each for each in answers if each.quorum is not None), key=lambda each: each.epoch, default=None)
    found = [*unreachable(answers, leader), *strangers(answers), *other_views(answers, leader)]
    if leader is None:
        found.append(no_leader(answers))
    else:
        assert leader.quorum is not None
        found += [*bystanders(answers, leader.quorum, leader.address), *stale_members(leader.quorum, leader.address)]
    found = gravest_first(found)
    if leader is not None and leader.quorum is not None:
        found.append(state(leader.quorum, leader, any(each.severity != "info" for each in found)))
    return found


def unreachable(answers: Sequence[ControllerAnswer], leader: ControllerAnswer | None) -> Iterator[Finding]:
    """Yield findings on controllers that do not respond."""
    for each in answers:
        if not each.error:
            continue
        severity = "warning" if leader is not None else "critical"
        advice = (
            f"start it, or look at its port: kcli snapshot doctor LOGDIR on node {each.node or 'N'} reads its files"
        )
        name = "controller-unreachable"
        if each.is_certificate:
            name, advice = (
                "certificate",
                "renew its certificate: other controllers refuse it, too, if they trust as kcli does",
            )
        yield Finding(name, severity, each.subject, {"error": each.error}, advice, f"{each.name}: {each.error}")


def strangers(answers: Sequence[ControllerAnswer]) -> Iterator[Finding]:
    """Yield findings on controllers of another cluster than most."""
    known = Counter(each.cluster_id for each in answers if each.cluster_id)
    most = known.most_common(1)[0][0] if known else None
    for each in answers:
        if each.cluster_id not in (None, most):
            evidence = {"clusterId": each.cluster_id, "others": most}
            text = f"{each.name} is of cluster {each.cluster_id}, the others of {most}"
            advice = "give only controllers of one quorum; or its meta.properties is another cluster's"
            yield Finding("cluster-id-mismatch", "warning", each.subject, evidence, advice, text)


def other_views(answers: Sequence[ControllerAnswer], leader: ControllerAnswer | None) -> Iterator[Finding]:
    """Yield findings on controllers that do not follow the leader, as in a partitioned network."""
    if leader is None or leader.quorum is None:
        return
    true = leader.quorum
    for each in answers:
        if each is leader or each.error or (each.leader == true.leader and each.epoch == true.epoch):
            continue
        knows = f"node {each.leader}" if each.leader >= 0 else "no leader"
        evidence = {"leader": each.leader, "epoch": each.epoch, "quorumLeader": true.leader, "quorumEpoch": true.epoch}
        text = f"{each.name} knows {knows} in epoch {each.epoch}; node {true.leader} leads in epoch {true.epoch}"
        advice = "it does not hear from the leader: look at the network between them, and at its log"
        yield Finding("leader-unknown", "warning", each.subject, evidence, advice, text)


def bystanders(answers: Sequence[ControllerAnswer], quorum: Described, bootstrap: str) -> Iterator[Finding]:
    """Yield findings on controllers that respond but are no voters, such as one with a replaced disk after its old
    voter was removed.
    """
    voters = [each.key.id for each in quorum.voters]
    for each in answers:
        if each.error or each.node is None or each.node in voters:
            continue
        text = f"{each.name} is not among the voters {', '.join(map(str, voters))}"
        advice = f"if it is to vote, on the node: {add_line(bootstrap)}"
        yield Finding("not-a-voter", "warning", each.subject, {"voters": voters}, advice, text)


def no_leader(answers: Sequence[ControllerAnswer]) -> Finding:
    """Return the finding that no controller claims to lead."""
    reachable = [each for each in answers if not each.error]
    evidence: dict[str, Any] = {"answered": len(reachable), "asked": len(answers)}
    evidence["views"] = {each.address: {"leader": each.leader, "epoch": each.epoch} for each in reachable}
    named = sorted({each.leader for each in reachable if each.leader >= 0})
    epoch = max((each.epoch for each in reachable), default=-1)
    text = f"no leader: {counted(len(reachable), 'controller')} of {len(answers)} answered, epoch {epoch}"
    if len(reachable) <= len(answers) // 2:
        text += ", fewer than the majority that it takes to elect one"
    if named:
        text += f"; they name node {', '.join(map(str, named))}, which does not answer as the leader"
    advice = "read the nodes' files, too, to see who can win: kcli snapshot doctor LOGDIR... on each controller's host"
    return Finding(
        "no-leader", "critical", {"quorum": reachable[0].cluster_id if reachable else None}, evidence, advice, text
    )


def state(quorum: Described, leader: ControllerAnswer, is_wrong: bool) -> Finding:
    """Return the finding that describes the quorum: its leader, epoch and members. is_wrong: there are other findings
    than this.
    """
    evidence: dict[str, Any] = {"leader": quorum.leader, "epoch": quorum.epoch, "highWatermark": quorum.high_watermark}
    evidence["voters"] = [each.key.id for each in quorum.voters]
    text = f"node {quorum.leader} leads in epoch {quorum.epoch}, high watermark {quorum.high_watermark}, "
    text += f"{counted(len(quorum.voters), 'voter')}, {counted(len(quorum.observers), 'observer')}"
    advice = f"kcli snapshot watch {leader.address}"
    return Finding("leader" if is_wrong else "healthy", "info", {"node": quorum.leader}, evidence, advice, text)
