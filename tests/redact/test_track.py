"""How far a connection's bytes are done with: what is not, is held until it is redacted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from kcli.redact.track import Track


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
