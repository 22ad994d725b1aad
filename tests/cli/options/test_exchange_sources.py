import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.fetch_capture import write_capture
from kcli.cli.options.exchange_sources import holds_rows, need_captures, rows
from kcli.errors import InputError, UsageError


def test_what_a_file_holds(tmp_path: Path) -> None:
    lines, packed, capture, broken = (tmp_path / name for name in ("a.jsonl", "a.gz", "a.pcap", "b.gz"))
    lines.write_text('\n {"event": "gap"}\n')
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    write_capture(capture, sessions=1, partitions=2, fetches=2, changes=1)
    broken.write_bytes(b"\x1f\x8bnothing of the kind")
    assert [holds_rows(str(path)) for path in (lines, packed, capture, broken)] == [True, True, False, False]
    assert [row for _, row in rows(str(packed))] == [{"event": "gap"}]
    need_captures([str(capture), str(broken)], "captures only")
    for other in (str(lines), str(packed), "-"):
        with pytest.raises(UsageError, match="captures only"):
            need_captures([str(capture), other], "captures only")


def test_a_gzip_that_is_damaged_inside(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    data = bytearray(gzip.compress(b"".join(b'{"a": %d}\n' % number for number in range(20_000))))
    data[12] ^= 0xFF
    path.write_bytes(data)
    assert not holds_rows(str(path))
    *_, (_, error) = rows(str(path))
    assert isinstance(error, InputError) and "after line " in str(error)


def test_lines_that_are_no_objects_do_not_stop_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n\n[1]\n{"b":\n\xff\n{"c": 2}\n')
    found = dict(rows(str(path)))
    assert found[1] == {"a": 1} and found[6] == {"c": 2} and 2 not in found
    for number in (3, 4, 5):
        assert isinstance(found[number], InputError) and f"line {number}: " in str(found[number])


def test_a_gzip_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 2000)[:-9])
    found = [row for _, row in rows(str(path))]
    assert isinstance(found[-1], InputError)


@pytest.mark.parametrize(
    "data", [b'{"a": 1}\n' * 30_000, b"\xd4\xc3\xb2\xa1" + bytes(100_000)], ids=["rows", "capture"]
)
def test_standard_input_is_looked_at_and_still_all_there(data: bytes) -> None:
    program = (
        "import sys; from kcli.cli.options.exchange_sources import holds_rows\n"
        "holds = holds_rows('-')\n"
        "data = sys.stdin.buffer.read()\n"
        "sys.stdout.write(f'{holds} {len(data)} {data[:9]!r}')"
    )
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=True)
    assert done.stdout.decode() == f"{data[:1] == b'{'} {len(data)} {data[:9]!r}"
