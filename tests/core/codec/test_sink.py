from __future__ import annotations

import pytest


def test_a_kernel_is_a_sink_and_nothing_else_is_one() -> None:
    """The engine looks for this type: an owner's `sink` of another is refused before a byte is read."""
    from kcli.capture.decoder import CaptureDecoder
    from kcli.core.capture.engine import CaptureEngine
    from kcli.core.codec.sink import Sink
    from kcli.sessions.columns import new_kernel

    assert isinstance(new_kernel(), Sink)
    source = CaptureDecoder([])
    source.sink = object()
    with pytest.raises(TypeError, match="Sink"):
        CaptureEngine(source, (), False)


def test_what_a_plain_sink_leaves_comes_the_usual_way() -> None:
    from kcli.capture.decoder import CaptureDecoder
    from kcli.core.codec.sink import Sink

    class Sinking(CaptureDecoder):
        sink = Sink()

    assert Sinking([]).engine is not None
