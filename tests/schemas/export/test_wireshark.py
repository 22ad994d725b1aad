"""The exported dissector in tshark beside kcli: every field of every exchange, in captures of real clients."""

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.records import build_batch
from kcli.schemas.catalog import catalog
from kcli.schemas.export.wireshark import text, wireshark_lua
from tests.capture.messages import api_versions, metadata, request, response
from tests.capture.wires import ACK, Wire, pcap
from tests.greeting import greeting
from tests.schemas.export.dissecting import Message, as_dissected, messages, packets

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


@pytest.fixture(scope="module")
def lua(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lua") / "kafka.lua"
    path.write_text("\n".join(wireshark_lua(catalog())) + "\n")
    return path


def told(lines: Iterable[dict[str, Any]]) -> Counter[tuple[str, int, int, int, str]]:
    """Messages in kcli's lines, as `shown` has those of tshark."""
    found: Counter[tuple[str, int, int, int, str]] = Counter()
    for line in lines:
        header = line.get("requestHeader")
        for side in ("request", "response"):
            if header and line[side] is not None:
                key, version, number = header["requestApiKey"], header["requestApiVersion"], header["correlationId"]
                found[side, key, version, number, plain(as_dissected(line[side]))] += 1
    return found


def shown(found: Iterable[Message]) -> Counter[tuple[str, int, int, int, str]]:
    return Counter(
        (
            "response" if "requestFrame" in header else "request",
            int(header["apiKey"]),
            int(header["apiVersion"]),
            int(header["correlationId"]),
            plain(body),
        )
        for header, body, _ in found
    )


def plain(body: Any) -> str:
    return json.dumps(body, sort_keys=True, default=bytes.hex)


# Every codec and magic, transactions, SASL, IPv6, resets, TLS.
CAPTURES = {
    "ipv6.pcapng": 74,
    "java44-txn.pcap": 156,
    "kcat-codecs.pcap": 154,
    "old-librdkafka-on-3.9.pcap": 97,
    "sasl-plain-scram.pcap": 227,
    "tls.pcap": 72,
}


@needs_tshark
@pytest.mark.parametrize("name", CAPTURES)
def test_tshark_shows_the_fields_that_kcli_shows(
    name: str, lua: Path, samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = samples / "tls.keys" if name.startswith("tls") else None
    words = ["--key-log", str(keys)] if keys else []
    options = ["-o", f"tls.keylog_file:{keys}"] if keys else []
    main(
        [
            "decode",
            "pcap",
            str(samples / name),
            "--format",
            "jsonl",
            "-q",
            "--records",
            "full",
            "--show-secrets",
            *words,
        ]
    )
    expected = told(map(json.loads, capsys.readouterr().out.splitlines()))
    assert expected.total() == CAPTURES[name]
    assert shown(messages(packets(lua, samples / name, *options))) == expected


def pieces(wire: Wire, sender: int, data: bytes, *sizes: int) -> None:
    """Send bytes in segments of these sizes, and the rest in one."""
    for size in (*sizes, len(data)):
        piece, data = data[:size], data[size:]
        if piece:
            wire.add(sender, ACK, piece)


@needs_tshark
def test_connections_on_any_port_are_recognized(lua: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By few first bytes, by a response in the middle, by an answer that was captured before its request."""
    server, packets_ = ("10.0.0.2", 21000), []
    for number, size in enumerate((3, 7, 11, 14, 20, 33)):
        wire = Wire(("10.0.0.1", 40000 + number), server, seq=(1000 * number + 1, 77)).open()
        for call in (api_versions(0), metadata(1)):
            pieces(wire, 0, call[0], size)
            pieces(wire, 1, call[1], 5 + number, 8)
        packets_ += wire.packets
    body = {"responses": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitionResponses": [{"index": 1, "baseOffset": 7}]}]}
    cut = Wire(("10.0.0.1", 41000), server)
    cut.server(response(0, 13, 254, body)).client(metadata(255)[0]).server(metadata(255)[1])
    swapped = Wire(("10.0.0.1", 42000), server).open().client(api_versions(0)[0]).server(api_versions(0)[1])
    swapped.client(metadata(1)[0]).server(metadata(1)[1])
    swapped.packets[-2:] = swapped.packets[:-3:-1]
    path = tmp_path / "any.pcap"
    halved = Wire(("10.0.0.1", 43000), server).open().client(api_versions(0)[0]).server(api_versions(0)[1])
    halved.client(metadata(1)[0])
    pieces(halved, 1, metadata(1)[1], 30)
    halved.packets[-3:-1] = halved.packets[-2:-4:-1]  # half of the answer before the request
    path.write_bytes(pcap(packets_ + cut.packets + swapped.packets + halved.packets))
    main(["decode", "pcap", str(path), "--format", "jsonl", "-q", "--records", "full"])
    expected = told(map(json.loads, capsys.readouterr().out.splitlines()))
    assert expected.total() == 34
    assert shown(messages(packets(lua, path))) == expected


@needs_tshark
def test_what_is_wrong_is_said(lua: Path, tmp_path: Path) -> None:
    """Where nothing is left to say beside the kind, too: Lua has no text then."""
    damaged = bytearray(build_batch([(1, None, b"value", ())]))
    damaged[-1] ^= 1
    data = {"topicData": [{"name": "t", "partitionData": [{"index": 0, "records": bytes(damaged)}]}], "acks": 1}
    wire = Wire().open().client(request(0, 9, 1, data)).server(response(0, 9, 9, {}))
    path = tmp_path / "wrong.pcap"
    path.write_bytes(pcap(wire.packets))
    command = ["tshark", "-n", "-X", f"lua_script:{lua}", "-r", str(path), "-V", "-O", "kafka2"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Wrong checksum" in said
    assert "Its request was not captured" in said
    assert "Lua Error" not in said


@needs_tshark
def test_requests_and_responses_are_linked(lua: Path, samples: Path) -> None:
    command = ["tshark", "-n", "-X", f"lua_script:{lua}", "-r", str(samples / "java44-txn.pcap"), "-2"]
    command += ["-Y", 'kafka2.ProduceRequest && kafka2.topic || kafka2.error == "PRODUCER_FENCED"', "-T", "fields"]
    command += [word for field in ("frame.number", "requestFrame", "responseFrame", "error", "latency") for word in
                ("-e", field if "." in field else f"kafka2.{field}")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows
    for number, asked, answered, error, latency in rows:
        assert (asked and int(asked) < int(number)) or (answered and int(answered) > int(number))
        assert not error or ("PRODUCER_FENCED" in error and float(latency.partition(",")[0]) > 0)


@needs_tshark
def test_a_field_of_each_path_is_there_once(lua: Path) -> None:
    """tshark -G: the filter fields are named after Kafka's, and Wireshark knows each."""
    done = subprocess.run(
        ["tshark", "-G", "fields", "-X", f"lua_script:{lua}"], capture_output=True, text=True, check=True
    )
    assert "Error" not in done.stderr
    named = Counter(line.split("\t")[2] for line in done.stdout.splitlines() if "\tkafka2." in line)
    assert named["kafka2.FetchRequest.topics.partitions.fetchOffset"] == 1
    assert named["kafka2.CreatePartitionsRequest.topics.count"] == 1
    assert named["kafka2.CreatePartitionsRequest.topics._count"] == 1
    assert max(named.values()) == 1


@needs_tshark
def test_drafts_are_dissected(tmp_path: Path) -> None:
    """An API of one's own, as bytes of one connection; and what ends early is said."""
    lua = tmp_path / "greet.lua"
    drafts = greeting(tmp_path / "greet")
    assert main(["schema", "export", "--to", "wireshark-lua", "--dialect", drafts, "-o", str(lua)]) == 0
    header = bytes.fromhex("7594 0001 00000007 0003 636c69 00")
    whole, early = header + bytes.fromhex("03 6869 02 00000009 00"), header + bytes.fromhex("06 6869")
    dump = tmp_path / "greet.hex"
    dump.write_text("".join(f"0000 {(len(data).to_bytes(4, 'big') + data).hex(' ')}\n" for data in (whole, early)))
    capture = tmp_path / "greet.pcap"
    subprocess.run(["text2pcap", "-q", "-T", "40000,9092", str(dump), str(capture)], capture_output=True, check=True)
    command = ["tshark", "-n", "-X", f"lua_script:{lua}", "-r", str(capture), "-V", "-O", "kafka2"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "name: hi" in said
    assert "times: 1 entry" in said
    assert "GreetRequest: GreetRequest.name: needs 5 bytes" in said


def test_names_of_a_dialect_are_plain_strings_of_lua() -> None:
    assert text('a"\\\n\u00e9') == '"a\\034\\092\\010\\195\\169"'
