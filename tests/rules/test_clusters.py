"""Two clusters in one capture: neither explains the other, and neither is compared with the other."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from kcli.diagnose import diagnose
from kcli.diagnose import store as stores
from kcli.diagnose.diagnosis import read_facts
from kcli.diagnose.store import FactStore
from kcli.rules.server_sets import disjoint
from tests.capture.wires import Packet, packets_of, pcap
from tests.diagnose.captured import DATA, diagnosed

HERE, THERE = bytes([127, 0, 0, 1]), bytes([127, 0, 7, 1])


def clusters(path: Path) -> list[str]:
    """Return the ids of the clusters in a capture."""
    with FactStore() as store:
        read_facts([str(path)], store, lambda _count: None, {})
        return [row["cluster_id"] for row in store.ask("SELECT DISTINCT cluster_id FROM cluster_ids")]


def elsewhere(packets: Iterable[Packet], cluster: str, later: int = 0) -> Iterable[Packet]:
    """Move a capture to another host and another cluster that has the same names."""
    for packet in packets:
        head = packet.data[:26] + packet.data[26:34].replace(HERE, THERE)
        said = packet.data[34:].replace(b"127.0.0.1", b"127.0.7.1").replace(cluster.encode(), cluster.encode()[::-1])
        yield packet._replace(ns=packet.ns + later, data=head + said)


def told(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Return the findings in captures, with their figures."""
    found = diagnose([str(each) for each in paths]).findings
    return sorted((each.finding, repr({**each.evidence, "addresses": None})) for each in found)


@pytest.mark.parametrize("name", ["rebalance-storm-shipments", "hanging-transaction-settlement", "duplicates-seats"])
@pytest.mark.parametrize("held", [stores.MOST_BUFFERED, 0])
def test_two_clusters_with_the_same_names_are_told_as_each_alone(
    name: str, held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where rows do not fit into memory."""
    monkeypatch.setattr(stores, "MOST_BUFFERED", held)
    here, there = DATA / f"{name}.pcap.zst", tmp_path / "there.pcap"
    [cluster] = clusters(here)
    there.write_bytes(pcap([*elsewhere(packets_of(here), cluster)]))
    assert len({*clusters(here), *clusters(there)}) == 2
    alone = told([here])
    assert told([here, there]) == sorted([*alone, *alone]) and alone


def test_a_slow_broker_is_not_compared_with_those_of_another_cluster(tmp_path: Path) -> None:
    """The other cluster's answers are quick, and its findings are no consequences of this one's."""
    here, there = DATA / "coordinator-group.pcap.zst", tmp_path / "there.pcap"
    other = DATA / "commit-per-record-letters.pcap.zst"
    [cluster] = clusters(other)
    later = packets_of(here)[0].ns - packets_of(other)[0].ns
    there.write_bytes(pcap([*elsewhere(packets_of(other), cluster, later)]))
    alone = {each.finding for each in diagnosed("coordinator-group").findings}
    found = {name for name, _ in told([here, there])} - {"clock-skew"}  # of the moved packets
    assert found == alone | {"commit-per-record"}


def test_servers_without_anything_in_common_do_not_explain_each_other(tmp_path: Path) -> None:
    """Both captures begin in mid-stream: no Metadata names a cluster. What is not known is named."""
    here, there = DATA / "lagging-consumer-pageviews.pcap.zst", tmp_path / "there.pcap"
    other = DATA / "slow-broker-payments.pcap.zst"
    assert clusters(here) == clusters(other) == []
    later = packets_of(here)[0].ns - packets_of(other)[0].ns
    there.write_bytes(pcap([*elsewhere(packets_of(other), "-", later)]))
    found = diagnose([str(here), str(there)])
    assert {each.finding for each in found.findings} - {"clock-skew"} == {"slow-broker", "lagging-consumer"}
    [unknown] = [each for each in found.unjudged if "which cluster" in each.what]
    assert "127.0.0.1:26000, 127.0.7.1:24200 belong to" in unknown.what
    for alone in (here, there):
        assert not [each for each in diagnose([str(alone)]).unjudged if "which cluster" in each.what]


def test_a_server_belongs_to_the_cluster_of_its_clients() -> None:
    """Sets that overlap are one, in any order."""
    assert sorted(map(sorted, disjoint([{"a", "b"}, {"c"}, {"d", "e"}, {"b", "d"}, {"f"}]))) == [
        ["a", "b", "d", "e"],
        ["c"],
        ["f"],
    ]
