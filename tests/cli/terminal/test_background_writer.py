"""A file written in a thread: all of it, in order, and what went wrong is raised."""

from __future__ import annotations

import errno
import io

import pytest

from kcli.cli.terminal.background_writer import MOST_WAITING, BackgroundWriter


def test_all_is_there_when_it_is_left() -> None:
    out = io.BytesIO()
    with BackgroundWriter(out, lambda: None) as writer:
        for number in range(5 * MOST_WAITING):
            writer.write(b"%d " % number)
    assert out.getvalue() == b"".join(b"%d " % number for number in range(5 * MOST_WAITING))


class Full(io.BytesIO):
    """A disk with room for some bytes."""

    def write(self, data: object) -> int:
        if self.tell() > 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)  # type: ignore[arg-type]


def test_a_full_disk_is_reported_once() -> None:
    said: list[str] = []

    def work() -> None:
        with BackgroundWriter(Full(), lambda: said.append("failed")) as writer:
            for _ in range(2 * MOST_WAITING):
                writer.write(b"123456")

    with pytest.raises(OSError, match="No space left"):
        work()
    assert said == ["failed"]
