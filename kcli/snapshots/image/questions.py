"""Predefined questions about a metadata image, answered by rows of plain values."""

from collections.abc import Callable, Iterator
from typing import Any

from kcli.snapshots.image.image import Image
from kcli.snapshots.image.partitions import FACTS

Row = dict[str, Any]


def partitions_having(image: Image, fact: str) -> Iterator[Row]:
    """Yield the partitions for which one of `partitions.FACTS` holds."""
    bit = FACTS[fact]
    for topic, number, (facts, leader, replicas, isr) in image.summaries():
        if facts & bit:
            elr = {}
            if fact == "with-elr":
                partition = image.partition(topic, number)
                elr = {"elr": partition["eligibleLeaderReplicas"], "lastKnownElr": partition["lastKnownElr"]}
            yield {
                "topic": topic.name,
                "partition": number,
                "leader": leader,
                "replicas": list(replicas),
                "isr": list(isr),
                "missing": [broker for broker in replicas if broker not in isr],
                **elr,
            }


def partitions_by_broker(image: Image) -> list[Row]:
    """Return a row for each broker that is registered or a replica: its replicas, those in sync, and the partitions it
    leads.
    """
    rows: dict[int, Row] = {number: blank(number, image) for number in image.brokers}
    for _, _, (_, leader, replicas, isr) in image.summaries():
        for index, broker in enumerate(replicas):
            row = rows.get(broker) or rows.setdefault(broker, blank(broker, image))
            row["replicas"] += 1
            row["inSync"] += broker in isr
            row["leads"] += broker == leader
            row["preferred"] += index == 0
    return [rows[number] for number in sorted(rows)]


def blank(number: int, image: Image) -> Row:
    broker = image.brokers.get(number)
    return {
        "broker": number,
        "registered": broker is not None,
        "fenced": bool(broker and broker.get("fenced")),
        "inControlledShutdown": bool(broker and broker.get("inControlledShutdown")),
        "replicas": 0,
        "inSync": 0,
        "leads": 0,
        "preferred": 0,
    }


def preferred_leader_skew(image: Image) -> list[Row]:
    """Return a row for each broker that is a first (preferred) replica: the number of these partitions, of those that
    another broker leads, of those without a leader, and the share of both (`skew`, 0 to 1).
    """
    rows: dict[int, Row] = {}
    for _, _, (facts, leader, replicas, _) in image.summaries():
        if not replicas:
            continue
        row = rows.setdefault(replicas[0], {"broker": replicas[0], "preferred": 0, "elsewhere": 0, "offline": 0})
        row["preferred"] += 1
        row["elsewhere"] += bool(facts & FACTS["not-preferred"])
        row["offline"] += leader < 0
    for row in rows.values():
        row["skew"] = round((row["elsewhere"] + row["offline"]) / row["preferred"], 4)
    return [rows[number] for number in sorted(rows)]


def brokers_fenced(image: Image) -> Iterator[Row]:
    """Yield the brokers that are fenced or in controlled shutdown, by id. Neither kind leads partitions."""
    for number, broker in sorted(image.brokers.items()):
        fenced, leaving = bool(broker.get("fenced")), bool(broker.get("inControlledShutdown"))
        if fenced or leaving:
            yield {
                "broker": number,
                "brokerEpoch": broker["brokerEpoch"],
                "rack": broker.get("rack"),
                "fenced": fenced,
                "inControlledShutdown": leaving,
                "endPoints": [f"{each['name']}://{each['host']}:{each['port']}" for each in broker["endPoints"]],
            }


def under_replicated_topics(image: Image) -> list[Row]:
    """Return a row for each topic with under-replicated partitions: their number, that of all, and the brokers that are
    missing.
    """
    rows: dict[bytes, Row] = {}
    for topic, _, (facts, _, replicas, isr) in image.summaries():
        if facts & FACTS["under-replicated"]:
            row = rows.setdefault(
                topic.id,
                {"topic": topic.name, "underReplicated": 0, "partitions": len(topic.partitions), "missing": set()},
            )
            row["underReplicated"] += 1
            row["missing"].update(broker for broker in replicas if broker not in isr)
    return [{**row, "missing": sorted(row["missing"])} for row in rows.values()]


def asking(fact: str) -> Callable[[Image], Iterator[Row]]:
    return lambda image: partitions_having(image, fact)


# {name on the command line: function}
QUESTIONS: dict[str, Callable[[Image], Iterator[Row] | list[Row]]] = {
    "under-replicated": asking("under-replicated"),
    "under-replicated-topics": under_replicated_topics,
    "offline": asking("offline"),
    "reassigning": asking("reassigning"),
    "with-elr": asking("with-elr"),
    "not-preferred": asking("not-preferred"),
    "recovering": asking("recovering"),
    "by-broker": partitions_by_broker,
    "preferred-skew": preferred_leader_skew,
    "fenced": brokers_fenced,
}


def ask(image: Image, question: str) -> list[Row]:
    """Return the answer to one of QUESTIONS as a list of rows."""
    return list(QUESTIONS[question](image))
