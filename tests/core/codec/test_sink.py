import pytest

from kcli.capture.decoder import CaptureDecoder, decode
from kcli.capture.sinks import Values
from kcli.core.codec.sink import Sink
from kcli.sessions.fetch_paths import new_kernel
from tests.capture.decoding import as_values, pieces
from tests.capture.wires import SAMPLES

TXN = str(SAMPLES / "java44-txn.pcap")


def test_a_kernel_is_a_compiled_half_and_nothing_else_is_one() -> None:
    """The engine looks for this type: another is refused before a byte is read."""
    assert isinstance(new_kernel(), Sink)
    sink = Values()
    sink.compiled = object()  # type: ignore[assignment]
    with pytest.raises(TypeError, match="Sink"):
        CaptureDecoder([], sink)


def test_what_a_plain_one_leaves_comes_the_usual_way() -> None:
    sink = Values()
    sink.compiled = Sink()
    decode([TXN], sink)
    assert list(map(repr, sink.items)) == [repr(item) for items in pieces(as_values([TXN])) for item in items]
