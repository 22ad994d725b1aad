"""`kcli FILE...`: each kind of file has its screen, its exit code and the next commands."""

import base64
import io
import shutil
import sys
from pathlib import Path

import pytest

from kcli.capture.captured_time import CapturedTime
from kcli.cli.front.captures import cells_of, client_lines, errors_text
from kcli.cli.front.kinds import kind_of
from kcli.cli.front.screens import SCREENS
from kcli.cli.main import main
from kcli.diagnose.overview import Overview
from kcli.file_kinds import kind_of as kind_of_start
from kcli.records import build_batch
from tests.cli.decode.test_message import FETCH
from tests.cli.decode.test_message_formats import produce
from tests.snapshots.quorum.folders import make_node
from tests.test_hex_text import FORMS

CASES = [
    ("java44-txn.pcap", 0, "78 exchanges, 1 broker, 3 clients (2 of them the brokers' own)"),
    ("orders-0", 0, "482 records in 5 batches"),
    ("orders-0/00000000000000000000.log", 0, "offsets 0 to 481"),
    ("__cluster_metadata-0", 0, "topics            28"),
    ("__cluster_metadata-0/00000000000000001496-0000000001.checkpoint", 0, "498 records"),
    ("fetch-cut.hex", 3, "needs 8 bytes at 0x45"),
]


@pytest.mark.parametrize(("name", "code", "words"), CASES)
def test_a_file_has_its_screen(
    samples: Path, name: str, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(samples / name)]) == code
    said = capsys.readouterr()
    assert words in said.out
    assert "\nNext:" in said.out or "Next: " in said.out or code


def test_a_request_with_a_wrong_byte_is_shown_up_to_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = produce(build_batch([(5, b"k", b"v", ())]))
    cut, forged = tmp_path / "cut", tmp_path / "forged"
    cut.write_bytes(FETCH[:8] + FETCH[8:].replace(b"\0\0\0", b"\xff\xff\xff")[:-1])
    at = batch.index(b"\x02", batch.index(b"\xff\xff\xff\xff")) + 1
    forged.write_bytes(batch[:at] + bytes([batch[at] ^ 1]) + batch[at + 1 :])
    text = tmp_path / "text"
    text.write_bytes(base64.b64encode(cut.read_bytes()))
    for path, words in ((cut, "FetchRequest v12: "), (text, "FetchRequest v12: "), (forged, ": crc: ")):
        assert main([str(path)]) == 3
        said = capsys.readouterr()
        assert "correlationId" in said.out and words in said.err


@pytest.mark.parametrize("form", sorted(FORMS.keys() - {"od -An -tu1", "od -td1"}))
def test_a_request_as_other_tools_write_it_is_one(tmp_path: Path, form: str) -> None:
    (tmp_path / "pasted").write_text(FORMS[form])
    assert kind_of(str(tmp_path / "pasted")) == "hex"


@pytest.mark.parametrize(
    "text", ["1, 2, 3\n4, 5, 6\n", "name,size\na,1\n", "hello, world", "[1, 2, 3]", '{"a": [0, 3]}']
)
def test_numbers_and_words_are_no_request(text: str) -> None:
    assert kind_of_start(text.encode()) in (None, "JSON")


def test_other_kinds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = tmp_path / "keys"
    keys.write_text("# made\nCLIENT_RANDOM aa bb\n")
    assert main([str(keys)]) == 0
    said = capsys.readouterr().out
    assert "CLIENT_RANDOM 1" in said and "bb" not in said.replace(str(keys), "")
    for name, data in (("empty", b""), ("text", b"hello, world")):
        (tmp_path / name).write_bytes(data)
        assert main([str(tmp_path / name)]) == 3
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and said.endswith(" of these expected\n")


def test_a_wrong_capture_ends_with_1_and_names_the_culprit(capsys: pytest.CaptureFixture[str]) -> None:
    data = Path(__file__).parents[2] / "diagnose" / "data"
    file = next(path for path in sorted(data.rglob("*.pcap*")) if "slow-broker" in path.name)
    assert main([str(file), "--quiet"]) == 1
    said = capsys.readouterr().out
    assert "  p99 ms*  " in said
    assert "\n* without the time for which a request may wait, such as a Fetch for records " in said
    assert "slow-broker" in said and "\nNext:\n  kcli stats " in said


def test_every_kind_has_a_screen(samples: Path) -> None:
    assert kind_of(str(samples / "orders-0")) in SCREENS
    assert kind_of(str(samples / "java44-txn.pcap")) == "capture"


@pytest.mark.parametrize("options", [["-q"], ["--port", "25201"], ["--dialect", "kip-1018", "-q"]])
def test_options_go_before_or_behind_a_file(
    options: list[str], samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = str(samples / "tls.pcap")
    code = main([capture, *options])
    behind = capsys.readouterr().out
    assert main([*options, capture]) == code
    assert capsys.readouterr().out == behind != ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-q", "decode", "{}"], "No such option '-q'; did you mean: kcli decode -q {}"),
        (["--format", "jsonl", "{}"], "No such option '--format'; did you mean: kcli diagnose --format jsonl {}"),
        (["--nope", "{}"], "No such option '--nope'. (see `kcli FILE --help`)"),
        (["--nope", "nothing"], "No such option '--nope'. (see `kcli --help`)"),
    ],
)
def test_an_option_before_a_file_is_one_of_its_screen(
    words: list[str], said: str, samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = str(samples / "tls.pcap")
    assert main([word.format(capture) for word in words]) == 2
    assert capsys.readouterr().err == f"kcli: {said.format(capture)}\n"


def test_a_missing_file_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such.pcap"]) == 2
    assert "no-such.pcap: no such command or file" in capsys.readouterr().err


def test_a_file_of_something_else_leaves_the_others_read(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "note.txt").write_text("call the night shift")
    assert main([str(tmp_path / "note.txt"), str(samples / "java44-txn.pcap")]) == 3
    said = capsys.readouterr()
    assert "checks over" in said.out
    assert "note.txt: not a kind of file that kcli reads" in said.err


def test_a_narrow_terminal_shows_the_columns_that_matter() -> None:
    """The others go, as a table that a terminal breaks is no table."""
    row = {"client_id": "orders-api", "rate": 14.6, "records": 1.0, "errors": 42, "p99_ms": 87.9, "connections": 2}
    wide = row | {"client_id": "a client with a name that is longer than any line of a terminal"}
    for narrow in (44, 60, 80):
        assert {len(line) for line in [*client_lines([row, wide], narrow)][:3]} == {narrow}
    for room, columns in ((None, 6), (71, 6), (60, 5), (44, 4), (20, 4)):
        lines, left_out = [*client_lines([row], room)][:2], " ".join([*client_lines([row], room)][2:])
        names = [name for name in ("records/request", "connections") if name not in lines[0]]
        assert left_out.startswith(f"left out: {', '.join(names)} (") if names else not left_out
        assert len({len(line) for line in lines}) == 1 and (room is None or len(lines[0]) <= max(room, 43))
        assert len(lines[1].split()) == columns and lines[0].split()[-1] == ("connections" if columns == 6 else "ms*")


def test_long_names_that_differ_at_their_ends_stay_different() -> None:
    names = [f"app-a4585a3a-828f-405f-8c67-138b0d2693e5-StreamThread-1-{each}" for each in ("consumer", "producer")]
    rows = [
        {**dict.fromkeys(("rate", "records", "p99_ms")), "client_id": each, "errors": 0, "connections": 1}
        for each in names
    ]
    _, *lines = client_lines(rows, 60)
    assert "read-1-consumer  " in lines[0] and "read-1-producer  " in lines[1] and max(map(len, lines)) <= 60


def test_a_client_that_only_waits_has_no_measured_latency() -> None:
    row = {"client_id": "web", "rate": 14.6, "records": 1.0, "errors": 0, "p99_ms": 0.0, "connections": 2}
    assert cells_of(row)[4] == "0" and cells_of(row | {"p99_ms": 0.087})[4] == "0.087"


def size(errors: dict[str, int] | None = None, broker_clients: int = 0) -> Overview:
    return Overview(CapturedTime(0, 10**9), 9000, 1, 3, broker_clients, errors or {})


def test_errors_are_named_the_usual_ones_apart() -> None:
    """A client that asks for its member id is no client with a trouble."""
    assert errors_text(size()) == "errors: none"
    assert errors_text(size({"MEMBER_ID_REQUIRED": 3})) == "errors: only usual ones: MEMBER_ID_REQUIRED 3"
    many = {"A": 1200, "MEMBER_ID_REQUIRED": 7, "B": 6, "C": 5, "D": 4, "E": 3, "F": 2}
    assert errors_text(size(many)) == "errors: A 1,200, B 6, C 5, D 4, and 2 more names; usual: MEMBER_ID_REQUIRED 7"
    assert errors_text(size({"A": 1}, broker_clients=2)) == "errors: A 1 (brokers as clients counted, too)"


@pytest.mark.parametrize(("name", "errors"), [("busy-fetch-pricing", False), ("unknown-topic-returns", True)])
def test_errors_on_the_usual_way_are_nothing_to_look_at(
    name: str, errors: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(__file__).parents[2] / "diagnose" / "data" / f"{name}.pcap.zst"
    assert main([str(file), "--quiet"]) == 1
    said = capsys.readouterr().out
    assert "errors: only usual ones: MEMBER_ID_REQUIRED" in said or errors
    assert (f"  kcli decode pcap {file} --errors\n" in said) == errors


def test_a_pipe_is_read_once(
    samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with (samples / "java44-txn.pcap").open("rb") as source:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))
        assert main(["-"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("standard input  capture, 2.1 s from 2026-11-21 ")
    assert "\nNext, with the same on standard input:\n  kcli stats - --by client\n" in said


def test_a_folder_of_several_kinds_is_one_of_captures(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    shutil.copy(samples / "ipv6.pcapng", tmp_path)
    assert main(["sql", "SELECT 1 AS one", str(tmp_path / "ipv6.pcapng"), "-q", "-o", str(tmp_path / "a.parquet")]) == 0
    assert main([str(tmp_path), "-q"]) == 0
    assert "37 exchanges" in capsys.readouterr().out
    (tmp_path / "ipv6.pcapng").unlink()
    assert main([str(tmp_path), "-q"]) == 0
    said = capsys.readouterr().out
    assert "a.parquet  Parquet, 1 row, 1 column" in said and len(said.splitlines()) < 9
    assert main([str(tmp_path / "a.parquet"), "-q"]) == 0
    assert "kcli sql 'SELECT * FROM a LIMIT 20' " in capsys.readouterr().out


def test_a_folder_of_folders_names_those_that_kcli_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for node in ("node1", "node2"):
        (tmp_path / node / "__cluster_metadata-0").mkdir(parents=True)
    (tmp_path / "notes").mkdir()
    assert main([str(tmp_path)]) == 3
    assert capsys.readouterr().err.strip().endswith(f", but in {tmp_path / 'node1'}, {tmp_path / 'node2'}")


def test_several_captures_are_named_in_commands(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = Path(__file__).parents[2] / "diagnose" / "data"
    files = [str(data / "busy-fetch-pricing.pcap.zst"), str(samples / "ipv6.pcapng")]
    assert main(files) == 1
    said = capsys.readouterr().out
    assert said.startswith("2 captures, ") and f"see: kcli stats {' '.join(files)} --by client --by api" in said


def test_an_empty_capture_has_nothing_short_about_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.pcap").write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    assert main([str(tmp_path / "a.pcap")]) == 3
    assert "not judged" not in capsys.readouterr().out


def test_what_the_pipeline_wrote_shows_its_rows_and_findings(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb")
    data = Path(__file__).parents[2] / "diagnose" / "data" / "busy-fetch-pricing.pcap.zst"
    run = ["pipeline", "run", "--engine", "local", "--quiet"]
    for file, name in ((data, "wrong"), (samples / "java44-consume-classic.pcap", "well")):
        assert main([*run, "--input", str(file), "--output", str(tmp_path / name)]) == 0
    capsys.readouterr()
    assert main([str(tmp_path / "wrong")]) == 1
    said = capsys.readouterr().out
    assert "tables of kcli pipeline run: " in said and "exchanges 1,406" in said
    assert "\nwarning   busy-fetch  pricing-cache-1 (" in said and "\nFindings: 1 warning.\n" in said
    assert main([str(tmp_path / "well")]) == 0
    assert "\nFindings: none.\nNext:\n  kcli report " in capsys.readouterr().out


def test_lines_of_json_are_known(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, message = tmp_path / "lines", tmp_path / "message"
    assert main(["decode", "pcap", str(samples / "java44-txn.pcap"), "--format", "jsonl", "-q", "-o", str(lines)]) == 0
    message.write_text('{"requestHeader": {}, "request": {}}')
    for file, command in ((lines, "fetch-session explain"), (message, "encode request")):
        assert main([str(file)]) == 0
        assert f"\nNext:\n  kcli {command} {file}" in capsys.readouterr().out


def test_the_next_commands_of_a_capture_without_exchanges_show_something(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In TLS without keys `stats` and `report` have nothing to judge: exit code 3, and no row."""
    sealed = str(Path(__file__).parents[2] / "capture" / "data" / "tls-1.2-suites.pcap")
    main([sealed])
    assert capsys.readouterr().out.endswith(f"\nNext:\n  kcli decode pcap {sealed}\n")
    assert main(["decode", "pcap", sealed]) == 0 and "encrypted" in capsys.readouterr().out


def test_a_damaged_file_of_a_metadata_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the screen only "DIR: at byte 11087" was left."""
    node = make_node(tmp_path, 1, (1, 50))
    folder = Path(node) / "__cluster_metadata-0"
    last = max(folder.glob("*.log"))
    last.write_bytes(last.read_bytes()[:-7])
    assert main([node]) == 3
    said = capsys.readouterr().out
    assert f"{last} @ byte " in said and "\nNext:\n  kcli snapshot image " in said
    state = folder / "quorum-state"
    state.write_text('{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":1}')
    assert main([str(state)]) == 0 and f"kcli snapshot doctor {node}\n" in capsys.readouterr().out
