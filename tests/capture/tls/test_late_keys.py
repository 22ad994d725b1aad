"""Keys that come later than what they open, or of one direction alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.io import ranges
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.sinks import Values
from kcli.capture.tls import session
from tests.capture.decoding import as_values, pieces
from tests.capture.wires import DATA, SAMPLES

CAPTURES = {
    "1.2": (DATA / "tls-1.2-suites.pcap", DATA / "tls-1.2-suites.keys"),
    "resumed": (DATA / "tls-resumed.pcap", DATA / "tls-resumed.keys"),
    "sample": (SAMPLES / "tls.pcap", SAMPLES / "tls.keys"),
}
SAID = tuple[str, int, int, int | None]


def said(source: CaptureDecoder[Values], items: list[Exchange | Event]) -> list[SAID]:
    return [
        (each.connection, each.correlation_id, each.request_ns, each.response_ns)
        for each in items
        if isinstance(each, Exchange)
    ]


def whole(capture: Path, keys: Path) -> tuple[list[SAID], int]:
    source = as_values([str(capture)], key_logs=[str(keys)])
    items = [item for some in pieces(source) for item in some]
    return sorted(said(source, items)), source.tally.decrypted


def late(
    capture: Path, keys: Path, lag: int, log: Path
) -> Iterator[tuple[CaptureDecoder[Values], list[Exchange | Event]]]:
    """The capture's packets one by one; a connection's keys are logged so many packets behind its ClientHello."""
    lines = keys.read_text().splitlines(keepends=True)
    rows = list(ranges.rows(str(capture)))
    due: dict[int, list[str]] = {}
    for line in lines:
        words = line.split()
        at = 0
        if len(words) == 3 and len(words[1]) == 64:
            random = bytes.fromhex(words[1])
            at = next((number for number, row in enumerate(rows) if random in row.data), 0)
        due.setdefault(at + (lag if at else 0), []).append(line)
    log.write_text("# keys\n" + "".join(due.pop(0, [])))
    source = as_values([], key_logs=[str(log)])
    items: list[Exchange | Event] = []
    for number, row in enumerate(rows):
        if number in due:
            with log.open("a") as file:
                file.writelines(due[number])
        source.engine.push(row.data, row.ns, row.link, row.length)
        items += source.sink.taken()
    with log.open("a") as file:
        file.writelines(line for number in due if number >= len(rows) for line in due[number])
    source.engine.finish()
    yield source, items + source.sink.taken()


@pytest.mark.parametrize(("name", "lag"), [(name, lag) for name in CAPTURES for lag in (1, 5, 20)] + [("1.2", 60)])
def test_keys_may_come_late(name: str, lag: int, tmp_path: Path) -> None:
    capture, keys = CAPTURES[name]
    expected, decrypted = whole(capture, keys)
    ((source, items),) = late(capture, keys, lag, tmp_path / "late.keys")
    assert sorted(said(source, items)) == expected
    assert source.tally.decrypted == decrypted
    source.tally.add_steady(source.engine)
    assert source.tally.unaccounted(source.engine) == 0


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Beyond the bound nothing is held, and each connection says why it is not read."""
    monkeypatch.setattr(session, "MOST_HELD", 300)
    capture, keys = CAPTURES["sample"]
    known = [line for line in keys.read_text().splitlines(keepends=True) if "TRAFFIC" in line]
    (tmp_path / "all.keys").write_text("".join(known))
    ((source, items),) = late(capture, tmp_path / "all.keys", 100_000, tmp_path / "late.keys")
    reasons = [item.reason for item in items if isinstance(item, Event) and item.kind == "not-kafka"]
    assert not [each for each in said(source, items) if ":25000-" not in each[0] and each[3]]  # of the port with TLS
    assert any(reason.endswith("its keys are in no key log") for reason in reasons)
    assert source.tally.decrypted == 0


@pytest.mark.parametrize("kept", ["CLIENT", "SERVER"])
def test_secrets_of_one_direction_are_no_decryption(kept: str, tmp_path: Path) -> None:
    capture, keys = CAPTURES["sample"]
    log = tmp_path / "one.keys"
    other = {"CLIENT": "SERVER_TRAFFIC", "SERVER": "CLIENT_TRAFFIC"}[kept]
    lines = [line for line in keys.read_text().splitlines(keepends=True) if not line.startswith(other)]
    log.write_text("".join(line for line in lines if not line.startswith(("CLIENT_RANDOM", "RSA"))))
    source = as_values([str(capture)], key_logs=[str(log)])
    items = [item for some in pieces(source) for item in some]
    reasons = [item.reason for item in items if isinstance(item, Event) and item.kind == "not-kafka"]
    assert any(f"the secret of the {kept.lower()}'s direction alone" in reason for reason in reasons)
    assert source.tally.decrypted == 0
    assert source.tally.unaccounted(source.engine) == 0
