"""Rows out of exchanges and events: what a table says of odd ones."""

from pathlib import Path

import pytest

from kcli.pipeline.rows.single_rows import named
from tests.capture.messages import metadata, request, response
from tests.capture.wires import Wire, pcap
from tests.pipeline.outputs import rows_of, run_here


def ran(wire: Wire, tmp_path: Path, output: Path) -> None:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(wire.packets))
    run_here([path], output)


def test_an_undecodable_body_is_null_and_its_bytes_are_kept(tmp_path: Path, output: Path) -> None:
    asked, answer = metadata(7)
    ran(
        Wire().open().client(asked).server(answer[:3] + bytes([answer[3] - 9]) + answer[4:-9]).close(),
        tmp_path,
        output,
    )
    (row,) = rows_of(output, "exchanges")
    (event,) = rows_of(output, "undecodable")
    assert row["request"] is not None
    assert row["response"] is None
    assert (event["event"], event["sender"], event["captured"]) == ("undecodable", "server", False)
    assert event["data"] == answer[4:-9]
    assert "response 7" in event["reason"]


def test_errors_are_named_once_each(tmp_path: Path, output: Path) -> None:
    partitions = [{"partitionIndex": n, "errorCode": code, "leaderId": -1} for n, code in enumerate((5, 0, 5, 6))]
    answer = response(3, 9, 1, {"topics": [{"errorCode": 0, "name": "t", "partitions": partitions}]})
    ran(Wire().open().client(request(3, 9, 1, {"topics": None})).server(answer).close(), tmp_path, output)
    (row,) = rows_of(output, "exchanges")
    assert row["errors"] == ["LEADER_NOT_AVAILABLE", "NOT_LEADER_OR_FOLLOWER"]


@pytest.mark.parametrize("client", [None, "", "ÿ client"])
def test_the_client_id_of_any_header(client: str | None, tmp_path: Path, output: Path) -> None:
    wire = Wire().open().client(request(3, 9, 1, {"topics": None}, client)).server(response(3, 9, 1, {})).close()
    ran(wire, tmp_path, output)
    assert [row["client_id"] for row in rows_of(output, "exchanges")] == [client]


def test_names_are_learnt_where_a_message_has_both() -> None:
    answer = {
        "topics": [{"name": "a", "topicId": "x"}, {"name": None, "topicId": "y"}, {"topicName": "c", "topicId": "z"}]
    }
    assert list(named(answer)) == [("x", "a"), ("z", "c")]
