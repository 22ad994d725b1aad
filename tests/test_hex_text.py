"""Hex text as other tools and languages write it."""

import json

import pytest

from kcli.errors import InputError
from kcli.hex_text import is_dump, unhex

DATA = bytes.fromhex("000300010000000200036170700000000100") + b"\xff\x7f'"
ROWS = [(at, DATA[at : at + 16]) for at in range(0, len(DATA), 16)]
SEGMENT = (
    bytes.fromhex("4500") + (52 + len(DATA)).to_bytes(2, "big") + bytes.fromhex("0001000040060000 0a000001 0a000002")
    + bytes.fromhex("9c402384 00000001 00000001 8018 0200 0000 0000 0101080a 00000001 00000002") + DATA
)  # fmt: skip


def words(data: bytes) -> str:
    """As hexdump has them: each with its second byte first, of the last odd one with a zero."""
    return " ".join((data[at : at + 2] + b"\0")[:2][::-1].hex() for at in range(0, len(data), 2))


def rows_of(data: bytes, offset: str) -> str:
    """Lines of a dump, each with its offset and the text of its bytes, all dots."""
    starts = range(0, len(data), 16)
    return "".join(f"{offset.format(at)}{data[at : at + 16].hex(' '):<47}   ....\n" for at in starts)


SHORT = SEGMENT[:2] + b"\0\x2a" + SEGMENT[4:32] + b"\x50" + SEGMENT[33:40] + b"\0\3"  # with two bytes of payload
HEAD = bytes(range(16)).hex(" ").upper()  # of Format-Hex
FORMS = {
    "C": "unsigned char packet[] = {\n  " + ", ".join(f"0x{each:02x}" for each in DATA) + "\n};\nint n = 21;\n",
    "Go": "[]byte{" + ", ".join(f"0x{each:x}" for each in DATA) + "}",
    "Rust": "let b: [u8; 21] = [" + ", ".join(f"0x{each:02X}" for each in DATA) + "];",
    "Python": repr(DATA),
    "a string of C": '"' + "".join(f"\\x{each:02x}" for each in DATA) + '"',
    "an escaped string of Wireshark": '" \\\n"'.join("".join(f"\\x{each:02x}" for each in row) for _, row in ROWS).join(
        '""'
    )
    + "\n",
    "strings of C": 'char p[] = "' + '"\n  "'.join("".join(f"\\x{each:02x}" for each in row) for _, row in ROWS) + '";',
    "escapes of a log": repr(DATA)[2:-1],
    "Java with casts": "new byte[] {" + ", ".join(f"{'(byte) ' * (each > 127)}0x{each:02x}" for each in DATA) + "};",
    "Java's numbers with casts": "{" + ", ".join(f"{'(byte)' * (each > 127)}{each}" for each in DATA) + "}",
    "Kotlin": "byteArrayOf(" + ", ".join(f"0x{each:02x}{'.toByte()' * (each > 127)}" for each in DATA) + ")",
    "Node's JSON": json.dumps({"type": "Buffer", "data": list(DATA)}),
    "Node's Buffer": f"<Buffer {DATA.hex(' ')}>",
    "Uint8Array": f"Uint8Array({len(DATA)}) [\n  " + ",\n  ".join(map(str, DATA)) + "\n]",
    ".NET": DATA.hex("-").upper(),
    "od -Ax -tx1z": "".join(f"{at:06x} {row.hex(' '):<47}  >text<\n" for at, row in ROWS) + "000015\n",
    "od -Ad -tx1": "".join(f"{at:07d} {row.hex(' ')}\n" for at, row in ROWS) + "0000021\n",
    "hexdump": "".join(f"{at:07x} {words(row)}\n" for at, row in ROWS) + "0000015\n",
    "tcpdump -x": "12:00:00.000001 IP 10.0.0.1.40000 > 10.0.0.2.9092: Flags [P.], length 21\n"
    + "".join(f"\t0x{at:04x}:  {SEGMENT[at : at + 16].hex(' ', 2)}\n" for at in range(0, len(SEGMENT), 16)),
    "tcpdump -XX -e": "2026-01-02 12:00:00.000001 00:00:00:00:00:01 > 00:00:00:00:00:02, ethertype IPv4\n"
    "    10.0.0.1.40000 > 10.0.0.2.9092: Flags [P.], seq 1:22\n"
    + rows_of(bytes(12) + b"\x08\0" + SEGMENT, "\t0x{:04x}:  "),
    "tshark -x": rows_of(bytes(12) + b"\x81\0\0\5\x08\0" + SEGMENT, "{:04x}  "),
    "tcpdump of IPv6": "IP6 ::1.40000 > ::1.9092: Flags [P.]\n"
    + rows_of(
        b"\x60\0\0\0" + (32 + len(DATA)).to_bytes(2, "big") + b"\6\x40" + bytes(32) + SEGMENT[20:], "\t0x{:04x}:  "
    ),
    "Java": str([each - 256 if each > 127 else each for each in DATA]),
    "Go's %v": "[" + " ".join(map(str, DATA)) + "]",
    "Erlang": "<<" + ",".join(map(str, DATA)) + ">>",
    "od -An -tu1": "".join("".join(f"{each:4}" for each in row) + "\n" for _, row in ROWS),
    "od -td1": "".join(f"{at:07o}" + "".join(f"{(each ^ 128) - 128:5}" for each in row) + "\n" for at, row in ROWS)
    + "0000025\n",
    "a bytearray": f"data = bytearray({DATA!r})",
    "C with comments": "char p[] = {\n"
    + "".join(f"  {', '.join(map(hex, row))}, /* .*.. */\n" for _, row in ROWS)
    + "};",
    "a comment of C": "/* a request\n   of a client */\n" + DATA.hex(),
    "Markdown": f"```\n{DATA.hex(' ')}\n```\n",
    "a mail": "".join(f"> {row.hex(' ')}\n" for _, row in ROWS),
    "hexyl": "┌────────┬─────────────────────────┬─────────────────────────┬────────┬────────┐\n"
    "│\x1b[90m00000000\x1b[0m│ 00 03 00 01 00 00 00 02 ┊ 00 03 61 70 70 00 00 00 │⋄•⋄•⋄⋄⋄•┊⋄•app⋄⋄⋄│\n"
    "│\x1b[90m00000010\x1b[0m│ 01 00 ff 7f 27          ┊                         │•⋄×•'   ┊        │\n"
    "└────────┴─────────────────────────┴─────────────────────────┴────────┴────────┘\n",
    "hexyl --border ascii": "+--------+-------------------------+-------------------------+--------+--------+\n"
    "|00000000| 00 03 00 01 00 00 00 02 | 00 03 61 70 70 00 00 00 |0.0.000.|0.app000|\n"
    "|00000010| 01 00 ff 7f 27          |                         |.0|# 1  |        |\n"
    "+--------+-------------------------+-------------------------+--------+--------+\n",
    "hexyl --border none": "\n 00000000  00 03 00 01 00 00 00 02   00 03 61 70 70 00 00 00  0.0.000. 0.app000 \n"
    " 00000010  01 00 ff 7f 27                                     .0x.'             \n",
    "hexyl -P --panels 1": "".join(f"│ {DATA[at : at + 8].hex(' '):<24}│01 ab 23│\n" for at in range(0, len(DATA), 8)),
    "Format-Hex 5": "\r\n\r\n           Path: C:\\kcli\\request.bin\r\n\r\n           "
    + HEAD
    + "\r\n\r\n"
    + "".join(f"{at:08X}   {row.hex(' ').upper():<47}  01 AB...........\r\n" for at, row in ROWS),
    "Format-Hex 7": "\n   Label: Byte[] (System.Byte[]) <2A1B>\n\n          Offset Bytes   Ascii\n                 "
    + HEAD
    + f"\n          ------ {'-' * 47} -----\n"
    + "".join(f"{at:016X} {row.hex(' ').upper():<47} 01 AB...........\n" for at, row in ROWS)
    + "\n",
    "octal escapes": "".join(f"\\{each:03o}" for each in DATA),
    "protobuf's text": '"' + "".join(chr(each) if each in b"app" else f"\\{each:03o}" for each in DATA) + '"',
    "Java's string": '"' + "".join(f"\\u{each:04x}" for each in DATA) + '"',
    "JSON's string": '"' + "".join(chr(each) if each in b"app" else f"\\u{each:04X}" for each in DATA) + '"',
    "PostgreSQL": f"\\x{DATA.hex()}",
    "SQL": f"X'{DATA.hex()}'",
    "YAML": "request:\n  bytes:\n" + "".join(f"  - {each}\n" for each in DATA),
    "a field of JSON": json.dumps({"data": DATA.hex()}),
    "a variable of JSON": json.dumps({"topic": "t", "bytes": list(DATA)}),
    "numbers by their index": "".join(f"{at} = {(each ^ 128) - 128}\n" for at, each in enumerate(DATA)),
    "Elixir": "<<" + ", ".join(f"0x{each:02X}" for each in DATA) + ">>",
    "Rust's {:02x?}": "[" + ", ".join(f"{each:02x}" for each in DATA) + "]",
    "vec!": f"vec!{list(DATA)}",
    "gdb's p": "$1 = {" + ", ".join(map(str, DATA)) + "}",
    "gdb's x/db": "".join(
        f"0x7ffe{at:04x} <req+{at}>:\t" + "\t".join(str((each ^ 128) - 128) for each in row) + "\n" for at, row in ROWS
    ),
    "fromhex": f"bytes.fromhex('{DATA.hex()}')",
    "strace": 'write(7, "' + "".join(f"\\x{each:02x}" for each in DATA) + f'", {len(DATA)}) = {len(DATA)}',
    "WinDbg": "".join(
        f"0000020a`4f6c{at:04x}  {row[:8].hex(' ') + '-' + row[8:].hex(' '):<47}  ....ab.0\n" for at, row in ROWS
    ),
    "od -b": "".join(f"{at:07o}" + "".join(f" {each:03o}" for each in row) + "\n" for at, row in ROWS) + "0000025\n",
    "od -c": "0000000  \\0 003  \\0 001  \\0  \\0  \\0 002  \\0 003   a   p   p  \\0  \\0  \\0\n"
    "0000020 001  \\0 377 177   '\n0000025\n",
    "od -x": "".join(f"{at:07o} {words(row)}\n" for at, row in ROWS) + "0000025\n",
    "xxd -e": "00000000: 01000300 02000000 70610300 00000070  ..........app...\n"
    "00000010: 7fff0001       27                    ....'\n",
    "xxd -b": "".join(
        f"{at:08x}: {' '.join(f'{each:08b}' for each in DATA[at : at + 6]):<53}  ....\n" for at in range(0, 21, 6)
    ),
    "Kafka's log": "".join(
        f"[2026-01-02 03:04:05,1{at:02}] DEBUG {at:08x}  {row.hex(' ')} (k.Log)\n" for at, row in ROWS
    ),
    "journalctl": "".join(
        f"2026-01-02T03:04:0{at // 16}+0000 node kafka[42]: {at:08x}: {row.hex(' ', 2):<39}  {{1,2}}...........\n"
        for at, row in ROWS
    ),
    "docker compose": "".join(f"kafka-1  | {row.hex()}\n" for _, row in ROWS),
    "a line of a log": f"12:00:00 DEBUG sends {DATA.hex()} to node 1",
    "a URL": "".join(f"%{each:02X}" for each in DATA),
    "comments": "-- header\n" + DATA[:4].hex(" ") + " -- key, version\n" + DATA[4:].hex(" ") + " // the rest\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_what_others_write(form: str) -> None:
    assert unhex(FORMS[form].encode()) == DATA


@pytest.mark.parametrize(
    "text",
    [
        "00000000  61 62 61 62 61 62 61 62  61 62 61 62 61 62 61 62  |abababababababab|\n*\n00000030  63\n00000031\n",
        (
            "0000000 6261 6261 6261 6261 6261 6261 6261 6261\n0000020 6261 6261 6261 6261 6261 6261 6261 6261\n*\n"
            "0000060 0063\n0000061\n"
        ),
        "00000000: 6162 6162 6162 6162 6162 6162 6162 6162  abababababababab\n*\n00000030: 63" + " " * 39 + "c\n",
    ],
)
def test_equal_lines_that_were_left_out_are_put_back(text: str) -> None:
    assert unhex(text.encode()) == b"ab" * 24 + b"c"


def test_equal_lines_are_put_back_up_to_the_size_of_a_message() -> None:
    row = "00000000  61 62 61 62 61 62 61 62  61 62 61 62 61 62 61 62  |abababababababab|\n*\n"
    with pytest.raises(InputError, match="stands for"):
        unhex(f"{row}fffffffffff0\n".encode())


def test_a_string_that_strace_cut_is_refused() -> None:
    with pytest.raises(InputError, match="was cut"):
        unhex(rb'write(7, "\0\3\0\1\x00\x00"..., 512) = 512')


def test_powershell_writes_utf_16() -> None:
    assert unhex(FORMS["Format-Hex 5"].encode("utf-16")) == DATA


@pytest.mark.parametrize(
    ("form", "old", "new", "why"),
    [
        ("hexyl", "│\x1b[90m00000010\x1b[0m│", "│*       │", "line 3: `\\*` stands for lines"),
        ("tcpdump -x", "0x0020:", "0x0030:", "line 4: offset 0030 \\(0020 expected"),
        ("Format-Hex 7", "00 03", "00 3", "pairs of digits expected"),
    ],
)
def test_lines_that_were_left_out_are_told(form: str, old: str, new: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        unhex(FORMS[form].replace(old, new).encode())


def test_a_short_frame_of_ethernet_is_filled_up() -> None:
    frame = bytes(12) + b"\x08\0" + SHORT + bytes(46 - len(SHORT))
    assert unhex(frame.hex().encode()) == SHORT[40:]
    assert unhex((frame + b"\0").hex().encode()) == frame + b"\0"


def test_digits_in_front_are_an_offset_only_where_a_text_follows() -> None:
    assert unhex(b"000000 01 02") == bytes.fromhex("0000000102")
    assert unhex(b"000000 01 61  >.a<") == b"\1a"


def test_a_dump_is_told_by_its_offsets() -> None:
    for form in ("od -Ax -tx1z", "od -Ad -tx1", "hexdump"):
        assert is_dump(FORMS[form].encode())
    assert not is_dump(DATA.hex(" ").encode())


@pytest.mark.parametrize(
    "text", ["'\\x0'", '"no escape"', "[0x00, 300]", "<Buffer 0>", "b'\\x00' + x", "0x000", "1 300", "1 03 2"]
)
def test_what_is_none_of_them_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not hex"):
        unhex(text.encode())


def test_two_packets_are_not_one() -> None:
    with pytest.raises(InputError, match="line 7: another packet begins"):
        unhex(FORMS["tcpdump -x"].encode() * 2)
