"""`kcli broker serve` as a script sees it."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.cli.broker.serve import draft_of
from kcli.cli.main import main
from kcli.client.address import parse_bootstrap
from kcli.client.calls import call
from kcli.client.connection import BrokerConnection
from kcli.client.properties import ClientConfig
from kcli.schemas.apikeys import METADATA
from tests.broker.processes import served
from tests.broker.talk import batch, run
from tests.greeting import greeting, newer_metadata, rewritten_metadata
from tests.processes import ended


def ask(bootstrap: str, api_key: int, version: int, body: dict[str, object]) -> dict[str, object]:
    got: dict[str, object] = {}

    async def work() -> None:
        connection = await BrokerConnection.open(parse_bootstrap([bootstrap])[0], ClientConfig({}))
        got.update(await call(connection, api_key, version, body))
        await connection.close()

    run(work())
    return got


def test_it_says_where_and_stops_in_order(tmp_path: Path) -> None:
    with served("--topic", "a:3", "--topic", "b", "--config", "num.partitions=2", data=tmp_path) as broker:
        topics = ask(broker.bootstrap, METADATA, 5, {"topics": None})["topics"]
        assert {each["name"]: len(each["partitions"]) for each in topics} == {"a": 3, "b": 2}  # type: ignore[attr-defined]
        assert broker.stop() == 0
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_it_tells_what_it_serves() -> None:
    command = [sys.executable, "-m", "kcli.cli", "broker", "serve", "--port", "0", "--topic", "a:3", "--fault", "drop"]
    command += ["--listener", "PLAINTEXT", "--listener", "B=PLAINTEXT"]
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("bootstrap.servers=127.0.0.1:")
        assert process.stdout.readline() == first.replace("servers=", "servers.PLAINTEXT=")
        second = process.stdout.readline()
        assert (
            second.startswith("bootstrap.servers.B=127.0.0.1:")
            and second.rpartition(":")[2] != first.rpartition(":")[2]
        )
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "serving 1 node, 1 topic, 3 partitions; data in a temporary folder" in said
    assert "1 fault rule" in said
    assert "Traceback" not in said


def test_it_begins_with_what_a_capture_shows(samples: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """And `kcli send` asks it as it would ask the captured one."""
    with served("--from", str(samples / "kcat-codecs.pcap")) as broker:
        topics = ask(broker.bootstrap, METADATA, 12, {"topics": None})["topics"]
        assert {each["name"] for each in topics} >= {"kcat-gzip", "kcat-none", "kcat-zstd"}  # type: ignore[attr-defined]
        wanted = {"topic": "kcat-gzip", "partitions": [{"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 99999}]}
        command = [sys.executable, "-m", "kcli.cli", "send", "--api", "Fetch", "--api-version", "11"]
        text = json.dumps({"maxWaitMs": 0, "minBytes": 1, "topics": [wanted]})
        done = subprocess.run(
            [*command, "--records", "batches", "--bootstrap", broker.bootstrap],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        (row,) = json.loads(done.stdout)["response"]["responses"][0]["partitions"]
        assert row["errorCode"] == 0
        assert {each["compression"] for each in row["records"]["batches"]} == {"gzip"}


def test_memory_bounds_what_is_held_of_a_capture(samples: Path) -> None:
    """The broker begins with what is left of a capture that does not fit."""
    with served("--from", str(samples / "kcat-codecs.pcap"), "--memory", "1M") as broker:
        topics = ask(broker.bootstrap, METADATA, 12, {"topics": None})["topics"]
        assert "kcat-gzip" in [each["name"] for each in topics]  # type: ignore[attr-defined]
    assert main(["broker", "serve", "--from", str(samples / "kcat-codecs.pcap"), "--memory", "1"]) == 2


def test_loopback_only() -> None:
    with served() as broker:
        assert broker.bootstrap.startswith("127.0.0.1:")


def test_three_nodes_have_three_ports() -> None:
    with served("--nodes", "3") as broker:
        assert len(set(broker.bootstrap.split(","))) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--config", "num.partition=1"], 2, "did you mean num.partitions"),
        (["--config", "x"], 2, "KEY=VALUE expected"),
        (["--fault", "error=NOPE"], 2, "no such error"),
        (["--topic", "a b"], 2, "--topic a b"),
        (["--topic", "a:x"], 2, "NAME or NAME:PARTITIONS"),
        (["--topic", "a:²"], 2, "NAME or NAME:PARTITIONS"),  # a digit that is no number
        (["--release", "1.x"], 2, "release"),
        (["--from", "missing.pcap"], 3, "missing.pcap"),
        (["--host", "203.0.113.1"], 4, "cannot listen"),
        (["--port", "70000"], 2, "0<=x<=65535"),
    ],
)
def test_what_makes_no_sense(
    arguments: list[str], code: int, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["broker", "serve", "--port", "0", *arguments]) == code
    said = capsys.readouterr().err
    assert complaint in said
    assert "Traceback" not in said


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["broker", "serve", "--port", str(port)]) == 4
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err


def test_it_survives_being_killed(tmp_path: Path) -> None:
    for number in range(3):
        with served("--topic", "t", data=tmp_path) as broker:
            body = {
                "acks": -1,
                "timeoutMs": 1,
                "topicData": [{"name": "t", "partitionData": [{"index": 0, "records": batch("a")}]}],
            }
            answer = ask(broker.bootstrap, 0, 9, body)
            assert answer["responses"][0]["partitionResponses"][0]["baseOffset"] == number  # type: ignore[index]
            broker.kill()


def test_it_answers_by_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialect, rules = greeting(tmp_path / "greet"), tmp_path / "rules"
    rules.write_text('{"api": "Greet", "answer": {"text": "yes"}}')
    with served("--dialect", dialect, "--answers", str(rules)) as broker:
        body = tmp_path / "body"
        body.write_text('{"name": "x"}')
        words = ["--bootstrap", broker.bootstrap, "--dialect", dialect, "--api", "Greet", str(body)]
        assert main(["send", *words]) == 0
    assert json.loads(capsys.readouterr().out)["response"]["text"] == "yes"


def test_rules_without_sense_are_said_before_it_serves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules"
    for text, code, said in [("{", 3, "a JSON array of rules"), ('{"api": "Gret"}', 2, "rule 1: Gret: no such API")]:
        rules.write_text(text)
        assert main(["broker", "serve", "--port", "0", "--answers", str(rules)]) == code
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        (greeting, "draft {}: Greet v0-1"),
        (newer_metadata, "draft {}: Metadata v14"),
        (rewritten_metadata, "draft {}: Metadata v13; as it changes Metadata v13, only with clients that ask for it"),
    ],
)
def test_it_says_what_of_a_draft_it_serves(draft: Callable[[Path], str], said: str, tmp_path: Path) -> None:
    dialect = draft(tmp_path)
    assert list(draft_of(dialect)) == [said.format(dialect)]
    assert list(draft_of(None)) == []
