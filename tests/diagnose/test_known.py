"""Names that a diagnosis is asked for, and no capture has."""

import shutil
from pathlib import Path

import pytest

from kcli.diagnose import Scope, Unknown, diagnose
from kcli.diagnose import store as stores
from kcli.diagnose.diagnosis import Captures, diagnose_into
from kcli.diagnose.store import FactStore
from tests.capture.messages import request, response
from tests.capture.wires import Wire, pcap
from tests.diagnose.captured import DATA

PRICING = str(DATA / "busy-fetch-pricing.pcap.zst")
SHIPPING = str(DATA / "rebalance-storm-shipping.pcap.zst")


@pytest.mark.parametrize("least", [stores.SMALL, -1], ids=["few rows", "many rows"])
def test_a_mistyped_name_is_told_with_the_names_that_there_are(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "SMALL", least)
    found = diagnose([PRICING], Scope("pricing-cach", "pricing-cache-1", "pricin"))
    assert found.unknown == (
        Unknown("group", "pricing-cach", ("pricing-report", "pricing-cache")),
        Unknown("topic", "pricin", ("pricing",)),
    )
    assert found.judged and not found.findings
    known = diagnose([PRICING], Scope("pricing-cache", "pricing-cache-1", "pricing"))
    assert not known.unknown and [each.finding for each in known.findings] == ["busy-fetch"]
    chosen = diagnose([PRICING], Scope("pricing-*", "!nobody", "x,pri*"))
    assert not chosen.unknown and [each.finding for each in chosen.findings] == ["busy-fetch"]
    assert [each.name for each in diagnose([PRICING], Scope("shipping-*")).unknown] == ["shipping-*"]


def test_a_name_of_one_of_several_captures_is_known() -> None:
    found = diagnose([PRICING, SHIPPING], Scope(client="ship-flap"))
    assert not found.unknown and "rebalance-storm" in [each.finding for each in found.findings]
    assert [each.name for each in diagnose([PRICING], Scope(client="ship-flap")).unknown] == ["ship-flap"]


def test_a_topic_may_be_named_by_its_id() -> None:
    path = str(DATA / "sequence-gap-java.pcap.zst")
    with FactStore() as store:
        [finding] = [each for each in diagnose_into(store, Captures([path])).findings if "topic" in each.subject]
        topic = finding.subject["topic"]
        ids = [row["topic_id"] for row in store.ask("SELECT * FROM topic_names") if row["topic"] == topic]
    found = diagnose([path], Scope(topic=ids[0]))
    assert not found.unknown and finding.finding in [each.finding for each in found.findings]


def test_a_group_that_no_rule_looks_at_is_known(tmp_path: Path) -> None:
    wire = Wire().open()
    wire.client(request(15, 0, 1, {"groups": ["idle"]}, "admin"))
    group = {
        "errorCode": 0, "groupId": "idle", "groupState": "Empty", "protocolType": "", "protocolData": "", "members": [],
    }  # fmt: skip
    wire.server(response(15, 0, 1, {"groups": [group]}))
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(wire.packets))
    assert not diagnose([str(path)], Scope(group="idle")).unknown
    assert diagnose([str(path)], Scope(group="idel")).unknown == (Unknown("group", "idel", ("idle",)),)
    assert diagnose([str(path)], Scope(topic="t")).unknown == (Unknown("topic", "t", ()),)


def test_where_nothing_can_be_read_nothing_is_unknown(samples: Path, tmp_path: Path) -> None:
    path = shutil.copy(samples / "tls.pcap", tmp_path)
    found = diagnose([str(path)], Scope(group="a"), ports=[9])
    assert not found.judged and not found.unknown
