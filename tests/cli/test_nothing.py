"""Commands that judge captures say so where there was nothing to judge, and don't end with 0."""

import os
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.capture.tunnels import udp4, vxlan
from tests.capture.wires import DATA, SAMPLES, START, Packet, Wire, packets_of, pcap

COMMANDS = {
    "audit": ["audit"],
    "explain": ["fetch-session", "explain"],
    "explain as JSON": ["fetch-session", "explain", "--format", "jsonl"],
    "lint": ["fetch-session", "lint"],
    "records": ["records"],
    "stats": ["stats"],
    "redact": ["redact", "-q", "-o", os.devnull],
    "sql": ["sql", "SELECT count(*) FROM exchanges"],
}
# These share what says it.
TABLES = ("records", "connections", "fetch_partitions", "clients")
REPORTS = {"diagnose": ["diagnose", "-q"], "report": ["report", "-q", "-o", os.devnull], "kcli FILE": []}


def unread(tmp_path: Path) -> dict[str, tuple[Path, str]]:
    """Captures without an exchange, and what is said of them."""
    names = udp4(53, bytes(20))
    http = Wire().open().client(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").server(b"HTTP/1.1 200 OK\r\n\r\n").close()
    made = {
        "udp": ([Packet(START, names)] * 4, "4 packets not TCP (4 UDP (DNS))"),
        "tunnel": ([Packet(START, vxlan(names))] * 297, "297 packets in VXLAN"),
        "http": (http.packets, "1 connection of something else (HTTP (a request))"),
        "silent": (Wire().open().close().packets, "6 packets without a message"),
    }
    found = {}
    for name, (packets, text) in made.items():
        path = tmp_path / f"{name}.pcap"
        path.write_bytes(pcap(packets))
        found[name] = path, text
    found["tls"] = DATA / "tls-resumed.pcap", "encrypted, and no key log was given"
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(pcap(packets_of(SAMPLES / "java44-txn.pcap"), snaplen=72))
    found["cut"] = cut, "the snapshot length cuts off its packets"
    return found


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["udp", "tunnel", "http", "silent", "tls", "cut"])
def test_what_was_found_instead(command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, text = unread(tmp_path)[name]
    assert main([*COMMANDS[command], str(path)]) == 3
    out, err = capsys.readouterr()
    assert "would refuse" not in out
    (line,) = [line for line in err.splitlines() if "no Kafka request in it" in line]
    assert text in line and ("--key-log FILE" in line) == (name == "tls")


def test_a_pipeline_without_kafka(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["pipeline", "run", "--engine", "local", "--output", str(tmp_path / "tables"), "--input"]
    assert main([*run, str(unread(tmp_path)["http"][0])]) == 3
    err = capsys.readouterr().err
    assert "0 exchanges, 1 event" in err and "no Kafka request in the captures of this run" in err and "Next" not in err


@pytest.mark.parametrize("command", [*TABLES, *REPORTS])
def test_every_table_and_report_says_so(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, text = unread(tmp_path)["tunnel"]
    assert main([*REPORTS.get(command, ["sql", f"FROM {command}"]), str(path)]) == 3
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("kcli: ")]
    assert text in line


def test_a_table_of_what_is_no_exchange_has_its_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = unread(tmp_path)["http"]
    assert main(["sql", "FROM events", str(path), "-q"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_captures_beside_others_are_not_all(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = unread(tmp_path)["udp"]
    assert main(["sql", "SELECT count(*) AS n FROM records", str(path), str(samples / "orders-0")]) == 0
    assert "482" in capsys.readouterr().out


def test_options_that_choose_none_are_another_matter(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(DATA / "java44-admin.pcap.gz")
    assert main(["stats", path, "--client-id", "nobody"]) == 1
    assert "no Kafka request" not in capsys.readouterr().err
