"""Lines of a pipe in pieces: what `readline` returns is what a file's own would."""

import asyncio
import io
import os
import threading
import time
from pathlib import Path

import pytest

from kcli.cli.cluster.produce import ArrivingLines, arriving

TEXT = b"one\n\ntwo\r\n" + b"x" * 200_000 + b"\nlast"


async def taken(lines: ArrivingLines, most: int = 1 << 20) -> list[bytes]:
    """Read all lines, each when it is ready."""
    made: list[bytes] = []
    while True:
        await lines.wait()
        if not (line := lines.readline(most)):
            return made
        made.append(line)


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_pieces_of_any_size(size: int) -> None:
    text = TEXT[:20] + b"\nlast" if size == 1 else TEXT
    read, write = os.pipe()

    def feed() -> None:
        for at in range(0, len(text), size):
            os.write(write, text[at : at + size])
        os.close(write)

    feeder = threading.Thread(target=feed)
    feeder.start()
    assert asyncio.run(taken(ArrivingLines(read, 1 << 20))) == [*io.BytesIO(text)]
    feeder.join()
    os.close(read)


def test_a_line_without_end_is_cut() -> None:
    read, write = os.pipe()
    os.write(write, b"abcdefgh")
    lines = ArrivingLines(read, 1 << 20)
    assert lines.readline(5) == b"abcde"
    os.write(write, b"ijklmnop\nq")
    assert lines.readline(5) == b"ijklm"
    os.close(write)
    assert [lines.readline(5), lines.readline(5)] == [b"q", b""]
    os.close(read)


def test_no_more_of_a_line_is_waited_for_than_is_read() -> None:
    read, write = os.pipe()
    os.write(write, b"abcdefgh")
    lines = ArrivingLines(read, 5)
    asyncio.run(asyncio.wait_for(lines.wait(), 10))
    assert lines.readline(5) == b"abcde"
    os.close(write)
    os.close(read)


def test_others_go_on_while_nothing_comes() -> None:
    read, write = os.pipe()

    async def raced() -> float:
        lines = ArrivingLines(read, 1 << 20)
        waiting = asyncio.create_task(lines.wait())
        began = time.monotonic()
        await asyncio.sleep(0.01)
        os.write(write, b"now\n")
        await waiting
        assert lines.readline(9) == b"now\n"
        return time.monotonic() - began

    assert asyncio.run(raced()) >= 0.01
    os.close(read)
    os.close(write)


def test_a_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"x")
    with (tmp_path / "lines").open("rb") as file, Path(os.devnull).open("rb") as nothing:
        assert arriving(file, 9) is None and arriving(nothing, 9) is None
    assert arriving(io.BytesIO(), 9) is None
