"""Text that stands for bytes: hex in the forms that tools print, base64."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from kcli.cli.main import main
from kcli.cli.options.inputs import Format, format_option, read_bytes
from kcli.errors import InputError, UsageError
from kcli.hex_text import unhex
from tests.capture.wires import SAMPLES
from tests.commands import commands

DATA = bytes(range(40))

DUMPS = {
    "digits": DATA.hex(),
    "pairs": DATA.hex(" "),
    "lines": "\n".join(DATA[i : i + 7].hex(" ") for i in range(0, 40, 7)),
    "0x": ", ".join(f"0x{byte:02x}" for byte in DATA),
    "escapes": "".join(f"\\x{byte:02X}" for byte in DATA),
    "xxd": "00000000: 0001 0203 0405 0607 0809 0a0b 0c0d 0e0f  ................\n"
    "00000010: 1011 1213 1415 1617 1819 1a1b 1c1d 1e1f  ................\n"
    "00000020: 2021 2223 2425 2627                       !\"#$%&'\n",
    "hexdump -C": "00000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  |................|\n"
    "00000010  10 11 12 13 14 15 16 17  18 19 1a 1b 1c 1d 1e 1f  |................|\n"
    "00000020  20 21 22 23 24 25 26 27                           | !\"#$%&'|\n"
    "00000028\n",
    "tshark -x": "0000  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f   ................\n"
    "0010  10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f   ................\n"
    "0020  20 21 22 23 24 25 26 27                            !\"#$%&'\n",
}


@pytest.mark.parametrize("text", DUMPS.values(), ids=list(DUMPS))
def test_hex_in_any_form(text: str) -> None:
    assert unhex(text.encode()) == DATA


OD = """0000000 00 03 00 01 00 00 00 02 00 03 61 70 70 00 00 00  >..........app...<
0000020 01 00                                            >..<
0000022
"""
NETTY = """         +-------------------------------------------------+
         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |
+--------+-------------------------------------------------+----------------+
|00000000| 00 03 00 01 00 00 00 02 00 03 61 70 70 00 00 00 |..........app...|
|00000010| 01 00                                           |..              |
+--------+-------------------------------------------------+----------------+
"""
TCPDUMP = """	0x0000:  0003 0001 0000 0002 0003 6170 7000 0000  ..........app...
	0x0010:  0100                                     ..
"""
PASTED = bytes.fromhex("0003000100000002000361707000000001 00")


@pytest.mark.parametrize(
    "text",
    [
        OD,
        OD.replace("  >..........app...<", ""),
        NETTY,
        TCPDUMP,
        "00 03 00 01 # Metadata\n0000 0002 // 2\n# app\n0003 617070\n-- one\n00 00 00 01 00 ; ?",
        "[0, 3, 0, 1, 0, 0, 0, 2, 0, 3, 97, 112, 112, 0, 0, 0, 1, 0]",
        "byte[] b = {0,3,0,1,0,0,0,2,0,3,97,112,112,0,0,0,1,0};",
        "0, 3, 0, 1, 0, 0, 0, 2, 0, 3,\n 97, 112, 112, 0, 0, 0, 1, 0",
    ],
)
def test_what_people_paste(text: str) -> None:
    assert unhex(text.encode()) == PASTED


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("[-1, -128, 127, 255]", "ff807fff"),
        ("[10, 20, 30]", "0a141e"),
        ("[0x0a, 0x14]", "0a14"),
        ("10, 20, 30", "102030"),
        ("00, 03", "0003"),
        ("[00, 03, 12]", "000312"),
        ("1, 2, 300", None),
    ],
)
def test_lists_of_decimal_numbers(text: str, data: str | None) -> None:
    if data is None:
        with pytest.raises(InputError):
            unhex(text.encode())
    else:
        assert unhex(text.encode()) == bytes.fromhex(data)


def test_digits_that_look_like_an_offset_are_data() -> None:
    assert unhex(b"00000012") == bytes.fromhex("00000012")
    assert unhex(b"0001 0011") == bytes.fromhex("00010011")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("00 0g", "line 1, column 5: 'g'"),
        ("00\n1", "line 2, column 1: an odd number of digits in '1'"),
        ("00\n*\n", "line 2: `*` stands for lines"),
        ("[1]", "line 1, column 1: '['"),
        ("00 0x1 12", "line 1, column 4: an odd number of digits in '0x1'"),
        ("00 1x23", "line 1, column 5: 'x'"),
        ("\\x01\\x2\0", "line 1, column 8: '\\x00'"),
    ],
)
def test_what_is_no_hex_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        unhex(text.encode())
    assert said in str(raised.value)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"AAEC\n Aw==")
    assert read_bytes(str(file), base64_=True) == b"\0\1\2\3"
    assert read_bytes(str(file)) == b"AAEC\n Aw=="
    with pytest.raises(InputError, match="x: not hex: line 2"):
        read_bytes(str(file), hex_=True)
    with pytest.raises(UsageError, match="one of them at most"):
        read_bytes(str(file), True, True)
    file.write_bytes(b"A")
    with pytest.raises(InputError, match="x: not base64"):
        read_bytes(str(file), base64_=True)


CAPTURE = str(SAMPLES / "kcat-codecs.pcap")
SNAPSHOT = str(SAMPLES / "__cluster_metadata-0" / "00000000000000000796-0000000001.checkpoint")
# What reads captures prints nothing on standard error under -q.
READERS = [
    ["audit", CAPTURE],
    ["decode", "pcap", CAPTURE],
    ["decode", "pcap", CAPTURE, "--format", "jsonl"],
    ["fetch-session", "explain", CAPTURE],
    ["fetch-session", "lint", CAPTURE],
    ["records", CAPTURE],
    ["stats", CAPTURE],
]


def test_every_command_can_be_quiet() -> None:
    for name, command in commands():
        assert ["-q", "--quiet"] in [option.opts for option in command.params], name


def test_formats_have_the_same_words() -> None:
    """The default depends on nothing, and is text: what a program reads is asked for. Decoded messages are JSON."""
    for name, command in commands():
        for option in command.params:
            if "--format" in option.opts and name not in ("capture", "proxy"):  # which may have no rows
                assert isinstance(option.type, Format), name
                assert {*option.type.choices} <= {"table", "text", "json", "jsonl", "csv", "parquet", "tree", "hexdump"}
                decoded = ("decode request", "decode response", "decode batch", "decode data")
                usual = "json" if name in decoded else ("table", "text")
                assert option.default in usual, name


def test_text_and_table_are_one_word() -> None:
    text, table, line = Format(["text", "jsonl"]), Format(["table", "json"]), Format(["json"])
    assert [text.convert(word, None, None) for word in ("text", "table", "jsonl")] == ["text", "text", "jsonl"]
    assert [table.convert(word, None, None) for word in ("text", "table", "json")] == ["table", "table", "json"]
    assert line.convert("jsonl", None, None) == "json"
    with pytest.raises(click.BadParameter, match="'json' is not one of 'text', 'jsonl'"):
        text.convert("json", None, None)


def takers_of_files() -> list[tuple[str, bool]]:
    """The commands that take several files, and whether directories, too."""
    found = []
    for name, command in commands():
        for param in command.params:
            if isinstance(param, click.Argument) and param.nargs == -1 and "FILE" in (param.metavar or ""):
                found.append((name, "DIR" in (param.metavar or "")))
    return found


NEEDS = {"down-convert": ["--to-magic", "1"], "report": ["-o", "-"], "sql": ["SELECT 1"]}


@pytest.mark.parametrize("name", [name for name, _ in takers_of_files()])
def test_missing_files_are_found_before_work_begins(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing, other = str(tmp_path / "missing"), SNAPSHOT if name == "snapshot verify" else CAPTURE
    for files in ([other, missing], [missing, other]):
        assert main([*name.split(), *NEEDS.get(name, []), *files]) == 3
        said = capsys.readouterr()
        assert said.err == f"kcli: {missing}: No such file or directory\n"
        assert said.out == "" or name == "snapshot verify", "which judges the others"


def test_directories_are_taken_wherever_files_are() -> None:
    assert len(takers_of_files()) > 10
    assert all(directories for _, directories in takers_of_files())


@pytest.mark.parametrize("name", ["audit", "decode pcap", "fetch-session explain", "fetch-session lint", "stats"])
def test_a_directory_is_its_captures(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder" / "below").mkdir(parents=True)
    files = [str(Path("folder") / each) for each in ("a.pcap", "below/b.pcapng")]
    for file, sample in zip(files, ("kcat-codecs.pcap", "ipv6.pcapng"), strict=True):
        Path(file).write_bytes((SAMPLES / sample).read_bytes())
    Path("folder/notes.txt").write_text("not a capture")
    code = main([*name.split(), *files])
    answer = capsys.readouterr().out
    assert main([*name.split(), "folder"]) == code
    assert capsys.readouterr().out == answer
    assert answer or name == "fetch-session lint"


@pytest.mark.parametrize("argv", READERS, ids=" ".join)
def test_a_quiet_reader_says_the_same_and_nothing_else(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = main(argv)
    answer = capsys.readouterr()
    assert main([*argv, "-q"]) == code
    quiet = capsys.readouterr()
    assert (quiet.out, quiet.err) == (answer.out, "")


@pytest.mark.parametrize(("default", "made"), [("table", "table"), (None, None)])
def test_a_choice_of_formats(default: str | None, made: str | None) -> None:
    @click.command()
    @format_option(("table", "jsonl"), "How.", default=default)
    def show(format_: str | None) -> None:
        assert format_ == made

    show.main([], standalone_mode=False)
    option, pager = show.params
    assert isinstance(option, click.Option) and option.help == "How." and option.show_default is (default is not None)
    assert pager.opts == ["--no-pager"]
    with pytest.raises(click.BadParameter, match="'yaml' is not one of 'table', 'jsonl'"):
        show.main(["--format", "yaml"], standalone_mode=False)


@pytest.mark.parametrize("size", ["12", "0", "63k", "65535"])
def test_memory_without_its_unit_is_refused(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", str(SAMPLES / "kcat-codecs.pcap"), "--memory", size]) == 2
    said = capsys.readouterr().err
    assert "at least 64k expected" in said and (f"is {size}M meant?" in said) == size.isdecimal()


def test_memory_that_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    for size in ("64k", "65536", "12M"):
        assert main(["stats", str(SAMPLES / "kcat-codecs.pcap"), "--memory", size]) == 0
    assert "TOPIC" in capsys.readouterr().out.upper()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["compare", "-", "-"], "BEFORE and AFTER: only one of them can be standard input"),
        (["snapshot", "diff", "-", "-"], "A and B: only one of them can be standard input"),
        (["stats", str(SAMPLES / "ipv6.pcapng"), "--key-log", "-"], "standard input: not read here (a file expected)"),
    ],
)
def test_standard_input_is_read_once(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) in (2, 3)
    assert capsys.readouterr().err == f"kcli: {why}\n"
