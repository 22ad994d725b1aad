"""Owners of columns that want exchanges alone answer what the core asks, and get the same rows."""

from pathlib import Path

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.tables.arrow import ArrowSink
from kcli.capture.tables.column_owner import ColumnOwner


def test_what_the_core_may_ask_is_answered() -> None:
    from kcli.core.columns.exchange_columns import ExchangeRows

    asked = {"voice", "heard", "learn", "more", "layout"}
    assert ExchangeRows.__doc__ is not None and all(f"`{name}" in ExchangeRows.__doc__ for name in asked)
    owner = ColumnOwner()
    assert owner.voice(b"") == owner.heard(b"", 7) == 0
    assert owner.layout(1, 17) is None
    owner.learn(b"")
    owner.more(b"")


def test_a_decoder_that_wants_no_more_gets_every_exchange(samples: Path) -> None:
    # it names topics, asks for ApiVersions and fetches: each of these is a question to the owner
    batches = CaptureDecoder([str(samples / "java44-consume-classic.pcap")], ArrowSink()).sink.batches()
    rows = [row for batch in batches for row in batch.select(["api", "event"]).to_pylist()]
    assert {"FETCH", "API_VERSIONS", "METADATA"} <= {row["api"] for row in rows if row["event"] is None}
