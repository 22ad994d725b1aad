"""A file of another kind, given to every command that reads files."""

import io
import os
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.records import build_batch
from tests.capture.wires import SAMPLES
from tests.commands import commands
from tests.inside import kcli

LOG = SAMPLES / "orders-0" / "00000000000000000000.log"
KINDS = {"capture": "a capture", "hex": "hex text", "JSON": "JSON", "batches": "record batches"}
# What commands read of these, by the first words of their names; others with a FILE read captures.
READS = {
    "check batch": {"batches"}, "check request": set[str](),
    "decode batch": {"batches"}, "decode data": set[str](), "decode re": set[str](), "decode segment": {"batches"},
    "down-convert": {"batches"},
    "diff": {"batches"},
    "encode": {"JSON"}, "fetch-session": {"capture", "JSON"}, "records": {"capture", "batches"}, "send": {"JSON"},
    "snapshot diff": {"batches"}, "snapshot i": {"batches"}, "sql": {"capture", "batches"},
}  # fmt: skip
# These read no such files, or (top) only on a terminal.
OTHERS = ("broker", "capture", "completion", "pipeline", "produce", "proxy", "schema", "snapshot", "top")
WORDS = {
    "decode data": "ConsumerProtocolSubscription",
    "decode response": "--api Fetch --api-version 12", "down-convert": "--to-magic 1 -o OUT", "redact": "-o OUT",
    "report": "-o OUT", "send": "--bootstrap 127.0.0.1:1", "snapshot extract": "-o .",
}  # fmt: skip


def readers() -> list[tuple[str, str]]:
    """Commands, each with a kind of file that it does not read."""
    found = []
    for name, _ in commands():
        reads = next((kinds for start, kinds in READS.items() if name.startswith(start)), None)
        if reads is None and name.startswith(OTHERS) and name != "snapshot extract":
            continue
        found += [(name, kind) for kind in KINDS if kind not in (reads or {"capture"})]
    return found


@pytest.mark.parametrize(("name", "kind"), readers())
def test_a_file_of_another_kind_is_recognized(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what it is, and nothing is written."""
    if name == "sql":
        pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "given"
    samples = {"capture": SAMPLES / "java44-txn.pcap", "hex": SAMPLES / "fetch-cut.hex", "batches": LOG}
    path.write_bytes(samples[kind].read_bytes() if kind in samples else b'{"requestHeader": {}}\n')
    query = ["FROM exchanges"] if name == "sql" else []
    other = [str(LOG)] if "diff" in name else [str(SAMPLES / "java44-txn.pcap")] if name == "compare" else []
    assert main([*name.split(), *WORDS.get(name, "").split(), *query, str(path), *other]) == 3
    said = capsys.readouterr()
    assert KINDS[kind] in said.err and said.err.startswith(f"kcli: {path}: ") and said.err.count("\n") == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["given"]


@pytest.mark.parametrize(
    "command",
    [
        "encode request", "encode batch", "decode request", "decode batch", "send --bootstrap localhost:1",
        f"diff message {SAMPLES}/ipv6.pcapng", f"diff batch {LOG}",
    ],
)  # fmt: skip
def test_no_bytes_are_no_input(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO())))
    assert main([*command.split(), "-"]) == 3
    assert capsys.readouterr().err.startswith("kcli: standard input: no bytes: ")


@pytest.mark.parametrize("command", ["snapshot inspect", "snapshot image", "snapshot diff"])
def test_an_empty_snapshot_is_none(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """But a segment may be empty."""
    for name, code in (("x.checkpoint", 3), ("00000000000000000000.log", 0)):
        path = tmp_path / name
        path.touch()
        assert main([*command.split(), *[str(path)] * (1 + command.endswith("diff"))]) == code
        said = capsys.readouterr().err
        assert (said == f"kcli: {path}: no snapshot (empty)\n") == (code == 3)


@pytest.mark.parametrize("command", ["inspect", "image", "diff", "check --against 3.9"])
def test_an_empty_pipe_or_folder_is_no_snapshot(command: str, tmp_path: Path) -> None:
    """Where the newest snapshot of a folder has no byte, too: a node does not load it."""
    (folder := tmp_path / "__cluster_metadata-0").mkdir()
    (folder / "00000000000000000100-0000000001.checkpoint").touch()
    words = command.split() + [os.devnull] * command.startswith("diff")
    for given in ("-", os.devnull, str(folder)):
        done = kcli("snapshot", *words, given)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.endswith(": no snapshot (empty)\n") and done.stderr.count("\n") == 1


def test_batches_may_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = build_batch([(5, None, b"v", ())])
    (tmp_path / "batch").write_bytes(batch)
    assert main(["check", "batch", str(tmp_path / "batch")]) == 0
    assert main(["check", "request", str(tmp_path / "batch")]) == 3
    assert "no message (record batches: kcli decode segment reads that)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "stats", "decode segment", "decode request", "encode batch", "snapshot image", "snapshot verify", "compare x",
        "diff batch", "down-convert --to-magic 1 -o out", "decode pcap x --key-log", "redact x -o out --key",
        "records --bootstrap localhost:1 --topic t --config",
    ],
)  # fmt: skip
def test_a_device_without_an_end_is_not_read(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It filled the memory."""
    monkeypatch.chdir(tmp_path)
    Path("x").write_bytes((SAMPLES / "ipv6.pcapng").read_bytes())
    Path("link").symlink_to("/dev/zero")
    done = kcli(*command.split(), "link", *["link"] * (command == "diff batch"))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "kcli: link: a device without an end (a file or a pipe expected)\n"
    assert sorted(path.name for path in Path().iterdir()) == ["link", "x"]
