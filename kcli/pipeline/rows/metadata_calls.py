"""Rows of `metadata_calls`, `metadata_topics`, `metadata_told`, `partition_states`, `advertised`,
`cluster_ids` and `voters`.
"""

from collections.abc import Mapping
from itertools import count
from typing import Any

from kcli.capture.kafka.exchange import Exchange
from kcli.legible import host_port
from kcli.pipeline.rows.group_calls import LeadingValues, completed, error_of
from kcli.pipeline.rows.sayings import random_start
from kcli.pipeline.rows.single_rows import SingleRows, response_of
from kcli.schemas.apikeys import FIND_COORDINATOR, METADATA
from kcli.schemas.definition import ZERO_UUID

KINDS = {0: "group", 1: "transactional id", 2: "share partition"}  # of coordinators, by their number
KEPT = 1 << 16  # partitions and brokers that are remembered


class MetadataRows:
    """Puts rows of Metadata and FindCoordinator, and the node ids that controllers name to each other."""

    def __init__(self) -> None:
        self.numbers = count(random_start())
        self.state_numbers: dict[tuple[Any, ...], int] = {}
        self.partitions = 0
        self.brokers: set[tuple[str, int, str]] = set()
        self.clusters: set[tuple[str, str]] = set()
        self.voters: set[tuple[str, int]] = set()

    def put(self, rows: SingleRows, item: Exchange, leading: LeadingValues) -> None:
        """Put the rows of one exchange."""
        if item.api_key == METADATA:
            self.put_metadata(rows, item, leading)
        elif item.api_key == FIND_COORDINATOR:
            self.put_coordinators(rows, item, leading)
        elif (item.request or {}).get("voterId", -1) >= 0:
            self.put_voter(rows, item.link.server, item.request["voterId"])

    def put_metadata(self, rows: SingleRows, item: Exchange, leading: LeadingValues) -> None:
        """Put the rows of a Metadata request and its response."""
        requested = (item.request or {}).get("topics")
        everything = requested is None or (requested == [] and item.api_version == 0)
        topics = (item.response or {}).get("topics") or ()
        number = len(topics) if item.cut.response is None else None
        rows.say("metadata_calls", (*leading, completed(item), everything, number, item.response_bytes))
        named = {each.get("name") for each in requested or ()}
        cluster = (item.link.server, (item.response or {}).get("clusterId") or "")
        if cluster[1] and cluster not in self.clusters and len(self.clusters) < KEPT:
            self.clusters.add(cluster)
            rows.put("cluster_ids", cluster)
        addresses = dict[int, str]()
        for each in (item.response or {}).get("brokers") or ():
            addresses[each["nodeId"]] = host_port(each["host"], each["port"])
            self.put_broker(rows, item, each["nodeId"], addresses[each["nodeId"]])
        for topic in topics:
            error, name, topic_id = error_of(topic), topic.get("name"), topic.get("topicId")
            if error:
                name_or_id = name or topic_id
                rows.say("metadata_topics", (*leading, completed(item), name_or_id, error, name_or_id in named))
            if name:
                states = tuple(state_of(each, topic_id, addresses) for each in topic.get("partitions") or ())
                rows.say("metadata_told", (*leading, completed(item), self.number_of(rows, name, states)))

    def number_of(self, rows: SingleRows, topic: str, states: tuple[tuple[Any, ...], ...]) -> int:
        """Return the number of the state of a topic's partitions in a response (see `state_of`). Put the state if it is
        new.
        """
        number = self.state_numbers.get((topic, states))
        if number is None:
            if self.partitions > KEPT:
                self.state_numbers.clear()
                self.partitions = 0
            self.partitions += len(states)
            number = self.state_numbers[topic, states] = next(self.numbers)
            for state in states:
                rows.put("partition_states", (number, topic, *state))
        return number

    def put_coordinators(self, rows: SingleRows, item: Exchange, leading: LeadingValues) -> None:
        """Put the keys of a FindCoordinator, and the brokers that its response names."""
        request, response = item.request or {}, response_of(item)
        coordinators = response.get("coordinators") or [response]
        errors = {each.get("key"): error_of(each) for each in coordinators}
        kind = KINDS.get(request.get("keyType", 0))
        for key in request.get("coordinatorKeys") or [request.get("key")]:
            error = errors.get(key, errors.get(None)) or error_of(response)
            group = key if kind == "group" else None
            rows.say("coordinator_asks", (*leading, completed(item), group, key, error, kind))
        for each in coordinators:
            if each.get("host") and each.get("nodeId", -1) >= 0 and not each.get("errorCode"):
                self.put_broker(rows, item, each["nodeId"], host_port(each["host"], each["port"]))

    def put_voter(self, rows: SingleRows, server: str, node: int) -> None:
        """Put the node id of a controller, if it was not put before."""
        if (server, node) not in self.voters and len(self.voters) < KEPT:
            self.voters.add((server, node))
            rows.put("voters", (server, node))

    def put_broker(self, rows: SingleRows, item: Exchange, node: int, address: str) -> None:
        """Put the address of a broker, if it was not put before."""
        key = (item.link.server, node, address)
        if key not in self.brokers and len(self.brokers) < KEPT:
            self.brokers.add(key)
            rows.put("advertised", key)


def state_of(partition: dict[str, Any], topic_id: str | None, addresses: Mapping[int, str]) -> tuple[Any, ...]:
    """Return the state of a partition in a response: the columns of `partition_states` from `topic_id` on."""
    replicas, isr = partition.get("replicaNodes") or [], partition.get("isrNodes") or []
    return (
        None if topic_id == ZERO_UUID else topic_id, partition["partitionIndex"], partition["leaderId"],
        partition.get("leaderEpoch"), addresses.get(partition["leaderId"]), ",".join(map(str, replicas)),
        ",".join(map(str, isr)), len(replicas), len(isr), error_of(partition),
    )  # fmt: skip
