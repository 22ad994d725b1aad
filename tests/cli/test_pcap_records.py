"""Records beneath their exchange."""

from __future__ import annotations

from kcli.capture.exchanges import Exchange, read
from kcli.cli.pcap_records import record_lines, text_of
from tests.capture.wires import SAMPLES


def lines(form: str) -> list[str]:
    items = read([str(SAMPLES / "java44-txn.pcap")])
    return [line.strip() for item in items if isinstance(item, Exchange) for line in record_lines(item, form)]


def test_batches() -> None:
    found = lines("batches")
    assert found[0].startswith("pay-in[") and "records," in found[0] and "transactional" in found[0]
    assert any("control" in line for line in found)


def test_records() -> None:
    found = lines("full")
    assert len(found) > len(lines("batches")) * 2
    assert any(": " in line and line.startswith("pay-in[0] 0") for line in found)


def test_values_of_every_kind() -> None:
    assert (text_of("a"), text_of(None), text_of({"base64": "AA=="})) == ("a", "null", '{"base64":"AA=="}')
    assert text_of("x" * 100).endswith("… (100 characters)")
