"""How far a connection's bytes are done with: what is not, is held until it is redacted."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kcli.redact.track import Track, clean_segment


def test_bytes_are_done_with_as_their_reader_has_come() -> None:
    track = Track(cast("Any", SimpleNamespace(draft=None)))
    assert track.read_to(1, 90) == 90  # nobody reads it
    reader = SimpleNamespace(foreign=None, streams=[SimpleNamespace(offset=5), SimpleNamespace(offset=7)])
    track.connection = cast("Any", reader)
    assert (track.read_to(0, 90), track.read_to(1, 90)) == (5, 7)
    reader.foreign = "HTTP"
    assert track.read_to(1, 90) == 90
    reader.foreign, track.decrypted = None, True  # the reader's offsets are of another stream
    assert track.read_to(1, 90) == 90


@pytest.mark.parametrize(
    ("head", "at", "said"), [(b"\x45" + bytes(19), 16, 20 + 20 + 7), (b"\x60" + bytes(39), 18, 20 + 7)]
)
def test_a_made_segment_says_its_length(head: bytes, at: int, said: int) -> None:
    """Of IPv4 with its header, of IPv6 without."""
    packet = bytes(14) + head + bytes(20)
    made = clean_segment(packet, (14, 14 + len(head)), 1, 2, 0x10, 7)
    assert int.from_bytes(made[at : at + 2], "big") == said
    assert len(made) == len(packet) + 7
