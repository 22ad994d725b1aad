"""TLS through the pipeline: the rows are those of `kcli decode pcap --key-log`, however the files are cut."""

import struct
from pathlib import Path

import pytest

from tests.capture import messages
from tests.capture.tls.traffic import Talk
from tests.capture.wires import DATA, block, packets_of, pcap
from tests.pipeline.outputs import assert_decoded, rows_of, run_here, unaccounted

KEYS = str(DATA / "tls-resumed.keys")


@pytest.mark.parametrize("shares", [0, 2])
@pytest.mark.parametrize("name", ["tls-1.2-suites", "tls-resumed"])
def test_the_rows_are_those_of_decode_pcap(tmp_path: Path, name: str, shares: int) -> None:
    path, keys = DATA / f"{name}.pcap", (str(DATA / f"{name}.keys"),)
    run_here([path], tmp_path / "out", shares=shares, key_logs=keys)
    assert_decoded(tmp_path / "out", [path], keys)
    assert unaccounted(tmp_path / "out") == 0


def test_a_file_that_is_dealt_out_brings_its_keys(tmp_path: Path) -> None:
    path = with_secrets(tmp_path)
    run_here([path], tmp_path / "out", range_bytes=50_000, shares=3)
    assert_decoded(tmp_path / "out", [path])
    assert len(rows_of(tmp_path / "out", "exchanges")) == 53
    assert unaccounted(tmp_path / "out") == 0


def with_secrets(folder: Path) -> Path:
    """The capture of resumed sessions as pcapng, with its key log in a Decryption Secrets Block."""
    secrets = Path(KEYS).read_bytes()
    made = block("<", 0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    made += block("<", 1, struct.pack("<HHI", 1, 0, 0))
    made += block("<", 10, struct.pack("<II", 0x544C534B, len(secrets)) + secrets)
    for ns, data, _ in packets_of(DATA / "tls-resumed.pcap"):
        at = ns // 1000
        made += block("<", 6, struct.pack("<IIIII", 0, at >> 32, at & 0xFFFFFFFF, len(data), len(data)) + data)
    path = folder / "made.pcapng"
    path.write_bytes(made)
    return path


@pytest.mark.parametrize("suite", [None, "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA"])
def test_a_connection_goes_on_in_a_later_run(tmp_path: Path, suite: str | None) -> None:
    talk = Talk(tmp_path, suite=suite, mtu=300).shake_hands()
    for number in range(1, 9):
        talk.exchange(messages.metadata(number))
    packets = talk.wire.close().packets
    keys = (str(talk.key_log),)
    for cut in (4, 6, 9, len(packets) // 2, len(packets) - 4):
        files = [tmp_path / f"{cut}-a.pcap", tmp_path / f"{cut}-b.pcap"]
        files[0].write_bytes(pcap(packets[:cut]))
        files[1].write_bytes(pcap(packets[cut:]))
        output = tmp_path / f"out-{cut}"
        for file in files:
            run_here([file], output, key_logs=keys)
        assert_decoded(output, files, keys)
        assert unaccounted(output) == 0
        assert sum(row["carried_bytes"] for row in rows_of(output, "lineage") if row["scope"] != "file") == 0
        kept = [path for path in output.rglob("*") if path.is_file()]
        secret = talk.secret("CLIENT_TRAFFIC_SECRET_0" if suite is None else "CLIENT_RANDOM")
        assert not any(secret in path.read_bytes() or secret.hex().encode() in path.read_bytes() for path in kept)
