"""Facts of single connections."""

from pathlib import Path

from kcli.capture.api import read_capture
from kcli.capture.audit import audit
from tests.capture.messages import request, response
from tests.capture.wires import Wire, pcap
from tests.pipeline.outputs import rows_of, run_here


def test_uses_are_what_audit_counts(samples: Path, output: Path) -> None:
    name = samples / "old-librdkafka-on-3.9.pcap"
    run_here([name], output, shares=4)
    counts: dict[tuple[str | None, int, int], int] = {}
    for row in rows_of(output, "client_uses"):
        key = row["client_id"], row["api_key"], row["api_version"]
        counts[key] = counts.get(key, 0) + row["requests"]
    answer: dict[tuple[str | None, int, int], int] = {}
    for client in audit(read_capture(name).items()):
        for (key_, version), count in client.used.items():
            answer[client.client_id, key_, version] = answer.get((client.client_id, key_, version), 0) + count
    assert counts == answer


def produced(number: int, error: int, hint: bool) -> tuple[bytes, bytes]:
    part: dict[str, object] = {"index": 0, "errorCode": error, "baseOffset": 1}
    answer: dict[str, object] = {}
    if hint:
        part["currentLeader"] = {"leaderId": 2, "leaderEpoch": 9}
        answer["nodeEndpoints"] = [{"nodeId": 2, "host": "b2", "port": 9092, "rack": None}]
    answer["responses"] = [{"name": "t", "partitionResponses": [part]}]
    data = [{"name": "t", "partitionData": [{"index": 0, "records": None}]}]
    asked = {"acks": -1, "timeoutMs": 1000, "topicData": data}
    return request(0, 10, number, asked), response(0, 10, number, answer)


def test_outcomes_are_answers_of_one_kind_in_a_row(tmp_path: Path, output: Path) -> None:
    wire = Wire().open()
    for number, (error, hint) in enumerate([(0, False), (0, False), (6, True), (6, True), (0, False), (1, False)]):
        asked, answer = produced(number, error, hint)
        wire.client(asked).server(answer)
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(wire.close().packets))
    run_here([path], output)
    rows = sorted(rows_of(output, "outcomes"), key=lambda row: row["first_ns"])
    found = [(row["error"], row["answers"], row["hint_leader"]) for row in rows]
    assert found == [(0, 2, -1), (6, 1, 2), (6, 1, 2), (0, 1, -1)]  # no run goes on over an error
    assert rows[1]["hint_server"] == "b2:9092"
    assert rows[0]["last_ns"] - rows[0]["first_ns"] == 2_000_000
