"""`kcli audit` as a script and a person see it."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kcli.cli.audit import indented, table_lines, versions_text
from kcli.cli.main import main
from kcli.schemas.catalog import catalog
from tests.capture.wires import DATA, SAMPLES

OLD = str(DATA / "broker-0.10.2.pcap.zst")
NEW = str(SAMPLES / "java44-txn.pcap")
NAMES = [api.name for api in catalog().apis.values()]
Capture = pytest.CaptureFixture[str]


def test_a_new_client_is_fine(capsys: Capture) -> None:
    assert main(["audit", NEW]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "lab-java  127.0.0.1  apache-kafka-java 4.4.0  fine with 4.4"
    assert lines[-1] == "3 clients, 0 that Kafka 4.4 would refuse."


def test_old_clients_are_refused(capsys: Capture) -> None:
    assert main(["audit", OLD, "--against", "4.0.0"]) == 1
    text = capsys.readouterr().out
    assert "kp-prod  127.0.0.1  no ApiVersions  4.0 refuses it" in text
    assert "  refused: Produce 2 (4.0 takes 3-12)" in text
    assert "  unclear: Fetch 3 (4.0 takes 4-17; its broker offered nothing newer)" in text
    assert text.splitlines()[-1] == "6 clients, 3 that Kafka 4.0 would refuse."


def test_long_lines_are_broken_between_words() -> None:
    text = ", ".join(f"Api{number} {number}-{number + 3}" for number in range(30))
    lines = list(indented(text, 60))
    assert max(map(len, lines)) <= 60 and " ".join(line.strip() for line in lines) == text
    assert lines[0].startswith("  Api0") and all(line.startswith("    ") for line in lines[1:])
    assert list(indented(text, None)) == [f"  {text}"]


def test_a_long_client_id_leaves_room(terminal: Callable[[int], None]) -> None:
    client: Any = SimpleNamespace(client_id="c" * 200, address="::1", software="kcli", version="1", negotiates=True)
    terminal(60)
    assert "".join(next(table_lines([(client, ())], "4.4", None))).count("c" * 29 + "…  ::1  kcli 1") == 1
    assert "c" * 200 in "".join(next(table_lines([(client, ())], "4.4", "out.txt")))


@pytest.mark.parametrize(
    ("plain", "where"),
    [
        ([], "true"),
        (["--client", "kp-*"], "client_id like 'kp-%'"),
        (["--api", "Produce", "--client", "kp-prod"], "api = 'Produce' and client_id = 'kp-prod'"),
        (["--api", "Metadata"], "api_key = 3"),
    ],
)
@pytest.mark.parametrize("path", [OLD, NEW])
def test_only_some_exchanges(path: str, plain: list[str], where: str, capsys: Capture) -> None:
    """What ApiVersions said of a client counts, though it is not chosen."""
    pytest.importorskip("duckdb")
    code = main(["audit", path, "--format", "jsonl", "-q", *plain])
    said = capsys.readouterr().out
    rows = [json.loads(line) for line in said.splitlines()]
    assert main(["audit", path, "--format", "jsonl", "-q", "--where", where]) == code
    assert capsys.readouterr().out == said
    assert {api["apiName"] for row in rows for api in row["apis"]} <= ({plain[1]} if "--api" in plain else {*NAMES})
    if path == NEW and plain == ["--api", "Metadata"]:
        assert rows[0]["softwareName"] == "apache-kafka-java"


def test_no_exchange_is_chosen(capsys: Capture) -> None:
    assert main(["audit", NEW, "--client", "nobody"]) == 1
    assert "kcli: nothing matches; clients here: lab-java, " in capsys.readouterr().err


def test_the_release_before_takes_them(capsys: Capture) -> None:
    assert main(["audit", OLD, "--against", "3.9"]) == 0
    assert "6 clients, 0 that Kafka 3.9 would refuse." in capsys.readouterr().out


def test_lines_of_json(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert main(["audit", OLD, "--format", "jsonl", "-o", str(out)]) == 1
    rows = {row["clientId"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert rows["rdkafka"]["softwareName"] == "librdkafka" and rows["rdkafka"]["refused"] is False
    produce = rows["kp-prod"]["apis"][0]
    assert produce == {
        "apiKey": 0,
        "apiName": "Produce",
        "versions": [{"version": 2, "requests": 1}],
        "accepted": {"min": 3, "max": 13},
        "refused": [2],
        "unsure": [],
        "reason": "4.4 takes 3-13",
    }
    assert capsys.readouterr().out == ""


def test_what_goes_wrong(cut: Callable[[str], str], capsys: Capture) -> None:
    assert main(["audit", NEW, "--against", "0.8"]) == 2
    assert "release 0.8: not in the tables" in capsys.readouterr().err
    assert main(["audit", cut(NEW)]) == 3
    said = capsys.readouterr()
    assert "3 clients" in said.out and "middle of a packet" in said.err


def test_runs_of_versions() -> None:
    assert versions_text([4, 0, 2, 3]) == "0, 2-4" and versions_text([7]) == "7"
