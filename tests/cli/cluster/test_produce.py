"""`kcli produce` as a script sees it."""

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.cli.cluster.produce import made_up
from kcli.cli.main import main
from tests.cli.cluster.test_send import Background
from tests.client.producing.writable import Cluster
from tests.processes import ended


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster("t", 3)
    with Background(made.brokers[1]):
        yield made


def produce(cluster: Cluster, *words: str) -> int:
    return main(["produce", "t", "--bootstrap", f"127.0.0.1:{cluster.brokers[1].port}", *words])


def test_the_lines_of_a_file(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"one\n\ntwo \xff\nno end")
    assert produce(cluster, str(file), "--partition", "2") == 0
    assert cluster.values == {0: [], 1: [], 2: [b"one", b"", b"two \xff", b"no end"]}
    out = capsys.readouterr().out
    assert out.startswith("4 records sent, ")
    assert out.rstrip().endswith("99.9th.")


def test_standard_input_with_keys(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"21:a\n21:b:c\na-little-bit-long-string:d\n")))
    assert produce(cluster, "--key-separator", ":", "--format", "json") == 0
    # Where Kafka's own hash puts them.
    assert [cluster.values[hashed % 3][0] for hashed in (-973932308 & 0x7FFFFFFF, -985981536 & 0x7FFFFFFF)] == [
        b"a",
        b"d",
    ]
    assert sorted(map(len, cluster.values.values())) == [0, 1, 2]
    assert json.loads(capsys.readouterr().out)["records"] == 3


def test_records_made_up(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--num-records", "500", "--record-size", "20", "--throughput", "5000", "--compression", "lz4"]
    assert produce(cluster, *words, "--format", "json", "--leader-discovery", "metadata") == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["records"], row["bytes"], row["failed"]) == (500, 10_000, 0)
    assert row["seconds"] > 0.09  # the last of them is due after 0.1 s
    values = [value for values in cluster.values.values() for value in values]
    assert sorted(values, key=bytes) == sorted(each.value for each in made_up(500, 20))  # type: ignore[arg-type, type-var]
    assert all(value is not None and value.isalpha() and value.isupper() for value in values)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["/no/such/file"], 3, "/no/such/file: No such file"),
        (["x", "--num-records", "3"], 2, "no FILE expected"),
        (["--num-records", "0"], 2, "--num-records"),
        (["--num-records", "1", "--throughput", "0"], 2, "--throughput 0"),
        (["--num-records", "1", "--partition", "3"], 4, "topic t has 3 (0 to 2)"),
        (["--num-records", "1", "--config", "linger.ms=soon"], 2, "linger.ms: 'soon' is not a whole number"),
        (["--num-records", "1", "--acks", "1", "--config", "enable.idempotence=true"], 2, "needs acks=all"),
        (["--num-records", "1", "--bootstrap", "127.0.0.1:1"], 4, "refused the connection"),
    ],
)
def test_what_goes_wrong_is_one_line(
    cluster: Cluster, capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    assert produce(cluster, *words) == code
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert message in err


def test_a_line_without_its_separator(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"k:v\nnothing\n")
    assert produce(cluster, str(file), "--key-separator", ":") == 3
    assert "lines: line 2: no ':' in it" in capsys.readouterr().err


def test_a_broker_that_refuses(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.brokers[1].errors += [10] * 10
    assert produce(cluster, "--num-records", "3", "--format", "json") == 4
    captured = capsys.readouterr()
    assert json.loads(captured.out)["failed"] == 3
    assert "MESSAGE_TOO_LARGE (10)" in captured.err


@pytest.mark.parametrize("words", [[], ["--jsonl"]])
def test_a_line_of_a_pipe_is_sent_when_it_comes(words: list[str], cluster: Cluster) -> None:
    """As of `tail -f`: the next may not come for long, and an interrupt is heard meanwhile."""
    where = f"127.0.0.1:{cluster.brokers[1].port}"
    command = [sys.executable, "-m", "kcli.cli", "produce", "t", "--bootstrap", where, "--partition", "0", *words]
    with ended(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as kcli:
        assert kcli.stdin is not None
        kcli.stdin.write(b'{"value": "one"}\n' + (b"\n" if words else b"") + b'{"value": ')
        kcli.stdin.flush()
        until = time.monotonic() + 20
        while not cluster.values[0] and time.monotonic() < until:
            time.sleep(0.01)
        assert cluster.values[0] == [b"one" if words else b'{"value": "one"}']
        kcli.send_signal(signal.SIGINT)
        said, _ = kcli.communicate(timeout=20)
    assert kcli.returncode == 130 and said.startswith(b"1 records sent, ")
