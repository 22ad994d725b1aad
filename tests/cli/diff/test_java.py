"""`kcli diff --as java` as a script sees it."""

import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.grammar import frames
from tests.cli.decode.test_coprocess import BATCH
from tests.cli.decode.test_lines import answers
from tests.cli.decode.test_message import FETCH, HEADER
from tests.cli.decode.test_message_formats import produce

NEWEST = HEADER | {"requestApiVersion": 17}
ODD = frames.encode_request(NEWEST, {"replicaState": {}, "_unknownTaggedFields": [{"tag": 90, "data": b"x"}]})
PLAIN = frames.encode_request(NEWEST, {})


def test_a_message_against_what_java_makes_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "got"
    for data, code in ((FETCH, 0), (PLAIN, 0), (len(FETCH).to_bytes(4, "big") + FETCH, 0), (ODD, 1)):
        file.write_bytes(data)
        assert main(["diff", "message", "--as", "java", str(file)]) == code
    paths = [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines()]
    assert "replicaState.replicaId" in paths and all("tag" in path or "replica" in path for path in paths)


def test_json_is_sent_as_java_would(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted, file = tmp_path / "wanted.json", tmp_path / "got"
    file.write_bytes(frames.encode_request(HEADER | {"requestApiVersion": 4}, {}))
    header = HEADER | {"requestApiKey": "Fetch", "requestApiVersion": 4}
    wanted.write_text(json.dumps({"requestHeader": header, "request": {"rackId": "ignored", "clusterId": "tagged"}}))
    assert main(["diff", "message", "--as", "java", str(wanted), str(file)]) == 0
    wanted.write_text(json.dumps({"requestHeader": header, "request": {"maxWaitMs": 9}}))
    assert main(["diff", "message", "--as", "java", "--hex", str(wanted), str(file)]) == 3
    assert main(["diff", "message", "--as", "java", str(wanted), str(file)]) == 1
    join = {
        "requestHeader": HEADER | {"requestApiKey": 11, "requestApiVersion": 4},
        "request": {"groupInstanceId": "a"},
    }
    wanted.write_text(json.dumps(join))
    capsys.readouterr()
    assert main(["diff", "message", "--as", "java", str(wanted), str(file)]) == 3
    err = capsys.readouterr().err
    assert "wanted.json: JoinGroupRequest v4: groupInstanceId: not in version 4, and not ignorable" in err


def test_responses_and_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "got"
    file.write_bytes(frames.encode_response({"correlationId": 1}, 1, 17, {"nodeEndpoints": []}))
    api = ["--api", "Fetch", "--api-version", "17"]
    assert main(["diff", "message", "--as", "java", *api, str(file)]) == 1
    late = BATCH[:12] + (9).to_bytes(4, "big") + BATCH[16:]  # a leader epoch
    for data, code in ((BATCH, 0), (late, 1)):
        file.write_bytes(data)
        assert main(["diff", "batch", "--as", "java", str(file)]) == code
        file.write_bytes(produce(data))
        assert main(["diff", "message", "--as", "java", str(file)]) == code
    out = capsys.readouterr().out
    assert "batches[0].partitionLeaderEpoch: " in out and "records.batches[0].partitionLeaderEpoch: " in out


def test_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        FETCH.hex(),
        f"{FETCH.hex()} {FETCH.hex()}",
        json.dumps({"got": ODD.hex()}),
        json.dumps({"expected": {"requestHeader": NEWEST, "request": {"replicaState": {}}}, "got": PLAIN.hex()}),
        json.dumps({"expected": {"requestHeader": NEWEST, "request": {"nope": 1}}, "got": PLAIN.hex()}),
    ]
    code, found = answers("diff message --as java", lines, tmp_path, capsys)
    assert code == 3
    assert [row.get("same") for row in found] == [True, True, False, True, None]
    assert found[-1]["error"] == "expected: FetchRequest v17: has no field 'nope' in any version"
    rows = [{"records": [{"timestamp": 5, "key": "k", "value": "v"}]}]
    lines = [BATCH.hex(), json.dumps({"expected": rows, "got": BATCH.hex()})]
    assert answers("diff batch --as java", lines, tmp_path, capsys) == (0, [{"same": True}] * 2)


def test_what_is_to_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cut").write_bytes(FETCH[:-3])
    assert main(["diff", "message", "--as", "java"]) == 2
    assert main(["diff", "message", str(tmp_path / "cut")]) == 2
    assert main(["diff", "message", "--as", "java", str(tmp_path / "cut")]) == 3
    assert "cut: FetchRequest v12: " in capsys.readouterr().err
