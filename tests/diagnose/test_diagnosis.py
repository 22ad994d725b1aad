"""A diagnosis as a whole."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from kcli.counting import few_of
from kcli.diagnose import Diagnosis, Scope, diagnose
from kcli.diagnose import store as stores
from kcli.diagnose.diagnosis import read_facts
from kcli.diagnose.store import FactStore
from kcli.diagnose.unjudged import NAMED, tls_text, unread_parts
from kcli.errors import InputError, unreadable
from kcli.rules import RULES
from kcli.rules.judgement import rules_to_ask
from tests.capture.fragmenting import fragmented
from tests.capture.messages import metadata
from tests.capture.wires import DATA as CAPTURED
from tests.capture.wires import SAMPLES, Wire, packets_of, pcap
from tests.diagnose.captured import DATA, diagnosed


def test_a_scope_leaves_out_what_concerns_others() -> None:
    path = str(DATA / "busy-fetch-pricing.pcap.zst")
    assert [each.finding for each in diagnose([path], Scope(group="pricing-cache")).findings] == ["busy-fetch"]
    assert not diagnose([path], Scope(group="another")).findings
    assert not diagnose([path], Scope(client="pricing-report-1")).findings


def test_what_cannot_be_judged_is_named_with_its_remedy(samples: Path) -> None:
    found = diagnose(samples / "tls.pcap")
    assert any("TLS" in each.what and "--key-log" in each.remedy for each in found.unjudged)


def test_an_empty_file_is_no_part_of_a_damaged_one(samples: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").touch()
    with pytest.raises(InputError, match="no capture in this directory"):
        diagnose(str(tmp_path))
    part, *_ = diagnose([str(samples / "java44-txn.pcap"), str(tmp_path / "empty.pcap")]).unjudged
    assert part.what.startswith("a file without a packet: ") and "leave it out" in part.remedy


def test_a_file_that_may_not_be_read_is_not_damaged() -> None:
    (part,) = unread_parts(unreadable(PermissionError(13, "Permission denied"), "roots.pcap"))
    assert part.what == "a file that can't be read: roots.pcap: Permission denied" and "copy" not in part.remedy


def test_a_key_log_of_other_connections_is_named(samples: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.keys"
    other.write_text(f"CLIENT_RANDOM {'ab' * 32} {'cd' * 48}\n")
    found = diagnose([str(samples / "tls.pcap")], key_logs=[str(other)])
    remedies = [each.remedy for each in found.unjudged if " of TLS 1.2" in each.what]
    assert len(remedies) == 1 and "which the given key log lacks" in remedies[0]


def test_tls_that_cannot_be_read_is_a_line_for_each_broker() -> None:
    """However many cipher suites its clients speak."""
    suites, resumed = (diagnose([str(CAPTURED / f"tls-{name}.pcap")]).unjudged for name in ("1.2-suites", "resumed"))
    assert [each.what for each in suites] == ["24 connections of TLS 1.2 and TLS 1.3, 10 suites, to 127.0.0.1:25200"]
    assert len([each for each in resumed if " of TLS" in each.what]) == 1
    assert tls_text(["TLS"]) == "TLS" and tls_text(["TLS", "TLS 1.3, A"]) == "TLS 1.3, A"
    assert tls_text(["TLS 1.2, B, certificate of CN=a", "TLS 1.2, B, certificate of CN=b"]) == "TLS 1.2, B"
    assert few_of([*"abcde"], NAMED) == "a, b, c and 2 more"


def test_what_is_no_capture_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"GIF89a")
    with pytest.raises(InputError):
        diagnose([str(path)])


def said(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """What a diagnosis finds; sums of fractions have an order of their own."""
    return [asdict(each) | {"weight": round(each.weight, 3)} for each in (*diagnosis.findings, *diagnosis.explained)]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.zst"))[::5], ids=lambda path: path.name.partition(".")[0])
def test_rows_are_few_or_many_the_findings_are_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rows are optimized for, and have numbers in place of texts that repeat."""
    few = diagnosed(path.name.partition(".")[0])
    monkeypatch.setattr(stores, "SMALL", -1)
    assert said(diagnose([str(path)])) == said(few)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.zst"))[2::5], ids=lambda path: path.name.partition(".")[0])
def test_a_rule_that_is_not_asked_would_find_nothing(path: Path) -> None:
    with FactStore() as store:
        read_facts([str(path)], store, lambda _count: None, {})
        store.choose_optimizer()
        asked = rules_to_ask(store)
        assert len(asked) < len(RULES) / 2, "most captures show no sign of most causes"
        assert not [rule.finding for rule in RULES if rule not in asked and [*store.ask(rule.sql)]]


def test_a_request_that_does_not_decode_is_in_the_capture(tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap(Wire().open().client(metadata(1)[0][:-2] + b"\xff\xff").close().packets))
    found = diagnose([str(path)], ports=[9092])
    assert "49 bytes on 1 connection that are captured and can't be decoded" in [each.what for each in found.unjudged]


def test_packets_that_the_snapshot_length_cuts_are_named(tmp_path: Path) -> None:
    """Also where so little is left that nothing of it is known to be Kafka's."""
    part, short = diagnose([str(CAPTURED / "snaplen-96.pcap")]).unjudged
    assert part.what == (
        "139,732 bytes on 5 connections that the snapshot length cuts off, and 1,503 in the same frames: "
        "topics, records or errors of 24 of 24 exchanges"
    )
    assert short.remedy == "a capture of a minute or more"
    assert part.remedy == "whole packets (tcpdump -s 0)"
    path, packets = tmp_path / "middle.pcap", packets_of(SAMPLES / "java44-txn.pcap")
    path.write_bytes(pcap(packets[len(packets) // 2 :], snaplen=72))
    parts = {each.what.partition(", ")[2]: each.remedy for each in diagnose([str(path)]).unjudged}
    assert parts["maybe Kafka's: the snapshot length cuts off their packets"] == part.remedy


@pytest.mark.parametrize(
    ("name", "length", "found"),
    [
        ("request-timeout-alerts", 96, ["request-timeout-too-short"]),
        ("metadata-storm-portal", 128, ["metadata-storm"]),
        ("wrong-advertised-listener-kitchen", 96, []),
        ("healthy-growing-group", 128, []),
    ],
)
def test_causes_are_found_in_what_the_snapshot_length_leaves(
    tmp_path: Path, name: str, length: int, found: list[str]
) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap(packets_of(DATA / f"{name}.pcap.zst"), snaplen=length))
    assert [each.finding for each in diagnose([str(path)]).findings if each.severity != "info"] == found


def test_fragments_that_are_not_joined_are_named(tmp_path: Path) -> None:
    """As where a filter by port has lost all but the first fragment of each datagram."""
    path = tmp_path / "first.pcap"
    packets = fragmented(packets_of(SAMPLES / "java44-txn.pcap"), 400)
    path.write_bytes(pcap([each for each in packets if not int.from_bytes(each.data[20:22], "big") & 0x1FFF]))
    (part,) = (each for each in diagnose([str(path)]).unjudged if "fragment" in each.what)
    lost = sum(bool(int.from_bytes(each.data[20:22], "big") & 0x3FFF) for each in packets_of(path))
    assert part.what == f"{lost} IP fragments whose datagram is not whole in the capture" and lost > 10
    path.write_bytes(pcap(packets))
    assert not [each for each in diagnose([str(path)]).unjudged if "fragment" in each.what]
