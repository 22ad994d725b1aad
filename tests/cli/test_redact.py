"""`kcli redact` as a person and a script see it."""

import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.capture.wires import SAMPLES
from tests.inside import kcli

KCAT, TLS = SAMPLES / "kcat-codecs.pcap", SAMPLES / "tls.pcap"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def key(tmp_path: Path) -> str:
    path = tmp_path / "key"
    path.write_bytes(bytes(range(32)))
    return str(path)


def stats(file: Path, capsys: Capture, *words: str) -> list[dict[str, object]]:
    capsys.readouterr()
    assert main(["stats", str(file), "--format", "jsonl", "-q", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_statistics_stay(tmp_path: Path, key: str, capsys: Capture) -> None:
    out = tmp_path / "out.pcapng"
    assert main(["redact", str(KCAT), "-o", str(out), "--key", key]) == 0
    said = capsys.readouterr()
    assert said.out == "" and said.err == "297 packets written, with 77 exchanges\n"
    assert stats(out, capsys) == stats(KCAT, capsys)
    before, after = (stats(file, capsys, "--by", "client", "--by", "topic") for file in (KCAT, out))
    figures = [[{**row, "client": None, "topic": None} for row in rows] for rows in (before, after)]
    assert sorted(map(str, figures[0])) == sorted(map(str, figures[1])) and before != after
    assert [path.name for path in tmp_path.iterdir()].count("out.pcapng") == 1 and len([*tmp_path.iterdir()]) == 2


def test_lint_and_explain_say_the_same(tmp_path: Path, key: str, capsys: Capture) -> None:
    capture, out = SAMPLES / "java44-consume-classic.pcap", tmp_path / "out.pcapng"
    assert main(["redact", str(capture), "-o", str(out), "--key", key, "-q"]) == 0
    said = []
    for file in (capture, out):
        codes = [main(["fetch-session", word, str(file), "--format", "jsonl"]) for word in ("lint", "explain")]
        said.append((codes, [len(line) for line in capsys.readouterr().out.splitlines()]))
    assert said[0] == said[1]


def test_kinds_may_be_kept(tmp_path: Path, key: str, capsys: Capture) -> None:
    out = tmp_path / "out.pcapng"
    assert (
        main(["redact", str(KCAT), "-o", str(out), "--key", key, "--keep", "topics,clients", "--keep", "addresses"])
        == 0
    )
    for column in ("topic", "client", "connection"):
        assert stats(out, capsys, "--by", column) == stats(KCAT, capsys, "--by", column)
    assert stats(out, capsys, "--by", "group") != stats(KCAT, capsys, "--by", "group")


def test_tls(tmp_path: Path, capsys: Capture) -> None:
    out, keys = tmp_path / "out.pcapng", str(SAMPLES / "tls.keys")
    assert main(["redact", str(TLS), "-o", str(out), "--key-log", keys]) == 0
    said = capsys.readouterr().err
    assert "with 38 exchanges; 7 TLS connections decrypted, in the clear now" in said
    assert "left out: 9 TLS connections without keys" in said
    decrypted = {row["api"]: row["exchanges"] for row in stats(TLS, capsys, "--key-log", keys)}
    assert {row["api"]: row["exchanges"] for row in stats(out, capsys)} == decrypted


def test_several_files_and_standard_output(tmp_path: Path, key: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    files = [str(KCAT), str(SAMPLES / "ipv6.pcapng")]
    assert main(["redact", *files, "-o", "-", "--key", key, "-q"]) == 0
    data = capfdbinary.readouterr().out
    assert main(["redact", *files, "-o", str(tmp_path / "out"), "--key", key, "-q"]) == 0
    assert (tmp_path / "out").read_bytes() == data and data[:4] == b"\x0a\x0d\x0d\x0a"


def test_damage_is_reported_and_the_rest_written(tmp_path: Path, capsys: Capture) -> None:
    cut, out = tmp_path / "cut.pcap", tmp_path / "out.pcapng"
    cut.write_bytes(KCAT.read_bytes()[:-10])
    assert main(["redact", str(cut), "-o", str(out)]) == 3
    assert "the file ends in the middle of a packet" in capsys.readouterr().err
    assert sum(int(str(row["exchanges"])) for row in stats(out, capsys)) == 77


def test_no_capture_leaves_the_output_alone(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out.pcapng"
    out.write_bytes(b"there before")
    assert main(["redact", str(SAMPLES / "README.md"), "-o", str(out)]) == 3
    assert out.read_bytes() == b"there before" and "not a capture" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--keep", "topics,records"], "--keep records: no such kind (topics, groups, clients, "),
        (["--key", "KEY"], "KEY: 3 bytes (16 or more expected)"),
    ],
)
def test_wrong_usage(words: list[str], said: str, tmp_path: Path, capsys: Capture) -> None:
    short = tmp_path / "short"
    short.write_bytes(b"key")
    words = [str(short) if word == "KEY" else word for word in words]
    assert main(["redact", str(KCAT), "-o", str(tmp_path / "out"), *words]) == 2
    assert said.replace("KEY", str(short)) in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_key_from_standard_input(tmp_path: Path, key: str) -> None:
    outs = [tmp_path / name for name in ("file", "input", "other")]
    same, other = Path(key).read_bytes(), bytes(range(1, 33))
    for out, words, given in zip(outs, (key, "-", "-"), (b"", same, other), strict=True):
        assert kcli("redact", str(KCAT), "-o", str(out), "-q", "--key", words, stdin=given).returncode == 0
    first, second, third = (out.read_bytes() for out in outs)
    assert first == second != third
    both = kcli("redact", "-", "-o", str(tmp_path / "no"), "--key", "-", stdin=same)
    assert both.returncode == 2 and "standard input is the capture already" in both.stderr
    long = kcli("redact", str(KCAT), "-o", str(tmp_path / "no"), "--key", "-", stdin=bytes(2**20 + 1))
    assert long.returncode == 2 and "a key expected" in long.stderr and not (tmp_path / "no").exists()


def test_inputs_are_not_written_over(tmp_path: Path, key: str, capsys: Capture) -> None:
    capture = tmp_path / "in.pcap"
    capture.write_bytes(KCAT.read_bytes())
    for output in (str(capture), key):
        assert main(["redact", str(capture), "-o", output, "--key", key]) == 2
        assert "is the input" in capsys.readouterr().err
    assert capture.read_bytes() == KCAT.read_bytes()


def test_a_capture_is_not_for_a_terminal(terminal: object, capsys: Capture) -> None:
    terminal(80)  # type: ignore[operator]
    assert main(["redact", str(KCAT), "-o", "-"]) == 2
    assert "not for a terminal" in capsys.readouterr().err
