"""A broker that some hosts, or all, can't reach: nothing answers their SYNs."""

from pathlib import Path

import pytest

from tests.capture.wires import ACK, RST, SYN, Wire
from tests.rules.test_by_hand import SECOND, Talk, fetched, found, told

HOSTS = {1: "10.0.0.2", 2: "10.0.0.3"}
BROKERS = [{"nodeId": node, "host": host, "port": 9092, "rack": None} for node, host in HOSTS.items()]


def asking(host: str, port: int, server: str = "10.0.0.2", every: int = SECOND // 2, times: int = 24) -> Talk:
    """A client that gets answers all the time."""
    talk = Talk(f"of-{host}", port)
    talk.wire = Wire(client=(host, port), server=(server, 9092), seq=(port, 2 * port)).open()
    for _ in range(times):
        talk.call(3, 12, {"topics": []}, {"brokers": BROKERS, "topics": []})
        talk.wire.now += every
    return fetched(talk, 1)


def in_vain(host: str, port: int, server: str = "10.0.0.3", times: int = 4, answer: int | None = None) -> Wire:
    """A SYN that is sent again each second. answer: flags of what the server sends at last."""
    wire = Wire(client=(host, port), server=(server, 9092), seq=(port, 2 * port))
    wire.now += SECOND
    for _ in range(times):
        wire.add(0, SYN, ack=0, seq=port)
        wire.now += SECOND
    if answer is not None:
        wire.add(1, answer)
    return wire


@pytest.mark.parametrize("others_reach_it", [True, False])
def test_a_broker_that_does_not_answer_a_host(others_reach_it: bool, tmp_path: Path) -> None:
    near = asking("10.0.0.8", 43000, "10.0.0.3" if others_reach_it else "10.0.0.2")
    finding = told(found(tmp_path, asking("10.0.0.1", 41000), in_vain("10.0.0.1", 42000), near), "broker-unreachable",
                   broker=["10.0.0.3:9092", "2"], host=["10.0.0.1"])  # fmt: skip
    assert finding.evidence["syns"] == 4 and finding.evidence["clients"] == ["of-10.0.0.1"]
    assert (finding.evidence["to_others"] > 0) == others_reach_it
    assert ("firewalls" in finding.advice) == others_reach_it


def test_a_path_that_is_mended_while_the_client_tries(tmp_path: Path) -> None:
    late = in_vain("10.0.0.1", 42000, answer=SYN | ACK)
    told(found(tmp_path, asking("10.0.0.1", 41000), late), "broker-unreachable", host=["10.0.0.1"])


@pytest.mark.parametrize("kind", ["refused", "once", "taken beside", "no answer at all", "unknown there"])
def test_what_is_no_broker_out_of_reach(kind: str, tmp_path: Path) -> None:
    mine = asking("10.0.0.1", 41000)
    talks: dict[str, list[Talk | Wire]] = {
        "refused": [mine, in_vain("10.0.0.1", 42000, answer=RST | ACK)],
        "once": [mine, in_vain("10.0.0.1", 42000, times=1)],
        "taken beside": [mine, in_vain("10.0.0.1", 42000), asking("10.0.0.1", 44000, "10.0.0.3")],
        "no answer at all": [asking("10.0.0.8", 41000), in_vain("10.0.0.1", 42000)],
        "unknown there": [mine, in_vain("10.0.0.1", 42000, "10.0.0.9")],
    }
    assert "broker-unreachable" not in {each.finding for each in found(tmp_path, *talks[kind])}
