"""What bytes look like that are not what was asked for."""

import base64
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from kcli.cli.main import main
from kcli.file_kinds import begins_request, recognized
from kcli.grammar.frames import encode_request
from tests.capture.wires import SAMPLES

PCAPNG = (SAMPLES / "ipv6.pcapng").read_bytes()
PCAP = (SAMPLES / "java44-txn.pcap").read_bytes()
HEADER = {"requestApiKey": 3, "requestApiVersion": 1, "correlationId": 7, "clientId": "cli"}
REQUEST = encode_request(HEADER, {"topics": [{"name": "orders"}]})
FRAMED = len(REQUEST).to_bytes(4, "big") + REQUEST
SEGMENT = (SAMPLES / "orders-0" / "00000000000000000000.log").read_bytes()


@pytest.mark.parametrize(
    "data",
    [PCAPNG, PCAP, PCAP[:40], gzip.compress(PCAP, mtime=0), zstandard.compress(PCAPNG)],
)
def test_captures(data: bytes) -> None:
    assert recognized(data, certain=True) == "looks like a capture: kcli decode pcap reads that"


@pytest.mark.parametrize(("pack", "name"), [(gzip.compress, "gzip"), (zstandard.compress, "zstd")])
def test_what_is_compressed_and_no_capture(pack: Callable[[bytes], bytes], name: str) -> None:
    said = f"compressed by {name}: only captures are read so; decompress it first"
    assert recognized(pack(SEGMENT), certain=True) == recognized(pack(b"text")) == said


@pytest.mark.parametrize("words", [["decode", "segment"], ["snapshot", "inspect"], ["records"], ["stats"], []])
def test_a_segment_in_gzip_is_no_riddle(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Readers of captures told to use `kcli decode segment`, and that told of a magic 48."""
    path = tmp_path / "00000000000000000000.log.gz"
    path.write_bytes(gzip.compress(SEGMENT))
    assert main([*words, str(path)]) == 3
    said = capsys.readouterr().err
    assert "decompress it first" in said or "reads that, once it is decompressed" in said


@pytest.mark.parametrize(
    "text",
    [
        REQUEST.hex(),
        REQUEST.hex(" ", 2),
        REQUEST.hex(",").upper(),
        " ".join(f"0x{byte:02x}" for byte in REQUEST),
        "".join(f"\\x{byte:02x}" for byte in REQUEST),
        f"00000000: {REQUEST[:16].hex(' ', 2)}  ....\n00000010: {REQUEST[16:].hex(' ', 2)}  ..orders\n",
        f"00000000  {REQUEST[:8].hex(' ')}  {REQUEST[8:16].hex(' ')}  |........|\n",
        f"0000  {REQUEST[:16].hex(' ')}   ........\n",
        (bytes(range(256)) * 1000).hex(),
    ],
)
def test_hex_text(text: str) -> None:
    assert recognized(text.encode(), certain=True) == "looks like hex text: kcli decode request --hex reads that"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b'{"requestHeader":{}}\n', "JSON"),
        (b' {"timestamp":"2026', "JSON"),
        (b'{"a":' * 5000, "JSON"),
        (b"PAR1\x15\x04", "a Parquet file"),
        (REQUEST, "a Metadata v1 request"),
        (FRAMED, "a Metadata v1 request"),
        (SEGMENT, "record batches"),
        (SEGMENT * 30, "record batches"),
    ],
)
def test_others(data: bytes, kind: str) -> None:
    assert f"{recognized(data)}: ".startswith(f"looks like {kind}: kcli ")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GIF89a" + bytes(50),
        b"root:x:0:0:root:/root:/bin/bash\n",
        b"cafe and tea",
        b"\0" * 100,
        b"{}",
        b"{x",
        SEGMENT[:60],
        REQUEST[:-1],
    ],
)
def test_what_is_like_nothing(data: bytes) -> None:
    assert recognized(data, certain=True) is None


@pytest.mark.parametrize("data", [REQUEST, FRAMED, SEGMENT])
def test_messages_and_batches_are_nothing_else(data: bytes) -> None:
    assert recognized(data, certain=True) is None


def test_a_packed_capture_is_not_unpacked_whole() -> None:
    """A hundred megabytes of zeros in some kilobytes cost no more than their first bytes."""
    assert recognized(zstandard.compress(PCAP[:24] + bytes(100_000_000)), certain=True)
    assert recognized(gzip.compress(PCAP[:24] + bytes(10_000_000)), certain=True)


def test_base64_of_a_request_is_no_riddle_and_words_are_no_base64() -> None:
    for data in (REQUEST, FRAMED, REQUEST[:-9]):
        text = base64.encodebytes(data)
        assert recognized(text, certain=True) == "looks like base64 text: kcli decode request --base64 reads that"
    assert recognized(b"some plain words that go on and on", certain=True) is None


@pytest.mark.parametrize("size", [len(SEGMENT), 100])
def test_texts_of_record_batches_name_their_reader(size: int) -> None:
    texts = {"hex": SEGMENT[:size].hex().encode(), "base64": base64.encodebytes(SEGMENT[:size])}
    for form, text in texts.items():
        said = f"looks like {form} text of record batches: kcli decode batch --{form} reads that"
        assert recognized(text, certain=True) == said


def test_a_request_with_a_wrong_byte_begins_as_one() -> None:
    for whole in (REQUEST, FRAMED):
        damaged = whole[:-7] + b"\x7f" + whole[-6:]
        assert recognized(damaged) is None and begins_request(damaged)
    assert begins_request(REQUEST[:30]) and not begins_request(REQUEST[:8])
    assert not begins_request(b"\0\1\0\0" + bytes.fromhex("000f00800003007044534947"))  # a font
    assert not begins_request(SEGMENT) and not begins_request(b"\x7f\xff" + REQUEST[2:])
