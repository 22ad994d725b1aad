"""`kcli decode data`, and what `decode request --embedded` and trees show of data messages."""

import json
from pathlib import Path

import pytest

from kcli.cli.decode.data import data_shape
from kcli.cli.decode.message_input import Frame
from kcli.cli.main import main
from kcli.errors import UsageError
from kcli.grammar import frames, messages
from tests.cli.decode.test_message import HEADER
from tests.grammar.test_group_data import ASSIGNED, CONSUMER, STREAMS, join

JOIN = frames.encode_request(
    HEADER | {"requestApiKey": 11, "requestApiVersion": 5}, {"groupId": "g", **join("consumer", "range", CONSUMER)}
)


def test_data_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "data"
    file.write_bytes(CONSUMER)
    assert main(["decode", "data", "ConsumerProtocolSubscription", str(file)]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["type"], row["version"], row["data"]["topics"]) == ("ConsumerProtocolSubscription", 1, ["orders"])
    assert row["data"]["_userData"]["type"] == "SubscriptionInfoData"
    assert main(["decode", "data", "ConsumerProtocolSubscription", "--format", "tree", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"ConsumerProtocolSubscription v1, {len(CONSUMER)} bytes" and lines[1].startswith("0000  00 01 ")
    file.write_text(STREAMS.hex())
    assert main(["decode", "data", "SubscriptionInfoData", "--hex", "--format", "table", str(file)]) == 0
    assert "data.errorCode" in capsys.readouterr().out
    file.write_bytes(messages.data("LeaderChangeMessage", 0).write({"leaderId": 3}))
    assert main(["decode", "data", "LeaderChangeMessage", "--data-version", "0", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["leaderId"] == 3


def test_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "data"
    for name, data, why in (
        ("ConsumerProtocolAssignment", ASSIGNED[:-1], "userData: needs 4 bytes"),
        ("ConsumerProtocolAssignment", b"\0", "needs 2 bytes of version"),
        ("ConnectProtocolAssignment", b"\0\7\0\0", "has no version 7 (known: 0-2)"),
        ("ConsumerProtocolAssignment", ASSIGNED + b"x", "1 byte left after the message"),
    ):
        file.write_bytes(data)
        assert main(["decode", "data", name, str(file)]) == 3
        assert why in capsys.readouterr().err
    for words in (
        ["FetchRequest"],
        ["NoSuchThing"],
        ["LeaderChangeMessage"],
        ["ConsumerProtocolAssignment", "--data-version", "1"],
    ):
        assert main(["decode", "data", words[0], str(file), *words[1:]]) == 2, words
    with pytest.raises(UsageError, match="begin with their version"):
        options = {"name": "AssignmentInfo", "dialect": None, "data_version": 3}
        data_shape(b"", Frame(0, 0), options)


def test_embedded_messages_are_shown_where_they_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "join"
    file.write_bytes(JOIN)

    def printed(*words: str) -> str:
        assert main(["decode", "request", *words, str(file)]) == 0
        return capsys.readouterr().out

    plain, more = (json.loads(printed(*words)) for words in ([], ["--embedded"]))
    [protocol] = more["request"]["protocols"]
    assert protocol.pop("_metadata")["data"]["topics"] == ["orders"] and plain == more
    assert "protocols[0]._metadata.data.topics[0]" in printed("--embedded", "--format", "table")
    assert "_metadata" not in printed("--format", "table")
    assert 'protocols[0].metadata.topics[0]  "orders"' in " ".join(printed("--format", "tree").split()).replace(
        ' "', '  "'
    )
    assert "metadata.topics" not in printed("--format", "hexdump")
    file.write_text(JOIN.hex() + "\n")
    lines = [json.loads(printed("--lines", *words)) for words in ([], ["--embedded"])]
    assert "_metadata" in lines[1]["request"]["protocols"][0] and lines[0] == plain


def test_trees_of_captures_show_them(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(samples / "java44-consume-classic.pcap")
    assert main(["decode", "pcap", "--format", "tree", "--api", "SyncGroup", capture]) == 0
    out = capsys.readouterr().out
    assert "assignments[0].assignment.assignedPartitions[0].topic" in out
    assert "\n  " in out and " assignment.assignedPartitions[0].partitions[0]" in out
