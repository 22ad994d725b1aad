"""The live cluster before a run: the topics that it needs, and records that it lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kcli.client.cluster import Client
from kcli.client.topics import MADE_AT_ONCE, Replicas, list_offsets
from kcli.replay.topic_mapping import LiveTopics
from kcli.replay.traffic.destinations import by_rank
from kcli.replay.traffic.survey import SeenTopic, Survey
from kcli.sessions.comparison import shown
from kcli.topic_names import CLUSTER_METADATA, INTERNAL, name_fault


def live_replicas(survey: Survey, mapping: Mapping[str, str], client: Client) -> Replicas:
    """Return {topic to create: replicas of each partition}, chosen so that the captured nodes lead; {} if there is only
    one node.
    """
    nodes, live = by_rank(survey, client), sorted(client.metadata.nodes)
    if len(live) < 2:
        return {}
    by_address = {address: node for node, address in survey.nodes.items()}
    made: dict[str, list[list[int]]] = {}
    for captured, seen in survey.needed().items():
        if seen.partitions > MADE_AT_ONCE:
            continue
        name = mapping.get(captured) or survey.names.live_name(captured, mapping)
        made[name] = []
        for index in range(seen.partitions):
            known = seen.replicas.get(index) or [by_address.get(seen.servers.get(index, ""), -1)]
            leaders = dict.fromkeys(nodes[each] for each in known if each in nodes)
            made[name].append(list(leaders) or [live[index % len(live)]])
    return made


def live_sizes(survey: Survey, mapping: Mapping[str, str], client: Client) -> dict[str, int]:
    """Return {live topic: partitions that it must have} for the topics that have to exist before the run."""
    sizes: dict[str, int] = {}
    alone = len(client.metadata.nodes) < 2
    for captured, seen in survey.needed().items():
        name = mapping.get(captured) or survey.names.live_name(captured, mapping)
        if captured not in (*INTERNAL, CLUSTER_METADATA) and not is_left(seen, alone) and not name_fault(name):
            sizes[name] = max(sizes.get(name, 0), seen.partitions)
    return sizes


async def note_missing(client: Client, survey: Survey, topics: LiveTopics, notify: Callable[[str], None]) -> None:
    """Report the partitions whose captured fetches found records that the cluster lacks, in one line. Raises
    NetworkError.
    """
    wanted = {
        (topics.live_name(name), index): seen.read[index]
        for name, seen in survey.needed().items()
        for index in seen.presumed
        if client.leader(topics.live_name(name), index) is not None
    }
    bounds = await list_offsets(client, wanted)
    missing = [f"{name}[{index}]" for (name, index), offset in wanted.items() if bounds[name, index].latest <= offset]
    if missing:
        notify(f"the cluster lacks records that the capture's fetches found, in {shown(missing)} (--fill writes them)")


def is_left(seen: SeenTopic, alone: bool) -> bool:
    """Return whether the replay itself creates a topic: by CreateTopics, or because a broker creates it for a client.

    alone: there is one broker; with several, any of them may lead topics that are created for a client
    """
    return seen.is_late and (seen.is_made or (alone and seen.partitions == 1))
