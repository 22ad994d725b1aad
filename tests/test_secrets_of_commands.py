"""Secrets in what other commands print and write: those of answers on captures, metadata logs, and live traffic."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kcli import embedded_broker
from kcli.broker import Broker
from kcli.cli.main import main
from tests.broker.processes import served
from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND, START, Wire, pcap
from tests.cli.capture.test_packet_capture import tool
from tests.cli.top.test_command import shown_until, top_of
from tests.grammar.test_secrets import VALUES
from tests.inside import kcli
from tests.proxy.processes import proxied
from tests.test_secrets import APIS, MARK, capture, folder, run, shows

__all__ = ["capture", "folder"]  # fixtures

ANSWERS: list[list[Any]] = [
    *(["stats", "FILE", "--by", by] for by in ("api", "client", "connection", "topic", "broker", "second")),
    *(["diagnose", "FILE", "--format", form] for form in ("text", "json", "jsonl")),
    *(["compare", "FILE", "FILE", "--format", form] for form in ("text", "json", "jsonl")),
    ["FILE"],
    ["audit", "FILE"],
    ["report", "FILE", "-o", "OUT/page.html"],
    ["redact", "FILE", "-o", "OUT/redacted.pcap"],
    ["decode", "pcap", "FILE", "--traces", "OUT/spans.json", "--format", "jsonl"],
]


def written(out: Path) -> str:
    return "".join(file.read_bytes().decode("latin-1") for file in out.rglob("*") if file.is_file())


@pytest.mark.parametrize("words", ANSWERS, ids=" ".join)
def test_answers_on_captures(
    words: list[str], capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    code, text = run(capsys, *(word.replace("FILE", str(capture)).replace("OUT", str(out)) for word in words))
    assert code != 2 and (text or any(out.iterdir()) or "jsonl" in words), text
    assert not shows(text + written(out)), text


def long_capture(
    path: Path, milliseconds: int, client: str = "tester", apis: Mapping[str, tuple[int, int]] = APIS
) -> Path:
    """The same requests on a connection a second for a minute, each answered after so long: enough to compare."""
    packets = []
    for at in range(60):
        wire = Wire((f"10.0.1.{at + 1}", 40000), start=START + at * 1000 * MILLISECOND).open()
        for number, (name, (key, version)) in enumerate(apis.items()):
            asked, answer = (VALUES.get(name + part, {}) for part in ("Request", "Response"))
            wire.client(request(key, version, number, asked, client))
            wire.now += milliseconds * MILLISECOND
            wire.server(response(key, version, number, answer))
        packets += wire.close().packets
    path.write_bytes(pcap(packets))
    return path


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_a_comparison_of_captures_that_are_long_enough(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = (long_capture(tmp_path / f"{ms}.pcap", ms) for ms in (2, 20))
    code, text = run(capsys, "compare", before, after, "--format", form)
    assert code == 1 and "CREATE_TOPICS" in text and not shows(text), text
    # A client id is no secret: it shows that a mark is seen.
    named = long_capture(tmp_path / "named.pcap", 20, MARK, {"CreateTopics": APIS["CreateTopics"]})
    assert shows(run(capsys, "compare", before, named, "--format", form)[1])


def test_tables_in_sql(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(capsys, "sql", "SHOW TABLES", capture, "--format", "csv", "-q")
    names = [each for each in text.split() if each not in ("name", "records", "record_batches")]
    assert code == 0 and "exchanges" in names and len(names) > 20
    _, text = run(capsys, "sql", "SELECT count(*) AS n, any_value(api) AS api FROM exchanges", capture, "-q")
    assert "13" in text or "14" in text, text
    for name in names:
        _, text = run(capsys, "sql", f"SELECT * FROM {name}", capture, "--format", "jsonl", "-q")
        assert not shows(text), (name, text)


def test_the_pipeline(capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out, page = tmp_path / "tables", tmp_path / "page.html"
    words = ["--input", capture, "--output", out, "--engine", "local", "--table-format", "parquet", "--report", page]
    code, text = run(capsys, "pipeline", "run", *words)
    assert code == 0 and page.exists()
    rows = [str(row) for file in out.rglob("*.parquet") if not any(part.startswith("_") for part in file.parts)
            for row in parquet.ParquetFile(file).read().to_pylist()]  # fmt: skip
    assert len(rows) > len(MARK) and any("SASL_AUTHENTICATE" in row or "SaslAuthenticate" in row for row in rows)
    assert not shows(text + page.read_text() + "".join(rows).replace("\\x", ""))
    for more in ([], ["-o", tmp_path / "again.html"]):
        _, text = run(capsys, "pipeline", "report", out, *more)
        assert not shows(text + written(tmp_path / "again.html") if not more else text), text


LOGS: list[list[Any]] = [
    *(["log", "DIR", "--format", form] for form in ("text", "jsonl")),
    ["log", "DIR", "--commands"],
    ["plan", "DIR"],
    ["plan", "DIR", "--format", "json"],
    *(["check", "A", "--format", form] for form in ("text", "jsonl")),
    *(["doctor", "DIR", "--format", form] for form in ("text", "jsonl")),
    *(["drift", "DIR", "OTHER", "--format", form] for form in ("text", "jsonl")),
    ["verify", "DIR", "--replay"],
    ["restore", "A", "--to", "OUT/restored", "--voters", "1@localhost:9093", "--node-id", "1", "--dry-run"],
    ["backup", "DIR", "-o", "OUT/backup"],
    ["create", "--log", "DIR", "-o", "OUT"],
]


@pytest.mark.parametrize("words", LOGS, ids=" ".join)
def test_answers_on_metadata_logs(
    words: list[str], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = sorted(folder.glob("*.checkpoint"))
    other = tmp_path / "other" / folder.name
    other.mkdir(parents=True)
    (other / first.name).write_bytes(second.read_bytes())
    names = {"DIR": folder, "A": first, "OTHER": other}
    _, text = run(capsys, "snapshot", *(str(names.get(word, word)).replace("OUT", str(tmp_path)) for word in words))
    assert text.strip() and "Traceback" not in text
    assert not shows(text) and "T3CRET" not in text, text


def test_live_captures(capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    place = tmp_path / "bin"
    place.mkdir()
    tool(place, "tcpdump", f'cat "{capture}"; echo 0 packets dropped by kernel >&2')
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    for form in ("table", "tree", "jsonl"):
        assert main(["capture", "-i", "eth7", "--findings", "--records", "full", "--format", form]) in (0, 1)
        text = "".join(capfd.readouterr())
        assert "SaslAuthenticate" in text or "SASL_AUTHENTICATE" in text
        assert not shows(text), text
    assert main(["capture", "-i", "eth7", "--format", "jsonl", "--show-secrets"]) == 0
    assert shows(capfd.readouterr().out)


def test_the_screen_of_top(capture: Path) -> None:
    with top_of([str(capture)]) as (screen, process):
        text = shown_until(screen, b"ended")
        for key in (b"\t", b"\r", b"\r", b"\t"):  # another list; a row, an exchange
            os.write(screen, key)
        os.write(screen, b"\x1bq\x03")
        text += shown_until(screen, b"\x1b[?1049l")
        process.wait(60)
    assert b"tester" in text and not shows(text.decode(errors="replace"))


@pytest.mark.parametrize("form", ["table", "tree", "jsonl"])
def test_a_proxy(form: str) -> None:
    configs = json.dumps([{"name": "ssl.keystore.password", "value": MARK, "configOperation": 0}])
    asked = f'{{"resources":[{{"resourceType":4,"resourceName":"1","configs":{configs}}}]}}'
    with served("--topic", "a") as broker, proxied("--bootstrap", broker.bootstrap, "--format", form) as proxy:
        done = kcli("send", "--api", "IncrementalAlterConfigs", "--bootstrap", proxy.bootstrap, stdin=asked)
        code, out, err = proxy.stop()
    assert code == 0 and ("IncrementalAlterConf" in out or "INCREMENTAL_ALTER_CONFIGS" in out)
    assert not shows(out + err + done.stdout + done.stderr), out


@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_a_live_quorum(form: str, tmp_path: Path, capfd: Any) -> None:
    """Changes as they are committed, a fetched snapshot; a config that is no secret shows that a mark is seen."""
    over = threading.Event()

    def change() -> None:
        while not over.wait(0.1):
            for name in ("ssl.keystore.password", "background.threads"):
                for value in (MARK, None):
                    server.call(partial(configure, values={name: value}))

    def configure(broker: Broker, values: dict[str, str | None]) -> None:
        broker.controller.configure_resource(4, "1", values)

    with embedded_broker(config={"controller.snapshot.minimum.records": "20"}) as server:
        thread = threading.Thread(target=change)
        thread.start()
        try:
            watched = main(["snapshot", "watch", server.bootstrap_servers, "--duration", "2", "--format", form])
            seen = capfd.readouterr()
            fetched = main(["snapshot", "fetch", "--bootstrap", server.bootstrap_servers, "-o", str(tmp_path)])
        finally:
            over.set()
            thread.join()
    said = capfd.readouterr()
    assert (watched, fetched) == (0, 0) and said.out.strip().endswith(".checkpoint")
    secret, plain = (
        [line for line in seen.out.splitlines() if name in line] for name in ("ssl.keystore.password", "background")
    )
    assert secret and plain and shows("".join(plain))
    assert not shows("".join([*secret, seen.err, *said]))
