"""No command shows a secret, in any format, unless it is told to: captures, messages, segments and snapshots."""

import base64
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

import kcli
from kcli.cli.main import main
from kcli.errors import DecodeError
from kcli.grammar.frames import request_codec
from kcli.records.builder import build_batch
from tests.capture.messages import request, response, sasl_handshake
from tests.capture.wires import Wire, frame, pcap
from tests.grammar.test_secrets import VALUES
from tests.records.test_secrets import PASSWORD, SCRAM, batch

MARK = "S3CRET-" * 5
RAW = MARK.encode()
CODED = [base64.b64encode(b"\0" * before + b"S3CRET-" * 3)[4:-4].decode() for before in range(3)]
HEX = re.compile(r"[\s:]*".join(f"{byte:02x}" for byte in b"S3CRET-"), re.IGNORECASE)
APIS = {
    "SaslAuthenticate": (36, 2), "AlterUserScramCredentials": (51, 0), "CreateDelegationToken": (38, 3),
    "RenewDelegationToken": (39, 2), "ExpireDelegationToken": (40, 2), "DescribeDelegationToken": (41, 3),
    "Envelope": (58, 0), "AlterConfigs": (33, 2), "IncrementalAlterConfigs": (44, 1), "CreateTopics": (19, 7),
    "DescribeConfigs": (32, 4),
}  # fmt: skip


def shows(text: str) -> bool:
    marked = MARK[:14] in text or MARK[:14].replace("3", "*") in text  # `compare` shows digits of names as *
    return marked or any(coded in text for coded in CODED) or HEX.search(text) is not None


def exchanges() -> list[tuple[bytes, bytes]]:
    made = []
    for number, (name, (key, version)) in enumerate(APIS.items()):
        asked, answer = (VALUES.get(name + part, {}) for part in ("Request", "Response"))
        made.append((request(key, version, number, asked), response(key, version, number, answer)))
    return made


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """All APIs with secrets, versions that no release has, a cut message, and tokens without a header."""
    wire = Wire().open()
    for asked, answer in exchanges():
        wire.client(asked).server(answer)
    strange = bytearray(exchanges()[0][0])
    strange[6:8] = b"\0\x63"  # SaslAuthenticate v99
    wire.client(bytes(strange)).server(frame(b"\0\0\0\0" + RAW))
    cut = bytearray(request(36, 2, 77, {"authBytes": RAW}))
    cut[-len(RAW) - 2] = 0x7F  # a length beyond the end
    wire.client(bytes(cut)).server(frame(b"\0\0\0\x4d\0\0" + RAW))
    wire.server(frame(b"\0\0\x03\xe7" + RAW)).close()  # answers nothing
    shake = sasl_handshake(1, 0)
    tokens = Wire(("10.0.0.3", 40001), start=wire.now).open().client(shake[0]).server(shake[1])
    tokens.client(frame(RAW)).server(frame(RAW)).close()
    path = tmp_path / "secrets.pcap"
    path.write_bytes(pcap([*wire.packets, *tokens.packets]))
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    """(exit code, all that was printed)."""
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


@pytest.mark.parametrize(
    ("form", "records"), list(itertools.product(("table", "tree", "jsonl"), ("none", "batches", "full", "raw")))
)
def test_captures(capture: Path, form: str, records: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("decode", "pcap", capture, "--format", form, "--records", records)
    _, text = run(capsys, *words)
    assert not shows(text), text
    assert form != "jsonl" or text.count('{"redacted":') > 20
    _, text = run(capsys, *words, "--show-secrets")
    assert form == "table" or shows(text)


def test_lines_with_secrets_encode_to_the_bytes(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "lines.jsonl"
    for how in ((), ("--show-secrets",)):
        run(capsys, "decode", "pcap", capture, "--format", "jsonl", "-o", lines, *how)
        rows = [row for row in map(json.loads, lines.read_text().splitlines()) if "event" not in row]
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows[: len(APIS)]))
        code, text = run(capsys, "encode", "request", lines, "--framed", "-o", tmp_path / "out.bin")
        assert code == (0 if how else 3)
    assert (tmp_path / "out.bin").read_bytes() == b"".join(asked for asked, _ in exchanges())
    assert not shows(text)


def test_a_form_without_its_secret_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "request").write_bytes(exchanges()[0][0])
    _, text = run(capsys, "decode", "request", tmp_path / "request")
    (tmp_path / "request.json").write_text(text)
    code, text = run(capsys, "encode", "request", tmp_path / "request.json")
    assert code == 3 and "authBytes: " in text and "--show-secrets" in text


@pytest.mark.parametrize("form", ["json", "tree", "hexdump", "table"])
@pytest.mark.parametrize("name", APIS)
def test_messages(name: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    number = list(APIS).index(name)
    for part, data in zip(("request", "response"), exchanges()[number], strict=True):
        for case, content in (("whole", data), ("cut", cut_short(data)), ("longer", frame(data[4:] + RAW))):
            file = tmp_path / f"{part}-{case}"
            file.write_bytes(content)
            words = ["decode", part, file, "--format", form]
            words += ["--api", name, "--api-version", APIS[name][1]] if part == "response" else []
            _, text = run(capsys, *words)
            assert f"{name}{part.capitalize()}" not in VALUES or not shows(text), text
            if case == "whole" and f"{name}{part.capitalize()}" in VALUES and form in ("json", "hexdump"):
                assert shows(run(capsys, *words, "--show-secrets")[1])


def test_a_secret_that_is_read_as_a_length_is_not_in_the_reason() -> None:
    """SaslAuthenticate without the length of its bytes; a name's length and an array's count in CreateTopics."""
    numbers = {str(int.from_bytes(RAW[at : at + size])) for at in range(8) for size in (2, 4)}
    sasl, topics = request_codec(36, 0), request_codec(19, 4)
    for codec, data in (sasl, RAW), (topics, bytes([0, 0, 0, 1]) + RAW), (topics, RAW):
        for read in codec.read, lambda data, codec=codec: codec.spans(data, 0, []):
            with pytest.raises(DecodeError, match=r" \[hidden\] ") as caught:
                read(data)
            assert numbers.isdisjoint(re.findall(r"\d+", str(caught.value)))


@pytest.mark.parametrize("form", ["json", "tree", "hexdump", "table"])
def test_a_message_that_breaks_off_has_no_value(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that was left out, or a length that is wrong, puts a secret into the field beside it, or into a number."""
    configs = [{"name": "ssl.keystore.password", "value": MARK}, {"name": "", "value": MARK}]
    topics = [{"name": "t", "numPartitions": 1, "replicationFactor": 1, "configs": configs}]
    whole = request(19, 7, 5, {"topics": topics})[4:]
    nameless = whole.replace(b"\x16ssl.keystore.password", b"", 1)
    shifted = whole.replace(b"\x02t\0\0", b"\x02t" + RAW[:13], 1)
    swallowed = whole[:8] + bytes([0, len(whole) - 12]) + whole[10:]
    tagged = shifted[:9] + b"\x07" + shifted[10:]  # a client id longer by one: the header has an unknown tag
    for data in (nameless, shifted, swallowed, tagged):
        (tmp_path / "message").write_bytes(data)
        for words in (["decode", "request"], ["decode"], []):
            code, text = run(capsys, *words, tmp_path / "message", *(["--format", form] if "request" in words else []))
            assert code == 3 and not shows(text) and str(int.from_bytes(b"S3CR")) not in text, text
        (tmp_path / "other").write_bytes(data[:9] + bytes([data[9] ^ 1]) + data[10:])  # the client id's length
        code, text = run(capsys, "diff", "message", tmp_path / "message", tmp_path / "other")
        assert code == 1 and not shows(text)
    (tmp_path / "message").write_bytes(shifted)
    code, text = run(capsys, "decode", "request", tmp_path / "message", "--show-secrets")
    assert str(int.from_bytes(b"S3CR")) in text
    code, text = run(capsys, "decode", "request", tmp_path / "message")
    assert "--show-secrets shows them" in text and '"numPartitions":{"redacted":4}' in text


@pytest.mark.parametrize("form", ["json", "tree", "hexdump", "table"])
def test_a_message_with_bytes_behind_it_has_no_value(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A length that is too small: the rest of the secret is a number, and the message reads to its end."""
    whole = request(39, 1, 5, {"hmac": RAW, "renewPeriodMs": 7})[4:]
    at = whole.index(RAW)
    small = whole[: at - 1] + bytes([4]) + whole[at:]
    numbers = {str(int.from_bytes(RAW[start : start + 8])) for start in range(20)}
    (tmp_path / "message").write_bytes(small)
    (tmp_path / "other").write_bytes(whole)
    for words in (["decode", "request"], ["decode"], [], ["diff", "message", tmp_path / "other"]):
        more = ["--format", form] if "request" in words else []
        code, text = run(capsys, *words, tmp_path / "message", *more)
        assert code in (1, 3) and not shows(text), text
        assert numbers.isdisjoint(re.findall(r"\d+", text)), text
    code, text = run(capsys, "decode", "request", tmp_path / "message", "--format", form)
    assert "a damaged message may have a secret" in text and "bytes left after the message" in text
    wire = Wire().open()
    for asked, answer in exchanges()[:2]:
        wire.client(asked).server(answer)
    wire.client(frame(small)).close()
    (tmp_path / "wire.pcap").write_bytes(pcap(wire.packets))
    for shape in ("jsonl", "tree", "table"):
        _, text = run(capsys, "decode", "pcap", tmp_path / "wire.pcap", "--format", shape)
        assert "RenewDelegationToken" in text or "RENEW_DELEGATION_TOKEN" in text
        assert not shows(text) and numbers.isdisjoint(re.findall(r"\d+", text)), text
    sound = request(39, 2, 5, {"hmac": RAW, "renewPeriodMs": 7})[4:]
    (tmp_path / "message").write_bytes(sound + b"\0")  # a tag section too many: clients send it
    code, text = run(capsys, "decode", "request", tmp_path / "message", "--format", form)
    assert re.search(r"renewPeriodMs\W+7\b", text) or "7  (int64)" in text


@pytest.mark.parametrize("form", ["tree", "hexdump"])
def test_a_count_that_no_message_has_is_hidden(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = request(19, 4, 5, {"topics": []})[4:]
    (tmp_path / "message").write_bytes(data[:-9] + RAW)
    code, text = run(capsys, "decode", "request", tmp_path / "message", "--format", form)
    assert code == 3 and "topics" in text and not shows(text) and str(int.from_bytes(b"S3CR")) not in text, text


def cut_short(data: bytes) -> bytes:
    return frame(data[4:-3])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two snapshots whose secrets differ, and a segment of the metadata log."""
    made = tmp_path / "__cluster_metadata-0"
    made.mkdir()
    for offset, change in ((10, b"S3CRET-"), (20, b"T3CRET-")):
        changed = [value.replace(b"S3CRET-", change, 1) for value in (SCRAM, PASSWORD)]
        (made / f"{offset:020}-0000000001.checkpoint").write_bytes(batch(*changed))
    (made / f"{0:020}.log").write_bytes(
        batch(SCRAM, PASSWORD)
        + bytes(build_batch([(0, None, SCRAM, ())], base_offset=2, codec="gzip"))
        + b"\0" * 20
        + SCRAM
    )
    return made


LOGS: list[list[Any]] = [
    ["decode", "segment", "LOG", "--format", form, "--records", records, *more]
    for form, records, more in itertools.product(("table", "jsonl"), ("none", "batches", "full"), ([], ["--exact"]))
]
LOGS += [["decode", "batch", "LOG", "--format", form] for form in ("json", "jsonl", "table", "tree", "hexdump")]
LOGS += [["records", "LOG", "--format", form] for form in ("table", "jsonl", "csv")]
LOGS += [
    ["records", "LOG", "--values"],
    ["decode", "segment", "LOG", "--verify"],
    ["snapshot", "inspect", "LOG", "--records"],
]
SNAPSHOTS: list[list[Any]] = [
    *(["inspect", "A", *more] for more in ([], ["--records"], ["--format", "jsonl"], ["--format", "table"])),
    *(["image", "A", "--format", form] for form in ("text", "json", "jsonl")),
    *(["image", "A", "cat", path] for path in ("/image/scram/**", "/image/configs/**")),
    ["image", "A", "tree"],
    *(["diff", "A", "B", "--format", form] for form in ("text", "jsonl")),
    ["verify", "A"],
]


@pytest.mark.parametrize("words", [*LOGS, *(["snapshot", *each] for each in SNAPSHOTS)], ids=" ".join)
def test_logs_and_snapshots(words: list[Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = sorted(folder.glob("*.checkpoint"))
    names = {"LOG": folder / f"{0:020}.log", "A": first, "B": second}
    _, text = run(capsys, *(names.get(word, word) for word in words))
    assert not shows(text) and "T3CRET" not in text, text


def test_a_change_of_a_secret_is_told_by_sizes_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = run(capsys, "snapshot", "diff", *sorted(folder.glob("*.checkpoint")), "--format", "jsonl", "--quiet")
    rows = {row["table"]: row for row in map(json.loads, text.splitlines())}
    assert rows["configs"]["fields"] == {"value": {"from": {"redacted": 35}, "to": {"redacted": 35}}}
    assert set(rows["scramCredentials"]["fields"]) == {"salt"}
    _, text = run(capsys, "snapshot", "diff", *sorted(folder.glob("*.checkpoint")), "--secrets", "--format", "jsonl")
    assert shows(text) and "T3CRET" in text


def test_parquet(capture: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    first = min(folder.glob("*.checkpoint"))
    for name, words in {
        "exchanges.parquet": ("decode", "pcap", capture, "--format", "parquet"),
        "records.parquet": ("decode", "segment", folder / f"{0:020}.log", "--format", "parquet"),
        "image": ("snapshot", "image", first, "--format", "parquet"),
    }.items():
        for how in ((), ("--show-secrets",)):
            run(capsys, *words, "-o", tmp_path / name, *how)
            files = (tmp_path / name).glob("*") if name == "image" else [tmp_path / name]
            rows = [row for file in files for row in parquet.ParquetFile(file).read().to_pylist()]
            assert shows(str(rows).replace("\\x", "")) == bool(how)


def test_values_show_themselves_without(capture: Path, folder: Path) -> None:
    """In Python and in notebooks; the values themselves are exact."""
    log = min(folder.glob("*.checkpoint"))
    shown: list[Any] = [*kcli.read_capture(capture).items(), *kcli.read_segment(log), kcli.read_snapshot(log)]
    shown += [record for batch in kcli.read_segment(log) for record in batch.records()]
    shown += [kcli.decode_request(asked[4:]) for asked, _ in exchanges()]
    shown += [
        kcli.decode_response(answer[4:], *APIS[name]) for name, (_, answer) in zip(APIS, exchanges(), strict=True)
    ]
    shown += [kcli.decode_request(b"\x27\x0f\0\0\0\0\0\1\0\0\0" + RAW)]  # an API that no release has
    shown += [kcli.decode_response(b"\0\0\0\1\0" + RAW, "SaslAuthenticate", 99)]
    for value in shown:
        for text in (repr(value), str(value), value._repr_html_() if hasattr(value, "_repr_html_") else ""):
            assert not shows(text), text
    for how in (False, True):
        table = kcli.read_capture(capture, secrets=how).to_arrow().read_all()
        assert shows(str(table.to_pylist())) is how
    assert any(RAW in (x.request or {}).get("authBytes", b"") for x in kcli.read_capture(capture))
