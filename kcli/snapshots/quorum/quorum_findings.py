"""Findings of `kcli snapshot doctor` on the nodes of a quorum, with advice."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kcli.counting import counted
from kcli.finding import Finding, gravest_first
from kcli.jsontext import dumps
from kcli.schemas.definition import ZERO_UUID
from kcli.snapshots.quorum.election import Quorum, deposed_by
from kcli.snapshots.quorum.node import QuorumNode, common_end, damage_of_newest
from kcli.snapshots.quorum.startup import BOOTSTRAP
from kcli.snapshots.quorum.voters import VoterKey

ANYWHERE = "HOST:PORT"
# What follows when a file is moved away.
CURES = {
    "quorum-state": "it begins with a new one, and forgets which vote it gave",
    "leader-epoch-checkpoint": "Kafka makes it again from the log",
    "partition.metadata": "Kafka makes it again",
    BOOTSTRAP: "only an empty log needs it",
}


def findings(quorum: Quorum, *, running: bool = False, dialect: str | None = None) -> list[Finding]:
    """Return the findings on a quorum by its nodes' folders, most important first.

    running: the nodes are running, so that a log may seem behind the others only because it was read first
    """
    found = [*strangers(quorum), *missing(quorum), *impostors(quorum), *doubles(quorum)]
    found += [*refused(quorum, running), *damaged(quorum, dialect), *cut_logs(quorum), *log_gaps(quorum)]
    found += laggards(quorum, running)
    found = gravest_first(found)
    return [*found, election(quorum, any(each.severity != "info" for each in found))]


def grave(quorum: Quorum) -> str:
    """Return the severity of a voter that does not take part: critical if no node can be elected."""
    return "warning" if quorum.electable else "critical"


def subject_of(node: QuorumNode) -> dict[str, Any]:
    return {"node": node.id, "path": node.path}


def strangers(quorum: Quorum) -> Iterator[Finding]:
    """Yield findings on nodes of another cluster."""
    for node in filter(quorum.is_stranger, quorum.nodes):
        evidence = {"clusterId": node.identity.cluster_id, "others": quorum.cluster_id}
        text = f"{node.name} is of cluster {node.identity.cluster_id}, the others of {quorum.cluster_id}"
        advice = f"if the folder is this cluster's, set cluster.id={quorum.cluster_id} in its meta.properties"
        yield Finding("cluster-id-mismatch", grave(quorum), subject_of(node), evidence, advice, text)


def missing(quorum: Quorum) -> Iterator[Finding]:
    """Yield findings on voters without any files."""
    present = {node.id for node in quorum.nodes}
    lost = [voter for voter in quorum.voters if voter.id not in present]
    for voter in lost:
        subject: dict[str, Any] = {"node": voter.id}
        subject |= {"directory": voter.directory} if voter.directory else {}
        evidence = {"voters": [each.id for each in quorum.voters], "missing": len(lost), "majority": quorum.majority}
        evidence |= {"address": voter.address} if voter.address else {}
        text = f"voter {voter.id}{at(voter)} is not among the nodes given"
        yield Finding("voter-missing", grave(quorum), subject, evidence, missing_advice(quorum, voter), text)


def at(voter: VoterKey) -> str:
    return f" ({voter.address})" if voter.address else ""


def missing_advice(quorum: Quorum, voter: VoterKey) -> str:
    back = f"bring node {voter.id} back, or give its folder, too"
    if not quorum.electable:
        return f"{back}; if it is lost for good, a new quorum: kcli snapshot restore {quorum.best.path}"
    return f"{back}; if it is lost for good: {removal(voter)}"


def removal(voter: VoterKey) -> str:
    """Return the command that removes a voter; for a static quorum a text on what to do instead."""
    if voter.directory is None:
        return "in a static quorum its place stays: a new node with the same node.id, or other controller.quorum.voters"
    return remove_line(voter.id, voter.directory)


def remove_line(node: int, directory: str, controller: str = ANYWHERE) -> str:
    """Return the command that removes a voter."""
    named = f"--controller-id {node} --controller-directory-id {directory}"
    return f"kafka-metadata-quorum --bootstrap-controller {controller} remove-controller {named}"


def add_line(controller: str = ANYWHERE) -> str:
    """Return the command that makes a node a voter, to be run on the node. Its properties come before the verb."""
    where = f"--bootstrap-controller {controller} --command-config server.properties"
    return f"kafka-metadata-quorum {where} add-controller"


def impostors(quorum: Quorum) -> Iterator[Finding]:
    """Yield findings on nodes that are no voter, because of their directory id or their node id."""
    for node in quorum.nodes:
        if quorum.is_stranger(node) or not quorum.is_known or quorum.voter(node) is not None:
            continue
        if node.id is None:
            yield nameless(quorum, node)
            continue
        namesake = next((voter for voter in quorum.voters if voter.id == node.id), None)
        if namesake is None:
            yield outsider(quorum, node)
            continue
        own = node.identity.directory_id
        owner = next((voter for voter in quorum.voters if own is not None and voter.directory == own), None)
        evidence = {"directoryId": own, "voterDirectoryId": namesake.directory, "logEnd": node.end, "epoch": node.epoch}
        evidence |= {"directoryIdOf": owner.id} if owner else {}
        own_text = f"directory id {own}" if own else "no directory id"
        owned = f", that of voter {owner.id}" if owner else ""
        text = f"{node.name} has {own_text}{owned}; voter {node.id} has {namesake.directory}: it is not elected"
        back = f"if the disk is the old one: directory.id={namesake.directory} in {node.path}/meta.properties"
        new = f"if it is a new one, once a leader is elected: {removal(namesake)}, then on the node: {add_line()}"
        advice = f"{back}; {new}"
        yield Finding("directory-id-mismatch", grave(quorum), subject_of(node), evidence, advice, text)


def doubles(quorum: Quorum) -> Iterator[Finding]:
    """Yield findings on folders of one and the same voter: a copy, or a meta.properties in the wrong place."""
    seen: dict[VoterKey, QuorumNode] = {}
    for node in quorum.nodes:
        voter = quorum.voter(node)
        if voter is None or quorum.is_stranger(node):
            continue
        first = seen.setdefault(voter, node)
        if first is not node:
            evidence = {"directoryId": node.identity.directory_id, "first": first.path}
            text = f"{node.path} is {node.name}, as is {first.path}: they have one vote"
            advice = f"give one of them; or {node.path}/meta.properties is that of another node"
            yield Finding("same-identity", grave(quorum), subject_of(node), evidence, advice, text)


def nameless(quorum: Quorum, node: QuorumNode) -> Finding:
    """Return the finding that a folder names no node, so that Kafka does not start with it."""
    evidence = {"voters": [voter.id for voter in quorum.voters], "logEnd": node.end, "epoch": node.epoch}
    refusal = node.identity.refusal
    problem = f"/meta.properties: {refusal}" if refusal else " has no meta.properties"
    text = f"{node.path}{problem}: Kafka does not start with it"
    names = "; ".join(f"{each.id} has directory.id={each.directory}" for each in quorum.voters if each.directory)
    advice = "copy its meta.properties back, or write one: version=1, node.id, directory.id, and "
    advice += f"cluster.id={quorum.cluster_id}" if quorum.cluster_id else "cluster.id"
    advice += f" (of the voters {names})" if names else ""
    return Finding("not-a-voter", grave(quorum), subject_of(node), evidence, advice, text)


def outsider(quorum: Quorum, node: QuorumNode) -> Finding:
    """Return the finding that a node's id is no voter's, which is right for a broker."""
    known = [voter.id for voter in quorum.voters]
    evidence = {"voters": known, "directoryId": node.identity.directory_id, "logEnd": node.end, "epoch": node.epoch}
    text = f"{node.name} is not among the voters {', '.join(map(str, known))}"
    add = f"on the node, once a leader is elected: {add_line()}"
    if is_broker(quorum, node):
        advice = "a broker does not vote"
        return Finding("not-a-voter", "info", subject_of(node), evidence, advice, f"{text}: it is a broker")
    return Finding("not-a-voter", "warning", subject_of(node), evidence, f"if it is to vote, {add}", text)


def damaged(quorum: Quorum, dialect: str | None) -> Iterator[Finding]:
    """Yield findings on nodes with an error in their newest snapshot; a node that needs it does not start."""
    for node in quorum.nodes:
        damage = damage_of_newest(node, dialect)
        if damage is None:
            continue
        name, error = damage
        text = f"{node.name}: its newest snapshot can't be loaded: {name}: {error}"
        advice = f"kcli snapshot verify {node.path} shows each error; with its own log from offset 0 it may be "
        advice += "moved away, else start the node with an empty folder, so that it fetches from the leader"
        evidence = {"snapshot": name, "error": error, "logEnd": node.end}
        yield Finding("snapshot-damaged", grave(quorum), subject_of(node), evidence, advice, text)


def refused(quorum: Quorum, running: bool) -> Iterator[Finding]:
    """Yield findings on files beside a log that Kafka does not start with; snapshots have a finding of their own."""
    members = [node for node in quorum.nodes if not quorum.is_stranger(node)]
    for node in quorum.nodes:
        # A running node may have won between the two readings.
        witness = deposed_by(node, members) if node in members and not running else None
        if node.refusal is not None:
            name, reason = node.refusal.file, node.refusal.reason
            text = f"{node.name}: Kafka does not start with its {name}: {reason}"
        elif witness is not None:
            name = "quorum-state"
            reason = f"{witness.name} knows it as the leader of epoch {witness.known_epoch}, and it does not"
            text = f"{node.name}: it has lost its {name}, and stops as soon as it hears of it: {reason}"
        else:
            continue
        if name == "quorum-state" and witness is not None:
            advice = f"while the node is stopped, write its {name}: {next_state(quorum, members)}"
        else:
            advice = cure_of(name, by_name=node.refusal is not None and node.refusal.by_name)
        if advice:
            evidence = {"file": name, "error": reason}
            yield Finding("file-damaged", grave(quorum), subject_of(node), evidence, advice, text)


def cure_of(file: str, *, by_name: bool) -> str:
    """Return the advice on a file that Kafka does not start with; "" if there is none. by_name: its name is wrong."""
    if by_name:
        return f"move it away while the node is stopped{f': {CURES[file]}' if file in CURES else ''}"
    if file.endswith(".log"):
        return "while the node is stopped, name the segment by its first offset, and remove its indexes"
    return f"move the file away while the node is stopped: {CURES[file]}" if file in CURES else ""


def next_state(quorum: Quorum, members: Sequence[QuorumNode]) -> str:
    """Return a quorum-state for an epoch that no member knows yet, without a vote or a leader."""
    state: dict[str, Any] = {
        "leaderId": -1,
        "leaderEpoch": 1 + max(node.known_epoch for node in members),
        "votedId": -1,
    }
    if any(node.logged for node in members):
        return dumps(state | {"votedDirectoryId": ZERO_UUID, "data_version": 1})
    voters = [{"voterId": each.id} for each in quorum.voters]
    return dumps({"clusterId": ""} | state | {"appliedOffset": 0, "currentVoters": voters, "data_version": 0})


def cut_logs(quorum: Quorum) -> Iterator[Finding]:
    """Yield findings on logs with a bad batch, which a node cuts there when it starts."""
    for node in quorum.nodes:
        if node.cut is None:
            continue
        name, (_, position, reason) = Path(node.cut.path).name, node.cut
        evidence = {"segment": name, "position": position, "error": reason, "logEnd": node.end}
        text = f"{node.name}: {name} is damaged from byte {position} on ({reason}): the node drops that and all after "
        text += f"it when it starts, and its log ends at {node.end}"
        advice = f"copy {node.path} away before the node starts; kcli snapshot verify {node.path} shows each error"
        yield Finding("log-damaged", grave(quorum), subject_of(node), evidence, advice, text)


def log_gaps(quorum: Quorum) -> Iterator[Finding]:
    """Yield findings on logs that lack offsets after the newest snapshot, with which a node starts all the same."""
    for node in quorum.nodes:
        for name, start, end, is_empty in node.gaps:
            evidence = {"segment": name, "from": start, "to": end, "logEnd": node.end}
            text = f"{node.name}: {name} begins at offset {end}, the segment before it ends at {start}; Kafka does not "
            if is_empty:
                text += f"notice, and takes {end} for the end of its log, though nothing is after {start}"
                advice = f"move {name} and its indexes away while the node is stopped"
                yield Finding("log-damaged", "warning", subject_of(node), evidence, advice, text)
                continue
            text += "notice, and loads a state that is not the cluster's"
            advice = f"do not start it: find the lost segment, or copy {node.path} away and start the node with an "
            advice += "empty folder, so that it fetches from the leader"
            yield Finding("log-damaged", "critical", subject_of(node), evidence, advice, text)


def is_broker(quorum: Quorum, node: QuorumNode) -> bool:
    """Return whether a node is registered as a broker and not as a controller: in its own log, or in the longest one if
    its own is empty.
    """
    from kcli.snapshots.reading.api import Wanted, load_image

    image = load_image(Wanted((quorum.longest if node.is_empty else node).path)).loader.image
    return node.id in image.brokers and node.id not in image.controllers


def laggards(quorum: Quorum, running: bool = False) -> Iterator[Finding]:
    """Yield findings on nodes with logs that are behind the best one, or diverge from it."""
    best = quorum.best
    for node in quorum.nodes:
        if quorum.is_stranger(node) or node.place >= best.place or (node.is_empty and quorum.voter(node) is None):
            continue
        parts = common_end(best, node)
        evidence = {"logEnd": node.end, "epoch": node.epoch, "bestNode": best.id}
        evidence |= {"bestEnd": best.end, "bestEpoch": best.epoch, "recordsItLacks": best.end - parts}
        if parts < node.end:
            evidence |= {"partsAt": parts, "recordsOfItsOwn": node.end - parts}
            own = counted(node.end - parts, "record")
            text = f"{node.name} ends at {node.end} of epoch {node.epoch}; from {parts} on the best log, of {best.name}"
            text += f", goes on in epoch {best.epoch} up to {best.end}"
            advice = f"start it with the others: it drops its {own} from {parts} on, which no majority has; copy its "
            advice += "folder away first if they matter"
            yield Finding("log-diverged", "warning", subject_of(node), evidence, advice, text)
        else:
            gone = sum(max(0, gap.end - max(gap.start, node.end)) for gap in best.gaps)
            behind = counted(best.end - node.end - gone, "record")
            text = f"{node.name} ends at {node.end}, the best log, of {best.name}, at {best.end}: it lacks {behind}"
            wins = node.id in quorum.electable
            advice = f"start {best.name}, too: {node.name} catches up from a leader, and can't win"
            advice += f" but by the others' votes: {best.name} drops {behind} then" if wins else ""
            # A node that does not vote has no effect on an election.
            severity = "info" if running or quorum.voter(node) is None else "warning"
            if node.is_empty:
                text = f"{node.name} has an empty metadata log, that of {best.name} ends at {best.end}"
                if wins and not running:
                    severity = "critical"
                    text += f": it can be elected, and all {behind} are lost then"
                    advice = f"do not start it yet: copy __cluster_metadata-0 of {best.path} into {node.path} first"
            yield Finding("log-behind", severity, subject_of(node), evidence, advice, text)


def election(quorum: Quorum, is_wrong: bool) -> Finding:
    """Return the finding on the nodes that can be elected."""
    electable = list(quorum.electable)
    evidence = {"electable": electable, "voters": [each.id for each in quorum.voters], "majority": quorum.majority}
    subject: dict[str, Any] = {"quorum": quorum.cluster_id}
    if not quorum.is_known:
        text = "who votes is not known: no voters in the log, nor in quorum-state"
        evidence["electable"] = None
        return Finding("election", "warning", subject, evidence, "see controller.quorum.voters of each node", text)
    if electable:
        text = f"can be elected with just these nodes: {', '.join(map(str, electable))}"
        name = "election" if is_wrong else "healthy"
        return Finding(name, "info", subject, evidence, "start them: they elect one", text)
    votes = f"it takes {quorum.majority} of {counted(len(quorum.voters), 'voter')}"
    text = f"no node can be elected with just these nodes: {votes}"
    paths = " ".join(node.path for node in quorum.nodes)
    advice = f"bring voters back, or begin a new quorum: kcli snapshot restore {paths}"
    return Finding("election", "critical", subject, evidence, advice, text)


def survivor(quorum: Quorum) -> Finding:
    """Return the finding on the log to keep of a lost quorum: its uncommitted end, and the records that other logs
    lack.
    """
    best, safe = quorum.best, quorum.on_majority
    evidence: dict[str, Any] = {"logEnd": best.end, "epoch": best.epoch, "onMajorityUpTo": safe}
    evidence["loses"] = {str(node.id): best.end - common_end(best, node) for node in quorum.nodes if node is not best}
    text = f"{best.name} has the longest log by epoch: up to {best.end} of epoch {best.epoch}"
    if safe is None:
        text += "; what of its end was committed is not known without a majority of the voters"
    elif safe < best.end:
        text += (
            f"; a majority has it up to {safe}, {counted(best.end - safe, 'record')} after it that may be uncommitted"
        )
    advice = f"begin the new quorum with it: kcli snapshot restore {best.path} --to LOGDIR"
    return Finding("survivor", "info", subject_of(best), evidence, advice, text)
